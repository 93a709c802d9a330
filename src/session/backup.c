/* SPDX-License-Identifier: MIT */
/* A backup of the store, for hosts; what it does is in store/backup.h. */
#include "store/backup.h"

#include "session/handles.h"

struct backup_told {
	const bobbin_store *store;
	bobbin_faults *left_out; /* NULL: nobody wants to know */
};

static int progress(void *data, const char *what, uint64_t done, uint64_t total)
{
	const bobbin_store *store = ((const struct backup_told *)data)->store;
	if (!store->progress)
		return 0;
	return store->progress(store->progress_context, what, done, total) ? BOBBIN_ECANCELLED : 0;
}

/* A copy of what a fork inherits is looked at twice, and told once. */
static int left_out(void *data, const char *name, const char *why)
{
	const struct backup_told *told = data;
	const struct bobbin_fault *fault;
	for (size_t i = 0; (fault = bobbin_faults_get(told->left_out, i)); i++)
		if (strcmp(fault->where, name) == 0)
			return 0;
	return told->left_out ? faults_add(told->left_out, "left_out", name, 0, 0, why, "") : 0;
}

int bobbin_backup(bobbin_store *store, const char *path, struct bobbin_backup_report *ret_report,
	struct bobbin_error *error)
{
	struct backup_told told = {store, NULL};
	const struct store_backup_options options = {progress, left_out, &told};
	struct store_backup counts;
	int rc = STORE_CHECK(store, error);
	if (!rc && (!path || !*path))
		rc = error_set(error, BOBBIN_EINVAL, "a backup needs a folder");
	if (!rc && ret_report && !(told.left_out = faults_new()))
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc)
		rc = store_backup(store->store, path, &options, &counts, error);
	if (rc < 0 || !bobbin_faults_count(told.left_out)) {
		bobbin_faults_free(told.left_out);
		told.left_out = NULL;
	}
	if (rc < 0)
		return rc;
	if (ret_report)
		*ret_report = (struct bobbin_backup_report){.incremental = counts.incremental,
			.taken_over = counts.taken_over,
			.sessions = counts.sessions,
			.bytes = counts.bytes,
			.bytes_copied = counts.bytes_copied,
			.removed = counts.removed,
			.damaged = counts.damaged,
			.refused = counts.refused,
			.left_out = told.left_out};
	return 0;
}
