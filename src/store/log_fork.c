/* SPDX-License-Identifier: MIT */
/*
 * Forks: where the cut may be, and the header line that says it.
 *
 *	u1  a1[c1 c2]  t1(c1)  t2(c2)  u2
 *	  |          x       x       |           a cut at x would part a call from its results:
 *	                                         it is walked back to before a1
 */
#include "store/file.h"
#include "store/log_internal.h"
#include "store/meta.h"
#include "store/store_internal.h"

/* The message after `node` on the head's line; elsewhere its first child that is not beside the line. */
static int next_on_line(struct log *log, uint32_t node, uint32_t *ret_next, struct bobbin_error *error)
{
	const struct index *index = &log->index;
	struct arena arena = ARENA_INIT;
	uint32_t *nodes, count;

	*ret_next = NODE_NONE;
	if (index_on_line(index, node, index->state.head)) {
		*ret_next = index_ancestor(index, index->state.head, index_node(index, node).depth + 1);
		return 0;
	}
	int rc = log_children(log, node, &arena, &nodes, &count);
	for (uint32_t i = 0; !rc && i < count && *ret_next == NODE_NONE; i++)
		if (!(index_node(index, nodes[i]).flags & NODE_LATE))
			*ret_next = nodes[i];
	arena_release(&arena);
	return rc ? error_set(error, rc, "out of memory") : 0;
}

static int walk_back(struct log *log, uint32_t node, uint32_t *ret_node, struct bobbin_error *error)
{
	const struct index *index = &log->index;
	uint32_t next;
	int rc = next_on_line(log, node, &next, error);

	*ret_node = node;
	if (rc || next == NODE_NONE || index_node(index, next).role != ROLE_TOOL)
		return rc;
	uint32_t round = index_node(index, next).round;
	uint32_t call = index_ancestor(index, next, round);
	/* A result that begins a round of its own has no call before it: nothing is parted. */
	if (call != next && index_node(index, call).role == ROLE_ASSISTANT)
		*ret_node = index_node(index, call).parent;
	return 0;
}

static int find_cut(struct log *log, const struct log_fork_options *options, uint32_t *ret_cut,
	uint64_t *ret_asked, struct bobbin_error *error)
{
	const struct index *index = &log->index;
	uint64_t line =
		index->state.head == NODE_NONE ? 0 : (uint64_t)index_node(index, index->state.head).depth + 1;
	uint32_t node = NODE_NONE;
	int rc = 0;

	if (!options->by_count)
		rc = log_find(log, options->at, &node, error);
	else if (options->count > line)
		rc = error_set(error, BOBBIN_EINVAL, "session %s has %llu message%s, not %llu", log->id,
			(unsigned long long)line, line == 1 ? "" : "s", (unsigned long long)options->count);
	else if (options->count > 0)
		node = index_ancestor(index, index->state.head, (uint32_t)options->count - 1);
	if (rc)
		return rc;
	*ret_asked = node == NODE_NONE ? 0 : (uint64_t)index_node(index, node).depth + 1;
	*ret_cut = NODE_NONE;
	return node == NODE_NONE ? 0 : walk_back(log, node, ret_cut, error);
}

static unsigned levels_below(const struct log *log)
{
	unsigned levels = 0;
	for (; log; log = log->base)
		levels++;
	return levels;
}

/* Fills in what the header says of the cut. ret_holder: the log whose own file has the last message kept. */
static int describe(struct log *parent, uint32_t cut, struct session_line *line, struct log **ret_holder,
	struct bobbin_error *error)
{
	struct log *holder = parent;

	line->has_parent = true;
	memcpy(line->parent_id, parent->id, sizeof(line->parent_id));
	memcpy(line->base_id, parent->id, sizeof(line->base_id));
	*ret_holder = parent;
	if (cut == NODE_NONE)
		return 0;
	/* Of an ancestor the child has what its parent has of it: nothing that was written since the parent was forked. */
	uint64_t size = parent->index.state.position.offset;
	while (cut < holder->index.base_count) {
		size = holder->info.parent_size ? holder->info.parent_size : holder->base->index.state.position.offset;
		holder = holder->base;
	}
	if (levels_below(holder) > LIMIT_FORK_DEPTH)
		return error_set(error, BOBBIN_ELIMIT,
			"more than %d ancestors: `bobbin fork` from an earlier session", LIMIT_FORK_DEPTH);
	struct index_node node = index_node(&parent->index, cut);
	line->pinned = true;
	memcpy(line->base_id, holder->id, sizeof(line->base_id));
	line->forked_at = (uint64_t)node.depth + 1;
	line->parent_seq = node.seq;
	line->parent_end = node.offset + node.length;
	line->parent_hash = node.chain;
	line->parent_size = size;
	*ret_holder = holder;
	return log_node_id(parent, cut, line->through, error);
}

