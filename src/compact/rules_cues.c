/* SPDX-License-Identifier: MIT */
/* Looking words up in the cue tables. Invariants: rules_cues.h. */
#include "compact/rules_cues.h"

uint16_t cue_word_find(struct slice folded)
{
	uint32_t hash = CUE_HASH_INIT;

	for (size_t i = 0; i < folded.len; i++)
		hash = cue_hash_step(hash, (unsigned char)folded.data[i]);
	for (uint32_t at = hash & cue_slot_mask; cue_slots[at]; at = (at + 1) & cue_slot_mask) {
		const struct cue_word *word = &cue_words[cue_slots[at]];

		if (word->len == folded.len && memcmp(cue_text + word->text, folded.data, folded.len) == 0)
			return cue_slots[at];
	}
	return 0;
}

int cue_name_is(struct slice folded, enum cue_kind kind)
{
	uint16_t word = cue_word_find(folded);

	if (!word)
		return 0;
	for (uint32_t i = cue_first[word]; i < cue_first[word + 1]; i++)
		if (cue_phrases[i].count == 1 && cue_phrases[i].kinds >> kind & 1)
			return 1;
	return 0;
}
