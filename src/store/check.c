/* SPDX-License-Identifier: MIT */
/* What belongs to one session: its meta file and its index file, see check.h; and why one cannot be opened. */
#include "store/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "base/id.h"
#include "store/file.h"
#include "store/index_file.h"
#include "store/log_internal.h"
#include "store/meta.h"
#include "store/record.h"
#include "store/store_internal.h"

#define WINDOW_BYTES ((size_t)1 << 20) /* of a log, read at a time */
#define HEAD_BYTES 8192		       /* the longest header line we write has about 7,000 */
#define MESSAGE_BYTES 480

int check_found(const struct store_check *check, const char *kind, const char *file, const char *mending,
	struct bobbin_error *error, const char *format, ...)
{
	char message[MESSAGE_BYTES];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	const struct store_finding finding = {kind, file, 0, 0, message, mending};
	int rc = check->found(check->data, &finding);
	return rc < 0 ? error_set(error, rc, "%s", error_code_text(rc)) : 0;
}

int check_unread(const struct store_check *check, const char *file, int os, struct bobbin_error *error)
{
	struct bobbin_error why;

	error_set_os(&why, os, "it could not be looked at");
	return check_found(check, "unread", file, "", error, "%s. %s", why.message,
		os == EACCES || os == EPERM ? "Give the permission to read it back (chmod 600; of a folder 700)."
					    : "Nothing is known of it: look again.");
}

int check_progress(const struct store_check *check, const char *what, uint64_t done, uint64_t total,
	struct bobbin_error *error)
{
	int rc = check->progress ? check->progress(check->data, what, done, total) : 0;

	return rc < 0 ? error_set(error, rc, "stopped") : 0;
}

