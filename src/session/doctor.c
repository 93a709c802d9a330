/* SPDX-License-Identifier: MIT */
/*
 * The doctor of one session: what is wrong with its log, what it means, and what
 * a provider would refuse of the line as it stands. It writes nothing.
 */
#include "session/handles.h"

#include "session/compaction.h"
#include "store/check.h"
#include "store/log_repair.h"
#include <stdio.h>

#define NEW_SESSION                                                                                          \
	"A new session is made of what can be read; this one stays as it is."

static const char *fault_name(enum fault_kind kind)
{
	static const char *const names[] = {
		[FAULT_TORN] = "torn",
		[FAULT_NULS] = "nuls",
		[FAULT_UTF8] = "utf8",
		[FAULT_JSON] = "json",
		[FAULT_GLUED] = "glued",
		[FAULT_SHAPE] = "shape",
		[FAULT_CRC] = "crc",
		[FAULT_DUPLICATE_KEY] = "duplicate_key",
		[FAULT_DUPLICATE_ID] = "duplicate_id",
		[FAULT_PARENT] = "parent",
		[FAULT_REWIND] = "rewind",
		[FAULT_SYSTEM] = "system",
		[FAULT_TOO_LONG] = "too_long",
		[FAULT_HEADER] = "header",
		[FAULT_SEQUENCE] = "sequence",
		[FAULT_CUT] = "cut",
		[FAULT_MISSING] = "missing",
	};
	size_t index = (size_t)kind;
	return index < sizeof(names) / sizeof(names[0]) && names[index] ? names[index] : "other";
}

static const char *fault_advice(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_TORN:
	case FAULT_NULS:
	case FAULT_UTF8:
	case FAULT_JSON:
	case FAULT_SHAPE:
	case FAULT_TOO_LONG:
		return "The bytes stay where they are and everything after them is read; a "
		       "message may be "
		       "missing here.";
	case FAULT_CRC:
		return "It was changed after it was written, by hand or by a failing disk; "
		       "compare it with a "
		       "backup.";
	case FAULT_CUT:
		return "Its meta.json counted more bytes than were there when this line was written. A backup may have them.";
	case FAULT_MISSING:
		return "If it was a fork, the line that named its parent is lost: take the first line, or "
		       "the "
		       "meta.json beside the log, from a backup.";
	default:
		return "";
	}
}

static int add_log_faults(struct log *log, bobbin_faults *faults)
{
	size_t count;
	const struct log_fault *found = log_faults(log, &count);
	char where[LIMIT_SESSION_ID_BYTES + 16];
	snprintf(where, sizeof(where), "%s.jsonl", log_info(log)->id);
	int rc = 0;
	for (size_t i = 0; !rc && i < count; i++) {
		rc = faults_addf(faults, fault_name(found[i].kind), where, found[i].line, found[i].offset,
			fault_advice(found[i].kind), "%s (%llu bytes)", log_fault_text(found[i].kind),
			(unsigned long long)found[i].length);
		if (!rc)
			rc = faults_add_repair(faults, NEW_SESSION);
	}
	uint64_t more = log_fault_total(log) - count;
	if (!rc && more)
		rc = faults_addf(faults, "other", where, 0, 0, "", "and %llu more", (unsigned long long)more);
	return rc;
}

/* An end that is lost, as long as no line says it: the doctor finds that among the files (store/check.c). */
static int add_cut(struct log *log, bobbin_faults *faults)
{
	char where[LIMIT_SESSION_ID_BYTES + 16];
	uint64_t was = log_find_cut(log);
	if (!was)
		return 0;
	snprintf(where, sizeof(where), "%s.jsonl", log_info(log)->id);
	int rc = faults_addf(faults, fault_name(FAULT_CUT), where, 0, 0,
		"Its meta.json counts more bytes than are there. A backup may have them.",
		"the log was longer once, and lost its end: it had %llu bytes", (unsigned long long)was);
	return rc ? rc : faults_add_repair(faults, NEW_SESSION);
}

int bobbin_session_faults(bobbin_session *session, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults || add_log_faults(session->log, faults) < 0 || add_cut(session->log, faults) < 0) {
		bobbin_faults_free(faults);
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	*ret_faults = faults;
	return 0;
}

/* ---- A session that opens ---- */

/* Was it repaired already? The damaged log stays, and so does what is wrong with it. */
static int add_repaired(struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	char id[LIMIT_SESSION_ID_BYTES + 1], where[LIMIT_SESSION_ID_BYTES + 16];
	bool there;
	if (!log_needs_repair(log))
		return 0;
	int rc = log_find_repaired(log, id, &there, error);
	if (rc < 0 || !there)
		return rc;
	snprintf(where, sizeof(where), "%s.jsonl", log_info(log)->id);
	rc = faults_addf(faults, "repaired", where, 0, 0, "Go on in that one; this one can be deleted.",
		"what can be read of it is in session %s, made by a repair", id);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	/* What a repair would make is made. */
	for (size_t i = 0; i < faults->count; i++)
		if (strcmp(faults->items[i].repair, NEW_SESSION) == 0)
			faults->items[i].repair = "";
	return faults_say_repaired(faults, id) < 0 ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}

