/* SPDX-License-Identifier: MIT */
/*
 * What an image costs, by the rules that the providers publish. It depends on width and height alone, which
 * are read from the header of the file: only the bytes that are needed are decoded from base64, wherever they
 * stand.
 *
 * Invariants: (1) an image costs at least 1 token; (2) never more than the rule's cap; (3) what cannot be
 * read costs IMAGE_DEFAULT_TOKENS or what the rule says for 1024 x 1024 pixels, whichever is more.
 */
#ifndef TOKENS_IMAGE_H
#define TOKENS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tokens/models.h"

#define IMAGE_DEFAULT_TOKENS 1600 /* the cap of most models */

struct image_size {
	uint32_t width, height; /* 0: not known */
};

enum image_detail { IMAGE_DETAIL_AUTO, IMAGE_DETAIL_LOW, IMAGE_DETAIL_HIGH };

/* PNG, JPEG, GIF or WebP. {0, 0} if it is none of them or its header is damaged. */
struct image_size image_size_of_bytes(const void *data, size_t len);

/* The same in base64 (either alphabet), also behind "data:…;base64,". White space inside makes it unreadable.
 */
struct image_size image_size_of_base64(const char *text, size_t len);

uint64_t image_tokens(const struct model_facts *facts, struct image_size size, enum image_detail detail);

#endif
