/* SPDX-License-Identifier: MIT */
/*
 * Resume tests: a recorded task, cut somewhere in the middle and gone on with by a fresh conversation.
 *
 *	 recorded   goal ── calls and results ──┬── calls and results ──
 *	                                        │ the cut
 *	 fresh      record · goal ── …          files, journal, record as of there, in a private store (store/trial.h)
 *
 * Invariants: (1) the recorded session, its files and its journal are only read; (2) no effect is made: it is written into
 * the private journal, and answered with what was recorded; (3) nothing of what came after the cut is told, but results of
 * calls that the model makes by itself.
 */
#ifndef SESSION_RESUME_TEST_H
#define SESSION_RESUME_TEST_H

#include "base/hash.h"
#include "session/handles.h"
#include "store/trial.h"

/* ---- What was recorded (resume_recording.c) ---- */

struct recorded_call {
	uint8_t digest[SHA256_BYTES]; /* of the tool's name and the canonical arguments */
	const char *name;
	struct slice arguments; /* as text */
	const char *key;	/* under which it would be in the journal */
	size_t order, position; /* along the line; of the message it is in */
	uint32_t result;	/* the node of its result, NODE_NONE if none came; one that bobbin wrote does not count */
	bool is_error, before;	/* of the result; the cut */
	int state;		/* enum action_state of its row, 0: it has none */
};

struct recorded_tool {
	const char *name;
	bool effect; /* the journal has calls of it */
};

struct recording {
	bobbin_session *session;
	struct arena arena;
	uint32_t head, last;	   /* nodes: the end of the line; the last message before the cut */
	size_t floor, kept, count; /* positions: where the task begins (its run), the cut, the end of the line */
	char cut[PATH_ID_BYTES];   /* the id of `last` */
	const char *goal;
	int64_t until_ns; /* when `last` was written; INT64_MAX: it does not say */
	struct recorded_call *calls;
	struct recorded_call **by_digest, **by_key;
	size_t call_count, call_cap;
	struct recorded_tool *tools;
	size_t tool_count, tool_cap;
};

/* Reads the line and cuts it at a share of its messages, between rounds and behind the goal. BOBBIN_ENOTFOUND: nobody said
 * anything. To be released, also after a failure. */
int recording_read(
	bobbin_session *session, double share, struct recording *ret_recording, struct bobbin_error *error);
void recording_release(struct recording *recording);

/* The digest of a call. */
int recording_digest(struct slice name, struct slice arguments, uint8_t ret_digest[SHA256_BYTES]);
/* Calls equal to one of that digest, in the order of the line. */
struct recorded_call *const *recording_equal(
	const struct recording *recording, const uint8_t digest[SHA256_BYTES], size_t *ret_count);
struct recorded_call *recording_by_key(const struct recording *recording, const char *key);
struct recorded_tool *recording_tool(const struct recording *recording, const char *name);
/* The text of a result. */
int recording_result(const struct recording *recording, const struct recorded_call *call, struct buffer *out,
	struct bobbin_error *error);

/* The record of everything before the cut, as a compaction there would make it: by rules, unless segments have one already.
 * "" if it holds nothing. */
int recording_record(struct recording *recording, uint64_t tokens_max, struct buffer *out, uint64_t *ret_tokens,
	struct bobbin_error *error);

/* What to offer a model: the definitions in `tools` (a JSON array), and one for each recorded tool that is not among them. */
int recording_add_tools(const struct recording *recording, struct slice tools, struct buffer *out,
	struct bobbin_error *error);

/* ---- The fresh conversation (resume_test.c, resume_answer.c) ---- */

struct effect_made {
	uint8_t digest[SHA256_BYTES];
};

struct bobbin_resume {
	pid_t process;
	struct arena arena;
	struct recording recording;
	struct trial_folder folder;
	char *path;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_turn *turn;
	const bobbin_commands *commands;
	const char *checklist; /* NULL: those that the task used */
	uint64_t calls_max;
	struct effect_made *made;
	size_t made_count, made_cap;
	struct buffer answer; /* what the model said last */
	struct bobbin_event event;
	struct bobbin_resume_report report;
};

/* Answers a call of the model and counts it. 1: the host has to. */
int resume_answer(bobbin_resume *resume, const struct bobbin_event *event, struct bobbin_error *error);

#endif
