/* SPDX-License-Identifier: MIT */
/* Stores, lists of sessions, and forks as trees. */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/id.h"
#include <stdlib.h>
#include <strings.h>

int bobbin_store_open(const char *path, const struct bobbin_store_options *options, bobbin_store **ret_store,
	struct bobbin_error *error)
{
	struct bobbin_store_options all = BOBBIN_STORE_OPTIONS_INIT;
	struct store_options inner = {0};
	if (!path || !*path)
		return error_set(error, BOBBIN_EINVAL, "a store needs a path");
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	if (all.sync < BOBBIN_SYNC_DEFAULT || all.sync > BOBBIN_SYNC_NONE)
		return error_set(
			error, BOBBIN_EINVAL, "sync is %d; it must be one of enum bobbin_sync", all.sync);
	inner.create = !all.must_exist && !all.read_only;
	inner.read_only = all.read_only;
	inner.force_filesystem = all.force_file_system;
	inner.sync = all.sync == BOBBIN_SYNC_NONE ? STORE_SYNC_NONE : STORE_SYNC_FULL;
	bobbin_store *store = mem_alloc_zero(sizeof(*store));
	if (!store)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	int rc = store_open(platform_default(), path, &inner, &store->store, error);
	if (rc < 0) {
		mem_free(store);
		return rc;
	}
	store->process = platform_process();
	store->read_only = all.read_only;
	*ret_store = store;
	return 0;
}

void bobbin_store_close(bobbin_store *store)
{
	if (!store)
		return;
	store_close(store->store);
	mem_free(store);
}

void bobbin_store_progress(bobbin_store *store, bobbin_progress progress, void *context)
{
	store->progress = progress;
	store->progress_context = context;
}

int bobbin_session_delete(bobbin_store *store, const char *id, struct bobbin_error *error)
{
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	return store_delete(store->store, slice_of(id), error);
}

int bobbin_session_delete_materialized(bobbin_store *store, const char *id, struct bobbin_error *error)
{
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	return store_delete_materialized(store->store, slice_of(id), error);
}

/* ---- Lists ---- */

struct bobbin_list {
	struct arena arena;
	struct bobbin_session_info *infos;
	size_t count, next;
};

static void info_from_entry(const struct store_entry *entry, struct bobbin_session_info *ret_info)
{
	struct bobbin_session_info *info = ret_info;
	memset(info, 0, sizeof(*info));
	/* ids in a store are at most LIMIT_SESSION_ID_BYTES: store_list only gives
	 * such */
	memcpy(info->id, entry->id, strnlen(entry->id, BOBBIN_SESSION_ID_BYTES - 1));
	memcpy(info->parent_id, entry->parent_id, strnlen(entry->parent_id, BOBBIN_SESSION_ID_BYTES - 1));
	memcpy(info->repaired_from, entry->repaired_from, strnlen(entry->repaired_from, BOBBIN_SESSION_ID_BYTES - 1));
	info->owner = entry->owner;
	info->title = entry->title;
	info->forked_at = entry->forked_at;
	info->messages = entry->messages;
	info->bytes = entry->bytes;
	info->updated_ns = entry->updated_ns;
	info->messages_known = entry->messages_known;
	info->damaged = entry->why;
}

static int list_fill(bobbin_store *store, const struct store_list_options *options, bobbin_list *list,
	struct bobbin_error *error)
{
	struct store_entry *entries;
	int rc = store_list(store->store, options, &list->arena, &entries, &list->count, error);
	if (rc < 0)
		return rc;
	list->infos = arena_alloc(&list->arena, (list->count + 1) * sizeof(*list->infos));
	if (!list->infos)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; i < list->count; i++)
		info_from_entry(&entries[i], &list->infos[i]);
	return 0;
}

static bool contains_folded(const char *text, const char *part)
{
	for (; *text; text++)
		if (strncasecmp(text, part, strlen(part)) == 0)
			return true;
	return !*part;
}

