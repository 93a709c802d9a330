/* SPDX-License-Identifier: MIT */
/* Lists: what the folder, the first line and the last lines of each log, and the metas say. They read a bounded
 * number of bytes a session. */
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

#define TAIL_BYTES 4096 /* shows the newest record unless that one is larger */

bool store_session_of(const char *name, const char *ending, char ret_id[LIMIT_SESSION_ID_BYTES + 1])
{
	size_t len = strlen(name), tail = strlen(ending);

	if (len <= tail || len - tail > LIMIT_SESSION_ID_BYTES || strcmp(name + len - tail, ending) != 0)
		return false;
	memcpy(ret_id, name, len - tail);
	ret_id[len - tail] = '\0';
	return id_is_session(slice_of(ret_id));
}

static bool find_log(void *data, const char *name)
{
	struct store_listing *listing = data;
	char id[LIMIT_SESSION_ID_BYTES + 1];
	struct store_found *found;

	if (!store_session_of(name, STORE_LOG_SUFFIX, id))
		return true;
	listing->error =
		mem_grow((void **)&listing->found, &listing->cap, listing->count + 1, sizeof(*found));
	if (listing->error)
		return false;
	found = &listing->found[listing->count];
	memset(found, 0, sizeof(*found));
	memcpy(found->id, id, strlen(id)); /* the rest is zero */
	const struct platform *platform = listing->store->platform;
	/* Deleted in between: no session. Any other failure hides none: what is looked at next says what is wrong. */
	if (platform->info_at(platform->context, listing->store->dir, name, &found->info) != -ENOENT)
		listing->count++;
	return true;
}

static int newest_first(const void *a, const void *b)
{
	const struct store_found *left = a, *right = b;
	if (left->info.modified_ns != right->info.modified_ns)
		return left->info.modified_ns > right->info.modified_ns ? -1 : 1;
	return strcmp(left->id, right->id);
}

int store_find_logs(struct store_listing *listing, struct bobbin_error *error)
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

/* BOBBIN_ENOMEM: which says nothing about the header. */
static int read_header(const struct buffer *head, uint64_t size, struct store_ends *ends)
{
	const char *stop = head->data ? memchr(head->data, '\n', head->len) : NULL;
	size_t len = stop ? (size_t)(stop - head->data) : head->len;
	struct json record;
	enum record_kind kind;
	uint32_t crc;

	if (!head->data || (!stop && head->len < size))
		return 0; /* empty, or a first line too long for a header */
	if (json_parse(head->data, len, &record, NULL) == 0 && record_kind_of(&record, &kind)) {
		if (kind != RECORD_SESSION)
			return 0;
		ends->has_header = true;
		int rc = session_line_parse(&record, &ends->line, NULL);
		if (rc == BOBBIN_ENOMEM)
			return rc;
		ends->damaged = rc < 0 || record_crc_is_wrong(&record, &crc);
	} else
		ends->damaged = looks_like_session_line(head->data, len);
	return 0;
}

int store_read_ends(
	struct store *store, const struct store_found *found, struct store_ends *ret_ends, struct bobbin_error *error)
{
	const struct platform *platform = store->platform;
	struct buffer text = BUFFER_INIT(STORE_HEAD_BYTES);
	struct store_ends ends = {.line = SESSION_LINE_INIT};
	char name[LOG_NAME_BYTES];
	struct file_info info;
	size_t len = strlen(found->id);
	int file;

	memcpy(name, found->id, len);
	memcpy(name + len, STORE_LOG_SUFFIX, sizeof(STORE_LOG_SUFFIX));
	int rc = file_open(platform, store->dir, name, O_RDONLY, &file, &info, error);
	if (rc)
		return rc;
	ends.info = info;
	char *room = buffer_reserve(&text, STORE_HEAD_BYTES);
	int memory = room ? 0 : BOBBIN_ENOMEM;
	ssize_t got = room ? platform_read_full(platform, file, room, STORE_HEAD_BYTES, 0) : BOBBIN_ENOMEM;
	if (got > 0) {
		text.len = (size_t)got;
		memory = read_header(&text, info.size, &ends);
		uint64_t from = info.size > TAIL_BYTES ? info.size - TAIL_BYTES : 0;
		got = platform_read_full(platform, file, text.data, TAIL_BYTES, from);
		if (got > 0)
			ends.last_seq = last_seq(text.data, (size_t)got);
	}
	buffer_release(&text);
	file_close(platform, file);
	if (memory)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (got < 0)
		return error_set_os(error, (int)-got, "cannot read %s", name);
	*ret_ends = ends;
	return 0;
}

