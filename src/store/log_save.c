/* SPDX-License-Identifier: MIT */
/*
 * Writing the index file: a chunk for what came since the last one, or all of it into a new file that takes
 * the old one's place. Whoever has much to add does so, if nobody else is at it; failures are nobody's
 * concern, since the log is there.
 */
#include <errno.h>
#include <fcntl.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "store/file.h"
#include "store/index_file.h"
#include "store/log_internal.h"
#include "store/store_internal.h"

#define CHUNK_NODES 8192 /* of a file that is written anew: about 1.5 MB in memory */
#define RUNS_OF_A_SIZE 4 /* runs within a factor of 4 become one */
#define PIECE_BYTES (1u << 20)
/* Keys that stay in memory while a log is read, or each id would be looked for in the file: 10 MiB. */
#define KEYS_KEPT_MAX (1u << 19)

/* One writing. */
struct saving {
	struct log *log;
	const struct index *index;
	const struct platform *platform;
	int file;
	struct index_file *old; /* NULL: a new file */
	struct index_trailer trailer;
	struct buffer out, texts;
	uint64_t at; /* where `out` will stand */
	struct index_pair *pairs;
	size_t pair_count, pair_cap;
};

static uint64_t place(const struct saving *saving)
{
	return saving->at + saving->out.len;
}

/* The checksum of what stands in `out` from `start` on, with what it is. */
static void add_crc(struct saving *saving, uint64_t what, size_t start)
{
	struct buffer *out = &saving->out;
	uint32_t crc = buffer_error(out) ? 0
					 : index_crc(saving->trailer.nonce, what, saving->at + start,
						   out->data + start, out->len - start);
	buffer_add(out, (const char *)&crc, sizeof(crc));
}

static int write_out(struct saving *saving, bool all)
{
	struct buffer *out = &saving->out;
	size_t written;

	if (buffer_error(out) || (!all && out->len < PIECE_BYTES))
		return buffer_error(out);
	int rc = file_write(saving->platform, saving->file, buffer_slice(out), "the index", &written, NULL);
	saving->at += out->len;
	buffer_clear(out);
	return rc;
}

/* ---- Entries ---------------------------------------------------------------------------------------------
 */

static int push_pair(void *data, uint32_t key, uint32_t ordinal)
{
	struct saving *saving = data;

	if (mem_grow((void **)&saving->pairs, &saving->pair_cap, saving->pair_count + 1,
		    sizeof(*saving->pairs)) < 0)
		return BOBBIN_ENOMEM;
	saving->pairs[saving->pair_count++] = (struct index_pair){key, ordinal};
	return 0;
}

static void add_text(struct saving *saving, uint32_t ordinal, uint64_t texts_at, struct index_node *node)
{
	struct slice text = index_texts(saving->index, saving->index->base_count + ordinal);
	struct buffer *texts = &saving->texts;

	node->text_at = texts_at + texts->len;
	uint32_t crc = index_crc(
		saving->trailer.nonce, index_what(ordinal, 1), node->text_at, text.data, text.len);
	buffer_add_slice(texts, text);
	buffer_add(texts, (const char *)&crc, sizeof(crc));
}

static void add_nodes(struct saving *saving, uint32_t from, uint32_t to, uint64_t texts_at)
{
	uint32_t a_block = index_items_a_block(INDEX_NODE_BYTES);
	size_t start = saving->out.len;

	for (uint32_t ordinal = from; ordinal < to; ordinal++) {
		struct index_node node = index_node(saving->index, saving->index->base_count + ordinal);
		if (node.text_len)
			add_text(saving, ordinal, texts_at, &node);
		else
			node.text_at = 0;
		buffer_add(&saving->out, (const char *)&node, sizeof(node));
		if ((ordinal - from + 1) % a_block == 0 || ordinal + 1 == to) {
			add_crc(saving, index_what(from, to - from), start);
			start = saving->out.len;
		}
	}
}

static void add_controls(struct saving *saving, uint32_t from, uint32_t to)
{
	uint32_t a_block = index_items_a_block(INDEX_CONTROL_BYTES);
	size_t start = saving->out.len;

	for (uint32_t i = from; i < to; i++) {
		struct index_control control = index_control(saving->index, i);
		buffer_add(&saving->out, (const char *)&control, sizeof(control));
		if ((i - from + 1) % a_block == 0 || i + 1 == to) {
			add_crc(saving, index_what(from, to - from), start);
			start = saving->out.len;
		}
	}
}

