/* SPDX-License-Identifier: MIT */
/* An index as bytes, see index_file.h. What is written and what is read go through the same lists of fields.
 */
#include "store/index_file.h"

#include <assert.h>
#include "base/hash.h"

#define MAGIC UINT64_C(0x3158444e49424f42) /* "BOBINDX1" */
#define HASHED "hashes are those of this build"
#define TRAILER_MAX (INDEX_BLOCK_BYTES * 2)

struct tail {
	uint32_t bytes, crc; /* of the whole trailer; of what stands before the tail */
	uint64_t magic;
};

/* Entries are copied as they are: a machine with another byte order goes without index files. */
static_assert(sizeof(struct index_node) == INDEX_NODE_BYTES, "nodes have no padding");
static_assert(sizeof(struct index_control) == INDEX_CONTROL_BYTES, "controls have no padding");

uint32_t index_crc(uint64_t nonce, uint64_t what, uint64_t at, const void *data, size_t len)
{
	uint64_t place[3] = {nonce, what, at};

	return crc32c(crc32c(0, place, sizeof(place)), data, len);
}

uint32_t index_items_a_block(uint32_t item_bytes)
{
	return (INDEX_BLOCK_BYTES - 4) / item_bytes;
}

uint64_t index_section_bytes(uint32_t count, uint32_t item_bytes)
{
	uint32_t a_block = index_items_a_block(item_bytes);
	return (uint64_t)count * item_bytes + (uint64_t)((count + a_block - 1) / a_block) * 4;
}

/* ---- Trailers --------------------------------------------------------------------------------------------
 */

/* Goes over fields, writing or reading them. */
struct coder {
	uint8_t *at; /* written to only if `writes` */
	const uint8_t *end;
	bool writes, short_of;
};

static void code(struct coder *coder, void *value, size_t bytes)
{
	if ((size_t)(coder->end - coder->at) < bytes)
		coder->short_of = true;
	if (coder->short_of)
		return;
	if (coder->writes)
		memcpy(coder->at, value, bytes);
	else
		memcpy(value, coder->at, bytes);
	coder->at += bytes;
}

static void code_u32(struct coder *coder, uint32_t *value)
{
	code(coder, value, sizeof(*value));
}

static void code_u64(struct coder *coder, uint64_t *value)
{
	code(coder, value, sizeof(*value));
}

/* A number that must be what it is here. */
static bool code_fixed(struct coder *coder, uint64_t value)
{
	uint64_t found = value;
	code_u64(coder, &found);
	return found == value;
}

static void code_state(struct coder *coder, struct index_state *state)
{
	code_u32(coder, &state->node_count);
	code_u32(coder, &state->control_count);
	code_u32(coder, &state->sorted_count);
	code_u32(coder, &state->fault_count);
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		code_u32(coder, &state->newest[kind]);
	code_u32(coder, &state->head);
	code_u32(coder, &state->newest_late);
	code_u32(coder, &state->damage);
	code_u64(coder, &state->last_seq);
	code_u64(coder, &state->fault_total);
	code_u64(coder, &state->position.offset);
	code_u64(coder, &state->position.line);
}

static void code_places(struct coder *coder, struct index_trailer *trailer)
{
	code_u64(coder, &trailer->faults_at);
	code_u64(coder, &trailer->line_at);
	code_u32(coder, &trailer->line_bytes);
	code_u32(coder, &trailer->run_count);
	code_u32(coder, &trailer->leaf_count);
	code_u32(coder, &trailer->chunk_count);
	if (trailer->run_count > INDEX_RUNS_MAX || trailer->leaf_count > INDEX_LEAVES_MAX ||
		trailer->chunk_count > INDEX_LEAF_CHUNKS || trailer->state.fault_count > LIMIT_FAULTS_REPORTED) {
		coder->short_of = true;
		return;
	}
	for (uint32_t i = 0; i < trailer->run_count; i++) {
		code_u64(coder, &trailer->runs[i].at);
		code_u32(coder, &trailer->runs[i].pairs);
		code_u32(coder, &trailer->runs[i].until);
	}
	for (uint32_t i = 0; i < trailer->leaf_count; i++)
		code_u64(coder, &trailer->leaves[i]);
	for (uint32_t i = 0; i < trailer->chunk_count; i++) {
		code_u32(coder, &trailer->chunks[i].first_node);
		code_u32(coder, &trailer->chunks[i].first_control);
		code_u64(coder, &trailer->chunks[i].at);
	}
}

/* False if it was written by a version whose entries mean something else. */
static bool code_trailer(struct coder *coder, struct index_trailer *trailer)
{
	uint64_t modified = (uint64_t)trailer->modified_ns;
	bool good = code_fixed(coder, INDEX_VERSION) &&
		    code_fixed(coder, hash_bytes(BOBBIN_VERSION, sizeof(BOBBIN_VERSION))) &&
		    code_fixed(coder, TOKEN_CLASSES_VERSION) && code_fixed(coder, RECORD_KINDS) &&
		    code_fixed(coder, hash_bytes(HASHED, sizeof(HASHED)));

	if (!good)
		return false;
	code_u64(coder, &trailer->nonce);
	code(coder, trailer->id, sizeof(trailer->id));
	code_u64(coder, &trailer->device);
	code_u64(coder, &trailer->inode);
	code_u64(coder, &modified);
	trailer->modified_ns = (int64_t)modified;
	code_u32(coder, &trailer->first_crc);
	code_u32(coder, &trailer->last_crc);
	code_u32(coder, &trailer->base_count);
	code_u32(coder, &trailer->base_through);
	code_u64(coder, &trailer->base_chain);
	code_u64(coder, &trailer->last_chain);
	code_state(coder, &trailer->state);
	code_places(coder, trailer);
	return !coder->short_of;
}

void index_put_trailer(struct buffer *out, uint64_t at, const struct index_trailer *trailer)
{
	struct index_trailer copy = *trailer;
	uint8_t bytes[TRAILER_MAX] = {0};
	struct coder coder = {bytes, bytes + sizeof(bytes) - INDEX_ALIGN, true, false};

	code_trailer(&coder, &copy);
	size_t len = (size_t)(coder.at - bytes) + INDEX_TAIL_BYTES;
	len += (INDEX_ALIGN - (at + len) % INDEX_ALIGN) % INDEX_ALIGN;
	struct tail tail = {
		(uint32_t)len, index_crc(trailer->nonce, 0, at, bytes, len - INDEX_TAIL_BYTES), MAGIC};
	memcpy(bytes + len - INDEX_TAIL_BYTES, &tail, sizeof(tail));
	buffer_add(out, (const char *)bytes, len);
}

bool index_get_tail(const uint8_t *bytes, uint32_t *ret_bytes)
{
	struct tail tail;

	memcpy(&tail, bytes, sizeof(tail));
	*ret_bytes = tail.bytes;
	return tail.magic == MAGIC && tail.bytes > INDEX_TAIL_BYTES && tail.bytes <= TRAILER_MAX;
}

bool index_get_trailer(const uint8_t *data, size_t len, uint64_t at, struct index_trailer *ret_trailer)
{
	struct coder coder = {(uint8_t *)(uintptr_t)data, data + len - INDEX_TAIL_BYTES, false, false};
	struct tail tail;

	memcpy(&tail, data + len - INDEX_TAIL_BYTES, sizeof(tail));
	memset(ret_trailer, 0, sizeof(*ret_trailer));
	return code_trailer(&coder, ret_trailer) &&
	       index_crc(ret_trailer->nonce, 0, at, data, len - INDEX_TAIL_BYTES) == tail.crc;
}
