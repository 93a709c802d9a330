/* SPDX-License-Identifier: MIT */
/*
 * Cue phrases: what the rules deriver listens for, by language. The phrases are data (cues/<language>.txt,
 * one a line under the heading of its kind), turned into the tables below by make_cues.py when the library is
 * built.
 *
 *	[rule]                          the sentence states a rule
 *	^ don't/do+not                  at the start of a clause only; two ways to write it
 *	at most #                       with a number
 *	make it ~ instead               up to three words between
 *
 * Invariants:
 * (1) A word is known by its number; word 0 is "not in any file".
 * (2) Phrases are sorted by their words, a phrase before those it begins; those of word w are
 * cue_phrases[cue_first[w]] to [cue_first[w + 1]). (3) Words are compared folded: lower case, Latin letters
 * without accents, full-width forms as ASCII.
 */
#ifndef COMPACT_RULES_CUES_H
#define COMPACT_RULES_CUES_H

#include <stdint.h>
#include "base/slice.h"

/* The order of the files; make_cues.py reads this list. "any" counts in all languages. */
enum cue_language {
	LANGUAGE_EN,
	LANGUAGE_ZH,
	LANGUAGE_ES,
	LANGUAGE_FR,
	LANGUAGE_DE,
	LANGUAGE_ANY,
	CUE_LANGUAGES
};

/* The headings of the files, in lower case with spaces; make_cues.py reads this list. */
enum cue_kind {
	CUE_NOTHING, /* longer than a cue and without meaning: "must have been" */
	CUE_RULE,
	CUE_RULE_NUMBER, /* a rule if a number follows soon */
	CUE_RULE_BOUND,	 /* the same in a sentence that asks for something: "under 5" */
	CUE_RULE_BROAD,	 /* the same if what stands before it is no thing in particular: "need a", "should be"
			  */
	CUE_RULE_BARE,	 /* the same if a few words follow, and then the clause ends: "no" */
	CUE_RULE_HABIT,	 /* the same behind CUE_MANNER: "everywhere", "in every", "not" */
	CUE_RULE_WHENEVER, /* the same in a sentence that asks for something: "after each" */
	CUE_MANNER,	   /* asks for a way to do things: "use", "name" */
	CUE_LIFT,	   /* a permission */
	CUE_LIFT_NOW,	   /* a permission if CUE_NOW stands in the same sentence */
	CUE_NOW,
	CUE_CHANGE,	     /* an earlier value is replaced */
	CUE_DROP,	     /* what follows is given up */
	CUE_REJECT,	     /* what follows is turned down, or was */
	CUE_REJECT_AFTER_NO, /* the same in a sentence that begins with an answer: "no, not X" */
	CUE_REJECTED,	     /* what comes before it is turned down: "is out", "does not scale" */
	CUE_CHOOSE,
	CUE_OVER, /* what follows is the option not taken: "instead of" */
	CUE_REASON,
	CUE_VERDICT, /* a reason without a conjunction: "too slow" */
	CUE_PLAN,    /* a word for options: "plan", "approach" */
	CUE_REQUEST,
	CUE_DONE,
	CUE_DONE_REPORT, /* the same where the assistant's sentence begins with it: "Updated …" */
	CUE_THANKS,
	CUE_COMPLAINT,
	CUE_REPLY,
	CUE_QUESTION,
	CUE_HYPOTHESIS, /* nothing after it is meant */
	CUE_CONDITION,	/* nothing in its clause is meant */
	CUE_REPORTED,	/* what follows is somebody else's word */
	CUE_HEDGE,	/* an opinion: "should be" is no rule with it */
	CUE_TRIED,
	CUE_FAILED,
	CUE_COURTESY, /* a question that waits for no answer */
	CUE_NAME,     /* a name follows */
	CUE_PLACE,    /* where the person is at home follows */
	CUE_SELF,     /* something about the person */
	CUE_NAMED,    /* gives the thing before it a value: "is", "listens on" */
	/* Of a tool's output */
	CUE_FAILURE,	 /* a line that tells why something failed */
	CUE_EXIT,	 /* an exit code follows */
	CUE_OVERWRITTEN, /* a file was there before it was written */
	CUE_NO_FAILURE,	 /* looks like a failure and is none */
	/* Names, each one word */
	CUE_TOOL_READ,
	CUE_TOOL_WRITE,
	CUE_TOOL_EDIT,
	CUE_TOOL_DELETE,
	CUE_TOOL_SHELL,
	CUE_TOOL_TODO,
	CUE_ARGUMENT_PATH,
	CUE_ARGUMENT_COMMAND,
	CUE_ARGUMENT_PATCH,
	CUE_ARGUMENT_TEXT,
	CUE_FINISHED, /* the status of a todo entry */
	CUE_SHELL_READ,
	CUE_SHELL_WRITE,
	CUE_SHELL_DELETE,
	CUE_SHELL_QUIET,
	CUE_EXTENSION, /* of file names */
	CUE_DOMAIN,    /* last parts of host names */
	CUE_NO_ID,     /* before a number: no id */
	CUE_PASTED,    /* tags around what a person pasted or a program put in */
	CUE_KINDS,
};