/* A full list of chunks becomes a leaf. False: the file has no room for another. */
static bool make_room_for_chunk(struct saving *saving)
{
	struct index_trailer *trailer = &saving->trailer;

	if (trailer->chunk_count < INDEX_LEAF_CHUNKS)
		return true;
	if (trailer->leaf_count == INDEX_LEAVES_MAX)
		return false;
	size_t start = saving->out.len;
	trailer->leaves[trailer->leaf_count] = place(saving);
	buffer_add(&saving->out, (const char *)trailer->chunks, sizeof(trailer->chunks));
	add_crc(saving, index_what(trailer->leaf_count++, INDEX_LEAF_CHUNKS), start);
	trailer->chunk_count = 0;
	return true;
}

static int add_chunk(
	struct saving *saving, uint32_t node, uint32_t node_end, uint32_t control, uint32_t control_end)
{
	struct index_trailer *trailer = &saving->trailer;
	int rc = 0;

	if (!make_room_for_chunk(saving))
		return BOBBIN_ELIMIT;
	trailer->chunks[trailer->chunk_count++] = (struct index_chunk){node, control, place(saving)};
	buffer_clear(&saving->texts);
	add_nodes(saving, node, node_end,
		place(saving) + index_section_bytes(node_end - node, INDEX_NODE_BYTES) +
			index_section_bytes(control_end - control, INDEX_CONTROL_BYTES));
	add_controls(saving, control, control_end);
	buffer_add_slice(&saving->out, buffer_slice(&saving->texts));
	for (uint32_t ordinal = node; !rc && ordinal < node_end; ordinal++)
		rc = index_each_key(saving->index, ordinal, push_pair, saving);
	if (!rc)
		rc = buffer_error(&saving->texts);
	return rc ? rc : write_out(saving, false);
}

/* From where the old file ends. */
static int add_entries(struct saving *saving)
{
	const struct index_state *to = &saving->index->state;
	uint32_t node = saving->trailer.state.node_count, control = saving->trailer.state.control_count;
	int rc = 0;

	while (!rc && (node < to->node_count || control < to->control_count)) {
		bool last = to->node_count - node <= CHUNK_NODES;
		uint32_t node_end = last ? to->node_count : node + CHUNK_NODES;
		/* Which chunk has which controls means nothing: the last one takes them. */
		uint32_t control_end = last ? to->control_count : control;
		rc = add_chunk(saving, node, node_end, control, control_end);
		node = node_end;
		control = control_end;
	}
	return rc;
}

/* ---- Runs ------------------------------------------------------------------------------------------------
 */

/* By key; what is in order of ordinals stays so. Four passes over a byte each. */
static int sort_pairs(struct saving *saving)
{
	size_t count = saving->pair_count;
	struct index_pair *from = saving->pairs, *to = mem_realloc_array(NULL, count + 1, sizeof(*to));

	if (!to)
		return BOBBIN_ENOMEM;
	for (unsigned shift = 0; shift < 32; shift += 8) {
		size_t starts[257] = {0};
		for (size_t i = 0; i < count; i++)
			starts[(from[i].key >> shift & 0xff) + 1]++;
		for (size_t byte = 0; byte < 256; byte++)
			starts[byte + 1] += starts[byte];
		for (size_t i = 0; i < count; i++)
			to[starts[from[i].key >> shift & 0xff]++] = from[i];
		struct index_pair *other = from;
		from = to;
		to = other;
	}
	mem_free(to); /* after four passes this is the other one again */
	return 0;
}

static unsigned size_class(uint64_t count)
{
	unsigned class = 0;
	for (; count >= RUNS_OF_A_SIZE; count /= RUNS_OF_A_SIZE)
		class ++;
	return class;
}

/* How many of the newest runs are to become one with `count` new pairs. */
static uint32_t runs_to_merge(const struct index_trailer *trailer, uint64_t count)
{
	uint32_t merged = 0;

	for (;;) {
		uint32_t small = merged;
		while (small < trailer->run_count &&
			size_class(trailer->runs[trailer->run_count - small - 1].pairs) <= size_class(count))
			small++;
		bool many = small - merged >= RUNS_OF_A_SIZE - 1 || trailer->run_count == INDEX_RUNS_MAX;
		if (!many || small == merged)
			return merged;
		for (; merged < small; merged++)
			count += trailer->runs[trailer->run_count - merged - 1].pairs;
	}
}

