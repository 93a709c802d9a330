/* SPDX-License-Identifier: MIT */
/*
 * Repairing a conversation, see import_repair.h. First each result is given its call, then the messages are written anew in
 * their order, each with the results of its calls behind it; what each follows is worked out by transcript/import_tree.h.
 */
#include "session/import_repair.h"

#include "base/alloc.h"
#include "session/handles.h"
#include "session/replay.h"
#include "transcript/import_tree.h"
#include <stdio.h>

struct call {
	size_t message, result; /* REPLAY_NONE: nobody answered */
	struct slice id, name;
	struct slice written; /* the id it gets; else `id` */
};

enum fate { FATE_KEPT, FATE_COPY, FATE_TEXT };

struct repairing {
	struct import *import;
	struct replay replay;
	struct import_repairs repairs;
	struct call *calls;
	size_t call_count, call_cap;
	size_t *calls_from;    /* by message: its first in `calls`; the next message's is the end */
	enum fate *fates;      /* of results */
	size_t *places;	       /* by message: its draft */
	size_t *tails;	       /* by message: the draft that what follows it hangs from */
	struct drafts drafts;
	struct buffer out;
};

const char *import_repair_text(enum import_repair repair)
{
	static const char *const texts[REPAIRS] = {
		[REPAIR_MARKED] = "without a result: marked as interrupted",
		[REPAIR_MOVED] = "put behind the call they answer",
		[REPAIR_COPIES] = "given twice: one of each is kept",
		[REPAIR_TEXTS] = "without a call to answer: kept as text",
		[REPAIR_RENAMED] = "used before: renamed, with their results",
		[REPAIR_SEALED] = "without a valid seal: left out",
		[REPAIR_POISONED] = "with half characters or NULs: U+FFFD in their place",
		[REPAIR_EMPTY] = "without any content: left out",
	};
	return texts[repair];
}

static void count(struct repairing *repairing, enum import_repair repair, size_t message)
{
	if (!repairing->repairs.counts[repair]++)
		repairing->repairs.first[repair] = message;
}

/* ---- Characters and seals ---- */

static int hex_value(const char *digits)
{
	int value = 0;
	for (int i = 0; i < 4; i++) {
		char c = digits[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

size_t json_poison(char *text, size_t len, bool mend)
{
	size_t found = 0;
	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] != '\\')
			continue;
		if (text[i + 1] != 'u' || i + 6 > len) {
			i++;
			continue;
		}
		int value = hex_value(text + i + 2);
		if (value >= 0xd800 && value < 0xdc00 && i + 12 <= len && text[i + 6] == '\\' && text[i + 7] == 'u') {
			int low = hex_value(text + i + 8);
			if (low >= 0xdc00 && low < 0xe000) {
				i += 11;
				continue;
			}
		}
		if (value == 0 || (value >= 0xd800 && value < 0xe000)) {
			found++;
			if (mend)
				memcpy(text + i + 2, "fffd", 4);
		}
		i += 5;
	}
	return found;
}

static bool is_base64(const struct json *string)
{
	struct slice text;
	if (string->type != JSON_STRING || !json_string_plain(string, &text) || !text.len)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || memchr("+/-_=", c, 5)))
			return false;
	}
	return true;
}

bool sealed_is_broken(const char *format, const struct block *block)
{
	bool anthropic = slice_is(slice_of(format), "claude-code") || slice_is(slice_of(format), "anthropic-messages");
	struct json seal, text;
	if (slice_is(block->kind, "redacted_thinking"))
		return !json_get(&block->value, "data", &seal) || !is_base64(&seal);
	if (slice_is(block->kind, "thinking") && anthropic)
		return !json_get(&block->value, "signature", &seal) || !is_base64(&seal) ||
		       !json_get(&block->value, "thinking", &text) || text.type != JSON_STRING ||
		       json_poison((char *)text.text, text.len, false) > 0;
	return slice_is(block->kind, "reasoning") && json_get(&block->value, "encrypted_content", &seal) &&
	       seal.type != JSON_NULL && !is_base64(&seal);
}

