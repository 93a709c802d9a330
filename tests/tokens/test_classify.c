/* SPDX-License-Identifier: MIT */
/* The classes of bytes: every variant against a table of pairs that is written down here once more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"
#include "tokens/classify.h"

static const struct classify *const variants[] = {
	&classify_portable,
#ifdef __x86_64__
	&classify_sse2,
	&classify_avx2,
	&classify_avx512,
#endif
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

static uint64_t seed = 20260904;

static unsigned next_random(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % below;
}

static bool is_small(int c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_large(int c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_number(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank_byte(int c)
{
	return c == ' ' || c == '\t';
}

static bool is_end(int c)
{
	return c == '\n' || c == '\r';
}

static bool is_mark(int c)
{
	return c < 0x80 && !is_small(c) && !is_large(c) && !is_number(c) && !is_blank_byte(c) && !is_end(c);
}

static bool is_tail(int c)
{
	return c >= 0x80 && c < 0xc0;
}

/* What a byte of ASCII adds, in words; `p` is the byte before it. */
static void add_ascii(uint64_t count[TOKEN_CLASSES], int c, int p)
{
	if (is_blank_byte(c)) {
		count[CLASS_LETTER] += is_blank_byte(p);
		count[CLASS_WORD] += is_end(p) ? 4 : 0;
	} else if (is_end(c)) {
		count[CLASS_LETTER] += is_end(p);
		count[CLASS_WORD] += is_end(p) ? 0 : 5;
	} else if (is_small(c)) {
		bool rare = strchr("jqxz", c) != NULL;
		count[CLASS_SWITCH] += rare ? 9 : is_number(p) ? 4 : 0;
		if (is_small(p) || is_large(p) || is_tail(p))
			count[CLASS_LETTER] += 2;
		else if (!is_number(p))
			count[CLASS_WORD] += 3;
	} else if (is_large(c)) {
		if (is_tail(p))
			count[CLASS_LETTER] += 2;
		else if (is_small(p) || is_number(p))
			count[CLASS_SWITCH] += 4;
		else
			count[CLASS_WORD] += 3;
	} else if (is_number(c)) {
		count[CLASS_MARK] += 3;
		count[CLASS_SWITCH] += is_small(p) || is_large(p) ? 4 : is_number(p) ? 0 : 6;
	} else
		count[CLASS_MARK] += is_mark(p) ? 1 : 6;
}

static void add_other(uint64_t count[TOKEN_CLASSES], int c, int p)
{
	if (is_tail(c))
		count[CLASS_SYMBOL] += p < 0x80;
	else if (c < 0xcc)
		count[CLASS_EUROPE] += 6;
	else if (c >= 0xd0 && c < 0xd4)
		count[CLASS_EUROPE] += 2;
	else if (c < 0xe0)
		count[CLASS_SOUTH] += 4;
	else if (c < 0xe2)
		count[CLASS_SOUTH] += c == 0xe0 ? 6 : 8;
	else if (c > 0xe2 && c < 0xee)
		count[CLASS_CJK] += 1;
	else
		count[CLASS_SYMBOL] += c < 0xf0 ? 2 : 4;
}

static void expect(uint64_t count[TOKEN_CLASSES], const char *text, size_t len)
{
	int before = '\n';
	memset(count, 0, TOKEN_CLASSES * sizeof(*count));
	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)text[i];
		if (c < 0x80)
			add_ascii(count, c, before);
		else
			add_other(count, c, before);
		before = c;
	}
}

/* In a block of its own, so that a byte too many read is seen by the sanitizer. */
static void check_all(const char *text, size_t len, bool json, const char *decoded, size_t decoded_len)
{
	uint64_t expected[TOKEN_CLASSES];
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	expect(expected, decoded, decoded_len);
	for (size_t i = 0; i < VARIANTS; i++) {
		struct class_state state = CLASS_STATE_INIT;
		if (!variants[i]->can_run())
			continue;
		classify_with(variants[i], &state, copy, len, json);
		if (memcmp(state.count, expected, sizeof(expected)) != 0 || state.bytes != decoded_len)
			fail_msg("%s, json %d: <%.*s>", variants[i]->name, json, (int)len, text);
	}
	free(copy);
}

static void classes__of_all_pairs_of_bytes(void **state)
{
	(void)state;
	/* Anywhere in a block: at its start, in it, over its end. */
	static const size_t places[] = {0, 1, 31, 62, 63, 64, 126, 127};
	char text[130];
	for (unsigned pair = 0; pair < 65536; pair++) {
		memset(text, 'a', sizeof(text));
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i += 1 + pair % 3) {
			text[places[i]] = (char)(pair >> 8);
			text[places[i] + 1] = (char)pair;
		}
		check_all(text, sizeof(text), false, text, sizeof(text));
	}
}

