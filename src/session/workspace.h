/* SPDX-License-Identifier: MIT */
/*
 * The workspace of a session: the files in STORE/ID/, and their versions as records of the log.
 *
 *	{"seq":9,"type":"file","path":"notes/todo.md","blob":"sha256:…","size":120,"by":"tool"}
 *	{"seq":12,"type":"file","path":"draft.txt","blob":null,"size":0,"by":"outside"}       taken away
 *
 *	by   "tool" the model, "host" a program through this library or the command line, "outside" some program in the
 *	     folder itself, noticed later; "line" put into the folder because the line moved, or a fork began: no new version
 *
 * What the line says (target) is the newest version of each path among the records whose head lies on the line: first by
 * how far along it, then in order of writing; of those at a message that the line goes on from, the ones written before it did. A
 * rewind or a fork therefore shows the files as of that message, whatever was written elsewhere since. What is
 * in the folder is the session's own newest record of a path, of any line (left there), unless somebody else changed it.
 *
 * Invariants: (1) nothing is opened but regular files of this user, beneath the folder, by no link, and with no other
 * name; (2) a file is the old or the new one, never half: temporary beside it, sync, rename; (3) its blob is durable before
 * the log line, the log line before the rename; (4) what others changed is recorded before it is replaced, and never
 * thrown away; (5) the folder appears whole, under its name, or not at all; without it, the files are made again;
 * (6) whoever looks or writes holds the folder's lock (flock on the folder).
 */
#ifndef SESSION_WORKSPACE_H
#define SESSION_WORKSPACE_H

#include "base/hash.h"
#include "session/handles.h"

#define WORKSPACE_TEMPORARY ".bobbin.tmp" /* in any folder of it; no path may name it */

/* ---- Paths (workspace_path.c) ---- */

/* Why this is no path of a workspace file, in a few words; NULL if it is one. */
const char *workspace_path_fault(struct slice path);

/* ---- The folder (workspace_folder.c) ---- */

struct folder {
	const struct platform *platform;
	int store_dir;
	int dir; /* the folder, locked; -1: there is none */
};

/* Opens and locks the folder `name`; one that is not there is no error. BOBBIN_EBUSY, BOBBIN_EREFUSED, BOBBIN_EIO. */
int folder_open(const struct store *store, const char *name, struct folder *ret_folder, struct bobbin_error *error);
/* A new one under its temporary name, empty and locked; folder_appear gives it its name. BOBBIN_EEXIST: it is there. */
int folder_begin(const struct store *store, const char *name, struct folder *ret_folder, struct bobbin_error *error);
int folder_appear(const struct folder *folder, const char *name, struct bobbin_error *error);
void folder_close(struct folder *folder);

/* A file that is there whole under its temporary name. */
struct staged {
	int parent; /* the folder it stands in */
	const char *name;
	char path[LIMIT_FILE_PATH_BYTES + 1];
};
int folder_stage(const struct folder *folder, const char *path, struct slice content, bool durable,
	struct staged *ret_staged, struct bobbin_error *error);
int folder_commit(const struct folder *folder, struct staged *staged, bool durable, struct bobbin_error *error);
void folder_abandon(const struct folder *folder, struct staged *staged);
/* Both. */
int folder_put(const struct folder *folder, const char *path, struct slice content, bool durable,
	struct bobbin_error *error);
/* Takes a file away, and folders that are empty then. A missing one is no error. */
int folder_remove(const struct folder *folder, const char *path, bool durable, struct bobbin_error *error);
/* Appends the content of a file. BOBBIN_ENOTFOUND, BOBBIN_EREFUSED, BOBBIN_ELIMIT. */
int folder_read(const struct folder *folder, const char *path, struct buffer *out, struct bobbin_error *error);

/* What stands in it, sorted by path. What is `known` (NULL allowed) is not read again; *ret_news: something had to be. */
struct workspace_known;
struct found_file {
	const char *path;
	uint64_t size;
	const char *refused;   /* why it is left alone; NULL: it counts */
	struct file_info info; /* before it was read */
	bool settled;	       /* and it had been left alone for a while: its digest may be kept */
	char digest[SHA256_HEX_BYTES];
};
int folder_scan(const struct folder *folder, const struct workspace_known *known, struct arena *arena,
	struct found_file **ret_files, size_t *ret_count, bool *ret_news, struct bobbin_error *error);

/* ---- What was hashed before (workspace_known.c) ---- */

/* Whether a file that looks like this, read from now on, can be told from what others write later. */
bool known_is_settled(const struct file_info *info, int64_t now_ns);
/* The digest of a file that is the same as then; NULL: it has to be read. */
const char *known_digest(const struct workspace_known *known, const char *path, const struct file_info *info);
/* Keeps what was found, sorted by path, in the place of what was kept before. Without memory it keeps nothing. */
void known_keep(struct workspace_known **known, const struct found_file *files, size_t count);
void known_free(struct workspace_known *known); /* NULL allowed */

/* A fork reads the log that its cut lies in. If that is none of its parent's own, what its parent itself has written at a message that
 * it inherits is not in there, and is given to the child as versions of its own. `cut`: the same node in both. */
int workspace_bequeath(bobbin_session *parent, uint32_t cut, bobbin_session *child, struct bobbin_error *error);

/* ---- Versions (workspace_versions.c) ---- */

struct file_version {
	const char *path;
	char digest[SHA256_HEX_BYTES]; /* "": taken away */
	uint64_t size, seq;
	const char *by, *ts;
	uint32_t head;	/* after this message */
	uint32_t place; /* how far along the line, 0: before the first message */
	uint32_t level; /* 0: its own log */
	uint32_t record;
	bool on_line, own;
};
/* All that is on the line to `head` or in the session's own log, by path and in order. Texts live in the arena. */
int versions_read(bobbin_session *session, uint32_t head, struct arena *arena, struct file_version **ret_versions,
	size_t *ret_count, struct bobbin_error *error);

/* One path of those: versions[first, next). */
struct file_state {
	const char *path;
	const struct file_version *target; /* what the line says; NULL: never there, or taken away */
	const struct file_version *left;   /* what the session put into the folder last; likewise */
	size_t next;
};
struct file_state versions_state(const struct file_version *versions, size_t count, size_t first);

/* ---- Together (workspace.c) ---- */

/* Records what others changed, and brings the folder to what the line says. `ret_folder` (NULL allowed) stays open and
 * locked. `make`: the folder is made, if it is not there. ret_report NULL allowed. */
int workspace_sync(bobbin_session *session, bool make, struct folder *ret_folder, struct bobbin_files_report *ret_report,
	struct bobbin_error *error);
/* The same if there are files at all, for turns and moves of the head; failure changes nothing there, and is told. */
int workspace_follow(bobbin_session *session, struct bobbin_error *error);

/* Takes over the files that another session, perhaps of another store, had at `head`, into one that has none yet. Of a path
 * whose content is gone or damaged, that error. */
int workspace_take_over(bobbin_session *session, bobbin_session *from, uint32_t head, uint64_t *ret_files,
	struct bobbin_error *error);

int workspace_put(bobbin_session *session, struct slice path, struct slice content, const char *by,
	struct bobbin_error *error);
int workspace_remove(bobbin_session *session, struct slice path, const char *by, struct bobbin_error *error);
int workspace_read(bobbin_session *session, struct slice path, struct buffer *out, struct bobbin_error *error);

#endif
