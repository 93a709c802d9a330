/* SPDX-License-Identifier: MIT */
/* Reading an index file: a block at a time, each checked once when it comes into a small cache. */
#include "store/index_file.h"

#include "base/alloc.h"
#include "store/file.h"

#define SLOTS 128	    /* blocks in the cache: 512 KiB, of which only what is used is touched */
#define SETS (SLOTS / 2)    /* a block has two places: two that are used in turn do not drive each other out */
#define TEXTS 4		    /* that stay valid at a time */
#define TAILS_SEARCHED 4096 /* places where a trailer may end, if the last ones are torn */
#define NO_BLOCK UINT64_MAX

struct index_file {
	const struct platform *platform;
	int descriptor;
	struct index_trailer trailer;
	uint64_t end;		    /* of the trailer */
	struct index_chunk *chunks; /* all of them */
	uint32_t chunk_count;
	uint64_t slots[SLOTS];		      /* where the block in each slot stands, or NO_BLOCK */
	uint8_t used_last[SETS];	      /* which of the two: the other one is given up first */
	uint8_t (*blocks)[INDEX_BLOCK_BYTES]; /* a slot each */
	struct buffer texts[TEXTS];
	unsigned next_text;
	int unread; /* errno of the last reading */
};

static bool read_all(struct index_file *file, void *data, size_t len, uint64_t at)
{
	ssize_t got = platform_read_full(file->platform, file->descriptor, data, len, at);
	file->unread = got < 0 ? (int)-got : 0;
	return got >= 0 && (size_t)got == len;
}

int index_file_unread(const struct index_file *file)
{
	return file->unread;
}

/* ---- Opening ---------------------------------------------------------------------------------------------
 */

/* The trailer that ends at `end`. */
static bool read_trailer(struct index_file *file, uint64_t end)
{
	uint8_t bytes[2 * INDEX_BLOCK_BYTES], tail[INDEX_TAIL_BYTES];
	uint32_t len;

	if (!read_all(file, tail, sizeof(tail), end - sizeof(tail)) || !index_get_tail(tail, &len) ||
		len > end || !read_all(file, bytes, len, end - len))
		return false;
	return index_get_trailer(bytes, len, end - len, &file->trailer);
}

/* Behind the newest whole one there may be chunks that were torn, or are being written. */
static bool find_trailer(struct index_file *file, uint64_t size)
{
	uint64_t end = size - size % INDEX_ALIGN;

	for (int tries = 0; tries < TAILS_SEARCHED && end > 0; tries++, end -= INDEX_ALIGN) {
		if (read_trailer(file, end)) {
			file->end = end;
			return true;
		}
		if (file->unread)
			return false;
	}
	return false;
}

/* Lists of chunks come in order; whatever they say is checked when it is used. */
static int read_chunks(struct index_file *file)
{
	const struct index_trailer *trailer = &file->trailer;
	size_t bytes = INDEX_LEAF_CHUNKS * sizeof(*file->chunks);
	uint32_t crc;

	file->chunk_count = trailer->leaf_count * INDEX_LEAF_CHUNKS + trailer->chunk_count;
	file->chunks = mem_realloc_array(NULL, file->chunk_count + 1, sizeof(*file->chunks));
	if (!file->chunks)
		return BOBBIN_ENOMEM;
	for (uint32_t i = 0; i < trailer->leaf_count; i++) {
		struct index_chunk *leaf = file->chunks + (size_t)i * INDEX_LEAF_CHUNKS;
		if (!read_all(file, leaf, bytes, trailer->leaves[i]) ||
			!read_all(file, &crc, sizeof(crc), trailer->leaves[i] + bytes) ||
			crc != index_crc(trailer->nonce, index_what(i, INDEX_LEAF_CHUNKS), trailer->leaves[i],
				       leaf, bytes))
			return file->unread ? BOBBIN_EIO : BOBBIN_ENOTFOUND;
	}
	memcpy(file->chunks + (size_t)trailer->leaf_count * INDEX_LEAF_CHUNKS, trailer->chunks,
		trailer->chunk_count * sizeof(*file->chunks));
	return 0;
}

