/* SPDX-License-Identifier: MIT */
/* What was recorded of a task, see resume_test.h: its line as calls with their results, and where it is cut. */
#include "session/resume_test.h"

#include <stdlib.h>
#include <time.h>
#include "actions/actions.h"
#include "base/alloc.h"
#include "base/json.h"
#include "session/segments.h"

#define NS_PER_SECOND INT64_C(1000000000)

/* ---- Reading the line ---- */

/* How often each tool was called since a person spoke: the numbers of the journal's keys (call_key.c). */
struct tally {
	const char **names;
	uint64_t *counts;
	size_t count, name_cap, count_cap;
};

struct reading {
	struct recording *recording;
	struct tally tally;
	size_t position;     /* of the message at hand */
	uint64_t turn;	     /* the number of the message that began the turn */
	size_t batch;	     /* the calls of the newest assistant message: calls[batch, call_count) */
	const char **ids;    /* of those */
	size_t id_cap;
	struct arena scratch;
	struct bobbin_error *error;
};

static int no_memory(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ENOMEM, "out of memory");
}

static char *copy_slice(struct arena *arena, struct slice text)
{
	return arena_copy(arena, text.data ? text.data : "", text.len);
}

static int next_number(struct tally *tally, const char *name, uint64_t *ret_number)
{
	size_t at = 0;

	while (at < tally->count && strcmp(tally->names[at], name) != 0)
		at++;
	if (at == tally->count) {
		if (mem_grow((void **)&tally->names, &tally->name_cap, at + 1, sizeof(*tally->names)) < 0 ||
			mem_grow((void **)&tally->counts, &tally->count_cap, at + 1, sizeof(*tally->counts)) < 0)
			return BOBBIN_ENOMEM;
		tally->names[at] = name;
		tally->counts[at] = 0;
		tally->count++;
	}
	*ret_number = ++tally->counts[at];
	return 0;
}

/* Arguments as the model wrote them: JSON in a string, or as a value. */
static struct slice arguments_text(const struct json *arguments, struct arena *arena)
{
	if (arguments->type == JSON_STRING)
		return json_string_content(arguments, arena);
	return arguments->type == JSON_ABSENT ? SLICE_LITERAL("{}") : (struct slice){arguments->text, arguments->len};
}

static const char *log_id_at(const struct recording *recording, uint32_t level)
{
	struct log *log = recording->session->log;

	while (level-- && log_base(log))
		log = log_base(log);
	return log_info(log)->id;
}

static int note_tool(struct recording *recording, const char *name)
{
	if (recording_tool(recording, name))
		return 0;
	if (mem_grow((void **)&recording->tools, &recording->tool_cap, recording->tool_count + 1,
		    sizeof(*recording->tools)) < 0)
		return BOBBIN_ENOMEM;
	recording->tools[recording->tool_count++] = (struct recorded_tool){name, false};
	return 0;
}

static int add_call(struct reading *reading, const struct block *block, const struct log_node *node)
{
	struct recording *recording = reading->recording;
	struct buffer key = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct recorded_call call = {.order = recording->call_count, .position = reading->position, .result = NODE_NONE};
	size_t place = recording->call_count - reading->batch;
	uint64_t number;

	if (mem_grow((void **)&recording->calls, &recording->call_cap, recording->call_count + 1,
		    sizeof(*recording->calls)) < 0 ||
		mem_grow((void **)&reading->ids, &reading->id_cap, place + 1, sizeof(*reading->ids)) < 0)
		return BOBBIN_ENOMEM;
	call.name = copy_slice(&recording->arena, block->call_name);
	struct slice arguments = arguments_text(&block->arguments, &reading->scratch);
	call.arguments = (struct slice){copy_slice(&recording->arena, arguments), arguments.len};
	reading->ids[place] = copy_slice(&reading->scratch, block->call_id);
	if (!call.name || !arguments.data || !call.arguments.data || !reading->ids[place] ||
		next_number(&reading->tally, call.name, &number) < 0 || note_tool(recording, call.name) < 0)
		return BOBBIN_ENOMEM;
	buffer_addf(&key, "%s/m%llu/%s#%llu", log_id_at(recording, node->level), (unsigned long long)reading->turn,
		call.name, (unsigned long long)number);
	call.key = buffer_error(&key) ? NULL : copy_slice(&recording->arena, buffer_slice(&key));
	buffer_release(&key);
	if (!call.key || recording_digest(block->call_name, arguments, call.digest) < 0)
		return BOBBIN_ENOMEM;
	recording->calls[recording->call_count++] = call;
	return 0;
}

static int take_calls(struct reading *reading, const struct message *message, const struct log_node *node)
{
	struct block_iter iter;
	struct block block;
	int rc = 0;

	reading->batch = reading->recording->call_count;
	block_iter_init(&iter, message, &reading->scratch);
	while (!rc && block_iter_next(&iter, &block))
		if (block.type == BLOCK_CALL)
			rc = add_call(reading, &block, node);
	return rc ? rc : iter.error;
}

