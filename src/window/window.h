/* SPDX-License-Identifier: MIT */
/*
 * The window: how many tokens each part of the next request may take, and which messages of the line are
 * shown.
 *
 *	window = output reserve + margin + system + tools + injected + history
 *
 *	|-- reserve --|-- margin --|-- system, tools, injected --|---------------- history ----------------|
 *	                                                         | pinned | record | messages after the cut |
 *
 * window_budget is the only place that computes these numbers; trigger, preflight, cut and segments all use
 * them. window_plan is a pure function of budget, path and record: no I/O of its own, no clock, no memory. It
 * asks the path for O(log n) items and reads messages only where their bodies must be shortened, cleared, or
 * stay below a byte limit.
 *
 * Invariants: (1) a plan that is given out fits: its view is at most `history` tokens; (2) a cut is a turn
 * start, an inner cut a round start: no call is parted from its results; (3) the newest turn's user message is
 * always shown whole; (4) parts and hidden ranges together cover every message of the line; (5) the trigger
 * compares the view.
 */
#ifndef WINDOW_WINDOW_H
#define WINDOW_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "transcript/path.h"

struct token_counter;

/* The budget options of the command line. Zero means the default unless it says otherwise. */
struct window_options {
	uint64_t window;	/* tokens the model takes and gives; 0: WINDOW_TOKENS_DEFAULT */
	uint64_t output_max;	/* the model's maximum output; 0: unknown */
	int64_t output_reserve; /* --output-reserve; -1: min(output_max, window / 4) */
	int64_t margin; /* --margin: for what is only estimated or added in mending; -1: 2 % of the window */
	double trigger; /* --trigger: share of the history budget; 0: 0.7 */
	uint64_t trigger_tokens; /* --trigger-tokens: tokens of the view instead; never above the history
				    budget */
	double target;		 /* --target: share to come down to; 0: 0.4; never above the trigger */
	uint64_t tail_min; /* --tail MIN: a tail below it keeps one turn more if the target allows; 0: 10 000
			    */
	uint64_t tail_max; /* --tail MAX; 0: 24 000 */
	uint64_t keep_recent; /* --keep-recent: messages kept instead of a tail in tokens; 0: none */
	uint64_t keep_first;  /* --keep-first: messages at the start that always stay (rounds stay whole) */
	uint64_t byte_limit;  /* --byte-limit of the body; 0: WINDOW_BYTES_DEFAULT */
	bool no_clear;	      /* do not turn consumed tool results into pointers */
	uint64_t clear_min_gain; /* tokens that clearing must win; 0: a tenth of the history budget */
	uint64_t cut_for_record; /* plan where to cut for a record that may take so many tokens, even if the
				    line fits; 0: no */
};
#define WINDOW_OPTIONS_INIT                                                                                  \
	{                                                                                                    \
		.output_reserve = -1, .margin = -1, .no_clear = false                                        \
	}
#define WINDOW_TOKENS_DEFAULT 128000
#define WINDOW_BYTES_DEFAULT 32000000 /* what the strictest of the dialects takes */

/* What stands in the request beside the line, in tokens, and in bytes for the byte limit. */
struct window_fixed {
	uint64_t system_tokens, tools_tokens, injected_tokens;
	uint64_t bytes; /* all three together */
};

/* All in tokens unless it says bytes. */
struct window_budget {
	uint64_t window, output_reserve, margin, system, tools, injected;
	uint64_t history; /* what is left for the view of the line */
	uint64_t trigger; /* fires at >= */
	uint64_t target;
	uint64_t tail;	    /* of the newest messages, kept verbatim */
	uint64_t record;    /* a compaction record may take */
	uint64_t bytes;	    /* bytes left for messages */
	bool one_turn_more; /* the tail is below its minimum */
};

/* BOBBIN_EINVAL for options that contradict themselves, BOBBIN_EBUDGET naming the part that leaves no
 * history. */
int window_budget(const struct window_options *options, const struct window_fixed *fixed,
	struct window_budget *ret_budget, struct bobbin_error *error);

#define WINDOW_NONE SIZE_MAX /* no position */

/* A compaction record, rendered. The caller has checked its source digest and floor, or sets `stale`. */
struct window_record {
	const char *stale; /* why it must not be used; NULL: it may be */
	size_t cut;	   /* position of the user message it is attached to; WINDOW_NONE: not on this line */
	size_t inner_cut;  /* first round of that turn kept verbatim; WINDOW_NONE */
	struct slice text; /* rendered, without heading */
	uint64_t tokens;   /* of text and heading */
};

