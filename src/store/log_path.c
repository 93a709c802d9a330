/* SPDX-License-Identifier: MIT */
/*
 * A line of a log as a path. An item is found by its depth (jump pointers), its tokens are a difference of
 * two sums, in the index or, exact ones, beside it (log_tokens.c). Only places where a late result stands for its marker,
 * or with its call where there is none, are kept, with how much they change the sums.
 */
#include "base/alloc.h"
#include "store/log_internal.h"
#include "tokens/counter.h"

/* A marker on the line and the result that came late; `attached`: the call on the line, which has no marker. */
struct replaced {
	uint32_t position, node;
	bool attached;
	int64_t tokens_after, bytes_after; /* changes of the sums by this one and those before it */
};

struct log_path {
	struct path path;
	struct log *log;
	uint32_t head;
	uint32_t straight;	       /* from this node to the head each follows the one numbered before */
	struct token_counter counter;  /* a copy, as reports go on changing the original */
	struct replaced *replaced;     /* by position */
	size_t replaced_count, replaced_cap;
};

/* Any of three: counted exactly, estimated as the index did it, or estimated by a factor that reports have
 * moved. The last is taken from sums of classes, so that sums of items and items of sums agree. */
static int tokens_of_line(struct log_path *path, uint32_t node, const struct index_node *entry, uint64_t *ret_tokens,
	struct bobbin_error *error)
{
	const struct token_counter *counter = &path->counter;

	if (counter->exact)
		return log_line_tokens(path->log, node, entry->chain, &path->counter, ret_tokens, error);
	*ret_tokens = counter->factor == COUNTER_FACTOR_ONE && !counter->facts.large_vocabulary
			      ? entry->tokens_sum
			      : token_counter_estimate(counter, &entry->classes_sum) + entry->fixed_sum;
	return 0;
}

/* Those before a node and its own. */
static int tokens_at(struct log_path *path, uint32_t node, const struct index_node *entry, uint64_t *ret_before,
	uint64_t *ret_own, struct bobbin_error *error)
{
	uint64_t sum;
	int rc = tokens_of_line(path, node, entry, &sum, error);

	*ret_before = 0;
	if (!rc && entry->parent != NODE_NONE) {
		struct index_node parent = index_node(&path->log->index, entry->parent);
		rc = tokens_of_line(path, entry->parent, &parent, ret_before, error);
	}
	if (!rc)
		*ret_own = sum - *ret_before;
	return rc;
}

/* Most lines are straight, or have been for long: then a position is a number. */
static uint32_t node_at(const struct log_path *path, size_t position)
{
	size_t behind = path->path.count - 1 - position;

	return behind <= path->head - path->straight
		       ? path->head - (uint32_t)behind
		       : index_ancestor(&path->log->index, path->head, (uint32_t)position);
}

