/* SPDX-License-Identifier: MIT */
/* What a turn writes to the log: the user's message, replies with their usage,
 * results. */
#include "session/turn.h"

#include "base/alloc.h"
#include "base/json.h"
#include "compact/rules.h"
#include "memory/judge.h"
#include "session/compact.h"
#include "session/facts.h"

#define EMPTY_REPLIES_MAX 2 /* asked again this often when an answer holds nothing */

/* ---- The user's message ---- */

static void run_record(const bobbin_turn *turn, struct buffer *out)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "run");
	json_member_text(&writer, "run", turn->run);
	json_member_text(&writer, "routine", turn->routine);
	json_end_object(&writer);
}

static void text_record(const char *role, struct slice text, struct buffer *out)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "role", role);
	json_member_string(&writer, "content", text);
	json_end_object(&writer);
}

/* What the next message must follow. */
static int follow(bobbin_turn *turn, uint32_t node, struct bobbin_error *error)
{
	turn->head_node = node;
	turn->head[0] = 0;
	return node == NODE_NONE ? 0 : log_node_id(turn->session->log, node, turn->head, error);
}

static int stored_event(bobbin_turn *turn, const char *id, struct bobbin_error *error)
{
	int rc = turn_queue(turn, BOBBIN_EVENT_STORED, id, NULL, (struct slice){NULL, 0}, 0);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static int append_user(bobbin_turn *turn, struct slice text, struct bobbin_error *error)
{
	struct buffer run = BUFFER_INIT(LIMIT_LINE_BYTES), message = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct slice records[2];
	struct log_ack acks[2];
	size_t count = 0;
	if (*turn->run) {
		run_record(turn, &run);
		records[count++] = buffer_slice(&run);
	}
	text_record("user", text, &message);
	records[count++] = buffer_slice(&message);
	int rc = buffer_error(&run) ? buffer_error(&run) : buffer_error(&message);
	if (rc < 0)
		error_set(error, rc, "the message is too large");
	else
		rc = log_append(turn->session->log, records, count, NULL, acks, error);
	buffer_release(&run);
	buffer_release(&message);
	if (!rc)
		rc = follow(turn, acks[count - 1].node, error);
	return rc < 0 ? rc : stored_event(turn, acks[count - 1].id, error);
}

int turn_store_user(bobbin_turn *turn, struct slice text, bool regenerate, struct bobbin_error *error)
{
	if (!regenerate)
		return append_user(turn, text, error);
	uint32_t user;
	int rc = newest_typed(turn->session->log, log_head(turn->session->log), &user, error);
	if (rc < 0)
		return rc;
	if (user == NODE_NONE)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no user message to answer again");
	turn->branch = user != log_head(turn->session->log);
	return follow(turn, user, error);
}

/* ---- Replies ---- */

/* {"type":"usage","for":…}: figures as reported; null for what the provider did
 * not say. */
void usage_record(const struct model_properties *properties, const struct model_usage *usage,
	const char *for_id, const char *kind, struct buffer *out)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "usage");
	json_member_text(&writer, "for", for_id);
	json_member_text(&writer, "kind", kind);
	json_member_text(&writer, "model", properties->name);
	json_member_text(&writer, "provider", properties->provider);
	json_member_text(&writer, "dialect", model_dialect_text(usage->dialect));
	if (usage->input >= 0)
		json_member_int(&writer, "input", usage->input);
	if (usage->cached >= 0)
		json_member_int(&writer, "cached", usage->cached);
	if (usage->cache_write >= 0)
		json_member_int(&writer, "cache_write", usage->cache_write);
	if (usage->output >= 0)
		json_member_int(&writer, "output", usage->output);
	json_end_object(&writer);
}

/* An object with a text as a further member, appended to `out`. */
static int add_member(const struct buffer *object, const char *key, struct slice text, struct buffer *out)
{
	struct buffer value = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	struct json parsed;
	json_writer_init(&writer, &value);
	json_add_string(&writer, text);
	int rc = buffer_error(&value);
	if (!rc)
		rc = json_parse(object->data, object->len, &parsed, NULL);
	if (!rc) {
		json_splice(out, &parsed, key, buffer_slice(&value));
		rc = buffer_error(out);
	}
	buffer_release(&value);
	return rc;
}

/* The reply as gathered, with what only the turn knows added as further
 * members. */
static int reply_record(bobbin_turn *turn, struct buffer *out, struct bobbin_error *error)
{
	struct buffer plain = BUFFER_INIT(LIMIT_LINE_BYTES), named = BUFFER_INIT(LIMIT_LINE_BYTES);
	int rc = reply_add_record(&turn->reply, &plain);
	if (!rc)
		rc = add_member(&plain, "model", slice_of(model_properties(turn->model->model)->name), &named);
	if (!rc && turn->reply.stop != MODEL_STOP_END && turn->reply.stop != MODEL_STOP_TOOL_CALLS) {
		rc = add_member(&named, "stop", slice_of(model_stop_text(turn->reply.stop)), out);
	} else if (!rc) {
		buffer_add_slice(out, buffer_slice(&named));
	}
	rc = rc ? rc : buffer_error(out);
	buffer_release(&plain);
	buffer_release(&named);
	return rc < 0 ? error_set(error, rc, "the reply cannot be put together") : 0;
}

