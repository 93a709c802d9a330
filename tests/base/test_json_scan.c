/* SPDX-License-Identifier: MIT */
/*
 * All variants of the byte loops against each other and against tests/base/json_reference.h, on random texts
 * and on real transcripts. SEED: which texts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "json_reference.h"
#include "support/soak.h"

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 16) % below);
}

static size_t variants(const struct json_scan *ret_variants[4])
{
	size_t count = 0;
	ret_variants[count++] = &json_scan_portable;
#ifdef __x86_64__
	ret_variants[count++] = &json_scan_sse2;
	if (json_scan_best() == &json_scan_avx2 || json_scan_best() == &json_scan_avx512)
		ret_variants[count++] = &json_scan_avx2;
	if (json_scan_best() == &json_scan_avx512)
		ret_variants[count++] = &json_scan_avx512;
#endif
	return count;
}

/* What a variant makes of a text; all must make the same of it. */
struct outcome {
	int code;
	uint64_t offset;
	size_t used, values, strings;
};

static size_t count_all(const struct json *value, struct arena *arena, size_t *strings)
{
	struct json_iter iter;
	struct json key, element;
	size_t count = 1;
	if (value->type == JSON_STRING)
		*strings += json_string_content(value, arena).len;
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, &key, &element)) {
		if (iter.object)
			*strings += json_string_content(&key, arena).len;
		count += count_all(&element, arena, strings);
	}
	return count;
}

static struct outcome outcome_of(const char *text, size_t len)
{
	struct outcome outcome = {0};
	struct json value;
	struct bobbin_error error = {0};
	outcome.code = json_parse(text, len, &value, &error);
	outcome.offset = error.offset;
	if (outcome.code == 0) {
		struct arena arena = ARENA_INIT;
		outcome.used = (size_t)(value.text + value.len - text);
		outcome.values = count_all(&value, &arena, &outcome.strings);
		arena_release(&arena);
	}
	return outcome;
}

static void check_text(const char *text, size_t len)
{
	const struct json_scan *all[4];
	size_t count = variants(all);
	struct reference reference = reference_check(text, len);
	for (size_t i = 0; i < count; i++) {
		json_scan_use(all[i]);
		struct outcome outcome = outcome_of(text, len);
		bool same = (outcome.code == 0) == reference.valid;
		if (reference.valid)
			same = same && outcome.values == reference.values &&
			       outcome.strings == reference.strings;
		else
			same = same && outcome.offset == reference.fault &&
			       outcome.code == (reference.too_deep ? BOBBIN_ELIMIT : BOBBIN_EINPUT);
		if (!same) {
			fail_msg("%s: code %d at %llu, %zu values, %zu string bytes; reference: %s at %zu, "
				 "%zu values, %zu; %.*s",
				all[i]->name, outcome.code, (unsigned long long)outcome.offset,
				outcome.values, outcome.strings, reference.valid ? "valid" : "invalid",
				reference.fault, reference.values, reference.strings,
				len < 2000 ? (int)len : 2000, text);
		}
	}
	json_scan_use(json_scan_best());
}

/* ---- random texts ---- */

static const char *const pieces[] = {"a", "word ", "\\\"", "\\\\", "\\\\\\\\", "\\n", "\\u0041",
	"\\ud83d\\ude00", "\\ud83d", "\\u0000", "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80",
	"\xef\xbf\xbf", "{", "}", "[", "]", ",", ":", " ", "\x7f",
	"plain text that is longer than a block of 32 bytes",
	"\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87"};

static void add_string(struct buffer *out)
{
	buffer_add_char(out, '"');
	for (uint32_t n = draw(draw(4) ? 6 : 60); n > 0; n--)
		buffer_add_text(out, pieces[draw(sizeof pieces / sizeof *pieces)]);
	buffer_add_char(out, '"');
}

static void add_space(struct buffer *out)
{
	static const char spaces[] = " \n\t\r";
	if (draw(3))
		return;
	for (uint32_t n = draw(draw(10) ? 3 : 80); n > 0; n--)
		buffer_add_char(out, spaces[draw(4)]);
}

