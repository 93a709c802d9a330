/* SPDX-License-Identifier: MIT */
/*
 * What compaction wrote, looked at again: does each line still speak of the messages it was made of, is the record the one
 * that was committed? Such lines are passed over when they are used, too; here it is said. And the blobs that lines
 * name: each must be there.
 */
#include "session/handles.h"

#include "base/hash.h"
#include "base/json.h"
#include "session/compaction.h"
#include "store/check.h"
#include <stdio.h>

#define AGAIN "It is passed over. `bobbin work` and `bobbin compact` make new ones from the messages."

struct records {
	bobbin_store *store;
	struct log *log;
	bobbin_faults *faults;
	struct arena arena; /* of one record */
	int failed; /* what could not be read; then nothing is said of the record */
	struct bobbin_error *error;
};

static int add(struct records *records, const char *kind, uint64_t offset, const char *message, const char *advice)
{
	char where[LIMIT_SESSION_ID_BYTES + 48];
	if (records->faults->count >= LIMIT_FAULTS_REPORTED)
		return 0;
	snprintf(where, sizeof(where), "%s.jsonl, byte %llu", log_info(records->log)->id, (unsigned long long)offset);
	int rc = faults_add(records->faults, kind, where, 0, offset, message, advice);
	return rc ? error_set(records->error, rc, "out of memory") : 0;
}

static struct slice content_of(struct records *records, const struct json *string)
{
	struct slice text = json_string_content(string, &records->arena);
	if (!text.data)
		records->failed = error_set(records->error, BOBBIN_ENOMEM, "out of memory");
	return text;
}

static struct slice text_of(struct records *records, const struct json *object, const char *key)
{
	struct json value;
	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return (struct slice){NULL, 0};
	return content_of(records, &value);
}

static bool find(struct records *records, struct slice id, uint32_t *ret_node)
{
	struct bobbin_error why = {0};
	int rc = id.len ? log_find(records->log, id, ret_node, &why) : BOBBIN_ENOTFOUND;
	if (rc && rc != BOBBIN_ENOTFOUND)
		records->failed = error_set(records->error, rc, "%s", why.message);
	return rc == 0;
}

/* Whether "source" is the hash of the line to a message. */
static bool source_is(struct records *records, const struct json *object, uint32_t node, bool before)
{
	char source[COMPACTION_SOURCE_BYTES];
	struct log_node info;
	int rc = log_look_up_node(records->log, node, &info, records->error);
	if (!rc && before && !info.depth)
		return false;
	if (!rc)
		rc = compaction_source(
			records->log, node, before ? info.depth - 1 : info.depth, WINDOW_NONE, source, records->error);
	if (rc) {
		records->failed = rc;
		return false;
	}
	return slice_is(text_of(records, object, "source"), source);
}

static const char *judge_segment(struct records *records, const struct json *object)
{
	struct json covers, id;
	struct json_iter iter;
	uint32_t node = NODE_NONE;
	size_t count = 0;
	if (!json_get(object, "covers", &covers) || covers.type != JSON_ARRAY)
		return "a segment's record does not say which messages it covers";
	json_iter_init(&iter, &covers);
	for (; json_iter_next(&iter, NULL, &id); count++)
		if (id.type != JSON_STRING || !find(records, content_of(records, &id), &node))
			return "a segment's record covers a message that is not in the log";
	if (count != 2)
		return "a segment's record does not say which messages it covers";
	return source_is(records, object, node, false) ? NULL
						       : "the messages of a segment's record are not what it was made of";
}

static bool digest_holds(struct records *records, const struct json *object)
{
	struct slice said = text_of(records, object, "digest");
	char digest[7 + SHA256_HEX_BYTES] = "sha256:";
	uint8_t bytes[SHA256_BYTES];
	struct json record;
	if (!said.len) /* of another writer */
		return true;
	if (!json_get(object, "record", &record))
		return false;
	if (sha256_of(record.text, record.len, bytes) < 0) {
		records->failed = error_set(records->error, BOBBIN_ENOMEM, "out of memory");
		return false;
	}
	hex_encode(bytes, sizeof(bytes), digest + 7);
	return slice_is(said, digest);
}

static const char *judge_compaction(struct records *records, const struct json *object)
{
	uint32_t node;
	struct slice inner = text_of(records, object, "inner");
	if (!find(records, inner.len ? inner : text_of(records, object, "cut"), &node))
		return "a compaction was cut at a message that is not in the log";
	if (!digest_holds(records, object))
		return "a compaction's record is not the one that was committed (its digest differs)";
	return source_is(records, object, node, inner.len != 0)
		       ? NULL
		       : "what a compaction covers is not what it was made of";
}

static int check_blob(struct records *records, const struct json *object, uint64_t offset)
{
	struct slice name = text_of(records, object, "blob");
	if (slice_starts_with(name, "sha256:"))
		name = (struct slice){name.data + 7, name.len - 7};
	int there = name.len ? store_has_blob(records->store->store, name, records->error) : 1;
	if (there)
		return there < 0 ? there : 0;
	return add(records, "blob_missing", offset, "It names a version of a file whose content is not in blobs/.",
		"Put the blob back from a backup; the messages are not concerned.");
}

static int check_one(struct records *records, uint32_t number, const struct log_record *record)
{
	struct json object;
	const char *wrong = NULL;
	arena_reset(&records->arena);
	int rc = log_record_read(records->log, number, &records->arena, &object, records->error);
	if (rc < 0)
		return rc;
	if (record->kind == RECORD_OTHER || record->kind == RECORD_FILE)
		return check_blob(records, &object, record->offset);
	wrong = record->kind == RECORD_SEGMENT ? judge_segment(records, &object)
					       : judge_compaction(records, &object);
	if (records->failed)
		return records->failed;
	return wrong ? add(records, record->kind == RECORD_SEGMENT ? "segment" : "compaction", record->offset, wrong,
			       AGAIN)
		     : 0;
}

int doctor_records(bobbin_store *store, struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	static const enum record_kind kinds[] = {
		RECORD_SEGMENT, RECORD_COMPACTION, RECORD_FILE, RECORD_OTHER};
	struct records records = {.store = store, .log = log, .faults = faults, .error = error};
	struct log_record record;
	int rc = 0;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (uint32_t at = log_newest(log, kinds[kind]); !rc && at != RECORD_NONE; at = record.previous) {
			rc = log_look_up_record(log, at, &record, error);
			if (!rc)
				rc = check_one(&records, at, &record);
		}
	arena_release(&records.arena);
	return rc;
}
