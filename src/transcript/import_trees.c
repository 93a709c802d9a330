/* SPDX-License-Identifier: MIT */
/*
 * Trees of messages: Open Assistant's, nested or flat, and ToolBench's searches (import_toolbench.c).
 *
 *	nested {"message_tree_id","prompt":{"message_id","text","role","rank"?,"created_date"?,"replies":[…]}}
 * one a line flat     [{"message_id"|"user_message_id","parent_id"|"parent_message_id","text","role"}] role:
 * prompter (the person) or assistant
 *
 * Each tree is a conversation: branches hang where they hung. The line that the head stands on is the one
 * through the replies of the best rank (0), or the first ones where there are no ranks; it is written first,
 * then the other branches. In the flat layout a message whose parent is not in the file begins a tree of its
 * own.
 */
#include "transcript/import_trees.h"
#include "transcript/import_readers.h"

int tree_add(struct trees *trees, const struct json *value, size_t parent, size_t *ret_index)
{
	if (mem_grow((void **)&trees->nodes, &trees->cap, trees->count + 1, sizeof(*trees->nodes)) < 0)
		return BOBBIN_ENOMEM;
	*ret_index = trees->count++;
	trees->nodes[*ret_index] = (struct tree_node){.value = *value,
		.parent = parent,
		.first = TREE_NONE,
		.last = TREE_NONE,
		.next = TREE_NONE,
		.draft = DRAFT_NONE};
	return 0;
}

void tree_hang(struct trees *trees, size_t parent, size_t index)
{
	struct tree_node *above = &trees->nodes[parent];

	trees->nodes[index].parent = parent;
	if (above->last == TREE_NONE)
		above->first = index;
	else
		trees->nodes[above->last].next = index;
	above->last = index;
}

int tree_walk(struct trees *trees, size_t root, tree_write_fn put)
{
	size_t at = root;
	int rc = 0;

	/* The line to the head. */
	for (size_t node = root; node != TREE_NONE && !rc; node = trees->nodes[node].best) {
		rc = put(trees, node, false);
		trees->nodes[node].written = true;
	}
	/* Then everything else, each branch from its top down. */
	while (!rc) {
		if (!trees->nodes[at].written) {
			rc = put(trees, at, true);
			trees->nodes[at].written = true;
		}
		if (trees->nodes[at].first != TREE_NONE) {
			at = trees->nodes[at].first;
			continue;
		}
		while (at != root && trees->nodes[at].next == TREE_NONE)
			at = trees->nodes[at].parent;
		if (at == root)
			break;
		at = trees->nodes[at].next;
	}
	return rc;
}

static const char *id_key(const struct json *message)
{
	return part_has(message, "message_id") ? "message_id" : "user_message_id";
}

static const char *parent_key(const struct json *message)
{
	return part_has(message, "parent_id") ? "parent_id" : "parent_message_id";
}

/* What answers a message of an unknown role follows what that one follows. */
static int pass_over(struct trees *trees, size_t index)
{
	struct tree_node *node = &trees->nodes[index];

	node->draft = node->parent == TREE_NONE ? DRAFT_NONE : trees->nodes[node->parent].draft;
	return import_not_understood(trees->builder.import, trees->place, "{message|messages} of the role",
		import_string(trees->builder.import, &node->value, "role"));
}

static int write_message(struct trees *trees, size_t index, bool aside)
{
	static const char *const OWN[] = {"message_id", "text", "replies", "created_date", NULL};
	struct tree_node *node = &trees->nodes[index];
	struct import *import = trees->builder.import;
	struct draft draft = {.parent_kind = DRAFT_AT, .still = aside, .parent = DRAFT_NONE};
	struct json_writer *writer;
	struct json text, time;

	if (part_is(&node->value, "role", "prompter") || part_is(&node->value, "role", "user"))
		writer = builder_begin(&trees->builder, ROLE_USER);
	else if (part_is(&node->value, "role", "assistant"))
		writer = builder_begin(&trees->builder, ROLE_ASSISTANT);
	else
		return pass_over(trees, index);
	json_get(&node->value, "text", &text);
	write_content_of(writer, &text);
	if (json_get(&node->value, "created_date", &time) && time.type == JSON_STRING)
		write_time(writer, &time);
	write_object_once(writer, "src", &node->value, OWN, (struct slice){NULL, 0});
	draft.id = import_string(import, &node->value, id_key(&node->value));
	if (node->parent != TREE_NONE)
		draft.parent = trees->nodes[node->parent].draft;
	node->draft = trees->builder.drafts.count;
	return builder_end(&trees->builder, &draft);
}

/* The reply of the best rank; where there are none, the first. */
static size_t best_of(const struct trees *trees, size_t index)
{
	size_t best = trees->nodes[index].first;
	int64_t best_rank = INT64_MAX;

	for (size_t at = best; at != TREE_NONE; at = trees->nodes[at].next) {
		int64_t rank = import_number(&trees->nodes[at].value, "rank");
		if (rank >= 0 && rank < best_rank) {
			best = at;
			best_rank = rank;
		}
	}
	return best;
}

static int write_tree(struct trees *trees, size_t root, struct slice id)
{
	for (size_t i = 0; i < trees->count; i++)
		trees->nodes[i].best = best_of(trees, i);
	int rc = tree_walk(trees, root, write_message);
	return rc ? rc : builder_conversation(&trees->builder, id, (struct slice){NULL, 0});
}

