/* SPDX-License-Identifier: MIT */
/*
 * Whose a backup is, so that no store wipes another's.
 *
 *	A backup is of the folder that it was made of: that inode with that time of birth, wherever it was moved. What was
 *	deleted there since is taken out, and what has the name of a deleted one is copied in its place.
 *	Another folder (restored, copied, on another disk) goes on with a backup of which it has everything: each log there is the
 *	beginning of its own of that name. From then on the backup is of that folder.
 *	A folder without any session takes none away: so looks a store that was lost, its files removed or its disk not mounted in it.
 *	Nobody takes away messages by being behind: a log that is still the one that was copied, by its first line, and does not
 *	have all of the copy, was put back to an earlier state, or is a copy that went on otherwise.
 *	A backup of an earlier version, which does not say whose it is, is of the folder that has one of the files it was copied from.
 *
 * Where the file system knows no time of birth, the device counts in its place.
 */
#include "store/backup_copy.h"

#include <errno.h>
#include <stdio.h>
#include "base/alloc.h"
#include "base/utf8.h"
#include "store/database.h"

struct looking {
	struct backup *backup;
	const char *shown; /* the backup */
	size_t logs;	   /* in it */
	bool empty;	   /* the store has no log */
	bool has_database; /* there are facts or actions */
	bool has_file;	   /* one is of a file that is still there */
	/* Numbers of logs, and the first of each. */
	size_t missing, lost, written;
	const char *missing_id, *lost_id, *written_id;
};