/* The number of replaced places before `position`. */
static size_t replaced_before(const struct log_path *path, size_t position)
{
	size_t low = 0, high = path->replaced_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (path->replaced[middle].position < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct replaced *replaced_at(const struct log_path *path, size_t position)
{
	size_t i = replaced_before(path, position);
	return i < path->replaced_count && path->replaced[i].position == position ? &path->replaced[i] : NULL;
}

/* The nth late result of the call at `position`, or NULL. */
static const struct replaced *attached_at(const struct log_path *path, size_t position, uint32_t nth)
{
	const struct replaced *first = replaced_at(path, position), *end = path->replaced + path->replaced_count;

	return first && first->attached && nth < (size_t)(end - first) && first[nth].position == position ? &first[nth]
													 : NULL;
}

/* Adds what came late to the item of its call. */
static int add_attached(struct log_path *path, size_t position, struct path_item *item, struct bobbin_error *error)
{
	const struct replaced *late;
	int rc = 0;

	while (!rc && (late = attached_at(path, position, item->late))) {
		struct index_node entry = index_node(&path->log->index, late->node);
		uint64_t before, tokens = 0;
		rc = tokens_at(path, late->node, &entry, &before, &tokens, error);
		item->late++;
		item->late_tokens += (uint32_t)tokens;
		item->tokens += (uint32_t)tokens;
		item->bytes += entry.length;
	}
	return rc;
}

static int no_such_position(size_t position, struct bobbin_error *error)
{
	return error_set(error, BOBBIN_EINVAL, "there is no message at position %zu", position);
}

static int path_get_item(
	void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	struct log_path *path = context;
	const struct index *index = &path->log->index;
	uint64_t tokens_before, tokens, before_late;

	if (position >= path->path.count)
		return no_such_position(position, error);
	uint32_t node = node_at(path, position);
	struct index_node entry = index_node(index, node);
	const struct replaced *replaced = replaced_at(path, position);
	size_t before = replaced_before(path, position);
	int64_t tokens_change = before ? path->replaced[before - 1].tokens_after : 0;
	int64_t bytes_change = before ? path->replaced[before - 1].bytes_after : 0;
	uint32_t bytes = entry.length;
	int rc = tokens_at(path, node, &entry, &tokens_before, &tokens, error);

	if (!rc && replaced && !replaced->attached) {
		struct index_node late = index_node(index, replaced->node);
		rc = tokens_at(path, replaced->node, &late, &before_late, &tokens, error);
		bytes = late.length;
	}
	/* An index that failed is the reason, if there is one. */
	if ((rc = log_checked(path->log, rc, error)) < 0)
		return rc;
	*ret_item = (struct path_item){
		.tokens_before = tokens_before + (uint64_t)tokens_change,
		.bytes_before = entry.bytes_sum - entry.length + (uint64_t)bytes_change,
		.tokens = tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)tokens,
		.bytes = bytes,
		.turn = entry.turn,
		.round = entry.round,
		.role = (enum message_role)entry.role,
		.origin = (enum message_origin)entry.origin,
		.calls = entry.calls,
	};
	if (replaced && replaced->attached)
		rc = log_checked(path->log, add_attached(path, position, ret_item, error), error);
	return rc;
}

static int path_get_id(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	struct log_path *path = context;

	if (position >= path->path.count)
		return no_such_position(position, error);
	return log_short_id(path->log, log_path_node(path, position, true), ret_id, error);
}

static int path_get_message(void *context, size_t position, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	struct log_path *path = context;

	if (position >= path->path.count)
		return no_such_position(position, error);
	return log_message(path->log, log_path_node(path, position, true), arena, ret_message, error);
}

static int path_get_late(void *context, size_t position, uint32_t nth, struct arena *arena, char ret_id[PATH_ID_BYTES],
	uint32_t *ret_tokens, struct message *ret_message, struct bobbin_error *error)
{
	struct log_path *path = context;
	const struct replaced *late = attached_at(path, position, nth);
	uint64_t before, tokens = 0;

	if (!late)
		return error_set(error, BOBBIN_EINVAL, "nothing came late for the message at position %zu", position);
	struct index_node entry = index_node(&path->log->index, late->node);
	int rc = tokens_at(path, late->node, &entry, &before, &tokens, error);
	*ret_tokens = (uint32_t)tokens;
	if (!rc)
		rc = log_short_id(path->log, late->node, ret_id, error);
	return rc ? rc : log_message(path->log, late->node, arena, ret_message, error);
}

static const struct path_ops LOG_PATH_OPS = {path_get_item, path_get_id, path_get_message, path_get_late};

/* The place of the marker that a late result replaces, or of its call if it has neither marker nor result there
 * (*ret_attached), or SIZE_MAX. */
static size_t place_of(const struct log_path *path, uint32_t late, bool *ret_attached)
{
	const struct index *index = &path->log->index;
	struct index_node entry = index_node(index, late);

	if (entry.marker != MARKER_NONE || !index_on_line(index, entry.parent, path->head))
		return SIZE_MAX;
	*ret_attached = false;
	for (uint32_t depth = entry.depth;; depth++) {
		uint32_t node = index_ancestor(index, path->head, depth);
		if (node == NODE_NONE || index_node(index, node).role != ROLE_TOOL)
			break;
		if (slice_equal(index_call_id(index, node), index_call_id(index, late)))
			return index_node(index, node).marker != MARKER_NONE ? depth : SIZE_MAX;
	}
	*ret_attached = true;
	return index_node(index, entry.parent).depth;
}

/* Whether both answer the same: a replaced marker has one result, a call one for each of its ids. */
static bool is_same_place(const struct log_path *path, const struct replaced *replaced, size_t position, uint32_t late)
{
	const struct index *index = &path->log->index;

	return replaced->position == position &&
	       (!replaced->attached || slice_equal(index_call_id(index, replaced->node), index_call_id(index, late)));
}

/* Late results come newest first; of several for one marker or call the oldest stays, in its order among others. */
static int add_replaced(struct log_path *path, size_t position, uint32_t late, bool attached)
{
	size_t first = replaced_before(path, position), at = first;

	while (at < path->replaced_count && path->replaced[at].position == position &&
		!is_same_place(path, &path->replaced[at], position, late))
		at++;
	if (at < path->replaced_count && path->replaced[at].position == position) {
		memmove(path->replaced + first + 1, path->replaced + first, (at - first) * sizeof(*path->replaced));
		at = first;
	} else {
		at = first;
		if (mem_grow((void **)&path->replaced, &path->replaced_cap, path->replaced_count + 1,
			    sizeof(*path->replaced)) < 0)
			return BOBBIN_ENOMEM;
		memmove(path->replaced + at + 1, path->replaced + at,
			(path->replaced_count - at) * sizeof(*path->replaced));
		path->replaced_count++;
	}
	path->replaced[at] = (struct replaced){.position = (uint32_t)position, .node = late, .attached = attached};
	return 0;
}

static int find_replaced(struct log_path *path)
{
	uint32_t limit = NODE_NONE;

	for (const struct index *level = &path->log->index; level;
		limit = level->base_count, level = level->base) {
		for (uint32_t late = level->state.newest_late; late != NODE_NONE;
			late = index_node(level, late).previous_late) {
			if (late >= limit || !index_has(&path->log->index, late))
				continue;
			bool attached;
			size_t position = place_of(path, late, &attached);
			if (position != SIZE_MAX && add_replaced(path, position, late, attached) < 0)
				return BOBBIN_ENOMEM;
		}
	}
	return 0;
}

static int sum_replaced(struct log_path *path, struct bobbin_error *error)
{
	const struct index *index = &path->log->index;
	int64_t tokens = 0, bytes = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < path->replaced_count; i++) {
		struct replaced *replaced = &path->replaced[i];
		uint32_t marker = node_at(path, replaced->position);
		struct index_node shown = index_node(index, replaced->node);
		struct index_node hidden = index_node(index, marker);
		uint64_t before, shown_tokens = 0, hidden_tokens = 0;
		rc = tokens_at(path, replaced->node, &shown, &before, &shown_tokens, error);
		if (replaced->attached)
			hidden.length = 0;
		else if (!rc)
			rc = tokens_at(path, marker, &hidden, &before, &hidden_tokens, error);
		tokens += (int64_t)shown_tokens - (int64_t)hidden_tokens;
		bytes += (int64_t)shown.length - (int64_t)hidden.length;
		replaced->tokens_after = tokens;
		replaced->bytes_after = bytes;
	}
	if (!rc && path->head != NODE_NONE) {
		struct index_node head = index_node(index, path->head);
		rc = tokens_of_line(path, path->head, &head, &path->path.tokens, error);
		path->path.tokens += (uint64_t)tokens;
		path->path.bytes = head.bytes_sum + (uint64_t)bytes;
	}
	return rc;
}