/* Nesting is bounded by LIMIT_JSON_DEPTH. */
static int add_nested(struct trees *trees, const struct json *message, size_t parent)
{
	struct json replies, reply;
	struct json_iter iter;
	size_t index;
	int rc = tree_add(trees, message, parent, &index);

	if (!rc && parent != TREE_NONE)
		tree_hang(trees, parent, index);
	if (!rc && part_list(message, "replies", &replies)) {
		json_iter_init(&iter, &replies);
		while (!rc && json_iter_next(&iter, NULL, &reply)) {
			if (reply.type == JSON_OBJECT)
				rc = add_nested(trees, &reply, index);
			else
				rc = import_not_understood(trees->builder.import, trees->place,
					"{reply that is no message|replies that are no messages}", (struct slice){NULL, 0});
		}
	}
	return rc;
}

static int read_nested(struct trees *trees, const struct json *value)
{
	struct json prompt;

	if (!part_object(value, "prompt", &prompt))
		return import_not_understood(trees->builder.import, trees->place, "{record|records} without a tree",
			(struct slice){NULL, 0});
	trees->count = 0;
	int rc = add_nested(trees, &prompt, TREE_NONE);
	return rc ? rc : write_tree(trees, 0, import_string(trees->builder.import, value, "message_tree_id"));
}

/* All messages first, because a reply may stand before what it answers; then each under its parent. */
static int hang_flat(struct trees *trees, const struct json *list)
{
	struct import *import = trees->builder.import;
	struct json_iter iter;
	struct json message;
	size_t index = 0, parent;
	int rc = 0;

	trees->count = 0;
	id_table_release(&trees->ids);
	json_iter_init(&iter, list);
	while (!rc && json_iter_next(&iter, NULL, &message)) {
		struct slice id = import_string(import, &message, id_key(&message));
		if (message.type == JSON_OBJECT && part_has(&message, "text"))
			rc = tree_add(trees, &message, TREE_NONE, &index);
		else
			rc = import_not_understood(import, trees->place, "{record that is no message|records that are no messages}",
				(struct slice){NULL, 0});
		if (!rc && id.data && part_has(&message, "text"))
			rc = id_table_put(&trees->ids, id, index);
	}
	for (size_t i = 0; i < trees->count && !rc; i++) {
		const struct json *value = &trees->nodes[i].value;
		struct slice above = import_string(import, value, parent_key(value));
		if (!above.data)
			continue;
		if (id_table_get(&trees->ids, above, &parent) && tree_may_hang(trees, parent, i))
			tree_hang(trees, parent, i);
		else
			rc = import_warn(import, trees->place,
				"a message whose parent is not in the file begins a tree of its own");
	}
	return rc;
}

bool tree_may_hang(const struct trees *trees, size_t parent, size_t index)
{
	for (size_t at = parent; at != TREE_NONE; at = trees->nodes[at].parent) {
		if (at == index)
			return false;
	}
	return true;
}

static int read_flat(struct trees *trees, const struct json *list)
{
	int rc = hang_flat(trees, list);

	for (size_t i = 0; i < trees->count && !rc; i++)
		trees->nodes[i].best = best_of(trees, i);
	for (size_t i = 0; i < trees->count && !rc; i++) {
		const struct json *value = &trees->nodes[i].value;
		if (trees->nodes[i].parent != TREE_NONE)
			continue;
		rc = tree_walk(trees, i, write_message);
		if (!rc)
			rc = builder_conversation(&trees->builder,
				import_string(trees->builder.import, value, id_key(value)),
				(struct slice){NULL, 0});
	}
	return rc;
}

static int read_value(struct trees *trees, const struct json *value)
{
	struct json_iter iter;
	struct json first, element;
	int rc = 0;

	if (value->type == JSON_OBJECT)
		return part_has(value, "tree") ? toolbench_read(trees, value) : read_nested(trees, value);
	if (!part_first(value, &first))
		return 0;
	if (!part_has(&first, "prompt") && !part_has(&first, "tree"))
		return read_flat(trees, value);
	json_iter_init(&iter, value);
	while (!rc && json_iter_next(&iter, NULL, &element))
		rc = read_value(trees, &element);
	return rc;
}

static int read_any(void *reader, const struct json *value, struct place place)
{
	struct trees *trees = reader;

	trees->place = place;
	return read_value(trees, value);
}

bool import_is_trees(const struct import_probe *probe)
{
	struct json inner, node;

	if (part_object(&probe->first, "prompt", &inner))
		return part_has(&inner, "replies") && part_has(&inner, "text");
	if (part_object(&probe->first, "tree", &inner))
		return part_object(&inner, "tree", &node) && part_has(&node, "node_type");
	return probe->value.type == JSON_ARRAY && part_has(&probe->first, "text") &&
	       part_has(&probe->first, "role") && part_has(&probe->first, parent_key(&probe->first)) &&
	       part_has(&probe->first, id_key(&probe->first));
}

int import_trees(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct trees trees = {0};

	builder_init(&trees.builder, import);
	int rc = import_values(import, data, len, read_any, &trees, error);
	mem_free(trees.nodes);
	id_table_release(&trees.ids);
	return import_finish(&trees.builder, rc, "tree", error);
}