static void add_value(struct buffer *out, uint32_t depth)
{
	static const char *const scalars[] = {"null", "true", "false", "0", "-0", "1.10", "1e400", "-12.5E+3",
		"123456789012345678901234567890"};
	uint32_t kind = draw(depth ? 6 : 3);
	add_space(out);
	if (kind < 2) {
		add_string(out);
	} else if (kind == 2) {
		buffer_add_text(out, scalars[draw(sizeof scalars / sizeof *scalars)]);
	} else {
		bool object = kind > 4;
		buffer_add_char(out, object ? '{' : '[');
		uint32_t count = draw(5);
		for (uint32_t i = 0; i < count; i++) {
			if (i)
				buffer_add_char(out, ',');
			add_space(out);
			if (object) {
				add_string(out);
				add_space(out);
				buffer_add_char(out, ':');
			}
			add_value(out, depth - 1);
		}
		add_space(out);
		buffer_add_char(out, object ? '}' : ']');
	}
	add_space(out);
}

/* One to three bytes changed, removed, doubled, or the text cut. */
static void spoil(struct buffer *text)
{
	static const char bytes[] = "\"\\{}[],: \n\t\x00\x1f"
				    "019-+.eEtu\x80\xbf\xc3\xe4\xed\xf0\xf4\xff";
	for (uint32_t n = draw(3) + 1; n > 0 && text->len > 0; n--) {
		uint32_t at = draw((uint32_t)text->len);
		switch (draw(4)) {
		case 0:
			buffer_truncate(text, at);
			break;
		case 1:
			memmove(text->data + at, text->data + at + 1, text->len - at - 1);
			buffer_truncate(text, text->len - 1);
			break;
		default:
			text->data[at] = bytes[draw(sizeof bytes - 1)];
		}
	}
}

static void random_texts__all_variants_agree_with_the_reference(void **state)
{
	(void)state;
	struct buffer text = BUFFER_INIT(1 << 20);
	size_t valid = 0, rounds = soak_count(12000, 1000000);
	for (size_t round = 0; round < rounds; round++) {
		buffer_clear(&text);
		add_value(&text, 4);
		assert_int_equal(buffer_error(&text), 0);
		if (round % 3)
			spoil(&text);
		/* Of its own size and at every alignment, so that a byte read too far is seen. */
		size_t shift = draw(32);
		char *copy = malloc(text.len + shift + 1);
		assert_non_null(copy);
		char *exact = copy + shift;
		memcpy(exact, text.len ? text.data : "", text.len);
		exact[text.len] = '"';
		check_text(exact, text.len);
		valid += reference_check(exact, text.len).valid;
		free(copy);
	}
	/* Both kinds must have been among them, or the test tests nothing. */
	assert_true(valid >= rounds / 3 && valid < rounds * 9 / 10);
	buffer_release(&text);
}

static void utf8_prefix__every_pair_of_bytes_in_every_place(void **state)
{
	(void)state;
	const struct json_scan *all[4];
	size_t count = variants(all);
	char text[80];
	for (uint32_t pair = 0; pair < 65536; pair++) {
		size_t place = pair % 70, tail = pair % 3;
		memset(text, 'x', sizeof text);
		text[place] = (char)(pair >> 8);
		text[place + 1] = (char)pair;
		for (size_t i = 0; i < tail; i++)
			text[place + 2 + i] = (char)(0x80 + draw(64));
		size_t expected = json_scan_portable.utf8_prefix(text, sizeof text);
		for (size_t i = 1; i < count; i++)
			assert_int_equal(all[i]->utf8_prefix(text, sizeof text), expected);
		/* … and cut in the middle. */
		expected = json_scan_portable.utf8_prefix(text, place + 1);
		for (size_t i = 1; i < count; i++)
			assert_int_equal(all[i]->utf8_prefix(text, place + 1), expected);
	}
}

