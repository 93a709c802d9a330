/* SPDX-License-Identifier: MIT */
/*
 * A line of a log as a path. An item is found by its depth (jump pointers), its tokens are a difference of
 * two sums in the index. Only places where a late result stands for its marker are kept, with how much they
 * change the sums.
 */
#include "base/alloc.h"
#include "store/log_internal.h"
#include "tokens/counter.h"

/* A marker on the line and the result that came late. */
struct replaced {
	uint32_t position, node;
	int64_t tokens_after, bytes_after; /* changes of the sums by this one and those before it */
};

struct log_path {
	struct path path;
	struct log *log;
	uint32_t head;
	uint32_t straight;	       /* from this node to the head each follows the one numbered before */
	bool exact;		       /* from log->token_sums */
	struct token_counter estimate; /* else: a copy, as reports go on changing the original */
	struct replaced *replaced;     /* by position */
	size_t replaced_count, replaced_cap;
};

/* Any of three: counted exactly, estimated as the index did it, or estimated by a factor that reports have
 * moved. The last is taken from sums of classes, so that sums of items and items of sums agree. */
static uint64_t tokens_of_sums(const struct log_path *path, uint32_t node, const struct index_node *entry)
{
	if (path->exact)
		return path->log->token_sums[node];
	if (path->estimate.factor == COUNTER_FACTOR_ONE && !path->estimate.facts.large_vocabulary)
		return entry->tokens_sum;
	return token_counter_estimate(&path->estimate, &entry->classes_sum) + entry->fixed_sum;
}

static uint64_t tokens_up_to(const struct log_path *path, uint32_t node)
{
	if (node == NODE_NONE)
		return 0;
	if (path->exact)
		return path->log->token_sums[node];
	struct index_node entry = index_node(&path->log->index, node);
	return tokens_of_sums(path, node, &entry);
}

/* Of the node whose entry this is. */
static uint64_t own_tokens(const struct log_path *path, uint32_t node, const struct index_node *entry)
{
	return tokens_of_sums(path, node, entry) - tokens_up_to(path, entry->parent);
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

static int no_such_position(size_t position, struct bobbin_error *error)
{
	return error_set(error, BOBBIN_EINVAL, "there is no message at position %zu", position);
}

static int path_get_item(
	void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	const struct log_path *path = context;
	const struct index *index = &path->log->index;

	if (position >= path->path.count)
		return no_such_position(position, error);
	uint32_t node = node_at(path, position);
	struct index_node entry = index_node(index, node);
	const struct replaced *replaced = replaced_at(path, position);
	size_t before = replaced_before(path, position);
	int64_t tokens_change = before ? path->replaced[before - 1].tokens_after : 0;
	int64_t bytes_change = before ? path->replaced[before - 1].bytes_after : 0;
	uint64_t tokens_before = tokens_up_to(path, entry.parent);
	uint64_t tokens = tokens_of_sums(path, node, &entry) - tokens_before;
	uint32_t bytes = entry.length;

	if (replaced) {
		struct index_node late = index_node(index, replaced->node);
		tokens = own_tokens(path, replaced->node, &late);
		bytes = late.length;
	}
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
	return log_checked(path->log, 0, error);
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

static const struct path_ops LOG_PATH_OPS = {path_get_item, path_get_id, path_get_message};

/* The place of the marker that a late result replaces, or SIZE_MAX. */
static size_t marker_of(const struct log_path *path, uint32_t late)
{
	const struct index *index = &path->log->index;
	struct index_node entry = index_node(index, late);

	if (entry.marker != MARKER_NONE || !index_on_line(index, entry.parent, path->head))
		return SIZE_MAX;
	for (uint32_t depth = entry.depth;; depth++) {
		uint32_t node = index_ancestor(index, path->head, depth);
		if (node == NODE_NONE || index_node(index, node).role != ROLE_TOOL)
			return SIZE_MAX;
		if (index_node(index, node).marker != MARKER_NONE &&
			slice_equal(index_call_id(index, node), index_call_id(index, late)))
			return depth;
	}
}

/* Late results come newest first; of several for one marker the oldest stays. */
static int add_replaced(struct log_path *path, size_t position, uint32_t late)
{
	size_t at = replaced_before(path, position);

	if (at == path->replaced_count || path->replaced[at].position != position) {
		if (mem_grow((void **)&path->replaced, &path->replaced_cap, path->replaced_count + 1,
			    sizeof(*path->replaced)) < 0)
			return BOBBIN_ENOMEM;
		memmove(path->replaced + at + 1, path->replaced + at,
			(path->replaced_count - at) * sizeof(*path->replaced));
		path->replaced_count++;
	}
	path->replaced[at] = (struct replaced){.position = (uint32_t)position, .node = late};
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
			size_t position = marker_of(path, late);
			if (position != SIZE_MAX && add_replaced(path, position, late) < 0)
				return BOBBIN_ENOMEM;
		}
	}
	return 0;
}

