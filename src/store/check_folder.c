/* SPDX-License-Identifier: MIT */
/* The store's folder, see check.h: what each name in it is, and whether that may be so. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/id.h"
#include "store/catalogue.h"
#include "store/check.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/store_internal.h"
#include "store/token_sums.h"
#include "store/trial.h"

#define UNLOCKED_AGE_NS (INT64_C(60) * 1000000000) /* a temporary file that nobody locks is left over when so old */

struct folder {
	struct store *store;
	const struct store_check *check;
	struct bobbin_error *error;
	int dir;
	const char *shown; /* before a name: "" or ".cache/" */
};

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), tail = strlen(end);
	return len >= tail && strcmp(name + len - tail, end) == 0;
}

/* The session that a file stands beside, by the endings that files beside a log have. */
static bool session_of(const char *name, const char *const *endings, char ret_id[LIMIT_SESSION_ID_BYTES + 1])
{
	while (*endings && !store_session_of(name, *endings, ret_id))
		endings++;
	return *endings != NULL;
}

/* ---- Leftovers -------------------------------------------------------------------------------------------
 */

static int unread(const struct folder *folder, const char *name, int os)
{
	char shown[FOLDER_NAME_BYTES + 16];

	snprintf(shown, sizeof(shown), "%s%s", folder->shown, name);
	return check_unread(folder->check, shown, os, folder->error);
}

/* Whether nobody has a file locked: 1, 0, or a negative errno. With `mend` it is taken away then. */
static int take_away(const struct folder *folder, const char *name, bool mend)
{
	const struct platform *platform = folder->store->platform;
	int file;
	int rc = file_open(platform, folder->dir, name, O_RDONLY, &file, NULL, NULL);

	if (rc < 0)
		return rc == BOBBIN_EIO || rc == BOBBIN_ENOMEM ? -EIO : 0;
	rc = platform->lock(platform->context, file, LOCK_EX | LOCK_NB);
	bool is_free = rc == 0;
	if (is_free && mend)
		rc = platform->unlink_at(platform->context, folder->dir, name, 0);
	file_close(platform, file);
	return rc < 0 && rc != -EWOULDBLOCK && rc != -ENOENT ? rc : is_free;
}

static int leftover(const struct folder *folder, const char *name, const char *of)
{
	char shown[FOLDER_NAME_BYTES + 16];
	int rc = take_away(folder, name, folder->check->mend);

	if (rc <= 0)
		return rc < 0 ? unread(folder, name, -rc) : 0;
	snprintf(shown, sizeof(shown), "%s%s", folder->shown, name);
	return check_found(folder->check, "leftover", shown, "It is taken away.", folder->error,
		"left by a process that was killed %s; nothing reads it.", of);
}

