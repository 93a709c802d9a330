/* SPDX-License-Identifier: MIT */
/* The workspace, for hosts: what session/workspace.h does, behind the handles of bobbin.h. */
#include "session/workspace.h"

#include "base/alloc.h"
#include "store/blob.h"

struct bobbin_files {
	struct arena arena;
	struct bobbin_file *files;
	size_t count, next;
};

static int check(bobbin_session *session, const char *path, bool write, struct bobbin_error *error)
{
	int rc = SESSION_CHECK(session, error);

	if (rc < 0)
		return rc;
	if (!path)
		return error_set(error, BOBBIN_EINVAL, "which file?");
	if (write && !log_info(session->log)->writable)
		return error_set(error, BOBBIN_EREADONLY, "the session was opened for reading only");
	return 0;
}

int bobbin_files_sync(
	bobbin_session *session, struct bobbin_files_report *ret_report, struct bobbin_error *error)
{
	int rc = check(session, "", true, error);

	return rc < 0 ? rc : workspace_sync(session, false, NULL, ret_report, error);
}

/* What is to be seen of a session that may only be read is what its log says. */
static int look(bobbin_session *session, struct bobbin_error *error)
{
	if (!log_info(session->log)->writable)
		return log_refresh(session->log, error);
	return workspace_sync(session, false, NULL, NULL, error);
}

static int head_of(bobbin_session *session, const char *at, uint32_t *ret_head, struct bobbin_error *error)
{
	*ret_head = log_head(session->log);
	if (!at)
		return 0;
	int rc = log_find(session->log, slice_of(at), ret_head, error);
	if (!rc && !log_has_node(session->log, *ret_head))
		rc = error_set(error, BOBBIN_ENOTFOUND, "message %.60s is no part of this session", at);
	return rc;
}

static int add_file(bobbin_session *session, bobbin_files *files, const struct file_version *version,
	struct bobbin_error *error)
{
	char after[PATH_ID_BYTES] = "";
	int rc = version->head == NODE_NONE ? 0 : log_node_id(session->log, version->head, after, error);

	if (rc < 0)
		return rc;
	struct bobbin_file file = {
		.path = version->path,
		.size = version->size,
		.version = arena_copy(&files->arena, version->digest, strlen(version->digest)),
		.by = version->by,
		.ts = version->ts,
		.after = arena_copy(&files->arena, after, strlen(after)),
		.inherited = !version->own,
	};
	if (!file.version || !file.after)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	files->files[files->count++] = file;
	return 0;
}

static int list(bobbin_session *session, const struct bobbin_files_options *options, bobbin_files *files,
	struct bobbin_error *error)
{
	struct file_version *versions;
	size_t count = 0;
	uint32_t head;
	int rc = look(session, error);

	if (!rc)
		rc = head_of(session, options->at, &head, error);
	if (!rc)
		rc = versions_read(session, head, &files->arena, &versions, &count, error);
	if (rc < 0)
		return rc;
	files->files = arena_alloc(&files->arena, (count + 1) * sizeof(*files->files));
	if (!files->files)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t first = 0; !rc && first < count;) {
		struct file_state state = versions_state(versions, count, first);
		bool wanted = !options->path || strcmp(options->path, state.path) == 0;
		for (size_t i = first; !rc && wanted && i < state.next; i++)
			if (options->versions ? versions[i].on_line && strcmp(versions[i].by, "line") != 0
					      : &versions[i] == state.target)
				rc = add_file(session, files, &versions[i], error);
		first = state.next;
	}
	return rc;
}

int bobbin_files_open(bobbin_session *session, const struct bobbin_files_options *options, bobbin_files **ret_files,
	struct bobbin_error *error)
{
	struct bobbin_files_options all = BOBBIN_FILES_OPTIONS_INIT;
	int rc = check(session, "", false, error);

	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	bobbin_files *files = mem_alloc_zero(sizeof(*files));
	if (!files)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = list(session, &all, files, error);
	if (rc < 0)
		bobbin_files_close(files);
	else
		*ret_files = files;
	return rc;
}