/* ---- Who answers what ---- */

static int find_calls(struct repairing *repairing)
{
	struct replay *replay = &repairing->replay;
	struct block_iter iter;
	struct block block;
	for (size_t i = 0; i < replay->count; i++) {
		repairing->calls_from[i] = repairing->call_count;
		repairing->fates[i] = FATE_KEPT;
		block_iter_init(&iter, &replay->messages[i], &replay->arena);
		while (block_iter_next(&iter, &block)) {
			if (block.type != BLOCK_CALL)
				continue;
			if (mem_grow((void **)&repairing->calls, &repairing->call_cap, repairing->call_count + 1,
				    sizeof(*repairing->calls)) < 0)
				return BOBBIN_ENOMEM;
			repairing->calls[repairing->call_count++] = (struct call){
				i, REPLAY_NONE, block.call_id, block.call_name, block.call_id};
		}
		if (iter.error)
			return iter.error;
	}
	repairing->calls_from[replay->count] = repairing->call_count;
	return 0;
}

/* A call of this message with the id; one without an answer first. */
static size_t call_in(const struct repairing *repairing, size_t message, struct slice id)
{
	size_t found = REPLAY_NONE;
	for (size_t i = repairing->calls_from[message]; i < repairing->calls_from[message + 1]; i++) {
		if (!slice_equal(repairing->calls[i].id, id))
			continue;
		if (repairing->calls[i].result == REPLAY_NONE)
			return i;
		if (found == REPLAY_NONE)
			found = i;
	}
	return found;
}

/* The message whose batch the result stands in. */
static size_t batch_of(const struct replay *replay, size_t result)
{
	size_t at = replay->parents[result];
	while (at != REPLAY_NONE && replay->messages[at].role == ROLE_TOOL)
		at = replay->parents[at];
	return at;
}

static bool same_answer(const struct message *a, const struct message *b)
{
	return a->content.type == b->content.type && a->content.len == b->content.len && a->is_error == b->is_error &&
	       (!a->content.len || memcmp(a->content.text, b->content.text, a->content.len) == 0);
}

/* A real answer takes the place of a marked one; a second real one that says something else becomes text. */
static void give_answer(struct repairing *repairing, size_t result, size_t call)
{
	const struct message *messages = repairing->replay.messages;
	size_t before = repairing->calls[call].result;
	if (before == REPLAY_NONE) {
		repairing->calls[call].result = result;
		if (batch_of(&repairing->replay, result) != repairing->calls[call].message ||
			!repairing->replay.moves[result])
			count(repairing, REPAIR_MOVED, result);
		return;
	}
	if (messages[before].marker != MARKER_NONE && messages[result].marker == MARKER_NONE) {
		repairing->calls[call].result = result;
		repairing->fates[before] = FATE_COPY;
		count(repairing, REPAIR_COPIES, before);
		return;
	}
	bool copy = messages[result].marker != MARKER_NONE || same_answer(&messages[before], &messages[result]);
	repairing->fates[result] = copy ? FATE_COPY : FATE_TEXT;
	count(repairing, copy ? REPAIR_COPIES : REPAIR_TEXTS, result);
}

