/* SPDX-License-Identifier: MIT */
/* A backup of the store, for hosts; what it does is in store/backup.h. */
#include "store/backup.h"

#include "session/handles.h"

static int progress(void *data, const char *what, uint64_t done, uint64_t total)
{
	const bobbin_store *store = data;
	if (!store->progress)
		return 0;
	return store->progress(store->progress_context, what, done, total) ? BOBBIN_ECANCELLED : 0;
}

int bobbin_backup(bobbin_store *store, const char *path, struct bobbin_backup_report *ret_report,
	struct bobbin_error *error)
{
	const struct store_backup_options options = {progress, store};
	struct store_backup counts;
	int rc = STORE_CHECK(store, error);
	if (!rc && (!path || !*path))
		rc = error_set(error, BOBBIN_EINVAL, "a backup needs a folder");
	if (!rc)
		rc = store_backup(store->store, path, &options, &counts, error);
	if (rc < 0)
		return rc;
	if (ret_report)
		*ret_report = (struct bobbin_backup_report){.incremental = counts.incremental,
			.sessions = counts.sessions,
			.bytes = counts.bytes,
			.bytes_copied = counts.bytes_copied,
			.removed = counts.removed,
			.damaged = counts.damaged,
			.refused = counts.refused};
	return 0;
}