int backup_owner_find(
	const struct store *source, struct arena *arena, struct backup_owner *ret_owner, struct bobbin_error *error)
{
	const struct platform *platform = source->platform;
	struct buffer clean = BUFFER_INIT(4 * LIMIT_PATH_BYTES);
	char path[LIMIT_PATH_BYTES + 1];
	struct file_info info;
	int rc = platform->info(platform->context, source->dir, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", source->path);
	const char *known = platform->path_of(platform->context, source->dir, path, sizeof(path)) < 0 ? source->path : path;
	utf8_add_clean(&clean, known, strlen(known)); /* names need not be UTF-8 */
	*ret_owner = (struct backup_owner){true, NULL, info.device, info.inode, info.born_ns};
	if (!buffer_error(&clean))
		ret_owner->path = arena_copy(arena, clean.data, clean.len);
	buffer_release(&clean);
	return ret_owner->path ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

static bool is_same_folder(const struct backup_owner *a, const struct backup_owner *b)
{
	if (!a->known || a->inode != b->inode)
		return false;
	/* Numbers of devices may change when a machine starts. */
	return a->born_ns > 0 && b->born_ns > 0 ? a->born_ns == b->born_ns : a->device == b->device;
}

static void count(size_t *number, const char **first, const char *id)
{
	if (!(*number)++)
		*first = id;
}

static int look_at(struct looking *looking, const struct store_found *found, struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES];
	enum standing standing;
	bool written;

	snprintf(name, sizeof(name), "%s" STORE_LOG_SUFFIX, found->id);
	int rc = backup_compare(looking->backup, name, &standing, &written, error);
	if (rc)
		return rc;
	looking->logs++;
	looking->has_file |= standing == STANDING_SAME;
	if (standing == STANDING_MISSING || standing == STANDING_ANEW)
		count(&looking->missing, &looking->missing_id, found->id);
	if (standing == STANDING_LOST)
		count(&looking->lost, &looking->lost_id, found->id);
	/* Of what a backup that was killed has copied, too, nothing is known but that it may be there. */
	if (written && looking->backup->earlier.complete)
		count(&looking->written, &looking->written_id, found->id);
	return 0;
}

/* As much of a path as has room in a message. */
static int fitting(const char *path, size_t max)
{
	return (int)utf8_truncate(path, strlen(path), max);
}

static const char *others(size_t number, char ret_text[48])
{
	snprintf(ret_text, 48, number > 2 ? " and %zu others" : number > 1 ? " and another" : "", number - 1);
	return ret_text;
}

static int refuse_other(const struct looking *looking, struct bobbin_error *error)
{
	const struct backup *backup = looking->backup;
	const struct backup_owner *owner = &backup->earlier.owner;
	char whose[160] = "another store", what[160] = "its facts and actions would be lost", more[48];

	if (owner->known)
		snprintf(whose, sizeof(whose), "%s %.*s",
			strcmp(owner->path, backup->owner.path) == 0 ? "an earlier store in" : "another store,",
			fitting(owner->path, 120), owner->path);
	if (looking->lost)
		snprintf(what, sizeof(what), "session %s%s went on otherwise here, or not so far", looking->lost_id,
			others(looking->lost, more));
	else if (looking->missing)
		snprintf(what, sizeof(what), "its session %s%s would be lost", looking->missing_id, others(looking->missing, more));
	return error_set(error, BOBBIN_ECONFLICT,
		"%.*s is the backup of %s: %s. Nothing was changed. Name another folder for the store %.*s",
		fitting(looking->shown, 80), looking->shown, whose, what, fitting(backup->owner.path, 100), backup->owner.path);
}

static int refuse_lost(const struct looking *looking, struct bobbin_error *error)
{
	char more[48];

	return error_set(error, BOBBIN_ECONFLICT,
		"the backup %.*s has messages of session %s%s that the store has not: the log was put back to an earlier state, or "
		"changed. Nothing was changed. To keep both, back up into another folder",
		fitting(looking->shown, 100), looking->shown, looking->lost_id, others(looking->lost, more));
}

static int refuse_empty(const struct looking *looking, struct bobbin_error *error)
{
	char more[48];

	return error_set(error, BOBBIN_ECONFLICT,
		"the store %.*s has no session any more; the backup %.*s has %s%s. Nothing was changed. If the store was lost, a copy "
		"of the backup is how to go back; if all was deleted on purpose, remove the backup",
		fitting(looking->backup->owner.path, 100), looking->backup->owner.path, fitting(looking->shown, 100), looking->shown,
		looking->missing_id, others(looking->missing, more));
}

static int judge(const struct looking *looking, bool *ret_taken_over, struct bobbin_error *error)
{
	const struct backup *backup = looking->backup;
	bool ours = is_same_folder(&backup->earlier.owner, &backup->owner) ||
		    (!backup->earlier.owner.known && looking->has_file);

	if (!ours && (looking->lost || looking->missing || (!looking->logs && looking->has_database)))
		return refuse_other(looking, error);
	if (looking->written)
		return error_set(error, BOBBIN_EEXIST,
			"%s in the backup was written to since it was copied; to keep that, back up into another folder",
			looking->written_id);
	if (looking->lost)
		return refuse_lost(looking, error);
	if (looking->empty && looking->logs)
		return refuse_empty(looking, error);
	*ret_taken_over = !ours && looking->logs;
	return 0;
}

/* Is there no log in the store? */
static int look_for_none(struct looking *looking, struct bobbin_error *error)
{
	struct store_listing listing = {.store = looking->backup->source};
	int rc = store_find_logs(&listing, error);

	looking->empty = !listing.count;
	mem_free(listing.found);
	return rc;
}

int backup_owner_check(struct backup *backup, const char *shown, bool *ret_taken_over, struct bobbin_error *error)
{
	struct looking looking = {.backup = backup, .shown = shown};
	struct store_listing listing = {.store = backup->target};
	const struct platform *platform = backup->target->platform;
	struct file_info info;
	int rc = store_find_logs(&listing, error);

	looking.has_database = backup->earlier.owner.known &&
			       platform->info_at(platform->context, backup->target->dir, DATABASE_NAME, &info) != -ENOENT;

	for (size_t i = 0; !rc && i < listing.count; i++)
		rc = look_at(&looking, &listing.found[i], error);
	if (!rc)
		rc = look_for_none(&looking, error);
	if (!rc)
		rc = judge(&looking, ret_taken_over, error);
	mem_free(listing.found);
	return rc;
}
