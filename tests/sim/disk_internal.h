/* SPDX-License-Identifier: MIT */
/* Between disk.c (what is on the disk) and process.c (the calls that put it there). */
#ifndef TESTS_SIM_DISK_INTERNAL_H
#define TESTS_SIM_DISK_INTERNAL_H

#include "sim/disk.h"

void *sim_memory(void *old, size_t bytes);			     /* realloc that does not fail */
int sim_names_find(const struct sim_names *names, const char *name); /* a place in the list, or -1 */
void sim_disk_change_name(
	struct sim_disk *disk, enum sim_name_change_kind kind, const char *name, const char *to, int file);
void sim_disk_sync_names(struct sim_disk *disk, bool cache);
int sim_disk_new_file(struct sim_disk *disk, unsigned mode);
int64_t sim_disk_file_time(const struct sim_disk *disk);
void sim_file_change(
	struct sim_file *file, size_t offset, const void *data, size_t len); /* data NULL: truncate */
void sim_file_sync(struct sim_disk *disk, struct sim_file *file, bool fails);

#endif
