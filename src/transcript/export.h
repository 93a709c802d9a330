/* SPDX-License-Identifier: MIT */
/*
 * Sessions out, in other products' formats. A writer is given the messages of a line one after the other and
 * appends to a buffer, which the caller may empty between two calls: memory does not grow with the session.
 *
 *	struct export *export;
 *	export_open("anthropic", &options, out, &export, error);
 *	for each message: export_message(export, &item, error);
 *	export_end(export, error);               // the last bytes; then export_losses, export_close
 *
 * Rules for every writer: (1) what its reader (import.h) reads back are the same messages: role, texts,
 * calls, results, in the same order; (2) what the format has no place for is counted by kind, never dropped
 * silently; (3) what no provider or parser accepts, lone surrogates and NUL characters, becomes U+FFFD,
 * except in the format `bobbin`; (4) sealed blocks go out byte for byte to their own kind of format, else not
 * at all; (5) what the reader kept under "src" is used again by the writer of the same format.
 */
#ifndef TRANSCRIPT_EXPORT_H
#define TRANSCRIPT_EXPORT_H

#include "base/buffer.h"
#include "base/error.h"
#include "transcript/message.h"

struct export_options {
	struct slice id, title; /* of the session; title may be empty */
	struct slice folder;	/* where the work was done, for formats that say it; may be empty */
	int64_t created_ns;	/* for messages without a time; since 1970, UTC */
};

struct export_item {
	struct slice id; /* as shown: m<seq> where the record has none */
	const struct message *message;
};

/* What went missing or was changed: "thinking" 3 times. */
struct export_loss {
	const char *what; /* static text, plural */
	uint64_t count;
};
#define EXPORT_LOSSES_MAX 16

struct export;

/* BOBBIN_EUNSUPPORTED for an unknown format; BOBBIN_ENOMEM. `out` must live until export_close. */
int export_open(const char *format, const struct export_options *options, struct buffer *out,
	struct export **ret_export, struct bobbin_error *error);
int export_message(struct export *export, const struct export_item *item, struct bobbin_error *error);
int export_end(struct export *export, struct bobbin_error *error);
void export_close(struct export *export); /* NULL allowed */

/* Those with a count; valid until export_close. */
const struct export_loss *export_losses(const struct export *export, size_t *ret_count);

/* The formats that can be written: name and one line for people; name NULL at the end. */
struct export_format {
	const char *name, *summary;
};
const struct export_format *export_formats(void);

#endif
