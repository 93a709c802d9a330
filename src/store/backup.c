/* SPDX-License-Identifier: MIT */
/* The course of a backup, see backup.h: where it goes, the sizes, the copies, what is gone, and what is written down. */
#include "store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "store/backup_copy.h"
#include "store/database.h"
#include "store/file.h"
#include "store/meta.h"

#define PARTIAL ".partial"
#define NAP_NS INT64_C(200000)
#define LEVELS_UP 256 /* from a folder to the root */

/* A session on its way into the backup. */
struct member {
	const char *id, *parent_id;
	unsigned depth; /* forks between it and its root */
	struct copied log;
	bool gone;    /* deleted before or while it was copied … */
	bool refused; /* … or no file that is opened in a store: what an earlier backup has of it stays */
};

struct course {
	struct backup backup;
	struct arena arena;
	struct member *members; /* parents before their forks */
	size_t count;
	const char *path, *work; /* where it ends up, where it is made */
	struct bobbin_error *error;
};

static const char *put_together(struct course *course, const char *first, const char *second)
{
	size_t len = strlen(first), more = strlen(second);
	char *text = arena_alloc(&course->arena, len + more + 1);

	if (!text)
		return NULL;
	memcpy(text, first, len);
	memcpy(text + len, second, more + 1);
	return text;
}

static int no_memory(const struct course *course)
{
	return error_set(course->error, BOBBIN_ENOMEM, "out of memory");
}

/* ---- Where it goes ---------------------------------------------------------------------------------------
 */

/* What a backup that was killed at its very beginning leaves counts as nothing. */
static bool stop_at_name(void *data, const char *name)
{
	if (strcmp(name, ".gitignore") == 0 || strcmp(name, STORE_LOCK_NAME) == 0 ||
		strcmp(name, "." MANIFEST_NAME ".tmp") == 0)
		return true;
	*(bool *)data = true;
	return false;
}

/* What is there: nothing, an empty folder, an earlier backup (of which one that was killed has another name), or something
 * else. */
static int look_at_target(struct course *course, const char *path, bool *ret_there, bool *ret_backup)
{
	const struct platform *platform = course->backup.source->platform;
	struct file_info info, manifest;
	bool filled = false;

	*ret_there = *ret_backup = false;
	int dir = platform->open_at(platform->context, PLATFORM_CWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (dir == -ENOENT)
		return 0;
	if (dir == -ENOTDIR)
		return error_set(course->error, BOBBIN_EEXIST, "%s is there and is no folder that could be a backup", path);
	if (dir < 0)
		return error_set_os(course->error, -dir, "cannot open %s", path);
	int rc = platform->info(platform->context, dir, &info);
	if (!rc)
		rc = platform->list(platform->context, dir, stop_at_name, &filled);
	int found = rc ? rc : platform->info_at(platform->context, dir, MANIFEST_NAME, &manifest);
	*ret_backup = found == 0;
	*ret_there = filled;
	rc = found == -ENOENT ? 0 : found;
	file_close(platform, dir);
	if (rc < 0)
		return error_set_os(course->error, -rc, "cannot examine %s", path);
	if (filled && !*ret_backup)
		return error_set(course->error, BOBBIN_EEXIST,
			"%s is there and is no backup of a store: name another folder", path);
	return 0;
}

/* The folder that the backup lies in, opened. */
static int open_above(struct course *course, const char *path)
{
	const struct platform *platform = course->backup.source->platform;
	size_t len = strlen(path);

	while (len && path[len - 1] != '/')
		len--;
	const char *above = len ? arena_copy(&course->arena, path, len) : ".";
	if (!above)
		return no_memory(course);
	int dir = platform->open_at(platform->context, PLATFORM_CWD, above, O_RDONLY | O_DIRECTORY, 0);
	return dir < 0 ? error_set_os(course->error, -dir, "cannot open the folder %s for a backup in it", above) : dir;
}

/* A store within itself would be copied for ever. */
static int check_outside(struct course *course)
{
	const struct store *source = course->backup.source;
	const struct platform *platform = source->platform;
	struct file_info store, at, above;
	int dir = open_above(course, course->path);
	bool within = false;

	if (dir < 0)
		return dir;
	int rc = platform->info(platform->context, source->dir, &store);
	if (rc >= 0)
		rc = platform->info(platform->context, dir, &at);
	for (int level = 0; rc >= 0 && !within && level < LEVELS_UP; level++) {
		within = at.inode == store.inode && at.device == store.device;
		int up = platform->open_at(platform->context, dir, "..", O_RDONLY | O_DIRECTORY, 0);
		if (up < 0) /* not ours to look into, and so no store of ours */
			break;
		file_close(platform, dir);
		dir = up;
		rc = platform->info(platform->context, dir, &above);
		if (rc >= 0 && above.inode == at.inode && above.device == at.device)
			break;
		at = above;
	}
	file_close(platform, dir);
	if (rc < 0)
		return error_set_os(course->error, -rc, "cannot examine the folders above %s", course->path);
	return within ? error_set(course->error, BOBBIN_EINVAL, "%s lies in the store itself", course->path) : 0;
}

static int open_target(struct course *course)
{
	const struct store_options options = {.create = true, .force_filesystem = true};
	struct backup *backup = &course->backup;
	bool there, is_backup = false;
	int rc = check_outside(course);

	if (!rc)
		rc = look_at_target(course, course->path, &there, &is_backup);
	course->work = course->path;
	if (!rc && !is_backup) {
		course->work = put_together(course, course->path, PARTIAL);
		rc = course->work ? look_at_target(course, course->work, &there, &is_backup) : no_memory(course);
		is_backup = false;
	}
	if (!rc)
		rc = store_open(backup->source->platform, course->work, &options, &backup->target, course->error);
	backup->counts->incremental = is_backup;
	return rc;
}

/* ---- Sizes -----------------------------------------------------------------------------------------------
 */

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->id, ((const struct member *)b)->id);
}

