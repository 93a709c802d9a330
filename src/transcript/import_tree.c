/* SPDX-License-Identifier: MIT */
/*
 * Placing and writing of drafts; the rules are in import_tree.h.
 *
 * Invariants: (1) a draft's parent stands before it in the list; (2) appending the records in order by the
 * store's rules gives every message the parent its reader named and ends at the head the reader named; (3) an
 * id is written only if the store would take it, and is unique in the conversation.
 */
#include "transcript/import_tree.h"

#include <assert.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/id.h"
#include "base/limits.h"

int members_keep(struct import *import, struct slice members, uint64_t *ret_at)
{
	if (import->spill) {
		int rc = import->spill->add(import->spill->context, members, ret_at);
		return rc ? error_set(&import->sink_error, rc, "what was read cannot be put aside") : 0;
	}
	const char *kept = import_keep(import, members).data;
	*ret_at = (uint64_t)(uintptr_t)kept;
	return kept ? 0 : BOBBIN_ENOMEM;
}

int members_read(struct import *import, uint64_t at, size_t len, struct buffer *into, struct slice *ret_members)
{
	*ret_members = (struct slice){(const char *)(uintptr_t)at, len};
	if (!import->spill)
		return 0;
	buffer_clear(into);
	char *room = buffer_reserve(into, len);
	*ret_members = (struct slice){room, len};
	int rc = room ? import->spill->read_at(import->spill->context, room, len, at) : BOBBIN_ENOMEM;
	return rc && room ? error_set(&import->sink_error, rc, "what was put aside cannot be read again") : rc;
}

struct slice drafts_call_id(const struct drafts *drafts, struct slice id)
{
	struct slice known = id_table_key(&drafts->callers, id);
	return known.data ? known : import_hold(drafts->import, id);
}

static int add_call(struct drafts *drafts, struct slice id)
{
	id = drafts_call_id(drafts, id);
	if (mem_grow((void **)&drafts->calls, &drafts->call_cap, drafts->call_count + 1,
		    sizeof(*drafts->calls)) < 0)
		return BOBBIN_ENOMEM;
	drafts->calls[drafts->call_count++] = id;
	drafts->list[drafts->count - 1].call_count++;
	return id.data ? id_table_put(&drafts->callers, id, drafts->count - 1) : 0;
}

int drafts_add_calls(struct drafts *drafts, const struct message *message)
{
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, message, import_scratch(drafts->import));
	while (block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_CALL && add_call(drafts, block.call_id) < 0)
			return BOBBIN_ENOMEM;
	}
	return iter.error;
}

/* The calls of a draft as whoever reads its record will see them. */
static int read_calls(struct drafts *drafts, struct slice members)
{
	struct arena *arena = import_scratch(drafts->import);
	char *text = arena_alloc(arena, members.len + 2);
	struct json record;
	struct message message;

	if (!text)
		return BOBBIN_ENOMEM;
	text[0] = '{';
	memcpy(text + 1, members.data, members.len);
	text[members.len + 1] = '}';
	int rc = json_parse(text, members.len + 2, &record, NULL);
	if (!rc)
		rc = message_parse(&record, arena, &message, NULL);
	return rc ? rc : drafts_add_calls(drafts, &message);
}

static struct extra *extra_of(struct drafts *drafts, size_t index)
{
	struct placed *placed = &drafts->list[index];

	if (placed->extra)
		return &drafts->extras[placed->extra - 1];
	if (mem_grow((void **)&drafts->extras, &drafts->extra_cap, drafts->extra_count + 1, sizeof(*drafts->extras)) < 0)
		return NULL;
	placed->extra = (uint32_t)++drafts->extra_count;
	drafts->extras[placed->extra - 1] = (struct extra){.cut = DRAFT_NONE};
	return &drafts->extras[placed->extra - 1];
}

/* A message that no log can hold leaves its role, and a word in its place; what answers it finds it. `calls`: those it asks for, if
 * they are too many; 0: it is too long. */
