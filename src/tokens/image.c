/* SPDX-License-Identifier: MIT */
#include "tokens/image.h"
#include <string.h>

#define JPEG_SEGMENTS_MAX 200 /* markers before the frame header; real files have fewer than 40 */

/* ---- bytes by position, decoded when asked for ---- */

struct source {
	const unsigned char *data;
	size_t len; /* bytes, or base64 digits */
	bool base64;
};

static int digit_value(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/* The byte at `at`, or -1 if there is none. */
static int byte_at(const struct source *source, size_t at)
{
	if (!source->base64)
		return at < source->len ? source->data[at] : -1;
	size_t first = at / 3 * 4 + at % 3;
	if (at > source->len || first + 1 >= source->len)
		return -1;
	int high = digit_value(source->data[first]), low = digit_value(source->data[first + 1]);
	if (high < 0 || low < 0)
		return -1;
	unsigned shift = 2 * (unsigned)(at % 3); /* bits of the first digit that belong to the byte before */
	return ((high << (2 + shift)) | (low >> (4 - shift))) & 0xff;
}

/* `bytes` bytes from `at` as a number, or -1. */
static int64_t number_at(const struct source *source, size_t at, unsigned bytes, bool little)
{
	int64_t number = 0;
	for (unsigned i = 0; i < bytes; i++) {
		int byte = byte_at(source, little ? at + bytes - 1 - i : at + i);
		if (byte < 0)
			return -1;
		number = number << 8 | byte;
	}
	return number;
}

static bool has_text(const struct source *source, size_t at, const char *text)
{
	for (size_t i = 0; text[i]; i++)
		if (byte_at(source, at + i) != (unsigned char)text[i])
			return false;
	return true;
}

static struct image_size size_of(int64_t width, int64_t height)
{
	if (width <= 0 || height <= 0)
		return (struct image_size){0, 0};
	return (struct image_size){(uint32_t)width, (uint32_t)height};
}

/* ---- formats ---- */

static struct image_size jpeg_size(const struct source *source)
{
	size_t at = 2;
	for (int segment = 0; segment < JPEG_SEGMENTS_MAX; segment++) {
		int marker;
		if (byte_at(source, at) != 0xff)
			break;
		while ((marker = byte_at(source, at + 1)) == 0xff) /* fill bytes */
			at++;
		/* SOF0 to SOF15 hold the size; C4, C8 and CC are tables, not frames. */
		if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc)
			return size_of(
				number_at(source, at + 7, 2, false), number_at(source, at + 5, 2, false));
		int64_t length = number_at(source, at + 2, 2, false);
		if (marker < 0 || length < 2 || marker == 0xda || marker == 0xd9)
			break;
		at += 2 + (size_t)length;
	}
	return (struct image_size){0, 0};
}