static int open_file(struct index_file *file)
{
	struct file_info info;

	if (file->platform->info(file->platform->context, file->descriptor, &info) < 0)
		return BOBBIN_EIO;
	if (!find_trailer(file, info.size))
		return file->unread ? BOBBIN_EIO : BOBBIN_ENOTFOUND;
	int rc = read_chunks(file);
	if (rc)
		return rc;
	file->blocks = mem_realloc_array(NULL, SLOTS, sizeof(*file->blocks));
	if (!file->blocks)
		return BOBBIN_ENOMEM;
	for (int i = 0; i < SLOTS; i++)
		file->slots[i] = NO_BLOCK;
	return 0;
}

int index_file_open(const struct platform *platform, int descriptor, struct index_file **ret_file)
{
	struct index_file *file = mem_alloc_zero(sizeof(*file));

	if (!file) {
		file_close(platform, descriptor);
		return BOBBIN_ENOMEM;
	}
	file->platform = platform;
	file->descriptor = descriptor;
	for (int i = 0; i < TEXTS; i++)
		buffer_init(&file->texts[i], SIZE_MAX - 1);
	int rc = open_file(file);
	if (rc) {
		index_file_close(file);
		return rc;
	}
	*ret_file = file;
	return 0;
}

void index_file_close(struct index_file *file)
{
	if (!file)
		return;
	file_close(file->platform, file->descriptor);
	for (int i = 0; i < TEXTS; i++)
		buffer_release(&file->texts[i]);
	mem_free(file->chunks);
	mem_free(file->blocks);
	mem_free(file);
}

const struct index_trailer *index_file_trailer(const struct index_file *file)
{
	return &file->trailer;
}

uint64_t index_file_end(const struct index_file *file)
{
	return file->end;
}

/* ---- Items -----------------------------------------------------------------------------------------------
 */

/* A block of `len` bytes and its checksum. Valid until the next one. */
static const uint8_t *block_at(struct index_file *file, uint64_t what, uint64_t at, size_t len)
{
	unsigned set = (unsigned)(at * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SETS;
	unsigned slot = 2 * set + file->used_last[set];
	uint32_t crc;

	if (file->slots[slot] == at)
		return file->blocks[slot];
	slot ^= 1;
	file->used_last[set] = slot & 1;
	uint8_t *bytes = file->blocks[slot];
	if (file->slots[slot] == at)
		return bytes;
	file->slots[slot] = NO_BLOCK;
	if (!read_all(file, bytes, len + sizeof(crc), at))
		return NULL;
	memcpy(&crc, bytes + len, sizeof(crc));
	if (crc != index_crc(file->trailer.nonce, what, at, bytes, len))
		return NULL;
	file->slots[slot] = at;
	return bytes;
}

static bool get_item(
	struct index_file *file, const struct index_section *section, uint32_t number, void *ret_item)
{
	uint32_t a_block = index_items_a_block(section->item_bytes), first = number - number % a_block;
	uint32_t count = section->count - first < a_block ? section->count - first : a_block;
	uint64_t at = section->at + index_section_bytes(first, section->item_bytes);

	if (number >= section->count)
		return false;
	const uint8_t *block = block_at(file, section->what, at, (size_t)count * section->item_bytes);
	if (!block)
		return false;
	memcpy(ret_item, block + (size_t)(number - first) * section->item_bytes, section->item_bytes);
	return true;
}

/* The chunk that has a node or, with `controls`, a control, and the first ones behind it. */
static const struct index_chunk *find_chunk(
	const struct index_file *file, uint32_t number, bool controls, struct index_chunk *ret_next)
{
	uint32_t low = 0, high = file->chunk_count;
	const struct index_state *state = &file->trailer.state;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		const struct index_chunk *chunk = &file->chunks[middle];
		if ((controls ? chunk->first_control : chunk->first_node) <= number)
			low = middle;
		else
			high = middle;
	}
	if (low >= file->chunk_count)
		return NULL;
	*ret_next = low + 1 < file->chunk_count
			    ? file->chunks[low + 1]
			    : (struct index_chunk){state->node_count, state->control_count, 0};
	return &file->chunks[low];
}