/* The call that a result answers: of the batch it stands in, else the latest before it, else the first after it. */
static int match_results(struct repairing *repairing)
{
	const struct replay *replay = &repairing->replay;
	struct id_table before = {0}, after = {0};
	size_t other;
	int rc = 0;
	for (size_t i = repairing->call_count; !rc && i-- > 0;)
		rc = id_table_put(&after, repairing->calls[i].id, repairing->calls[i].message);
	for (size_t i = 0; !rc && i < replay->count; i++) {
		const struct message *message = &replay->messages[i];
		for (size_t call = repairing->calls_from[i]; !rc && call < repairing->calls_from[i + 1]; call++)
			rc = id_table_put(&before, repairing->calls[call].id, i);
		if (rc || message->role != ROLE_TOOL)
			continue;
		size_t batch = batch_of(replay, i), call = REPLAY_NONE;
		if (batch != REPLAY_NONE)
			call = call_in(repairing, batch, message->tool_call_id);
		if (call == REPLAY_NONE && (id_table_get(&before, message->tool_call_id, &other) ||
						   id_table_get(&after, message->tool_call_id, &other)))
			call = call_in(repairing, other, message->tool_call_id);
		if (call != REPLAY_NONE) {
			give_answer(repairing, i, call);
		} else {
			repairing->fates[i] = FATE_TEXT;
			count(repairing, REPAIR_TEXTS, i);
		}
	}
	id_table_release(&before);
	id_table_release(&after);
	return rc;
}

/* ---- Ids ---- */

static int rename_call(struct repairing *repairing, struct call *call, const struct id_table *used)
{
	char number[32];
	size_t ignored;
	struct slice stem = call->id;
	if (stem.len > 40) /* no provider takes more than 64 bytes */
		stem.len = 40;
	for (unsigned i = 2;; i++) {
		int len = snprintf(number, sizeof(number), "_%u", i);
		char *name = arena_alloc(&repairing->replay.arena, stem.len + (size_t)len + 1);
		if (!name)
			return BOBBIN_ENOMEM;
		memcpy(name, stem.data ? stem.data : "", stem.len);
		memcpy(name + stem.len, number, (size_t)len + 1);
		call->written = (struct slice){name, stem.len + (size_t)len};
		if (!id_table_get(used, call->written, &ignored))
			return 0;
	}
}

static bool is_before(const struct replay *replay, size_t earlier, size_t later)
{
	for (size_t at = later; at != REPLAY_NONE && at >= earlier; at = replay->parents[at])
		if (at == earlier)
			return true;
	return false;
}

/* A call id stands once on a line; on other branches it may stand again. */
static int settle_call_ids(struct repairing *repairing)
{
	struct id_table used = {0};
	size_t other;
	int rc = 0;
	for (size_t i = 0; !rc && i < repairing->call_count; i++) {
		struct call *call = &repairing->calls[i];
		if (!call->id.len || (id_table_get(&used, call->id, &other) &&
					     is_before(&repairing->replay, other, call->message))) {
			rc = rename_call(repairing, call, &used);
			count(repairing, REPAIR_RENAMED, call->message);
		}
		if (!rc)
			rc = id_table_put(&used, call->written, call->message);
	}
	id_table_release(&used);
	return rc;
}

/* ---- Writing ---- */

/* The calls of a message in the order of their blocks; the next one's new id. */
struct naming {
	struct repairing *repairing;
	size_t next;
};

static void write_key(struct repairing *repairing, struct json_writer *writer, const struct json *key)
{
	struct slice text = json_string_content(key, &repairing->replay.arena);
	if (text.data)
		json_key_slice(writer, text);
	else
		repairing->out.error = BOBBIN_ENOMEM;
}

static void write_call(struct json_writer *writer, const struct json *block, struct naming *naming)
{
	struct json_iter iter;
	struct json key, value;
	const struct call *named = &naming->repairing->calls[naming->next++];
	bool wrote = false;
	json_begin_object(writer);
	json_iter_init(&iter, block);
	while (json_iter_next(&iter, &key, &value)) {
		write_key(naming->repairing, writer, &key);
		if (json_string_is(&key, "id")) {
			json_add_string(writer, named->written);
			wrote = true;
		} else {
			json_add_value(writer, &value);
		}
	}
	if (!wrote)
		json_member_string(writer, "id", named->written);
	json_end_object(writer);
}