/* What single words are, a bit for each language. */
enum word_class {
	WORD_STOP,   /* says nothing about what a sentence is about */
	WORD_FILLER, /* may stand before a cue at the start of a clause */
	WORD_JOIN,   /* begins a new clause: "and" */
	WORD_NUMBER,
	WORD_UNIT,
	WORD_MONTH,
	WORD_PRONOUN,	   /* stands for something else: no option by itself */
	WORD_ABBREVIATION, /* a full stop after it ends nothing */
	WORD_DEFINITE,	   /* means one thing, or somebody: "the", "this", "he" */
	WORD_CLASSES,
};

struct cue_word {
	uint32_t text; /* offset in cue_text */
	uint8_t len;
	uint8_t languages; /* bits of the files it stands in */
	uint8_t classes[WORD_CLASSES];
};

/* Members of a phrase that are no words. */
#define CUE_GAP UINT16_MAX /* none to three words */
#define CUE_GAP_WORDS 3
#define CUE_ANY (UINT16_MAX - 1)    /* one word */
#define CUE_NUMBER (UINT16_MAX - 2) /* a number in digits or words */

struct cue_phrase {
	uint64_t kinds; /* bits */
	uint32_t words; /* index into cue_phrase_words */
	uint8_t count, language;
	uint8_t anchors;
};
#define CUE_AT_START 1u
#define CUE_AT_END 2u

extern const char cue_text[];
extern const struct cue_word cue_words[];
extern const uint32_t cue_first[];
extern const struct cue_phrase cue_phrases[];
extern const uint16_t cue_phrase_words[];
extern const uint16_t cue_slots[]; /* open addressing by cue_hash */
extern const uint32_t cue_slot_mask;
/* U+00C0 to U+024F as an ASCII letter; 0: not a letter. */
extern const char cue_fold[];
#define CUE_FOLD_FIRST 0xC0u
#define CUE_FOLD_END 0x250u

static inline uint32_t cue_hash_step(uint32_t hash, unsigned char byte)
{
	return (hash ^ byte) * 16777619u;
}
#define CUE_HASH_INIT 2166136261u

/* The number of a folded word; 0 if it is in no file. */
uint16_t cue_word_find(struct slice folded);
/* Whether a word (its number) is of a class in a language. */
static inline int cue_word_is(uint16_t word, enum word_class kind, enum cue_language language)
{
	return cue_words[word].classes[kind] & (1u << language | 1u << LANGUAGE_ANY);
}
/* Whether a folded word alone is a phrase of this kind, in any language: for names of tools, tags, commands.
 */
int cue_name_is(struct slice folded, enum cue_kind kind);

#endif
