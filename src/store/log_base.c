/* SPDX-License-Identifier: MIT */
/*
 * What a fork inherits: finding the log that has it, and the message in it that the fork's header names.
 *
 *	X.base.jsonl       what X inherits, copied, if X has a copy of its own (log_materialize.c)
 *	BASE.jsonl         else the log that the header names
 *
 * A copy is tried first and counts only if it has what was forked; so one that a deletion left behind for a
 * session that had the same id harms nobody. It is looked for once more if the other log is gone, since it is
 * made before that one is deleted. In a copy records stand elsewhere than in the log they come from, so the
 * message is found by its number there; the chained hash then says whether it, and all before it, is the same.
 * A repair takes one whose hash differs as well, if it is damaged: that explains it. Without damage it is another log.
 */
#include <stdio.h>
#include "base/buffer.h"
#include "store/log_internal.h"
#include "store/repair_write.h"
#include "store/store_internal.h"

void log_copy_name(const char *id, char ret_name[LOG_NAME_BYTES])
{
	size_t len = strlen(id);

	memcpy(ret_name, id, len);
	memcpy(ret_name + len, ".base.jsonl", sizeof(".base.jsonl"));
}

/* BOBBIN_ENOTFOUND if it has none, or none that can be used; BOBBIN_EIO if nobody can tell. */
static int open_copy(struct log *log, struct log **ret_copy, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	char name[LOG_NAME_BYTES];

	if (log->is_copy)
		return BOBBIN_ENOTFOUND;
	log_copy_name(log->id, name);
	int rc = log_open_copy(log->store, log->id, name, log->raw, log->read_max, ret_copy, &why);
	if (rc == BOBBIN_ENOMEM || rc == BOBBIN_EIO)
		return error_set(error, rc, "%s", why.message);
	return rc ? BOBBIN_ENOTFOUND : 0;
}

static int open_base(struct log *log, const char *id, const struct log_chain *chain, struct log **ret_base,
	struct bobbin_error *error)
{
	for (const struct log_chain *at = chain; at; at = at->below)
		if (strcmp(at->id, id) == 0)
			return error_set(error, BOBBIN_ECORRUPT, "%s: its ancestors form a circle through %s",
				log->name, id);
	if (chain->depth >= LIMIT_FORK_DEPTH)
		return error_set(
			error, BOBBIN_ECORRUPT, "%s: more than %d ancestors", log->name, LIMIT_FORK_DEPTH);
	int rc = log_open_below(log->store, slice_of(id), log, chain, ret_base, error);
	if (rc == BOBBIN_ENOTFOUND)
		rc = error_set(error, BOBBIN_ECORRUPT,
			"%s: the session it was forked from, %s, is missing: put %s.jsonl back", log->name,
			id, id);
	else if (rc == BOBBIN_EREFUSED) {
		error_prefix(error, "%s: the session it was forked from cannot be used", log->name);
		rc = error ? error->code = BOBBIN_ECORRUPT : BOBBIN_ECORRUPT;
	} else if (rc && chain->depth == 0) /* who is concerned, and where it fails; not all those between */
		error_prefix(error, "%s: its ancestor", log->name);
	return rc;
}

/* ---- The message that a header names ---------------------------------------------------------------------
 */

/* The own node of `base` whose record ends at `end`, or NODE_NONE. */
static uint32_t node_ending_at(const struct index *base, uint64_t end)
{
	uint32_t low = base->base_count, high = index_count(base);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct index_node node = index_node(base, middle);
		if (node.offset + node.length < end)
			low = middle + 1;
		else
			high = middle;
	}
	struct index_node node = index_node(base, low);
	return low < index_count(base) && node.offset + node.length == end ? low : NODE_NONE;
}

static uint32_t node_numbered(const struct index *base, uint64_t seq)
{
	char name[32]; /* no buffer: being out of memory is not "it is not there" */

	snprintf(name, sizeof(name), "m%llu", (unsigned long long)seq);
	return index_find(base, slice_of(name));
}

uint32_t log_find_pinned(const struct log *base, const struct session_line *said)
{
	const struct index *index = &base->index;
	uint32_t through = base->is_copy ? node_numbered(index, said->parent_seq)
					 : node_ending_at(index, said->parent_end);
	struct index_node node = index_node(index, through);

	if (through == NODE_NONE || node.seq != said->parent_seq || node.chain != said->parent_hash ||
		(uint64_t)node.depth + 1 != said->forked_at ||
		index_find(index, slice_of(said->through)) == NODE_NONE)
		return NODE_NONE;
	return through;
}

/* Closes the logs above the one whose own file has the node. */
static struct log *holder_of(struct log *base, uint32_t node)
{
	while (node < base->index.base_count) {
		struct log *above = base;
		base = above->base;
		above->base = NULL;
		log_free(above);
	}
	return base;
}

