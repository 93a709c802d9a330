/* SPDX-License-Identifier: MIT */
/*
 * Repairing a conversation, see import_repair.h. First each result is given its call, then the messages are written anew in
 * their order (import_repair_write.c), each with the results of its calls behind it; what each follows is worked out by
 * transcript/import_tree.h.
 *
 * Not piece by piece, also where the reading is: it takes two to four times the file. One pass that looks ahead a little would not
 * do: (1) the result of a call may stand anywhere behind it, or before it, and is written with the call; (2) whether a message is on
 * the line, where calls are renamed and a first message is put in, is known when the head is, which is at the end; (3) whether a
 * sealed block or a message stays depends on what follows that stays, so that is found backwards; (4) a conversation with nothing
 * wrong keeps its bytes, which is known when all of it was seen. Two passes with the records in the spill would do, an entry a message;
 * what stands in the way is that struct replay, which the doctor shares, keeps each message parsed over its record's bytes.
 */
#include "session/import_repair_inside.h"

#include "base/alloc.h"
#include "session/foreign_text.h"
#include "session/handles.h"
#include <stdio.h>

const char *import_repair_text(enum import_repair repair)
{
	static const char *const texts[REPAIRS] = {
		[REPAIR_MARKED] = "without a result: marked as interrupted",
		[REPAIR_MOVED] = "put behind the call {it answers|they answer}",
		[REPAIR_COPIES] = "given twice: {one|one of each} is kept",
		[REPAIR_TEXTS] = "without a call to answer: kept as text",
		[REPAIR_RENAMED] = "used before: renamed, with {its|their} results",
		[REPAIR_SEALED] = "without a valid seal: left out",
		[REPAIR_POISONED] = "with half characters or NULs: U+FFFD in their place",
		[REPAIR_EMPTY] = "without any content: left out",
		[REPAIR_BLANK] = "without a word beside others: left out",
		[REPAIR_ARGUMENTS] = "whose arguments were no JSON object: they stand as a text in one",
		[REPAIR_NAMES] = "whose tool's name the provider refuses: renamed",
		[REPAIR_OPENED] = "that began with the assistant: [conversation continues] before it",
		[REPAIR_IDS] = "whose id the provider refuses: renamed, with {its|their} results",
	};
	return texts[repair];
}

void repair_count(struct repairing *repairing, enum import_repair repair, size_t message)
{
	if (!repairing->repairs.counts[repair]++)
		repairing->repairs.first[repair] = message;
}

/* ---- Who answers what ---- */

/* The list of the calls of a message with that id, by the first of it. */
static struct slice list_key(struct repairing *repairing, size_t message, struct slice id)
{
	buffer_clear(&repairing->key);
	buffer_add(&repairing->key, &message, sizeof(message));
	buffer_add_slice(&repairing->key, id);
	return buffer_slice(&repairing->key);
}

static int add_call(struct repairing *repairing, size_t message, const struct block *block)
{
	size_t at = repairing->call_count, first;
	struct slice key = list_key(repairing, message, block->call_id);
	if (buffer_error(&repairing->key) ||
		mem_grow((void **)&repairing->calls, &repairing->call_cap, at + 1, sizeof(*repairing->calls)) < 0)
		return BOBBIN_ENOMEM;
	repairing->call_count++;
	repairing->calls[at] =
		(struct call){message, REPLAY_NONE, block->call_id, block->call_name, block->call_id, CALL_NONE, at};
	if (id_table_get(&repairing->lists, key, &first)) {
		/* Until answers are given `open` of the first is the last of the list. */
		repairing->calls[repairing->calls[first].open].next = at;
		repairing->calls[first].open = at;
		return 0;
	}
	key.data = arena_copy(&repairing->replay.arena, key.data, key.len);
	return key.data ? id_table_put(&repairing->lists, key, at) : BOBBIN_ENOMEM;
}

static int find_calls(struct repairing *repairing)
{
	struct replay *replay = &repairing->replay;
	struct block_iter iter;
	struct block block;
	for (size_t i = 0; i < replay->count; i++) {
		repairing->calls_from[i] = repairing->call_count;
		repairing->fates[i] = FATE_KEPT;
		block_iter_init(&iter, &replay->messages[i], &replay->arena);
		while (block_iter_next(&iter, &block))
			if (block.type == BLOCK_CALL && add_call(repairing, i, &block) < 0)
				return BOBBIN_ENOMEM;
		if (iter.error)
			return iter.error;
	}
	repairing->calls_from[replay->count] = repairing->call_count;
	for (size_t i = 0; i < repairing->call_count; i++)
		repairing->calls[i].open = i;
	return 0;
}

/* A call of this message with the id; one without an answer first. */
static size_t call_in(struct repairing *repairing, size_t message, struct slice id)
{
	struct call *calls = repairing->calls;
	size_t first;
	if (!id_table_get(&repairing->lists, list_key(repairing, message, id), &first))
		return REPLAY_NONE;
	while (calls[first].open != CALL_NONE && calls[calls[first].open].result != REPLAY_NONE)
		calls[first].open = calls[calls[first].open].next;
	return calls[first].open != CALL_NONE ? calls[first].open : first;
}

