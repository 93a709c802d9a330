/* SPDX-License-Identifier: MIT */
/*
 * Repairing one session: its caches where they are, its log as a new session (store/log_repair.h), whose calls without a
 * result are then answered as when any session is taken up again.
 *
 * Invariants: (1) nothing is made of a session that has no faults; (2) killed at any point, a second run ends as the first
 * would have: what is there of the new session is all of it, and recovery is idempotent.
 */
#include "session/handles.h"

#include "store/check.h"
#include "store/log_repair.h"

/* Its caches; and whether what its log holds can be taken as it stands. */
static int mend_files(bobbin_store *store, const char *id, uint64_t *ret_mended, bool *ret_needed,
	struct bobbin_error *error)
{
	struct doctor_files files = {store, NULL, 0};
	const struct store_check check = doctor_files_check(&files, true);
	struct log *log;
	bool ignored;
	int rc = store_check_index(store->store, slice_of(id), &check, &ignored, error);
	if (!rc)
		rc = log_open(store->store, slice_of(id), LOG_READ, &log, error);
	if (!rc) {
		*ret_needed = log_needs_repair(log);
		rc = store_check_session(store->store, log, &check, error);
		log_close(log);
	} else if (rc == BOBBIN_ECORRUPT) {
		*ret_needed = true;
		rc = 0;
	}
	*ret_mended = files.mended;
	return rc;
}

static int answer_calls(
	bobbin_store *store, const char *id, uint64_t *ret_marked, uint64_t *ret_replayed, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open(store->store, slice_of(id), LOG_WRITE, &log, error);
	if (rc < 0)
		return rc;
	rc = recover_dangling(store->store, log, ret_marked, ret_replayed, error);
	if (!rc)
		log_write_meta(log, NULL);
	log_close(log);
	return rc;
}

/* Results for calls at the head, and the meta file; unless somebody goes on in it already, who does that. */
static int settle(
	bobbin_store *store, const char *id, uint64_t *ret_marked, uint64_t *ret_replayed, struct bobbin_error *error)
{
	struct turn_lock *turn;
	int rc = store_turn_lock(store->store, slice_of(id), 0, &turn, error);
	if (rc == BOBBIN_EBUSY)
		return 0;
	if (rc < 0)
		return rc;
	rc = answer_calls(store, id, ret_marked, ret_replayed, error);
	store_turn_unlock(turn);
	return rc;
}

static void tell(
	const struct log_repair *made, uint64_t marked, uint64_t replayed, struct bobbin_repaired *ret_repaired)
{
	memcpy(ret_repaired->id, made->id, sizeof(ret_repaired->id));
	ret_repaired->found = made->found;
	ret_repaired->messages = made->messages;
	ret_repaired->left_out = made->left_out;
	ret_repaired->changed = made->changed;
	ret_repaired->marked = made->marked + marked;
	ret_repaired->replayed = made->replayed + replayed;
	ret_repaired->detached = made->detached;
	ret_repaired->copied = made->copied;
	ret_repaired->emptied = made->emptied;
}

int bobbin_repair_session(
	bobbin_store *store, const char *id, struct bobbin_repaired *ret_repaired, struct bobbin_error *error)
{
	struct bobbin_repaired repaired = {.id = ""};
	struct log_repair made = {.id = ""};
	uint64_t marked = 0, replayed = 0;
	bool needed = false;
	int rc = STORE_CHECK(store, error);
	if (!rc && !id)
		rc = error_set(error, BOBBIN_EINVAL, "which session?");
	if (!rc && store->read_only)
		rc = error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	if (!rc)
		rc = mend_files(store, id, &repaired.mended, &needed, error);
	if (!rc && needed) {
		const struct log_repair_options options = {recover_lost, store->store};
		rc = log_repair(store->store, slice_of(id), &options, &made, error);
	}
	if (!rc && needed)
		rc = settle(store, made.id, &marked, &replayed, error);
	if (rc < 0)
		return rc;
	if (needed)
		tell(&made, marked, replayed, &repaired);
	*ret_repaired = repaired;
	return 0;
}
