/* SPDX-License-Identifier: MIT */
/*
 * For scripts that compare with other implementations: reads texts (32-bit length in this machine's order,
 * then the bytes) from standard input and writes a line for each: tokens counted, tokens encoded, a hash of
 * those, the estimate.
 *
 *	token_lines ENCODING
 */
#include <stdio.h>
#include <stdlib.h>
#include "tokens/encoding.h"
#include "tokens/estimate.h"

static int answer(
	const struct encoding *encoding, struct token_scratch *scratch, const char *text, size_t len)
{
	uint64_t count = 0;
	struct token_list list = {0};
	int rc = encoding_count(encoding, scratch, text, len, &count);
	if (rc == 0)
		rc = encoding_encode(encoding, scratch, text, len, &list);
	uint32_t hash = 0;
	for (size_t i = 0; i < list.count; i++)
		hash = hash * 31 + list.tokens[i];
	struct token_classes classes = {0};
	token_classes_add(&classes, text, len);
	printf("%llu %zu %lu %llu", (unsigned long long)count, list.count, (unsigned long)hash,
		(unsigned long long)token_classes_estimate(&classes));
	for (unsigned class = 0; class < TOKEN_CLASSES; class ++)
		printf(" %lu", (unsigned long)classes.count[class]);
	putchar('\n');
	token_list_release(&list);
	return rc;
}

int main(int argc, char **argv)
{
	const struct encoding *encoding = argc == 2 ? encoding_by_name(argv[1]) : NULL;
	struct token_scratch *scratch = token_scratch_new();
	uint32_t len;
	int rc = encoding && scratch ? 0 : 2;
	while (rc == 0 && fread(&len, sizeof(len), 1, stdin) == 1) {
		char *text = malloc(
			len ? len
			    : 1); /* exactly as long, so that a sanitizer sees each byte read too many */
		rc = text && fread(text, 1, len, stdin) == len ? answer(encoding, scratch, text, len) : 1;
		free(text);
	}
	token_scratch_free(scratch);
	return rc ? 1 : 0;
}