static int leave_out(struct drafts *drafts, struct draft *draft, size_t calls, struct buffer *members)
{
	struct import *import = drafts->import;
	const struct place place = {import->line, import->offset};
	struct json_writer writer;
	char text[96], with[40] = "";

	if (calls)
		snprintf(with, sizeof(with), " with %zu tool calls", calls);
	snprintf(text, sizeof(text), "[left out by bobbin: a message of %zu bytes%s]", draft->members.len, with);
	buffer_clear(members);
	json_writer_init(&writer, members);
	json_member_text(&writer, "role", message_role_text(draft->role));
	if (draft->role == ROLE_TOOL)
		json_member_string(&writer, "tool_call_id", draft->call_id);
	json_member_text(&writer, "content", text);
	if (draft->role != ROLE_TOOL)
		json_member_text(&writer, "origin", "injected");
	int rc = calls ? import_damaged(import, place, DAMAGE_TOO_MANY_CALLS,
				 "message %zu asks for %zu tools at once, and %d is what a message may: left out, a word stands in its place",
				 drafts->count + 1, calls, LIMIT_CALLS_PER_MESSAGE)
		       : import_damaged(import, place, DAMAGE_TOO_LONG,
				 "message %zu, of %zu bytes, is nested or long beyond what a log line of %u bytes may be: left out, a word stands in its place",
				 drafts->count + 1, draft->members.len, LIMIT_LINE_BYTES);
	draft->members = buffer_slice(members);
	draft->kept = false;
	return buffer_error(members) ? buffer_error(members) : rc;
}

static int add_placed(struct drafts *drafts, const struct draft *draft)
{
	struct placed added = {.id = draft->id.data,
		.id_len = (uint32_t)draft->id.len,
		.call_id = draft->call_id.data,
		.call_id_len = (uint32_t)draft->call_id.len,
		.members_len = (uint32_t)draft->members.len,
		.parent = draft->parent == DRAFT_NONE ? PLACED_NONE : (uint32_t)draft->parent,
		.calls_from = (uint32_t)drafts->call_count,
		.role = draft->role,
		.origin = draft->origin,
		.at = draft->parent_kind == DRAFT_AT,
		.still = draft->still};
	int rc = 0;

	if (mem_grow((void **)&drafts->list, &drafts->cap, drafts->count + 1, sizeof(*drafts->list)) < 0)
		return BOBBIN_ENOMEM;
	added.members_at = draft->members_at;
	if (!draft->kept && draft->members.data &&
		(rc = members_keep(drafts->import, draft->members, &added.members_at)) < 0)
		return rc;
	drafts->list[drafts->count++] = added;
	assert(draft->parent_kind == DRAFT_HEAD || draft->parent == DRAFT_NONE || draft->parent < drafts->count - 1);
	if (draft->cuts) {
		struct extra *extra = extra_of(drafts, drafts->count - 1);
		if (!extra)
			return BOBBIN_ENOMEM;
		extra->cuts = true;
		extra->cut = draft->cut;
	}
	return draft->role == ROLE_ASSISTANT && draft->members.data ? read_calls(drafts, draft->members) : 0;
}

/* Room in a line for what comes around the members. */
#define AROUND_BYTES (64u << 10)

/* A word instead of the draft that was added last. */
static int put_word(struct drafts *drafts, struct draft *draft, size_t call_count, size_t calls, struct buffer *members)
{
	drafts->count--;
	drafts->call_count = call_count;
	int rc = leave_out(drafts, draft, calls, members);
	return rc ? rc : add_placed(drafts, draft);
}