/* The message whose batch the result stands in. */
static size_t batch_of(const struct replay *replay, size_t result)
{
	size_t parent = replay->parents[result];
	return parent == REPLAY_NONE ? REPLAY_NONE : replay->tops[parent];
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
		/* On a branch beside the line the head follows neither; and a line may go on past one of its results. */
		size_t caller = repairing->calls[call].message;
		if (batch_of(&repairing->replay, result) != caller ||
			(repairing->replay.moves[caller] && !repairing->replay.moves[result]) ||
			(repairing->on_line[caller] && !repairing->on_line[result]))
			repair_count(repairing, REPAIR_MOVED, result);
		return;
	}
	if (messages[before].marker != MARKER_NONE && messages[result].marker == MARKER_NONE) {
		repairing->calls[call].result = result;
		repairing->fates[before] = FATE_COPY;
		repair_count(repairing, REPAIR_COPIES, before);
		return;
	}
	bool copy = messages[result].marker != MARKER_NONE || same_answer(&messages[before], &messages[result]);
	repairing->fates[result] = copy ? FATE_COPY : FATE_TEXT;
	repair_count(repairing, copy ? REPAIR_COPIES : REPAIR_TEXTS, result);
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
			repair_count(repairing, REPAIR_TEXTS, i);
		}
	}
	id_table_release(&before);
	id_table_release(&after);
	return rc;
}

/* ---- Ids ---- */

#define RENAMED_ID_BYTES_MAX 40 /* the strictest provider's */

static int rename_call(struct repairing *repairing, struct call *call, const struct id_table *used)
{
	char number[32];
	size_t next = 2, ignored, len = call->id.len;
	if (len > RENAMED_ID_BYTES_MAX - sizeof("_9999999"))
		len = RENAMED_ID_BYTES_MAX - sizeof("_9999999");
	char *name = arena_alloc(&repairing->replay.arena, len + sizeof(number));
	if (!name)
		return BOBBIN_ENOMEM;
	for (size_t at = 0; at < len; at++)
		name[at] = foreign_is_word((struct slice){call->id.data + at, 1}) ? call->id.data[at] : '_';
	/* Numbers that were taken once stay so. */
	id_table_get(&repairing->names, (struct slice){name, len}, &next);
	do {
		snprintf(number, sizeof(number), "_%zu", next++);
		memcpy(name + len, number, strlen(number) + 1);
		call->written = (struct slice){name, len + strlen(number)};
	} while (id_table_get(used, call->written, &ignored));
	return id_table_put(&repairing->names, (struct slice){name, len}, next);
}

/* Numbers the messages so that those which follow one, near or far, have the numbers behind its own: each gives its followers rooms
 * in their order, as many as hang from them. */
static int number_messages(struct repairing *repairing)
{
	const struct replay *replay = &repairing->replay;
	struct arena *arena = &repairing->replay.arena;
	size_t *sizes = arena_alloc_zero(arena, (replay->count + 1) * sizeof(*sizes)), roots = 0;
	repairing->entered = arena_alloc(arena, (replay->count + 1) * sizeof(*repairing->entered));
	repairing->left = arena_alloc(arena, (replay->count + 1) * sizeof(*repairing->left));
	if (!sizes || !repairing->entered || !repairing->left)
		return BOBBIN_ENOMEM;
	for (size_t i = replay->count; i-- > 0;) {
		sizes[i]++;
		if (replay->parents[i] != REPLAY_NONE)
			sizes[replay->parents[i]] += sizes[i];
	}
	for (size_t i = 0; i < replay->count; i++) {
		size_t parent = replay->parents[i], *room = parent == REPLAY_NONE ? &roots : &sizes[parent];
		repairing->entered[i] = *room;
		repairing->left[i] = *room + sizes[i];
		*room += sizes[i];
		sizes[i] = repairing->entered[i] + 1; /* from now on: the room for its next follower */
	}
	return 0;
}

/* Whether it stands above it on a way to the root, or is it. */
static bool is_before(const struct repairing *repairing, size_t earlier, size_t later)
{
	return repairing->entered[earlier] <= repairing->entered[later] && repairing->entered[later] < repairing->left[earlier];
}

