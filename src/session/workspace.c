/* SPDX-License-Identifier: MIT */
/*
 * The workspace of a session, see workspace.h: looking what others changed, following the line, writing.
 *
 *	D what is in the folder · T what the line says · L what the session itself put there last
 *	D = T                 nothing to do
 *	D = L, and not T      the line moved: the file becomes T, then a record by "line"
 *	otherwise             somebody else changed it: its blob, then a record by "outside"
 */
#include "session/workspace.h"

#include <stdio.h>
#include "base/alloc.h"
#include "base/json.h"
#include "store/blob.h"
#include "store/file.h"

#define DELETED ""

static bool is_durable(const bobbin_session *session)
{
	return log_info(session->log)->sync == STORE_SYNC_FULL;
}

static void add_file_record(
	struct buffer *out, const char *path, const char *digest, uint64_t size, const char *by)
{
	char blob[7 + SHA256_HEX_BYTES] = "sha256:";
	struct json_writer writer;

	memcpy(blob + 7, digest, *digest ? SHA256_HEX_BYTES : 1);
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "file");
	json_member_text(&writer, "path", path);
	json_key(&writer, "blob");
	if (*digest)
		json_add_text(&writer, blob);
	else
		json_add_null(&writer);
	json_member_uint(&writer, "size", size);
	json_member_text(&writer, "by", by);
	json_end_object(&writer);
}

static int append_version(bobbin_session *session, const char *path, const char *digest, uint64_t size, const char *by,
	struct bobbin_error *error)
{
	struct buffer record = BUFFER_INIT(LIMIT_LINE_BYTES);

	add_file_record(&record, path, digest, size, by);
	int rc = buffer_error(&record);
	struct slice bytes = buffer_slice(&record);
	rc = rc < 0 ? error_set(error, rc, "out of memory")
		    : log_append(session->log, &bytes, 1, NULL, NULL, error);
	buffer_release(&record);
	return rc;
}

/* ---- A fork ---- */

static bool same_file(const struct file_version *a, const struct file_version *b)
{
	return (!a && !b) || (a && b && strcmp(a->digest, b->digest) == 0);
}

static const struct file_version *find_target(const struct file_version *versions, size_t count, const char *path)
{
	for (struct file_state state = {.next = 0}; state.next < count;) {
		state = versions_state(versions, count, state.next);
		if (strcmp(state.path, path) == 0)
			return state.target;
	}
	return NULL;
}

int workspace_bequeath(bobbin_session *parent, uint32_t cut, bobbin_session *child, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct file_version *theirs, *had;
	size_t count, had_count;
	int rc = versions_read(parent, cut, &arena, &theirs, &count, error);

	if (!rc)
		rc = versions_read(child, cut, &arena, &had, &had_count, error);
	for (struct file_state state = {.next = 0}; !rc && state.next < count;) {
		state = versions_state(theirs, count, state.next);
		if (!same_file(state.target, find_target(had, had_count, state.path)))
			rc = state.target ? append_version(child, state.path, state.target->digest, state.target->size,
						    state.target->by, error)
					  : append_version(child, state.path, DELETED, 0, "host", error);
	}
	arena_release(&arena);
	return rc;
}

/* ---- Looking ---- */

struct sync {
	bobbin_session *session;
	struct folder *folder;
	struct arena arena;
	struct bobbin_files_report report;
	struct bobbin_error *error;
};

/* What others did to a file becomes a version. */
static int record_outside(struct sync *sync, const char *path, const struct found_file *found)
{
	const struct store *store = sync->session->store->store;
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	char digest[SHA256_HEX_BYTES];
	int hold = -1, rc = 0;

	if (!found) {
		rc = append_version(sync->session, path, DELETED, 0, "outside", sync->error);
		sync->report.noticed += rc == 0;
		return rc;
	}
	rc = folder_read(sync->folder, path, &content, sync->error);
	if (!rc)
		rc = blob_hold(store, &hold, sync->error);
	if (!rc)
		rc = blob_write(store, hold, buffer_slice(&content), is_durable(sync->session), digest, sync->error);
	if (!rc)
		rc = append_version(sync->session, path, digest, content.len, "outside", sync->error);
	blob_let_go(store, hold);
	buffer_release(&content);
	if (rc == BOBBIN_ENOTFOUND || rc == BOBBIN_EREFUSED)
		return 0; /* it has changed again: the next look sees it */
	sync->report.noticed += rc == 0;
	return rc;
}