static void find_special__in_every_place(void **state)
{
	(void)state;
	const struct json_scan *all[4];
	size_t count = variants(all);
	char text[100];
	for (unsigned c = 0; c < 256; c++) {
		bool special = c < 0x20 || c == '"' || c == '\\';
		for (size_t place = 0; place < sizeof text; place++) {
			memset(text, 'x', sizeof text);
			text[place] = (char)c;
			for (size_t i = 0; i < count; i++) {
				const char *found = all[i]->find_special(text, text + sizeof text);
				assert_ptr_equal(found, special ? text + place : text + sizeof text);
			}
		}
	}
}

static void copy_plain__up_to_a_backslash_in_every_place(void **state)
{
	(void)state;
	const struct json_scan *all[4];
	size_t count = variants(all);
	for (size_t len = 0; len < 100; len++) {
		for (size_t place = 0; place <= len; place++) {
			/* Both of their own size; a place of `len` is no backslash. */
			char *text = malloc(len + 1), *copy = malloc(len + 1);
			assert_true(text && copy);
			for (size_t i = 0; i < len; i++)
				text[i] = (char)(i == place ? '\\' : 'a' + i % 26);
			for (size_t i = 0; i < count; i++) {
				memset(copy, 0, len + 1);
				copy[len] = '!';
				assert_ptr_equal(all[i]->copy_plain(copy, text, text + len), text + place);
				assert_memory_equal(copy, text, place);
				assert_int_equal(copy[len], '!');
			}
			free(text);
			free(copy);
		}
	}
}

static void backslash_runs__across_blocks(void **state)
{
	(void)state;
	char text[200];
	for (size_t before = 0; before < 70; before++) {
		for (size_t run = 0; run < 70; run++) {
			size_t len = 0;
			text[len++] = '[';
			text[len++] = '"';
			memset(text + len, 'x', before);
			len += before;
			memset(text + len, '\\', run);
			len += run;
			memcpy(text + len, "\"]\"]", 4);
			check_text(text, len + 2); /* valid if the run is even */
			check_text(text, len + 4); /* valid if it is odd */
			assert_int_equal(reference_check(text, len + (run % 2 ? 4 : 2)).valid, true);
		}
	}
}

/* ---- transcripts ---- */

static size_t documents, refused;

static void check_document(const char *text, size_t len)
{
	if (len == 0)
		return;
	check_text(text, len);
	documents++;
	refused += !reference_check(text, len).valid;
}

static int visit(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)place;
	const char *dot = strrchr(path, '.');
	if (kind != FTW_F || info->st_size == 0 || !dot ||
		(strcmp(dot, ".json") != 0 && strcmp(dot, ".jsonl") != 0))
		return 0;
	char *data = malloc((size_t)info->st_size);
	FILE *file = fopen(path, "rb");
	assert_true(data && file);
	size_t len = fread(data, 1, (size_t)info->st_size, file);
	fclose(file);
	if (strcmp(dot, ".json") == 0)
		check_document(data, len);
	for (const char *at = data; dot[5] && at < data + len;) {
		const char *newline = memchr(at, '\n', (size_t)(data + len - at));
		const char *end = newline ? newline : data + len;
		check_document(at, (size_t)(end - at));
		at = end + 1;
	}
	free(data);
	return 0;
}

static void transcripts__all_variants_agree_with_the_reference(void **state)
{
	(void)state;
	const char *folder = getenv("BOBBIN_TRANSCRIPTS");
	if (!folder) {
		print_message("BOBBIN_TRANSCRIPTS is not set\n");
		skip();
	}
	assert_int_equal(nftw(folder, visit, 16, FTW_PHYS), 0);
	print_message("%zu documents, %zu of them invalid\n", documents, refused);
	assert_true(documents > 0 && refused < documents / 10 + 1);
}

int main(void)
{
	seed = soak_seed(1);
	seed = seed ? seed : 1;
	print_message("# seed %llu\n", (unsigned long long)seed);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_texts__all_variants_agree_with_the_reference),
		cmocka_unit_test(utf8_prefix__every_pair_of_bytes_in_every_place),
		cmocka_unit_test(find_special__in_every_place),
		cmocka_unit_test(copy_plain__up_to_a_backslash_in_every_place),
		cmocka_unit_test(backslash_runs__across_blocks),
		cmocka_unit_test(transcripts__all_variants_agree_with_the_reference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
