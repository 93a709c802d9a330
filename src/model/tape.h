/* SPDX-License-Identifier: MIT */
/*
 * Recordings of exchanges: what a provider answered, byte for byte, without the request and without time.
 *
 *	{"type":"tape","v":1,"name":"gpt-4o","provider":"openai","dialect":"openai-chat","window":…,"output":…}
 *	{"type":"request","digest":"sha256:…"}
 *	{"type":"head","status":200,"stream":true}          also "retry_after_ms", "should_retry"
 *	{"type":"body","text":"data: {…"}                   or "hex", where the bytes are not UTF-8
 *	{"type":"end"}                                      or
 *	{"type":"failed","failure":"cut_off","retry":false,"words":…}
 *
 * Played back, a request gets the first answer not given yet whose digest (SHA-256 of the body) is its own,
 * else, because bodies may hold the time of day, simply the first not given yet.
 *
 * Invariants: (1) the bodies of an exchange joined are the bytes that came; (2) no header of a request and
 * no body of one is written, and a key that the provider quotes is written as "[key]"; (3) one line, one
 * write, mode 0600, appended; (4) an exchange without its last line plays as one that was cut off.
 */
#ifndef MODEL_TAPE_H
#define MODEL_TAPE_H

#include "base/buffer.h"
#include "model/wire.h"

struct tape;

/* Appends what travels over `wire` to a file, which is made if it is missing. The wire's context is
 * `wire_context`, closed with the tape. */
int tape_record(const char *file, const struct model_properties *properties, const struct platform *platform,
	const struct wire *wire, void *wire_context, struct tape **ret_tape, struct bobbin_error *error);
extern const struct wire wire_record; /* context: a struct tape of tape_record */

/* Reads a recording; its properties live as long as the tape. BOBBIN_EINPUT with the line. */
int tape_open(const char *file, const struct platform *platform, struct tape **ret_tape,
	struct model_properties *ret_properties, struct bobbin_error *error);
extern const struct wire wire_replay; /* context: a struct tape of tape_open */

#endif
