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
#include "base/alloc.h"
#include "base/id.h"
#include "base/limits.h"

static int add_call(struct drafts *drafts, struct slice id)
{
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

	block_iter_init(&iter, message, &drafts->import->arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_CALL && add_call(drafts, block.call_id) < 0)
			return BOBBIN_ENOMEM;
	}
	return iter.error;
}

/* The calls of a draft as whoever reads its record will see them. */
static int read_calls(struct drafts *drafts, struct slice members)
{
	struct arena *arena = &drafts->import->arena;
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

int drafts_add(struct drafts *drafts, const struct draft *draft)
{
	if (mem_grow((void **)&drafts->list, &drafts->cap, drafts->count + 1, sizeof(*drafts->list)) < 0)
		return BOBBIN_ENOMEM;
	struct draft *added = &drafts->list[drafts->count++];
	*added = *draft;
	added->calls_from = drafts->call_count;
	added->call_count = 0;
	assert(added->parent_kind == DRAFT_HEAD || added->parent == DRAFT_NONE ||
		added->parent < drafts->count - 1);
	return draft->role == ROLE_ASSISTANT && draft->members.data ? read_calls(drafts, draft->members) : 0;
}

static bool asks_for(const struct drafts *drafts, const struct draft *draft, struct slice call_id)
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
		if (slice_equal(drafts->list[head].call_id, call_id) || steps > 2 * LIMIT_CALLS_PER_MESSAGE)
			return false;
		head = drafts->list[head].parent;
	}
	size_t caller;
	if (head == DRAFT_NONE || !id_table_get(&drafts->callers, call_id, &caller))
		return false;
	return caller == head || asks_for(drafts, &drafts->list[head], call_id);
}

void drafts_place(const struct drafts *drafts, const struct draft *draft, size_t head, size_t *ret_parent,
	bool *ret_moves)
{
	*ret_parent = head;
	*ret_moves = true;
	if (draft->role != ROLE_TOOL || is_open(drafts, head, draft->call_id))
		return;
	if (id_table_get(&drafts->callers, draft->call_id, ret_parent))
		*ret_moves = false;
}

static void settle(struct drafts *drafts, size_t index, size_t *head)
{
	struct draft *draft = &drafts->list[index];
	size_t implied;
	bool implied_moves;

	drafts_place(drafts, draft, *head, &implied, &implied_moves);
	if (draft->parent_kind == DRAFT_HEAD) {
		draft->parent = implied;
		if (implied_moves)
			*head = index;
		return;
	}
	/* What hangs from the head moves it, like it or not, and so does the first message of all. A later
	 * message that names its parent takes the head back; without one, what must leave the head alone
	 * becomes a root. */
	if (draft->still && draft->parent == *head && (implied_moves || implied != *head)) {
		if (index < drafts->last_moving || *head == DRAFT_NONE)
			draft->still = false;
		else
			draft->parent = DRAFT_NONE;
	}
	if (implied != draft->parent || implied_moves == draft->still) {
		draft->says_parent = true;
		draft->branch = !draft->still && draft->parent != *head;
		if (draft->parent != DRAFT_NONE)
			drafts->list[draft->parent].referred = true;
	}
	if (!draft->still)
		*head = index;
}

static int put_calls(struct drafts *drafts, size_t index)
{
	const struct draft *draft = &drafts->list[index];

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
		struct draft *draft = &drafts->list[i];
		size_t ignored;
		if (draft->id.data && (!id_is_message(draft->id) || id_is_reserved(draft->id) ||
					      id_table_get(taken, draft->id, &ignored)))
			draft->id = (struct slice){NULL, 0};
		if (draft->id.data && id_table_put(taken, draft->id, i) < 0)
			return BOBBIN_ENOMEM;
	}
	for (size_t i = 0; i < drafts->count; i++) {
		if (drafts->list[i].cuts && drafts->list[i].cut != DRAFT_NONE)
			drafts->list[drafts->list[i].cut].referred = true;
	}
	for (size_t i = 0; i < drafts->count; i++) {
		struct draft *draft = &drafts->list[i];
		if (draft->id.data || !draft->referred)
			continue;
		draft->id = make_id(drafts, i, taken);
		if (!draft->id.data || id_table_put(taken, draft->id, i) < 0)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

static int write_record(
	const struct drafts *drafts, const struct draft *draft, struct buffer *out, struct slice *ret_record)
{
	struct json_writer writer;

	buffer_clear(out);
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	if (draft->id.data)
		json_member_string(&writer, "id", draft->id);
	if (draft->says_parent) {
		json_key(&writer, "parent");
		if (draft->parent == DRAFT_NONE)
			json_add_null(&writer);
		else
			json_add_string(&writer, drafts->list[draft->parent].id);
	}
	if (draft->branch)
		json_member_bool(&writer, "branch", true);
	if (writer.comma)
		buffer_add_char(out, ',');
	writer.comma = true;
	buffer_add_slice(out, draft->members);
	buffer_add_slice(out, draft->more);
	if (draft->cuts) {
		json_key(&writer, "cut");
		if (draft->cut == DRAFT_NONE)
			json_add_null(&writer);
		else
			json_add_string(&writer, drafts->list[draft->cut].id);
	}
	json_end_object(&writer);
	/* Wrapping what was read may go beyond what a line may be. */
	struct json checked;
	int rc = buffer_error(out) ? buffer_error(out) : json_parse(out->data, out->len, &checked, NULL);
	if (rc || out->len > LIMIT_LINE_BYTES)
		return rc ? rc : BOBBIN_ELIMIT;
	*ret_record = import_keep(drafts->import, buffer_slice(out));
	return ret_record->data ? 0 : BOBBIN_ENOMEM;
}

static int write_records(struct drafts *drafts, struct import_conversation *conversation)
{
	struct buffer out = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	int rc = 0;

	conversation->records = arena_alloc(
		&drafts->import->arena, (drafts->count ? drafts->count : 1) * sizeof(struct slice));
	if (!conversation->records)
		return BOBBIN_ENOMEM;
	conversation->record_cap = drafts->count;
	for (size_t i = 0; i < drafts->count && !rc; i++) {
		const struct draft *draft = &drafts->list[i];
		rc = write_record(drafts, draft, &out, &conversation->records[i]);
		if (rc)
			break;
		conversation->record_count++;
		conversation->messages++;
		conversation->calls += draft->call_count;
		conversation->results += draft->role == ROLE_TOOL;
	}
	buffer_release(&out);
	return rc;
}

int drafts_emit(struct drafts *drafts, struct import_conversation *conversation)
{
	struct id_table taken = {0};
	size_t head = DRAFT_NONE;

	for (size_t i = 0; i < drafts->count; i++) {
		if (drafts->list[i].parent_kind == DRAFT_AT && !drafts->list[i].still)
			drafts->last_moving = i;
	}
	/* The callers are found anew, so that each draft sees only those before it. */
	id_table_release(&drafts->callers);
	for (size_t i = 0; i < drafts->count; i++) {
		settle(drafts, i, &head);
		if (put_calls(drafts, i) < 0)
			return BOBBIN_ENOMEM;
	}
	int rc = settle_ids(drafts, &taken);
	id_table_release(&taken);
	if (rc)
		return rc;
	conversation->head = head;
	return write_records(drafts, conversation);
}

void drafts_release(struct drafts *drafts)
{
	mem_free(drafts->list);
	mem_free(drafts->calls);
	id_table_release(&drafts->callers);
	*drafts = (struct drafts){0};
}
