/* SPDX-License-Identifier: MIT */
/*
 * Lists: what the folder, the first line and the last lines of each log, and the metas say. And deletion,
 * which must know who refers to whom. Both read a bounded number of bytes a session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/id.h"
#include "store/catalogue.h"
#include "store/file.h"
#include "store/log_internal.h"
#include "store/meta.h"
#include "store/record.h"
#include "store/store_internal.h"

#define HEAD_BYTES 8192 /* the longest header line we write has about 7,000 */
#define TAIL_BYTES 4096 /* shows the newest record unless that one is larger */
#define SUFFIX ".jsonl"

struct found {
	char id[LIMIT_SESSION_ID_BYTES + 1];
	struct file_info info;
};

struct listing {
	struct store *store;
	struct found *found;
	size_t count, cap;
	int error;
};

static bool find_log(void *data, const char *name)
{
	struct listing *listing = data;
	size_t len = strlen(name), suffix = sizeof(SUFFIX) - 1;
	struct found *found;

	if (len <= suffix || strcmp(name + len - suffix, SUFFIX) != 0 ||
		!id_is_session((struct slice){name, len - suffix}))
		return true;
	listing->error =
		mem_grow((void **)&listing->found, &listing->cap, listing->count + 1, sizeof(*found));
	if (listing->error)
		return false;
	found = &listing->found[listing->count];
	memset(found, 0, sizeof(*found));
	memcpy(found->id, name, len - suffix);
	const struct platform *platform = listing->store->platform;
	/* Deleted in between: no session. */
	if (platform->info_at(platform->context, listing->store->dir, name, &found->info) == 0)
		listing->count++;
	return true;
}

static int newest_first(const void *a, const void *b)
{
	const struct found *left = a, *right = b;
	if (left->info.modified_ns != right->info.modified_ns)
		return left->info.modified_ns > right->info.modified_ns ? -1 : 1;
	return strcmp(left->id, right->id);
}

static int find_logs(struct listing *listing, struct bobbin_error *error)
{
	const struct platform *platform = listing->store->platform;
	int rc = platform->list(platform->context, listing->store->dir, find_log, listing);

	if (rc < 0)
		return error_set_os(error, -rc, "cannot list %s", listing->store->path);
	if (listing->error)
		return error_set(error, listing->error, "out of memory");
	if (listing->count)
		qsort(listing->found, listing->count, sizeof(*listing->found), newest_first);
	return 0;
}

/* ---- One session's ends ----------------------------------------------------------------------------------
 */

/* The number of the last whole record that begins within the last bytes of the log. */
static uint64_t last_seq(const char *tail, size_t len)
{
	struct json record, seq;
	int64_t value;

	while (len > 0) {
		const char *line = memrchr(tail, '\n', len);
		const char *start = line ? line + 1 : tail;
		if (line && json_parse(start, (size_t)(tail + len - start), &record, NULL) == 0 &&
			json_get(&record, "seq", &seq) && json_int64(&seq, &value) && value > 0)
			return (uint64_t)value;
		len = line ? (size_t)(line - tail) : 0;
	}
	return 0;
}

struct ends {
	struct session_line line; /* the header, if there is one */
	bool has_header, damaged;
	uint64_t last_seq;
};

static void read_header(const struct buffer *head, uint64_t size, struct ends *ends)
{
	const char *stop = head->data ? memchr(head->data, '\n', head->len) : NULL;
	size_t len = stop ? (size_t)(stop - head->data) : head->len;
	struct json record;
	enum record_kind kind;
	uint32_t crc;

	if (!head->data || (!stop && head->len < size))
		return; /* empty, or a first line too long for a header */
	if (json_parse(head->data, len, &record, NULL) == 0 && record_kind_of(&record, &kind)) {
		if (kind != RECORD_SESSION)
			return;
		ends->has_header = true;
		ends->damaged = record_crc_is_wrong(&record, &crc) ||
				session_line_parse(&record, &ends->line, NULL) < 0;
	} else
		ends->damaged = looks_like_session_line(head->data, len);
}