bool index_file_node(struct index_file *file, uint32_t ordinal, struct index_node *ret_node)
{
	struct index_chunk next;
	const struct index_chunk *chunk = find_chunk(file, ordinal, false, &next);

	if (!chunk || ordinal < chunk->first_node || next.first_node < chunk->first_node)
		return false;
	uint32_t count = next.first_node - chunk->first_node;
	struct index_section section = {
		chunk->at, count, INDEX_NODE_BYTES, index_what(chunk->first_node, count)};
	return get_item(file, &section, ordinal - chunk->first_node, ret_node);
}

bool index_file_control(struct index_file *file, uint32_t control, struct index_control *ret_control)
{
	struct index_chunk next;
	const struct index_chunk *chunk = find_chunk(file, control, true, &next);

	if (!chunk || control < chunk->first_control || next.first_control < chunk->first_control ||
		next.first_node < chunk->first_node)
		return false;
	uint64_t at = chunk->at + index_section_bytes(next.first_node - chunk->first_node, INDEX_NODE_BYTES);
	uint32_t count = next.first_control - chunk->first_control;
	struct index_section section = {
		at, count, INDEX_CONTROL_BYTES, index_what(chunk->first_control, count)};
	return get_item(file, &section, control - chunk->first_control, ret_control);
}

/* Bytes of any length with their checksum behind them. */
static bool read_checked(struct index_file *file, uint64_t what, uint64_t at, size_t len, void *ret_bytes)
{
	uint32_t crc;

	return read_all(file, ret_bytes, len, at) && read_all(file, &crc, sizeof(crc), at + len) &&
	       crc == index_crc(file->trailer.nonce, what, at, ret_bytes, len);
}

bool index_file_texts(
	struct index_file *file, uint32_t ordinal, const struct index_node *node, struct slice *ret_texts)
{
	struct buffer *text = &file->texts[file->next_text];

	file->next_text = (file->next_text + 1) % TEXTS;
	buffer_clear(text);
	size_t len = node->text_len;
	uint32_t crc;
	char *room = buffer_reserve(text, len + sizeof(crc));
	if (!room || !read_all(file, room, len + sizeof(crc), node->text_at))
		return false;
	memcpy(&crc, room + len, sizeof(crc));
	if (crc != index_crc(file->trailer.nonce, index_what(ordinal, 1), node->text_at, room, len))
		return false;
	*ret_texts = (struct slice){room, node->text_len};
	return true;
}

bool index_file_faults(struct index_file *file, struct log_fault *ret_faults)
{
	uint32_t count = file->trailer.state.fault_count;

	return read_checked(
		file, index_what(0, count), file->trailer.faults_at, count * sizeof(*ret_faults), ret_faults);
}

bool index_file_line(struct index_file *file, char *ret_line)
{
	return read_checked(file, 0, file->trailer.line_at, file->trailer.line_bytes, ret_line);
}

/* ---- Runs ------------------------------------------------------------------------------------------------
 */

bool index_file_pair(struct index_file *file, uint32_t run, uint32_t position, struct index_pair *ret_pair)
{
	const struct index_run *place = &file->trailer.runs[run];
	struct index_section section = {
		place->at, place->pairs, sizeof(*ret_pair), index_what(place->until, place->pairs)};

	return get_item(file, &section, position, ret_pair);
}

/* Keys are spread evenly: where one stands is known to within a block or two. Halving in between keeps it
 * short for keys that are not. */
bool index_file_search(struct index_file *file, uint32_t run, uint32_t key, uint32_t *ret_position)
{
	uint32_t low = 0, high = file->trailer.runs[run].pairs;
	uint64_t low_key = 0, high_key = UINT64_C(1) << 32;

	for (bool guess = true; low < high; guess = !guess) {
		uint32_t middle = low + (high - low) / 2;
		struct index_pair pair;
		if (guess && key >= low_key && key < high_key)
			middle = low + (uint32_t)((key - low_key) * (high - low) / (high_key - low_key));
		if (!index_file_pair(file, run, middle, &pair))
			return false;
		if (pair.key <= key) {
			low = middle + 1;
			low_key = pair.key;
		} else {
			high = middle;
			high_key = (uint64_t)pair.key + 1;
		}
	}
	*ret_position = low;
	return true;
}
