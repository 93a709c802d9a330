/* SPDX-License-Identifier: MIT */
/*
 * The doctor of one session: what is wrong with its log, what it means, and what
 * a provider would refuse of the line as it stands. It writes nothing.
 */
#include "session/handles.h"

#include <stdio.h>

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
	for (size_t i = 0; !rc && i < count; i++)
		rc = faults_addf(faults, fault_name(found[i].kind), where, found[i].line, found[i].offset,
			fault_advice(found[i].kind), "%s (%llu bytes)", log_fault_text(found[i].kind),
			(unsigned long long)found[i].length);
	uint64_t more = log_fault_total(log) - count;
	if (!rc && more)
		rc = faults_addf(faults, "other", where, 0, 0, "", "and %llu more", (unsigned long long)more);
	return rc;
}

int bobbin_session_faults(bobbin_session *session, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults || add_log_faults(session->log, faults) < 0) {
		bobbin_faults_free(faults);
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	*ret_faults = faults;
	return 0;
}

static int examine_log(struct log *log, bobbin_faults *faults, struct bobbin_error *error)
{
	struct log_path *path;
	int rc = add_log_faults(log, faults);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	rc = log_path_new(log, log_head(log), NULL, &path, error);
	if (rc < 0)
		return rc;
	rc = doctor_line(log_path_path(path), faults, error);
	log_path_free(path);
	return rc;
}

/* A session that cannot be opened is a finding, not a failure of the doctor. */
static int unopenable(bobbin_faults *faults, const char *id, const struct bobbin_error *why)
{
	char where[LIMIT_SESSION_ID_BYTES + 16];
	snprintf(where, sizeof(where), "%s.jsonl", id);
	return faults_add(faults, why->code == BOBBIN_EREFUSED ? "refused" : "unreadable", where, why->line,
		why->offset, why->message,
		"No byte of it is touched. Restore it, or what it was "
		"forked from, from a backup.");
}

int bobbin_doctor_session(
	bobbin_store *store, const char *id, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct log *log;
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	bobbin_faults *faults = faults_new();
	if (!faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = log_open(store->store, slice_of(id), LOG_READ, &log, &why);
	if (rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREFUSED || rc == BOBBIN_EIO) {
		rc = unopenable(faults, id, &why);
		if (rc < 0)
			error_set(error, rc, "out of memory");
	} else if (rc < 0) {
		error_set_at(error, rc, why.line, why.offset, "%s", why.message);
	} else {
		rc = examine_log(log, faults, error);
		log_close(log);
	}
	if (rc < 0)
		bobbin_faults_free(faults);
	else
		*ret_faults = faults;
	return rc;
}
