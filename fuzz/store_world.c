/* SPDX-License-Identifier: MIT */
/* The store under a fuzzer, and what it says as text, see store_world.h. */
#include "store_world.h"

#include <fcntl.h>
#include "base/buffer.h"
#include "sim/disk_internal.h"

#define SEED 1

static void open_store(struct fuzz_store *store, uint64_t index_step, uint32_t catalogue_step)
{
	struct store_options options = {
		.create = true, .index_step = index_step, .catalogue_step = catalogue_step, .stamp_tick_ns = -1};

	sim_process_init(&store->process, store->disk);
	CHECK(store_open(&store->process.table, SIM_FOLDER, &options, &store->store, NULL) == 0);
}

void fuzz_store_open(struct fuzz_store *store, uint64_t index_step, uint32_t catalogue_step)
{
	store->disk = sim_room(sizeof(*store->disk));
	sim_disk_init(store->disk, SEED);
	open_store(store, index_step, catalogue_step);
}

void fuzz_store_reopen(struct fuzz_store *store, uint64_t index_step, uint32_t catalogue_step)
{
	store_close(store->store);
	sim_process_kill(&store->process);
	open_store(store, index_step, catalogue_step);
}

void fuzz_store_close(struct fuzz_store *store)
{
	store_close(store->store);
	sim_process_kill(&store->process);
	sim_disk_release(store->disk);
	free(store->disk);
}

/* Of a file that may have to be made. */
static struct sim_file *file_of(struct fuzz_store *store, const char *name)
{
	int number = sim_disk_find(store->disk, name);

	if (number < 0) {
		if (sim_is_cache(name) && sim_names_find(&store->disk->names, SIM_CACHE) < 0)
			sim_disk_change_name(store->disk, SIM_NAME_ADD, SIM_CACHE, NULL, SIM_OPEN_CACHE);
		number = sim_disk_new_file(store->disk, 0600);
		sim_disk_change_name(store->disk, SIM_NAME_ADD, name, NULL, number);
	}
	return &store->disk->files[number];
}

void fuzz_store_add(struct fuzz_store *store, const char *name, const void *data, size_t len)
{
	struct sim_file *file = file_of(store, name);

	if (len)
		sim_file_change(file, file->size, data, len);
	store->disk->now_ns++;
	file->modified_ns = sim_disk_file_time(store->disk);
}

void fuzz_store_put(struct fuzz_store *store, const char *name, const void *data, size_t len)
{
	sim_file_change(file_of(store, name), 0, NULL, 0);
	fuzz_store_add(store, name, data, len);
}

const char *fuzz_store_get(const struct fuzz_store *store, const char *name, size_t *ret_len)
{
	int number = sim_disk_find(store->disk, name);

	if (number < 0)
		return NULL;
	*ret_len = store->disk->files[number].size;
	return store->disk->files[number].data;
}

struct log *fuzz_store_log(struct fuzz_store *store, const char *id, enum log_mode mode)
{
	struct bobbin_error error = {0};
	struct log *log = NULL;
	uint64_t changes = store->process.changes;
	int rc = log_open(store->store, slice_of(id), mode, &log, &error);

	CHECK(rc == 0 || rc == BOBBIN_ECORRUPT || rc == BOBBIN_ENOTFOUND ||
		(rc == BOBBIN_EREADONLY && mode == LOG_WRITE));
	CHECK(rc == 0 || (error.code == rc && error.message[0]));
	CHECK(store->process.changes == changes);
	return rc ? NULL : log;
}

/* ---- What it says ---- */

static void dump_node(struct log *log, uint32_t node, struct arena *arena, struct buffer *out)
{
	struct log_node entry, parent = {.depth = UINT32_MAX};
	struct message message;
	struct bobbin_error error = {0};
	char id[PATH_ID_BYTES];
	uint32_t found, *children, count;

	CHECK(log_node(log, node, &entry) == 0);
	CHECK(entry.parent == NODE_NONE || entry.parent < node);
	if (entry.parent != NODE_NONE)
		CHECK(log_node(log, entry.parent, &parent) == 0);
	CHECK(entry.depth == parent.depth + 1);
	CHECK(log_node_id(log, node, id, NULL) == 0 && id[0]);
	CHECK(log_children(log, node, arena, &children, &count) == 0);
	for (uint32_t i = 0; i < count; i++)
		CHECK(children[i] > node && (i == 0 || children[i] > children[i - 1]));
	CHECK(log_message(log, node, arena, &message, &error) == 0);
	CHECK(message.record.len == entry.length && message.role == entry.role);
	buffer_addf(out,
		"%u: %u %u %llu %d%d%d %u %u %u %llu %u %llx %s has %d line %d gap %d children %u %.*s\n",
		node, entry.parent, entry.depth, (unsigned long long)entry.seq, entry.role, entry.origin,
		entry.marker, entry.flags, entry.calls, entry.level, (unsigned long long)entry.offset,
		entry.length, (unsigned long long)entry.chain, id, log_has_node(log, node),
		log_on_line(log, node, log_head(log)), log_gap(log, NODE_NONE, node), count,
		(int)message.record.len, message.record.text);
	/* Of several with that id the first is found: never another id's. */
	if (!log_has_node(log, node))
		return;
	CHECK(log_find(log, slice_of(id), &found, NULL) == 0 && log_has_node(log, found));
	CHECK(log_node_id(log, found, id, NULL) == 0);
	buffer_addf(out, "found %u %s\n", found, id);
}

