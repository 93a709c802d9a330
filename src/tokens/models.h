/* SPDX-License-Identifier: MIT */
/* What is known of models by their names: whose they are, which public encoding they use, how they count
 * images. */
#ifndef TOKENS_MODELS_H
#define TOKENS_MODELS_H

#include <stdbool.h>

enum model_images {
	IMAGES_UNKNOWN,	       /* as IMAGES_ANTHROPIC_HIGH, the dearest of the rules by area */
	IMAGES_ANTHROPIC,      /* area / 750, at most 1568 pixels an edge and about 1,600 tokens */
	IMAGES_ANTHROPIC_HIGH, /* from Claude 4.7 on: at most 2576 pixels and 4,784 tokens */
	IMAGES_OPENAI_TILES,   /* a base and a price for each 512-pixel tile */
	IMAGES_OPENAI_PATCHES, /* a price for each 32-pixel patch, at most 1,536 of them */
	IMAGES_GEMINI,	       /* 258 for each 768-pixel tile */
};

struct model_facts {
	const char *encoding;  /* "o200k_base", "cl100k_base" or NULL: not public */
	bool large_vocabulary; /* estimates take the weights of a vocabulary of 200,000 tokens */
	enum model_images images;
	unsigned image_base, image_tile; /* tokens, for tiles */
	unsigned image_percent;		 /* of a token for a patch */
};

/*
 * By the longest known prefix of the name. Leading "provider/" and "ft:" parts are skipped, case does not
 * matter. Always gives something: an unknown model has no encoding and IMAGES_UNKNOWN.
 */
struct model_facts model_facts(const char *model);

#endif
