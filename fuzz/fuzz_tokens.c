/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a text and as an image: blocks find only pieces that the splitter finds, the count is the
 * number of tokens, those give the text back in length, an estimate is there for every text, and an image has
 * a price. Without the rank files the counts are left out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tokens/blocks.h"
#include "tokens/encoding.h"
#include "tokens/estimate.h"
#include "tokens/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "fuzz_tokens.c:%d: not so: %s\n", __LINE__, #condition);             \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

static void check_starts(enum split_pattern pattern, const char *text, size_t len)
{
	char block[BLOCK_BYTES * 2] = {0};
	size_t taken = len < BLOCK_BYTES ? len : BLOCK_BYTES;
	if (!taken || text[0] & 0x80)
		return;
	memcpy(block, text, taken);
	unsigned usable;
	uint64_t best = block_starts(pattern, block_classifier_best(), block, taken, &usable);
	CHECK(best == block_starts(pattern, block_classify_portable, block, taken, &usable));
	const char *at = text;
	for (best &= best - 1; best; best &= best - 1) {
		bool invalid = false;
		at = split_piece(pattern, at, text + len, &invalid);
		CHECK(invalid || at == text + __builtin_ctzll(best));
		if (invalid)
			return;
	}
}

static void check_count(const char *name, const char *text, size_t len)
{
	static struct token_scratch *scratch; /* kept, so that later inputs meet a filled cache */
	const struct encoding *encoding = encoding_by_name(name);
	if (!encoding || (!scratch && !(scratch = token_scratch_new())))
		return;
	struct token_list list = {0};
	uint64_t first = 0, second = 0;
	CHECK(encoding_count(encoding, scratch, text, len, &first) == 0);
	CHECK(encoding_count(encoding, scratch, text, len, &second) == 0);
	CHECK(encoding_encode(encoding, scratch, text, len, &list) == 0);
	CHECK(first == list.count && second == first && first <= 3 * len);
	for (size_t i = 0; i < list.count; i++)
		CHECK(list.tokens[i] < encoding_size(encoding));
	token_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	check_starts(SPLIT_O200K, text, len);
	check_starts(SPLIT_CL100K, text, len);
	check_count("o200k_base", text, len);
	check_count("cl100k_base", text, len);
	CHECK(len == 0 || tokens_estimate(text, len) > 0);
	static const char *const models[] = {"gpt-4o", "gpt-5-mini", "claude-opus-4-7", "gemini-3"};
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		struct model_facts facts = model_facts(models[i]);
		uint64_t bytes = image_tokens(&facts, image_size_of_bytes(data, len), IMAGE_DETAIL_AUTO);
		uint64_t base64 = image_tokens(&facts, image_size_of_base64(text, len), IMAGE_DETAIL_HIGH);
		CHECK(bytes >= 1 && bytes <= 5000 && base64 >= 1 && base64 <= 5000);
	}
	return 0;
}