/* Those whose title or id contains `part`. */
static void keep_named(bobbin_list *list, const char *part, size_t limit)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->count && kept < limit; i++)
		if (contains_folded(list->infos[i].title, part) || contains_folded(list->infos[i].id, part))
			list->infos[kept++] = list->infos[i];
	list->count = kept;
}

int bobbin_list_open(bobbin_store *store, const struct bobbin_list_options *options, bobbin_list **ret_list,
	struct bobbin_error *error)
{
	struct bobbin_list_options all = BOBBIN_LIST_OPTIONS_INIT;
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	const struct store_list_options inner = {
		.owner = all.owner, .parent_id = all.parent, .limit = all.title ? 0 : all.limit, .count = true};
	bobbin_list *list = mem_alloc_zero(sizeof(*list));
	if (!list)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	rc = list_fill(store, &inner, list, error);
	if (rc < 0) {
		bobbin_list_close(list);
		return rc;
	}
	if (all.title)
		keep_named(list, all.title, all.limit ? all.limit : SIZE_MAX);
	*ret_list = list;
	return 0;
}

const struct bobbin_session_info *bobbin_list_next(bobbin_list *list)
{
	return list && list->next < list->count ? &list->infos[list->next++] : NULL;
}

void bobbin_list_close(bobbin_list *list)
{
	if (!list)
		return;
	arena_release(&list->arena);
	mem_free(list);
}

/* ---- Trees ---- */

struct bobbin_tree {
	bobbin_list list;
	struct bobbin_tree_node *nodes;
	size_t *parents; /* index of each session's parent, or SIZE_MAX */
	size_t *order;	 /* indexes sorted by parent, then by place of the fork:
			    siblings stand together */
	bool *placed;
	size_t count, next;
};

struct by_id {
	const char *id;
	size_t index;
};

static int compare_ids(const void *a, const void *b)
{
	return strcmp(((const struct by_id *)a)->id, ((const struct by_id *)b)->id);
}

/* Fills tree->parents by a sorted table of ids. */
static int find_parents(bobbin_tree *tree, struct arena *arena)
{
	size_t count = tree->list.count;
	const struct bobbin_session_info *infos = tree->list.infos;
	struct by_id *table = arena_alloc(arena, (count + 1) * sizeof(*table));
	if (!table)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < count; i++)
		table[i] = (struct by_id){infos[i].id, i};
	qsort(table, count, sizeof(*table), compare_ids);
	for (size_t i = 0; i < count; i++) {
		const struct by_id key = {infos[i].parent_id, 0};
		const struct by_id *found =
			*infos[i].parent_id ? bsearch(&key, table, count, sizeof(*table), compare_ids) : NULL;
		tree->parents[i] = found && found->index != i ? found->index : SIZE_MAX;
	}
	return 0;
}

/* Siblings: by the place they were forked at, then oldest first (the list is
 * newest first). */
static int compare_siblings(const void *a, const void *b, void *context)
{
	const bobbin_tree *tree = context;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	uint64_t at_i = tree->list.infos[i].forked_at, at_j = tree->list.infos[j].forked_at;
	if (tree->parents[i] != tree->parents[j])
		return tree->parents[i] < tree->parents[j] ? -1 : 1;
	if (tree->parents[i] == SIZE_MAX)
		return i < j ? -1 : i > j;
	if (at_i != at_j)
		return at_i < at_j ? -1 : 1;
	return i > j ? -1 : i < j;
}