/* Why a file of the store cannot be read, as errno; EIO if it can be opened now, or nobody says. */
static int reason_of(const struct store *store, const char *name)
{
	int file = store->platform->open_at(store->platform->context, store->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (file < 0)
		return -file;
	file_close(store->platform, file);
	return EIO;
}

/* ---- The meta file ---------------------------------------------------------------------------------------
 */

/* What it says that the log contradicts; NULL if nothing. A log without a header of ours contradicts little: what only
 * its meta says is believed. `messages`: on the log's line. */
static const char *contradiction_of(const struct log *log, const struct meta *meta, uint64_t messages)
{
	const struct session_line *said = &meta->line, *known = &log->line;

	if (!meta_is_of(meta, log->id))
		return "it is another session's";
	if (meta->log_bytes > log->index.state.position.offset)
		return "the log was longer when this was written: lines of it are lost, unless they were taken out on purpose";
	if (log->header_lost || !known->version)
		return NULL;
	if (strcmp(said->owner, known->owner) != 0)
		return "it names another owner";
	if (strcmp(said->parent_id, known->parent_id) != 0 || said->forked_at != known->forked_at)
		return "it says that it was forked from elsewhere";
	if (known->created[0] && said->created[0] && strcmp(said->created, known->created) != 0)
		return "it was made at another time";
	if (meta->log_bytes == log->index.state.position.offset && meta->has_messages &&
		meta->messages != messages)
		return "it counts other messages than the log has";
	return NULL;
}

static int contradiction(struct log *log, const struct meta *meta, const char **ret_wrong, struct bobbin_error *error)
{
	uint32_t head = log_head(log);
	struct log_node node = {0};
	int rc = head == NODE_NONE ? 0 : log_node(log, head, &node);

	if (rc)
		return error_set(error, rc, "%s: its last message cannot be looked up", log->name);
	*ret_wrong = contradiction_of(log, meta, head == NODE_NONE ? 0 : (uint64_t)node.depth + 1);
	return 0;
}

/* What was at the log's end is lost, and only its meta tells: that stays as it is, until a line of the log says it, too. */
static int check_cut(struct log *log, const struct store_check *check, bool *ret_cut, struct bobbin_error *error)
{
	uint64_t was = log_find_cut(log);

	*ret_cut = was != 0;
	return !was ? 0
		    : check_found(check, "cut", log->name, check->mend ? "" : "A new session is made of what can be read; this one stays as it is.",
			      error,
			      "it has %llu bytes, and had %llu when %s.meta.json was written: lines at its end are lost, unless they were "
			      "taken out on purpose. Put it back from a backup; whoever goes on in it notes the loss.",
			      (unsigned long long)log->index.state.position.offset, (unsigned long long)was, log->id);
}

static int check_meta(struct log *log, const struct store_check *check, struct bobbin_error *error)
{
	const struct platform *platform = log->platform;
	struct meta meta = {.line = SESSION_LINE_INIT};
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	struct file_info info;
	const char *wrong = NULL;
	bool cut = false;
	int rc;

	buffer_addf(&name, "%s.meta.json", log->id);
	if (buffer_error(&name))
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = platform->info_at(platform->context, log->store->dir, name.data, &info);
	if (rc < 0)
		rc = rc == -ENOENT ? 0 : check_unread(check, name.data, -rc, error);
	else if ((rc = meta_read(log->store, log->id, &meta, error)) == BOBBIN_ENOTFOUND)
		wrong = "it cannot be used";
	else if (rc == BOBBIN_EIO)
		rc = check_unread(check, name.data, reason_of(log->store, name.data), error);
	else if (!rc && (rc = check_cut(log, check, &cut, error)) == 0 && !cut)
		rc = contradiction(log, &meta, &wrong, error);
	if (wrong) {
		/* A link, or a folder of that name, is not ours to take away. */
		rc = check_found(check, "meta", name.data, S_ISREG(info.mode) ? "It is written anew, from the log." : "",
			error, "%s. It is only a cache: the log decides.", wrong);
		if (!rc && check->mend && S_ISREG(info.mode)) {
			platform->unlink_at(platform->context, log->store->dir, name.data, 0);
			if (!log->header_lost && !log->parent_lost)
				log_write_meta(log, NULL);
		}
	}
	buffer_release(&name);
	return rc == BOBBIN_ENOTFOUND ? 0 : rc;
}

static int check_mode(struct log *log, const struct store_check *check, struct bobbin_error *error)
{
	struct file_info info;
	int rc = log->platform->info(log->platform->context, log->file, &info);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", log->name);
	if (!(info.mode & 077))
		return 0;
	rc = check_found(check, "mode", log->name, "Its mode becomes 600.", error,
		"others may %s it (mode %03o)%s.", info.mode & 022 ? "write to" : "read", info.mode & 0777,
		info.mode & 022 ? ": nothing is appended to it until that is changed" : "");
	if (!rc && check->mend && (rc = log->platform->change_mode(log->platform->context, log->file, 0600)) < 0)
		rc = error_set_os(error, -rc, "cannot keep others from %s", log->name);
	return rc;
}

int store_check_session(
	struct store *store, struct log *log, const struct store_check *check, struct bobbin_error *error)
{
	(void)store;
	int rc = check_mode(log, check, error);

	return rc ? rc : check_meta(log, check, error);
}

/* ---- The index file --------------------------------------------------------------------------------------
 */

/* A log as a window that moves forwards. */
struct window {
	const struct log *log;
	char *data;
	size_t cap, len;
	uint64_t at;
	int failed; /* errno */
};

/* The bytes from `offset` on; NULL if they are not there or memory is out. */
static const char *window_bytes(struct window *window, uint64_t offset, uint32_t length)
{
	if (offset >= window->at && offset + length <= window->at + window->len)
		return window->data + (offset - window->at);
	size_t wanted = length > WINDOW_BYTES ? length : WINDOW_BYTES;
	if (wanted > window->cap) {
		char *data = mem_realloc(window->data, wanted);
		if (!data) {
			window->failed = ENOMEM;
			return NULL;
		}
		window->data = data;
		window->cap = wanted;
	}
	ssize_t got =
		platform_read_full(window->log->platform, window->log->file, window->data, wanted, offset);
	window->at = offset;
	window->len = got > 0 ? (size_t)got : 0;
	window->failed = got < 0 ? (int)-got : 0;
	return window->len >= length ? window->data : NULL;
}

/* The entries of an index file in the order of the log. */
struct comparison {
	const struct log *log;
	const struct store_check *check;
	struct index_file *file;
	const struct index_trailer *trailer;
	struct window window;
	uint32_t ordinal, control; /* the next ones */
	uint64_t end;		   /* of the record before */
	uint64_t last_chain, told;
	const char *wrong; /* NULL: nothing so far */
	int log_failed, index_failed; /* errno: what was taken for that */
};

static bool bytes_are(struct comparison *comparison, uint64_t offset, uint32_t length, uint32_t crc)
{
	const char *bytes = offset < comparison->end || length > LIMIT_LINE_BYTES
				    ? NULL
				    : window_bytes(&comparison->window, offset, length);

	comparison->end = offset + length;
	return bytes && crc32c(0, bytes, length) == crc;
}

/* The chained hash of a node's parent; false if that cannot be looked up here. */
static bool parent_chain(struct comparison *comparison, const struct index_node *node, uint64_t *ret_chain)
{
	const struct index_trailer *trailer = comparison->trailer;
	struct index_node parent;

	if (node->parent == NODE_NONE)
		*ret_chain = 0;
	else if (node->parent < trailer->base_count) {
		*ret_chain = trailer->base_chain;
		return node->parent == trailer->base_through;
	} else if (node->parent - trailer->base_count + 1 == comparison->ordinal)
		*ret_chain = comparison->last_chain;
	else if (!index_file_node(comparison->file, node->parent - trailer->base_count, &parent))
		return false;
	else
		*ret_chain = parent.chain;
	return true;
}

static const char *compare_node(struct comparison *comparison, const struct index_node *node)
{
	uint64_t chain;

	if (node->parent != NODE_NONE && node->parent >= comparison->trailer->base_count + comparison->ordinal)
		return "an entry names a parent that comes after it";
	if (!bytes_are(comparison, node->offset, node->length, node->crc))
		return "an entry is not what stands in the log at its place";
	if (parent_chain(comparison, node, &chain) && index_chain(chain, node->crc, node->length) != node->chain)
		return "the hash of a line is not that of its messages";
	comparison->last_chain = node->chain;
	comparison->ordinal++;
	return NULL;
}

/* One more entry; sets comparison->wrong at the first that does not hold. */
static void compare_next(struct comparison *comparison)
{
	const struct index_state *state = &comparison->trailer->state;
	struct index_node node = {.offset = UINT64_MAX};
	struct index_control control = {.offset = UINT64_MAX};

	if ((comparison->ordinal < state->node_count &&
		    !index_file_node(comparison->file, comparison->ordinal, &node)) ||
		(comparison->control < state->control_count &&
			!index_file_control(comparison->file, comparison->control, &control)))
		comparison->wrong = "a block of it is damaged";
	else if (node.offset < control.offset)
		comparison->wrong = compare_node(comparison, &node);
	else if (!bytes_are(comparison, control.offset, control.length, control.crc))
		comparison->wrong = "an entry is not what stands in the log at its place";
	else
		comparison->control++;
	if (comparison->wrong) { /* what could not be read is not wrong for that */
		comparison->log_failed = comparison->window.failed;
		comparison->index_failed = index_file_unread(comparison->file);
	}
}

static int compare_all(struct comparison *comparison, struct bobbin_error *error)
{
	const struct index_state *state = &comparison->trailer->state;
	int rc = 0;

	while (!rc && !comparison->wrong &&
		(comparison->ordinal < state->node_count || comparison->control < state->control_count)) {
		compare_next(comparison);
		if (comparison->end - comparison->told >= WINDOW_BYTES) {
			comparison->told = comparison->end;
			rc = check_progress(comparison->check, comparison->log->id, comparison->end,
				state->position.offset, error);
		}
	}
	mem_free(comparison->window.data);
	if (!rc && comparison->log_failed)
		rc = error_set_os(error, comparison->log_failed, "cannot read %s", comparison->log->name);
	return rc;
}

static const char UNREAD[] = "it cannot be read";

/* What is wrong with the open index file; NULL: nothing. Takes over `descriptor`. */
static int judge_index(struct log *log, int descriptor, const struct store_check *check,
	const char **ret_wrong, struct bobbin_error *error)
{
	struct index_file *file;
	struct file_info info;
	int rc = index_file_open(log->platform, descriptor, &file);

	*ret_wrong = NULL;
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc) {
		*ret_wrong = rc == BOBBIN_EIO ? UNREAD : "nothing in it is whole";
		return 0;
	}
	struct comparison comparison = {
		.log = log, .check = check, .file = file, .trailer = index_file_trailer(file), .window = {.log = log}};
	int fits = log->platform->info(log->platform->context, log->file, &info);
	if (fits == 0)
		fits = log_index_fits(log, comparison.trailer, &info);
	if (fits < 0)
		rc = error_set_os(error, -fits, "cannot read %s", log->name);
	else if (!fits)
		*ret_wrong = "it was made of another file, or of this one before it was changed (a copied or "
			     "restored store has such)";
	else if (!(rc = compare_all(&comparison, error)))
		*ret_wrong = comparison.index_failed ? UNREAD : comparison.wrong;
	index_file_close(file);
	return rc;
}