static struct image_size webp_size(const struct source *source)
{
	if (has_text(source, 12, "VP8X")) {
		int64_t width = number_at(source, 24, 3, true), height = number_at(source, 27, 3, true);
		return width < 0 || height < 0 ? (struct image_size){0, 0} : size_of(width + 1, height + 1);
	}
	if (has_text(source, 12, "VP8L") && byte_at(source, 20) == 0x2f) {
		int64_t bits = number_at(source, 21, 4, true);
		return bits < 0 ? (struct image_size){0, 0}
				: size_of((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
	}
	if (has_text(source, 12, "VP8 ") && number_at(source, 23, 3, false) == 0x9d012a) {
		int64_t width = number_at(source, 26, 2, true), height = number_at(source, 28, 2, true);
		return width < 0 || height < 0 ? (struct image_size){0, 0}
					       : size_of(width & 0x3fff, height & 0x3fff);
	}
	return (struct image_size){0, 0};
}

static struct image_size size_in(const struct source *source)
{
	if (has_text(source, 0, "\x89PNG\r\n\x1a\n") && has_text(source, 12, "IHDR"))
		return size_of(number_at(source, 16, 4, false), number_at(source, 20, 4, false));
	if (has_text(source, 0, "GIF87a") || has_text(source, 0, "GIF89a"))
		return size_of(number_at(source, 6, 2, true), number_at(source, 8, 2, true));
	if (has_text(source, 0, "RIFF") && has_text(source, 8, "WEBP"))
		return webp_size(source);
	if (has_text(source, 0, "\xff\xd8\xff"))
		return jpeg_size(source);
	return (struct image_size){0, 0};
}

struct image_size image_size_of_bytes(const void *data, size_t len)
{
	return size_in(&(struct source){data, len, false});
}

struct image_size image_size_of_base64(const char *text, size_t len)
{
	if (len > 5 && memcmp(text, "data:", 5) == 0) {
		const char *comma = memchr(text, ',', len < 256 ? len : 256);
		if (!comma)
			return (struct image_size){0, 0};
		len -= (size_t)(comma + 1 - text);
		text = comma + 1;
	}
	return size_in(&(struct source){(const unsigned char *)text, len, true});
}

/* ---- prices ---- */

static uint64_t divide_up(uint64_t number, uint64_t by)
{
	return (number + by - 1) / by;
}

/* Scales so that `edge` becomes at most `max`, keeping the ratio; never to less than one pixel. */
static void shrink(uint64_t *width, uint64_t *height, uint64_t edge, uint64_t max)
{
	if (edge <= max)
		return;
	*width = *width * max / edge ? *width * max / edge : 1;
	*height = *height * max / edge ? *height * max / edge : 1;
}

static uint64_t by_area(uint64_t width, uint64_t height, uint64_t edge_max, uint64_t tokens_max)
{
	shrink(&width, &height, width > height ? width : height, edge_max);
	uint64_t tokens = divide_up(width * height, 750);
	return tokens < tokens_max ? tokens : tokens_max;
}

static uint64_t by_tiles(const struct model_facts *facts, uint64_t width, uint64_t height)
{
	shrink(&width, &height, width > height ? width : height, 2048);
	shrink(&width, &height, width < height ? width : height, 768);
	return facts->image_base + facts->image_tile * divide_up(width, 512) * divide_up(height, 512);
}

/* Above 1,536 patches the image is scaled until it fits them, so it costs about all of them. */
static uint64_t by_patches(const struct model_facts *facts, uint64_t width, uint64_t height)
{
	uint64_t patches = divide_up(width, 32) * divide_up(height, 32);
	return divide_up((patches < 1536 ? patches : 1536) * facts->image_percent, 100);
}

/* Up to 384 pixels both ways is one tile; larger ones are cut into tiles of 768. */
static uint64_t by_gemini(uint64_t width, uint64_t height)
{
	if (width <= 384 && height <= 384)
		return 258;
	shrink(&width, &height, width > height ? width : height, 3072);
	return 258 * divide_up(width, 768) * divide_up(height, 768);
}

static uint64_t by_rule(
	const struct model_facts *facts, uint64_t width, uint64_t height, enum image_detail detail)
{
	switch (facts->images) {
	case IMAGES_ANTHROPIC:
		return by_area(width, height, 1568, 1600);
	case IMAGES_OPENAI_TILES:
		return detail == IMAGE_DETAIL_LOW ? facts->image_base : by_tiles(facts, width, height);
	case IMAGES_OPENAI_PATCHES:
		return by_patches(facts, width, height);
	case IMAGES_GEMINI:
		return by_gemini(width, height);
	case IMAGES_ANTHROPIC_HIGH:
	case IMAGES_UNKNOWN:
		break;
	}
	return by_area(width, height, 2576, 4784);
}

uint64_t image_tokens(const struct model_facts *facts, struct image_size size, enum image_detail detail)
{
	bool known = size.width && size.height;
	uint64_t tokens = by_rule(facts, known ? size.width : 1024, known ? size.height : 1024, detail);
	bool cheap = facts->images == IMAGES_OPENAI_TILES &&
		     detail == IMAGE_DETAIL_LOW; /* the same for any size */
	if (!known && !cheap && tokens < IMAGE_DEFAULT_TOKENS)
		tokens = IMAGE_DEFAULT_TOKENS;
	return tokens ? tokens : 1;
}
