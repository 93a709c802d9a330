/* SPDX-License-Identifier: MIT */
/*
 * What was hashed at an earlier look, so that a large workspace is not read at each: a file is taken for the same while its
 * name, inode, size, and times of modification and change are.
 *
 * The times have a grain (a clock tick, on some file systems two seconds), and what is written within one grain after a look
 * cannot be told from what was there before. So a digest is kept only of a file that had been left alone for longer than
 * that when it was read. A time of modification can be set by hand, that of change cannot. Not seen is what a program writes into a
 * file that it has mapped, until the kernel gives the file a new time: at the latest when it is unmapped, synced or written back.
 */
#include "session/workspace.h"

#include <stdlib.h>
#include "base/alloc.h"

#define GRAIN_NS INT64_C(2500000000) /* two seconds, and what clocks are apart */

struct workspace_known {
	struct arena arena; /* owns the paths */
	struct found_file *files;
	size_t count;
};

bool known_is_settled(const struct file_info *info, int64_t now_ns)
{
	return info->modified_ns < now_ns - GRAIN_NS && info->changed_ns < now_ns - GRAIN_NS;
}

static bool is_same(const struct file_info *then, const struct file_info *now)
{
	return then->inode == now->inode && then->device == now->device && then->size == now->size &&
	       then->modified_ns == now->modified_ns && then->changed_ns == now->changed_ns;
}

static int by_path(const void *key, const void *file)
{
	return strcmp(key, ((const struct found_file *)file)->path);
}

const char *known_digest(const struct workspace_known *known, const char *path, const struct file_info *info)
{
	if (!known || !known->count)
		return NULL;
	const struct found_file *found = bsearch(path, known->files, known->count, sizeof(*known->files), by_path);
	return found && found->settled && is_same(&found->info, info) ? found->digest : NULL;
}

static int copy_files(struct workspace_known *known, const struct found_file *files, size_t count)
{
	known->files = arena_alloc(&known->arena, (count + 1) * sizeof(*files));
	if (!known->files)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!files[i].settled)
			continue;
		struct found_file *file = &known->files[known->count];
		*file = files[i];
		file->path = arena_copy(&known->arena, files[i].path, strlen(files[i].path));
		if (!file->path)
			return BOBBIN_ENOMEM;
		known->count++;
	}
	return 0;
}

void known_keep(struct workspace_known **known, const struct found_file *files, size_t count)
{
	known_free(*known);
	*known = mem_alloc_zero(sizeof(**known));
	if (*known && copy_files(*known, files, count) < 0) {
		known_free(*known); /* then everything is read again */
		*known = NULL;
	}
}

void known_free(struct workspace_known *known)
{
	if (!known)
		return;
	arena_release(&known->arena);
	mem_free(known);
}