/* The result of the first call of the batch that has this id and none yet. */
static void take_result(struct reading *reading, const struct message *message, uint32_t node)
{
	struct recording *recording = reading->recording;

	for (size_t i = reading->batch; i < recording->call_count; i++) {
		struct recorded_call *call = &recording->calls[i];
		if (call->result != NODE_NONE || !slice_is(message->tool_call_id, reading->ids[i - reading->batch]))
			continue;
		if (message->marker == MARKER_NONE) {
			call->result = node;
			call->is_error = message->is_error;
		}
		return;
	}
}

static int take_goal(struct reading *reading, const struct message *message)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct recording *recording = reading->recording;
	int rc = message_add_readable(message, &reading->scratch, &text);

	if (!rc && text.len) {
		recording->goal = copy_slice(&recording->arena, buffer_slice(&text));
		rc = recording->goal ? 0 : BOBBIN_ENOMEM;
	}
	buffer_release(&text);
	return rc;
}

static int take(struct reading *reading, uint32_t shown)
{
	struct log *log = reading->recording->session->log;
	struct message message;
	struct log_node node;
	int rc = log_look_up_node(log, shown, &node, reading->error);

	/* Ids of a batch are needed until its last result. */
	if (!rc && node.role != ROLE_TOOL)
		arena_reset(&reading->scratch);
	if (!rc)
		rc = log_message(log, shown, &reading->scratch, &message, reading->error);
	if (rc < 0)
		return rc;
	if (node.role == ROLE_USER && node.origin == ORIGIN_PERSON) {
		reading->turn = node.seq;
		reading->tally.count = 0;
		rc = reading->recording->goal ? 0 : take_goal(reading, &message);
	} else if (node.role == ROLE_ASSISTANT) {
		rc = take_calls(reading, &message, &node);
	} else if (node.role == ROLE_TOOL) {
		take_result(reading, &message, shown);
	}
	return rc < 0 ? no_memory(reading->error) : 0;
}

/* ---- The cut ---- */

/* Between position - 1 and position no call is parted from its results. */
static bool is_between_rounds(const struct log *log, uint32_t head, size_t position)
{
	struct log_node before, after;

	if (log_node(log, log_ancestor(log, head, (uint32_t)position - 1), &before) < 0)
		return true;
	if (before.role == ROLE_ASSISTANT && before.calls)
		return false;
	uint32_t next = log_ancestor(log, head, (uint32_t)position);
	return next == NODE_NONE || log_node(log, next, &after) < 0 || after.role != ROLE_TOOL;
}

/* When a record says that it was written, to its last instant; INT64_MAX if it does not. */
static int64_t time_of(const struct json *record, struct arena *arena)
{
	struct json value;
	struct tm parts = {0};
	int64_t thousandths = 999;

	if (!json_get(record, "ts", &value) || value.type != JSON_STRING)
		return INT64_MAX;
	struct slice text = json_string_content(&value, arena);
	char *copy = text.data ? arena_copy(arena, text.data, text.len) : NULL;
	char *rest = copy ? strptime(copy, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
	if (!rest)
		return INT64_MAX;
	/* The log leaves milliseconds out if they are 0. */
	if (*rest == 'Z')
		thousandths = 0;
	else if (*rest == '.' && strspn(rest + 1, "0123456789") >= 3)
		thousandths = (rest[1] - '0') * 100 + (rest[2] - '0') * 10 + (rest[3] - '0');
	return (int64_t)timegm(&parts) * NS_PER_SECOND + thousandths * 1000000 + 999999;
}

static int find_cut(struct recording *recording, size_t goal, double share, struct bobbin_error *error)
{
	struct log *log = recording->session->log;
	struct arena arena = ARENA_INIT;
	struct message message;
	size_t kept = recording->floor + (size_t)((double)(recording->count - recording->floor) * share + 0.5);

	if (kept > recording->count)
		kept = recording->count;
	while (kept > goal + 1 && !is_between_rounds(log, recording->head, kept))
		kept--;
	recording->kept = kept > goal + 1 ? kept : goal + 1;
	recording->last = log_ancestor(log, recording->head, (uint32_t)recording->kept - 1);
	int rc = log_short_id(log, recording->last, recording->cut, error);
	if (!rc)
		rc = log_message(log, recording->last, &arena, &message, error);
	if (!rc)
		recording->until_ns = time_of(&message.record, &arena);
	arena_release(&arena);
	return rc;
}

/* ---- Finding calls ---- */

static int by_digest(const void *left, const void *right)
{
	const struct recorded_call *a = *(struct recorded_call *const *)left, *b = *(struct recorded_call *const *)right;
	int order = memcmp(a->digest, b->digest, SHA256_BYTES);

	return order ? order : a->order < b->order ? -1 : a->order > b->order;
}

static int by_key(const void *left, const void *right)
{
	const struct recorded_call *a = *(struct recorded_call *const *)left, *b = *(struct recorded_call *const *)right;

	return strcmp(a->key, b->key);
}

static int sort_calls(struct recording *recording)
{
	size_t bytes = (recording->call_count + 1) * sizeof(*recording->by_key);

	recording->by_digest = arena_alloc(&recording->arena, bytes);
	recording->by_key = arena_alloc(&recording->arena, bytes);
	if (!recording->by_digest || !recording->by_key)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < recording->call_count; i++)
		recording->by_digest[i] = recording->by_key[i] = &recording->calls[i];
	qsort(recording->by_digest, recording->call_count, sizeof(*recording->by_digest), by_digest);
	qsort(recording->by_key, recording->call_count, sizeof(*recording->by_key), by_key);
	return 0;
}