int drafts_add(struct drafts *drafts, const struct draft *draft)
{
	struct draft own = *draft;
	struct buffer members = BUFFER_INIT(LIMIT_LINE_BYTES);
	size_t count = drafts->count, call_count = drafts->call_count;
	int rc = 0;

	if (own.members.len > LIMIT_LINE_BYTES - AROUND_BYTES)
		rc = leave_out(drafts, &own, 0, &members);
	if (!rc)
		rc = add_placed(drafts, &own);
	/* Nested too deep, and too many calls: it is known once its calls are looked for. */
	if (rc == BOBBIN_ELIMIT && drafts->count > count)
		rc = put_word(drafts, &own, call_count, 0, &members);
	else if (!rc && drafts->list[count].call_count > LIMIT_CALLS_PER_MESSAGE)
		rc = put_word(drafts, &own, call_count, drafts->list[count].call_count, &members);
	buffer_release(&members);
	return rc;
}

size_t drafts_parent(const struct drafts *drafts, size_t draft)
{
	uint32_t parent = drafts->list[draft].parent;
	return parent == PLACED_NONE ? DRAFT_NONE : parent;
}

int drafts_add_more(struct drafts *drafts, size_t draft, struct slice more)
{
	struct extra *extra = extra_of(drafts, draft);

	return extra && (extra->more = import_keep(drafts->import, more)).data ? 0 : BOBBIN_ENOMEM;
}

bool drafts_have_more(const struct drafts *drafts, size_t draft)
{
	uint32_t extra = drafts->list[draft].extra;
	return extra && drafts->extras[extra - 1].more.data;
}

static struct slice id_of(const struct placed *placed)
{
	return (struct slice){placed->id, placed->id_len};
}

static struct slice call_id_of(const struct placed *placed)
{
	return (struct slice){placed->call_id, placed->call_id_len};
}

static bool asks_for(const struct drafts *drafts, const struct placed *draft, struct slice call_id)
{
	for (size_t i = 0; i < draft->call_count; i++) {
		if (slice_equal(drafts->calls[draft->calls_from + i], call_id))
			return true;
	}
	return false;
}

/* True if the head ends a batch in which this call still waits for its result. */
static bool is_open(const struct drafts *drafts, size_t head, struct slice call_id)
{
	for (size_t steps = 0; head != DRAFT_NONE && drafts->list[head].role == ROLE_TOOL; steps++) {
		if (slice_equal(call_id_of(&drafts->list[head]), call_id) || steps > 2 * LIMIT_CALLS_PER_MESSAGE)
			return false;
		head = drafts_parent(drafts, head);
	}
	size_t caller;
	if (head == DRAFT_NONE || !id_table_get(&drafts->callers, call_id, &caller))
		return false;
	return caller == head || asks_for(drafts, &drafts->list[head], call_id);
}

static void place(const struct drafts *drafts, bool result, struct slice call_id, size_t head, size_t *ret_parent,
	bool *ret_moves)
{
	*ret_parent = head;
	*ret_moves = true;
	if (!result || is_open(drafts, head, call_id))
		return;
	if (id_table_get(&drafts->callers, call_id, ret_parent))
		*ret_moves = false;
}

void drafts_place(const struct drafts *drafts, const struct draft *draft, size_t head, size_t *ret_parent,
	bool *ret_moves)
{
	place(drafts, draft->role == ROLE_TOOL, draft->call_id, head, ret_parent, ret_moves);
}

void drafts_place_added(
	const struct drafts *drafts, size_t draft, size_t head, size_t *ret_parent, bool *ret_moves)
{
	const struct placed *placed = &drafts->list[draft];

	*ret_parent = drafts_parent(drafts, draft);
	*ret_moves = true;
	if (!placed->at)
		place(drafts, placed->role == ROLE_TOOL, call_id_of(placed), head, ret_parent, ret_moves);
}

static void set_parent(struct placed *draft, size_t parent)
{
	draft->parent = parent == DRAFT_NONE ? PLACED_NONE : (uint32_t)parent;
}

