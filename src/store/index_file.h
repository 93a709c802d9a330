/* SPDX-License-Identifier: MIT */
/*
 * An index on disk: .cache/ID.index beside the log, a cache that may be lost, torn or wrong at any time.
 *
 *	chunk │ chunk │ … │ chunk         every chunk begins and ends at a multiple of 512 bytes
 *	chunk: nodes, controls, texts, a run of keys, [faults,] [session line,] [a full list of chunks,]
 * trailer
 *
 * The file only grows: a chunk is appended for the records that came since the last one, and its trailer says
 * what all of it is: of which log, up to where, the state there (struct index_state), where the chunks and
 * runs are. The newest trailer that is whole counts. Numbers are little-endian (other machines go without);
 * items stand in blocks of at most 4096 bytes, each with a CRC-32C behind it that also covers where it stands,
 * in which file, and what it is.
 *
 *	run      pairs of key and own ordinal, sorted; a few runs of growing size, merged as they become many
 *	texts    of each node that has any, with a checksum
 *
 * Invariants:
 * (1) It covers only bytes of the log that a sync has made durable, so no crash can take them back.
 * (2) What stands before a trailer never changes. If somebody cuts the file, its offsets may come to be used twice;
 *     whoever remembers what stood there finds that the checksum is another's.
 * (3) It belongs to the file of this device and inode, whose first and last covered bytes are those it
 *     remembers; a log that was touched since, without growing, is read anew.
 * (4) Whatever is read is checked; what does not hold fails the file for good (index_file_… return false).
 */
#ifndef STORE_INDEX_FILE_H
#define STORE_INDEX_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/platform.h"
#include "store/index.h"

/* Changes whenever entries do, or the rules by which they come about (index_add.c). Another release's files are not
 * used in any case. */
#define INDEX_VERSION 3
#define INDEX_BLOCK_BYTES 4096
#define INDEX_ALIGN 512
#define INDEX_NODE_BYTES 152
#define INDEX_CONTROL_BYTES 40
#define INDEX_RUNS_MAX 48
#define INDEX_LEAVES_MAX 64
#define INDEX_LEAF_CHUNKS 128 /* with LEAVES_MAX: 8,192 chunks; then the file is written anew */
#define INDEX_EDGE_BYTES 4096 /* of the log that are compared at either end */

/* Fixed-size items in blocks. */
struct index_section {
	uint64_t at;
	uint32_t count, item_bytes;
	uint64_t what;
};

/* Sorted by both. */
struct index_pair {
	uint32_t key, ordinal;
};

struct index_chunk {
	uint32_t first_node, first_control;
	uint64_t at; /* of its nodes; its controls stand behind them */
};

struct index_run {
	uint64_t at;
	uint32_t pairs, until; /* the number of nodes, when it was written */
};

struct index_trailer {
	uint64_t nonce; /* of the file */
	char id[LIMIT_SESSION_ID_BYTES];
	uint64_t device, inode;
	int64_t modified_ns;	      /* of the log, when it ended where the cover ends */
	uint32_t first_crc, last_crc; /* of its first and last covered bytes */
	uint32_t base_count, base_through;
	uint64_t base_chain; /* of the last inherited message; 0: none */
	uint64_t last_chain; /* of the last own node; 0: none */
	struct index_state state;
	uint64_t faults_at, line_at;
	uint32_t line_bytes;
	uint32_t run_count, leaf_count, chunk_count; /* chunks not yet in a leaf */
	struct index_run runs[INDEX_RUNS_MAX];
	uint64_t leaves[INDEX_LEAVES_MAX];
	struct index_chunk chunks[INDEX_LEAF_CHUNKS];
};

struct index_file;

/* Opens the newest trailer of an index; takes over `descriptor`. BOBBIN_ENOTFOUND: there is none that is
 * whole; BOBBIN_EIO: that could not be read; BOBBIN_ENOMEM. */
int index_file_open(const struct platform *platform, int descriptor, struct index_file **ret_file);
/* Why the last thing asked for that was not got could not be read, as errno says it; 0: it was, and was not right. */
int index_file_unread(const struct index_file *file);
void index_file_close(struct index_file *file); /* NULL allowed */
const struct index_trailer *index_file_trailer(const struct index_file *file);
uint64_t index_file_end(const struct index_file *file); /* where the trailer ends */

bool index_file_node(struct index_file *file, uint32_t ordinal, struct index_node *ret_node);
bool index_file_control(struct index_file *file, uint32_t control, struct index_control *ret_control);
/* All texts of a node; valid until four more were asked for. */
bool index_file_texts(
	struct index_file *file, uint32_t ordinal, const struct index_node *node, struct slice *ret_texts);
/* The number of pairs in a run with a key up to `key`; a pair. */
bool index_file_search(struct index_file *file, uint32_t run, uint32_t key, uint32_t *ret_position);
bool index_file_pair(struct index_file *file, uint32_t run, uint32_t position, struct index_pair *ret_pair);
bool index_file_faults(struct index_file *file, struct log_fault *ret_faults); /* state.fault_count of them */
bool index_file_line(struct index_file *file, char *ret_line);		       /* line_bytes of it */

/* ---- As bytes: index_code.c ------------------------------------------------------------------------------
 */

/* What bytes are, for their checksum: of which entries, or which one of its kind. */
static inline uint64_t index_what(uint32_t first, uint32_t count)
{
	return (uint64_t)first << 32 | count;
}

/* A checksum that also says where in which file the bytes stand, and what they are. */
uint32_t index_crc(uint64_t nonce, uint64_t what, uint64_t at, const void *data, size_t len);

uint32_t index_items_a_block(uint32_t item_bytes);
uint64_t index_section_bytes(uint32_t count, uint32_t item_bytes); /* with checksums */

/* The trailer with its padding, to stand at `at` and to end at a multiple of INDEX_ALIGN. */
void index_put_trailer(struct buffer *out, uint64_t at, const struct index_trailer *trailer);
/* The last bytes of a trailer: its length and whether they can be. */
#define INDEX_TAIL_BYTES 16
bool index_get_tail(const uint8_t *tail, uint32_t *ret_bytes);
bool index_get_trailer(const uint8_t *data, size_t len, uint64_t at, struct index_trailer *ret_trailer);

#endif
