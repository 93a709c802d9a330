/* SPDX-License-Identifier: MIT */
/* What stands behind the opaque handles of bobbin.h, and what the files of this
 * room share. */
#ifndef SESSION_HANDLES_H
#define SESSION_HANDLES_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/platform.h"
#include "base/slice.h"
#include "store/log.h"
#include "store/store.h"
#include "window/check.h"
#include "window/window.h"
#include <bobbin.h>
#include <sys/types.h>

struct token_counter;

struct bobbin_store {
	pid_t process; /* that opened it: a child of fork(2) shares the file offsets
			  and locks */
	struct store *store;
	bool read_only;
	bobbin_progress progress; /* NULL, or told how far long calls are */
	void *progress_context;
};

struct segments;

struct bobbin_session {
	pid_t process;
	bobbin_store *store;
	struct log *log;
	struct segments *segments; /* segments.h */
	struct memory *memory;	   /* of the owner, once it was asked; facts.h */
	struct facts_found *facts; /* those that the newest message brought back; facts.h */
	struct workspace_known *files; /* digests of its workspace files; workspace.h */
	struct compact_breaker {   /* compact.c: stops what leads nowhere */
		unsigned useless;  /* tries in a row that led nowhere */
		uint64_t tokens;   /* of the view at the last of them */
	} breaker;
	bool created; /* this handle made the session … */
	bool refused; /* … and was refused a record */
	struct bobbin_session_info info;
	char head[BOBBIN_MESSAGE_ID_BYTES];
};

struct bobbin_faults {
	struct arena arena; /* owns the items' texts */
	struct bobbin_fault *items;
	size_t count, cap;
	const char *format; /* of a transcript; a reader's name, static */
	const char *repaired_as; /* the session that was made of it; NULL: none */
};

/* BOBBIN_EINVAL if this is another process than the one that opened the handle,
 * or there is none. */
int handle_check(const void *handle, pid_t process, struct bobbin_error *error);
#define STORE_CHECK(store, error) handle_check((store), (store) ? (store)->process : 0, (error))
#define SESSION_CHECK(session, error) handle_check((session), (session) ? (session)->process : 0, (error))

/* faults.c: an empty list, or NULL when memory is out; adding copies the texts.
 * 0 or BOBBIN_ENOMEM. */
bobbin_faults *faults_new(void);
int faults_add(bobbin_faults *faults, const char *kind, const char *where, uint64_t line, uint64_t offset,
	const char *message, const char *advice);
/* What bobbin_repair_session or _store would do about the fault that was added last. */
int faults_add_repair(bobbin_faults *faults, const char *repair);
int faults_say_repaired(bobbin_faults *faults, const char *id);
/* What to do about it, and who refuses it. */
int faults_add_advice(bobbin_faults *faults, struct slice advice);
int faults_add_refusal(bobbin_faults *faults, const char *dialect, const char *at, struct slice words, bool only_strict);
int faults_addf(bobbin_faults *faults, const char *kind, const char *where, uint64_t line, uint64_t offset,
	const char *advice, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* session.c: what an append of one message became, for the caller. */
void ack_fill(const struct log *log, const struct log_ack *from, struct bobbin_ack *ret_ack);

/* call_key.c: appends the journal's key of call number `call` (from 0) of the message `batch`, as it is in session `id`: the
 * log's own, or the one that a repair made the log of, whose messages have the same numbers. */
int call_key_add(struct log *log, const char *id, uint32_t batch, size_t call, struct slice name, struct arena *arena,
	struct buffer *out, struct bobbin_error *error);

/* session.c: the newest message on the line to `head` that a person typed; NODE_NONE if there is none. */
int newest_typed(const struct log *log, uint32_t head, uint32_t *ret_node, struct bobbin_error *error);

/* recover.c: answers the calls at the head that have no result: with what the journal of actions has recorded, or marked
 * ones. Their numbers; ret_replayed may be NULL. */
int recover_dangling(struct store *store, struct log *log, uint64_t *ret_marked, uint64_t *ret_replayed,
	struct bobbin_error *error);
/* The record of the same for one call, of a message anywhere in a log from which lines are lost: log_repair_options. `data` is
 * the struct store. */
int recover_lost(void *data, struct log *log, uint32_t batch, size_t call, struct buffer *out, bool *ret_marked,
	struct bobbin_error *error);
/* The text of a marked result. */
#define MARKED_TEXT                                                                                          \
	"[interrupted: no result of this call was recorded; call it again if it is "                         \
	"still needed]"

/* The same of an effect that was begun, and whose end nobody recorded. */
#define UNKNOWN_TEXT                                                                                         \
	"[outcome unknown: this was begun and no result was recorded, so it may have happened; check before "       \
	"doing it again]"

/* recall.c: bobbin_session_recall as of a message of the line; NULL: its end. */
int recall_until(bobbin_session *session, const char *query, size_t limit, const char *until,
	bobbin_recall **ret_recall, struct bobbin_error *error);

/* messages.c: a message's text as a person reads it: texts, calls in a short
 * form, images by name. */
int message_add_readable(const struct message *message, struct arena *arena, struct buffer *out);

/* plan.c: plans over a path that ends at `head`, with the texts of `options`
 * copied. */
struct plan_model {
	uint64_t window_tokens, output_tokens_max; /* 0: not known */
	uint32_t factor; /* of its token counter, as its reports have corrected it; 0: none has */
};
int plan_make_at(bobbin_session *session, uint32_t head, const struct bobbin_window_options *options,
	const struct plan_model *model, bobbin_plan **ret_plan, struct bobbin_error *error);
/* The body in a dialect, for a model of that name. */
int plan_render(const bobbin_plan *plan, const char *dialect, const char *model, struct buffer *out,
	struct bobbin_error *error);
const struct window_plan *plan_window(const bobbin_plan *plan);

/* doctor_line.c: what a provider would refuse of a session's line as it stands in the log; adds to `faults`. */
struct path;
int doctor_line(const struct path *path, bobbin_faults *faults, struct bobbin_error *error);

/* doctor_refused.c: the same of a transcript's line, by provider, with its words. */
struct doctor_foreign {
	const char *format;	/* of the transcript */
	const char *const *ids; /* of its messages, as an import will name them */
	const size_t *numbers;	/* m<number>, the same */
	size_t conversation;	/* its number in a file of several, from 1; 0: it is the only one */
};
int doctor_refused(const struct path *path, const struct doctor_foreign *foreign, bobbin_faults *faults,
	struct bobbin_error *error);

/* doctor_records.c: segment and compaction lines that do not fit their messages, and blobs that lines name and that are
 * not there. */
int doctor_records(bobbin_store *store, struct log *log, bobbin_faults *faults, struct bobbin_error *error);

/* doctor_files.c: what the store's own checks find becomes faults; `mended` counts what was mended. */
struct doctor_files {
	bobbin_store *store;
	bobbin_faults *faults; /* NULL: only counted */
	uint64_t mended;
};
struct store_check;
struct store_check doctor_files_check(struct doctor_files *files, bool mend);

#endif
