/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory with one folder on it, behind struct platform, for several simulated processes.
 *
 *	sim_disk_init(&disk, seed);
 *	sim_process_init(&process, &disk);
 *	store_open(&process.table, SIM_FOLDER, …);
 *	sim_process_kill(&process);           // its files are closed, its locks free; everybody else goes on
 *	sim_disk_cut_power(&disk);            // after all processes were killed
 *
 * What a power cut leaves: the content at the last sync, and of everything written since then any mixture,
 * sector by sector (512 bytes), each sector as it was after one of the writes; lost ones inside of the file
 * read as NULs; the length is one that the file had, or one between. Names that were added, removed or renamed
 * since the folder was last synced are there, or not, each on its own or as a prefix of what happened. The
 * folder itself is there if the folder above was synced after it was made.
 *
 * A sync that fails has written some sectors and forgets the others: they stay readable until the power is
 * cut, and later syncs do not write them (as Linux does).
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
#define SIM_SECTOR_BYTES 512
#define SIM_NAME_BYTES 96
#define SIM_FILES_MAX 1024 /* inodes ever made */
#define SIM_NAMES_MAX 128  /* in the folder */
#define SIM_OPEN_MAX 256   /* descriptors of all processes */

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
};

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
	int file;		     /* or SIM_OPEN_FOLDER, SIM_OPEN_ABOVE */
	int flags;
};
enum { SIM_OPEN_FOLDER = -1, SIM_OPEN_ABOVE = -2 };

struct sim_disk {
	struct sim_random random;
	struct sim_file files[SIM_FILES_MAX];
	int file_count;
	struct sim_names names, durable_names;
	struct sim_name_change *name_changes;
	size_t name_change_count, name_change_cap;
	struct sim_open opens[SIM_OPEN_MAX];
	bool folder, folder_durable;
	int64_t now_ns;
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
	int fail_errno;
	uint32_t interrupt_at; /* before the nth call `interrupt` runs */
	void (*interrupt)(void *data);
	void *data;

	uint32_t calls;
	uint32_t failures; /* planned ones that happened */
	uint32_t sync_failures;
	uint64_t changes; /* calls that changed anything on the disk */
	bool write_is_next_to_fail;
};

void *sim_room(size_t bytes); /* malloc that does not fail: memory of the test, not of the code under test */

void sim_disk_init(struct sim_disk *disk, uint64_t seed);
void sim_disk_release(struct sim_disk *disk);
void sim_disk_cut_power(struct sim_disk *disk);
/* The file of this name, or -1. */
int sim_disk_find(const struct sim_disk *disk, const char *name);
/* Takes a name away, also from the disk: for what the test itself puts aside. */
void sim_disk_forget(struct sim_disk *disk, const char *name);

void sim_process_init(struct sim_process *process, struct sim_disk *disk);
/* Forgets all plans and counts calls, failures and changes from 0. */
void sim_process_plan_nothing(struct sim_process *process);
void sim_process_kill(struct sim_process *process);

#endif
