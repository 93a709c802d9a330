/* SPDX-License-Identifier: MIT */
/* The doctor of the files of a store: what store/check.h finds, told as faults, and the database. */
#include "session/handles.h"

#include "store/check.h"
#include "store/database.h"
#include <stdio.h>

static int found(void *data, const struct store_finding *finding)
{
	struct doctor_files *files = data;
	files->mended += *finding->mending != '\0';
	if (!files->faults)
		return 0;
	int rc = faults_add(files->faults, finding->kind, finding->file, finding->line, finding->offset,
		finding->message, "");
	return rc ? rc : faults_add_repair(files->faults, finding->mending);
}

static int progress(void *data, const char *what, uint64_t done, uint64_t total)
{
	const bobbin_store *store = ((struct doctor_files *)data)->store;
	if (!store->progress)
		return 0;
	return store->progress(store->progress_context, what, done, total) ? BOBBIN_ECANCELLED : 0;
}

struct store_check doctor_files_check(struct doctor_files *files, bool mend)
{
	return (struct store_check){found, progress, files, mend};
}

/* ---- The database ---- */

struct database_faults {
	bobbin_faults *faults;
	int rc;
};

static void add_database_fault(void *data, const char *fault)
{
	struct database_faults *to = data;
	if (!to->rc)
		to->rc = faults_addf(to->faults, "database", DATABASE_NAME, 0, 0,
			"Facts and actions may be lost. Put bobbin.db back from a backup.", "%s", fault);
}

/* One that cannot even be opened is a finding, not a failure of the doctor. */
static int check_database(bobbin_store *store, bobbin_faults *faults, struct bobbin_error *error)
{
	struct database_faults to = {faults, 0};
	struct bobbin_error why = {0};
	int rc = database_check(store->store, add_database_fault, &to, &why);
	if (rc == BOBBIN_ENOMEM || to.rc)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	/* What cannot be opened, or is locked all the time, has not lost anything for that. */
	if (rc == BOBBIN_EREFUSED)
		to.rc = faults_addf(faults, "refused", DATABASE_NAME, 0, 0, "It is not opened until that is put right.", "%s", why.message);
	else if (rc < 0 && rc != BOBBIN_ECORRUPT)
		to.rc = faults_addf(faults, "unread", DATABASE_NAME, 0, 0,
			rc == BOBBIN_ENOSPC ? "Nothing of it is lost. SQLite needs a little room to read it: make some, and look again."
					    : "Nothing is known of it, and nothing lost for that. Look again.",
			"it could not be looked at: %s", why.message);
	else if (rc < 0)
		add_database_fault(&to, why.message);
	return to.rc ? error_set(error, to.rc, "out of memory") : 0;
}

int bobbin_doctor_store(bobbin_store *store, bobbin_faults **ret_faults, struct bobbin_error *error)
{
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	struct doctor_files files = {store, faults_new(), 0};
	const struct store_check check = doctor_files_check(&files, false);
	if (!files.faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = store_check_folder(store->store, &check, error);
	if (!rc)
		rc = store_check_blobs(store->store, &check, error);
	if (!rc)
		rc = check_database(store, files.faults, error);
	if (rc < 0)
		bobbin_faults_free(files.faults);
	else
		*ret_faults = files.faults;
	return rc;
}

int bobbin_repair_store(bobbin_store *store, uint64_t *ret_mended, struct bobbin_error *error)
{
	struct doctor_files files = {store, NULL, 0};
	const struct store_check check = doctor_files_check(&files, true);
	int rc = STORE_CHECK(store, error);
	if (!rc && store->read_only)
		rc = error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	if (!rc)
		rc = store_check_folder(store->store, &check, error);
	if (!rc)
		rc = store_check_blobs(store->store, &check, error);
	if (!rc)
		*ret_mended = files.mended;
	return rc;
}
