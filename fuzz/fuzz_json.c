/* SPDX-License-Identifier: MIT */
/*
 * The JSON module on any bytes. Every variant of the byte loops must say what tests/base/json_reference.h
 * says, and jansson where its dialect is the same; what is valid must survive walking, decoding, writing and
 * splicing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "../tests/base/json_reference.h"
#ifdef FUZZ_WITH_JANSSON
#include "../bench/peers_json.h"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "fuzz_json.c:%d: not so: %s\n", __LINE__, #condition);               \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

struct walked {
	struct arena arena;
	size_t values, strings;
	bool duplicates;
};

/* Written again and decoded again, a string is the same. */
static void check_string(struct walked *walked, const struct json *string)
{
	struct slice content = json_string_content(string, &walked->arena);
	struct buffer out = BUFFER_INIT(1 << 24);
	struct json_writer writer;
	json_writer_init(&writer, &out);
	json_add_string(&writer, content);
	struct json again = {out.data, out.len, JSON_STRING};
	CHECK(content.data && buffer_error(&out) == 0);
	CHECK(json_string_equal(string, &again) && json_string_equal(&again, string));
	CHECK(slice_equal(json_string_content(&again, &walked->arena), content));
	if (memchr(content.data, 0, content.len) == NULL) {
		char *text = arena_copy(&walked->arena, content.data, content.len);
		CHECK(text && json_string_is(string, text));
	}
	walked->strings += content.len;
	buffer_release(&out);
}

static void check_number(const struct json *number)
{
	int64_t whole;
	double value, again;
	bool has_whole = json_int64(number, &whole), has_value = json_double(number, &value);
	CHECK(!has_whole || has_value);
	if (has_whole)
		CHECK(value <= (double)whole && value >= (double)whole);
	if (!has_value)
		return;
	struct buffer out = BUFFER_INIT(64);
	struct json_writer writer;
	struct json written;
	json_writer_init(&writer, &out);
	json_add_double(&writer, value);
	CHECK(json_parse(out.data, out.len, &written, NULL) == 0 && json_double(&written, &again));
	CHECK(memcmp(&value, &again, sizeof value) == 0);
	buffer_release(&out);
}

static bool has_duplicate_slowly(const struct json *object)
{
	struct json_iter a, b;
	struct json key, other, value;
	json_iter_init(&a, object);
	while (json_iter_next(&a, &key, &value)) {
		for (b = a; json_iter_next(&b, &other, &value);) {
			if (json_string_equal(&key, &other))
				return true;
		}
	}
	return false;
}

static void check_splice(const struct json *object)
{
	struct buffer set = BUFFER_INIT(1 << 24), removed = BUFFER_INIT(1 << 24);
	struct json value, member;
	json_splice(&set, object, "a", SLICE_LITERAL("[0]"));
	CHECK(json_parse(set.data, set.len, &value, NULL) == 0 && json_get(&value, "a", &member));
	CHECK(member.len == 3 && memcmp(member.text, "[0]", 3) == 0);
	json_splice(&removed, &value, "a", (struct slice){NULL, 0});
	CHECK(json_parse(removed.data, removed.len, &value, NULL) == 0 && !json_get(&value, "a", &member));
	buffer_release(&set);
	buffer_release(&removed);
}

static void walk(struct walked *walked, const struct json *value)
{
	struct json_iter iter;
	struct json key, element;
	size_t count = 0;
	walked->values++;
	if (value->type == JSON_STRING)
		check_string(walked, value);
	if (value->type == JSON_NUMBER)
		check_number(value);
	if (value->type == JSON_OBJECT) {
		bool duplicates = json_has_duplicate_key(value, NULL);
		CHECK(duplicates == has_duplicate_slowly(value));
		walked->duplicates = walked->duplicates || duplicates;
		check_splice(value);
	}
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, &key, &element)) {
		CHECK(element.text > value->text && element.text + element.len < value->text + value->len);
		if (iter.object)
			check_string(walked, &key);
		walk(walked, &element);
		count++;
	}
	CHECK(json_count(value) == count);
}

#ifdef FUZZ_WITH_JANSSON
/* It refuses lone surrogates, NULs in keys, and numbers that do not fit. */
static bool jansson_may_refuse(const char *text, size_t len)
{
	size_t digits = 0;
	for (size_t i = 0; i < len; i++) {
		digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
		if (digits >= 19 || text[i] == 'e' || text[i] == 'E' || text[i] == '\\')
			return true;
	}
	return false;
}
#endif

static void check_variant(const struct json_scan *scan, const char *text, size_t len)
{
	struct json value;
	struct bobbin_error error = {0};
	struct reference reference = reference_check(text, len);
	json_scan_use(scan);
	int code = json_parse(text, len, &value, &error);
	CHECK((code == 0) == reference.valid);
	if (code < 0) {
		CHECK(code == (reference.too_deep ? BOBBIN_ELIMIT : BOBBIN_EINPUT));
		CHECK(error.offset == reference.fault);
		return;
	}
	struct walked walked = {.arena = ARENA_INIT};
	walk(&walked, &value);
	CHECK(walked.values == reference.values && walked.strings == reference.strings);
#ifdef FUZZ_WITH_JANSSON
	size_t peer = peer_jansson(text, len, true);
	CHECK(peer == reference.values || (peer && walked.duplicates) ||
		(!peer && jansson_may_refuse(text, len)));
#endif
	arena_release(&walked.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* Of its own size, so that the address sanitizer sees a byte read too far. */
	char *text = malloc(len ? len : 1);
	if (text == NULL)
		return 0;
	if (len)
		memcpy(text, data, len);
	check_variant(&json_scan_portable, text, len);
#ifdef __x86_64__
	check_variant(&json_scan_sse2, text, len);
#endif
	check_variant(json_scan_best(), text, len);
#ifdef FUZZ_WITH_JANSSON
	/* A NUL byte after a number is lost to jansson: it marks the end of its look-ahead. */
	struct reference reference = reference_check(text, len);
	if (!reference.valid && !reference.too_deep && memchr(text, 0, len) == NULL)
		CHECK(peer_jansson(text, len, false) == 0);
#endif
	free(text);
	return 0;
}