static int by_depth(const void *a, const void *b)
{
	const struct member *left = a, *right = b;
	return left->depth != right->depth ? (left->depth < right->depth ? -1 : 1) : by_id(a, b);
}

static void find_depths(struct member *members, size_t count)
{
	if (count)
		qsort(members, count, sizeof(*members), by_id);
	for (size_t i = 0; i < count; i++) {
		const struct member *at = &members[i];
		/* A circle of damaged headers ends, too. */
		while (at && *at->parent_id && members[i].depth <= LIMIT_FORK_DEPTH) {
			const struct member wanted = {.id = at->parent_id};
			at = bsearch(&wanted, members, count, sizeof(wanted), by_id);
			members[i].depth++;
		}
	}
	if (count)
		qsort(members, count, sizeof(*members), by_depth);
}

static int list_members(struct course *course, struct store *store, struct member **ret_members, size_t *ret_count)
{
	struct store_entry *entries;
	size_t count;
	int rc = store_list(store, NULL, &course->arena, &entries, &count, course->error);

	if (rc)
		return rc;
	struct member *members = arena_alloc_zero(&course->arena, (count + 1) * sizeof(*members));
	if (!members)
		return no_memory(course);
	for (size_t i = 0; i < count; i++) {
		members[i].id = entries[i].id;
		members[i].parent_id = entries[i].parent_id;
		members[i].log.name = put_together(course, entries[i].id, ".jsonl");
		if (!members[i].log.name)
			return no_memory(course);
	}
	find_depths(members, count);
	*ret_members = members;
	*ret_count = count;
	return 0;
}

/* As file_lock, for reading: appenders wait, other readers do not. */
static int lock_shared(const struct platform *platform, int file, const char *name, struct bobbin_error *error)
{
	int64_t start = platform->monotonic_ns(platform->context);

	for (;;) {
		int rc = platform->lock(platform->context, file, LOCK_SH | LOCK_NB);
		if (rc == 0)
			return 0;
		if (rc != -EWOULDBLOCK)
			return error_set_os(error, -rc, "cannot lock %s", name);
		if (platform->monotonic_ns(platform->context) - start >= LIMIT_LOCK_WAIT_MS * INT64_C(1000000))
			return error_set(error, BOBBIN_EBUSY, "%s is locked by another process", name);
		platform->sleep_ns(platform->context, NAP_NS);
	}
}