/* Whoever makes a workspace has its folder locked, and looks after that whether it still has its name. */
static int leftover_folder(const struct folder *folder, const char *name)
{
	const struct platform *platform = folder->store->platform;
	int dir = platform->open_at(platform->context, folder->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (dir < 0)
		return dir == -ENOENT ? 0 : unread(folder, name, -dir);
	bool is_free = platform->lock(platform->context, dir, LOCK_EX | LOCK_NB) == 0;
	if (is_free && folder->check->mend) {
		file_clear_folder(platform, dir, 0);
		platform->unlink_at(platform->context, folder->dir, name, AT_REMOVEDIR);
	}
	file_close(platform, dir);
	return !is_free ? 0
			: check_found(folder->check, "leftover", name, "It is taken away.", folder->error,
				  "left by a process that was killed while it made the folder of a workspace; "
				  "nothing reads it.");
}

/* A copy of what a session inherits, whose own log is not there: taken away by somebody, or by a deletion that was interrupted.
 * Nothing tells which, and these may be the only messages that are left: only who knows may delete them. */
static int lone_copy(const struct folder *folder, const char *name, const char *id)
{
	char held[64] = "messages";
	struct log *copy;
	int rc = log_open_copy(folder->store, id, name, true, UINT64_MAX, &copy, NULL);

	if (rc == BOBBIN_ENOMEM)
		return error_set(folder->error, rc, "out of memory");
	if (!rc) {
		uint32_t count = index_count(&copy->index);
		snprintf(held, sizeof(held), "%u message%s", count, count == 1 ? "" : "s");
		log_free(copy);
	}
	return check_found(folder->check, "copy", name, "", folder->error,
		"%s that session %s inherited stand here, and %s.jsonl is not there: lost, or its deletion was interrupted. Put "
		"that file back, or make a session of these: bobbin import %s/%s. If they are not needed: bobbin delete %s.",
		held, id, id, folder->store->path, name, id);
}

/* A file beside a log that is not there. What is mended is done by deleting the session once more. */
static int orphan(const struct folder *folder, const char *name, const char *id)
{
	struct store *store = folder->store;
	int rc;

	if (!store_lacks(store, slice_of(id)))
		return store_has(store, slice_of(id)) ? 0 : unread(folder, name, EIO);
	if (!store_lacks_copy(store, slice_of(id)))
		return ends_with(name, ".base.jsonl") ? lone_copy(folder, name, id) : 0;
	/* A lock's file is made before what it guards, and taken away after it: held, it is in use. */
	if (ends_with(name, ".turn") || ends_with(name, ".compact")) {
		rc = take_away(folder, name, false);
		if (rc <= 0)
			return rc < 0 ? unread(folder, name, -rc) : 0;
	}
	rc = check_found(folder->check, "leftover", name, "It is taken away.", folder->error,
		"it stands beside no log: what a deletion that was interrupted, or a copy, left of session %s.", id);
	if (rc || !folder->check->mend)
		return rc;
	/* Somebody may have made the session since. */
	rc = store_delete_leftovers(store, slice_of(id), NULL);
	if (!rc || (rc == BOBBIN_ENOTFOUND && store_lacks(store, slice_of(id))))
		store->platform->unlink_at(store->platform->context, store->dir, name, 0);
	return rc == BOBBIN_ENOMEM ? error_set(folder->error, rc, "out of memory") : 0;
}

static bool is_old(const struct folder *folder, const struct file_info *info)
{
	const struct platform *platform = folder->store->platform;
	return platform->realtime_ns(platform->context) - info->modified_ns >= UNLOCKED_AGE_NS;
}

/* ---- Names -----------------------------------------------------------------------------------------------
 */

static int check_file_mode(const struct folder *folder, const char *name, const struct file_info *info)
{
	const struct platform *platform = folder->store->platform;
	int file, rc;

	/* A log's own is looked at with the session. */
	if (!(info->mode & 077) || (ends_with(name, ".jsonl") && name[0] != '.') || strcmp(name, ".gitignore") == 0)
		return 0;
	rc = check_found(folder->check, "mode", name, "Its mode becomes 600.", folder->error,
		"others may %s it (mode %03o).", info->mode & 022 ? "write to" : "read", info->mode & 0777);
	if (rc || !folder->check->mend)
		return rc;
	rc = file_open(platform, folder->dir, name, O_RDONLY, &file, NULL, folder->error);
	if (rc)
		return rc == BOBBIN_ENOTFOUND ? 0 : rc;
	rc = platform->change_mode(platform->context, file, 0600);
	file_close(platform, file);
	return rc < 0 ? error_set_os(folder->error, -rc, "cannot keep others from %s", name) : 0;
}

static const char *const BESIDE[] = {
	".meta.json", ".memory.md", ".turn", ".compact", ".base.jsonl", NULL};

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names) != 0)
		names++;
	return *names != NULL;
}

static bool is_log(const char *name)
{
	char id[LIMIT_SESSION_ID_BYTES + 1];
	return store_session_of(name, STORE_LOG_SUFFIX, id);
}

/* A folder in which a workspace is being made. */
static bool is_new_workspace(const char *name)
{
	char id[LIMIT_SESSION_ID_BYTES + 1];
	return name[0] == '.' && store_session_of(name + 1, ".files", id);
}

/* What a name is the name of, whatever stands there. */
static bool is_name_of_folder(const char *name)
{
	static const char *const names[] = {STORE_CACHE_NAME, ".actions", "blobs", NULL};
	return is_one_of(name, names) || id_is_session(slice_of(name)) || is_new_workspace(name);
}

static bool is_name_of_file(const char *name)
{
	static const char *const names[] = {STORE_LOCK_NAME, ".gitignore", ".backup", "bobbin.db", "bobbin.db-wal",
		"bobbin.db-shm", NULL};
	char id[LIMIT_SESSION_ID_BYTES + 1];
	return is_one_of(name, names) || session_of(name, BESIDE, id) || is_log(name);
}

static int check_regular(const struct folder *folder, const char *name, const struct file_info *info)
{
	char id[LIMIT_SESSION_ID_BYTES + 1];
	int rc = check_file_mode(folder, name, info);

	if (rc)
		return rc;
	if (name[0] == '.' && ends_with(name, ".jsonl.tmp"))
		return leftover(folder, name, "while it made a session");
	if (ends_with(name, ".memory.md.tmp") || ends_with(name, ".db.tmp"))
		return is_old(folder, info) ? leftover(folder, name, "while it made a file") : 0;
	if (name[0] == '.' && ends_with(name, ".tmp"))
		return leftover(folder, name, "while it replaced a file");
	return session_of(name, BESIDE, id) ? orphan(folder, name, id) : 0;
}

