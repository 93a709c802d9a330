/* SPDX-License-Identifier: MIT */
/* What verify.c (collecting, looking) and verify_result.c (judging) share. */
#ifndef COMPACT_VERIFY_CLAIMS_H
#define COMPACT_VERIFY_CLAIMS_H

#include "compact/scan.h"
#include "compact/values.h"
#include "compact/verify.h"
#include "compact/words.h"

enum {
	CLAIM_ANY = 1,	      /* it stands in a covered message */
	CLAIM_USER = 2,	      /* … in one that a person typed */
	CLAIM_CITED = 4,      /* … in one that the item cites */
	CLAIM_CITED_USER = 8, /* … in one that is both */
	CLAIM_ALL = 15,
};

struct claim {
	uint32_t item;
	enum value_kind kind;
	bool user; /* must be a person's */
	uint8_t flags;
	struct slice text;
	char number[NUMBER_BYTES]; /* that may also stand in words; empty: none */
	uint32_t part_of;	   /* of half a path: the claim it may stand for */
	uint32_t other;		   /* of its second half: the first */
};

/* "The user asked for the wallet report": words that a person must have used. */
struct attribution {
	uint32_t item;
	struct slice text;
	struct words words;
	uint32_t found; /* a bit a word */
	struct attribution *next;
};

struct verify_item {
	size_t first;	 /* claim */
	bool proof_fits; /* the message that proves its state speaks of it */
};

enum { PLACE_COVERED = 1, PLACE_PERSON = 2 };

struct verify {
	const struct compact_record *record;
	const struct deriver *harvester;
	struct arena arena, scratch;
	struct claim *claims;
	size_t claim_count, claim_cap;
	struct verify_item *items;
	struct scanner scanner;
	bool numbers;
	struct attribution *attributions;
	bool proofs;          /* some constraint names the message that changed its state */
	struct buffer decoded;
	uint8_t *places; /* PLACE_… by position */
	size_t place_count, place_cap;
	struct compact_merge *harvest;
	uint64_t bytes;
};

/* What follows a phrase that attributes something to the user; empty: there is none. */
struct slice attributed_words(struct slice text);

int verify_add_attribution(struct verify *verify, uint32_t item, struct slice text);
/* A covered message: whose it is, and if a person's, what he says. 0 or BOBBIN_ENOMEM. */
int verify_note_message(struct verify *verify, size_t place, bool person, struct slice text);

#endif
