/* SPDX-License-Identifier: MIT */
/*
 * One record as bytes: what kind it is, whether its checksum holds, and how a client's object becomes a line.
 *
 *	client   {"role":"user","content":"hi","x":1e400}
 *	line     {"seq":7,"role":"user","content":"hi","x":1e400,"ts":"2026-09-04T10:00:00Z","crc":"0f1e2d3c"}
 *
 * Invariants: (1) members we do not set keep their bytes and order; (2) a line holds no line break; (3) "crc"
 * is the last member and covers all bytes before `,"crc":`.
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/json.h"
#include "store/log.h"

/* False if it is none: no object, or neither a role nor a type we can take it by. */
bool record_kind_of(const struct json *record, enum record_kind *ret_kind);
/* True if its first "role" is a message's: what it is unless a later one says otherwise, in which case
 * message_parse refuses it. */
bool record_begins_as_message(const struct json *record);

/* Whether its checksum is wrong (absent is not), and the CRC-32C of all of its bytes. */
bool record_crc_is_wrong(const struct json *record, uint32_t *ret_crc);

/* Appends the members of a client's object without "seq", "crc" and "ts", separated by commas. */
void record_add_members(struct buffer *out, const struct json *record);

/* Appends the line (without line break) for a client's object. `parent`: a "parent" member to put in, as
 * JSON; or NULL. */
void record_add_line(
	struct buffer *out, const struct json *record, uint64_t seq, const char *parent, const char *ts);

/* Ends an object that lacks its closing brace: adds the crc over out from `start` on, and the brace. */
void record_seal(struct buffer *out, size_t start);

/* Whether a client's object is what is stored: the same members (but for seq, crc, ts, and a parent that was put in)
 * with the same bytes in the same order. 1, 0 or BOBBIN_ENOMEM. */
int record_is_same(const struct json *record, const struct json *stored);

#endif