static int wrong_kind(const struct folder *folder, const char *name, const struct file_info *info)
{
	const char *wanted = is_name_of_folder(name) ? "a folder" : is_name_of_file(name) ? "a file" : NULL;
	return check_found(folder->check, "kind", name, "", folder->error, "it is %s%s%s, and is not opened: take it away.",
		file_kind_text(info->mode), wanted ? " where there should be " : "", wanted ? wanted : "");
}

static int check_name(const struct folder *folder, const char *name)
{
	const struct platform *platform = folder->store->platform;
	struct file_info info;

	int rc = platform->info_at(platform->context, folder->dir, name, &info);
	if (rc < 0)
		return rc == -ENOENT /* gone in between */ ? 0 : unread(folder, name, -rc);
	if (is_log(name) && !(S_ISREG(info.mode) && info.owner == platform->user(platform->context)))
		return 0; /* found with the session of that name */
	if (S_ISLNK(info.mode))
		return check_found(folder->check, "link", name, "", folder->error,
			"it is a symbolic link; links are not followed here, so what it points to is not used. Put "
			"the %s itself in its place.", is_name_of_folder(name) ? "folder" : "file");
	if (S_ISREG(info.mode) && info.owner != platform->user(platform->context))
		return check_found(folder->check, "owner", name, "", folder->error,
			"it belongs to another user (uid %u) and is not opened: chown it.", info.owner);
	if (S_ISDIR(info.mode) ? is_name_of_file(name) : is_name_of_folder(name))
		return wrong_kind(folder, name, &info);
	if (S_ISDIR(info.mode) && is_new_workspace(name))
		return leftover_folder(folder, name);
	if (S_ISREG(info.mode))
		return check_regular(folder, name, &info);
	if (!S_ISDIR(info.mode))
		return wrong_kind(folder, name, &info);
	return 0;
}

/* The session whose cache it is: ids have no dots, so what stands before the first one is the id. */
static bool cached_session(const char *name, char ret_id[LIMIT_SESSION_ID_BYTES + 1])
{
	static const char *const CACHES[] = {".index", ".unsynced", TOKEN_SUMS_SUFFIX};
	size_t len = strcspn(name, ".");

	if (len > LIMIT_SESSION_ID_BYTES)
		return false;
	memcpy(ret_id, name, len);
	ret_id[len] = '\0';
	for (size_t i = 0; i < sizeof(CACHES) / sizeof(CACHES[0]); i++)
		if (ends_with(name, CACHES[i]))
			return id_is_session(slice_of(ret_id));
	return false;
}

/* A session that appears when it is whole has an index file before, if it is large. Left by a killed process it goes with the
 * other leftovers, which were looked at before the caches. 0 if one is being made, -ENOENT if not, else nobody can tell. */
static int look_for_making(const struct folder *folder, const char *id)
{
	const struct platform *platform = folder->store->platform;
	char name[LOG_NAME_BYTES];
	struct file_info info;

	snprintf(name, sizeof(name), ".%s.jsonl.tmp", id);
	int rc = platform->info_at(platform->context, folder->store->dir, name, &info);
	return rc > 0 ? 0 : rc;
}

static int check_cache_name(const struct folder *folder, const char *name)
{
	const struct platform *platform = folder->store->platform;
	char id[LIMIT_SESSION_ID_BYTES + 1], shown[FOLDER_NAME_BYTES + 16];

	if (name[0] == '.' && ends_with(name, ".tmp"))
		return leftover(folder, name, "while it wrote a cache");
	if (trial_is_left(platform, folder->dir, name, folder->check->mend)) {
		snprintf(shown, sizeof(shown), "%s%s", folder->shown, name);
		return check_found(folder->check, "leftover", shown, "It is taken away.", folder->error,
			"left by a process that was killed while it tried something out (resume-test); nothing reads it.");
	}
	if (!cached_session(name, id))
		return 0;
	if (!store_lacks(folder->store, slice_of(id)))
		return store_has(folder->store, slice_of(id)) ? 0 : unread(folder, name, EIO);
	int rc = look_for_making(folder, id);
	if (rc != -ENOENT)
		return rc == 0 ? 0 : unread(folder, name, -rc);
	snprintf(shown, sizeof(shown), "%s%s", folder->shown, name);
	if (folder->check->mend)
		platform->unlink_at(platform->context, folder->dir, name, 0);
	return check_found(folder->check, "leftover", shown, "It is taken away.", folder->error,
		"a cache of session %s, which is not there.", id);
}

