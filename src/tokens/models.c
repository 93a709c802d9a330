/* SPDX-License-Identifier: MIT */
#include "tokens/models.h"
#include <string.h>
#include <strings.h>
#include "tokens/encoding.h"

#define O200K "o200k_base", true
#define CL100K "cl100k_base", false
#define PRIVATE NULL, false
#define PRIVATE_LARGE NULL, true
#define TILES(base, tile) IMAGES_OPENAI_TILES, base, tile, 0
#define PATCHES(percent) IMAGES_OPENAI_PATCHES, 0, 0, percent
#define BY_AREA(rule) rule, 0, 0, 0

/*
 * The longest prefix that fits decides, so the order does not matter. Models that are newer than the
 * published rules (gpt-5.x, gpt-6, gpt-oss) get the patch rule at the price of a small model, which is the
 * higher one.
 */
static const struct {
	const char *prefix;
	struct model_facts facts;
} known[] = {
	{"gpt-3.5", {CL100K, TILES(85, 170)}},
	{"gpt-35", {CL100K, TILES(85, 170)}},
	{"gpt-4", {CL100K, TILES(85, 170)}},
	{"text-embedding-", {CL100K, TILES(85, 170)}},
	{"davinci-002", {CL100K, TILES(85, 170)}},
	{"babbage-002", {CL100K, TILES(85, 170)}},
	{"gpt-4o", {O200K, TILES(85, 170)}},
	{"gpt-4o-mini", {O200K, TILES(2833, 5667)}},
	{"chatgpt-4o", {O200K, TILES(85, 170)}},
	{"gpt-4.1", {O200K, TILES(85, 170)}},
	{"gpt-4.1-mini", {O200K, PATCHES(162)}},
	{"gpt-4.1-nano", {O200K, PATCHES(246)}},
	{"gpt-4.5", {O200K, TILES(85, 170)}},
	{"gpt-5", {O200K, TILES(70, 140)}},
	{"gpt-5-mini", {O200K, PATCHES(162)}},
	{"gpt-5-nano", {O200K, PATCHES(246)}},
	{"gpt-5-codex", {O200K, TILES(70, 140)}},
	{"gpt-5.", {O200K, PATCHES(162)}},
	{"gpt-6", {O200K, PATCHES(162)}},
	{"gpt-oss", {O200K, PATCHES(162)}},
	{"codex-mini", {O200K, PATCHES(172)}},
	{"computer-use-preview", {O200K, TILES(65, 129)}},
	{"o1", {O200K, TILES(75, 150)}},
	{"o3", {O200K, TILES(75, 150)}},
	{"o3-mini", {O200K, TILES(75, 150)}},
	{"o4-mini", {O200K, PATCHES(172)}},
	{"claude", {PRIVATE, BY_AREA(IMAGES_ANTHROPIC)}},
	{"claude-opus-4-7", {PRIVATE, BY_AREA(IMAGES_ANTHROPIC_HIGH)}},
	{"claude-opus-4-8", {PRIVATE, BY_AREA(IMAGES_ANTHROPIC_HIGH)}},
	{"claude-opus-5", {PRIVATE, BY_AREA(IMAGES_ANTHROPIC_HIGH)}},
	{"claude-sonnet-5", {PRIVATE, BY_AREA(IMAGES_ANTHROPIC_HIGH)}},
	{"claude-haiku-5", {PRIVATE, BY_AREA(IMAGES_ANTHROPIC_HIGH)}},
	{"gemini", {PRIVATE_LARGE, BY_AREA(IMAGES_GEMINI)}},
	{"gemma", {PRIVATE_LARGE, BY_AREA(IMAGES_GEMINI)}},
};

struct model_facts model_facts(const char *model)
{
	struct model_facts facts = {PRIVATE, BY_AREA(IMAGES_UNKNOWN)};
	size_t best = 0;
	const char *slash = strrchr(model, '/');
	if (slash)
		model = slash + 1;
	if (strncasecmp(model, "ft:", 3) == 0)
		model += 3;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t len = strlen(known[i].prefix);
		if (len > best && strncasecmp(model, known[i].prefix, len) == 0) {
			best = len;
			facts = known[i].facts;
		}
	}
	return facts;
}

const char *encoding_name_for_model(const char *model)
{
	return model_facts(model).encoding;
}