/* The folder is brought to what the line says. */
static int follow_line(struct sync *sync, const char *path, const struct file_version *target)
{
	const struct store *store = sync->session->store->store;
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	bool durable = is_durable(sync->session);
	int rc;

	if (target) {
		rc = blob_read(store, slice_of(target->digest), &content, sync->error);
		if (!rc)
			rc = folder_put(sync->folder, path, buffer_slice(&content), durable, sync->error);
	} else {
		rc = folder_remove(sync->folder, path, durable, sync->error);
	}
	buffer_release(&content);
	if (!rc)
		rc = append_version(sync->session, path, target ? target->digest : DELETED,
			target ? target->size : 0, "line", sync->error);
	sync->report.restored += rc == 0;
	return rc;
}

static const char *digest_or_none(const struct file_version *version)
{
	return version ? version->digest : DELETED;
}

static int settle(struct sync *sync, const char *path, const struct file_state *state, const struct found_file *found)
{
	if (found && found->refused) {
		sync->report.refused++;
		if (sync->report.refused == 1)
			snprintf(sync->report.refused_why, sizeof(sync->report.refused_why), "%.160s: %s", path,
				found->refused);
		return 0;
	}
	const char *in_folder = found ? found->digest : DELETED;
	const char *target = state ? digest_or_none(state->target) : DELETED;
	const char *left = state ? digest_or_none(state->left) : DELETED;
	if (strcmp(in_folder, target) == 0)
		return 0;
	if (strcmp(in_folder, left) == 0)
		return follow_line(sync, path, state->target);
	return record_outside(sync, path, found);
}

/* Both lists are sorted by path. */
static int settle_all(struct sync *sync, const struct file_version *versions, size_t version_count,
	const struct found_file *files, size_t file_count)
{
	size_t at = 0, file = 0;
	int rc = 0;

	while (!rc && (at < version_count || file < file_count)) {
		int order = at == version_count	 ? 1
			    : file == file_count ? -1
						 : strcmp(versions[at].path, files[file].path);
		struct file_state state = {NULL, NULL, NULL, at};
		if (order <= 0)
			state = versions_state(versions, version_count, at);
		rc = settle(sync, order <= 0 ? state.path : files[file].path, order <= 0 ? &state : NULL,
			order >= 0 ? &files[file] : NULL);
		at = state.next;
		file += order >= 0;
	}
	return rc;
}

/* All files of the line into a new folder. The records come first: should the folder not appear, it is made again. */
static int make_folder(struct sync *sync, const struct file_version *versions, size_t count)
{
	bobbin_session *session = sync->session;
	const struct store *store = session->store->store;
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	const char *id = log_info(session->log)->id;
	bool durable = is_durable(session);
	int rc = folder_begin(store, id, sync->folder, sync->error);

	for (size_t at = 0; !rc && at < count;) {
		struct file_state state = versions_state(versions, count, at);
		const char *left = digest_or_none(state.left), *target = digest_or_none(state.target);
		at = state.next;
		if (state.target) {
			buffer_clear(&content);
			rc = blob_read(store, slice_of(target), &content, sync->error);
			if (!rc)
				rc = folder_put(sync->folder, state.path, buffer_slice(&content), durable, sync->error);
		}
		if (!rc && strcmp(left, target) != 0)
			rc = append_version(session, state.path, target, state.target ? state.target->size : 0, "line",
				sync->error);
		sync->report.restored += !rc && state.target;
	}
	buffer_release(&content);
	if (!rc)
		rc = folder_appear(sync->folder, id, sync->error);
	return rc;
}

