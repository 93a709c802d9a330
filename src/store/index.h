/* SPDX-License-Identifier: MIT */
/*
 * What is known of a log without reading it: where its records are, how its messages form a tree, and sums
 * along the way. A pure function of the log's bytes (and its base's): it is built by adding records in file
 * order and can be thrown away.
 *
 *	base index (parent's)     nodes 0 … 6
 *	this index                base_count 4: nodes 0 … 3 are the base's, its own begin with 4
 *
 *	own entries   0 … first_node - 1: in the index file (index_file.h)   first_node …: in memory
 *
 * Entries have a fixed size and refer to each other by number. "Ordinals" number a log's own nodes from 0.
 *
 * KEYS lead from a hash to nodes: client's ids, ids of calls, children that do not directly follow their
 * parent, sequence numbers out of order. A key is a hint; what it leads to is compared.
 *
 * Invariants: (1) a node's parent, jump pointer, turn and round have smaller numbers or lie before it on its
 * line: there are no cycles; (2) sums are those of the parent plus its own; (3) index_rollback leaves exactly
 * what was there at the mark; (4) after a failed index_add_… the caller rolls back; (5) where entries are
 * kept makes no difference: when the index file fails, what was in it is read from the log again, and if that
 * fails, too, index_take_failure says so and no answer since counts.
 */
#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "store/log.h"
#include "store/table.h"
#include "tokens/estimate.h"

struct index_node {
	uint64_t offset; /* of the record in its file */
	uint64_t seq;
	uint64_t chain;	      /* index_chain over the line up to here */
	uint64_t tokens_sum;  /* estimated, along the line, this one included */
	uint64_t bytes_sum;   /* of records, along the line, this one included */
	uint64_t fixed_sum;   /* of the tokens in tokens_sum, those of images and frames: no text */
	uint64_t text_at;     /* place of its texts: own id, id of the call it answers, ids of its calls */
	uint32_t length, crc; /* of the record */
	uint32_t parent, jump, depth;
	uint32_t turn, round; /* depths on its line (transcript/path.h) */
	uint32_t calls;
	uint32_t damage;   /* lines lost in the file before it */
	uint32_t straight; /* the first of the nodes before it that each follow the one numbered before */
	uint32_t head;	   /* once this record counts */
	uint32_t call_len;
	uint32_t text_len;
	uint32_t previous_late; /* of a late result: the one before it in the same file, or NODE_NONE */
	uint32_t id_len;	/* 0: the id is m<seq> */
	struct token_classes classes_sum;
	uint8_t role, origin, marker, flags;
};

/* A record that is no message. */
struct index_control {
	uint64_t offset, seq;
	uint32_t length, crc;
	uint32_t record, head, previous;
	uint32_t kind;
};

/* Where reading goes on. */
struct index_position {
	uint64_t offset;
	uint64_t line;	/* number of the line at offset, from 1 */
	bool tail_open; /* the bytes before offset do not end in a line break */
};

/* What adding records changes besides adding entries, and a rollback sets back. */
struct index_state {
	uint32_t node_count, control_count; /* own ones, wherever they are kept */
	uint32_t sorted_count;		    /* so many own nodes at the start have growing sequence numbers */
	uint32_t fault_count;
	uint32_t newest[RECORD_KINDS];
	uint32_t head;
	uint32_t newest_late; /* of the own ones */
	uint32_t damage;
	uint64_t last_seq;
	uint64_t fault_total;
	struct index_position position;
};

struct index_file;

/* Where the entries are that are not in memory. */
struct index_prefix {
	struct index_file *file;
	struct index *resident; /* once the file has failed: all of it, read from the log again */
	int failed;		/* that failed, too: the reason */
	int (*reload)(void *data, struct index *ret_index);
	void *data;
};

struct index {
	const struct index *base;
	uint32_t base_count, base_through;
	bool repaired; /* of a repaired session: its numbers may begin anywhere */

	struct index_prefix *prefix;	    /* NULL: everything is in memory */
	uint32_t first_node, first_control; /* so many own entries are in the prefix */
	struct index_node *nodes;
	struct index_control *controls;
	struct log_fault *faults;
	size_t node_cap, control_cap, fault_cap;
	struct buffer texts;
	struct table keys;
	bool all_keys; /* `keys` has those of the prefix, too: nothing is looked up in the file */

	struct index_state state;
};

/* Everything a rollback needs. */
struct index_mark {
	struct index_state state;
	size_t texts_len;
	uint32_t key_count;
};

/* Empty; with a base, its nodes below `base_count` are there, the head is `through` and seq goes on after it.
 */
void index_init(struct index *index, const struct index *base, uint32_t base_count, uint32_t through);
void index_release(struct index *index);

/* Lets an empty index begin with what is in a file, which it takes over. `reload` makes an index of the same
 * part of the log when the file fails. BOBBIN_ENOMEM, BOBBIN_EIO: nothing was taken. */
int index_attach(struct index *index, struct index_file *file,
	int (*reload)(void *data, struct index *ret_index), void *data);
