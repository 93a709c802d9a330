/* SPDX-License-Identifier: MIT */
/* What the files of masking share: a text that is walked once, and the shapes that are tried at a place of
 * it. */
#ifndef TRANSCRIPT_MASK_SCAN_H
#define TRANSCRIPT_MASK_SCAN_H

#include "transcript/mask.h"

enum mask_set {
	SET_ALNUM,
	SET_WORD,   /* and _ */
	SET_TOKEN,  /* and - _ : url-safe base64 */
	SET_BASE64, /* A-Z a-z 0-9 + / = */
	SET_HEX,    /* lower case */
	SET_UPPER,  /* A-Z 0-9 */
	SET_WIDE,   /* what a bearer token may hold: - . _ ~ + / = : % */
	SET_VALUE,  /* of an assignment without quotes */
	SET_QUOTED, /* … with quotes: no blank, quote or backslash */
	SET_USER,   /* the user of a URL */
	SET_URL_PASSWORD,
	SET_HEADER, /* the rest of a header's line */
	SET_COOKIE, /* … up to a semicolon */
	MASK_SETS,
};

struct mask_scan {
	const char *text;
	size_t len;
	size_t floor; /* what stands before was masked, or is a placeholder: nobody looks back beyond */
	/* The run of each set that was measured last: no byte is measured twice. */
	struct {
		size_t start, end;
	} runs[MASK_SETS];
};

/* Where the run of a set's characters that begins at `at` ends; `at` if there is none. */
size_t mask_run(struct mask_scan *scan, enum mask_set set, size_t at);

static inline bool mask_is_alnum(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static inline bool mask_has(const struct mask_scan *scan, size_t at, const char *text, size_t len)
{
	return at <= scan->len && scan->len - at >= len && memcmp(scan->text + at, text, len) == 0;
}

/* Whether a token may begin here: no letter, digit or _ before it, but for those of an escape (\n, %3D,
 * \u003d) or a terminal's colour. */
bool mask_boundary(const struct mask_scan *scan, size_t at);

/* What a value is made of, by its first 256 bytes. */
struct mask_look {
	unsigned lower, upper, digits, others;
	unsigned distinct; /* different characters */
	unsigned steps;	   /* changes from one class to another */
};
void mask_look(const char *value, size_t len, struct mask_look *ret_look);

/* Said instead of a secret: <KEY>, $KEY, {{key}}, xxxx, your-key, … */
bool mask_is_stand_in(const char *value, size_t len);

/* mask_value.c: what a thing is called, where its value stands, and whether the value looks drawn. */
enum mask_name { MASK_NO_NAME, MASK_PASSWORD, MASK_SECRET, MASK_AZURE };
enum mask_place {
	MASK_CODE,    /* password = config.password1: nothing else tells a password from what code calls it */
	MASK_SETTING, /* DB_PASSWORD=hunter2, password: hunter2 */
	MASK_URL,     /* ?token=9f3c2b1a */
	MASK_QUOTED,
};
bool mask_is_drawn(enum mask_name class, const char *value, size_t len, enum mask_place place);
/* Where a value ends: one that a quote before `start` opened (false: nothing closes it), a password from `start` over
 * what ends other values at `end`. */
bool mask_quoted_end(struct mask_scan *scan, size_t start, size_t *ret_end);
size_t mask_joined_end(struct mask_scan *scan, size_t start, size_t end);

/* mask_tokens.c: a token of an issuer at `at`. */
bool mask_match_token(struct mask_scan *scan, size_t at, struct mask_span *ret_span);
/* A PEM block of a private key. */
bool mask_match_pem(struct mask_scan *scan, size_t at, struct mask_span *ret_span);

/* mask_named.c: by what stands before it. `at`: the = or : */
bool mask_match_assigned(struct mask_scan *scan, size_t at, struct mask_span *ret_span);
bool mask_match_url(struct mask_scan *scan, size_t colon, struct mask_span *ret_span);
bool mask_match_telegram(struct mask_scan *scan, size_t colon, struct mask_span *ret_span);
bool mask_match_bearer(struct mask_scan *scan, size_t at, struct mask_span *ret_span);
bool mask_match_said(struct mask_scan *scan, size_t at, struct mask_span *ret_span); /* my password is … */
bool mask_match_option(struct mask_scan *scan, size_t at, struct mask_span *ret_span); /* --password VALUE */

/* The kind if a string member of this name with this value is a secret as a whole, else NULL. */
const char *mask_named_value(struct slice name, struct slice value);

#endif