static size_t first_child(const bobbin_tree *tree, size_t parent)
{
	size_t low = 0, high = tree->list.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tree->parents[tree->order[middle]] < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Places a session and everything below it, depth first, without recursion:
 * `next` is where each level goes on. */
static void place(bobbin_tree *tree, size_t root, size_t *stack, size_t *next)
{
	size_t depth = 0;
	stack[0] = root;
	next[0] = first_child(tree, root);
	tree->placed[root] = true;
	tree->nodes[tree->count++] = (struct bobbin_tree_node){&tree->list.infos[root], 0, 1, 0};
	for (;;) {
		size_t at = next[depth];
		if (at >= tree->list.count || tree->parents[tree->order[at]] != stack[depth]) {
			if (!depth--)
				return;
			continue;
		}
		size_t child = tree->order[at];
		next[depth]++;
		if (tree->placed[child])
			continue;
		bool last = at + 1 >= tree->list.count || tree->parents[tree->order[at + 1]] != stack[depth];
		tree->placed[child] = true;
		tree->nodes[tree->count++] =
			(struct bobbin_tree_node){&tree->list.infos[child], (unsigned)++depth, last, 0};
		stack[depth] = child;
		next[depth] = first_child(tree, child);
	}
}

/* The root above `id`, or SIZE_MAX. A cycle ends at the session where it
 * closes. */
static size_t root_of(const bobbin_tree *tree, const char *id)
{
	size_t at = 0;
	while (at < tree->list.count && strcmp(tree->list.infos[at].id, id) != 0)
		at++;
	if (at == tree->list.count)
		return SIZE_MAX;
	for (size_t steps = 0; tree->parents[at] != SIZE_MAX && steps < tree->list.count; steps++)
		at = tree->parents[at];
	return at;
}

static int tree_build(bobbin_tree *tree, const char *id, struct bobbin_error *error)
{
	struct arena *arena = &tree->list.arena;
	size_t count = tree->list.count, root = SIZE_MAX;
	size_t *stack = arena_alloc(arena, (count + 1) * sizeof(*stack));
	size_t *next = arena_alloc(arena, (count + 1) * sizeof(*next));
	tree->nodes = arena_alloc(arena, (count + 1) * sizeof(*tree->nodes));
	tree->parents = arena_alloc(arena, (count + 1) * sizeof(*tree->parents));
	tree->order = arena_alloc(arena, (count + 1) * sizeof(*tree->order));
	tree->placed = arena_alloc_zero(arena, count + 1);
	if (!stack || !next || !tree->nodes || !tree->parents || !tree->order || !tree->placed ||
		find_parents(tree, arena) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		tree->order[i] = i;
	qsort_r(tree->order, count, sizeof(*tree->order), compare_siblings, tree);
	if (id && (root = root_of(tree, id)) == SIZE_MAX)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no session %s", id);
	if (id) {
		place(tree, root, stack, next);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (tree->parents[i] == SIZE_MAX)
			place(tree, i, stack, next);
	for (size_t i = 0; i < count; i++) /* what hangs on a cycle of damaged headers is shown too */
		if (!tree->placed[i])
			place(tree, i, stack, next);
	return 0;
}

/* Roots that say they are forks: their parent is not there. */
static void find_gone_parents(bobbin_store *store, bobbin_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct bobbin_tree_node *node = &tree->nodes[i];
		if (node->depth || !*node->session->parent_id)
			continue;
		struct slice own = slice_of(node->session->id);
		if (!node->session->forked_at || store_has_copy(store->store, own))
			node->parent_gone = 1;
		else
			node->parent_gone = store_lacks_copy(store->store, own) ? 2 : 3;
	}
}

int bobbin_tree_open(bobbin_store *store, const char *id, bobbin_tree **ret_tree, struct bobbin_error *error)
{
	int rc = STORE_CHECK(store, error);
	if (rc < 0)
		return rc;
	if (id && !id_is_session(slice_of(id)))
		return error_set(error, BOBBIN_EINVAL, "that is not a session id");
	bobbin_tree *tree = mem_alloc_zero(sizeof(*tree));
	if (!tree)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	const struct store_list_options all = {.count = true};
	rc = list_fill(store, &all, &tree->list, error);
	if (!rc)
		rc = tree_build(tree, id, error);
	if (!rc)
		find_gone_parents(store, tree);
	if (rc < 0)
		bobbin_tree_close(tree);
	else
		*ret_tree = tree;
	return rc;
}

const struct bobbin_tree_node *bobbin_tree_next(bobbin_tree *tree)
{
	return tree && tree->next < tree->count ? &tree->nodes[tree->next++] : NULL;
}

void bobbin_tree_close(bobbin_tree *tree)
{
	if (!tree)
		return;
	arena_release(&tree->list.arena);
	mem_free(tree);
}