/* Nobody appends at that moment, so what is there is whole lines, or ends as it will stay. */
static int take_size(struct course *course, struct member *member)
{
	const struct store *source = course->backup.source;
	const struct platform *platform = source->platform;
	struct file_info info;
	int file;
	int rc = file_open(platform, source->dir, member->log.name, O_RDONLY, &file, NULL, course->error);

	member->refused = rc == BOBBIN_EREFUSED;
	member->gone = rc == BOBBIN_ENOTFOUND || member->refused;
	course->backup.counts->refused += member->refused;
	if (member->refused)
		return backup_leave_out(&course->backup, member->log.name, course->error->message, course->error);
	if (rc)
		return member->gone ? 0 : rc;
	rc = lock_shared(platform, file, member->log.name, course->error);
	if (!rc && (rc = platform->info(platform->context, file, &info)) < 0)
		rc = error_set_os(course->error, -rc, "cannot examine %s", member->log.name);
	if (!rc) {
		member->log.bytes = info.size;
		member->log.device = info.device;
		member->log.inode = info.inode;
		rc = backup_head(&course->backup, file, &member->log, course->error);
	}
	file_close(platform, file);
	return rc;
}

static int take_sizes(struct course *course)
{
	struct backup *backup = &course->backup;
	int rc = 0;

	for (size_t i = course->count; !rc && i-- > 0;) {
		rc = take_size(course, &course->members[i]);
		const struct copied *earlier = manifest_find(&backup->earlier, course->members[i].log.name);
		uint64_t known = earlier ? earlier->bytes : 0, bytes = course->members[i].log.bytes;
		backup->total += bytes > known ? bytes - known : 0;
	}
	return rc;
}

/* ---- Copies ----------------------------------------------------------------------------------------------
 */

static bool was_copied(const struct course *course, const struct member *member)
{
	return manifest_find(&course->backup.earlier, member->log.name) != NULL;
}

/* What a list shows must not speak of a longer log than there is: so it comes after what is new of the log. That of a new
 * log comes before it, for a log without a header of ours may be nothing without. */
static int copy_meta(struct course *course, const struct member *member)
{
	struct store *source = course->backup.source;
	struct meta meta = {.line = SESSION_LINE_INIT};
	const char *name = put_together(course, member->id, ".meta.json");
	bool ignored;

	if (!name)
		return no_memory(course);
	int rc = meta_read(source, member->id, &meta, course->error);
	if (rc == BOBBIN_ENOTFOUND || (!rc && meta.log_bytes > member->log.bytes))
		return 0;
	return rc ? rc : backup_file(&course->backup, source->dir, course->backup.target->dir, name, &ignored,
				 course->error);
}

static int copy_beside(struct course *course, const struct member *member, const char *ending)
{
	const char *name = put_together(course, member->id, ending);
	bool ignored;

	return name ? backup_file(&course->backup, course->backup.source->dir, course->backup.target->dir, name, &ignored,
			      course->error)
		    : no_memory(course);
}

/* Everything but logs and copies of what is inherited. */
static int copy_others(struct course *course)
{
	int rc = backup_folder(&course->backup, "blobs", true, course->error);

	for (size_t i = 0; !rc && i < course->count; i++) {
		const struct member *member = &course->members[i];
		if (member->gone)
			continue;
		if (!was_copied(course, member))
			rc = copy_meta(course, member);
		if (!rc)
			rc = copy_beside(course, member, ".memory.md");
		if (!rc)
			rc = backup_folder(&course->backup, member->id, false, course->error);
	}
	return rc;
}

static int sync_target(struct course *course)
{
	const struct store *target = course->backup.target;
	int rc = target->platform->sync(target->platform->context, target->dir);

	return rc < 0 ? error_set_os(course->error, -rc, "cannot sync %s", course->work) : 0;
}

