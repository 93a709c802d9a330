/* SPDX-License-Identifier: MIT */
/* Requests as text. Invariant: (1) a line that does not begin with "| " was written here. */
#include "compact/ask_text.h"

#include "base/limits.h"
#include "base/utf8.h"

static void add_fenced(struct slice text, struct buffer *out)
{
	while (text.len) {
		const char *end = memchr(text.data, '\n', text.len);
		size_t len = end ? (size_t)(end - text.data) : text.len;

		buffer_add_text(out, "| ");
		for (size_t i = 0; i < len; i++) /* other line ends would begin a line, too */
			buffer_add_char(
				out, text.data[i] == '\r' || text.data[i] == '\v' || text.data[i] == '\f'
					     ? ' '
					     : text.data[i]);
		buffer_add_char(out, '\n');
		len += end != NULL;
		text.data += len;
		text.len -= len;
	}
}

/* A name that came from elsewhere, as one word of a header. */
static void add_name(struct slice name, struct buffer *out)
{
	for (size_t i = 0; i < name.len && i < 64; i++) {
		unsigned char c = (unsigned char)name.data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			     c == '_' || c == '-' || c == '.';

		buffer_add_char(out, plain ? (char)c : '_');
	}
}

static void add_header(const struct derive_message *message, uint32_t ordinal, struct buffer *out)
{
	buffer_addf(out, "[%u] ", (unsigned)ordinal + 1);
	if (message->role == ROLE_USER) {
		buffer_add_text(
			out, derive_is_person(message) ? "user" : "text that was put in, not the user's");
	} else if (message->role == ROLE_ASSISTANT) {
		buffer_add_text(out, "assistant");
	} else {
		buffer_add_text(out, message->marker	 ? "no result of "
				     : message->is_error ? "error of "
							 : "result of ");
		buffer_add_text(out, message->tool.len ? "" : "a tool");
		add_name(message->tool, out);
	}
	buffer_add_char(out, '\n');
}

void ask_add_message(const struct derive_message *message, uint32_t ordinal, struct buffer *out)
{
	add_header(message, ordinal, out);
	add_fenced(message->text, out);
	if (message->other.len) {
		buffer_addf(out, "[%u] other parts\n", (unsigned)ordinal + 1);
		add_fenced(message->other, out);
	}
	for (uint32_t i = 0; i < message->call_count; i++) {
		buffer_addf(out, "[%u] calls ", (unsigned)ordinal + 1);
		add_name(message->calls[i].name, out);
		buffer_add_char(out, '\n');
		add_fenced(message->calls[i].arguments, out);
	}
}

/* What lies between two offsets of a message's rendering. A piece that begins inside says whose it is.
 * */
static void add_piece(const struct derive_message *message, uint32_t ordinal, size_t from, size_t to,
	struct buffer *scratch, struct buffer *out)
{
	buffer_clear(scratch);
	ask_add_message(message, ordinal, scratch);
	if (buffer_error(scratch)) {
		out->error = out->error ? out->error : buffer_error(scratch);
		return;
	}
	if (to > scratch->len)
		to = scratch->len;
	if (from) {
		add_header(message, ordinal, out);
		if (from < to && scratch->data[from - 1] != '\n')
			buffer_add_text(out, "| …");
	}
	buffer_add(out, scratch->data + from, to - from);
	if (to > from && scratch->data[to - 1] != '\n')
		buffer_add_text(out, "…\n");
}

void ask_add_part(const struct derive_input *input, const struct ask_part *part, struct buffer *scratch,
	struct buffer *out)
{
	for (uint32_t i = part->from; i < part->to; i++)
		add_piece(&input->messages[i], i, i == part->from ? part->from_byte : 0,
			i + 1 == part->to ? part->to_byte : SIZE_MAX, scratch, out);
}

/* ---- Dividing */

struct divider {
	const struct derive_input *input;
	uint64_t tokens_max;
	struct token_counter *counter;
	struct arena *arena;
	struct ask_part *parts;
	size_t count, cap;
	struct buffer text;
	struct ask_part open; /* the part being filled */
	uint64_t open_tokens;
};