/* Opens the log's file alone, without reading it. */
static int open_file(struct store *store, struct slice id, struct log **ret_log, struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES];
	int file;

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, ".jsonl", sizeof(".jsonl"));
	int rc = file_open(store->platform, store->dir, name, O_RDONLY, &file, NULL, error);
	if (rc == BOBBIN_ENOTFOUND)
		return error_set(error, rc, "there is no session %.*s in %s", (int)id.len, id.data, store->path);
	return rc ? rc : log_new(store, id, file, LOG_READ, ret_log, error);
}

int store_check_index(struct store *store, struct slice id, const struct store_check *check,
	bool *ret_trusted, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	char shown[LOG_NAME_BYTES + sizeof(STORE_CACHE_NAME)], name[LOG_NAME_BYTES];
	const char *wrong = NULL;
	struct log *log;
	int descriptor, rc = open_file(store, id, &log, error);

	*ret_trusted = false;
	if (rc)
		return rc;
	index_name(log->id, name);
	snprintf(shown, sizeof(shown), "%s/%s", STORE_CACHE_NAME, name);
	int dir = store_cache_dir(store, false);
	int opened = dir < 0 ? BOBBIN_ENOTFOUND : file_open(platform, dir, name, O_RDONLY, &descriptor, NULL, NULL);
	if (opened == BOBBIN_EIO || opened == BOBBIN_ENOMEM)
		wrong = UNREAD;
	/* Whoever has it locked is writing it. */
	if (opened < 0) {
		descriptor = -1;
	} else if (platform->lock(platform->context, descriptor, LOCK_SH | LOCK_NB) < 0) {
		file_close(platform, descriptor);
		descriptor = -1;
	}
	if (descriptor >= 0)
		rc = judge_index(log, descriptor, check, &wrong, error);
	*ret_trusted = !rc && (!wrong || check->mend);
	if (!rc && wrong) {
		rc = check_found(check, wrong == UNREAD ? "unread" : "index", shown, "It is removed; the next to open the session makes a new one.",
			error, "%s. It is only a cache: the log is read in its place.", wrong);
		if (!rc && check->mend)
			store_discard_index(store, log->id);
	}
	file_close(platform, dir);
	log_free(log);
	return rc;
}

