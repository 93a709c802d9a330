/* SPDX-License-Identifier: MIT */
/*
 * ToolBench's searches: a tree of what a model tried, with backtracking.
 *
 *	{"win","tree":{"size","max_length","tree":node},"answer_generation":{"query","finish_type","final_answer",…}}
 *	node: {"node_type":"Thought"|"Action"|"Action
 * Input","description","observation"?,"pruned","finished","is_terminal", "expand_num","children":[node]}
 *
 * The root is the question: a person's. A Thought is an assistant message of text. An Action (the tool's
 * name) and the Action Input below it (its arguments) are one call, "call-N"; the observation on the input is
 * its result. A Thought that was not itself gone on from (expand_num 0) and has one Action below it came in
 * the same response: one message.
 *
 * The line to the head goes through the child that leads to a finished node, or else the last one that was
 * not pruned, or the last one. All else are branches. A node's members are under "src"; what stands beside the
 * tree is in the first message's "src" as "document".
 */
#include "transcript/import_trees.h"

static bool is_type(const struct trees *trees, size_t index, const char *type)
{
	return index != TREE_NONE && part_is(&trees->nodes[index].value, "node_type", type);
}

/* Nesting is bounded by LIMIT_JSON_DEPTH. */
static int add_nodes(struct trees *trees, const struct json *node, size_t parent)
{
	struct json children, child;
	struct json_iter iter;
	size_t index;
	int rc = tree_add(trees, node, parent, &index);

	if (!rc && parent != TREE_NONE)
		tree_hang(trees, parent, index);
	if (!rc && part_list(node, "children", &children)) {
		json_iter_init(&iter, &children);
		while (!rc && json_iter_next(&iter, NULL, &child)) {
			if (child.type == JSON_OBJECT)
				rc = add_nodes(trees, &child, index);
			else
				rc = import_not_understood(trees->builder.import, trees->place,
					"{child that is no node|children that are no nodes}", (struct slice){NULL, 0});
		}
	}
	return rc;
}

/* Children stand behind their parents in the list, so from the end up each child is known. `written` serves
 * as the mark of a node that leads to a finished one. */
static void choose(struct trees *trees)
{
	for (size_t i = trees->count; i-- > 0;) {
		struct tree_node *node = &trees->nodes[i];
		node->best = TREE_NONE;
		node->written = part_flag(&node->value, "finished");
		for (size_t at = node->first; at != TREE_NONE; at = trees->nodes[at].next) {
			const struct tree_node *child = &trees->nodes[at];
			const struct tree_node *best =
				node->best == TREE_NONE ? NULL : &trees->nodes[node->best];
			bool good = child->written || !part_flag(&child->value, "pruned");
			bool best_good = best && (best->written || !part_flag(&best->value, "pruned"));
			if (!best || child->written > best->written ||
				(child->written == best->written && good >= best_good))
				node->best = at;
			node->written |= child->written;
		}
	}
	for (size_t i = 0; i < trees->count; i++)
		trees->nodes[i].written = false;
}

/* The thought above an action that came in the same response. */
static bool is_joined(const struct trees *trees, size_t thought)
{
	const struct tree_node *node = &trees->nodes[thought];

	return is_type(trees, thought, "Thought") && import_number(&node->value, "expand_num") == 0 &&
	       node->first != TREE_NONE && node->first == node->last && is_type(trees, node->first, "Action");
}

static const char *const NODE[] = {"description", "children", "observation", NULL};

static int end_node(struct trees *trees, size_t index, bool aside, const struct json *also)
{
	static const char *const DOCUMENT[] = {"tree", NULL};
	struct json_writer *writer = &trees->builder.writer;
	struct tree_node *node = &trees->nodes[index];
	struct draft draft = {.parent_kind = DRAFT_AT, .still = aside, .parent = DRAFT_NONE};

	json_key(writer, "src");
	json_begin_object(writer);
	write_members_except(writer, &node->value, NODE);
	if (is_type(trees, index, "Action") && node->parent != TREE_NONE && is_joined(trees, node->parent))
		write_object_once(
			writer, "thought", &trees->nodes[node->parent].value, NODE, (struct slice){NULL, 0});
	if (also)
		write_object_once(writer, "input", also, NODE, (struct slice){NULL, 0});
	if (node->parent == TREE_NONE)
		write_object_once(writer, "document", &trees->document, DOCUMENT, (struct slice){NULL, 0});
	json_end_object(writer);
	if (node->parent != TREE_NONE)
		draft.parent = trees->nodes[node->parent].draft;
	node->draft = trees->builder.drafts.count;
	return builder_end(&trees->builder, &draft);
}

static int write_root(struct trees *trees, size_t index, bool aside)
{
	struct json answer, query = {NULL, 0, JSON_ABSENT};

	if (part_object(&trees->document, "answer_generation", &answer))
		json_get(&answer, "query", &query);
	write_content_of(builder_begin(&trees->builder, ROLE_USER), &query);
	return end_node(trees, index, aside, NULL);
}

