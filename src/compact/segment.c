/* SPDX-License-Identifier: MIT */
/*
 * Dividing the line, and naming what was divided.
 *
 * Invariants: those of segment.h. The division (1) looks ahead by exactly one message, and (2) keeps no
 * state between segments, so that it can begin at any segment's end.
 */
#include "compact/segment.h"

#include "compact/visible.h"

#define SEGMENT_BYTES_DEFAULT 16384u

void segment_walk_init(struct segment_walk *walk, const struct path *path,
	const struct segment_options *options, size_t from, size_t to, struct arena *scratch)
{
	*walk = (struct segment_walk){
		.path = path, .options = *options, .at = from, .to = to, .scratch = scratch};
	if (!walk->options.segment_bytes)
		walk->options.segment_bytes = SEGMENT_BYTES_DEFAULT;
	if (walk->to > path->count)
		walk->to = path->count;
}

static bool is_run_start(const struct segment_options *options, size_t position)
{
	size_t low = 0, high = options->run_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (options->run_starts[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low < options->run_count && options->run_starts[low] == position;
}

/* Whether a segment of `bytes` ends before the message at `position`. */
static int ends_before(const struct segment_walk *walk, size_t position, uint64_t bytes, bool *ret_ends,
	struct bobbin_error *error)
{
	struct path_item item;
	int rc = path_item(walk->path, position, &item, error);

	if (rc)
		return rc;
	uint64_t all = walk->options.segment_bytes;
	*ret_ends = item.round == position && (is_run_start(&walk->options, position) || bytes >= all ||
						      (item.turn == position && bytes >= all - all / 2));
	return 0;
}

int segment_walk_next(struct segment_walk *walk, struct segment *ret_segment, struct bobbin_error *error)
{
	struct segment segment = {.from = walk->at};
	size_t at = walk->at;
	struct message message;
	uint64_t bytes;
	int rc;

	if (at >= walk->to)
		return 0;
	while (at < walk->to && !segment.closed) {
		arena_reset(walk->scratch);
		if ((rc = path_message(walk->path, at, walk->scratch, &message, error)))
			return rc;
		if ((rc = visible_bytes(&message, walk->scratch, &bytes)))
			return error_set(error, rc, "out of memory while dividing the line");
		segment.bytes += bytes;
		at++;
		if (at < walk->path->count &&
			(rc = ends_before(walk, at, segment.bytes, &segment.closed, error)))
			return rc;
	}
	segment.to = walk->at = at;
	*ret_segment = segment;
	return 1;
}

int segments_divide(const struct path *path, const struct segment_options *options, size_t from, size_t to,
	struct arena *arena, struct arena *scratch, struct segment **ret_segments, size_t *ret_count,
	struct bobbin_error *error)
{
	struct segment_walk walk;
	struct segment segment, *segments = NULL;
	size_t count = 0, cap = 0;
	int rc;

	segment_walk_init(&walk, path, options, from, to, scratch);
	while ((rc = segment_walk_next(&walk, &segment, error)) > 0) {
		if (count == cap) {
			struct segment *larger = arena_alloc(arena, (cap ? cap * 2 : 16) * sizeof *larger);

			if (!larger)
				return error_set(
					error, BOBBIN_ENOMEM, "out of memory while dividing the line");
			if (count)
				memcpy(larger, segments, count * sizeof *larger);
			segments = larger;
			cap = cap ? cap * 2 : 16;
		}
		segments[count++] = segment;
	}
	if (rc)
		return rc;
	*ret_segments = segments;
	*ret_count = count;
	return 0;
}

/* ---- Keys */

static void hash_number(struct sha256 *hash, uint64_t number)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	sha256_update(hash, bytes, sizeof bytes);
}

/* With its length, so that no two sequences of texts run together to the same bytes. */
static void hash_text(struct sha256 *hash, struct slice text)
{
	hash_number(hash, text.len);
	if (text.len)
		sha256_update(hash, text.data, text.len);
}

static int hash_image(struct sha256 *hash, struct slice bytes)
{
	uint8_t digest[SHA256_BYTES];
	int rc = sha256_of(bytes.data, bytes.len, digest);

	if (!rc)
		sha256_update(hash, digest, sizeof digest);
	return rc;
}

static int hash_message(struct sha256 *hash, const struct message *message, struct arena *scratch)
{
	struct visible_iter iter;
	struct visible piece;
	int rc = 0;

	hash_number(hash, (uint64_t)message->role | (uint64_t)message->origin << 8 |
				  (uint64_t)message->is_error << 16 | (uint64_t)message->marker << 24);
	visible_iter_init(&iter, message, scratch);
	while (!rc && visible_next(&iter, &piece)) {
		hash_number(hash, (uint64_t)piece.kind + 1);
		if (piece.kind == VISIBLE_CALL)
			hash_text(hash, piece.call_name);
		if (piece.kind == VISIBLE_IMAGE)
			rc = hash_image(hash, piece.text);
		else
			hash_text(hash, piece.text);
	}
	hash_number(hash, 0);
	return rc ? rc : iter.error;
}

static int hash_range(struct sha256 *hash, const struct path *path, size_t from, size_t to,
	struct arena *scratch, struct bobbin_error *error)
{
	struct message message;
	int rc;

	if (from > to || to > path->count)
		return error_set(error, BOBBIN_EINVAL, "no such range of messages");
	for (size_t at = from; at < to; at++) {
		arena_reset(scratch);
		if ((rc = path_message(path, at, scratch, &message, error)))
			return rc;
		if ((rc = hash_message(hash, &message, scratch)))
			return error_set(error, rc, "out of memory while hashing messages");
	}
	return 0;
}

int segment_key(const struct path *path, size_t from, size_t to, const char *deriver, const char *version,
	struct arena *scratch, char ret_key[SEGMENT_KEY_BYTES], struct bobbin_error *error)
{
	struct sha256 hash;
	uint8_t digest[SHA256_BYTES];
	int rc = sha256_init(&hash);

	if (rc)
		return error_set(error, rc, "out of memory while hashing messages");
	hash_text(&hash, slice_of(deriver));
	hash_text(&hash, slice_of(version));
	if (from) /* the same words say less in the middle of a conversation than at its beginning */
		hash_text(&hash, slice_of("goes on"));
	if ((rc = hash_range(&hash, path, from, to, scratch, error))) {
		sha256_release(&hash);
		return rc;
	}
	sha256_final(&hash, digest);
	memcpy(ret_key, "sha256:", 7);
	hex_encode(digest, sizeof digest, ret_key + 7);
	return 0;
}