/* Lists first, then looks: what is taken away meanwhile must not confuse the listing. */
static int each_name(const struct folder *folder, int (*look)(const struct folder *folder, const char *name))
{
	const struct platform *platform = folder->store->platform;
	struct file_names names = {0};
	uint64_t done = 0;
	int rc = file_names_read(platform, folder->dir, folder->store->path, &names, folder->error);

	for (size_t at = 0; !rc && at < names.len; at += strlen(names.data + at) + 1) {
		rc = look(folder, names.data + at);
		if (!rc && ++done % 256 == 0)
			rc = check_progress(folder->check, "files", done, 0, folder->error);
	}
	mem_free(names.data);
	return rc;
}

/* ---- The catalogue ---------------------------------------------------------------------------------------
 */

/* What differs between what a list remembers and what the log says; NULL: nothing. */
static const char *difference(const struct store_entry *known, const struct store_entry *said)
{
	if (strcmp(known->parent_id, said->parent_id) != 0 || known->forked_at != said->forked_at)
		return "lineage";
	if (strcmp(known->owner, said->owner) != 0)
		return "owner";
	if (strcmp(known->title, said->title) != 0)
		return "title";
	return said->messages_exact && known->messages != said->messages ? "number of messages" : NULL;
}

/* A wrong entry of a log that is as it was, or NULL. BOBBIN_ENOMEM. */
static int find_wrong(const struct folder *folder, const struct catalogue *catalogue, struct arena *arena,
	const char **ret_id, const char **ret_what)
{
	const struct platform *platform = folder->store->platform;
	char name[LOG_NAME_BYTES];
	struct file_info info;
	struct store_entry said;

	for (size_t i = 0; i < catalogue->count; i++) {
		const char *id = catalogue->entries[i].entry.id;
		if (!id_is_session(slice_of(id)))
			continue;
		snprintf(name, sizeof(name), "%s.jsonl", id);
		if (platform->info_at(platform->context, folder->dir, name, &info) < 0 ||
			!catalogue_find(catalogue, id, &info))
			continue;
		int rc = store_entry(folder->store, slice_of(id), arena, &said, NULL);
		if (rc == BOBBIN_ENOMEM)
			return rc;
		if (rc || said.unread)
			continue;
		*ret_id = id;
		*ret_what = difference(&catalogue->entries[i].entry, &said);
		if (*ret_what)
			return 0;
	}
	return 0;
}

static int check_catalogue(const struct folder *folder, int caches)
{
	const struct platform *platform = folder->store->platform;
	struct arena arena = ARENA_INIT;
	struct catalogue catalogue;
	struct file_info info;
	const char *id = "", *what = NULL;

	int rc = platform->info_at(platform->context, caches, "catalogue", &info);
	if (rc < 0)
		return rc == -ENOENT ? 0 : check_unread(folder->check, STORE_CACHE_NAME "/catalogue", -rc, folder->error);
	rc = catalogue_read(folder->store, &arena, &catalogue);
	if (rc == BOBBIN_EIO) {
		arena_release(&arena);
		return check_unread(folder->check, STORE_CACHE_NAME "/catalogue", EIO, folder->error);
	}
	if (!rc && catalogue.entries)
		rc = find_wrong(folder, &catalogue, &arena, &id, &what);
	if (rc)
		rc = error_set(folder->error, rc, "out of memory");
	else if (!catalogue.entries || what)
		rc = check_found(folder->check, "catalogue", STORE_CACHE_NAME "/catalogue",
			"It is removed; the next list makes a new one.", folder->error,
			"%s%s%s%s. It is a cache of lists: the logs decide.",
			what ? "it has another " : "it cannot be read", what ? what : "", what ? " than the log of " : "",
			id);
	else
		rc = 1; /* as it should be */
	if (!rc && folder->check->mend && S_ISREG(info.mode))
		platform->unlink_at(platform->context, caches, "catalogue", 0);
	arena_release(&arena);
	return rc == 1 ? 0 : rc;
}

int store_check_folder(struct store *store, const struct store_check *check, struct bobbin_error *error)
{
	struct folder folder = {store, check, error, store->dir, ""};
	int rc = each_name(&folder, check_name);
	int caches = rc ? -1 : store_cache_dir(store, false);

	if (caches < 0) /* none, or something else of that name, which was said */
		return rc || caches == -ENOENT || caches == -ENOTDIR || caches == -ELOOP
			       ? rc
			       : unread(&folder, STORE_CACHE_NAME, -caches);
	folder.dir = caches;
	folder.shown = STORE_CACHE_NAME "/";
	rc = each_name(&folder, check_cache_name);
	folder.dir = store->dir;
	if (!rc)
		rc = check_catalogue(&folder, caches);
	file_close(store->platform, caches);
	return rc;
}
