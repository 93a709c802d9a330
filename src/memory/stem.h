/* SPDX-License-Identifier: MIT */
/* English words without their endings, by the rules of M. F. Porter, "An algorithm for suffix stripping" (1980). */
#ifndef MEMORY_STEM_H
#define MEMORY_STEM_H

#include <stddef.h>

/* Shortens a word of ASCII lower case letters in place; returns its new length. Anything else stays as it is. */
size_t stem(char *word, size_t len);

#endif
