/* SPDX-License-Identifier: MIT */
/* Sizes from headers, in bytes and in base64, and the published prices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tokens/image.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
	const char *name, *data;
	size_t len;
	uint32_t width, height;
} headers[] = {
	{"png", BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\xb0\0\0\x03\x20\x08\x06"), 1200, 800},
	{"gif", BYTES("GIF89a\x40\x01\xf0\x00\x80"), 320, 240},
	{"jpeg",
		BYTES("\xff\xd8\xff\xe0\x00\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xdb\x00\x04\1\2\xff\xff\xc2\x00"
		      "\x11\x08\x02\x58\x03\x20\x03"),
		800, 600},
	{"webp lossy", BYTES("RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\1\0\x9d\1\x2a\x80\x02\xe0\x01"), 640, 480},
	{"webp lossless", BYTES("RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f\x7f\xc2\x77\x00"), 640, 480},
	{"webp extended", BYTES("RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\x7f\x07\0\x37\x04\0"), 1920,
		1080},
};

static size_t to_base64(const char *data, size_t len, char *into)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t out = 0;
	for (size_t at = 0; at < len; at += 3) {
		uint32_t bits = 0;
		for (size_t i = 0; i < 3; i++)
			bits = bits << 8 | (at + i < len ? (unsigned char)data[at + i] : 0);
		for (size_t i = 0; i < 4; i++)
			into[out++] = at + i <= len ? digits[bits >> (18 - 6 * i) & 63] : '=';
	}
	return out;
}

static void size__is_read_from_every_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		char text[512] = "data:image/x;base64,";
		size_t prefix = strlen(text), len = to_base64(headers[i].data, headers[i].len, text + prefix);
		struct image_size bytes = image_size_of_bytes(headers[i].data, headers[i].len);
		struct image_size base64 = image_size_of_base64(text + prefix, len),
				  url = image_size_of_base64(text, prefix + len);
		if (bytes.width != headers[i].width || bytes.height != headers[i].height)
			fail_msg("%s: %u x %u", headers[i].name, bytes.width, bytes.height);
		assert_memory_equal(&bytes, &base64, sizeof(bytes));
		assert_memory_equal(&bytes, &url, sizeof(bytes));
	}
}

/* Every shorter prefix either has no size or the right one; nothing is read behind it (sanitizers see that).
 */
static void truncated_header__gives_no_wrong_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		for (size_t len = 0; len < headers[i].len; len++) {
			char *copy = test_malloc(len + 1), text[512];
			memcpy(copy, headers[i].data, len);
			struct image_size size = image_size_of_bytes(copy, len);
			assert_true(!size.width ||
				    (size.width == headers[i].width && size.height == headers[i].height));
			size = image_size_of_base64(text, to_base64(copy, len, text));
			assert_true(!size.width ||
				    (size.width == headers[i].width && size.height == headers[i].height));
			test_free(copy);
		}
}

static void damaged_header__has_no_size(void **state)
{
	(void)state;
	static const struct {
		const char *data;
		size_t len;
	} bad[] = {
		{BYTES("")},
		{BYTES("not an image at all, just text")},
		{BYTES("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0")},
		{BYTES("\xff\xd8\xff\xe0\x00\x01")},
		{BYTES("\xff\xd8\xff\xda\x00\x08\xff\xc0\x00\x11\x08\x02\x58\x03\x20")},
		{BYTES("RIFF\x24\0\0\0WEBPABCD")},
		{BYTES("GIF89a\0\0\0\0")},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct image_size size = image_size_of_bytes(bad[i].data, bad[i].len);
		assert_int_equal(size.width | size.height, 0);
	}
	struct image_size size = image_size_of_base64("iVBOR w0KGgo AAAANSUhEUgAABLAAAAMg", 33);
	assert_int_equal(size.width, 0);
}

/* The width and height of a JPEG may stand behind long segments. */
static void jpeg__size_behind_a_64_kib_segment(void **state)
{
	(void)state;
	static char data[70000];
	memcpy(data, "\xff\xd8\xff\xe1\xff\xff", 6);
	memcpy(data + 4 + 0xffff, "\xff\xc0\x00\x11\x08\x04\x00\x05\x00", 9);
	struct image_size size = image_size_of_bytes(data, sizeof(data));
	assert_int_equal(size.width, 0x500);
	assert_int_equal(size.height, 0x400);
}