/* The pairs of the runs that are merged go before the new ones: older runs have smaller ordinals. */
static int read_runs(struct saving *saving, uint32_t first)
{
	struct index_pair *new_pairs = saving->pairs;
	size_t new_count = saving->pair_count;
	int rc = 0;

	saving->pairs = NULL;
	saving->pair_count = saving->pair_cap = 0;
	for (uint32_t run = first; !rc && run < saving->trailer.run_count; run++)
		for (uint32_t i = 0; !rc && i < saving->trailer.runs[run].pairs; i++) {
			struct index_pair pair;
			rc = index_file_pair(saving->old, run, i, &pair)
				     ? push_pair(saving, pair.key, pair.ordinal)
				     : BOBBIN_EIO;
		}
	for (size_t i = 0; !rc && i < new_count; i++)
		rc = push_pair(saving, new_pairs[i].key, new_pairs[i].ordinal);
	mem_free(new_pairs);
	return rc;
}

static int add_run(struct saving *saving)
{
	struct index_trailer *trailer = &saving->trailer;
	uint32_t a_block = index_items_a_block(sizeof(struct index_pair));
	uint32_t first = trailer->run_count - runs_to_merge(trailer, saving->pair_count);
	int rc = 0;

	if (saving->pair_count == 0)
		return 0;
	if (first < trailer->run_count)
		rc = read_runs(saving, first);
	if (!rc)
		rc = sort_pairs(saving);
	if (rc || first == INDEX_RUNS_MAX)
		return rc ? rc : BOBBIN_ELIMIT;
	uint32_t count = (uint32_t)saving->pair_count, until = saving->index->state.node_count;
	trailer->runs[first] = (struct index_run){place(saving), count, until};
	trailer->run_count = first + 1;
	size_t start = saving->out.len;
	for (size_t i = 0; i < saving->pair_count; i++) {
		buffer_add(&saving->out, (const char *)&saving->pairs[i], sizeof(saving->pairs[i]));
		if ((i + 1) % a_block == 0 || i + 1 == saving->pair_count) {
			add_crc(saving, index_what(until, count), start);
			start = saving->out.len;
		}
	}
	return 0;
}

/* ---- The rest --------------------------------------------------------------------------------------------
 */

static void add_faults(struct saving *saving)
{
	const struct index_state *state = &saving->index->state;
	size_t start = saving->out.len;

	if (saving->old && saving->trailer.state.fault_count == state->fault_count)
		return;
	saving->trailer.faults_at = place(saving);
	for (uint32_t i = 0; i < state->fault_count; i++) {
		struct log_fault fault;
		memset(&fault, 0, sizeof(fault));
		fault.kind = saving->index->faults[i].kind;
		fault.line = saving->index->faults[i].line;
		fault.offset = saving->index->faults[i].offset;
		fault.length = saving->index->faults[i].length;
		buffer_add(&saving->out, (const char *)&fault, sizeof(fault));
	}
	add_crc(saving, index_what(0, state->fault_count), start);
}

static bool is_old_line(const struct saving *saving, struct slice line)
{
	char *text = saving->old && saving->trailer.line_bytes == line.len ? mem_alloc(line.len + 1) : NULL;
	bool same = text && index_file_line(saving->old, text) && memcmp(text, line.data, line.len) == 0;

	mem_free(text);
	return same;
}

static void add_line(struct saving *saving)
{
	struct buffer line = BUFFER_INIT(LIMIT_META_BYTES);

	session_line_add(&line, &saving->log->line, saving->log->line.created);
	if (buffer_error(&line))
		saving->out.error = buffer_error(&line);
	else if (!is_old_line(saving, buffer_slice(&line))) {
		size_t start = saving->out.len;
		saving->trailer.line_at = place(saving);
		saving->trailer.line_bytes = (uint32_t)line.len;
		buffer_add_slice(&saving->out, buffer_slice(&line));
		add_crc(saving, 0, start);
	}
	buffer_release(&line);
}