static int copy_logs(struct course *course)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < course->count; i++) {
		struct member *member = &course->members[i];
		/* Names of parents are durable before those of their forks. */
		if (i && member->depth != course->members[i - 1].depth && (rc = sync_target(course)) < 0)
			break;
		if (member->gone)
			continue;
		/* If its parent was gone when it was to be copied, the copy is there by now: whoever is killed from here on leaves a fork that
		 * can be opened. */
		if (*member->parent_id && (rc = copy_beside(course, member, ".base.jsonl")) < 0)
			break;
		rc = backup_log(&course->backup, &member->log, course->error);
		if (rc == BOBBIN_ENOTFOUND) {
			member->gone = true;
			rc = 0;
		}
	}
	for (size_t i = 0; !rc && i < course->count; i++) {
		const struct member *member = &course->members[i];
		if (member->gone)
			continue;
		rc = copy_beside(course, member, ".base.jsonl");
		if (!rc && was_copied(course, member))
			rc = copy_meta(course, member);
	}
	return rc;
}

static int copy_database(struct course *course)
{
	struct store *target = course->backup.target;
	const struct platform *platform = target->platform;
	static const char temporary[] = ".bobbin.db.new";
	bool copied = false;

	platform->unlink_at(platform->context, target->dir, temporary, 0);
	int rc = database_backup(course->backup.source, target->dir, temporary, &copied, course->error);
	/* Damaged, or what nobody would open: no reason to go without the logs. */
	if (rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREFUSED || rc == BOBBIN_EREADONLY) {
		platform->unlink_at(platform->context, target->dir, temporary, 0);
		return backup_leave_out(&course->backup, DATABASE_NAME, course->error->message, course->error);
	}
	if (rc || !copied)
		return rc;
	/* What belongs to the old one must not be read with the new one. */
	platform->unlink_at(platform->context, target->dir, DATABASE_NAME "-wal", 0);
	platform->unlink_at(platform->context, target->dir, DATABASE_NAME "-shm", 0);
	rc = platform->rename_at(platform->context, target->dir, temporary, DATABASE_NAME);
	return rc < 0 ? error_set_os(course->error, -rc, "cannot put the copy of %s in its place", DATABASE_NAME) : 0;
}

/* ---- What is gone ----------------------------------------------------------------------------------------
 */

static bool went(const struct course *course, const struct member *member)
{
	const struct store *source = course->backup.source;
	struct file_info info;
	int rc = source->platform->info_at(source->platform->context, source->dir, member->log.name, &info);

	return rc == -ENOENT || (rc >= 0 && info.inode != member->log.inode);
}

/* Looked for parents first: whoever is still there has had its parent all the time. */
static bool look_for_gone(struct course *course)
{
	bool any = false;

	for (size_t i = 0; i < course->count; i++) {
		struct member *member = &course->members[i];
		member->gone = member->gone || went(course, member);
		any = any || member->gone;
	}
	return any;
}

/* Forks are given copies before their parent goes, so those of one that is gone now are there now, and may not have been when
 * copies were copied. A fork that goes at this moment takes its copy along: it is gone, too, and so on with its own. */
static int copy_late_bases(struct course *course)
{
	bool again = look_for_gone(course);
	int rc = 0;

	while (!rc && again) {
		again = false;
		for (size_t i = 0; !rc && i < course->count; i++) {
			struct member *member = &course->members[i];
			if (member->gone || !*member->parent_id)
				continue;
			rc = copy_beside(course, member, ".base.jsonl");
			member->gone = !rc && went(course, member);
			again = again || member->gone;
		}
		if (!rc)
			rc = sync_target(course);
	}
	return rc;
}

static int drop(struct course *course, const char *id)
{
	static const char *const endings[] = {".jsonl", ".meta.json", ".memory.md", ".base.jsonl", ".turn"};
	const struct store *target = course->backup.target;
	int rc = 0;

	store_forget_caches(target, id);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *name = put_together(course, id, endings[i]);
		if (!name)
			return no_memory(course);
		rc = target->platform->unlink_at(target->platform->context, target->dir, name, 0);
		if (rc < 0 && rc != -ENOENT)
			return error_set_os(course->error, -rc, "cannot take %s out of the backup", name);
	}
	return 0;
}

static bool is_there(struct course *course, const char *id, const char *ending)
{
	const struct store *target = course->backup.target;
	struct file_info info;
	const char *name = put_together(course, id, ending);

	return !name || target->platform->info_at(target->platform->context, target->dir, name, &info) != -ENOENT;
}

/* Meta files of logs that did not come: the session was deleted between the one and the other, now or in an earlier backup.
 * What else may lie there is not only bobbin's to make anew. */
