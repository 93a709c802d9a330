/* SPDX-License-Identifier: MIT */
/*
 * Facts of a person: what outlives the conversation. A fact is one sentence with its times and the messages it comes from; it belongs
 * to an owner. The facts are tables of bobbin.db and part of the truth; their index stands beside them in the same
 * transactions.
 *
 *	add "I live in Shanghai"     f1  home of the user
 *	add "I moved to Berlin"      f2, and f1 has ended: the same subject and relation
 *	search "where do I live"     f2
 *	search "where did I live before"     f2, and f1 with its dates
 *
 * Invariants: (1) every statement about facts names its owner, and compares it byte for byte; there is no owner "". (2) Of equal
 * facts (case, spacing, punctuation aside) that hold, an owner has one; adding it again adds its source. (3) What is superseded
 * is kept with its end; only what is forgotten is removed. (4) What was forgotten does not come back out of messages that were
 * said before: a tombstone has their ids and the digest of the text. (5) Expired and superseded facts take no part
 * in ranking. (6) Only what a person typed becomes a fact: memory_learn is for nothing else; what a model proposes waits for them.
 *
 * Threads: a memory belongs to one thread at a time; any number may be open, also in other processes.
 */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"
#include "store/store.h"

#define FACT_TEXT_BYTES 4096   /* one fact is a sentence or two, not a document */
#define FACT_NAME_BYTES 128    /* of a subject, a relation */
#define FACT_CONTEXT_BYTES 8192
#define FACT_HITS_DEFAULT 5
#define FACT_HITS_MAX 100
#define FACT_SOURCES_SHOWN 64 /* the newest of a fact's sources; all are kept */
#define FACT_PROPOSALS_MAX 200 /* that wait, among an owner's newest thousand: a model must not fill the store */

enum fact_state {
	FACT_KEPT = 1,
	FACT_CANDIDATE, /* said in one session; kept once it recurs in another */
	FACT_PROPOSED,	/* a model's words; kept once the person says the same, or says so */
};

struct fact_source {
	const char *session, *message; /* "" and "by hand N": added by hand */
	int64_t said_ns;
};

struct fact {
	uint64_t number;	/* f<number> is what people call it; of this owner, never given out twice */
	enum fact_state state;
	const char *text;
	const char *subject, *relation; /* "user", "home"; relation "": none known, so nothing supersedes it */
	int64_t said_ns;		/* the first time; since 1970, UTC, as all times here */
	int64_t valid_ns;		/* it holds from then on */
	int64_t expires_ns;		/* 0: it does not */
	int64_t ended_ns;		/* 0: it holds; else when another took its place */
	uint64_t superseded_by;		/* its number, 0: none */
	uint64_t sessions;		/* in how many it was said */
	const struct fact_source *sources;
	size_t source_count; /* listed in `sources` */
	double score;	     /* of a search: 0 to about 1, by how much of the question it has */
};

struct memory;

/*
 * The facts of `owner`, exactly that one. Without `create` and without a database: BOBBIN_ENOTFOUND. BOBBIN_EINVAL for an owner that is
 * empty or longer than LIMIT_OWNER_BYTES.
 */
int memory_open(struct store *store, struct slice owner, bool create, struct memory **ret_memory,
	struct bobbin_error *error);
void memory_close(struct memory *memory); /* NULL allowed */

struct fact_new {
	struct slice text;
	struct slice subject;  /* empty: "user" */
	struct slice relation; /* empty: none */
	struct slice session, message; /* where it was said; empty: added by hand */
	struct slice context;	       /* what was said around it: found by it too, at a lower weight; never shown */
	int64_t said_ns;	       /* 0: now */
	int64_t valid_ns;	       /* 0: when it was said */
	int64_t expires_ns;	       /* 0: never */
	bool candidate;
};

/* What became of it. */
enum fact_added {
	FACT_ADDED = 1,
	FACT_MERGED,  /* it was there: its sources have one more, or it was that very message */
	FACT_SETTLED, /* it was a candidate, and is kept now */
	FACT_BURIED,  /* it was forgotten, and this message is older than that: nothing was added */
	FACT_KNOWN,   /* of a proposal: it is known, or waits already; nothing was added */
};

struct fact_report {
	enum fact_added added;
	uint64_t number;     /* of the fact; 0 if it is buried */
	uint64_t superseded; /* the number of the fact that ended, 0: none */
};

/* An explicit addition: always stored (kept, whatever was forgotten). Durable on return. BOBBIN_EINVAL (empty, too long, not
 * UTF-8). */
int memory_add(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error);

/* The same for what was read out of a conversation: tombstones count. Session and message are needed. */
int memory_learn(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error);

/* What a model wants to be kept, in its own words: it waits, is in no index and ends nothing, until the person says the same
 * or memory_keep is called. What was ever forgotten is refused. Session and message (the model's) are needed. BOBBIN_ELIMIT:
 * too many wait. */
int memory_propose(struct memory *memory, const struct fact_new *fact, struct fact_report *ret_report,
	struct bobbin_error *error);

/* The person says that a candidate or proposal holds: it is kept, as if added by hand. BOBBIN_ENOTFOUND. */
int memory_keep(struct memory *memory, uint64_t number, struct fact_report *ret_report, struct bobbin_error *error);

/* Gives a fact another text, because it was wrong from the beginning: the old text is forgotten (a tombstone keeps it from
 * coming back), the times and sources stay. BOBBIN_ENOTFOUND; BOBBIN_EEXIST if another fact says that already. */
int memory_correct(struct memory *memory, uint64_t number, struct slice text, struct bobbin_error *error);

/* Removes it from table, index and counts, leaves a tombstone. 1 if it was removed, 0 if there is none. What it superseded stays
 * ended. */
int memory_forget(struct memory *memory, uint64_t number, struct bobbin_error *error);

struct fact_list_options {
	bool past;	 /* superseded and expired ones too */
	bool candidates; /* candidates and proposals too */
	size_t limit;	 /* 0: all */
};
/* The newest first. */
int memory_list(struct memory *memory, const struct fact_list_options *options, struct arena *arena,
	struct fact **ret_facts, size_t *ret_count, struct bobbin_error *error);

struct fact_search_options {
	size_t limit;	  /* 0: FACT_HITS_DEFAULT */
	bool past;	  /* superseded ones too; a question about the past has them anyway */
	double threshold; /* of the question's worth; 0: as search.c has it, negative: none */
	int64_t now_ns;	  /* 0: now */
};
int memory_search(struct memory *memory, struct slice query, const struct fact_search_options *options,
	struct arena *arena, struct fact **ret_facts, size_t *ret_count, struct bobbin_error *error);

/*
 * Whether a search would give what it gave before: it does while the version is the same and the first fact of the owner that was to
 * expire has not (0: none will; the times are those of `after_ns`). Looking at the version takes microseconds. It also changes
 * when what was committed does not concern this owner.
 */
struct memory_version {
	int64_t others; /* changes when another connection has committed, of whatever process */
	int64_t own;	/* … and when this one has */
};
int memory_version(struct memory *memory, struct memory_version *ret_version, struct bobbin_error *error);
int memory_next_expiry(struct memory *memory, int64_t after_ns, int64_t *ret_ns, struct bobbin_error *error);

#endif