static int write_thought(struct trees *trees, size_t index, bool aside)
{
	struct json text;

	json_get(&trees->nodes[index].value, "description", &text);
	write_content_of(builder_begin(&trees->builder, ROLE_ASSISTANT), &text);
	return end_node(trees, index, aside, NULL);
}

/* The result of a call whose message was just written; it follows that message. */
static int write_result(
	struct trees *trees, size_t index, const struct json *input, struct slice id, bool aside)
{
	struct json observation;
	struct draft draft = {.parent_kind = DRAFT_AT, .still = aside, .parent = trees->nodes[index].draft};

	if (!json_get(input, "observation", &observation))
		return 0;
	write_content_of(builder_begin_result(&trees->builder, id), &observation);
	trees->nodes[index].draft = trees->builder.drafts.count;
	return builder_end(&trees->builder, &draft);
}

/* An action with its first input; the input's own children follow the result. Further inputs are calls of
 * their own. */
static int write_action(struct trees *trees, size_t index, size_t input, bool aside)
{
	struct tree_node *node = &trees->nodes[index];
	struct json_writer *writer = builder_begin(&trees->builder, ROLE_ASSISTANT);
	struct slice id = import_numbered(trees->builder.import, "call-", ++trees->calls);
	struct json thought = {NULL, 0, JSON_ABSENT}, name, arguments;

	if (!id.data)
		return BOBBIN_ENOMEM;
	if (node->parent != TREE_NONE && is_joined(trees, node->parent))
		json_get(&trees->nodes[node->parent].value, "description", &thought);
	write_content_of(writer, &thought);
	json_key(writer, "tool_calls");
	json_begin_array(writer);
	json_begin_object(writer);
	json_member_string(writer, "id", id);
	if (json_get(&node->value, "description", &name))
		json_member_value(writer, "name", &name);
	if (input != TREE_NONE && json_get(&trees->nodes[input].value, "description", &arguments))
		json_member_value(writer, "arguments", &arguments);
	json_end_object(writer);
	json_end_array(writer);
	int rc = end_node(trees, index, aside, input == TREE_NONE ? NULL : &trees->nodes[input].value);
	return rc || input == TREE_NONE ? rc
					: write_result(trees, index, &trees->nodes[input].value, id, aside);
}

/* What children of a node without a message of its own follow: what the node would have followed. */
static int pass_on(struct trees *trees, size_t index)
{
	struct tree_node *node = &trees->nodes[index];

	node->draft = node->parent == TREE_NONE ? DRAFT_NONE : trees->nodes[node->parent].draft;
	return 0;
}

static int write_node(struct trees *trees, size_t index, bool aside)
{
	struct tree_node *node = &trees->nodes[index];

	if (node->parent == TREE_NONE)
		return write_root(trees, index, aside);
	if (is_type(trees, index, "Thought"))
		return is_joined(trees, index) ? pass_on(trees, index) : write_thought(trees, index, aside);
	if (is_type(trees, index, "Action")) {
		/* One with several inputs is written with each of them. */
		if (node->first != TREE_NONE && node->first != node->last)
			return pass_on(trees, index);
		return write_action(trees, index,
			is_type(trees, node->first, "Action Input") ? node->first : TREE_NONE, aside);
	}
	if (!is_type(trees, index, "Action Input"))
		return import_not_understood(trees->builder.import, trees->place, "{node|nodes} of the type",
			       import_string(trees->builder.import, &node->value, "node_type")) < 0
			       ? BOBBIN_ENOMEM
			       : pass_on(trees, index);
	if (!is_type(trees, node->parent, "Action"))
		return import_not_understood(trees->builder.import, trees->place, "{input|inputs} without an action",
			       (struct slice){NULL, 0}) < 0
			       ? BOBBIN_ENOMEM
			       : pass_on(trees, index);
	if (trees->nodes[node->parent].first == trees->nodes[node->parent].last)
		return pass_on(trees, index);
	int rc = write_action(trees, node->parent, index, aside);
	node->draft = trees->nodes[node->parent].draft;
	return rc ? rc : pass_on(trees, node->parent);
}

int toolbench_read(struct trees *trees, const struct json *document)
{
	struct json tree, root;

	if (!part_object(document, "tree", &tree) || !part_object(&tree, "tree", &root))
		return import_not_understood(trees->builder.import, trees->place, "{record|records} without a tree",
			(struct slice){NULL, 0});
	trees->document = *document;
	trees->count = 0;
	trees->calls = 0;
	int rc = add_nodes(trees, &root, TREE_NONE);
	if (rc)
		return rc;
	choose(trees);
	rc = tree_walk(trees, 0, write_node);
	return rc ? rc
		  : builder_conversation(&trees->builder, (struct slice){NULL, 0}, (struct slice){NULL, 0});
}