static bool is_call(const struct message *message, const struct json *block)
{
	struct json type;
	return message->role == ROLE_ASSISTANT && block->type == JSON_OBJECT && json_get(block, "type", &type) &&
	       (json_string_is(&type, "tool_call") || json_string_is(&type, "tool_use"));
}

static void write_content(struct repairing *repairing, size_t index, struct json_writer *writer, struct naming *naming)
{
	const struct message *message = &repairing->replay.messages[index];
	struct json_iter iter;
	struct json value;
	json_key(writer, "content");
	json_begin_array(writer);
	json_iter_init(&iter, &message->content);
	while (json_iter_next(&iter, NULL, &value)) {
		struct json type;
		struct block block = {.type = BLOCK_SEALED, .value = value};
		if (json_get(&value, "type", &type) && json_string_plain(&type, &block.kind) &&
			sealed_is_broken(repairing->import->format, &block)) {
			count(repairing, REPAIR_SEALED, index);
			continue;
		}
		if (is_call(message, &value))
			write_call(writer, &value, naming);
		else
			json_add_value(writer, &value);
	}
	json_end_array(writer);
}

/* They come after those in the content, wherever the member stands. */
static void write_tool_calls(struct repairing *repairing, size_t index, struct json_writer *writer)
{
	const struct message *message = &repairing->replay.messages[index];
	struct naming calls = {repairing, repairing->calls_from[index]}, *naming = &calls;
	struct json_iter iter;
	struct json value;
	json_iter_init(&iter, &message->content);
	while (message->content.type == JSON_ARRAY && json_iter_next(&iter, NULL, &value))
		naming->next += is_call(message, &value);
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_iter_init(&iter, &message->tool_calls);
	while (json_iter_next(&iter, NULL, &value))
		if (value.type == JSON_OBJECT)
			write_call(writer, &value, naming);
	json_end_array(writer);
}

static bool is_placement(const struct json *key)
{
	static const char *const names[] = {"id", "parent", "branch", "cut", "seq", "crc"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_string_is(key, names[i]))
			return true;
	return false;
}

/* The members of a message, repaired, without what says where it stands; in repairing->out. */
static void write_members(struct repairing *repairing, size_t index, struct slice call_id)
{
	const struct message *message = &repairing->replay.messages[index];
	struct naming naming = {repairing, repairing->calls_from[index]};
	struct json_writer writer;
	struct json_iter iter;
	struct json key, value;
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_iter_init(&iter, &message->record);
	while (json_iter_next(&iter, &key, &value)) {
		if (is_placement(&key))
			continue;
		if (json_string_is(&key, "content") && value.type == JSON_ARRAY) {
			write_content(repairing, index, &writer, &naming);
		} else if (json_string_is(&key, "tool_calls") && message->role == ROLE_ASSISTANT && value.type == JSON_ARRAY) {
			write_tool_calls(repairing, index, &writer);
		} else {
			write_key(repairing, &writer, &key);
			if (json_string_is(&key, "tool_call_id") && call_id.data)
				json_add_string(&writer, call_id);
			else
				json_add_value(&writer, &value);
		}
	}
	if (!buffer_error(&repairing->out) && json_poison(repairing->out.data, repairing->out.len, true))
		count(repairing, REPAIR_POISONED, index);
}

/* A result nobody asked for, in words. */
static void write_as_text(struct repairing *repairing, size_t index)
{
	const struct message *message = &repairing->replay.messages[index];
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	buffer_add_text(&text, "[late or unasked result of tool call ");
	buffer_add_slice(&text, message->tool_call_id);
	buffer_add_text(&text, "]\n");
	message_add_text(message, &repairing->replay.arena, &text);
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_member_text(&writer, "role", "user");
	json_member_string(&writer, "content", buffer_slice(&text));
	json_member_text(&writer, "origin", "injected");
	if (buffer_error(&text))
		repairing->out.error = buffer_error(&text);
	else
		json_poison(repairing->out.data, repairing->out.len, true);
	buffer_release(&text);
}

