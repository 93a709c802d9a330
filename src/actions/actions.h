/* SPDX-License-Identifier: MIT */
/*
 * The journal of actions: effects on the world outside (a message sent, a payment, a deployment) that must
 * happen once, whatever is killed and whoever tries again. An action is known by its key; the journal is a
 * table of bobbin.db.
 *
 *	begin ──> BEGUN ──> DONE                  the recorded result answers every later begin
 *	            │ ├───> FAILED                it ended with a failure, which is recorded likewise
 *	            │ └───> UNKNOWN ──settle──> DONE or UNDONE
 *	            └─ whoever had it died: the next begin finds it UNKNOWN
 *	                        UNDONE            it did not happen: the next begin makes it
 *
 * Invariants: (1) the intent is durable before begin says ACTION_RUN, so an effect without a trace is
 * impossible; (2) at most one holder has a key at a time, over all processes: it holds a lock that the kernel
 * drops when it dies; (3) what was begun and not ended is never made again by itself: only if the caller
 * declares it safe to repeat, or somebody settled that it did not happen; (4) a key belongs to its first
 * arguments: others are a conflict, unless it is known not to have happened; (5) nothing is ever removed from
 * the journal.
 *
 * Threads: an action belongs to one thread at a time. A process that makes the effect for its holder should
 * inherit the descriptor of action_lock: then the key stays held until that process has ended too.
 */
#ifndef ACTIONS_ACTIONS_H
#define ACTIONS_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "store/store.h"

enum action_state {
	ACTION_BEGUN = 1,
	ACTION_DONE,
	ACTION_FAILED,
	ACTION_UNKNOWN,
	ACTION_UNDONE,
};

/* What a begin says. */
enum action_begun {
	ACTION_RUN = 1,	  /* make the effect now, then action_end */
	ACTION_REPLAY,	  /* it is done, or failed: the result is in the record */
	ACTION_UNSETTLED, /* begun once and never ended: find out, then action_end or action_settle */
};

struct action_record {
	const char *key; /* NUL-terminated, as all texts here; they live as long as the action or the arena */
	enum action_state state;
	uint64_t attempts;     /* how often it was begun */
	int64_t begun_ns;      /* the last time; since 1970, UTC */
	int64_t ended_ns;      /* 0: it has not */
	struct slice result;   /* bytes that action_end was given */
	const char *reference; /* what the other side calls it ("email_918"), "" if nothing */
	const char *note;      /* why it is unknown, or how it was settled; "" if nothing */
	const char *arguments; /* the beginning of them, for people */
	uint8_t digest[32];    /* SHA-256 of all of them */
};

#define ACTION_WAIT_FOREVER_MS INT64_C(3155760000000) /* a hundred years */
struct action_options {
	bool retry_safe; /* making it twice does no harm: unknown and failed ones are made again */
	int64_t wait_ms; /* how long to wait for another holder; 0: BOBBIN_EBUSY at once */
};

struct action;

/* Whether the action was begun with these arguments. BOBBIN_ENOMEM: no. */
bool action_has_arguments(const struct action_record *record, struct slice arguments);

/*
 * Begins the action `key` (1 to ACTION_KEY_BYTES of UTF-8 without control characters) with `arguments`. JSON
 * texts are compared as values, others as bytes. Returns an
 * enum action_begun. BOBBIN_ECONFLICT: the key has other arguments. BOBBIN_EBUSY: another process is at it.
 * BOBBIN_EINVAL, and what database_open says. Nothing was begun after an error.
 */
#define ACTION_KEY_BYTES 512
#define ACTION_RESULT_BYTES (64u << 20)
int action_begin(struct store *store, struct slice key, struct slice arguments,
	const struct action_options *options, struct action **ret_action, struct bobbin_error *error);

/* Valid until the next call with this action. */
const struct action_record *action_record(const struct action *action);

/* The descriptor whose lock is the key's; -1 after ACTION_REPLAY. */
int action_lock(const struct action *action);

/*
 * Ends an action that is held: DONE, FAILED, UNKNOWN, or UNDONE if it is certain that nothing happened; with the
 * result (at most ACTION_RESULT_BYTES) and what the other side calls it. Durable on return. After an error it is as if the holder had died: unknown,
 * unless that is tried again.
 */
int action_end(struct action *action, enum action_state state, struct slice result, struct slice reference,
	struct slice note, struct bobbin_error *error);

/* After ACTION_UNSETTLED, when it is known not to have happened: begun anew, to be made now, as after
 * ACTION_RUN. */
int action_again(struct action *action, struct bobbin_error *error);

/* Lets go of it; NULL allowed. One that was not ended is then unknown. */
void action_close(struct action *action);

/* Says that an unknown action happened, or did not. BOBBIN_ENOTFOUND; BOBBIN_EBUSY while somebody is at it;
 * BOBBIN_ECONFLICT if it is known already and says otherwise (saying the same again is no error). */
int action_settle(struct store *store, struct slice key, bool happened, struct slice result,
	struct slice reference, struct slice note, struct bobbin_error *error);

/* One record, its texts in the arena; one that was begun is ACTION_UNKNOWN if nobody holds it any more.
 * BOBBIN_ENOTFOUND. */
int action_find(struct store *store, struct slice key, struct arena *arena, struct action_record *ret_record,
	struct bobbin_error *error);

/* Records whose key begins with `prefix`, the newest first; results are left out. `state` 0: all. */
int action_list(struct store *store, struct slice prefix, enum action_state state, struct arena *arena,
	struct action_record **ret_records, size_t *ret_count, struct bobbin_error *error);

/*
 * The journal of `from` as it was at an instant, written into `to`, a store that has none yet (NULL: only looked through);
 * `from` is only read.
 *
 * A row keeps its last beginning and its end, nothing of what was before. So what was begun later is left out; what had not
 * ended is unknown there, since nobody holds it; and what was begun again later is unknown too, because how it stood then is
 * not recorded. `place` may know better: 1 it had ended by then as it says, 0 it came later, -1 ask the clock.
 */
struct actions_as_of {
	int64_t until_ns; /* since 1970, UTC; inclusive */
	int (*place)(void *data, const struct action_record *record); /* as it is now; NULL: ask the clock */
	void *data;
};
int actions_copy(struct store *from, struct store *to, const struct actions_as_of *as_of, uint64_t *ret_copied,
	struct bobbin_error *error);

/* "done", "unknown", … */
const char *action_state_text(enum action_state state);

#endif