static int read_ends(
	struct store *store, const struct found *found, struct ends *ret_ends, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer text = BUFFER_INIT(HEAD_BYTES);
	struct ends ends = {.line = SESSION_LINE_INIT};
	char name[LOG_NAME_BYTES];
	struct file_info info;
	size_t len = strlen(found->id);
	int file;

	memcpy(name, found->id, len);
	memcpy(name + len, SUFFIX, sizeof(SUFFIX));
	int rc = file_open(platform, store->dir, name, O_RDONLY, &file, &info, error);
	if (rc)
		return rc;
	char *room = buffer_reserve(&text, HEAD_BYTES);
	ssize_t got = room ? platform_read_full(platform, file, room, HEAD_BYTES, 0) : BOBBIN_ENOMEM;
	if (got > 0) {
		text.len = (size_t)got;
		read_header(&text, info.size, &ends);
		uint64_t from = info.size > TAIL_BYTES ? info.size - TAIL_BYTES : 0;
		got = platform_read_full(platform, file, text.data, TAIL_BYTES, from);
		if (got > 0)
			ends.last_seq = last_seq(text.data, (size_t)got);
	}
	buffer_release(&text);
	file_close(platform, file);
	if (!room)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (got < 0)
		return error_set_os(error, (int)-got, "cannot read %s", name);
	*ret_ends = ends;
	return 0;
}

/* The lineage of a log without a header on its first line: only the whole log tells it. */
static int read_lineage(
	struct store *store, const struct found *found, struct session_line *line, struct bobbin_error *error)
{
	struct log *log;
	int rc = log_open(store, slice_of(found->id), LOG_READ, &log, error);

	if (rc < 0)
		return rc;
	line->has_parent = log->info.parent_id[0] != '\0';
	line->forked_at = log->info.forked_at;
	memcpy(line->parent_id, log->info.parent_id, strlen(log->info.parent_id) + 1);
	memcpy(line->base_id, log->info.base_id, strlen(log->info.base_id) + 1);
	log_close(log);
	return 0;
}

/* A crash may leave the meta of a session of the same id that was deleted before. */
static bool is_of_this_log(const struct session_line *header, const struct session_line *meta)
{
	return strcmp(header->owner, meta->owner) == 0 && strcmp(header->parent_id, meta->parent_id) == 0 &&
	       header->forked_at == meta->forked_at &&
	       (!header->created[0] || !meta->created[0] || strcmp(header->created, meta->created) == 0);
}

/* Header first; what it does not say, and a newer title, from the meta. Without either (a log made by hand
 * that lost its meta) the log itself is read. */
static int describe(struct store *store, const struct found *found, struct arena *arena,
	struct store_entry *ret_entry, bool *ret_lasts, struct bobbin_error *error)
{
	struct ends ends = {.line = SESSION_LINE_INIT};
	struct meta meta = {.line = SESSION_LINE_INIT};
	int rc = read_ends(store, found, &ends, NULL);

	if (rc && rc != BOBBIN_ENOMEM)
		ends.damaged = true;
	if (rc != BOBBIN_ENOMEM)
		rc = meta_read(store, found->id, &meta, NULL);
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (rc == 0 && ends.has_header && !is_of_this_log(&ends.line, &meta.line)) {
		meta = (struct meta){.line = SESSION_LINE_INIT};
		rc = BOBBIN_ENOTFOUND;
	}
	if (rc == 0)
		session_line_merge(&ends.line, &meta.line);
	else if (!ends.has_header && !ends.damaged)
		ends.damaged = read_lineage(store, found, &ends.line, NULL) < 0;
	*ret_entry = (struct store_entry){
		.id = arena_copy(arena, found->id, strlen(found->id)),
		.owner = arena_copy(arena, ends.line.owner, strlen(ends.line.owner)),
		.title = arena_copy(arena, ends.line.title, strlen(ends.line.title)),
		.parent_id = arena_copy(arena, ends.line.parent_id, strlen(ends.line.parent_id)),
		.forked_at = ends.line.forked_at,
		.messages = meta.messages,
		.messages_exact = rc == 0 && meta.has_messages && meta.log_bytes == found->info.size,
		.last_seq = ends.last_seq,
		.bytes = found->info.size,
		.updated_ns = found->info.modified_ns,
		.damaged = ends.damaged,
	};
	if (!ret_entry->id || !ret_entry->owner || !ret_entry->title || !ret_entry->parent_id)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	/* Without a header, or with a meta that is behind, more than the log's bytes decides. */
	*ret_lasts = ends.has_header && !ends.damaged && ret_entry->messages_exact;
	return 0;
}

static bool is_wanted(const struct store_entry *entry, const struct store_list_options *options)
{
	if (!options)
		return true;
	if (options->owner && strcmp(options->owner, entry->owner) != 0)
		return false;
	if (options->parent_id && strcmp(options->parent_id, entry->parent_id) != 0)
		return false;
	return !options->title || strcasestr(entry->title, options->title);
}

