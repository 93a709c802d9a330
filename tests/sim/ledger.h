/* SPDX-License-Identifier: MIT */
/*
 * What must be in the logs: every record anybody tried to append and what was promised about it, and what
 * stands in a log's bytes, found by comparing them with those records. It shares no code with the store:
 * lines, checksums and the tree are worked out here in the simplest way.
 *
 *	ledger   entry 17: log 3, user message, its members as text, acknowledged durably with seq 5
 *	scan     the bytes of log 3: line 5 is entry 17, line 6 is damaged, …
 *	view     the messages of log 3 as a tree, those it inherits first
 *
 * A line counts iff it is, byte for byte, what was to be written for one of the entries. So half a record
 * read as a whole one, one read twice or an invented one shows as a difference between the view and what the
 * store says.
 */
#ifndef TESTS_SIM_LEDGER_H
#define TESTS_SIM_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/disk.h"

#define SIM_ID_BYTES 40
#define SIM_ENTRIES_MAX 2048
#define SIM_LOGS_MAX 192
#define SIM_LINES_MAX 800
#define SIM_NODES_MAX 800

enum { SIM_NOT_YET = -1, SIM_GONE = -2 };
enum sim_kind { SIM_USER, SIM_ASSISTANT, SIM_TOOL, SIM_CONTROL, SIM_REWIND, SIM_TITLE };
enum sim_parent { SIM_AT_HEAD, SIM_AT_ROOT, SIM_AT_ID };

/* What was promised: nothing; that it survives its process; that it survives a power cut. */
enum sim_promise { SIM_NOTHING, SIM_SURVIVES_PROCESS, SIM_SURVIVES_POWER };

struct sim_entry {
	int log;
	enum sim_kind kind;
	char *members;	       /* as they stand in the line after "seq" and before "ts" */
	char id[SIM_ID_BYTES]; /* own id, or "" */
	enum sim_parent parent_kind;
	char parent[SIM_ID_BYTES];
	bool branch;
	unsigned calls;		   /* of an assistant: ids c<entry>x0, c<entry>x1 … */
	char call[SIM_ID_BYTES];   /* of a result: the call it answers */
	char target[SIM_ID_BYTES]; /* of a rewind: "": null */

	enum sim_promise promise;
	uint64_t seq;  /* as acknowledged or as seen; 0: neither */
	bool seen;     /* stood in the file when nothing was going on: stays until a power cut */
	bool refused;  /* must not appear any more */
	bool lost;     /* was gone after a power cut: must not come back */
	bool doubtful; /* its sync failed: nothing can be promised any more, whatever is acknowledged later */
};

/* A session's log, from its creation to its deletion. */
struct sim_log {
	char id[SIM_ID_BYTES];
	int file; /* on the disk; SIM_NOT_YET, SIM_GONE for ever */
	bool durable_mode;
	enum sim_promise promise;
	bool exists, delete_tried, deleted;
	bool excused;  /* a fork that was not to survive a power cut, which came: opening it may fail */
	bool doubtful; /* not yet durable when a sync failed: its header may be forgotten */
	uint32_t noted_errors; /* of the file's failed syncs, those whose entries are doubtful already */
	uint64_t checked;      /* version of the file whose bytes were right; 0: to be looked at */
	int parent, base;      /* logs, or -1: as its header names them */
	uint64_t kept;
	char through[SIM_ID_BYTES];
	bool cut_unknown; /* its fork was not acknowledged, and somebody moved the line meanwhile */
};

struct sim_ledger {
	const struct sim_disk *disk;
	struct sim_entry entries[SIM_ENTRIES_MAX];
	int entry_count;
	struct sim_log logs[SIM_LOGS_MAX];
	int log_count;
};

struct sim_line {
	int entry;    /* -1: the store's own, about a log that has become shorter */
	uint64_t seq; /* 0: a title, or the store's own */
	size_t offset, len;
	bool aside; /* the store put a parent in: this one, "" for null */
	char parent[SIM_ID_BYTES];
};

struct sim_scan {
	struct sim_line lines[SIM_LINES_MAX];
	size_t count;
	bool header; /* the first line is this log's whole header */
	size_t odd;  /* lines that look whole and are none of ours: sectors of two writes */
	size_t size;
};

struct sim_node {
	int entry;
	uint64_t seq;
	char id[SIM_ID_BYTES];
	int parent; /* node, or -1 */
	bool late;
	size_t offset; /* in the file it stands in */
};

struct sim_view {
	struct sim_node nodes[SIM_NODES_MAX];
	int count, own_from, head;
};

void sim_ledger_release(struct sim_ledger *ledger);
struct sim_entry *sim_ledger_add(struct sim_ledger *ledger, int log, enum sim_kind kind);
int sim_ledger_add_log(struct sim_ledger *ledger, const char *id, bool durable_mode);
/* The log that has this name now, or -1. */
int sim_ledger_find_log(const struct sim_ledger *ledger, const char *id);

void sim_scan(const struct sim_ledger *ledger, int log, struct sim_scan *ret_scan);
/* The line of an entry, or NULL. */
const struct sim_line *sim_scan_find(const struct sim_scan *scan, int entry);
/* False if what it inherits is not there. */
bool sim_view(const struct sim_ledger *ledger, int log, struct sim_view *ret_view);
int sim_view_find(const struct sim_view *view, const char *id); /* by own id or m<seq>; node, or -1 */
/* One of the two, as is chosen. */
void sim_view_name(const struct sim_view *view, int node, uint32_t choice, char ret_id[SIM_ID_BYTES]);
bool sim_view_on_line(const struct sim_view *view, int node, int head);
unsigned sim_view_depth(const struct sim_view *view, int node); /* messages before it; -1: 0 */
/* How many messages a fork at `node` keeps (node -1: 0): no call is parted from its results. ret_through: the
 * last. */
int sim_view_cut(const struct sim_ledger *ledger, const struct sim_view *view, int node);

#endif