/* Lets a file that says the same as this index keep all of its entries, takes it over, and gives their memory back; up
 * to `keys_max` keys stay. BOBBIN_ENOMEM: nothing was taken. */
int index_move(struct index *index, struct index_file *file, uint32_t keys_max,
	int (*reload)(void *data, struct index *ret_index), void *data);
/* Own entries in memory. */
uint32_t index_resident_count(const struct index *index);
/* Whether the two are states of the same records; where reading goes on included. */
bool index_same_state(const struct index_state *a, const struct index_state *b);
/* The file has failed: what was in it is read from the log again, and must be the same. */
void index_reload(const struct index *index);
/* 0, or why an answer since the last call may be wrong; the next one is tried anew. */
int index_take_failure(const struct index *index);
bool index_has_failed(const struct index *index); /* the same, without taking it */

struct index_mark index_mark(const struct index *index);
void index_rollback(struct index *index, const struct index_mark *mark);

/* Where a record stands. */
struct index_place {
	uint64_t offset, line;
	uint32_t length, crc;
};

/* Adds a record of any kind but RECORD_SESSION lines' meaning, which is the log's. Faults it finds are noted
 * with `line_fault`'s place. BOBBIN_EINPUT: of the wrong shape, nothing added; BOBBIN_ENOMEM, BOBBIN_ELIMIT:
 * roll back. */
int index_add(struct index *index, const struct json *record, enum record_kind kind,
	const struct index_place *place, struct arena *arena, struct bobbin_error *error);

/* Notes a fault. `loses`: what was on the line may be a lost message. 0 or BOBBIN_ENOMEM. */
int index_add_fault(struct index *index, enum fault_kind kind, uint64_t line, uint64_t offset,
	uint64_t length, bool loses);

uint32_t index_count(const struct index *index);
uint32_t index_record_count(const struct index *index);		    /* own ones */
uint32_t index_record_of(const struct index *index, uint32_t node); /* the number of an own node's record */
/* Of a node that is not there: an entry without parent, at depth 0. */
struct index_node index_node(const struct index *index, uint32_t node);
struct index_node index_own(const struct index *index, uint32_t ordinal);
struct index_control index_control(const struct index *index, uint32_t control); /* own ones only */
/* An own record by its number: true if it is a control record, else it is the node ret_node. */
bool index_record(
	const struct index *index, uint32_t record, struct index_control *ret_control, uint32_t *ret_node);
/* The index whose own entries have `node`; ret_level (NULL allowed): how far down. */
const struct index *index_of(const struct index *index, uint32_t node, uint32_t *ret_level);
/* Part of this session: all own ones, of the inherited files' the line to the cut and its late results. */
bool index_has(const struct index *index, uint32_t node);
uint32_t index_ancestor(const struct index *index, uint32_t node, uint32_t depth);
bool index_on_line(const struct index *index, uint32_t node, uint32_t head);

/* By id: as given, or m<seq> of a message that was given none. NODE_NONE. */
uint32_t index_find_named(const struct index *index, struct slice id);
/* The same, and if there is none, any message by m<seq>. */
uint32_t index_find(const struct index *index, struct slice id);

/* Valid until four more texts were asked for. */
struct slice index_texts(const struct index *index, uint32_t node);   /* all of them in one piece */
struct slice index_own_id(const struct index *index, uint32_t node);  /* {NULL, 0}: m<seq> */
struct slice index_call_id(const struct index *index, uint32_t node); /* of a result */
uint32_t index_count_calls(
	const struct index *index, uint32_t node, struct slice id); /* a model may repeat an id */

/* Each key of an own node. `each` may return an error. */
int index_each_key(const struct index *index, uint32_t ordinal,
	int (*each)(void *data, uint32_t key, uint32_t ordinal), void *data);

/* Calls `each` for the children of `node`, those of the newest file first, the newest first; what it returns
 * other than 0 ends the walk. */
int index_each_child(
	const struct index *index, uint32_t node, int (*each)(void *data, uint32_t child), void *data);

enum key_kind { KEY_ID, KEY_CALL, KEY_CHILD, KEY_SEQ };
uint32_t index_key(enum key_kind kind, uint64_t value); /* value: hash_bytes of a text, a number */

/* Own ordinals that a key may stand for, newest first; NODE_NONE at the end. */
struct key_walk {
	const struct index *index;
	uint32_t key;
	uint32_t item;		/* in memory: the next one, or TABLE_NONE */
	uint32_t run, position; /* in the file: the pairs before it in that run come next */
	uint32_t last;		/* the one given before */
};
void key_walk_init(struct key_walk *walk, const struct index *index, uint32_t key);
uint32_t key_walk_next(struct key_walk *walk);

/* The chained hash of a message, from its parent's (0 for a root), the CRC-32C and the length of its record:
 * mix(mix(parent) ^ (crc << 32 | length)) with the finaliser of SplitMix64 as mix. */
uint64_t index_chain(uint64_t parent_chain, uint32_t crc, uint32_t length);

#endif