static int drop_lone_meta(struct course *course)
{
	const struct store *target = course->backup.target;
	struct file_names names = {0};
	char id[LIMIT_SESSION_ID_BYTES + 1];
	int rc = file_names_read(target->platform, target->dir, course->work, &names, course->error);

	for (size_t at = 0; !rc && at < names.len; at += strlen(names.data + at) + 1)
		if (store_session_of(names.data + at, ".meta.json", id) && !is_there(course, id, STORE_LOG_SUFFIX) && !is_there(course, id, COPY_SUFFIX))
			target->platform->unlink_at(target->platform->context, target->dir, names.data + at, 0);
	mem_free(names.data);
	return rc;
}

static const struct member *find_member(const struct member *sorted, size_t count, const char *id)
{
	const struct member wanted = {.id = id};
	return count ? bsearch(&wanted, sorted, count, sizeof(wanted), by_id) : NULL;
}

/* Forks first, so that the backup can be used at every moment. */
static int drop_gone(struct course *course)
{
	struct member *there, *sorted;
	size_t count;
	int rc = list_members(course, course->backup.target, &there, &count);

	if (rc)
		return rc;
	sorted = arena_alloc(&course->arena, (course->count + 1) * sizeof(*sorted));
	if (!sorted)
		return no_memory(course);
	if (course->count) {
		memcpy(sorted, course->members, course->count * sizeof(*sorted));
		qsort(sorted, course->count, sizeof(*sorted), by_id);
	}
	for (size_t i = count; !rc && i-- > 0;) {
		const struct member *member = find_member(sorted, course->count, there[i].id);
		if (member && (!member->gone || member->refused))
			continue;
		rc = drop(course, there[i].id);
		course->backup.counts->removed += !rc;
	}
	return rc ? rc : drop_lone_meta(course);
}

/* ---- Looking at it again ---------------------------------------------------------------------------------
 */

static bool opens(struct store *store, const char *id, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open(store, slice_of(id), LOG_READ, &log, error);

	if (!rc)
		log_free(log);
	return !rc;
}

/* What was copied now must open as it does where it came from. That makes index files in the backup, so that the next of its
 * forks, and whoever uses the backup, need not read it again. */
static int check_copies(struct course *course)
{
	struct backup *backup = &course->backup;
	struct bobbin_error why = {0};

	for (size_t i = 0; i < course->count; i++) {
		const struct member *member = &course->members[i];
		const struct copied *earlier = manifest_find(&backup->earlier, member->log.name);
		if (member->gone && !(member->refused && earlier))
			continue;
		backup->counts->sessions++;
		backup->counts->bytes += member->refused ? earlier->bytes : member->log.bytes;
		if (member->refused || (earlier && earlier->bytes == member->log.bytes && earlier->crc == member->log.crc) ||
			opens(backup->target, member->id, &why))
			continue;
		if (why.code == BOBBIN_ENOMEM)
			return no_memory(course);
		if (opens(backup->source, member->id, NULL))
			return error_set(course->error, BOBBIN_ECORRUPT,
				"the copy of session %s cannot be opened (%s); back up again", member->id, why.message);
		backup->counts->damaged++;
	}
	return 0;
}

/* ---- The whole -------------------------------------------------------------------------------------------
 */

static int write_down(struct course *course)
{
	struct copied *logs = arena_alloc(&course->arena, (course->count + 1) * sizeof(*logs));
	struct manifest manifest = {.items = logs, .complete = true, .owner = course->backup.owner};

	if (!logs)
		return no_memory(course);
	for (size_t i = 0; i < course->count; i++) {
		const struct member *member = &course->members[i];
		const struct copied *earlier =
			member->refused ? manifest_find(&course->backup.earlier, member->log.name) : NULL;
		if (earlier || !member->gone)
			logs[manifest.count++] = earlier ? *earlier : member->log;
	}
	int rc = sync_target(course);
	if (!rc)
		rc = manifest_write(course->backup.target, &manifest, course->error);
	return rc ? rc : sync_target(course);
}