static int describe(struct saving *saving)
{
	const struct log *log = saving->log;
	const struct index *index = saving->index;
	struct index_trailer *trailer = &saving->trailer;
	uint64_t covered = index->state.position.offset;
	uint64_t edge = covered < INDEX_EDGE_BYTES ? covered : INDEX_EDGE_BYTES;
	struct file_info info;

	if (log->platform->info(log->platform->context, log->file, &info) < 0 ||
		log_edge_crc(log, 0, edge, &trailer->first_crc) != 1 ||
		log_edge_crc(log, covered - edge, covered, &trailer->last_crc) != 1)
		return BOBBIN_EIO;
	memset(trailer->id, 0, sizeof(trailer->id));
	memcpy(trailer->id, log->id, strlen(log->id));
	trailer->device = log->device;
	trailer->inode = log->inode;
	trailer->modified_ns = info.modified_ns;
	trailer->base_count = index->base_count;
	trailer->base_through = index->base_through;
	trailer->base_chain = index->base ? index_node(index->base, index->base_through).chain : 0;
	trailer->last_chain = index->state.node_count ? index_node(index, index_count(index) - 1).chain : 0;
	trailer->state = index->state;
	return 0;
}

static int save(struct saving *saving)
{
	struct file_info info;
	int rc = saving->platform->info(saving->platform->context, saving->file, &info);

	if (rc < 0)
		return BOBBIN_EIO;
	/* Cut since it was opened: what its trailer speaks of is not there any more. */
	if (saving->old && info.size < index_file_end(saving->old))
		return BOBBIN_ENOTFOUND;
	saving->at = info.size;
	while (place(saving) % INDEX_ALIGN)
		buffer_add_char(&saving->out, '\0');
	rc = add_entries(saving);
	if (!rc)
		rc = add_run(saving);
	if (rc)
		return rc;
	add_faults(saving);
	add_line(saving);
	rc = describe(saving);
	/* An answer that the index could not give is in here somewhere. */
	if (rc || (rc = index_take_failure(saving->index)) < 0)
		return rc;
	index_put_trailer(&saving->out, place(saving), &saving->trailer);
	return write_out(saving, true);
}

static void release(struct saving *saving)
{
	buffer_release(&saving->out);
	buffer_release(&saving->texts);
	mem_free(saving->pairs);
}

static struct saving begin(struct log *log, int file, struct index_file *old)
{
	struct saving saving = {
		.log = log, .index = &log->index, .platform = log->platform, .file = file, .old = old};

	buffer_init(&saving.out, SIZE_MAX - 1);
	buffer_init(&saving.texts, SIZE_MAX - 1);
	if (old)
		saving.trailer = *index_file_trailer(old);
	return saving;
}

/* ---- Which file ------------------------------------------------------------------------------------------
 */

/* Whether the file says the same as this handle, up to where it ends. */
static bool agrees(const struct log *log, const struct index_trailer *trailer)
{
	const struct index *index = &log->index;
	const struct index_state *theirs = &trailer->state, *ours = &index->state;
	struct file_info info;

	if (log->platform->info(log->platform->context, log->file, &info) < 0 ||
		log_index_fits(log, trailer, &info) != 1)
		return false;
	return trailer->base_count == index->base_count && theirs->node_count <= ours->node_count &&
	       theirs->control_count <= ours->control_count &&
	       (theirs->node_count == 0 ||
		       trailer->last_chain ==
			       index_node(index, index->base_count + theirs->node_count - 1).chain);
}

/* Appends to the file that is there. BOBBIN_ENOTFOUND: there is none that can go on. */
static int save_more(struct log *log, int dir, const char *name)
{
	const struct platform *platform = log->platform;
	struct index_file *old = NULL;
	int file, reader;
	int rc = file_open(platform, dir, name, O_RDWR | O_APPEND, &file, NULL, NULL);

	if (rc)
		return rc;
	rc = file_lock(platform, file, 0, name, NULL);
	if (!rc)
		rc = file_open(platform, dir, name, O_RDONLY, &reader, NULL, NULL);
	if (!rc)
		rc = index_file_open(platform, reader, &old);
	const struct index_trailer *trailer = rc ? NULL : index_file_trailer(old);
	if (!rc && log_index_fits(log, trailer, &(struct file_info){.size = UINT64_MAX}) == 1 &&
		trailer->state.position.offset >= log->index.state.position.offset) {
		log->saved_bytes = trailer->state.position.offset; /* somebody was quicker */
	} else if (!rc && !agrees(log, trailer)) {
		rc = BOBBIN_ENOTFOUND;
	} else if (!rc) {
		struct saving saving = begin(log, file, old);
		rc = save(&saving);
		release(&saving);
	}
	index_file_close(old);
	file_close(platform, file);
	return rc;
}