/* The lineage of a log without a header on its first line: only the whole log tells it. */
int store_read_lineage(
	struct store *store, const struct store_found *found, struct session_line *line, struct bobbin_error *error)
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

/* A crash may leave the meta of a session of the same id that was deleted before, and a hand swap two. One that names
 * neither the session of the header nor the file is another's. */
static bool is_of_this_log(const char *id, const struct session_line *header, const struct session_line *meta)
{
	bool same_id = !meta->id[0] || strcmp(meta->id, id) == 0 || strcmp(meta->id, header->id) == 0;

	return same_id && strcmp(header->owner, meta->owner) == 0 && strcmp(header->parent_id, meta->parent_id) == 0 &&
	       header->forked_at == meta->forked_at &&
	       (!header->created[0] || !meta->created[0] || strcmp(header->created, meta->created) == 0);
}

/* Why the ends of a log cannot be read, in a few words. */
static const char *why_unreadable(const struct store *store, const struct file_info *info)
{
	if (!info->mode) /* it could not be examined either */
		return "its file cannot be read";
	if (S_ISREG(info->mode))
		return info->owner == store->platform->user(store->platform->context)
			       ? "its file cannot be read"
			       : "it belongs to another user";
	if (S_ISLNK(info->mode))
		return "it is a link, not a log";
	return S_ISDIR(info->mode) ? "it is a folder, not a log" : "it is a device, not a log";
}

/* What is known of a session; `why` says what is not, and NULL that nothing is wrong. */
struct known {
	struct store_ends ends;
	struct meta meta;
	bool has_meta, unread;
	bool gone; /* deleted since the folder was read */
	struct file_info info;
	const char *why;
};

static int read_known_meta(struct store *store, const struct store_found *found, struct known *known)
{
	struct store_ends *ends = &known->ends;
	int rc = meta_read(store, found->id, &known->meta, NULL);

	known->has_meta = rc == 0;
	if (rc == 0 && ends->has_header && !is_of_this_log(found->id, &ends->line, &known->meta.line)) {
		known->meta = (struct meta){.line = SESSION_LINE_INIT};
		known->has_meta = false;
	}
	if (known->has_meta)
		session_line_merge(&ends->line, &known->meta.line);
	/* Beside a header it says nothing that could not be done without. */
	if (rc == BOBBIN_EIO && !ends->has_header && !known->why) {
		known->unread = true;
		known->why = "its meta.json cannot be read";
	}
	return rc == BOBBIN_ENOMEM ? rc : 0;
}

/* Header first; what it does not say, and a newer title, from the meta. Without either (a log made by hand
 * that lost its meta) the log itself is read. BOBBIN_ENOMEM. */
static int read_known(struct store *store, const struct store_found *found, struct known *known)
{
	static const char unreadable[] = "its file cannot be read";
	int rc = store_read_ends(store, found, &known->ends, NULL);

	known->gone = rc == BOBBIN_ENOTFOUND;
	if (rc == BOBBIN_ENOMEM || known->gone)
		return rc == BOBBIN_ENOMEM ? rc : 0;
	known->unread = rc == BOBBIN_EIO;
	known->info = rc || found->info.mode ? found->info : known->ends.info;
	known->why = rc		     ? why_unreadable(store, &found->info)
		     : known->ends.damaged ? "its first line is damaged"
					   : NULL;
	rc = read_known_meta(store, found, known);
	if (rc || known->has_meta || known->ends.has_header || known->why)
		return rc;
	rc = store_read_lineage(store, found, &known->ends.line, NULL);
	known->unread = rc == BOBBIN_EIO;
	if (rc < 0)
		known->why = known->unread ? unreadable : "it cannot be opened";
	return rc == BOBBIN_ENOMEM ? rc : 0;
}

