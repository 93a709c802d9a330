/* SPDX-License-Identifier: MIT */
/* The doctor's walk along a session's line: what a provider would refuse of it as it stands in the log. (What is sent is mended
 * in the view; this says what had to be mended.) */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/foreign_text.h"
#include "transcript/import_tools.h"
#include <stdio.h>

/* The walk along a line: the open batch, and the ids used so far. */
struct walk {
	const struct path *path;
	bobbin_faults *faults;
	struct arena arena;  /* of the batch and the current message */
	struct id_table ids; /* call ids seen on the line */
	struct arena ids_arena;
	struct slice *open; /* ids of the batch that have no result yet; data NULL: answered */
	size_t open_count, open_cap;
	char batch[PATH_ID_BYTES]; /* the message that made the calls */
	bool seen_user;
};

static int add(struct walk *walk, const char *kind, const char *id, const char *message, const char *advice)
{
	if (walk->faults->count >= LIMIT_FAULTS_REPORTED)
		return 0;
	return faults_add(walk->faults, kind, id, 0, 0, message, advice);
}

static int close_batch(struct walk *walk)
{
	char message[128];
	size_t missing = 0;
	for (size_t i = 0; i < walk->open_count; i++)
		missing += walk->open[i].data != NULL;
	walk->open_count = 0;
	if (!missing)
		return 0;
	snprintf(message, sizeof(message), "%zu call%s of this message %s no result; a provider would refuse the line as it stands.",
		missing, missing == 1 ? "" : "s", missing == 1 ? "has" : "have");
	return add(walk, "dangling_call", walk->batch, message,
		"Requests get a marked result in its place; resuming appends one at the head.");
}

static int take_call(struct walk *walk, const struct block *block, const char *id)
{
	size_t before;
	void *open = walk->open;
	if (mem_grow(&open, &walk->open_cap, walk->open_count + 1, sizeof(*walk->open)) < 0)
		return BOBBIN_ENOMEM;
	walk->open = open;
	const char *copy = arena_copy(
		&walk->ids_arena, block->call_id.data ? block->call_id.data : "", block->call_id.len);
	if (!copy)
		return BOBBIN_ENOMEM;
	const struct slice call_id = {copy, block->call_id.len};
	walk->open[walk->open_count++] = call_id;
	if (id_table_get(&walk->ids, call_id, &before))
		return add(walk, "repeated_call_id", id,
			"A call id of this message was used before on this line.", "Requests rename it.");
	return id_table_put(&walk->ids, call_id, 1);
}

static int take_result(struct walk *walk, const struct message *message, const char *id)
{
	for (size_t i = 0; i < walk->open_count; i++)
		if (walk->open[i].data && slice_equal(walk->open[i], message->tool_call_id)) {
			walk->open[i].data = NULL;
			return 0;
		}
	return add(walk, "orphan_result", id, "This result has no call before it in its batch.",
		"Requests show it as a marked text.");
}

static int take_blocks(struct walk *walk, const struct message *message, const char *id)
{
	struct block_iter iter;
	struct block block;
	bool any = false;
	int rc = 0;
	block_iter_init(&iter, message, &walk->arena);
	while (!rc && block_iter_next(&iter, &block)) {
		any = true;
		if (block.type == BLOCK_CALL)
			rc = take_call(walk, &block, id);
	}
	if (!rc && !any && message->role != ROLE_TOOL)
		rc = add(walk, "empty_message", id, "This message holds no text, call or image.",
			"Requests leave it out.");
	return rc ? rc : iter.error;
}

/* Lone surrogates and NULs are kept in the log and may not be sent. */
static int check_text(struct walk *walk, const struct message *message, const char *id)
{
	size_t count = 0, nuls;
	const struct json *parts[] = {&message->content, &message->tool_calls};
	for (int i = 0; i < 2; i++)
		if (parts[i]->len)
			count += json_poison_count(parts[i]->text, parts[i]->len, &nuls);
	return count ? add(walk, "unsendable_text", id, "It has a lone surrogate or a NUL in it.",
			       "Requests replace them by U+FFFD; the log keeps them.")
		     : 0;
}

/* What came late answers its call all the same: requests show it there. */
static int take_late(struct walk *walk, size_t position, struct bobbin_error *error)
{
	struct path_item item;
	struct message message;
	char id[PATH_ID_BYTES];
	uint32_t tokens;
	int rc = path_item(walk->path, position, &item, error);
	for (uint32_t nth = 0; !rc && nth < item.late; nth++) {
		rc = path_late(walk->path, position, nth, &walk->arena, id, &tokens, &message, error);
		if (!rc && (rc = take_result(walk, &message, id)) < 0)
			error_set(error, rc, "out of memory");
	}
	return rc;
}

static int take_message(struct walk *walk, size_t position, struct bobbin_error *error)
{
	struct message message;
	char id[PATH_ID_BYTES];
	int rc = path_id(walk->path, position, id, error);
	if (!rc)
		rc = path_message(walk->path, position, &walk->arena, &message, error);
	if (rc < 0)
		return rc;
	if (message.role != ROLE_TOOL)
		rc = close_batch(walk);
	if (!rc && message.role == ROLE_ASSISTANT)
		memcpy(walk->batch, id, sizeof(id));
	if (!rc && message.role == ROLE_TOOL)
		rc = take_result(walk, &message, id);
	if (!rc)
		rc = take_blocks(walk, &message, id);
	if (!rc)
		rc = check_text(walk, &message, id);
	if (!rc && !walk->seen_user && message.role != ROLE_USER)
		rc = add(walk, "no_user_first", id, "The line does not begin with a user message.",
			"Requests put [conversation continues] before it.");
	walk->seen_user = true;
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	return message.role == ROLE_ASSISTANT ? take_late(walk, position, error) : 0;
}

int doctor_line(const struct path *path, bobbin_faults *faults, struct bobbin_error *error)
{
	struct walk walk = {.path = path, .faults = faults};
	int rc = 0;
	for (size_t position = 0; !rc && position < path->count; position++) {
		rc = take_message(&walk, position, error);
		arena_reset(&walk.arena);
	}
	if (!rc && (rc = close_batch(&walk)) < 0)
		error_set(error, rc, "out of memory");
	arena_release(&walk.arena);
	arena_release(&walk.ids_arena);
	id_table_release(&walk.ids);
	mem_free(walk.open);
	return rc;
}