/* The first text part of the message at the cut. */
#define WINDOW_RECORD_HEADING "[Summary of earlier conversation]"
/* Stands before a line that does not begin with a user message; never stored, never evidence. */
#define WINDOW_CONTINUES "[conversation continues]"

enum window_kind {
	WINDOW_SYSTEM,
	WINDOW_TOOLS,
	WINDOW_INJECTED,
	WINDOW_RECORD,
	WINDOW_PINNED, /* --keep-first */
	WINDOW_MESSAGES,
};

/* How the messages of a range are shown. */
enum window_shape {
	WINDOW_VERBATIM,
	WINDOW_CLEARED,	  /* bodies of tool results are pointers */
	WINDOW_SHORTENED, /* bodies of tool results are cut, see shortened[] */
};

struct window_part {
	enum window_kind kind;
	enum window_shape shape;
	size_t from, to; /* positions, `to` exclusive; 0, 0 for parts that are no messages */
	uint64_t tokens;
	const char *source; /* static text: where it comes from */
	const char *reason; /* static text: why it is shown, or shown like this */
};

enum window_hidden_kind {
	HIDDEN_SUMMARISED, /* in the input of the record */
	HIDDEN_CUT,	   /* before the cut, in no record */
	HIDDEN_INNER,	   /* rounds of the newest turn before the inner cut */
	HIDDEN_CLEARED,	   /* only the bodies of tool results; the rest of these messages is shown */
	HIDDEN_SHORTENED,  /* only what was cut from tool results */
	HIDDEN_IMAGES,	   /* only images, for the byte limit */
};

struct window_hidden {
	enum window_hidden_kind kind;
	size_t from, to;				   /* positions, `to` exclusive */
	uint64_t tokens;				   /* not shown; of images an estimate */
	const char *reason;				   /* static text */
	char from_id[PATH_ID_BYTES], to_id[PATH_ID_BYTES]; /* inclusive */
};

/* A tool result that is not shown in full: its first `bytes` of decoded text, then a pointer. */
struct window_shortened {
	size_t position;
	size_t bytes;
	uint64_t tokens_hidden;
};

#define WINDOW_PARTS_MAX 12
#define WINDOW_HIDDEN_MAX 8
#define WINDOW_SHORTENED_MAX 256 /* results of one round; results beyond are pointers only */

struct window_plan {
	struct window_budget budget;
	struct window_part parts[WINDOW_PARTS_MAX];
	size_t part_count;
	struct window_hidden hidden[WINDOW_HIDDEN_MAX];
	size_t hidden_count;
	struct window_shortened shortened[WINDOW_SHORTENED_MAX]; /* by position */
	size_t shortened_count;

	size_t cut;	      /* position of the first message kept verbatim; 0: nothing is cut */
	size_t inner_cut;     /* WINDOW_NONE: none */
	size_t record_at;     /* message the record is attached to; WINDOW_NONE: no record in the view */
	size_t newest;	      /* the newest turn's user message, to which injected text goes; WINDOW_NONE */
	size_t images_from;   /* images of messages before it are pointers; 0: none */
	uint64_t line_tokens; /* the whole line, raw */
	uint64_t full_tokens; /* the view before this plan took anything away: record and what follows its cut
			       */
	uint64_t view_tokens; /* the view as planned, record included */
	uint64_t view_bytes;  /* its records' bytes, without hidden images */
	bool over_trigger;    /* full_tokens >= trigger */
	bool summary_stale;   /* a record was given and not used */
	const char *stale_reason; /* NULL unless summary_stale */
	bool exact;
};

/*
 * Plans the view of `path` into a caller's struct. `record` may be NULL. `counter` counts what is shortened;
 * NULL: estimates. BOBBIN_EBUDGET names the part of the floor that is too big and by how much; errors of the
 * path are handed on.
 */
int window_plan(const struct path *path, const struct window_budget *budget,
	const struct window_options *options, const struct window_record *record,
	struct token_counter *counter, struct window_plan *ret_plan, struct bobbin_error *error);

/* "recall m12–m40" for a hidden range, NUL-terminated. */
#define WINDOW_POINTER_BYTES (2 * PATH_ID_BYTES + 16)
void window_pointer(const struct window_hidden *hidden, char ret_text[WINDOW_POINTER_BYTES]);

/* Words of the command line: "messages", "pinned", … */
const char *window_kind_text(enum window_kind kind);

#endif
