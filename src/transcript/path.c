/* SPDX-License-Identifier: MIT */
/*
 * The rule that places messages in turns and rounds, and a path over an array of records.
 *
 * Invariants: those of path.h, and (5) an array_path holds parsed messages for its whole life; its message()
 * hands out copies that point into the records and into the array_path's own arena, so they outlive the
 * caller's arena.
 */
#include "transcript/path.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "tokens/counter.h"

void path_item_place(struct path_item *ret_item, size_t position, const struct path_item *previous)
{
	bool turn_starts = ret_item->role == ROLE_USER && ret_item->origin == ORIGIN_PERSON;
	/* A result belongs with what it directly follows, unless that is a user's message: then its call is
	 * gone. */
	bool follows = ret_item->role == ROLE_TOOL && previous && previous->role != ROLE_USER;

	ret_item->turn = turn_starts || !previous ? position : previous->turn;
	ret_item->round = follows ? previous->round : position;
}

struct array_path {
	struct path path;
	struct arena arena;
	struct message *messages;
	struct path_item *items;
};

static int array_item(void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	const struct array_path *array = context;

	if (position >= array->path.count)
		return error_set(error, BOBBIN_EINVAL, "there is no message at position %zu", position);
	*ret_item = array->items[position];
	return 0;
}

static int array_id(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	const struct array_path *array = context;
	struct buffer text = BUFFER_INIT(PATH_ID_BYTES);
	int rc;

	if (position >= array->path.count)
		return error_set(error, BOBBIN_EINVAL, "there is no message at position %zu", position);
	const struct message *message = &array->messages[position];
	if (message->id.len >= PATH_ID_BYTES)
		return error_set(error, BOBBIN_EINPUT, "a message id of %zu bytes", message->id.len);
	if (message->id.data) {
		memcpy(ret_id, message->id.data, message->id.len);
		ret_id[message->id.len] = '\0';
		return 0;
	}
	/* Records that were never stored have no seq either: their place in the array stands for it. */
	buffer_add_char(&text, 'm');
	buffer_add_u64(&text, message->seq ? message->seq : position + 1);
	if (!(rc = buffer_error(&text)))
		memcpy(ret_id, text.data, text.len + 1);
	buffer_release(&text);
	return rc ? error_set(error, rc, "out of memory") : 0;
}

static int array_message(void *context, size_t position, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	const struct array_path *array = context;

	(void)arena;
	if (position >= array->path.count)
		return error_set(error, BOBBIN_EINVAL, "there is no message at position %zu", position);
	*ret_message = array->messages[position];
	return 0;
}

static const struct path_ops ARRAY_OPS = {array_item, array_id, array_message, NULL};

static bool is_marked_for(const struct message *message, struct slice call_id)
{
	return message->role == ROLE_TOOL && message->marker != MARKER_NONE &&
	       slice_equal(message->tool_call_id, call_id);
}

static bool calls_again(const struct message *message, struct slice call_id, struct arena *arena, int *error)
{
	struct block_iter iter;
	struct block block;

	if (message->role != ROLE_ASSISTANT)
		return false;
	block_iter_init(&iter, message, arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_CALL && slice_equal(block.call_id, call_id))
			return true;
	}
	if (iter.error)
		*error = iter.error;
	return false;
}

/* A real result that comes after the marked one of the same call takes its place. True if `late` did so. */
static bool replace_marked(struct array_path *array, size_t count, const struct message *late, int *error)
{
	if (late->role != ROLE_TOOL || late->marker != MARKER_NONE || late->tool_call_id.len == 0)
		return false;
	for (size_t i = count; i-- > 0 && !*error;) {
		struct message *earlier = &array->messages[i];
		if (is_marked_for(earlier, late->tool_call_id)) {
			*earlier = *late;
			return true;
		}
		if (calls_again(earlier, late->tool_call_id, &array->arena, error))
			return false;
	}
	return false;
}

static int array_parse(
	struct array_path *array, const struct slice *records, size_t count, struct bobbin_error *error)
{
	bool any_marked = false;

	for (size_t i = 0; i < count; i++) {
		struct json record;
		struct message message;
		int rc = json_parse(records[i].data, records[i].len, &record, error);
		if (!rc)
			rc = message_parse(&record, &array->arena, &message, error);
		if (!rc && !(any_marked && replace_marked(array, array->path.count, &message, &rc)))
			array->messages[array->path.count++] = message;
		if (rc) {
			error_prefix(error, "record %zu", i + 1);
			return rc;
		}
		any_marked = any_marked || message.marker != MARKER_NONE;
	}
	return 0;
}

/* The message's tokens by the counter (NULL: the plain estimate) and its number of calls. */
static int measure_item(struct array_path *array, const struct message *message,
	struct token_counter *counter, struct path_item *item)
{
	struct message_size size;
	uint64_t tokens;
	int rc = message_measure(message, &array->arena, &size);

	if (!rc && counter)
		rc = message_count_tokens(message, &array->arena, counter, &tokens, NULL);
	else if (!rc)
		tokens = message_size_tokens(&size);
	if (rc)
		return rc;
	item->tokens = tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)tokens;
	item->calls = size.calls;
	return 0;
}

static int array_measure(struct array_path *array, struct token_counter *counter, struct bobbin_error *error)
{
	for (size_t i = 0; i < array->path.count; i++) {
		const struct message *message = &array->messages[i];
		struct path_item *item = &array->items[i];
		*item = (struct path_item){
			.tokens_before = array->path.tokens,
			.bytes_before = array->path.bytes,
			.bytes = message->record.len,
			.role = message->role,
			.origin = message->origin,
		};
		int rc = measure_item(array, message, counter, item);
		if (rc)
			return error_set(error, rc, "record %zu cannot be counted", i + 1);
		path_item_place(item, i, i ? item - 1 : NULL);
		array->path.tokens += item->tokens;
		array->path.bytes += item->bytes;
	}
	return 0;
}

int array_path_new(const struct slice *records, size_t count, const struct token_counter *counter,
	struct array_path **ret_path, struct bobbin_error *error)
{
	struct array_path *array = mem_alloc_zero(sizeof(*array));
	struct token_counter own;
	int rc;

	if (!array)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	array->path.ops = &ARRAY_OPS;
	array->path.context = array;
	array->path.exact = counter && counter->exact;
	array->messages = mem_realloc_array(NULL, count, sizeof(*array->messages));
	array->items = mem_realloc_array(NULL, count, sizeof(*array->items));
	if (counter) { /* counting needs a scratch, and the caller's counter is not ours to change */
		own = *counter;
		own.scratch = NULL;
	}
	if (!array->messages || !array->items)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	else if (!(rc = array_parse(array, records, count, error)))
		rc = array_measure(array, counter ? &own : NULL, error);
	if (counter)
		token_counter_release(&own);
	if (rc) {
		array_path_free(array);
		return rc;
	}
	*ret_path = array;
	return 0;
}

const struct path *array_path_path(const struct array_path *path)
{
	return &path->path;
}

void array_path_free(struct array_path *path)
{
	if (!path)
		return;
	arena_release(&path->arena);
	mem_free(path->messages);
	mem_free(path->items);
	mem_free(path);
}