int recording_digest(struct slice name, struct slice arguments, uint8_t ret_digest[SHA256_BYTES])
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json value;

	buffer_add_slice(&text, name);
	buffer_add_char(&text, '\0');
	if (json_parse(arguments.data, arguments.len, &value, NULL) == 0)
		json_canonical(&value, &text);
	else
		buffer_add_slice(&text, arguments);
	int rc = buffer_error(&text);
	if (!rc)
		rc = sha256_of(text.data, text.len, ret_digest);
	buffer_release(&text);
	return rc;
}

struct recorded_call *const *recording_equal(
	const struct recording *recording, const uint8_t digest[SHA256_BYTES], size_t *ret_count)
{
	size_t low = 0, high = recording->call_count, count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (memcmp(recording->by_digest[middle]->digest, digest, SHA256_BYTES) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < recording->call_count &&
		memcmp(recording->by_digest[low + count]->digest, digest, SHA256_BYTES) == 0)
		count++;
	*ret_count = count;
	return recording->by_digest + low;
}

struct recorded_call *recording_by_key(const struct recording *recording, const char *key)
{
	const struct recorded_call wanted = {.key = key}, *at = &wanted;
	struct recorded_call **found =
		bsearch(&at, recording->by_key, recording->call_count, sizeof(*recording->by_key), by_key);

	return found ? *found : NULL;
}

struct recorded_tool *recording_tool(const struct recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->tool_count; i++)
		if (strcmp(recording->tools[i].name, name) == 0)
			return &recording->tools[i];
	return NULL;
}

int recording_result(const struct recording *recording, const struct recorded_call *call, struct buffer *out,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	int rc = log_message(recording->session->log, call->result, &arena, &message, error);

	if (!rc) {
		message_add_text(&message, &arena, out);
		rc = buffer_error(out) ? no_memory(error) : 0;
	}
	arena_release(&arena);
	return rc;
}

/* ---- Together ---- */

static int read_line(
	struct reading *reading, const struct log_path *path, double share, struct bobbin_error *error)
{
	struct recording *recording = reading->recording;
	size_t goal = 0;
	int rc = 0;

	for (size_t at = recording->floor; !rc && at < recording->count; at++) {
		bool had_goal = recording->goal != NULL;
		reading->position = at;
		rc = take(reading, log_path_node(path, at, true));
		if (!had_goal && recording->goal)
			goal = at;
	}
	if (!rc && !recording->goal)
		rc = error_set(error, BOBBIN_ENOTFOUND, "session %s has no task: nobody said anything in it",
			log_info(recording->session->log)->id);
	if (!rc)
		rc = find_cut(recording, goal, share, error);
	return rc;
}

int recording_read(
	bobbin_session *session, double share, struct recording *ret_recording, struct bobbin_error *error)
{
	struct recording *recording = ret_recording;
	struct reading reading = {.recording = recording, .scratch = ARENA_INIT, .error = error};
	struct log_path *path = NULL;
	char floor[PATH_ID_BYTES];

	*recording = (struct recording){.session = session, .arena = ARENA_INIT, .until_ns = INT64_MAX};
	int rc = log_refresh(session->log, error);
	recording->head = log_head(session->log);
	if (!rc)
		rc = session_floor(session, recording->head, floor, &recording->floor, error);
	if (!rc)
		rc = log_path_new(session->log, recording->head, NULL, &path, error);
	if (!rc) {
		recording->count = log_path_path(path)->count;
		rc = read_line(&reading, path, share, error);
	}
	for (size_t i = 0; i < recording->call_count; i++)
		recording->calls[i].before = recording->calls[i].position < recording->kept;
	if (!rc && sort_calls(recording) < 0)
		rc = no_memory(error);
	log_path_free(path);
	arena_release(&reading.scratch);
	mem_free(reading.ids);
	mem_free(reading.tally.names);
	mem_free(reading.tally.counts);
	return rc;
}

void recording_release(struct recording *recording)
{
	mem_free(recording->calls);
	mem_free(recording->tools);
	arena_release(&recording->arena);
	*recording = (struct recording){.arena = ARENA_INIT};
}