static int sync_once(struct sync *sync, bool make)
{
	bobbin_session *session = sync->session;
	struct file_version *versions;
	struct found_file *files = NULL;
	size_t version_count, file_count = 0;
	int rc = folder_open(session->store->store, log_info(session->log)->id, sync->folder, sync->error);

	if (!rc)
		rc = log_refresh(session->log, sync->error);
	if (!rc)
		rc = versions_read(session, log_head(session->log), &sync->arena, &versions, &version_count, sync->error);
	if (rc < 0)
		return rc;
	if (sync->folder->dir < 0)
		return make || version_count ? make_folder(sync, versions, version_count) : 0;
	bool news;
	rc = folder_scan(sync->folder, session->files, &sync->arena, &files, &file_count, &news, sync->error);
	if (!rc && news)
		known_keep(&session->files, files, file_count);
	return rc ? rc : settle_all(sync, versions, version_count, files, file_count);
}

#define TRIES 3 /* others may make the folder at the same moment */

int workspace_sync(bobbin_session *session, bool make, struct folder *ret_folder, struct bobbin_files_report *ret_report,
	struct bobbin_error *error)
{
	struct folder folder = {.dir = -1};
	struct sync sync = {.session = session, .folder = &folder, .arena = ARENA_INIT, .error = error};
	int rc = BOBBIN_EEXIST;

	for (int tries = 0; rc == BOBBIN_EEXIST && tries < TRIES; tries++) {
		folder_close(&folder);
		rc = sync_once(&sync, make);
	}
	arena_release(&sync.arena);
	if (!rc && ret_folder)
		*ret_folder = folder;
	else
		folder_close(&folder);
	if (!rc && ret_report)
		*ret_report = sync.report;
	return rc;
}

static bool has_versions(struct log *log)
{
	for (; log; log = log_base(log))
		if (log_newest(log, RECORD_FILE) != RECORD_NONE)
			return true;
	return false;
}

int workspace_follow(bobbin_session *session, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(session->store->store);
	struct file_info info;

	if (!log_info(session->log)->writable)
		return 0;
	if (!has_versions(session->log) && platform->info_at(platform->context, store_dir(session->store->store),
						   log_info(session->log)->id, &info) < 0)
		return 0;
	return workspace_sync(session, false, NULL, NULL, error);
}

/* ---- Files of another session ---- */

static int take_one(bobbin_session *session, bobbin_session *from, int hold, const struct file_version *file,
	struct bobbin_error *error)
{
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	char digest[SHA256_HEX_BYTES];
	int rc = blob_read(from->store->store, slice_of(file->digest), &content, error);

	if (!rc)
		rc = blob_write(session->store->store, hold, buffer_slice(&content), is_durable(session), digest, error);
	if (!rc)
		rc = append_version(session, file->path, digest, content.len, "host", error);
	buffer_release(&content);
	return rc;
}

int workspace_take_over(bobbin_session *session, bobbin_session *from, uint32_t head, uint64_t *ret_files,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct file_version *versions;
	size_t count = 0;
	uint64_t files = 0;
	int hold = -1, rc = versions_read(from, head, &arena, &versions, &count, error);

	if (!rc)
		rc = blob_hold(session->store->store, &hold, error);
	for (size_t at = 0; !rc && at < count;) {
		struct file_state state = versions_state(versions, count, at);
		at = state.next;
		if (!state.target)
			continue;
		rc = take_one(session, from, hold, state.target, error);
		files += !rc;
	}
	blob_let_go(session->store->store, hold);
	arena_release(&arena);
	if (!rc) /* the folder is made of what the log says */
		rc = workspace_sync(session, false, NULL, NULL, error);
	if (!rc)
		*ret_files = files;
	return rc;
}

/* ---- Writing and reading ---- */

static int check_path(struct slice path, char ret_path[LIMIT_FILE_PATH_BYTES + 1], struct bobbin_error *error)
{
	const char *fault = workspace_path_fault(path);

	if (fault)
		return error_set(error, BOBBIN_EREFUSED, "'%.*s' is no path of a workspace file: %s",
			(int)(path.len > 100 ? 100 : path.len), path.data ? path.data : "", fault);
	memcpy(ret_path, path.data, path.len);
	ret_path[path.len] = '\0';
	return 0;
}