const struct bobbin_file *bobbin_files_next(bobbin_files *files)
{
	return files->next < files->count ? &files->files[files->next++] : NULL;
}

void bobbin_files_close(bobbin_files *files)
{
	if (!files)
		return;
	arena_release(&files->arena);
	mem_free(files);
}

#define VERSION_DIGITS_MIN 4

static bool begins_digest(const char *at)
{
	size_t len = strlen(at);
	return len >= VERSION_DIGITS_MIN && len < SHA256_HEX_BYTES && strspn(at, "0123456789abcdef") == len;
}

/* The version of a path that `at` names: what there was at that message, or the one with these digits. */
static int find_version(bobbin_session *session, const char *path, const char *at, struct arena *arena,
	const struct file_version **ret_version, struct bobbin_error *error)
{
	struct file_version *versions;
	size_t count;
	uint32_t head;
	bool is_message = head_of(session, at, &head, NULL) == 0;
	int rc = 0;

	*ret_version = NULL;
	if (!is_message && !begins_digest(at))
		return error_set(error, BOBBIN_ENOTFOUND,
			"%.60s is neither a message nor a version (at least four of its digits)", at);
	if (!is_message)
		head = log_head(session->log);
	rc = versions_read(session, head, arena, &versions, &count, error);
	for (size_t first = 0; !rc && first < count;) {
		struct file_state state = versions_state(versions, count, first);
		for (size_t i = first; strcmp(path, state.path) == 0 && i < state.next; i++)
			if (is_message ? &versions[i] == state.target
				       : *versions[i].digest &&
						 strncmp(versions[i].digest, at, strlen(at)) == 0)
				*ret_version = &versions[i];
		first = state.next;
	}
	if (!rc && !*ret_version)
		rc = error_set(error, BOBBIN_ENOTFOUND, "there is no %s %s %.60s", path,
			is_message ? "as of" : "in version", at);
	return rc;
}

static int read_version(bobbin_session *session, const char *path, const char *at, struct buffer *out,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	const struct file_version *version;
	char head[PATH_ID_BYTES] = "";
	int rc = look(session, error);

	if (!rc && !at && log_head(session->log) != NODE_NONE)
		rc = log_node_id(session->log, log_head(session->log), head, error);
	if (!rc)
		rc = find_version(session, path, at ? at : head, &arena, &version, error);
	if (!rc)
		rc = blob_read(session->store->store, slice_of(version->digest), out, error);
	arena_release(&arena);
	return rc;
}

int bobbin_file_read(bobbin_session *session, const char *path, const char *at, char **ret_data, size_t *ret_len,
	struct bobbin_error *error)
{
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 2);
	size_t len;
	int rc = check(session, path, false, error);

	if (rc < 0)
		return rc;
	rc = at || !log_info(session->log)->writable ? read_version(session, path, at, &content, error)
						     : workspace_read(session, slice_of(path), &content, error);
	if (!rc && !content.len)
		buffer_add(&content, "", 0);
	char *data = rc ? NULL : buffer_take(&content, &len);
	if (!rc && !data)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	buffer_release(&content);
	if (rc < 0)
		return rc;
	*ret_data = data;
	if (ret_len)
		*ret_len = len;
	return 0;
}

int bobbin_file_put(
	bobbin_session *session, const char *path, const void *data, size_t len, struct bobbin_error *error)
{
	int rc = check(session, path, true, error);

	if (!rc && !data && len)
		rc = error_set(error, BOBBIN_EINVAL, "a file needs a content");
	return rc ? rc
		  : workspace_put(session, slice_of(path), (struct slice){len ? data : "", len}, "host", error);
}

int bobbin_file_remove(bobbin_session *session, const char *path, struct bobbin_error *error)
{
	int rc = check(session, path, true, error);

	return rc ? rc : workspace_remove(session, slice_of(path), "host", error);
}