static void classes__of_random_bytes_of_any_length(void **state)
{
	(void)state;
	static const char bytes[] =
		"  \t\n\raabjqxzAZ019.,\"\\{}\xc3\xa9\xd0\x96\xce\xb1\xe0\xe1\xe2\xe4\xb8\xee\xef\xf0\x9f";
	char text[300];
	for (size_t len = 0; len < sizeof(text); len++)
		for (int times = 0; times < 20; times++) {
			for (size_t i = 0; i < len; i++)
				text[i] = times % 4 ? bytes[next_random(sizeof(bytes) - 1)]
						    : (char)next_random(256);
			check_all(text, len, false, text, len);
		}
}

/* Pieces of JSON strings; a backslash never stands alone. */
static const char *const PIECES[] = {"\\n", "\\r", "\\t", "\\b", "\\f", "\\\"", "\\\\", "\\/", "\\u000a",
	"\\u0041", "\\u00e9", "\\u4e2d", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\ud83dx", "\\\\u0041",
	"\\u0000", "n", "t", "u", "word", "Word", "x", "q7", "12", " ", "  ", ", ", "{}", "\xc3\xa9",
	"\xd0\x96", "\xce\xb1", "\xe0\xa4\x95", "\xe1\x83\x90", "\xe2\x80\x94", "\xe4\xb8\xad",
	"\xef\xbc\x81", "\xf0\x9f\x98\x80"};

static size_t fill_json(char *text, size_t room, unsigned kinds)
{
	size_t len = 0;
	for (;;) {
		const char *piece = PIECES[next_random(kinds)];
		size_t more = strlen(piece);
		if (len + more > room)
			return len;
		memcpy(text + len, piece, more);
		len += more;
	}
}

static void check_json(const char *content, size_t len)
{
	struct buffer decoded = BUFFER_INIT(SIZE_MAX - 1);
	char text[800] = "\"";
	struct json string;
	memcpy(text + 1, content, len);
	text[len + 1] = '"';
	assert_int_equal(json_parse(text, len + 2, &string, NULL), 0);
	json_string_decode(&string, JSON_SURROGATES_REPLACE, &decoded);
	check_all(content, len, true, buffer_slice(&decoded).data, decoded.len);
	buffer_release(&decoded);
}

static void classes__of_json_strings_are_those_of_what_they_say(void **state)
{
	(void)state;
	enum { ALL = sizeof(PIECES) / sizeof(PIECES[0]), SHORT = 8 };
	char text[700];
	for (size_t room = 0; room < 200; room++)
		for (int times = 0; times < 40; times++)
			check_json(text, fill_json(text, room, times % 2 ? ALL : SHORT));
	for (int times = 0; times < 2000; times++) {
		size_t len = fill_json(text, 100 + next_random(600), ALL);
		check_json(text, len);
	}
	/* An escape at every place of a block, among words. */
	for (size_t at = 0; at < 190; at++)
		for (size_t piece = 0; piece < ALL; piece++) {
			size_t more = strlen(PIECES[piece]);
			memset(text, 'a', 220);
			memcpy(text + at, PIECES[piece], more);
			memcpy(text + at + more, PIECES[(piece + 5) % ALL],
				strlen(PIECES[(piece + 5) % ALL]));
			check_json(text, 220);
		}
}

/* What the index keeps is what the estimate of the decoded text is, its limit of a token a byte included. */
static void classes__added_from_json_are_those_added_from_text(void **state)
{
	(void)state;
	static const char content[] = "x\\nq\\tz\\u0058\\ud83d\\ude00 \\\"jA\\\" 1a1a",
			  decoded[] = "x\nq\tzX\xf0\x9f\x98\x80 \"jA\" 1a1a";
	struct token_classes from_json = {0}, from_text = {0};
	assert_int_equal(
		token_classes_add_json(&from_json, content, sizeof(content) - 1), sizeof(decoded) - 1);
	token_classes_add(&from_text, decoded, sizeof(decoded) - 1);
	assert_memory_equal(&from_json, &from_text, sizeof(from_text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes__of_all_pairs_of_bytes),
		cmocka_unit_test(classes__of_random_bytes_of_any_length),
		cmocka_unit_test(classes__of_json_strings_are_those_of_what_they_say),
		cmocka_unit_test(classes__added_from_json_are_those_added_from_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
