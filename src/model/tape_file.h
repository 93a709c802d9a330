/* SPDX-License-Identifier: MIT */
/* What writing and playing a recording share (tape.h). */
#ifndef MODEL_TAPE_FILE_H
#define MODEL_TAPE_FILE_H

#include "base/arena.h"
#include "base/json.h"
#include "model/tape.h"

#define TAPE_DIGEST_BYTES 72 /* "sha256:", 64 digits, NUL */

/* One recorded exchange: lines [first, first + count) of the tape. */
struct tape_exchange {
	struct slice digest;
	size_t first, count;
	bool given;
};

struct tape {
	const struct platform *platform;
	char *name;

	/* writing */
	int file; /* -1: none */
	struct buffer line;
	const struct wire *wire;
	void *wire_context;

	/* playing */
	struct buffer text; /* the whole file */
	struct arena arena; /* decoded strings */
	struct json *lines; /* those inside exchanges */
	size_t line_count, line_capacity;
	struct tape_exchange *exchanges;
	size_t exchange_count, exchange_capacity;
	bool out_of_memory; /* reading a member failed; sticky */
};

struct tape *tape_new(const char *name, const struct platform *platform, struct bobbin_error *error);
void tape_free(struct tape *tape);				      /* NULL allowed */
int tape_digest(struct slice body, char ret_text[TAPE_DIGEST_BYTES]); /* 0 or BOBBIN_ENOMEM */

#endif
