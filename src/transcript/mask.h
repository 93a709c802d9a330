/* SPDX-License-Identifier: MIT */
/*
 * Secrets in texts and records, found by their shape and replaced by what they were:
 *
 *	export GITHUB_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a
 *	export GITHUB_TOKEN=[masked: github token]
 *
 * A shape is what an issuer has documented for its keys (a prefix, an alphabet, a length), a frame that only
 * secrets stand in (PEM, an authorization header, the password of a URL), or the value of something called a
 * password, secret or token that looks drawn and not written. What merely looks random (hashes, UUIDs,
 * base64 data, ids) stays.
 *
 * Invariants: (1) the time is linear in the text, whatever is in it, and the memory is that of the text and
 * the places found; (2) the same text gives the same places; masking what was masked changes nothing; (3) a
 * placeholder has no character that JSON escapes, so a text that was JSON still is; (4) in a record all bytes
 * but those of secrets stay as they are: ids, signed and encrypted blocks, signatures, hashes and image data
 * are not even looked at; (5) what was cut in two by somebody else (half a key at the end of a text) may stay.
 */
#ifndef TRANSCRIPT_MASK_H
#define TRANSCRIPT_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/json.h"
#include "base/slice.h"

/* A secret in a text: [start, end) in bytes. */
struct mask_span {
	size_t start, end;
	const char *kind; /* "github token"; lives for ever */
};

struct mask_spans {
	struct mask_span *items;
	size_t count, cap;
};
/* clang-format off */
#define MASK_SPANS_INIT {NULL, 0, 0}
/* clang-format on */

/* Fills an empty list with the secrets of `text`, in order and apart from each other. 0 or BOBBIN_ENOMEM. */
int mask_find(struct slice text, struct mask_spans *spans);
void mask_spans_release(struct mask_spans *spans);

/* Appends the text with each secret replaced by "[masked: KIND]". ret_count (NULL allowed): how many there
 * were. 0, BOBBIN_ENOMEM or BOBBIN_ELIMIT. */
int mask_text(struct slice text, struct buffer *out, size_t *ret_count);

/*
 * Appends a record with the secrets of its strings replaced: content, calls with their arguments (also where
 * those are JSON in a string), results, `src`, and members nobody knows. ret_count as above; 0: the bytes are
 * the record's own. A crc member is no longer right if there were any. Places of `src` that point into the
 * content (in_content) are moved with it.
 */
int mask_record(const struct json *record, struct buffer *out, size_t *ret_count);

#endif