static void price__is_the_published_one(void **state)
{
	(void)state;
	static const struct {
		const char *model;
		uint32_t width, height;
		enum image_detail detail;
		uint64_t tokens;
	} prices[] = {
		/* The tables and examples of the providers' documentation. */
		{"claude-sonnet-4", 200, 200, IMAGE_DETAIL_AUTO, 54},
		{"claude-sonnet-4", 1000, 1000, IMAGE_DETAIL_AUTO, 1334},
		{"claude-sonnet-4", 1092, 1092, IMAGE_DETAIL_AUTO, 1590},
		{"claude-sonnet-4", 8000, 8000, IMAGE_DETAIL_AUTO, 1600},
		{"claude-sonnet-4", 3136, 100, IMAGE_DETAIL_AUTO, 105},
		{"claude-opus-4-7", 8000, 8000, IMAGE_DETAIL_AUTO, 4784},
		{"gpt-4o", 1024, 1024, IMAGE_DETAIL_HIGH, 765},
		{"gpt-4o", 2048, 4096, IMAGE_DETAIL_HIGH, 1105},
		{"gpt-4o", 4096, 8192, IMAGE_DETAIL_LOW, 85},
		{"gpt-4o", 512, 512, IMAGE_DETAIL_AUTO, 255},
		{"gpt-4o-mini", 1024, 1024, IMAGE_DETAIL_HIGH, 25501},
		{"o3", 1024, 1024, IMAGE_DETAIL_HIGH, 675},
		{"gpt-5", 1024, 1024, IMAGE_DETAIL_HIGH, 630},
		{"gpt-4.1-mini", 1024, 1024, IMAGE_DETAIL_AUTO, 1659},
		{"gpt-4.1-mini", 4000, 1474, IMAGE_DETAIL_AUTO, 2489},
		{"gpt-5-nano", 32, 32, IMAGE_DETAIL_AUTO, 3},
		{"gemini-2.5-pro", 384, 384, IMAGE_DETAIL_AUTO, 258},
		{"gemini-2.5-pro", 1536, 768, IMAGE_DETAIL_AUTO, 516},
	};
	for (size_t i = 0; i < sizeof(prices) / sizeof(*prices); i++) {
		struct model_facts facts = model_facts(prices[i].model);
		struct image_size size = {prices[i].width, prices[i].height};
		uint64_t tokens = image_tokens(&facts, size, prices[i].detail);
		if (tokens != prices[i].tokens)
			fail_msg("%s %u x %u: %llu, not %llu", prices[i].model, size.width, size.height,
				(unsigned long long)tokens, (unsigned long long)prices[i].tokens);
	}
}

static void price__is_never_zero_and_never_beyond_its_cap(void **state)
{
	(void)state;
	static const char *const models[] = {"claude-sonnet-4", "claude-opus-4-7", "gpt-4o", "gpt-5",
		"gpt-4.1-mini", "gemini-3", "unknown"};
	static const uint32_t edges[] = {0, 1, 31, 512, 2049, 100000, UINT32_MAX};
	for (size_t m = 0; m < sizeof(models) / sizeof(*models); m++)
		for (size_t i = 0; i < 49; i++) {
			struct model_facts facts = model_facts(models[m]);
			struct image_size size = {edges[i / 7], edges[i % 7]};
			uint64_t tokens = image_tokens(&facts, size, IMAGE_DETAIL_AUTO);
			assert_true(tokens >= 1 && tokens <= 5000);
		}
}

static void unreadable_image__has_the_documented_default(void **state)
{
	(void)state;
	struct model_facts claude = model_facts("claude-sonnet-4"), gpt = model_facts("gpt-4o");
	assert_int_equal(image_tokens(&claude, (struct image_size){0, 0}, IMAGE_DETAIL_AUTO), 1600);
	assert_int_equal(image_tokens(&gpt, (struct image_size){0, 0}, IMAGE_DETAIL_AUTO), 1600);
	assert_int_equal(image_tokens(&gpt, (struct image_size){0, 0}, IMAGE_DETAIL_LOW), 85);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size__is_read_from_every_format),
		cmocka_unit_test(truncated_header__gives_no_wrong_size),
		cmocka_unit_test(damaged_header__has_no_size),
		cmocka_unit_test(jpeg__size_behind_a_64_kib_segment),
		cmocka_unit_test(price__is_the_published_one),
		cmocka_unit_test(price__is_never_zero_and_never_beyond_its_cap),
		cmocka_unit_test(unreadable_image__has_the_documented_default),
	};
	return cmocka_run_group_tests_name("tokens/image", tests, NULL, NULL);
}
