/* SPDX-License-Identifier: MIT */
/*
 * Beginning with an index file instead of with the log's first byte, and what happens when that file turns
 * out to be no good.
 */
#include <errno.h>
#include <fcntl.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "store/file.h"
#include "store/index_file.h"
#include "store/log_internal.h"
#include "store/scan.h"
#include "store/store_internal.h"
#include "store/token_sums.h"

int store_cache_dir(const struct store *store, bool write)
{
	if (write && store->read_only)
		return -EROFS;
	const struct platform *platform = store->platform;
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int dir = platform->open_at(platform->context, store->dir, STORE_CACHE_NAME, flags, 0);

	if (dir != -ENOENT || !write)
		return dir;
	int rc = platform->make_dir_at(platform->context, store->dir, STORE_CACHE_NAME, 0700);
	return rc < 0 && rc != -EEXIST ? rc : platform->open_at(platform->context, store->dir, STORE_CACHE_NAME, flags, 0);
}

static void mark_name(const char *id, char ret_name[LOG_NAME_BYTES])
{
	size_t len = strlen(id);

	memcpy(ret_name, id, len);
	memcpy(ret_name + len, ".unsynced", sizeof(".unsynced"));
}

void log_mark_unsynced(const struct log *log)
{
	char name[LOG_NAME_BYTES];
	int file, dir = log->hidden ? -1 : store_cache_dir(log->store, true);

	if (dir < 0)
		return;
	mark_name(log->stem, name);
	if (file_open(log->platform, dir, name, O_WRONLY | O_CREAT | O_APPEND, &file, NULL, NULL) == 0)
		file_close(log->platform, file);
	file_close(log->platform, dir);
}

bool log_is_marked_unsynced(const struct log *log, int dir)
{
	struct file_info info;
	char name[LOG_NAME_BYTES];

	mark_name(log->stem, name);
	return log->platform->info_at(log->platform->context, dir, name, &info) != -ENOENT; /* also if nobody can tell */
}

static void forget(const struct store *store, int dir, const char *stem)
{
	char name[LOG_NAME_BYTES];

	index_name(stem, name);
	store->platform->unlink_at(store->platform->context, dir, name, 0);
	mark_name(stem, name);
	store->platform->unlink_at(store->platform->context, dir, name, 0);
	token_sums_forget(store->platform, dir, stem);
}

void store_forget_caches(const struct store *store, const char *id)
{
	char stem[LOG_NAME_BYTES];
	int dir = store_cache_dir(store, false);

	if (dir < 0)
		return;
	forget(store, dir, id);
	log_copy_name(id, stem);
	stem[strlen(stem) - strlen(".jsonl")] = '\0';
	forget(store, dir, stem);
	file_close(store->platform, dir);
}

void index_name(const char *id, char ret_name[LOG_NAME_BYTES])
{
	size_t len = strlen(id);

	memcpy(ret_name, id, len);
	memcpy(ret_name + len, ".index", sizeof(".index"));
}

void store_discard_index(const struct store *store, const char *id)
{
	char name[LOG_NAME_BYTES];
	int dir = store_cache_dir(store, false);

	if (dir < 0)
		return;
	index_name(id, name);
	store->platform->unlink_at(store->platform->context, dir, name, 0);
	file_close(store->platform, dir);
}

/* ---- Does it fit? ----------------------------------------------------------------------------------------
 */

int log_edge_crc(const struct log *log, uint64_t from, uint64_t to, uint32_t *ret_crc)
{
	char bytes[INDEX_EDGE_BYTES];
	size_t len = (size_t)(to - from);
	ssize_t got = platform_read_full(log->platform, log->file, bytes, len, from);

	if (got < 0 || (size_t)got != len)
		return got < 0 ? (int)got : 0;
	*ret_crc = crc32c(0, bytes, len);
	return 1;
}

int log_index_fits(const struct log *log, const struct index_trailer *trailer, const struct file_info *info)
{
	uint64_t covered = trailer->state.position.offset;
	uint64_t edge = covered < INDEX_EDGE_BYTES ? covered : INDEX_EDGE_BYTES;
	uint32_t first, last;

	if (strncmp(trailer->id, log->id, sizeof(trailer->id)) != 0 || trailer->device != log->device ||
		trailer->inode != log->inode || covered > info->size ||
		(covered == info->size && trailer->modified_ns != info->modified_ns))
		return 0;
	int rc = log_edge_crc(log, 0, edge, &first);
	if (rc == 1)
		rc = log_edge_crc(log, covered - edge, covered, &last);
	return rc == 1 ? first == trailer->first_crc && last == trailer->last_crc : rc;
}