static int not_what_was_forked(
	const struct log *log, const struct session_line *said, struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ECORRUPT,
		"%s: %s of %s is not what was forked any more (the hash of the record that ends at byte %llu "
		"differs)",
		log->name, said->through, said->base_id, (unsigned long long)said->parent_end);
}

static void take_base(
	struct log *log, struct log *base, const struct session_line *said, uint32_t through, uint32_t *ret_through)
{
	log->base = holder_of(base, through);
	log->ancestry = *said;
	/* All of a copy is from before the fork. */
	if (log->base->is_copy)
		log->ancestry.parent_size = log->base->index.state.position.offset;
	*ret_through = through;
}

/* From its own copy. BOBBIN_ENOTFOUND: it has none that fits. */
static int resolve_copied(
	struct log *log, const struct session_line *said, uint32_t *ret_through, struct bobbin_error *error)
{
	struct log *copy = NULL;
	int rc = open_copy(log, &copy, error);

	if (rc)
		return rc;
	uint32_t through = log_find_pinned(copy, said);
	rc = log_checked(copy, through == NODE_NONE ? BOBBIN_ENOTFOUND : 0, error);
	if (rc) {
		log_free(copy);
		return rc;
	}
	take_base(log, copy, said, through, ret_through);
	return 0;
}

/* ---- A base that is damaged, for a repair ---------------------------------------------------------------- */

/* Whether something that stood before `end` in the file cannot be read, or is not what was written, here or further down: then a
 * hash that differs is no sign of another log. */
static bool is_damaged_before(const struct log *base, uint64_t end)
{
	size_t count;
	const struct log_fault *faults = log_faults(base, &count);

	for (size_t i = 0; i < count && faults[i].offset < end; i++)
		if (repair_fault_loses(faults[i].kind) || faults[i].kind == FAULT_CRC)
			return true;
	return base->base_damaged;
}

/* The message that the header names, whatever its hash is now; if it cannot be read itself, the one before it. */
static uint32_t nearest_node(const struct log *base, const struct session_line *said)
{
	const struct index *index = &base->index;
	uint32_t node = base->is_copy ? node_numbered(index, said->parent_seq) : node_ending_at(index, said->parent_end);
	uint32_t low = 0, high = log_record_count(base);
	struct log_record record;

	if (node != NODE_NONE && index_node(index, node).seq == said->parent_seq)
		return node;
	if (base->is_copy)
		return index->state.head;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (log_record(base, middle, &record) == 0 && record.offset + record.length <= said->parent_end)
			low = middle + 1;
		else
			high = middle;
	}
	return low && log_record(base, low - 1, &record) == 0 ? record.head : base->index.base_through;
}

/* Takes over `base` if it is what was forked and only damaged since. BOBBIN_ENOTFOUND: it is not. */
static int take_damaged(struct log *log, struct log *base, const struct session_line *said, uint32_t *ret_through)
{
	uint64_t end = base->is_copy ? UINT64_MAX : said->parent_end;
	uint32_t through = is_damaged_before(base, end) ? nearest_node(base, said) : NODE_NONE;
	int rc = log_checked(base, through == NODE_NONE ? BOBBIN_ENOTFOUND : 0, NULL);

	if (rc)
		return rc;
	take_base(log, base, said, through, ret_through);
	log->base_damaged = true;
	return 0;
}

/* Its own copy, or else the base, as far as either can be read. Takes over `base`, which may be NULL. */
static int resolve_damaged(struct log *log, struct log *base, const struct session_line *said, uint32_t *ret_through)
{
	struct log *copy = NULL;
	int rc = open_copy(log, &copy, NULL);

	if (!rc) {
		rc = take_damaged(log, copy, said, ret_through);
		if (rc)
			log_free(copy);
	}
	if (rc == BOBBIN_ENOTFOUND && base && (rc = take_damaged(log, base, said, ret_through)) == 0)
		return 0;
	log_free(base);
	return rc;
}