/* All of them: those that were made without syncing may never have been synced. */
static int sync_ancestors(struct log *log, struct bobbin_error *error)
{
	int rc = 0;

	for (; !rc && log; log = log->base) {
		if ((rc = log_lock(log, error)) < 0)
			return rc;
		if ((rc = log->platform->sync_data(log->platform->context, log->file)) < 0) {
			log_mark_unsynced(log);
			rc = error_set_os(error, -rc, "cannot sync %s", log->name);
		}
		log_unlock(log);
	}
	return rc;
}

/* Under the store's lock nobody deletes: what is there now stays until the child's name is there too. */
static int make_child(struct log *parent, struct log *holder, struct session_line *line, bool new_id,
	uint64_t *ret_size, struct bobbin_error *error)
{
	struct store *store = parent->store;
	enum store_sync sync = line->sync == LOG_SYNC_STORE ? store->sync : (enum store_sync)line->sync;
	uint64_t size;
	int lock, file = -1;
	int rc = file_open_locked(
		store->platform, store->dir, STORE_LOCK_NAME, LIMIT_LOCK_WAIT_MS, &lock, error);

	if (rc)
		return rc;
	rc = log_check_file(parent, &size, error);
	if (!rc)
		rc = log_check_file(holder, &size, error);
	if (rc == BOBBIN_ENOTFOUND && holder != parent)
		error_set(error, rc, "%s was deleted since %s was opened: open %s anew", holder->name, parent->id,
			parent->id);
	if (!rc && sync == STORE_SYNC_FULL)
		rc = sync_ancestors(holder, error);
	if (!rc)
		rc = log_create_with(store, line, new_id, &file, ret_size, error);
	file_close(store->platform, file);
	file_close(store->platform, lock);
	return rc;
}

/* Its log has `size` bytes of our own; somebody may have appended to it since, who has a meta of his own to write. */
static void write_child_meta(struct log *parent, const struct session_line *line, uint64_t size)
{
	struct meta meta = {.line = *line, .has_messages = true, .messages = line->forked_at, .log_bytes = size};

	/* A cache: the fork is there whether or not this works. */
	meta_write(parent->store, line->id, &meta, line->through, false, NULL);
}

int log_fork(struct log *parent, const struct log_fork_options *options, struct log_fork *ret_fork,
	struct log **ret_child, struct bobbin_error *error)
{
	struct log_create_options create = options->create;
	struct session_line line;
	struct log *holder;
	uint64_t asked = 0, size;
	uint32_t cut = NODE_NONE;
	int rc = log_refresh(parent, error);

	if (!create.owner.len)
		create.owner = slice_of(parent->info.owner);
	if (!create.segment_bytes)
		create.segment_bytes = parent->info.segment_bytes;
	create.redact_on_write = create.redact_on_write || parent->info.redact_on_write;
	if (rc || (rc = log_checked(parent, find_cut(parent, options, &cut, &asked, error), error)) < 0 ||
		(rc = log_create_line(parent->store, &create, &line, error)) < 0 ||
		(rc = describe(parent, cut, &line, &holder, error)) < 0 ||
		(rc = log_checked(parent, 0, error)) < 0 ||
		(rc = make_child(parent, holder, &line, create.id.len == 0, &size, error)) < 0)
		return rc;
	write_child_meta(parent, &line, size);
	if (ret_child && (rc = log_open(parent->store, slice_of(line.id), LOG_WRITE, ret_child, error)) < 0)
		return rc;
	if (ret_fork) {
		*ret_fork = (struct log_fork){.kept = line.forked_at, .walked_back = asked - line.forked_at};
		ret_fork->gap = log_gap(parent, NODE_NONE, cut);
		memcpy(ret_fork->through, line.through, sizeof(ret_fork->through));
		memcpy(ret_fork->id, line.id, sizeof(ret_fork->id));
	}
	return 0;
}
