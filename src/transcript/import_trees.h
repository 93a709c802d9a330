/* SPDX-License-Identifier: MIT */
/*
 * Trees whose nodes are gathered before they are written, because the line to the head is written first.
 *
 * Invariants: (1) a node's parent stands before its children in what is written; (2) `best` leads down the line to the head.
 */
#ifndef TRANSCRIPT_IMPORT_TREES_H
#define TRANSCRIPT_IMPORT_TREES_H

#include "base/alloc.h"
#include "transcript/import_parts.h"

#define TREE_NONE SIZE_MAX

struct tree_node {
	struct json value;
	size_t parent, first, last, next; /* children in order; TREE_NONE */
	size_t best;                      /* the child on the line to the head */
	size_t draft;                     /* the last message written for it; what its children follow */
	bool written;
};

struct trees {
	struct builder builder;
	struct tree_node *nodes;
	size_t count, cap;
	struct id_table ids;
	struct place place;
	struct json document; /* around a search */
	uint64_t calls;       /* numbered in it */
};

int tree_add(struct trees *trees, const struct json *value, size_t parent, size_t *ret_index);
void tree_hang(struct trees *trees, size_t parent, size_t index);
/* False if the node stands above that parent: a circle. */
bool tree_may_hang(const struct trees *trees, size_t parent, size_t index);

/* Writes the node's messages; `aside`: it is not on the line to the head. */
typedef int (*tree_write_fn)(struct trees *trees, size_t index, bool aside);
/* Every node once: the line to the head, then the rest from the top down. */
int tree_walk(struct trees *trees, size_t root, tree_write_fn put);

/* A ToolBench search. */
int toolbench_read(struct trees *trees, const struct json *document);

#endif