/* Whether one more version fits. */
static int check_limits(bobbin_session *session, const struct folder *folder, const char *path, size_t len, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct found_file *files;
	size_t count, others = 0;
	uint64_t bytes = len;

	if (len > LIMIT_FILE_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "%s would have %zu bytes; a workspace file has at most 16 MiB",
			path, len);
	bool news;
	int rc = folder_scan(folder, session->files, &arena, &files, &count, &news, error);
	for (size_t i = 0; !rc && i < count; i++) {
		bool same = strcmp(files[i].path, path) == 0;
		others += !same;
		bytes += same ? 0 : files[i].size;
	}
	arena_release(&arena);
	if (!rc && others >= LIMIT_WORKSPACE_FILES)
		rc = error_set(error, BOBBIN_ELIMIT, "the workspace has %d files already, and may not have more",
			LIMIT_WORKSPACE_FILES);
	if (!rc && bytes > LIMIT_WORKSPACE_BYTES)
		rc = error_set(error, BOBBIN_ELIMIT, "with %s the workspace would have more than 256 MiB", path);
	return rc;
}

static int put_in(bobbin_session *session, const struct folder *folder, const char *path, struct slice content,
	const char *by, struct bobbin_error *error)
{
	const struct store *store = session->store->store;
	bool durable = is_durable(session);
	char digest[SHA256_HEX_BYTES];
	struct staged staged;
	int hold;
	int rc = folder_stage(folder, path, content, durable, &staged, error);

	if (rc < 0)
		return rc;
	rc = blob_hold(store, &hold, error);
	if (!rc) {
		rc = blob_write(store, hold, content, durable, digest, error);
		if (!rc)
			rc = append_version(session, path, digest, content.len, by, error);
		blob_let_go(store, hold);
	}
	if (!rc)
		return folder_commit(folder, &staged, durable, error);
	folder_abandon(folder, &staged);
	return rc;
}

int workspace_put(bobbin_session *session, struct slice path, struct slice content, const char *by,
	struct bobbin_error *error)
{
	char name[LIMIT_FILE_PATH_BYTES + 1];
	struct buffer there = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	struct folder folder;
	int rc = check_path(path, name, error);

	if (!rc)
		rc = workspace_sync(session, true, &folder, NULL, error);
	if (rc < 0)
		return rc;
	rc = check_limits(session, &folder, name, content.len, error);
	/* The same again is no new version. */
	bool same = !rc && folder_read(&folder, name, &there, NULL) == 0 && slice_equal(buffer_slice(&there), content);
	if (!rc && !same)
		rc = put_in(session, &folder, name, content, by, error);
	buffer_release(&there);
	folder_close(&folder);
	return rc;
}

int workspace_remove(bobbin_session *session, struct slice path, const char *by, struct bobbin_error *error)
{
	char name[LIMIT_FILE_PATH_BYTES + 1];
	struct buffer there = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 1);
	struct folder folder;
	int rc = check_path(path, name, error);

	if (!rc)
		rc = workspace_sync(session, false, &folder, NULL, error);
	if (rc < 0)
		return rc;
	rc = folder_read(&folder, name, &there, error);
	if (!rc)
		rc = append_version(session, name, DELETED, 0, by, error);
	if (!rc)
		rc = folder_remove(&folder, name, is_durable(session), error);
	buffer_release(&there);
	folder_close(&folder);
	return rc;
}

int workspace_read(bobbin_session *session, struct slice path, struct buffer *out, struct bobbin_error *error)
{
	char name[LIMIT_FILE_PATH_BYTES + 1];
	struct folder folder;
	int rc = check_path(path, name, error);

	if (!rc)
		rc = workspace_sync(session, false, &folder, NULL, error);
	if (rc < 0)
		return rc;
	rc = folder_read(&folder, name, out, error);
	folder_close(&folder);
	return rc;
}