static void settle(struct drafts *drafts, size_t index, size_t *head)
{
	struct placed *draft = &drafts->list[index];
	size_t implied;
	bool implied_moves;

	place(drafts, draft->role == ROLE_TOOL, call_id_of(draft), *head, &implied, &implied_moves);
	if (!draft->at) {
		set_parent(draft, implied);
		if (implied_moves)
			*head = index;
		return;
	}
	/* What hangs from the head moves it, like it or not, and so does the first message of all. A later
	 * message that names its parent takes the head back; without one, what must leave the head alone
	 * becomes a root. */
	if (draft->still && drafts_parent(drafts, index) == *head && (implied_moves || implied != *head)) {
		if (index < drafts->last_moving || *head == DRAFT_NONE)
			draft->still = false;
		else
			draft->parent = PLACED_NONE;
	}
	size_t parent = drafts_parent(drafts, index);
	if (implied != parent || implied_moves == draft->still) {
		draft->says_parent = true;
		draft->branch = !draft->still && parent != *head;
		if (parent != DRAFT_NONE)
			drafts->list[parent].referred = true;
	}
	if (!draft->still)
		*head = index;
}

static int put_calls(struct drafts *drafts, size_t index)
{
	const struct placed *draft = &drafts->list[index];

	for (size_t i = 0; i < draft->call_count; i++) {
		struct slice id = drafts->calls[draft->calls_from + i];
		if (id.data && id_table_put(&drafts->callers, id, index) < 0)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

/* An id of its own for a message that others name and whose foreign id cannot be kept. */
static struct slice make_id(struct drafts *drafts, size_t index, const struct id_table *taken)
{
	struct buffer text = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	struct slice id = {NULL, 0};
	size_t ignored;

	buffer_add_text(&text, "i-");
	buffer_add_u64(&text, index + 1);
	while (!buffer_error(&text) && id_table_get(taken, buffer_slice(&text), &ignored))
		buffer_add_char(&text, '-');
	if (!buffer_error(&text))
		id = import_keep(drafts->import, buffer_slice(&text));
	buffer_release(&text);
	return id;
}

/* Drops ids the store would refuse or that are taken, then names what is referred to. */
static int settle_ids(struct drafts *drafts, struct id_table *taken)
{
	for (size_t i = 0; i < drafts->count; i++) {
		struct placed *draft = &drafts->list[i];
		size_t ignored;
		if (draft->id && (!id_is_message(id_of(draft)) || id_is_reserved(id_of(draft)) ||
					 id_table_get(taken, id_of(draft), &ignored)))
			draft->id = NULL;
		if (draft->id && id_table_put(taken, id_of(draft), i) < 0)
			return BOBBIN_ENOMEM;
	}
	for (size_t i = 0; i < drafts->extra_count; i++) {
		if (drafts->extras[i].cuts && drafts->extras[i].cut != DRAFT_NONE)
			drafts->list[drafts->extras[i].cut].referred = true;
	}
	for (size_t i = 0; i < drafts->count; i++) {
		struct placed *draft = &drafts->list[i];
		if (draft->id || !draft->referred)
			continue;
		struct slice made = make_id(drafts, i, taken);
		draft->id = made.data;
		draft->id_len = (uint32_t)made.len;
		if (!made.data || id_table_put(taken, made, i) < 0)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

static void write_reference(const struct drafts *drafts, struct json_writer *writer, const char *key, size_t draft)
{
	json_key(writer, key);
	if (draft == DRAFT_NONE)
		json_add_null(writer);
	else
		json_add_string(writer, id_of(&drafts->list[draft]));
}

static int write_record(const struct drafts *drafts, size_t index, struct buffer *spilled, struct buffer *out)
{
	const struct placed *draft = &drafts->list[index];
	const struct extra *extra = draft->extra ? &drafts->extras[draft->extra - 1] : NULL;
	struct json_writer writer;
	struct slice members;
	struct json checked;
	int rc = members_read(drafts->import, draft->members_at, draft->members_len, spilled, &members);

	if (rc)
		return rc;
	buffer_clear(out);
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	if (draft->id)
		json_member_string(&writer, "id", id_of(draft));
	if (draft->says_parent)
		write_reference(drafts, &writer, "parent", drafts_parent(drafts, index));
	if (draft->branch)
		json_member_bool(&writer, "branch", true);
	if (writer.comma)
		buffer_add_char(out, ',');
	writer.comma = true;
	buffer_add_slice(out, members);
	if (extra)
		buffer_add_slice(out, extra->more);
	if (extra && extra->cuts)
		write_reference(drafts, &writer, "cut", extra->cut);
	json_end_object(&writer);
	/* Wrapping what was read may go beyond what a line may be. */
	rc = buffer_error(out) ? buffer_error(out) : json_parse(out->data, out->len, &checked, NULL);
	if (!rc && json_has_duplicate_key_within(&checked, LIMIT_DUPLICATE_KEY_DEPTH, NULL) &&
		!(rc = import_keys_once(drafts->import, &checked, spilled))) {
		struct buffer other = *out;
		*out = *spilled;
		*spilled = other;
	}
	return rc ? rc : out->len > LIMIT_LINE_BYTES ? BOBBIN_ELIMIT : 0;
}

/* To the sink, or into the conversation. */
static int hand_on(struct import *import, struct import_conversation *conversation, struct slice record)
{
	if (import->sink)
		return import->sink->record(import->sink->context, record, &import->sink_error);
	struct slice kept = import_keep(import, record);
	conversation->records[conversation->record_count++] = kept;
	return kept.data ? 0 : BOBBIN_ENOMEM;
}

static int write_records(struct drafts *drafts, struct import_conversation *conversation)
{
	struct buffer out = BUFFER_INIT(LIMIT_IMPORT_BYTES), spilled = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	int rc = 0;

	for (size_t i = 0; i < drafts->count && !rc; i++) {
		const struct placed *draft = &drafts->list[i];
		rc = write_record(drafts, i, &spilled, &out);
		if (!rc)
			rc = hand_on(drafts->import, conversation, buffer_slice(&out));
		conversation->messages++;
		conversation->calls += draft->call_count;
		conversation->results += draft->role == ROLE_TOOL;
	}
	buffer_release(&out);
	buffer_release(&spilled);
	return rc;
}

static int begin(struct drafts *drafts, struct import_conversation *conversation)
{
	const struct import_sink *sink = drafts->import->sink;

	if (sink)
		return sink->begin(sink->context, conversation, &drafts->import->sink_error);
	conversation->records = arena_alloc(
		&drafts->import->arena, (drafts->count ? drafts->count : 1) * sizeof(struct slice));
	conversation->record_cap = drafts->count;
	return conversation->records ? 0 : BOBBIN_ENOMEM;
}

int drafts_emit(struct drafts *drafts, struct import_conversation *conversation)
{
	struct id_table taken = {0};
	size_t head = DRAFT_NONE;

	for (size_t i = 0; i < drafts->count; i++) {
		if (drafts->list[i].at && !drafts->list[i].still)
			drafts->last_moving = i;
	}
	/* The callers are found anew, so that each draft sees only those before it. */
	id_table_release(&drafts->callers);
	for (size_t i = 0; i < drafts->count; i++) {
		settle(drafts, i, &head);
		if (put_calls(drafts, i) < 0)
			return BOBBIN_ENOMEM;
	}
	id_table_release(&drafts->callers);
	int rc = settle_ids(drafts, &taken);
	id_table_release(&taken);
	conversation->head = drafts->ends ? drafts->end : head;
	if (!rc)
		rc = begin(drafts, conversation);
	if (!rc)
		rc = write_records(drafts, conversation);
	const struct import_sink *sink = drafts->import->sink;
	if (!rc && sink)
		rc = sink->end(sink->context, conversation, &drafts->import->sink_error);
	return rc;
}

void drafts_release(struct drafts *drafts)
{
	mem_free(drafts->list);
	mem_free(drafts->extras);
	mem_free(drafts->calls);
	id_table_release(&drafts->callers);
	*drafts = (struct drafts){0};
}
