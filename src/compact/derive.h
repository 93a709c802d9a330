/* SPDX-License-Identifier: MIT */
/*
 * Deriving: from a segment's raw messages to its record. This header is what derivers share: the input,
 * decoded once, and the table by which they are called.
 *
 *	struct derive_input input;
 *	rc = derive_input_read(path, segment.from, segment.to, &arena, &input, error);
 *	compact_record_init(&record, &arena);
 *	rc = rules_deriver.derive(rules_deriver.context, &input, &record, error);
 *
 * Invariants:
 * (1) Input is valid UTF-8 without NUL bytes (both replaced by U+FFFD), whatever the log holds; it lives
 *     in the arena.
 * (2) A deriver adds items whose sources are ordinals (place 0 … count - 1) of this input, and no
 *     others; it writes nothing into the input and keeps nothing between calls: equal input, equal
 *     record.
 * (3) A person's words are messages for which derive_is_person() holds, and nothing else.
 */
#ifndef COMPACT_DERIVE_H
#define COMPACT_DERIVE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/slice.h"
#include "compact/record.h"
#include "transcript/path.h"

struct derive_call {
	struct slice id, name;
	struct slice arguments; /* as text, as the model saw it: JSON, or whatever it wrote */
	struct json
		value; /* the same parsed; JSON_ABSENT if it is not JSON. Strings in it still need decoding */
	uint32_t message; /* ordinal of the assistant message */
	uint32_t result;  /* ordinal of its result; DERIVE_NONE if it is not in this input */
};
#define DERIVE_NONE UINT32_MAX

struct derive_message {
	enum message_role role;
	enum message_origin origin;
	bool is_error; /* of a result */
	bool marker;   /* a result bobbin wrote because the real one never came: no evidence of anything */
	struct slice text;  /* text blocks joined by newlines; thinking and images are nowhere */
	struct slice other; /* blocks that are nobody's words, as JSON by lines: results of tools the provider
					runs itself, blocks this version does not know */
	const struct derive_call
		*calls; /* of an assistant message, the provider's own (server) calls included */
	uint32_t call_count;
	const struct derive_call *answers; /* of a result: its call, NULL if that is not in this input */
	struct slice tool;		   /* of a result: the tool's name, if known */
	uint64_t bytes;			   /* model-visible */
};

struct derive_input {
	const struct derive_message *messages;
	uint32_t count;
	bool begins; /* with the conversation's first message */
};

static inline bool derive_is_person(const struct derive_message *message)
{
	return message->role == ROLE_USER && message->origin == ORIGIN_PERSON;
}

/* Whose words they are, for items: BY_NOBODY for injected text and foreign summaries. */
enum item_by derive_by(const struct derive_message *message);

/* Reads positions [from, to) of a path. BOBBIN_ENOMEM, errors of the path. */
int derive_input_read(const struct path *path, size_t from, size_t to, struct arena *arena,
	struct derive_input *ret_input, struct bobbin_error *error);

/* A way of deriving that needs no I/O. */
struct deriver {
	const char *name;    /* in segment lines and keys: "rules" */
	const char *version; /* changes whenever equal input may give another record: "1" */
	/* Adds the items of `input` to an empty record; memory is the record's arena. BOBBIN_ENOMEM or 0. */
	int (*derive)(void *context, const struct derive_input *input, struct compact_record *record,
		struct bobbin_error *error);
	/* Adds only the user's constraints and the signals that change them: what coverage is checked
	 * against. Looks at persons' messages alone and is fast. BOBBIN_ENOMEM or 0. */
	int (*harvest)(void *context, const struct derive_input *input, struct compact_record *record,
		struct bobbin_error *error);
	void *context;
};

#endif