struct cataloguing {
	struct catalogue old;
	struct buffer new_text;
	uint32_t new_count;
	size_t looked_at; /* logs that had to be opened */
};

/* From the catalogue if the log is as it was, else from its ends. */
static int look_up(struct store *store, const struct found *found, struct arena *arena,
	struct cataloguing *catalogue, struct store_entry *ret_entry, struct bobbin_error *error)
{
	const struct store_entry *known = catalogue_find(&catalogue->old, found->id, &found->info);
	bool lasts = true;

	if (known) {
		*ret_entry = *known;
	} else {
		int rc = describe(store, found, arena, ret_entry, &lasts, error);
		if (rc)
			return rc;
		catalogue->looked_at += lasts;
	}
	if (lasts) {
		catalogue_add(&catalogue->new_text, ret_entry, found->info.inode);
		catalogue->new_count++;
	}
	return 0;
}

int store_list(struct store *store, const struct store_list_options *options, struct arena *arena,
	struct store_entry **ret_entries, size_t *ret_count, struct bobbin_error *error)
{
	struct listing listing = {.store = store};
	struct cataloguing catalogue = {.new_text = BUFFER_INIT(SIZE_MAX - 1)};
	struct store_entry *entries = NULL;
	size_t count = 0, limit = options && options->limit ? options->limit : SIZE_MAX;
	int rc = find_logs(&listing, error);

	if (!rc) {
		entries = arena_alloc(arena, (listing.count + 1) * sizeof(*entries));
		if (!entries || catalogue_read(store, arena, &catalogue.old) < 0)
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	for (size_t i = 0; !rc && i < listing.count && count < limit; i++) {
		rc = look_up(store, &listing.found[i], arena, &catalogue, &entries[count], error);
		if (!rc && is_wanted(&entries[count], options))
			count++;
	}
	if (!rc && count < limit && catalogue.looked_at >= store->catalogue_step)
		catalogue_write(store, &catalogue.new_text, catalogue.new_count);
	buffer_release(&catalogue.new_text);
	mem_free(listing.found);
	if (rc)
		return rc;
	*ret_entries = entries;
	*ret_count = count;
	return 0;
}

int store_entry(struct store *store, struct slice id, struct arena *arena, struct store_entry *ret_entry,
	struct bobbin_error *error)
{
	struct found found = {0};
	char name[LOG_NAME_BYTES];

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	memcpy(found.id, id.data, id.len);
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, SUFFIX, sizeof(SUFFIX));
	int rc = store->platform->info_at(store->platform->context, store->dir, name, &found.info);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", name);
	bool ignored;
	return describe(store, &found, arena, ret_entry, &ignored, error);
}

/* ---- Deleting --------------------------------------------------------------------------------------------
 */

/* Whether what is left of a log that cannot be opened names `id`: its meta, or the bytes of its first line.
 */
static int remains_name(struct store *store, const struct found *found, const char *id, bool *ret_names)
{
	struct meta meta = {.line = SESSION_LINE_INIT};
	struct buffer head = BUFFER_INIT(HEAD_BYTES), name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	int rc = meta_read(store, found->id, &meta, NULL);

	*ret_names = rc == 0 && (strcmp(meta.line.parent_id, id) == 0 || strcmp(meta.line.base_id, id) == 0);
	buffer_addf(&name, "%s%s", found->id, SUFFIX);
	if (rc != BOBBIN_ENOMEM && !buffer_error(&name))
		rc = file_read(store->platform, store->dir, name.data, HEAD_BYTES, &head, NULL);
	if (rc == 0 && head.data) {
		const char *stop = memchr(head.data, '\n', head.len);
		buffer_truncate(&name, 0);
		buffer_addf(&name, "\"%s\"", id);
		if (!buffer_error(&name) &&
			memmem(head.data, stop ? (size_t)(stop - head.data) : head.len, name.data, name.len))
			*ret_names = true;
	}
	if (buffer_error(&name))
		rc = BOBBIN_ENOMEM;
	buffer_release(&head);
	buffer_release(&name);
	return rc == BOBBIN_ENOMEM ? rc : 0;
}

/* Whether a session refers to `id`, by what its log says. Only logs without a whole header of ours are read
 * whole; what cannot be opened then may refer to anything, and is an error that says what to do. */