struct index_file *log_open_index(const struct log *log)
{
	struct index_file *file;
	char name[LOG_NAME_BYTES];
	int descriptor, dir = store_cache_dir(log->store, false);

	if (dir < 0)
		return NULL;
	index_name(log->stem, name);
	int rc = file_open(log->platform, dir, name, O_RDONLY, &descriptor, NULL, NULL);
	file_close(log->platform, dir);
	return rc || index_file_open(log->platform, descriptor, &file) < 0 ? NULL : file;
}

static bool read_line(struct index_file *file, struct session_line *ret_line)
{
	uint32_t len = index_file_trailer(file)->line_bytes;
	char *text = len <= LIMIT_META_BYTES ? mem_alloc(len + 1) : NULL;
	struct json value;
	bool good = text && index_file_line(file, text) && json_parse(text, len, &value, NULL) == 0 &&
		    session_line_parse(&value, ret_line, NULL) == 0;

	mem_free(text);
	return good;
}

/* ---- Reading it again ------------------------------------------------------------------------------------
 */

/* The covered part of the log, into an index of its own. */
int log_reload_index(void *data, struct index *ret_index)
{
	const struct log *log = data;
	uint64_t covered = index_file_trailer(log->index.prefix->file)->state.position.offset;
	struct log *shadow = mem_alloc_zero(sizeof(*shadow));

	if (!shadow)
		return BOBBIN_ENOMEM;
	*shadow = (struct log){.store = log->store,
		.platform = log->platform,
		.file = log->file,
		.line = SESSION_LINE_INIT,
		.ancestry = log->ancestry,
		.is_copy = log->is_copy,
		.base = log->base,
		.index = *ret_index};
	memcpy(shadow->id, log->id, sizeof(shadow->id));
	memcpy(shadow->name, log->name, sizeof(shadow->name));
	struct scan scan = {log->platform, log->file, covered, log_take_line, shadow};
	int rc = scan_lines(&scan, &shadow->index.state.position, NULL);
	*ret_index = shadow->index;
	arena_release(&shadow->scratch);
	mem_free(shadow);
	return rc > 0 ? BOBBIN_ECORRUPT : rc;
}

int log_checked(const struct log *log, int rc, struct bobbin_error *error)
{
	int failed = index_take_failure(&log->index);

	if (!failed)
		return rc;
	return error_set(error, failed, "%s: its index cannot be read, nor the log in its place", log->name);
}

/* ---- Attaching -------------------------------------------------------------------------------------------
 */

static bool stands_on_its_base(const struct log *log, const struct index_trailer *trailer)
{
	const struct index *index = &log->index;

	if (!index->base)
		return trailer->base_count == 0;
	return trailer->base_count == index->base_count && trailer->base_through == index->base_through &&
	       trailer->base_chain == index_node(index->base, index->base_through).chain;
}

/* Opens what the log inherits from, as its lines say. */
static int find_base(struct log *log, const struct log_chain *chain)
{
	struct session_line said;
	int rc = log_read_unwritten(log, &said, NULL);

	return rc ? rc : log_begin_again(log, &said, chain, NULL);
}

static void start_over(struct log *log)
{
	index_release(&log->index);
	index_init(&log->index, NULL, 0, NODE_NONE);
	log_free(log->base);
	log->base = NULL;
	log->line = log->ancestry = log->unwritten = (struct session_line)SESSION_LINE_INIT;
}

int log_attach_index(struct log *log, const struct log_chain *chain, struct bobbin_error *error)
{
	struct index_file *file = log_open_index(log);
	struct file_info info;
	int rc = file ? 0 : BOBBIN_ENOTFOUND;

	if (!rc && (log->platform->info(log->platform->context, log->file, &info) < 0 ||
			   log_index_fits(log, index_file_trailer(file), &info) != 1 ||
			   !read_line(file, &log->line)))
		rc = BOBBIN_ENOTFOUND;
	if (!rc)
		rc = find_base(log, chain);
	if (!rc && !stands_on_its_base(log, index_file_trailer(file)))
		rc = BOBBIN_ENOTFOUND;
	if (!rc)
		rc = index_attach(&log->index, file, log_reload_index, log);
	if (!rc) {
		log->saved_bytes = log->index.state.position.offset;
		log->saved_records = index_record_count(&log->index);
		return 0;
	}
	index_file_close(file);
	/* Whatever it was, reading the log itself tells. */
	start_over(log);
	return rc == BOBBIN_ENOMEM ? error_set(error, rc, "out of memory") : 0;
}