static void write_marked(struct repairing *repairing, const struct call *call)
{
	struct json_writer writer;
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_member_text(&writer, "role", "tool");
	json_member_string(&writer, "tool_call_id", call->written);
	if (call->name.len)
		json_member_string(&writer, "name", call->name);
	json_member_text(&writer, "content", MARKED_TEXT);
	json_member_bool(&writer, "is_error", true);
	json_member_text(&writer, "marker", "interrupted");
	count(repairing, REPAIR_MARKED, call->message);
}

/* What stands in `out` as the next message. */
static int add_draft(struct repairing *repairing, struct draft *draft, size_t parent)
{
	draft->parent_kind = DRAFT_AT;
	draft->parent = parent;
	if (buffer_error(&repairing->out))
		return buffer_error(&repairing->out);
	draft->members = import_keep(repairing->import, buffer_slice(&repairing->out));
	return draft->members.data ? drafts_add(&repairing->drafts, draft) : BOBBIN_ENOMEM;
}

static size_t tail_of(const struct repairing *repairing, size_t message)
{
	return message == REPLAY_NONE ? DRAFT_NONE : repairing->tails[message];
}

static struct slice keep(struct repairing *repairing, struct slice text)
{
	return text.data ? import_keep(repairing->import, text) : text;
}

static int add_results(struct repairing *repairing, size_t index)
{
	int rc = 0;
	for (size_t i = repairing->calls_from[index]; !rc && i < repairing->calls_from[index + 1]; i++) {
		const struct call *call = &repairing->calls[i];
		struct draft draft = {.role = ROLE_TOOL,
			.still = !repairing->replay.moves[index],
			.call_id = keep(repairing, call->written)};
		if (call->result == REPLAY_NONE) {
			write_marked(repairing, call);
		} else {
			write_members(repairing, call->result, call->written);
			draft.id = keep(repairing, repairing->replay.messages[call->result].id);
		}
		rc = add_draft(repairing, &draft, repairing->tails[index]);
		repairing->tails[index] = repairing->drafts.count - 1;
		if (call->result != REPLAY_NONE)
			repairing->places[call->result] = repairing->tails[index];
	}
	return rc;
}

/* Only white space, which no provider takes for a text. */
static bool is_blank(const struct json *text)
{
	struct slice plain = {text->text, text->len};
	for (size_t i = 1; i + 1 < plain.len; i++) {
		if (plain.data[i] == '\\' && memchr("nrt", plain.data[i + 1], 3))
			i++;
		else if (!import_is_space(plain.data[i]))
			return false;
	}
	return true;
}

static bool is_empty(struct repairing *repairing, size_t index)
{
	struct block_iter iter;
	struct block block;
	bool empty = true;
	block_iter_init(&iter, &repairing->replay.messages[index], &repairing->replay.arena);
	while (empty && block_iter_next(&iter, &block))
		empty = block.type == BLOCK_TEXT ? is_blank(&block.text)
						 : block.type == BLOCK_SEALED &&
							   sealed_is_broken(repairing->import->format, &block);
	return empty && !iter.error;
}

/* "cut": the first message that a foreign compaction left, where that one stands now. */
static void place_cut(struct repairing *repairing, size_t index, struct draft *draft)
{
	struct replay *replay = &repairing->replay;
	struct json cut;
	size_t at;
	draft->cut = DRAFT_NONE;
	draft->cuts = json_get(&replay->messages[index].record, "cut", &cut);
	if (draft->cuts && cut.type == JSON_STRING &&
		id_table_get(&replay->ids, json_string_content(&cut, &replay->arena), &at) && at < index)
		draft->cut = repairing->places[at];
}