/* A call id stands once on a line, on other branches it may stand again; and the provider takes it. */
static int settle_call_ids(struct repairing *repairing)
{
	struct id_table used = {0};
	size_t other;
	int rc = number_messages(repairing);
	for (size_t i = 0; !rc && i < repairing->call_count; i++) {
		struct call *call = &repairing->calls[i];
		bool refused = foreign_id_is_refused(repairing->import->format, call->id);
		if (refused || (id_table_get(&used, call->id, &other) && is_before(repairing, other, call->message))) {
			rc = rename_call(repairing, call, &used);
			repair_count(repairing, refused ? REPAIR_IDS : REPAIR_RENAMED, call->message);
		}
		if (!rc)
			rc = id_table_put(&used, call->written, call->message);
	}
	id_table_release(&used);
	return rc;
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
			repair_write_marked(repairing, call);
		} else {
			repair_write_members(repairing, call->result, call->written);
			draft.id = keep(repairing, repairing->replay.messages[call->result].id);
		}
		rc = add_draft(repairing, &draft, repairing->tails[index]);
		repairing->tails[index] = repairing->drafts.count - 1;
		if (call->result != REPLAY_NONE)
			repairing->places[call->result] = repairing->tails[index];
	}
	return rc;
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

/* A line that begins with the assistant, which not every provider takes: requests put the same before it. */
static int open_line(struct repairing *repairing, size_t index, size_t *parent)
{
	struct json_writer writer;
	struct draft draft = {.role = ROLE_USER, .origin = ORIGIN_INJECTED};
	buffer_clear(&repairing->out);
	json_writer_init(&writer, &repairing->out);
	json_member_text(&writer, "role", "user");
	json_member_text(&writer, "content", "[conversation continues]");
	json_member_text(&writer, "origin", "injected");
	repair_count(repairing, REPAIR_OPENED, index);
	int rc = add_draft(repairing, &draft, DRAFT_NONE);
	*parent = repairing->drafts.count - 1;
	return rc;
}

/* A message that is no result, and the results of its calls. */
static int add_message(struct repairing *repairing, size_t index)
{
	const struct message *message = &repairing->replay.messages[index];
	size_t parent = tail_of(repairing, repairing->replay.parents[index]);
	struct draft draft = {.role = message->role, .origin = message->origin, .still = !repairing->replay.moves[index]};
	if (repair_is_empty(repairing, index)) {
		repairing->tails[index] = repairing->places[index] = parent;
		repair_count(repairing, REPAIR_EMPTY, index);
		return 0;
	}
	int rc = 0;
	if (parent == DRAFT_NONE && message->role == ROLE_ASSISTANT && repairing->on_line[index])
		rc = open_line(repairing, index, &parent);
	repair_write_members(repairing, index, (struct slice){NULL, 0});
	draft.id = keep(repairing, message->id);
	place_cut(repairing, index, &draft);
	if (!rc)
		rc = add_draft(repairing, &draft, parent);
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
	repair_write_as_text(repairing, index);
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

/* After which messages the assistant speaks on with something that stays; of a message of the line, on the line. Backwards, for
 * whether anything stays of a message depends on what follows it. */
static int find_what_goes_on(struct repairing *repairing)
{
	const struct replay *replay = &repairing->replay;
	bool *on_line = arena_alloc_zero(&repairing->replay.arena, (replay->count + 1) * sizeof(*on_line));
	repairing->on_line = on_line;
	if (!on_line)
		return BOBBIN_ENOMEM;
	for (size_t at = replay->head; at != REPLAY_NONE; at = replay->parents[at])
		on_line[at] = true;
	for (size_t i = replay->count; i-- > 0;) {
		size_t parent = replay->parents[i];
		if (parent != REPLAY_NONE && replay->messages[i].role == ROLE_ASSISTANT && (on_line[i] || !on_line[parent]) &&
			!repair_is_empty(repairing, i))
			repairing->goes_on[parent] = true;
	}
	return 0;
}

static int prepare(struct repairing *repairing, const struct import_conversation *conversation, struct bobbin_error *error)
{
	size_t count = conversation->record_count;
	struct arena *arena = &repairing->replay.arena;
	int rc = replay_conversation(&repairing->replay, conversation, error);
	if (rc < 0)
		return rc;
	repairing->calls_from = arena_alloc(arena, (count + 1) * sizeof(*repairing->calls_from));
	repairing->fates = arena_alloc(arena, (count + 1) * sizeof(*repairing->fates));
	repairing->goes_on = arena_alloc_zero(arena, (count + 1) * sizeof(*repairing->goes_on));
	repairing->tails = arena_alloc_zero(arena, (count + 1) * sizeof(*repairing->tails));
	repairing->places = arena_alloc_zero(arena, (count + 1) * sizeof(*repairing->places));
	if (!repairing->places || !repairing->calls_from || !repairing->fates || !repairing->tails || !repairing->goes_on)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return find_what_goes_on(repairing) < 0 ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
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
	struct repairing repairing = {.import = import,
		.drafts = {.import = import},
		.out = BUFFER_INIT(LIMIT_LINE_BYTES),
		.key = BUFFER_INIT(LIMIT_LINE_BYTES * 2)};
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
	buffer_release(&repairing.key);
	id_table_release(&repairing.lists);
	id_table_release(&repairing.names);
	mem_free(repairing.calls);
	replay_release(&repairing.replay);
	return rc;
}