static int resolve_pinned(struct log *log, const struct session_line *said, const struct log_chain *chain,
	uint32_t *ret_through, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct log *base = NULL;
	int rc = resolve_copied(log, said, ret_through, &why);

	/* One that cannot be read is not needed while the base is there. */
	if (rc != BOBBIN_ENOTFOUND && rc != BOBBIN_EIO)
		return rc ? error_set(error, rc, "%s", why.message) : 0;
	rc = open_base(log, said->base_id, chain, &base, &why);
	if (rc == BOBBIN_ECORRUPT) {
		struct bobbin_error ignored = {0};
		int copied = resolve_copied(log, said, ret_through, &ignored);
		if (copied != BOBBIN_ENOTFOUND)
			return copied ? error_set(error, copied, "%s", ignored.message) : 0;
	}
	if (rc) {
		if (rc == BOBBIN_ECORRUPT && log->salvage && resolve_damaged(log, NULL, said, ret_through) == 0)
			return 0;
		return error_set_at(error, rc, why.line, why.offset, "%s", why.message);
	}
	uint32_t through = log_find_pinned(base, said);
	/* Forked from what the base itself has only as a copy. */
	if (through == NODE_NONE && base->base && base->base->is_copy)
		through = log_find_pinned(base->base, said);
	rc = through == NODE_NONE ? not_what_was_forked(log, said, error) : 0;
	/* What could not be read has not changed for that. */
	rc = log_checked(base, rc, error);
	if (rc == BOBBIN_ECORRUPT && log->salvage)
		return resolve_damaged(log, base, said, ret_through) == 0 ? 0 : rc;
	if (rc < 0) {
		log_free(base);
		return rc;
	}
	take_base(log, base, said, through, ret_through);
	return 0;
}

/* A log that only says of how many messages it began with: those of its parent's line, as it is now. */
static int resolve_count(struct log *log, const struct session_line *said, const struct log_chain *chain,
	uint32_t *ret_through, struct bobbin_error *error)
{
	struct log *base = NULL;
	char id[PATH_ID_BYTES];
	int rc = open_base(log, said->parent_id, chain, &base, error);

	if (rc)
		return rc;
	uint32_t through =
		index_ancestor(&base->index, base->index.state.head, (uint32_t)said->forked_at - 1);
	if (through == NODE_NONE) {
		rc = error_set(error, BOBBIN_ECORRUPT, "%s: forked at %llu, but %s has fewer messages",
			log->name, (unsigned long long)said->forked_at, said->parent_id);
		rc = log_checked(base, rc, error);
		log_free(base);
		return rc;
	}
	if ((rc = log_node_id(base, through, id, error)) < 0) {
		log_free(base);
		return rc;
	}
	take_base(log, base, said, through, ret_through);
	struct index_node node = index_node(&log->base->index, through);
	log->ancestry.pinned = true;
	memcpy(log->ancestry.base_id, log->base->id, sizeof(log->ancestry.base_id));
	memcpy(log->ancestry.through, id, sizeof(log->ancestry.through));
	log->ancestry.parent_seq = node.seq;
	log->ancestry.parent_end = node.offset + node.length;
	log->ancestry.parent_hash = node.chain;
	return 0;
}

/* A damaged log whose header is lost: the copy beside it is what it inherits if its own records go on from there. */
static int resolve_lost(
	struct log *log, const struct session_line *said, uint64_t first_seq, uint32_t *ret_through, struct bobbin_error *error)
{
	struct session_line known = *said;
	struct log *copy = NULL;
	int rc = open_copy(log, &copy, error);

	if (rc)
		return rc == BOBBIN_ENOTFOUND ? 0 : rc;
	uint32_t head = copy->index.state.head;
	struct index_node node = index_node(&copy->index, head);
	rc = log_checked(copy, 0, error);
	if (rc || head == NODE_NONE || (first_seq && node.seq >= first_seq) ||
		log_node_id(copy, head, known.through, error) < 0) {
		log_free(copy);
		return rc;
	}
	known.has_parent = known.pinned = true;
	known.forked_at = (uint64_t)node.depth + 1;
	known.parent_seq = node.seq;
	known.parent_end = node.offset + node.length;
	known.parent_hash = node.chain;
	take_base(log, copy, &known, head, ret_through);
	return 0;
}

int log_begin_again(struct log *log, const struct session_line *said, const struct log_chain *chain,
	struct bobbin_error *error)
{
	uint32_t through = NODE_NONE, count = 0;
	uint64_t first_seq = log->header_lost ? log_first_seq(log) : 0;
	int rc = 0;

	index_release(&log->index);
	index_init(&log->index, NULL, 0, NODE_NONE);
	log->has_pending = log->base_damaged = false;
	log_free(log->base);
	log->base = NULL;
	if (said->has_parent && said->forked_at > 0 && !log->header_lost)
		rc = said->pinned ? resolve_pinned(log, said, chain, &through, error)
				  : resolve_count(log, said, chain, &through, error);
	else if (log->salvage && log->header_lost)
		rc = resolve_lost(log, said, first_seq, &through, error);
	log->parent_lost = log->salvage && !log->base && (rc == BOBBIN_ECORRUPT || (!rc && log->header_lost));
	if (log->parent_lost)
		return 0;
	if (rc || !log->base)
		return rc;
	/* All nodes up to the cut in the file; which of them belong to this session is index_has's to say. */
	count = through + 1;
	index_init(&log->index, &log->base->index, count, through);
	return 0;
}