/* The caller's scratch is the caller's: should more be counted later, the copy makes one of its own. */
static int sum_up(struct log_path *path, struct token_counter *counter, struct bobbin_error *error)
{
	path->path.exact = path->counter.exact;
	if (counter)
		path->counter.scratch = counter->scratch;
	int rc = sum_replaced(path, error);
	if (counter)
		counter->scratch = path->counter.scratch;
	path->counter.scratch = NULL;
	return log_checked(path->log, rc, error);
}

int log_path_new(struct log *log, uint32_t head, struct token_counter *counter, struct log_path **ret_path,
	struct bobbin_error *error)
{
	int rc = 0;

	if (head != NODE_NONE && head >= index_count(&log->index))
		return error_set(error, BOBBIN_EINVAL, "no such node");
	struct log_path *path = mem_alloc_zero(sizeof(*path));
	if (!path)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	path->log = log;
	path->head = head;
	path->counter.factor = COUNTER_FACTOR_ONE;
	if (counter)
		path->counter = *counter;
	path->counter.scratch = NULL;
	path->path.ops = &LOG_PATH_OPS;
	path->path.context = path;
	if (head != NODE_NONE) {
		struct index_node entry = index_node(&log->index, head);
		path->path.count = (size_t)entry.depth + 1;
		path->straight = entry.straight;
	}
	if (head != NODE_NONE && find_replaced(path) < 0)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc)
		rc = sum_up(path, counter, error);
	if (rc) {
		log_path_free(path);
		return rc;
	}
	*ret_path = path;
	return 0;
}

const struct path *log_path_path(const struct log_path *path)
{
	return &path->path;
}

uint32_t log_path_node(const struct log_path *path, size_t position, bool shown)
{
	if (position >= path->path.count)
		return NODE_NONE;
	const struct replaced *replaced = shown ? replaced_at(path, position) : NULL;
	return replaced && !replaced->attached ? replaced->node : node_at(path, position);
}

uint32_t log_path_late(const struct log_path *path, size_t position, uint32_t nth)
{
	const struct replaced *late = attached_at(path, position, nth);
	return late ? late->node : NODE_NONE;
}

size_t log_path_late_count(const struct log_path *path)
{
	size_t count = 0;

	for (size_t i = 0; i < path->replaced_count; i++)
		count += path->replaced[i].attached;
	return count;
}

void log_path_free(struct log_path *path)
{
	if (!path)
		return;
	mem_free(path->replaced);
	token_counter_release(&path->counter);
	mem_free(path);
}