static int describe(struct store *store, const struct store_found *found, struct arena *arena,
	struct store_entry *ret_entry, bool *ret_lasts, struct bobbin_error *error)
{
	struct known known = {.ends = {.line = SESSION_LINE_INIT}, .meta = {.line = SESSION_LINE_INIT}};
	int rc = read_known(store, found, &known);

	if (rc)
		return error_set(error, rc, "out of memory");
	if (known.gone)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no session %s any more", found->id);
	const struct store_ends ends = known.ends;
	const struct meta meta = known.meta;
	bool exact = known.has_meta && meta.has_messages && meta.log_bytes == known.info.size;
	*ret_entry = (struct store_entry){
		.id = arena_copy(arena, found->id, strlen(found->id)),
		.owner = arena_copy(arena, ends.line.owner, strlen(ends.line.owner)),
		.title = arena_copy(arena, ends.line.title, strlen(ends.line.title)),
		.parent_id = arena_copy(arena, ends.line.parent_id, strlen(ends.line.parent_id)),
		.repaired_from = arena_copy(arena, ends.line.repaired_from, strlen(ends.line.repaired_from)),
		.forked_at = ends.line.forked_at,
		.messages = meta.messages,
		.messages_known = exact,
		.messages_exact = exact,
		.last_seq = ends.last_seq,
		.bytes = known.info.size,
		.updated_ns = known.info.modified_ns,
		.damaged = known.why != NULL,
		.unread = known.unread,
		.why = known.why,
	};
	if (!ret_entry->id || !ret_entry->owner || !ret_entry->title || !ret_entry->parent_id ||
		!ret_entry->repaired_from)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_lasts = ends.has_header && !known.why && found->info.mode;
	return 0;
}

/* ---- Messages that no cache knows ------------------------------------------------------------------------
 */

/* What opening it has read of a log and its ancestors. */
static uint64_t bytes_read(const struct log *log)
{
	uint64_t sum = 0;

	for (; log; log = log->base)
		sum += log->read_bytes;
	return sum;
}

/* Counts them as whoever opens the session does, unless that would read more than `room`. What cannot be opened stays
 * unknown. BOBBIN_ENOMEM. */
static int count_messages(
	struct store *store, const struct store_found *found, uint64_t *room, struct store_entry *entry)
{
	struct log *log;

	if (entry->damaged || entry->messages_known)
		return 0;
	int rc = log_open_within(store, found->id, *room, &log);
	if (rc < 0)
		return rc == BOBBIN_ENOMEM ? rc : 0;
	uint64_t bytes = bytes_read(log);
	*room -= bytes < *room ? bytes : *room;
	uint32_t head = log_head(log);
	struct log_node node = {0};
	if (head == NODE_NONE || log_node(log, head, &node) == 0) {
		entry->messages = head == NODE_NONE ? 0 : (uint64_t)node.depth + 1;
		entry->messages_known = true;
		/* Appended to since the folder was read: another number than that of these bytes. */
		entry->messages_exact = log->index.state.position.offset == entry->bytes;
	}
	log_free(log);
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
	/* Logs modified before it can be told from later ones: a session that is deleted and made anew within a step of the
	 * clock may have the inode, the size and the time of the old one. */
	int64_t settled_ns;
	uint64_t room;	  /* bytes that may still be read to count messages */
};

/* From the catalogue if the log is as it was, else from its ends. */
static int look_up(struct store *store, const struct store_found *found,
	const struct store_list_options *options, struct arena *arena, struct cataloguing *catalogue,
	struct store_entry *ret_entry, struct bobbin_error *error)
{
	const struct store_entry *known = catalogue_find(&catalogue->old, found->id, &found->info);
	bool lasts = true;

