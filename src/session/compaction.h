/* SPDX-License-Identifier: MIT */
/*
 * Compaction lines: what was committed, and whether it may still be used.
 *
 *	{"type":"compaction","cut":"m31","inner":null,"source":"chain:91ab…","floor":null,"segments":4,
 *	 "digest":"sha256:…","tokens":612,"record":{…},"text":"TASK\n- …"}
 *
 * Invariants: (1) a line is used only if its cut is a person's message on this
 * line, the hash of everything it covers and of the message it is attached to is the one it was made of, and
 * the newest run is the same; (2) the text is shown as it was logged, whatever code reads it; (3) of several
 * usable lines the newest counts.
 */
#ifndef SESSION_COMPACTION_H
#define SESSION_COMPACTION_H

#include "session/handles.h"

struct found_record {
	bool seen; /* there is a line that ought to be used */
	bool usable;
	const char *stale; /* why the newest one cannot be used; static text */
	struct window_record window;
	struct json object; /* the line, in the arena */
};

/*
 * The compaction in force on the line to `head`. as_of: only what was committed
 * by then, for replays. Memory is the arena's. Errors of the store.
 */
struct token_counter;
int compaction_find(bobbin_session *session, uint32_t head, bool as_of, struct token_counter *counter,
	struct arena *arena, struct found_record *ret_found, struct bobbin_error *error);

/* "chain:…": the hash of the line through the message at the cut, which the record is attached to, or, with
 * an inner cut, of everything before that. */
#define COMPACTION_SOURCE_BYTES 24
int compaction_source(const struct log *log, uint32_t head, size_t cut, size_t inner_cut,
	char ret_source[COMPACTION_SOURCE_BYTES], struct bobbin_error *error);

#endif