static int add_version(struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	char where[LIMIT_SESSION_ID_BYTES + 16];
	const struct log_info *info = log_info(log);
	if (info->version <= LOG_VERSION)
		return 0;
	snprintf(where, sizeof(where), "%s.jsonl", info->id);
	int rc = faults_addf(faults, "newer", where, 1, 0,
		"Use that version to write to it; a copy can be imported here: bobbin show --json, bobbin import.",
		"it was written by a newer version of bobbin (v %llu, this one knows %d): it can be read, not written",
		(unsigned long long)info->version, LOG_VERSION);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static int examine_line(struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	struct log_path *path;
	int rc = log_path_new(log, log_head(log), NULL, &path, error);
	if (rc < 0)
		return rc;
	rc = doctor_line(log_path_path(path), faults, error);
	log_path_free(path);
	return rc;
}

/* Is what the view shows of what was compacted still true? The one in force is verified against its messages. */
static int verify_record(bobbin_store *store, struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_faults *found = NULL;
	bobbin_session *session;
	options.must_exist = options.read_only = 1;
	if (log_newest(log, RECORD_COMPACTION) == RECORD_NONE)
		return 0;
	int rc = bobbin_session_open(store, log_info(log)->id, &options, &session, error);
	if (rc < 0)
		return rc;
	rc = bobbin_session_verify(session, NULL, 0, &found, error);
	for (size_t i = 0; !rc && i < bobbin_faults_count(found); i++) {
		const struct bobbin_fault *fault = &found->items[i];
		if (faults_addf(faults, "record", fault->where, 0, 0,
			    "bobbin verify says more; bobbin compact makes a new record from the messages.", "%s: %s",
			    fault->kind, fault->message) < 0)
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	bobbin_faults_free(found);
	bobbin_session_close(session);
	return rc;
}

static int examine_log(bobbin_store *store, struct log *log, const struct store_check *check,
	bobbin_faults *faults, struct bobbin_error *error)
{
	int rc = add_log_faults(log, faults);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	rc = add_version(log, faults, error);
	if (!rc)
		rc = store_check_session(store->store, log, check, error);
	if (!rc)
		rc = examine_line(log, faults, error);
	if (!rc)
		rc = doctor_records(store, log, faults, error);
	if (!rc)
		rc = verify_record(store, log, faults, error);
	return rc ? rc : add_repaired(log, faults, error);
}

/* ---- One that does not ---- */

static const char *unopenable_advice(const char *kind)
{
	if (strcmp(kind, "header") == 0)
		return "Put the file's first line, or all of it, back from a backup.";
	if (strcmp(kind, "emptied") == 0)
		return ""; /* the message says what to do */
	if (strcmp(kind, "parent_missing") == 0)
		return "Put that file back from a backup: then it opens again.";
	if (strcmp(kind, "parent_changed") == 0)
		return "Put the log it was forked from back as it was, from a backup.";
	if (strcmp(kind, "forbidden") == 0)
		return "Nothing of it is lost: give the permission to read it back (chmod 600).";
	if (strcmp(kind, "unread") == 0)
		return "Nothing is known of it: look again. If that stays so, the disk may be failing: then a backup has an earlier one.";
	if (strcmp(kind, "refused") == 0)
		return "A log is a plain file of your own. Put one in its place, or take this away if it does not belong here.";
	return "No byte of it is touched. Restore it from a backup.";
}

/* A session that cannot be opened is a finding, not a failure of the doctor. */
static int unopenable(bobbin_store *store, const char *id, const struct bobbin_error *why, bobbin_faults *faults)
{
	char where[LIMIT_SESSION_ID_BYTES + 16], at[LIMIT_SESSION_ID_BYTES + 1];
	const char *kind = why->code == BOBBIN_EREFUSED ? "refused" : store_why_unreadable(store->store, slice_of(id), at);
	bool forbidden = strcmp(kind, "forbidden") == 0; /* it is told as unread, with an advice of its own */
	/* What could not be read just now is not damaged for that, whatever it looks like. */
	if (why->code == BOBBIN_EIO && !forbidden)
		kind = "unread";
	snprintf(where, sizeof(where), "%s.jsonl", id);
	int rc = faults_add(faults, forbidden ? "unread" : kind, where, why->line, why->offset, why->message, unopenable_advice(kind));
	return rc || why->code != BOBBIN_ECORRUPT ? rc : faults_add_repair(faults, NEW_SESSION);
}

/* What its own lines say, whatever it inherits. */
static int examine_remains(bobbin_store *store, const char *id, bobbin_faults *faults, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open_raw(store->store, slice_of(id), true, &log, error);
	if (rc == BOBBIN_ECORRUPT)
		return 0;
	if (rc < 0)
		return rc;
	if (add_log_faults(log, faults) < 0)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc)
		rc = add_repaired(log, faults, error);
	log_close(log);
	return rc;
}

/* ---- All of it ---- */

static int examine(bobbin_store *store, const char *id, bobbin_faults *faults, struct bobbin_error *error)
{
	struct doctor_files files = {store, faults, 0};
	const struct store_check check = doctor_files_check(&files, false);
	struct bobbin_error why = {0};
	struct log *log;
	bool trusted = true;
	int rc = store_check_index(store->store, slice_of(id), &check, &trusted, &why);
	if (!rc)
		rc = trusted ? log_open(store->store, slice_of(id), LOG_READ, &log, &why)
			     : log_open_raw(store->store, slice_of(id), false, &log, &why);
	if (rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREFUSED || rc == BOBBIN_EIO) {
		if (unopenable(store, id, &why, faults) < 0)
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
		return rc == BOBBIN_ECORRUPT ? examine_remains(store, id, faults, error) : 0;
	}
	if (rc < 0)
		return error_set_at(error, rc, why.line, why.offset, "%s", why.message);
	rc = examine_log(store, log, &check, faults, error);
	log_close(log);
	return rc;
}

int bobbin_doctor_session(
	bobbin_store *store, const char *id, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	int rc = STORE_CHECK(store, error);
	if (!rc && !id)
		rc = error_set(error, BOBBIN_EINVAL, "which session?");
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = examine(store, id, faults, error);
	if (rc < 0)
		bobbin_faults_free(faults);
	else
		*ret_faults = faults;
	return rc;
}
