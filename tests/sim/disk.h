/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory with one folder on it, and a folder of caches in that, behind struct platform, for several
 * simulated processes.
 *
 *	sim_disk_init(&disk, seed);
 *	sim_process_init(&process, &disk);
 *	store_open(&process.table, SIM_FOLDER, …);
 *	sim_process_kill(&process);           // its files are closed, its locks free; everybody else goes on
 *	sim_disk_cut_power(&disk);            // after all processes were killed
 *
 * What a power cut leaves: the content at the last sync, and of everything written since then any mixture,
 * sector by sector (512 bytes), each sector as it was after one of the writes; lost ones inside of the file
 * read as NULs; the length is one that the file had, or one between. Names that were added, removed or
 * renamed since their folder was last synced are there, or not, each on its own or as a prefix of what
 * happened. A folder itself is there if the one above was synced after it was made. The number of a file that
 * is gone is given to the next one that is made, and times may be as coarse as a kernel's.
 *
 * A sync that fails has written some sectors and forgets the others: they stay readable until the power is
 * cut, and later syncs do not write them (as Linux does). With `errors_reach_all` each descriptor that was
 * open by then is told once, at its next sync (as Linux does since 4.13).
 *
 * Invariants: (1) everything depends on the seed and on the calls, nothing on the real world; (2) a dead
 * process changes nothing any more: all of its calls fail with EIO. EINTR never comes: the table hides it.
 */
#ifndef TESTS_SIM_DISK_H
#define TESTS_SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/platform.h"
#include "sim/random.h"

#define SIM_ABOVE "/sim/"
#define SIM_FOLDER "/sim/store"
#define SIM_CACHE ".cache"
#define SIM_IN_CACHE SIM_CACHE "/"
#define SIM_SECTOR_BYTES 512
#define SIM_NAME_BYTES 96
#define SIM_FILES_MAX 4096 /* ever made */
#define SIM_NAMES_MAX 160  /* in both folders */
#define SIM_OPEN_MAX 1024  /* descriptors of all processes */

/* What happened to a file since its last sync: a write, or (data NULL) a truncation to `offset`. */
struct sim_change {
	size_t offset, len, size_after;
	char *data;
};

struct sim_file {
	char *data; /* what every process reads */
	size_t size;
	char *flushed; /* what they would have read at the last sync … */
	size_t flushed_size;
	char *durable; /* … and what is on the disk: the same unless a sync failed */
	size_t durable_size;
	struct sim_change *changes;
	size_t change_count, change_cap;
	uint32_t mode;
	int64_t modified_ns;
	int locked_by;	  /* descriptor, or -1 */
	uint64_t version; /* counts its changes */
	uint64_t inode;
	uint32_t sync_errors;
};

/* Names in the folder of caches begin with SIM_IN_CACHE; SIM_CACHE itself has SIM_OPEN_CACHE for a file. */
struct sim_name {
	char name[SIM_NAME_BYTES];
	int file;
};

struct sim_names {
	struct sim_name list[SIM_NAMES_MAX];
	size_t count;
};

enum sim_name_change_kind { SIM_NAME_ADD, SIM_NAME_REMOVE, SIM_NAME_MOVE };

struct sim_name_change {
	enum sim_name_change_kind kind;
	char name[SIM_NAME_BYTES], to[SIM_NAME_BYTES];
	int file;
};

struct sim_process;

struct sim_open {
	struct sim_process *process; /* NULL: free */
	int file;		     /* or SIM_OPEN_… */
	int flags;
	bool cache;	      /* that folder, or a file in it */
	uint32_t seen_errors; /* of the file's sync_errors */
};
enum { SIM_OPEN_FOLDER = -1, SIM_OPEN_ABOVE = -2, SIM_OPEN_CACHE = -3 };

struct sim_disk {
	struct sim_random random;
	struct sim_file files[SIM_FILES_MAX];
	int file_count;
	struct sim_names names, durable_names;
	struct sim_name_change *name_changes;
	size_t name_change_count, name_change_cap;
	struct sim_open opens[SIM_OPEN_MAX];
	bool folder, folder_durable;
	int64_t now_ns;	       /* since it was started */
	int64_t realtime_ns;   /* when that was, as the clock says; the clock may be set at any time */
	int64_t call_ns;       /* how long a call takes */
	int64_t time_step_ns;  /* how coarse the times of files are */
	bool errors_reach_all; /* see above */
	uint64_t power_cuts;
};

/* Which calls a planned fault may hit. */
enum sim_call {
	SIM_WRITE = 1,
	SIM_SYNC = 2, /* of files and of the folder */
	SIM_READ = 4,
	SIM_NAME = 8, /* open, link, rename, unlink, info */
	SIM_TRUNCATE = 16,
	SIM_LOCK = 32,
};

struct sim_process {
	struct platform table; /* given to the code under test; must not move */
	struct sim_disk *disk;
	bool dead;

	/* Plans, counted in calls that touch the disk; 0: none. */
	uint32_t die_at;  /* dies at the nth call: nothing, a part or all of it is done */
	uint32_t fail_at; /* the nth call among `fail_calls` fails */
	uint32_t fail_calls;
	bool fail_caches; /* the planned failure hits calls upon caches, else the others */
	int fail_errno;
	uint32_t interrupt_at; /* before the nth call `interrupt` runs */
	void (*interrupt)(void *data);
	void *data;

	uint32_t calls;
	uint32_t failures; /* planned ones that happened, but for those of caches, which are nobody's concern
			    */
	uint32_t cache_failures;
	uint32_t sync_failures;
	uint32_t full_failures; /* ENOSPC; the other failures are EIO */
	uint64_t changes; /* calls that changed anything on the disk but caches */
	bool write_is_next_to_fail;
};

void *sim_room(size_t bytes); /* malloc that does not fail: memory of the test, not of the code under test */

void sim_disk_init(struct sim_disk *disk, uint64_t seed);
void sim_disk_release(struct sim_disk *disk);
void sim_disk_cut_power(struct sim_disk *disk);
/* The file of this name, or -1. */
int sim_disk_find(const struct sim_disk *disk, const char *name);
/* What is done to a file behind everybody's back, at once and for good. */
enum sim_harm { SIM_HARM_REMOVE, SIM_HARM_CUT, SIM_HARM_SPOIL, SIM_HARM_SWAP, SIM_HARM_EMPTY, SIM_HARMS };
bool sim_is_cache(const char *name);
void sim_disk_harm(struct sim_disk *disk, const char *name, const char *other, enum sim_harm harm);
/* Takes a name away, also from the disk: for what the test itself puts aside. */
void sim_disk_forget(struct sim_disk *disk, const char *name);

void sim_process_init(struct sim_process *process, struct sim_disk *disk);
/* Forgets all plans and counts calls, failures and changes from 0. */
void sim_process_plan_nothing(struct sim_process *process);
void sim_process_kill(struct sim_process *process);

#endif
