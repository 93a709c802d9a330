/* SPDX-License-Identifier: MIT */
/*
 * The formats that are read piece by piece, on any bytes: however the pieces fall, the file tells what it tells when it is read
 * whole. How long pieces are follows from the input, so that every failure comes again. With BOBBIN_FUZZ_FORMAT in the
 * environment only that format is read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "base/hash.h"
#include "transcript/import_both.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What both say from the line on in which they differ. */
static void tell_difference(const struct buffer *whole, const struct buffer *pieces)
{
	size_t at = 0;

	while (at < whole->len && at < pieces->len && whole->data[at] == pieces->data[at])
		at++;
	while (at > 0 && whole->data[at - 1] != '\n')
		at--;
	fprintf(stderr, "whole:\n%.*s\nin pieces:\n%.*s\n", (int)(whole->len - at), whole->data + at,
		(int)(pieces->len - at), pieces->data + at);
}

static void check_format(const char *format, const char *data, size_t len, const struct import_pieces *pieces)
{
	struct buffer whole = BUFFER_INIT(256u << 20), streamed = BUFFER_INIT(256u << 20);

	if (import_reads_alike(data, len, pieces) && import_tell_whole(format, data, len, &whole) == 0 &&
		import_tell_pieces(format, data, len, pieces, &streamed) == 0 &&
		(whole.len != streamed.len || memcmp(whole.data, streamed.data, whole.len) != 0)) {
		fprintf(stderr, "fuzz_import_stream.c: %s, first %zu bytes, pieces of %zu\n", format, pieces->head_bytes,
			pieces->piece_bytes);
		tell_difference(&whole, &streamed);
		abort();
	}
	buffer_release(&whole);
	buffer_release(&streamed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const size_t PIECES[] = {1, 2, 3, 5, 8, 13, 31, 64, 127, 256, 700, 2000};
	const char *data = (const char *)bytes, *only = getenv("BOBBIN_FUZZ_FORMAT");
	const char *const *formats = import_formats();

	if (len < 2)
		return 0;
	uint32_t sum = crc32c(0, data, len);
	const struct import_pieces pieces = {
		.head_bytes = len - 1, .piece_bytes = PIECES[sum % (sizeof(PIECES) / sizeof(PIECES[0]))], .spill = sum >> 31};
	for (size_t i = 0; formats[i]; i++) {
		if (only ? strcmp(only, formats[i]) == 0 : import_streams(formats[i]))
			check_format(formats[i], data, len, &pieces);
	}
	return 0;
}