static int refers_to(struct store *store, const struct found *found, const char *id, bool *ret_refers,
	struct bobbin_error *error)
{
	struct ends ends = {.line = SESSION_LINE_INIT};
	struct bobbin_error reason = {0};
	int rc = read_ends(store, found, &ends, &reason);

	if (rc == BOBBIN_ENOTFOUND || rc == BOBBIN_EREFUSED) {
		*ret_refers = false; /* gone, or nothing that could be opened */
		return 0;
	}
	if (!rc && (!ends.has_header || ends.damaged)) {
		ends.line = (struct session_line)SESSION_LINE_INIT;
		rc = read_lineage(store, found, &ends.line, &reason);
	}
	*ret_refers = ends.line.has_parent &&
		      (strcmp(ends.line.parent_id, id) == 0 || strcmp(ends.line.base_id, id) == 0);
	if (rc && rc != BOBBIN_ENOMEM && remains_name(store, found, id, ret_refers) < 0)
		rc = BOBBIN_ENOMEM;
	if (rc == BOBBIN_ENOMEM)
		return error_set(error, rc, "out of memory");
	if (!rc || *ret_refers)
		return 0;
	return error_set(error, rc == BOBBIN_EIO ? rc : BOBBIN_EREFUSED,
		"session %s is kept: %s%s cannot be read and may be a fork of it; mend, delete or move away "
		"that one first (%s)",
		id, found->id, SUFFIX, reason.message);
}

static int refuse_if_referred_to(struct store *store, const char *id, struct bobbin_error *error)
{
	struct listing listing = {.store = store};
	int rc = find_logs(&listing, error);

	for (size_t i = 0; !rc && i < listing.count; i++) {
		bool refers = false;
		if (strcmp(listing.found[i].id, id) == 0)
			continue;
		rc = refers_to(store, &listing.found[i], id, &refers, error);
		if (!rc && refers)
			rc = error_set(error, BOBBIN_EREFUSED, "session %s is kept: %s was forked from it",
				id, listing.found[i].id);
	}
	mem_free(listing.found);
	return rc;
}

/* What a crash left of making the log: a second name of the log in `file`, which is locked, or half a log.
 * Whoever is making one right now has that locked, and takes it away. */
static int unlink_temporary(struct store *store, const char *id, int file, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	struct file_info info, log;
	int other = -1;

	buffer_addf(&name, ".%s.jsonl.tmp", id);
	int rc = buffer_error(&name) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
	if (!rc && platform->info_at(platform->context, store->dir, name.data, &info) == 0) {
		if (platform->info(platform->context, file, &log) < 0 || log.inode != info.inode)
			rc = file_open_locked(platform, store->dir, name.data, 0, &other, error);
		int os = rc ? 0 : platform->unlink_at(platform->context, store->dir, name.data, 0);
		if (os < 0)
			rc = error_set_os(error, -os, "cannot delete %s", name.data);
		file_close(platform, other);
	}
	buffer_release(&name);
	return rc == BOBBIN_EBUSY ? 0 : rc;
}

static const struct {
	const char *before, *after;
} BESIDE_LOG[] = {
	{"", ".meta.json"}, {".", ".meta.json.tmp"}, {"", ".memory.md"}, {".", ".jsonl.tmp"}, {"", ".turn"}};
#define BESIDE_LOG_COUNT (sizeof(BESIDE_LOG) / sizeof(BESIDE_LOG[0]))

static int add_name(struct buffer *name, const char *before, const char *id, const char *after,
	struct bobbin_error *error)
{
	buffer_truncate(name, 0);
	buffer_addf(name, "%s%s%s", before, id, after);
	return buffer_error(name) ? error_set(error, BOBBIN_ENOMEM, "out of memory") : 0;
}

static int unlink_one(struct store *store, const char *before, const char *id, const char *after,
	struct bobbin_error *error)
{
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	int rc = add_name(&name, before, id, after, error);

	if (!rc) {
		int os = store->platform->unlink_at(store->platform->context, store->dir, name.data, 0);
		if (os < 0 && os != -ENOENT)
			rc = error_set_os(error, -os, "cannot delete %s", name.data);
	}
	buffer_release(&name);
	return rc;
}

/* What stands beside a log; `file`: the log, or -1. The turn lock goes last of the files, so that a deletion
 * that was interrupted shows until it is done. */