/* A message that is no result, and the results of its calls. */
static int add_message(struct repairing *repairing, size_t index)
{
	const struct message *message = &repairing->replay.messages[index];
	size_t parent = tail_of(repairing, repairing->replay.parents[index]);
	struct draft draft = {.role = message->role, .origin = message->origin, .still = !repairing->replay.moves[index]};
	if (is_empty(repairing, index)) {
		repairing->tails[index] = repairing->places[index] = parent;
		count(repairing, REPAIR_EMPTY, index);
		return 0;
	}
	write_members(repairing, index, (struct slice){NULL, 0});
	draft.id = keep(repairing, message->id);
	place_cut(repairing, index, &draft);
	int rc = add_draft(repairing, &draft, parent);
	repairing->tails[index] = repairing->places[index] = repairing->drafts.count - 1;
	return rc ? rc : add_results(repairing, index);
}

static int add_result(struct repairing *repairing, size_t index)
{
	size_t parent = tail_of(repairing, repairing->replay.parents[index]);
	struct draft draft = {.role = ROLE_USER, .origin = ORIGIN_INJECTED, .still = !repairing->replay.moves[index]};
	repairing->tails[index] = parent;
	if (repairing->fates[index] != FATE_TEXT)
		return 0; /* a copy, or written with its call */
	write_as_text(repairing, index);
	int rc = add_draft(repairing, &draft, parent);
	repairing->tails[index] = repairing->places[index] = repairing->drafts.count - 1;
	return rc;
}

static int write_all(struct repairing *repairing)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < repairing->replay.count; i++)
		rc = repairing->replay.messages[i].role == ROLE_TOOL ? add_result(repairing, i)
								     : add_message(repairing, i);
	return rc;
}

/* ---- The whole ---- */

static int prepare(struct repairing *repairing, const struct import_conversation *conversation, struct bobbin_error *error)
{
	size_t count = conversation->record_count;
	struct arena *arena = &repairing->replay.arena;
	int rc = replay_conversation(&repairing->replay, conversation, error);
	if (rc < 0)
		return rc;
	repairing->calls_from = arena_alloc(arena, (count + 1) * sizeof(*repairing->calls_from));
	repairing->fates = arena_alloc(arena, (count + 1) * sizeof(*repairing->fates));
	repairing->tails = arena_alloc_zero(arena, (count + 1) * sizeof(*repairing->tails));
	repairing->places = arena_alloc_zero(arena, (count + 1) * sizeof(*repairing->places));
	if (!repairing->places || !repairing->calls_from || !repairing->fates || !repairing->tails)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return 0;
}

static bool anything(const struct import_repairs *repairs)
{
	for (int i = 0; i < REPAIRS; i++)
		if (repairs->counts[i])
			return true;
	return false;
}

static int emit(struct repairing *repairing, struct import_conversation *conversation)
{
	struct import_conversation made = {.foreign_id = conversation->foreign_id, .title = conversation->title};
	int rc = drafts_emit(&repairing->drafts, &made);
	if (rc < 0)
		return rc;
	made.head = tail_of(repairing, repairing->replay.head);
	*conversation = made;
	return 0;
}

int import_repair(struct import *import, struct import_conversation *conversation, struct import_repairs *ret_repairs,
	struct bobbin_error *error)
{
	struct repairing repairing = {.import = import, .drafts = {.import = import}, .out = BUFFER_INIT(LIMIT_LINE_BYTES)};
	int told = prepare(&repairing, conversation, error), rc = told;
	if (!rc)
		rc = find_calls(&repairing);
	if (!rc)
		rc = match_results(&repairing);
	if (!rc)
		rc = settle_call_ids(&repairing);
	if (!rc)
		rc = write_all(&repairing);
	if (!rc && anything(&repairing.repairs))
		rc = emit(&repairing, conversation);
	if (!rc)
		*ret_repairs = repairing.repairs;
	else if (!told)
		error_set(error, rc, rc == BOBBIN_ELIMIT ? "a message is too long when it is repaired" : "out of memory");
	drafts_release(&repairing.drafts);
	buffer_release(&repairing.out);
	mem_free(repairing.calls);
	replay_release(&repairing.replay);
	return rc;
}
