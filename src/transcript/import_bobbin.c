/* SPDX-License-Identifier: MIT */
/*
 * bobbin's own records: a log, or the lines that `show --json` prints. All members stay as they are except
 * those that belong to the log they came from: seq and crc go, ids of the reserved form are given anew, and
 * parents follow.
 *
 * The foreign log's rules decide where its messages hang (import_tree.h has them), including its rewinds; the
 * tree that comes out is the same.
 */
#include "transcript/import_readers.h"

#include "base/alloc.h"
#include "base/id.h"
#include "base/limits.h"
#include "transcript/import_tree.h"

struct log {
	struct import *import;
	struct drafts drafts;
	struct buffer out;
	struct id_table ids; /* as the foreign log names them, m<seq> included, to drafts */
	size_t head;
	uint64_t last_seq;
	struct slice session_id;
	uint64_t left_out;
	bool odd; /* some of them are no records of ours at all */
	struct place first_left_out;
};

/* A message's name in its own log: its id, or m<seq>; a log without seq counts its lines of messages. */
static int remember(struct log *log, const struct message *message)
{
	struct slice id = message->id;

	log->last_seq = message->seq ? message->seq : log->last_seq + 1;
	if (!id.data) {
		struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
		buffer_add_char(&text, 'm');
		buffer_add_u64(&text, log->last_seq);
		if (!buffer_error(&text))
			id = import_keep(log->import, buffer_slice(&text));
		buffer_release(&text);
	}
	return id.data ? id_table_put(&log->ids, id, log->drafts.count - 1) : BOBBIN_ENOMEM;
}

static int find_parent(
	struct log *log, const struct message *message, struct draft *draft, struct place place)
{
	bool moves = true;

	draft->parent_kind = DRAFT_AT;
	if (message->parent_kind == PARENT_HEAD) {
		drafts_place(&log->drafts, draft, log->head, &draft->parent, &moves);
	} else if (message->parent_kind == PARENT_ROOT) {
		draft->parent = DRAFT_NONE;
		moves = log->head == DRAFT_NONE || message->branch;
	} else if (id_table_get(&log->ids, message->parent, &draft->parent)) {
		moves = draft->parent == log->head || message->branch;
	} else {
		/* Only a part of the log is here; what remains hangs together as the lines do. */
		draft->parent = log->head;
		if (import_warn(log->import, place, "the parent of this message is not in the file") < 0)
			return BOBBIN_ENOMEM;
	}
	draft->still = !moves;
	return 0;
}

static int read_message(struct log *log, const struct json *record, struct place place)
{
	static const char *const OWN[] = {"seq", "crc", "id", "parent", "branch", NULL};
	struct bobbin_error fault;
	struct json_writer writer;
	struct message message;
	struct draft draft = {0};
	int rc = message_parse(record, &log->import->arena, &message, &fault);

	if (rc == BOBBIN_EINPUT)
		return import_warn(log->import, place, "left out: %s", fault.message);
	if (rc)
		return rc;
	draft.role = message.role;
	draft.call_id = message.tool_call_id;
	if ((rc = find_parent(log, &message, &draft, place)) < 0)
		return rc;
	buffer_clear(&log->out);
	json_writer_init(&writer, &log->out);
	write_members_except(&writer, record, OWN);
	if ((rc = buffer_error(&log->out)) < 0)
		return rc;
	draft.members = buffer_slice(&log->out);
	draft.id = message.id;
	if ((rc = drafts_add(&log->drafts, &draft)) < 0 || (rc = remember(log, &message)) < 0)
		return rc;
	if (!draft.still)
		log->head = log->drafts.count - 1;
	return 0;
}

static int read_other(struct log *log, const struct json *record, struct place place)
{
	struct json type, value;
	int64_t seq;

	if (json_get(record, "seq", &value) && json_int64(&value, &seq) && seq > 0)
		log->last_seq = (uint64_t)seq;
	json_get(record, "type", &type);
	if (json_string_is(&type, "session")) {
		log->session_id = import_string(log->import, record, "id");
		if (json_get(record, "parentId", &value) && value.type == JSON_STRING)
			return import_warn(log->import, place,
				"a fork: what it inherits stands in another log and is not read");
		return 0;
	}
	if (json_string_is(&type, "rewind")) {
		struct slice to = import_string(log->import, record, "to");
		if (!id_table_get(&log->ids, to, &log->head))
			return import_warn(
				log->import, place, "a rewind to a message that is not in the file");
		return 0;
	}
	if (type.type != JSON_STRING)
		log->odd = true;
	if (log->left_out++ == 0)
		log->first_left_out = place;
	return 0;
}

static int read_value(struct log *log, const struct json *value, struct place place)
{
	struct json_iter iter;
	struct json record;
	int rc = 0;

	if (value->type != JSON_ARRAY)
		return message_is(value) ? read_message(log, value, place) : read_other(log, value, place);
	json_iter_init(&iter, value);
	while (!rc && json_iter_next(&iter, NULL, &record))
		rc = message_is(&record) ? read_message(log, &record, place)
					 : read_other(log, &record, place);
	return rc;
}

static int finish(struct log *log)
{
	struct import_conversation *conversation;

	if (log->left_out &&
		import_left_out_many(log->import, log->first_left_out,
			"{record that is no message|records that are no messages} (usage, compaction and the like)",
			log->left_out, !log->odd) < 0)
		return BOBBIN_ENOMEM;
	if (!(conversation = import_conversation_add(log->import)))
		return BOBBIN_ENOMEM;
	conversation->foreign_id = log->session_id;
	log->drafts.ends = true; /* a rewind may have been the last word */
	log->drafts.end = log->head;
	return drafts_emit(&log->drafts, conversation);
}

int import_bobbin(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct log log = {.import = import,
		.drafts = {.import = import},
		.out = BUFFER_INIT(LIMIT_IMPORT_BYTES),
		.head = DRAFT_NONE};
	struct import_lines lines;
	struct json value;
	struct place place;
	int rc;

	import_lines_init(&lines, import, data, len);
	while ((rc = import_lines_next(&lines, &value, &place)) > 0) {
		if ((rc = read_value(&log, &value, place)) < 0)
			break;
	}
	if (!rc)
		rc = log.drafts.count ? finish(&log) : import_lines_fail(&lines, "bobbin", error);
	drafts_release(&log.drafts);
	id_table_release(&log.ids);
	buffer_release(&log.out);
	return import_end(rc, error);
}
