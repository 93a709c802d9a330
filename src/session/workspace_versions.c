/* SPDX-License-Identifier: MIT */
/* The versions of workspace files that a session's log and those it inherits from tell of, see workspace.h. */
#include "session/workspace.h"

#include <stdlib.h>
#include "base/alloc.h"
#include "base/json.h"

struct reading {
	bobbin_session *session;
	uint32_t head;
	struct arena *arena;
	struct file_version *items;
	size_t count, cap;
};

static const char *text_of(struct reading *reading, const struct json *object, const char *key)
{
	struct json value;

	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return NULL;
	struct slice text = json_string_content(&value, reading->arena);
	return text.data && !memchr(text.data, 0, text.len) ? arena_copy(reading->arena, text.data, text.len) : NULL;
}

/* False: a record of another shape, written by somebody else; it is passed over. */
static bool parse(struct reading *reading, const struct json *object, struct file_version *version)
{
	const char *blob = text_of(reading, object, "blob");
	struct json value;
	int64_t size = 0;

	version->path = text_of(reading, object, "path");
	version->by = text_of(reading, object, "by");
	version->ts = text_of(reading, object, "ts");
	if (!version->path || workspace_path_fault(slice_of(version->path)))
		return false;
	if (json_get(object, "size", &value) && (!json_int64(&value, &size) || size < 0))
		return false;
	version->size = (uint64_t)size;
	version->by = version->by ? version->by : "";
	version->ts = version->ts ? version->ts : "";
	if (blob && strncmp(blob, "sha256:", 7) == 0)
		blob += 7;
	if (blob && strlen(blob) != SHA256_HEX_BYTES - 1)
		return false;
	if (blob)
		memcpy(version->digest, blob, SHA256_HEX_BYTES);
	return blob || (json_get(object, "blob", &value) && value.type == JSON_NULL);
}

/* Whether it lies on the line, and how far along. */
static bool place_of(const struct reading *reading, const struct log *at, const struct log_record *info, uint32_t *ret_place)
{
	const struct log *log = reading->session->log;
	struct log_node node;

	*ret_place = 0;
	if (!log_record_on_line(log, at, info, reading->head))
		return false;
	if (info->head != NODE_NONE && log_node(log, info->head, &node) < 0)
		return false;
	*ret_place = info->head == NODE_NONE ? 0 : node.depth + 1;
	return true;
}

/* Whether it was written while the line ended where it stands: what is written there after the line went on (somebody went back, and
 * forwards again) belongs to that end, and changes nothing that came before it. */
static bool is_before_next(const struct reading *reading, const struct file_version *version, uint64_t offset)
{
	const struct log *log = reading->session->log;
	struct log_node next;
	uint32_t node = reading->head == NODE_NONE ? NODE_NONE : log_ancestor(log, reading->head, version->place);

	if (node == NODE_NONE || log_node(log, node, &next) < 0)
		return true;
	return version->level == next.level ? offset < next.offset : version->level > next.level;
}

static int take(struct reading *reading, struct log *log, uint32_t record, const struct log_record *info,
	uint32_t level, struct bobbin_error *error)
{
	struct file_version version = {
		.seq = info->seq, .head = info->head, .level = level, .record = record, .own = level == 0};
	struct json object;

	version.on_line = place_of(reading, log, info, &version.place) && is_before_next(reading, &version, info->offset);
	if (!version.on_line && !version.own)
		return 0;
	int rc = log_record_read(log, record, reading->arena, &object, error);
	if (rc < 0)
		return rc;
	if (!parse(reading, &object, &version))
		return 0;
	if (mem_grow((void **)&reading->items, &reading->cap, reading->count + 1, sizeof(version)) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	reading->items[reading->count++] = version;
	return 0;
}

static int by_path_and_order(const void *left, const void *right)
{
	const struct file_version *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	if (order)
		return order;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->level != b->level)
		return a->level > b->level ? -1 : 1;
	return a->record < b->record ? -1 : a->record > b->record;
}

int versions_read(bobbin_session *session, uint32_t head, struct arena *arena, struct file_version **ret_versions,
	size_t *ret_count, struct bobbin_error *error)
{
	struct reading reading = {.session = session, .head = head, .arena = arena};
	struct log_record info;
	uint32_t level = 0;
	int rc = 0;

	for (struct log *log = session->log; !rc && log; log = log_base(log), level++) {
		for (uint32_t at = log_newest(log, RECORD_FILE); !rc && at != RECORD_NONE; at = info.previous) {
			rc = log_record(log, at, &info);
			if (rc < 0)
				error_set(error, rc, "the versions of files cannot be read");
			else
				rc = take(&reading, log, at, &info, level, error);
		}
	}
	struct file_version *versions = rc ? NULL : arena_alloc(arena, (reading.count + 1) * sizeof(*versions));
	if (!rc && !versions)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc) {
		if (reading.count) {
			memcpy(versions, reading.items, reading.count * sizeof(*versions));
			qsort(versions, reading.count, sizeof(*versions), by_path_and_order);
		}
		*ret_versions = versions;
		*ret_count = reading.count;
	}
	mem_free(reading.items);
	return rc;
}

struct file_state versions_state(const struct file_version *versions, size_t count, size_t first)
{
	struct file_state state = {versions[first].path, NULL, NULL, first};

	for (; state.next < count && strcmp(versions[state.next].path, state.path) == 0; state.next++) {
		const struct file_version *version = &versions[state.next];
		if (version->on_line && strcmp(version->by, "line") != 0)
			state.target = version;
		if (version->own && (!state.left || version->record > state.left->record))
			state.left = version;
	}
	if (state.target && !*state.target->digest)
		state.target = NULL;
	if (state.left && !*state.left->digest)
		state.left = NULL;
	return state;
}
