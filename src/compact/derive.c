/* SPDX-License-Identifier: MIT */
/* Reading a derivation's input: messages decoded once, calls tied to their results. Invariants:
 * derive.h. */
#include "compact/derive.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "compact/visible.h"

enum item_by derive_by(const struct derive_message *message)
{
	switch (message->role) {
	case ROLE_USER:
		return derive_is_person(message) ? BY_USER : BY_NOBODY;
	case ROLE_ASSISTANT:
		return BY_ASSISTANT;
	default:
		return BY_TOOL;
	}
}

struct input_reader {
	struct arena *arena;
	struct derive_message *messages;
	struct derive_call **calls;	      /* of each message */
	struct buffer text, arguments, other; /* for one message or call at a time */
	uint32_t count;
};

/* NUL bytes would end a text for whoever takes it to be one of C's. */
static void add_line(struct buffer *out, struct slice text)
{
	if (out->len && text.len)
		buffer_add_char(out, '\n');
	while (text.len) {
		const char *nul = memchr(text.data, '\0', text.len);
		size_t len = nul ? (size_t)(nul - text.data) : text.len;

		utf8_add_clean(out, text.data, len);
		if (nul)
			buffer_add_text(out, "\xef\xbf\xbd");
		text.data += nul ? len + 1 : len;
		text.len -= nul ? len + 1 : len;
	}
}

static int keep(struct arena *arena, struct buffer *from, struct slice *ret_text)
{
	int rc = buffer_error(from);

	*ret_text = (struct slice){NULL, 0};
	if (!rc && from->len) {
		char *copy = arena_copy(arena, from->data, from->len);

		if (!copy)
			return BOBBIN_ENOMEM;
		*ret_text = (struct slice){copy, from->len};
	}
	buffer_clear(from);
	return rc;
}

static int add_call(
	struct input_reader *reader, const struct visible *piece, uint32_t ordinal, uint32_t *count)
{
	struct derive_call *calls = reader->calls[ordinal];
	struct derive_call call = {
		.id = piece->call_id, .name = piece->call_name, .message = ordinal, .result = DERIVE_NONE};
	int rc;

	if ((*count & (*count - 1)) == 0) { /* full at each power of two */
		struct derive_call *larger =
			arena_alloc(reader->arena, (*count ? *count * 2 : 1) * sizeof *larger);

		if (!larger)
			return BOBBIN_ENOMEM;
		if (*count)
			memcpy(larger, calls, *count * sizeof *larger);
		reader->calls[ordinal] = calls = larger;
	}
	add_line(&reader->arguments, piece->text);
	if ((rc = keep(reader->arena, &reader->arguments, &call.arguments)))
		return rc;
	if (call.arguments.len && json_parse(call.arguments.data, call.arguments.len, &call.value, NULL))
		call.value = (struct json){.type = JSON_ABSENT};
	calls[(*count)++] = call;
	return 0;
}

/* The call a result answers: the newest one of that id before it. */
static void tie_result(struct input_reader *reader, uint32_t ordinal, struct slice call_id)
{
	struct derive_message *result = &reader->messages[ordinal];

	for (uint32_t m = ordinal; m-- > 0;) {
		for (uint32_t c = reader->messages[m].call_count; c-- > 0;) {
			struct derive_call *call = &reader->calls[m][c];

			if (!slice_equal(call->id, call_id))
				continue;
			call->result = ordinal;
			result->answers = call;
			if (!result->tool.len)
				result->tool = call->name;
			return;
		}
		if (derive_is_person(&reader->messages[m]))
			return; /* no result stands outside the turn of its call */
	}
}

static int read_message(struct input_reader *reader, const struct message *message, uint32_t ordinal)
{
	struct derive_message *out = &reader->messages[ordinal];
	struct visible_iter iter;
	struct visible piece;
	int rc = 0;

	*out = (struct derive_message){.role = message->role,
		.origin = message->origin,
		.is_error = message->is_error,
		.marker = message->marker != MARKER_NONE,
		.tool = message->name};
	visible_iter_init(&iter, message, reader->arena);
	while (!rc && visible_next(&iter, &piece)) {
		out->bytes += piece.text.len + piece.call_name.len;
		if (piece.kind == VISIBLE_TEXT)
			add_line(&reader->text, piece.text);
		else if (piece.kind == VISIBLE_CALL)
			rc = add_call(reader, &piece, ordinal, &out->call_count);
		else if (piece.kind == VISIBLE_OTHER)
			add_line(&reader->other, piece.text);
	}
	out->calls = reader->calls[ordinal];
	if (!rc && !(rc = iter.error) && !(rc = keep(reader->arena, &reader->text, &out->text)))
		rc = keep(reader->arena, &reader->other, &out->other);
	if (!rc && message->role == ROLE_TOOL)
		tie_result(reader, ordinal, message->tool_call_id);
	return rc;
}

int derive_input_read(const struct path *path, size_t from, size_t to, struct arena *arena,
	struct derive_input *ret_input, struct bobbin_error *error)
{
	struct input_reader reader = {.arena = arena,
		.text = BUFFER_INIT(LIMIT_LINE_BYTES),
		.arguments = BUFFER_INIT(LIMIT_LINE_BYTES),
		.other = BUFFER_INIT(LIMIT_LINE_BYTES)};
	struct message message;
	int rc = 0;

	if (from > to || to > path->count || to - from >= DERIVE_NONE)
		return error_set(error, BOBBIN_EINVAL, "no such range of messages");
	reader.count = (uint32_t)(to - from);
	reader.messages = arena_alloc_zero(arena, (reader.count + 1) * sizeof *reader.messages);
	reader.calls = arena_alloc_zero(arena, (reader.count + 1) * sizeof *reader.calls);
	if (!reader.messages || !reader.calls)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory while reading a segment");
	for (uint32_t i = 0; i < reader.count && !rc; i++) {
		if ((rc = path_message(path, from + i, arena, &message, error)))
			break;
		if ((rc = read_message(&reader, &message, i)))
			rc = error_set(error, rc, "out of memory while reading a segment");
	}
	buffer_release(&reader.text);
	buffer_release(&reader.arguments);
	buffer_release(&reader.other);
	if (!rc)
		*ret_input = (struct derive_input){reader.messages, reader.count, from == 0};
	return rc;
}