static void dump_records(struct log *log, struct arena *arena, struct buffer *out)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < log_record_count(log); i++) {
		struct log_record record;
		struct json json;
		CHECK(log_record(log, i, &record) == 0 && record.offset >= end);
		CHECK(record.previous == RECORD_NONE || record.previous < i);
		CHECK(record.node == NODE_NONE || record.node < log_node_count(log));
		CHECK(log_record_read(log, i, arena, &json, NULL) == 0 && json.len == record.length);
		end = record.offset + record.length;
		buffer_addf(out, "record %u: %d %llu %llu %u %u %u %u\n", i, record.kind,
			(unsigned long long)record.seq, (unsigned long long)record.offset, record.length,
			record.node, record.head, record.previous);
	}
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		buffer_addf(out, "newest %u\n", log_newest(log, (enum record_kind)kind));
}

static void dump_faults(const struct log *log, struct buffer *out)
{
	size_t count;
	const struct log_fault *faults = log_faults(log, &count);

	CHECK(count <= log_fault_total(log));
	for (size_t i = 0; i < count; i++)
		buffer_addf(out, "fault %d %llu %llu %llu\n", faults[i].kind,
			(unsigned long long)faults[i].line, (unsigned long long)faults[i].offset,
			(unsigned long long)faults[i].length);
	buffer_addf(out, "%llu faults\n", (unsigned long long)log_fault_total(log));
}

static void dump_path(struct log *log, struct buffer *out)
{
	struct log_path *path;
	uint64_t bytes = 0, tokens = 0;

	CHECK(log_path_new(log, log_head(log), NULL, &path, NULL) == 0);
	const struct path *items = log_path_path(path);
	for (size_t i = 0; i < items->count; i++) {
		struct path_item item;
		CHECK(path_item(items, i, &item, NULL) == 0);
		CHECK(item.bytes_before == bytes && item.tokens_before == tokens && item.turn <= i &&
			item.round <= i);
		bytes += item.bytes;
		tokens += item.tokens;
		buffer_addf(out, "%u %llu %zu %zu %d\n", item.tokens, (unsigned long long)item.bytes,
			item.turn, item.round, item.role);
	}
	CHECK(items->bytes == bytes && items->tokens == tokens);
	log_path_free(path);
}

static char *text_of(struct buffer *out)
{
	CHECK(buffer_error(out) == 0);
	char *text = sim_room(out->len + 1);
	memcpy(text, out->data ? out->data : "", out->len);
	text[out->len] = '\0';
	buffer_release(out);
	return text;
}

char *fuzz_dump(struct log *log)
{
	const struct log_info *info = log_info(log);
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);
	struct arena arena = ARENA_INIT;

	buffer_addf(&out, "%s %s %s %s %llu %s %s %s %llu %llu %llu head %u of %u\n", info->id, info->owner,
		info->title, info->created, (unsigned long long)info->version, info->parent_id, info->base_id,
		info->through, (unsigned long long)info->forked_at, (unsigned long long)info->parent_end,
		(unsigned long long)info->watermark, log_head(log), log_node_count(log));
	CHECK(log_head(log) == NODE_NONE || log_has_node(log, log_head(log)));
	for (uint32_t node = 0; node < log_node_count(log); node++)
		dump_node(log, node, &arena, &out);
	dump_records(log, &arena, &out);
	dump_faults(log, &out);
	dump_path(log, &out);
	arena_release(&arena);
	return text_of(&out);
}

char *fuzz_dump_list(struct fuzz_store *store)
{
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);
	struct store_entry *entries;
	size_t count;

	CHECK(store_list(store->store, NULL, &arena, &entries, &count, NULL) == 0);
	for (size_t i = 0; i < count; i++)
		buffer_addf(&out,
			"%s owner %s title %s parent %s at %llu messages %llu%s last %llu bytes %llu%s\n",
			entries[i].id, entries[i].owner, entries[i].title, entries[i].parent_id,
			(unsigned long long)entries[i].forked_at, (unsigned long long)entries[i].messages,
			entries[i].messages_exact ? " exactly" : "", (unsigned long long)entries[i].last_seq,
			(unsigned long long)entries[i].bytes, entries[i].damaged ? " damaged" : "");
	arena_release(&arena);
	return text_of(&out);
}