/* Another reply to the same message: it names its parent and becomes the line.
 */
static int branch_record(bobbin_turn *turn, struct buffer *record, struct bobbin_error *error)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES), parented = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json object;
	int rc = add_member(record, "parent", slice_of(turn->head), &parented);
	if (!rc)
		rc = json_parse(parented.data, parented.len, &object, error);
	if (!rc)
		json_splice(&out, &object, "branch", SLICE_LITERAL("true"));
	if (!rc)
		rc = buffer_error(&out);
	if (!rc) {
		buffer_clear(record);
		buffer_add_slice(record, buffer_slice(&out));
		rc = buffer_error(record);
	}
	buffer_release(&out);
	buffer_release(&parented);
	return rc < 0 ? error_set(error, rc, "the reply cannot be put together") : 0;
}

/* Appends the reply; a conflict puts it beside the line. */
static int append_reply(bobbin_turn *turn, struct log_ack *ret_ack, struct bobbin_error *error)
{
	struct log_append_options options = {.check_head = !turn->branch, .on_conflict = LOG_CONFLICT_ASIDE};
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
	int rc = reply_record(turn, &record, error);
	if (!rc && turn->branch)
		rc = branch_record(turn, &record, error);
	if (!rc) {
		struct slice bytes = buffer_slice(&record);
		options.expected_head = slice_of(turn->head);
		rc = log_append(turn->session->log, &bytes, 1, &options, ret_ack, error);
	}
	buffer_release(&record);
	return rc;
}

/* Usage says whom it is for, so it follows the reply. It is written, and
 * synced, on its own; losing it loses no word. */
int turn_store_usage(bobbin_turn *turn, struct bobbin_error *error)
{
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
	if (!turn->reply.has_usage)
		return 0;
	usage_record(model_properties(turn->model->model), &turn->reply.usage, turn->head, "chat", &record);
	int rc = buffer_error(&record);
	struct slice bytes = buffer_slice(&record);
	if (rc < 0)
		error_set(error, rc, "out of memory");
	else
		rc = log_append(turn->session->log, &bytes, 1, NULL, NULL, error);
	buffer_release(&record);
	return rc;
}

static int copy_slice(struct arena *arena, struct slice from, struct slice *ret_slice)
{
	ret_slice->data = arena_copy(arena, from.data ? from.data : "", from.len);
	ret_slice->len = from.len;
	return ret_slice->data ? 0 : BOBBIN_ENOMEM;
}

/* The reply as the host gets it: as it stands in the log, or, where secrets were masked in that, as the model wrote
 * it. A call with a placeholder for a key would do something else than what was asked for. */
static int reply_message(
	bobbin_turn *turn, uint32_t node, struct message *ret_message, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json record;
	if (!log_info(turn->session->log)->redact_on_write)
		return log_message(turn->session->log, node, &turn->arena, ret_message, error);
	int rc = reply_record(turn, &text, error);
	const char *copy = rc ? NULL : arena_copy(&turn->arena, text.data, text.len);
	if (!rc)
		rc = copy ? json_parse(copy, text.len, &record, error)
			  : error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc)
		rc = message_parse(&record, &turn->arena, ret_message, error);
	buffer_release(&text);
	return rc;
}