static void sum_replaced(struct log_path *path)
{
	const struct index *index = &path->log->index;
	int64_t tokens = 0, bytes = 0;

	for (size_t i = 0; i < path->replaced_count; i++) {
		struct replaced *replaced = &path->replaced[i];
		uint32_t marker = node_at(path, replaced->position);
		struct index_node shown = index_node(index, replaced->node);
		struct index_node hidden = index_node(index, marker);
		tokens += (int64_t)own_tokens(path, replaced->node, &shown) -
			  (int64_t)own_tokens(path, marker, &hidden);
		bytes += (int64_t)shown.length - (int64_t)hidden.length;
		replaced->tokens_after = tokens;
		replaced->bytes_after = bytes;
	}
	if (path->head != NODE_NONE) {
		path->path.tokens = tokens_up_to(path, path->head) + (uint64_t)tokens;
		path->path.bytes = index_node(index, path->head).bytes_sum + (uint64_t)bytes;
	}
}

/* ---- Exact counts, once a handle -------------------------------------------------------------------------
 */

static bool is_counted(const struct log *log, const struct token_counter *counter)
{
	return log->token_sums && strcmp(log->counted_by.name, counter->name) == 0 &&
	       memcmp(&log->counted_by.facts, &counter->facts, sizeof(counter->facts)) == 0;
}

static int make_token_sums(struct log *log, const struct token_counter *counter)
{
	size_t count = index_count(&log->index);

	if (!is_counted(log, counter)) {
		log->token_sums_count = 0;
		log->counted_by = *counter;
	}
	if (mem_grow((void **)&log->token_sums, &log->token_sums_cap, count + 1, sizeof(*log->token_sums)) <
		0)
		return BOBBIN_ENOMEM;
	while (log->token_sums_count < count)
		log->token_sums[log->token_sums_count++] = UINT64_MAX;
	return 0;
}

static int count_node(struct log *log, uint32_t node, struct token_counter *counter, struct arena *arena,
	struct bobbin_error *error)
{
	uint32_t parent = index_node(&log->index, node).parent;
	struct message message;
	uint64_t tokens;
	int rc = log_message(log, node, arena, &message, error);

	if (!rc && (rc = message_count_tokens(&message, arena, counter, &tokens, NULL)) < 0)
		rc = error_set(error, rc, "cannot count the tokens of a message");
	if (!rc)
		log->token_sums[node] = tokens + (parent == NODE_NONE ? 0 : log->token_sums[parent]);
	arena_reset(arena);
	return rc;
}

/* Counts what is not yet counted on the line to `node`. */
static int count_line(
	struct log *log, uint32_t node, struct token_counter *counter, struct bobbin_error *error)
{
	const struct index *index = &log->index;
	struct arena arena = ARENA_INIT;
	uint32_t depth, last;
	int rc = 0;

	if (node == NODE_NONE)
		return 0;
	last = index_node(index, node).depth;
	for (depth = last + 1; depth > 0; depth--)
		if (log->token_sums[index_ancestor(index, node, depth - 1)] != UINT64_MAX)
			break;
	for (; !rc && depth <= last; depth++)
		rc = count_node(log, index_ancestor(index, node, depth), counter, &arena, error);
	arena_release(&arena);
	return rc;
}

static int count_exactly(struct log_path *path, struct token_counter *counter, struct bobbin_error *error)
{
	int rc = make_token_sums(path->log, counter);

	if (rc)
		return error_set(error, rc, "out of memory");
	rc = count_line(path->log, path->head, counter, error);
	for (size_t i = 0; !rc && i < path->replaced_count; i++)
		rc = count_line(path->log, path->replaced[i].node, counter, error);
	path->exact = path->path.exact = true;
	return rc;
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
	path->estimate.factor = COUNTER_FACTOR_ONE;
	if (counter)
		path->estimate = *counter;
	path->path.ops = &LOG_PATH_OPS;
	path->path.context = path;
	if (head != NODE_NONE) {
		struct index_node entry = index_node(&log->index, head);
		path->path.count = (size_t)entry.depth + 1;
		path->straight = entry.straight;
	}
	if (head != NODE_NONE && find_replaced(path) < 0)
		rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!rc && counter && counter->exact)
		rc = count_exactly(path, counter, error);
	if (rc) {
		log_path_free(path);
		return rc;
	}
	sum_replaced(path);
	if ((rc = log_checked(log, 0, error)) < 0) {
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
	return replaced ? replaced->node : node_at(path, position);
}

void log_path_free(struct log_path *path)
{
	if (!path)
		return;
	mem_free(path->replaced);
	mem_free(path);
}