static int count_tokens(struct divider *divider, const char *text, size_t len, uint64_t *ret_tokens)
{
	if (divider->counter)
		return token_counter_count(divider->counter, text, len, ret_tokens);
	*ret_tokens = len ? tokens_estimate(text, len) : 0;
	return 0;
}

static int close_part(struct divider *divider, uint32_t to, size_t to_byte)
{
	divider->open.to = to;
	divider->open.to_byte = to_byte;
	if (divider->count == divider->cap) {
		size_t cap = divider->cap ? divider->cap * 2 : 4;
		struct ask_part *larger = arena_alloc(divider->arena, cap * sizeof *larger);

		if (!larger)
			return BOBBIN_ENOMEM;
		if (divider->count)
			memcpy(larger, divider->parts, divider->count * sizeof *larger);
		divider->parts = larger;
		divider->cap = cap;
	}
	divider->parts[divider->count++] = divider->open;
	divider->open_tokens = 0;
	return 0;
}

/* The largest piece of the rendering from `from` on that is surely within the limit. */
static int fit_piece(struct divider *divider, size_t from, size_t *ret_to)
{
	const char *text = divider->text.data + from;
	size_t len = divider->text.len - from;
	uint64_t tokens;

	for (;;) {
		int rc = count_tokens(divider, text, len, &tokens);

		if (rc)
			return rc;
		if (tokens <= divider->tokens_max || len < 2)
			break;
		/* in proportion, a little less, so that a few steps are enough */
		size_t smaller = (size_t)((double)len * (double)divider->tokens_max / (double)tokens * 0.95);

		len = utf8_truncate(text, len, smaller < len ? smaller : len - 1);
	}
	*ret_to = from + (len ? len : 1);
	return 0;
}

/* A message that is larger than a part becomes pieces; the last one stays open for what follows. */
static int divide_message(struct divider *divider, uint32_t ordinal)
{
	size_t from = 0, to = 0;
	int rc = 0;

	while (from < divider->text.len && !rc) {
		if ((rc = fit_piece(divider, from, &to)))
			break;
		divider->open = (struct ask_part){.from = ordinal, .from_byte = from};
		if (to >= divider->text.len) {
			rc = count_tokens(
				divider, divider->text.data + from, to - from, &divider->open_tokens);
			break;
		}
		rc = close_part(divider, ordinal + 1, to);
		from = to;
	}
	return rc;
}

static int add_to_part(struct divider *divider, uint32_t ordinal)
{
	uint64_t tokens;
	int rc;

	buffer_clear(&divider->text);
	ask_add_message(&divider->input->messages[ordinal], ordinal, &divider->text);
	if ((rc = buffer_error(&divider->text)) ||
		(rc = count_tokens(divider, divider->text.data, divider->text.len, &tokens)))
		return rc;
	if (divider->open_tokens && divider->open_tokens + tokens > divider->tokens_max) {
		if ((rc = close_part(divider, ordinal, SIZE_MAX)))
			return rc;
		divider->open = (struct ask_part){.from = ordinal};
	}
	if (tokens > divider->tokens_max)
		return divide_message(divider, ordinal);
	divider->open_tokens += tokens;
	return 0;
}

int ask_divide(const struct derive_input *input, uint64_t tokens_max, struct token_counter *counter,
	struct arena *arena, struct ask_part **ret_parts, size_t *ret_count)
{
	struct divider divider = {.input = input,
		.tokens_max = tokens_max ? tokens_max : UINT64_MAX,
		.counter = counter,
		.arena = arena,
		.text = BUFFER_INIT(2 * (size_t)LIMIT_LINE_BYTES)};
	int rc = 0;

	for (uint32_t i = 0; i < input->count && !rc; i++)
		rc = add_to_part(&divider, i);
	if (!rc && input->count && (divider.open_tokens || !divider.count))
		rc = close_part(&divider, input->count, SIZE_MAX);
	buffer_release(&divider.text);
	if (rc)
		return rc;
	*ret_parts = divider.parts;
	*ret_count = divider.count;
	return 0;
}