/* Its own name, once it is whole. */
static int give_name(struct course *course)
{
	const struct platform *platform = course->backup.source->platform;

	if (course->work == course->path)
		return 0;
	int rc = platform->rename_at(platform->context, PLATFORM_CWD, course->work, course->path);
	if (rc < 0)
		return error_set_os(course->error, -rc, "cannot name the backup %s", course->path);
	int above = platform->open_at(platform->context, course->backup.target->dir, "..", O_RDONLY | O_DIRECTORY, 0);
	rc = above < 0 ? above : platform->sync(platform->context, above);
	file_close(platform, above);
	return rc < 0 && rc != -EACCES ? error_set_os(course->error, -rc, "cannot sync the folder of %s", course->path)
				       : 0;
}

/* Before anything is changed: whose it is, and then, written down, that it is at work. So a new one is known as a backup from the
 * start, and should it be killed, the next one takes it over. */
static int begin(struct course *course)
{
	struct backup *backup = &course->backup;
	bool taken_over = false;
	int rc = manifest_read(backup->target, &course->arena, &backup->earlier, course->error);

	if (!rc)
		rc = backup_owner_find(backup->source, &course->arena, &backup->owner, course->error);
	if (!rc && backup->earlier.there)
		rc = backup_owner_check(backup, course->work, &taken_over, course->error);
	if (rc)
		return rc;
	struct manifest at_work = backup->earlier;
	at_work.complete = false;
	at_work.owner = backup->owner;
	backup->counts->taken_over = taken_over;
	return manifest_write(backup->target, &at_work, course->error);
}

static int run(struct course *course)
{
	struct backup *backup = &course->backup;
	int rc = begin(course);

	if (!rc)
		rc = list_members(course, backup->source, &course->members, &course->count);
	if (!rc)
		rc = take_sizes(course);
	if (!rc)
		rc = copy_others(course);
	if (!rc)
		rc = copy_logs(course);
	if (!rc)
		rc = copy_database(course);
	if (rc)
		return rc;
	rc = copy_late_bases(course);
	if (!rc)
		rc = drop_gone(course);
	if (!rc)
		rc = check_copies(course);
	if (!rc)
		rc = write_down(course);
	return rc ? rc : give_name(course);
}

/* One backup at a time goes to a folder. */
static int run_locked(struct course *course)
{
	const struct store *target = course->backup.target;
	int lock;
	int rc = file_open_locked(target->platform, target->dir, STORE_LOCK_NAME, 0, &lock, course->error);

	if (rc == BOBBIN_EBUSY)
		return error_set(course->error, rc, "another backup to %s is running", course->path);
	if (rc)
		return rc;
	rc = run(course);
	file_close(target->platform, lock);
	if ((rc == BOBBIN_ENOSPC || rc == BOBBIN_EIO) && course->work == course->path)
		error_prefix(course->error, "the backup %s can be used, and is not up to date", course->path);
	else if (rc == BOBBIN_ENOSPC || rc == BOBBIN_EIO)
		error_prefix(course->error, "there is no backup yet (what was copied is in %s)", course->work);
	return rc;
}

int store_backup(struct store *store, const char *path, const struct store_backup_options *options,
	struct store_backup *ret_backup, struct bobbin_error *error)
{
	struct store_backup counts = {0};
	struct bobbin_error why = {0};
	struct course course = {.backup = {.source = store, .options = options, .counts = &counts},
		.path = path,
		.error = &why};
	size_t len = strlen(path);

	/* DIR/ names the same as DIR, and DIR/.partial would lie in it. */
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (!len || len + sizeof(PARTIAL) > LIMIT_PATH_BYTES)
		return error_set(error, BOBBIN_EINVAL, "the path of a backup has 1 to %zu bytes",
			LIMIT_PATH_BYTES - sizeof(PARTIAL));
	course.path = arena_copy(&course.arena, path, len);
	course.backup.piece = mem_alloc(BACKUP_PIECE_BYTES);
	int rc = course.path && course.backup.piece ? open_target(&course) : no_memory(&course);
	if (!rc)
		rc = run_locked(&course);
	store_close(course.backup.target);
	mem_free(course.backup.piece);
	arena_release(&course.arena);
	if (rc)
		return error_set_at(error, rc, why.line, why.offset, "%s", why.message);
	*ret_backup = counts;
	return 0;
}