static int unlink_beside(struct store *store, const char *id, int file, struct bobbin_error *error)
{
	int rc = 0;

	store_forget_caches(store, id);
	for (size_t i = 0; !rc && i < BESIDE_LOG_COUNT; i++)
		rc = strcmp(BESIDE_LOG[i].after, ".jsonl.tmp") == 0
			     ? unlink_temporary(store, id, file, error)
			     : unlink_one(store, BESIDE_LOG[i].before, id, BESIDE_LOG[i].after, error);
	/* An empty workspace folder; a full one is the host's to clear. */
	store->platform->unlink_at(store->platform->context, store->dir, id, AT_REMOVEDIR);
	return rc;
}

/* Whether something of a deleted session is there. BOBBIN_ENOMEM. */
static int has_leftovers(struct store *store, const char *id, bool *ret_has, struct bobbin_error *error)
{
	struct buffer name = BUFFER_INIT(2 * LOG_NAME_BYTES);
	struct file_info info;
	int rc = 0;

	*ret_has = false;
	for (size_t i = 0; !rc && !*ret_has && i < BESIDE_LOG_COUNT; i++) {
		rc = add_name(&name, BESIDE_LOG[i].before, id, BESIDE_LOG[i].after, error);
		*ret_has = !rc && store->platform->info_at(
					  store->platform->context, store->dir, name.data, &info) == 0;
	}
	buffer_release(&name);
	return rc;
}

static int sync_folder(struct store *store, struct bobbin_error *error)
{
	int os = store->platform->sync(store->platform->context, store->dir);
	return os < 0 ? error_set_os(error, -os, "cannot sync %s", store->path) : 0;
}

static int check_bytes(
	struct store *store, const char *id, int file, uint64_t bytes, struct bobbin_error *error)
{
	struct file_info info;
	int os = store->platform->info(store->platform->context, file, &info);

	if (os < 0)
		return error_set_os(error, -os, "cannot examine the log of %s", id);
	return info.size == bytes ? 0 : error_set(error, BOBBIN_ECONFLICT, "session %s is in use", id);
}

/* `id` is NUL-terminated. The log goes first: what a crash leaves behind is no session. Without a log, what
 * such a crash left is taken away. */
static int delete_locked(
	struct store *store, const char *id, const uint64_t *only_bytes, struct bobbin_error *error)
{
	char name[LOG_NAME_BYTES];
	int file = -1;
	size_t len = strlen(id);

	memcpy(name, id, len);
	memcpy(name + len, SUFFIX, sizeof(SUFFIX));
	int rc = file_open(store->platform, store->dir, name, O_RDONLY, &file, NULL, error);
	bool gone = rc == BOBBIN_ENOTFOUND;
	if (!rc) {
		rc = file_lock(store->platform, file, LIMIT_LOCK_WAIT_MS, id, error);
		if (!rc)
			rc = only_bytes ? check_bytes(store, id, file, *only_bytes, error)
					: refuse_if_referred_to(store, id, error);
		if (!rc)
			rc = unlink_one(store, "", id, SUFFIX, error);
	}
	if (!rc || gone)
		rc = unlink_beside(store, id, file, error);
	if (!rc)
		rc = sync_folder(store, error);
	file_close(store->platform, file);
	return rc;
}

static int delete_session(
	struct store *store, struct slice id, const uint64_t *only_bytes, struct bobbin_error *error)
{
	struct turn_lock *turn;
	struct file_info info;
	char name[LOG_NAME_BYTES];
	bool there;
	int lock;

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, SUFFIX, sizeof(SUFFIX));
	int rc = store->platform->info_at(store->platform->context, store->dir, name, &info);
	if (rc < 0 && rc != -ENOENT)
		return error_set_os(error, -rc, "cannot examine %s", name);
	there = rc == 0;
	name[id.len] = '\0';
	if (!there && (rc = has_leftovers(store, name, &there, error)) < 0)
		return rc;
	if (!there)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no session %s in %s", name, store->path);
	rc = file_open_locked(store->platform, store->dir, STORE_LOCK_NAME, LIMIT_LOCK_WAIT_MS, &lock, error);
	if (rc)
		return rc;
	rc = store_turn_lock(store, id, 0, &turn, error);
	if (!rc) {
		rc = delete_locked(store, name, only_bytes, error);
		store_turn_unlock(turn);
	}
	file_close(store->platform, lock);
	return rc;
}

int store_delete(struct store *store, struct slice id, struct bobbin_error *error)
{
	return delete_session(store, id, NULL, error);
}

int store_delete_unused(struct store *store, struct slice id, uint64_t bytes, struct bobbin_error *error)
{
	return delete_session(store, id, &bytes, error);
}