/* The calls of the stored reply. */
static int collect_calls(bobbin_turn *turn, uint32_t node, struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	turn->call_count = 0;
	int rc = reply_message(turn, node, &message, error);
	if (rc < 0)
		return rc;
	block_iter_init(&iter, &message, &turn->arena);
	while (!rc && block_iter_next(&iter, &block)) {
		struct slice arguments = {block.arguments.text, block.arguments.len};
		if (block.type != BLOCK_CALL)
			continue;
		if (block.arguments.type == JSON_STRING)
			arguments = json_string_content(&block.arguments, &turn->arena);
		void *calls = turn->calls;
		rc = mem_grow(&calls, &turn->call_cap, turn->call_count + 1, sizeof(*turn->calls));
		turn->calls = calls;
		if (rc < 0)
			break;
		struct turn_call *call = &turn->calls[turn->call_count++];
		memset(call, 0, sizeof(*call));
		rc = copy_slice(&turn->arena, block.call_id, &call->id);
		rc = rc ? rc : copy_slice(&turn->arena, block.call_name, &call->name);
		rc = rc ? rc : copy_slice(&turn->arena, arguments, &call->arguments);
	}
	rc = rc ? rc : iter.error;
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* An answer with nothing in it is asked for again, a few times; only what it cost
 * is stored. */
static int empty_reply(bobbin_turn *turn, struct bobbin_error *error)
{
	int rc = turn_store_usage(turn, error);
	turn_close_stream(turn);
	if (rc < 0)
		return rc;
	if (turn->empty_replies++ >= EMPTY_REPLIES_MAX)
		return error_set(error, BOBBIN_EPROVIDER,
			"the model gave an empty answer %u times; your message is stored",
			turn->empty_replies);
	turn->state = TURN_PLAN;
	rc = turn_note(turn, "the model gave an empty answer; asking again (%u of %d)", turn->empty_replies,
		EMPTY_REPLIES_MAX);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* With the answer durable there is time: the record of one closed segment, so
 * that the next compaction finds it. A model that writes records is not asked
 * here: its answer would hold up this one. */
static void derive_ahead(bobbin_turn *turn)
{
	uint32_t derived;
	bool left;
	if (!turn->no_compaction && !turn->deriver)
		compact_ahead(turn->session, &rules_deriver, 1, &derived, &left, NULL);
}

/* What the person typed is judged when the answer is there. That it cannot be kept costs the turn nothing, and is said. */
static void learn(bobbin_turn *turn)
{
	struct memory_taken taken = {0};
	struct bobbin_error why = {0};
	if (turn->window.no_facts || turn->session->store->read_only)
		return;
	if (facts_learn_turn(turn->session, turn->head_node, &taken, &why) < 0)
		turn_note(turn, "nothing was learned from this turn: %s", why.message);
}

static int finish(bobbin_turn *turn, const char *id, struct bobbin_error *error)
{
	turn->state = TURN_OVER;
	derive_ahead(turn);
	learn(turn);
	int rc = turn_follow_files(turn, error);
	if (rc < 0)
		return rc;
	rc = turn_queue(turn, BOBBIN_EVENT_DONE, id, NULL, slice_of(model_stop_text(turn->reply.stop)), 0);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

int turn_store_reply(bobbin_turn *turn, struct bobbin_error *error)
{
	struct log_ack ack;
	if (reply_is_empty(&turn->reply))
		return empty_reply(turn, error);
	int rc = append_reply(turn, &ack, error);
	turn_close_stream(turn);
	if (!rc)
		rc = follow(turn, ack.node, error);
	if (!rc)
		rc = turn_store_usage(turn, error);
	if (!rc)
		rc = stored_event(turn, ack.id, error);
	if (rc < 0)
		return rc;
	if (ack.aside)
		return error_set(error, BOBBIN_ECONFLICT,
			"another writer moved the head meanwhile; the reply is "
			"stored beside the line as %s",
			ack.id);
	turn->branch = false;
	turn->tries = turn->empty_replies = turn->overflows = 0;
	turn->rounds++;
	rc = collect_calls(turn, ack.node, error);
	if (rc < 0)
		return rc;
	if (!turn->call_count)
		return finish(turn, ack.id, error);
	turn->state = TURN_CALLS;
	return 0;
}

/* ---- Results ---- */

static void result_record(const struct turn_call *call, struct buffer *out)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "tool");
	json_member_string(&writer, "tool_call_id", call->id);
	json_member_string(&writer, "name", call->name);
	json_member_string(&writer, "content", call->result);
	if (call->is_error)
		json_member_bool(&writer, "is_error", true);
	json_end_object(&writer);
}

static int result_records(bobbin_turn *turn, struct slice *records)
{
	for (size_t i = 0; i < turn->call_count; i++) {
		struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);
		result_record(&turn->calls[i], &record);
		int rc = buffer_error(&record);
		if (!rc)
			rc = copy_slice(&turn->arena, buffer_slice(&record), &records[i]);
		buffer_release(&record);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* All in one append; a conflict keeps them beside the line too: an effect that
 * happened is never forgotten.
 */
int turn_store_results(bobbin_turn *turn, struct bobbin_error *error)
{
	struct log_append_options options = {.check_head = true, .on_conflict = LOG_CONFLICT_ASIDE};
	struct slice *records = arena_alloc(&turn->arena, turn->call_count * sizeof(*records));
	struct log_ack *acks = arena_alloc(&turn->arena, turn->call_count * sizeof(*acks));
	int rc = records && acks ? result_records(turn, records) : BOBBIN_ENOMEM;
	if (rc < 0) {
		turn->state = TURN_FAILED;
		return error_set(error, rc, "the results cannot be put together");
	}
	options.expected_head = slice_of(turn->head);
	rc = log_append(turn->session->log, records, turn->call_count, &options, acks, error);
	if (!rc && acks[turn->call_count - 1].aside)
		rc = error_set(error, BOBBIN_ECONFLICT,
			"another writer moved the head meanwhile; the results are "
			"stored beside the line");
	if (!rc)
		rc = follow(turn, acks[turn->call_count - 1].node, error);
	turn->state = rc < 0 ? TURN_FAILED : TURN_PLAN;
	return rc;
}