static int save_anew(struct log *log, int dir, const char *name)
{
	const struct platform *platform = log->platform;
	char temporary[LOG_NAME_BYTES + 8] = ".";
	int file;

	memcpy(temporary + 1, name, strlen(name));
	memcpy(temporary + 1 + strlen(name), ".tmp", sizeof(".tmp"));
	int rc = file_open_locked(platform, dir, temporary, 0, &file, NULL);
	if (rc)
		return rc;
	struct saving saving = begin(log, file, NULL);
	if (platform->truncate(platform->context, file, 0) < 0 ||
		platform->random(platform->context, &saving.trailer.nonce, sizeof(saving.trailer.nonce)) < 0)
		rc = BOBBIN_EIO;
	if (!rc)
		rc = save(&saving);
	release(&saving);
	if (!rc && platform->rename_at(platform->context, dir, temporary, name) < 0)
		rc = BOBBIN_EIO;
	if (rc)
		platform->unlink_at(platform->context, dir, temporary, 0);
	file_close(platform, file);
	return rc;
}

static bool is_much(const struct log *log)
{
	const struct store *store = log->store;
	uint64_t bytes = log->index.state.position.offset;
	uint32_t records = index_record_count(&log->index);

	return bytes >= log->saved_bytes + store->index_step ||
	       (records > log->saved_records && records - log->saved_records >= STORE_INDEX_RECORDS &&
		       bytes > log->saved_bytes);
}

/* Makes what was read durable: all that there is now, so that it need not be done again soon. */
static bool sync_locked(struct log *log)
{
	const struct platform *platform = log->platform;
	struct file_info info;

	if (platform->info(platform->context, log->file, &info) < 0)
		info.size = log->index.state.position.offset;
	if (platform->sync_data(platform->context, log->file) < 0) {
		log_mark_unsynced(log);
		return false;
	}
	log->synced_bytes = info.size;
	return true;
}

/* Under the lock, or a sync of another handle may have failed on what was read, and not be marked yet. Who holds it
 * has its own index to write. */
static bool sync_read(struct log *log)
{
	if (log->index.state.position.offset <= log->synced_bytes)
		return true;
	if (log->locked)
		return sync_locked(log);
	if (log_lock_within(log, 0, NULL) < 0)
		return false;
	bool synced = sync_locked(log);
	log_unlock(log);
	return synced;
}

/* From now on the entries are read from the file that has just been written. */
static void move_to_file(struct log *log)
{
	const struct index *index = &log->index;
	struct index_file *file = log_open_index(log);
	const struct index_trailer *trailer = file ? index_file_trailer(file) : NULL;

	if (!file || !index_same_state(&trailer->state, &index->state) || !agrees(log, trailer) ||
		index_move(&log->index, file, KEYS_KEPT_MAX, log_reload_index, log) < 0)
		index_file_close(file);
}

void log_save_index(struct log *log, bool unsynced)
{
	const struct platform *platform = log->platform;
	char name[LOG_NAME_BYTES];

	/* One that may never be is written for only to keep memory small. */
	if (log->hidden && index_resident_count(&log->index) < log->store->index_memory)
		return;
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || log->broken || log->has_pending ||
		log->index.state.position.tail_open || !is_much(log))
		return;
	if (unsynced && !sync_read(log))
		return;
	int dir = store_cache_dir(log->store, true);
	if (dir < 0)
		return;
	if (log_is_marked_unsynced(log, dir)) {
		file_close(platform, dir);
		return;
	}
	/* Also when it fails: it is tried again when there is as much more. */
	log->saved_bytes = log->index.state.position.offset;
	log->saved_records = index_record_count(&log->index);
	index_name(log->stem, name);
	int rc = save_more(log, dir, name);
	if (rc == BOBBIN_ENOTFOUND || rc == BOBBIN_ELIMIT)
		rc = save_anew(log, dir, name);
	file_close(platform, dir);
	if (!rc && index_resident_count(&log->index) >= log->store->index_memory)
		move_to_file(log);
}

void log_spare_memory(struct log *log)
{
	/* What was read on under a failing index is not true; who reads will be told. */
	if (index_resident_count(&log->index) >= log->store->index_memory && !index_has_failed(&log->index))
		log_save_index(log, true);
}
