/* SPDX-License-Identifier: MIT */
/* Verification: what is said to be the user's, and what persons said. Phrases are in attribution.inc. */
#include "base/alloc.h"
#include "compact/verify_claims.h"

static const char *const PHRASES[] = {
#define PHRASE(text) text,
#include "compact/attribution.inc"
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* The end of `phrase` in `text`; SIZE_MAX if it is not there. */
static size_t find_phrase(struct slice text, const char *phrase)
{
	size_t len = strlen(phrase);

	for (size_t at = 0; at + len <= text.len; at++) {
		size_t same = 0;

		while (same < len && lower(text.data[at + same]) == phrase[same])
			same++;
		if (same == len)
			return at + len;
	}
	return SIZE_MAX;
}

/* Where the clause ends that begins at `at`: what follows a full stop or a dash is somebody else's doing. */
static size_t clause_end(struct slice text, size_t at)
{
	static const char *const ENDS[] = {". ", "; ", " - ", " – ", " — ", "。", "；"};
	size_t end = text.len;

	for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
		const char *found = memmem(text.data + at, text.len - at, ENDS[i], strlen(ENDS[i]));

		if (found && (size_t)(found - text.data) < end)
			end = (size_t)(found - text.data);
	}
	return end;
}

struct slice attributed_words(struct slice text)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < sizeof PHRASES / sizeof *PHRASES; i++) {
		size_t end = find_phrase(text, PHRASES[i]);

		if (end < first)
			first = end;
	}
	if (first >= text.len)
		return (struct slice){NULL, 0};
	return (struct slice){text.data + first, clause_end(text, first) - first};
}

int verify_add_attribution(struct verify *verify, uint32_t item, struct slice text)
{
	struct attribution *attribution = arena_alloc_zero(&verify->arena, sizeof *attribution);

	if (!attribution)
		return BOBBIN_ENOMEM;
	attribution->item = item;
	attribution->text = text;
	words_of(text, &attribution->words);
	attribution->next = verify->attributions;
	verify->attributions = attribution;
	return 0;
}

static void find_words(void *context, unsigned long long hash)
{
	struct verify *verify = context;

	for (struct attribution *at = verify->attributions; at; at = at->next)
		for (unsigned i = 0; i < at->words.count; i++)
			if (at->words.hash[i] == hash)
				at->found |= 1u << i;
}

struct proof {
	const struct words *words;
	bool fits;
};

static void find_proof(void *context, unsigned long long hash)
{
	struct proof *proof = context;

	for (unsigned i = 0; i < proof->words->count; i++)
		proof->fits |= proof->words->hash[i] == hash;
}

/* Whether a person's message can be what changed the state of the constraints that name it. */
static void check_proofs(struct verify *verify, size_t place, struct slice text)
{
	for (size_t i = 0; i < verify->record->count; i++) {
		const struct compact_item *item = &verify->record->items[i];
		struct words words;
		struct proof proof = {&words, false};

		if (item->kind != ITEM_CONSTRAINT || item->proof.place != place)
			continue;
		words_of(item->key.len ? item->key : item->text, &words);
		words_each(text, find_proof, &proof);
		verify->items[i].proof_fits = proof.fits;
	}
}

int verify_note_message(struct verify *verify, size_t place, bool person, struct slice text)
{
	int rc = mem_grow((void **)&verify->places, &verify->place_cap, place + 1, 1);

	if (rc)
		return rc;
	if (place >= verify->place_count) {
		memset(verify->places + verify->place_count, 0, place + 1 - verify->place_count);
		verify->place_count = place + 1;
	}
	verify->places[place] = (uint8_t)(PLACE_COVERED | (person ? PLACE_PERSON : 0));
	if (!person)
		return 0;
	if (verify->attributions)
		words_each(text, find_words, verify);
	if (verify->proofs)
		check_proofs(verify, place, text);
	return 0;
}