/* ---- Why it cannot be opened -----------------------------------------------------------------------------
 */

/* What the first line of a log says: 1; 0: nothing good; or negative: it cannot be read. */
static int read_header(struct store *store, const char *id, struct session_line *ret_line)
{
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES), head = BUFFER_INIT(HEAD_BYTES);
	struct json record;
	uint32_t ignored;
	bool good = false;

	buffer_addf(&name, "%s.jsonl", id);
	int rc = buffer_error(&name) ? buffer_error(&name)
				     : file_read(store->platform, store->dir, name.data, HEAD_BYTES, &head, NULL);
	if (!rc && head.data) {
		const char *stop = memchr(head.data, '\n', head.len);
		size_t len = stop ? (size_t)(stop - head.data) : head.len;
		if (json_parse(head.data, len, &record, NULL) < 0)
			good = !looks_like_session_line(head.data, len);
		else if (!record_crc_is_wrong(&record, &ignored)) {
			rc = session_line_parse(&record, ret_line, NULL);
			good = rc == 0;
			rc = rc == BOBBIN_ENOMEM ? rc : 0;
		}
	}
	buffer_release(&name);
	buffer_release(&head);
	return rc ? rc : good;
}

static bool is_emptied(struct store *store, const char *id)
{
	struct log *log;

	if (log_open_raw(store, slice_of(id), true, &log, NULL) < 0)
		return false;
	bool emptied = log->emptied;
	log_free(log);
	return emptied;
}

static bool is_forbidden(const struct store *store, const char *id)
{
	char name[LOG_NAME_BYTES];

	snprintf(name, sizeof(name), "%s.jsonl", id);
	int reason = reason_of(store, name);
	return reason == EACCES || reason == EPERM;
}

const char *store_why_unreadable(
	struct store *store, struct slice id, char ret_at[LIMIT_SESSION_ID_BYTES + 1])
{
	char seen[LIMIT_FORK_DEPTH + 2][LIMIT_SESSION_ID_BYTES + 1] = {{0}};

	memcpy(seen[0], id.data, id.len);
	for (size_t depth = 0; depth <= LIMIT_FORK_DEPTH; depth++) {
		struct session_line line = SESSION_LINE_INIT;
		memcpy(ret_at, seen[depth], sizeof(seen[depth]));
		if (store_lacks(store, slice_of(seen[depth])))
			return depth ? "parent_missing" : "unreadable";
		int there = read_header(store, seen[depth], &line);
		if (there < 0)
			return is_forbidden(store, seen[depth]) ? "forbidden" : "unreadable";
		if (!line.version && is_emptied(store, seen[depth]))
			return "emptied";
		if (!there)
			return "header";
		if (!line.has_parent || !line.forked_at) {
			memcpy(ret_at, seen[0], sizeof(seen[0]));
			return depth ? "parent_changed" : "unreadable";
		}
		memcpy(seen[depth + 1], line.base_id, sizeof(line.base_id));
		for (size_t i = 0; i <= depth; i++)
			if (strcmp(seen[i], line.base_id) == 0)
				return "cycle";
	}
	return "depth";
}
