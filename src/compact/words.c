/* SPDX-License-Identifier: MIT */
#include "compact/words.h"

#include "base/hash.h"
#include "base/utf8.h"

/* Words compare by their first letters, so that "push", "pushing" and "pushes" are one. */
#define STEM_LETTERS 4

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Bytes of a mark that quotes or stresses, at `text`; 0: none. */
static size_t mark_length(struct slice text)
{
	static const char *const MARKS[] = {"\"", "`", "*", "“", "”", "„", "«", "»", "‘", "’", "'"};

	if (!strchr("\"`*'\xe2\xc2", text.data[0]) || !text.data[0])
		return 0;
	for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++)
		if (slice_starts_with(text, MARKS[i]))
			return strlen(MARKS[i]);
	return 0;
}

static bool is_stop(char c)
{
	return c == '.' || c == ',' || c == ';' || c == ':' || c == '!' || c == '?';
}

struct slice words_normalise(struct slice text, bool exact_case, struct arena *arena)
{
	char *out = arena_alloc(arena, text.len + 1);
	size_t len = 0;

	if (!out)
		return (struct slice){NULL, 0};
	for (size_t i = 0; i < text.len;) {
		size_t mark = mark_length((struct slice){text.data + i, text.len - i});

		if (mark) {
			i += mark;
		} else if (is_space(text.data[i])) {
			while (len && is_stop(out[len - 1]))
				len--;
			if (len && out[len - 1] != ' ')
				out[len++] = ' ';
			i++;
		} else {
			out[len++] = exact_case ? text.data[i] : lower(text.data[i]);
			i++;
		}
	}
	while (len && (is_stop(out[len - 1]) || out[len - 1] == ' '))
		len--;
	out[len] = '\0';
	return (struct slice){out, len};
}

/* A word in ASCII: letters by their stem, anything with a digit whole. */
static size_t ascii_word(
	struct slice text, size_t at, void (*word)(void *context, unsigned long long hash), void *context)
{
	char letters[32];
	size_t len = 0, start = at;
	bool digit = false;

	for (; at < text.len && (is_letter(text.data[at]) || is_digit(text.data[at])); at++) {
		digit |= is_digit(text.data[at]);
		if (len < sizeof letters)
			letters[len++] = lower(text.data[at]);
	}
	if (!digit && len > STEM_LETTERS)
		len = STEM_LETTERS;
	bool name = at - start == 1 && text.data[start] >= 'A' && text.data[start] <= 'Z'; /* plan A, plan B */

	if (digit || name || at - start >= 2)
		word(context, hash_bytes(letters, len));
	return at;
}

void words_each(struct slice text, void (*word)(void *context, unsigned long long hash), void *context)
{
	size_t before = SIZE_MAX; /* of the code point that ends at `at`, if it is not ASCII */

	for (size_t at = 0; at < text.len;) {
		uint32_t point;

		if ((unsigned char)text.data[at] < 0x80) {
			before = SIZE_MAX;
			if (is_letter(text.data[at]) || is_digit(text.data[at]))
				at = ascii_word(text, at, word, context);
			else
				at++;
			continue;
		}
		unsigned step = utf8_decode(text.data + at, text.len - at, &point);

		step = step ? step : 1;
		if (before != SIZE_MAX)
			word(context, hash_bytes(text.data + before, at + step - before));
		before = at;
		at += step;
	}
}

static void add_hash(void *context, unsigned long long hash)
{
	struct words *words = context;

	for (unsigned i = 0; i < words->count; i++)
		if (words->hash[i] == hash)
			return;
	if (words->count < WORDS_MAX)
		words->hash[words->count++] = hash;
}

void words_of(struct slice text, struct words *ret_words)
{
	ret_words->count = 0;
	words_each(text, add_hash, ret_words);
}

unsigned words_common(const struct words *a, const struct words *b)
{
	unsigned common = 0;

	for (unsigned i = 0; i < a->count; i++)
		for (unsigned j = 0; j < b->count; j++)
			common += a->hash[i] == b->hash[j];
	return common;
}

static bool joins(struct slice text, size_t at)
{
	return at < text.len && (is_letter(text.data[at]) || is_digit(text.data[at]));
}

bool words_contain(struct slice whole, struct slice part)
{
	if (!part.len)
		return false;
	for (size_t at = 0; at + part.len <= whole.len; at++) {
		const char *found = memmem(whole.data + at, whole.len - at, part.data, part.len);

		if (!found)
			return false;
		at = (size_t)(found - whole.data);
		bool starts = !(at && joins(whole, at - 1) && joins(part, 0));
		bool ends = !(joins(whole, at + part.len) && joins(part, part.len - 1));
		if (starts && ends)
			return true;
	}
	return false;
}