	if (known) {
		*ret_entry = *known;
	} else {
		int rc = describe(store, found, arena, ret_entry, &lasts, error);
		if (!rc && options && options->count && is_wanted(ret_entry, options) &&
			count_messages(store, found, &catalogue->room, ret_entry) < 0)
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
		if (rc)
			return rc;
		/* Without a header, or with a meta that is behind, more than the log's bytes decides. */
		lasts = lasts && ret_entry->messages_exact && found->info.modified_ns < catalogue->settled_ns;
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
	struct store_listing listing = {.store = store};
	struct cataloguing catalogue = {.new_text = BUFFER_INIT(SIZE_MAX - 1), .room = LIMIT_LIST_COUNT_BYTES};
	struct store_entry *entries = NULL;
	size_t count = 0, limit = options && options->limit ? options->limit : SIZE_MAX;

	catalogue.settled_ns = store->stamp_tick_ns < 0
				       ? INT64_MAX
				       : store->platform->realtime_ns(store->platform->context) - store->stamp_tick_ns;
	int rc = store_find_logs(&listing, error);

	if (!rc) {
		entries = arena_alloc(arena, (listing.count + 1) * sizeof(*entries));
		if (!entries || catalogue_read(store, arena, &catalogue.old) == BOBBIN_ENOMEM)
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	for (size_t i = 0; !rc && i < listing.count && count < limit; i++) {
		rc = look_up(store, &listing.found[i], options, arena, &catalogue, &entries[count], error);
		if (rc == BOBBIN_ENOTFOUND) { /* deleted since the folder was read */
			rc = 0;
			continue;
		}
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
	struct store_found found = {0};
	char name[LOG_NAME_BYTES];

	if (!id_is_session(id))
		return error_set(error, BOBBIN_EINVAL, "not a session id");
	memcpy(found.id, id.data, id.len);
	memcpy(name, id.data, id.len);
	memcpy(name + id.len, STORE_LOG_SUFFIX, sizeof(STORE_LOG_SUFFIX));
	int rc = store->platform->info_at(store->platform->context, store->dir, name, &found.info);
	if (rc < 0)
		return error_set_os(error, -rc, "cannot examine %s", name);
	bool ignored;
	return describe(store, &found, arena, ret_entry, &ignored, error);
}

/* ---- Copies of what is inherited --------------------------------------------------------------------------
 */

static int largest_first(const void *a, const void *b)
{
	const struct store_found *left = a, *right = b;

	if (left->info.size != right->info.size)
		return left->info.size > right->info.size ? -1 : 1;
	return strcmp(left->id, right->id);
}

static bool find_copy(void *data, const char *name)
{
	struct store_listing *listing = data;
	size_t len = strlen(name), suffix = sizeof(COPY_SUFFIX) - 1;
	struct store_found *found;

	if (len <= suffix || strcmp(name + len - suffix, COPY_SUFFIX) != 0 ||
		!id_is_session((struct slice){name, len - suffix}))
		return true;
	listing->error = mem_grow((void **)&listing->found, &listing->cap, listing->count + 1, sizeof(*found));
	if (listing->error)
		return false;
	found = &listing->found[listing->count++];
	memset(found, 0, sizeof(*found));
	memcpy(found->id, name, len - suffix);
	/* One that cannot be looked at is opened all the same: who does that says what is wrong. */
	listing->store->platform->info_at(listing->store->platform->context, listing->store->dir, name, &found->info);
	return true;
}

int store_list_copies(struct store *store, struct arena *arena, const char *const **ret_ids, size_t *ret_count,
	struct bobbin_error *error)
{
	struct store_listing listing = {.store = store};
	int rc = store->platform->list(store->platform->context, store->dir, find_copy, &listing);
	const char **ids = NULL;

	rc = rc < 0 ? error_set_os(error, -rc, "cannot list %s", store->path)
		    : listing.error ? error_set(error, listing.error, "out of memory") : 0;
	if (!rc && listing.count) {
		qsort(listing.found, listing.count, sizeof(*listing.found), largest_first);
		ids = arena_alloc(arena, listing.count * sizeof(*ids));
		rc = ids ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	for (size_t i = 0; !rc && i < listing.count; i++)
		if (!(ids[i] = arena_copy(arena, listing.found[i].id, strlen(listing.found[i].id))))
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	mem_free(listing.found);
	if (rc)
		return rc;
	*ret_ids = ids;
	*ret_count = listing.count;
	return 0;
}
