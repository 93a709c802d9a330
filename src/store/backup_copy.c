/* SPDX-License-Identifier: MIT */
/* Copying the files of a backup: logs, which grow in place, and others, which are replaced as a whole. See backup.h. */
#include "store/backup_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "store/file.h"

#define EDGE_BYTES 4096
#define DEPTH_MAX 32 /* of folders in a workspace */

int backup_progress(struct backup *backup, const char *what, uint64_t more, struct bobbin_error *error)
{
	backup->done += more;
	if (!backup->options || !backup->options->progress)
		return 0;
	int rc = backup->options->progress(backup->options->data, what, backup->done, backup->total);
	return rc < 0 ? error_set(error, rc, "stopped") : 0;
}

/* ---- Logs ------------------------------------------------------------------------------------------------
 */

/* A log and its copy. */
struct pair {
	struct backup *backup;
	const char *name;
	int from, to; /* to -1: there is no copy yet */
	uint64_t to_size;
};

static ssize_t read_piece(const struct pair *pair, int file, char *into, uint64_t at, uint64_t end)
{
	size_t wanted = end - at < BACKUP_PIECE_BYTES ? (size_t)(end - at) : BACKUP_PIECE_BYTES;
	ssize_t got = platform_read_full(pair->backup->source->platform, file, into, wanted, at);
	return got >= 0 && (size_t)got < wanted ? -EIO : got;
}

/* Goes on with a CRC over bytes of a file. */
static int crc_of(
	const struct pair *pair, int file, uint64_t from, uint64_t to, uint32_t *crc, struct bobbin_error *error)
{
	while (from < to) {
		ssize_t got = read_piece(pair, file, pair->backup->piece, from, to);
		if (got < 0)
			return error_set_os(error, (int)-got, "cannot read %s", pair->name);
		*crc = crc32c(*crc, pair->backup->piece, (size_t)got);
		from += (uint64_t)got;
	}
	return 0;
}

/* Whether log and copy have the same bytes from `from` to `to`. */
static int compare(const struct pair *pair, uint64_t from, uint64_t to, bool *ret_same, struct bobbin_error *error)
{
	uint32_t left = 0, right = 0;
	int rc = crc_of(pair, pair->from, from, to, &left, error);

	if (!rc)
		rc = crc_of(pair, pair->to, from, to, &right, error);
	*ret_same = left == right;
	return rc;
}

/* Whether what was copied is the beginning of what is there now. The file that it was copied from only grows, and is
 * looked at at the ends; another one, as a restored store has them, is read. */
static int is_beginning(const struct pair *pair, const struct copied *earlier, const struct copied *wanted,
	bool *ret_is, struct bobbin_error *error)
{
	uint64_t edge = earlier->bytes < EDGE_BYTES ? earlier->bytes : EDGE_BYTES;
	uint32_t crc = 0;

	*ret_is = false;
	if (wanted->bytes < earlier->bytes || pair->to_size < earlier->bytes)
		return 0;
	if (earlier->device != wanted->device || earlier->inode != wanted->inode) {
		int rc = crc_of(pair, pair->from, 0, earlier->bytes, &crc, error);
		if (rc || crc != earlier->crc)
			return rc;
	}
	int rc = compare(pair, 0, edge, ret_is, error);
	if (!rc && *ret_is)
		rc = compare(pair, earlier->bytes - edge, earlier->bytes, ret_is, error);
	return rc;
}

/* Copies bytes of the log to the end of a file, and reads them back. `*crc` goes on. */
static int copy_bytes(
	struct pair *pair, int to, uint64_t from, uint64_t end, uint32_t *crc, struct bobbin_error *error)
{
	const struct platform *platform = pair->backup->source->platform;
	uint32_t before = *crc, read_back = before;
	int rc = 0;

	for (uint64_t at = from; !rc && at < end;) {
		size_t written;
		ssize_t got = read_piece(pair, pair->from, pair->backup->piece, at, end);
		if (got < 0)
			return error_set_os(error, (int)-got, "cannot read %s", pair->name);
		*crc = crc32c(*crc, pair->backup->piece, (size_t)got);
		rc = file_write(platform, to, (struct slice){pair->backup->piece, (size_t)got}, pair->name,
			&written, error);
		at += (uint64_t)got;
		if (!rc)
			rc = backup_progress(pair->backup, pair->name, (uint64_t)got, error);
	}
	if (!rc && (rc = platform->sync_data(platform->context, to)) < 0)
		rc = error_set_os(error, -rc, "cannot sync the copy of %s", pair->name);
	if (!rc)
		rc = crc_of(pair, to, from, end, &read_back, error);
	if (!rc && read_back != *crc)
		rc = error_set(error, BOBBIN_ECORRUPT, "the copy of %s is not what was copied: the disk it is on fails",
			pair->name);
	if (!rc)
		pair->backup->counts->bytes_copied += end - from;
	return rc;
}

/* What a backup that was killed had copied beyond what it could write down. Anything else is somebody's. */
static int check_tail(
	const struct pair *pair, const struct copied *earlier, const struct copied *wanted, struct bobbin_error *error)
{
	bool same = pair->to_size <= wanted->bytes;
	int rc = same && pair->to_size > earlier->bytes
			 ? compare(pair, earlier->bytes, pair->to_size, &same, error)
			 : 0;

	if (!rc && !same)
		rc = error_set(error, BOBBIN_EEXIST,
			"%s in the backup was written to since it was copied; to keep that, back up into another "
			"folder",
			pair->name);
	return rc;
}

/* Brings a copy that is the beginning of the log up to date, in place; if that fails, it is as it was. */
static int extend(
	struct pair *pair, const struct copied *earlier, struct copied *wanted, struct bobbin_error *error)
{
	const struct platform *platform = pair->backup->source->platform;
	int rc = check_tail(pair, earlier, wanted, error);

	wanted->crc = earlier->crc;
	if (!rc)
		rc = crc_of(pair, pair->from, earlier->bytes, pair->to_size, &wanted->crc, error);
	if (rc || pair->to_size == wanted->bytes)
		return rc;
	rc = copy_bytes(pair, pair->to, pair->to_size, wanted->bytes, &wanted->crc, error);
	if (rc)
		platform->truncate(platform->context, pair->to, pair->to_size);
	return rc;
}

/* A new copy, in the place of whatever has its name. */
static int copy_whole(struct pair *pair, struct copied *wanted, struct bobbin_error *error)
{
	const struct store *target = pair->backup->target;
	const struct platform *platform = target->platform;
	char temporary[LOG_NAME_BYTES + 8];
	int file;

	snprintf(temporary, sizeof(temporary), ".%s.tmp", pair->name);
	int rc = file_open_locked(platform, target->dir, temporary, 0, &file, error);
	if (rc)
		return rc;
	wanted->crc = 0;
	if ((rc = platform->truncate(platform->context, file, 0)) < 0)
		rc = error_set_os(error, -rc, "cannot empty %s", temporary);
	if (!rc)
		rc = copy_bytes(pair, file, 0, wanted->bytes, &wanted->crc, error);
	if (!rc && (rc = platform->rename_at(platform->context, target->dir, temporary, pair->name)) < 0)
		rc = error_set_os(error, -rc, "cannot put the copy of %s in its place", pair->name);
	if (rc)
		platform->unlink_at(platform->context, target->dir, temporary, 0);
	file_close(platform, file);
	return rc;
}

static uint64_t head_bytes(const struct copied *log)
{
	return log->bytes < EDGE_BYTES ? log->bytes : EDGE_BYTES;
}

int backup_head(struct backup *backup, int file, struct copied *log, struct bobbin_error *error)
{
	const struct pair pair = {.backup = backup, .name = log->name};

	log->head_crc = 0;
	return crc_of(&pair, file, 0, head_bytes(log), &log->head_crc, error);
}

/* A session made anew may have got the inode of the one that was deleted. */
static int check_log(const struct pair *pair, const struct copied *wanted, uint64_t size, struct bobbin_error *error)
{
	bool same = size >= wanted->bytes;
	uint32_t crc = 0;
	int rc = same ? crc_of(pair, pair->from, 0, head_bytes(wanted), &crc, error) : 0;

	if (rc || (same && crc == wanted->head_crc))
		return rc;
	return error_set(error, BOBBIN_EBUSY, "%s was replaced while the backup was made: back up again", pair->name);
}

int backup_log(struct backup *backup, struct copied *wanted, struct bobbin_error *error)
{
	const struct platform *platform = backup->source->platform;
	const struct copied *earlier = manifest_find(&backup->earlier, wanted->name);
	struct pair pair = {.backup = backup, .name = wanted->name, .to = -1};
	struct file_info info;
	bool begins = false;
	int rc = file_open(platform, backup->source->dir, wanted->name, O_RDONLY, &pair.from, &info, error);

	if (rc)
		return rc;
	if (info.inode != wanted->inode || info.device != wanted->device)
		rc = error_set(error, BOBBIN_ENOTFOUND, "%s was deleted", wanted->name);
	if (!rc)
		rc = check_log(&pair, wanted, info.size, error);
	if (!rc && earlier &&
		file_open(platform, backup->target->dir, wanted->name, O_RDWR | O_APPEND, &pair.to, &info, NULL) == 0)
		pair.to_size = info.size;
	if (!rc && pair.to >= 0)
		rc = is_beginning(&pair, earlier, wanted, &begins, error);
	if (!rc)
		rc = begins ? extend(&pair, earlier, wanted, error) : copy_whole(&pair, wanted, error);
	file_close(platform, pair.from);
	file_close(platform, pair.to);
	return rc;
}

/* The first line of a file, or as much of it as a header has at most. */
static int first_line(const struct pair *pair, int file, uint64_t size, char *into, struct slice *ret_line, struct bobbin_error *error)
{
	size_t wanted = size < STORE_HEAD_BYTES ? (size_t)size : STORE_HEAD_BYTES;
	ssize_t got = platform_read_full(pair->backup->source->platform, file, into, wanted, 0);
	if (got < 0)
		return error_set_os(error, (int)-got, "cannot read %s", pair->name);
	const char *stop = memchr(into, '\n', (size_t)got);
	*ret_line = (struct slice){into, stop ? (size_t)(stop - into) : (size_t)got};
	return 0;
}

/* A log that does not begin with its copy: another session was begun under that name, with a first line of its own that is
 * whole, or it is the same one. */
static int is_another(const struct pair *pair, uint64_t from_size, bool *ret_is, struct bobbin_error *error)
{
	char *piece = pair->backup->piece;
	struct slice ours = {NULL, 0}, copied = {NULL, 0};
	struct json record;
	int rc = first_line(pair, pair->from, from_size, piece, &ours, error);

	if (!rc)
		rc = first_line(pair, pair->to, pair->to_size, piece + STORE_HEAD_BYTES, &copied, error);
	*ret_is = !rc && !slice_equal(ours, copied) && ours.len &&
		  (ours.len == STORE_HEAD_BYTES || json_parse(ours.data, ours.len, &record, NULL) == 0);
	return rc;
}

static int find_standing(const struct pair *pair, const struct copied *earlier, const struct copied *log,
	enum standing *ret_standing, bool *ret_written, struct bobbin_error *error)
{
	/* What is not written down was copied last by a backup that was killed, or is somebody's own. */
	struct copied whole = {.name = pair->name, .bytes = pair->to_size};
	bool begins, tail = true, another = false;
	int rc = earlier ? 0 : crc_of(pair, pair->to, 0, pair->to_size, &whole.crc, error);

	if (!rc)
		rc = is_beginning(pair, earlier ? earlier : &whole, log, &begins, error);
	if (!rc && begins && earlier && pair->to_size > earlier->bytes) {
		tail = pair->to_size <= log->bytes;
		rc = tail ? compare(pair, earlier->bytes, pair->to_size, &tail, error) : 0;
	}
	if (!rc && !begins)
		rc = is_another(pair, log->bytes, &another, error);
	if (rc)
		return rc;
	*ret_written = pair->to_size > (earlier ? earlier->bytes : 0) && !(begins && tail);
	*ret_standing = !begins ? (another ? STANDING_ANEW : STANDING_LOST)
			: earlier && earlier->inode == log->inode ? STANDING_SAME
								  : STANDING_BEGINS;
	return 0;
}

int backup_compare(struct backup *backup, const char *name, enum standing *ret_standing, bool *ret_written,
	struct bobbin_error *error)
{
	const struct platform *platform = backup->source->platform;
	const struct copied *earlier = manifest_find(&backup->earlier, name);
	struct pair pair = {.backup = backup, .name = name, .from = -1};
	struct file_info copy, info;
	int rc = file_open(platform, backup->target->dir, name, O_RDONLY, &pair.to, &copy, NULL);

	*ret_standing = STANDING_MISSING;
	*ret_written = false;
	if (rc) /* taken away, or no copy that we made: it is replaced */
		return rc == BOBBIN_ENOTFOUND || rc == BOBBIN_EREFUSED ? 0 : error_set(error, rc, "cannot open the copy of %s", name);
	pair.to_size = copy.size;
	rc = file_open(platform, backup->source->dir, name, O_RDONLY, &pair.from, &info, error);
	if (rc == BOBBIN_ENOTFOUND || rc == BOBBIN_EREFUSED) {
		*ret_written = pair.to_size > (earlier ? earlier->bytes : 0);
		rc = 0;
	} else if (!rc) {
		const struct copied log = {.name = name, .bytes = info.size, .device = info.device, .inode = info.inode};
		rc = find_standing(&pair, earlier, &log, ret_standing, ret_written, error);
	}
	file_close(platform, pair.from);
	file_close(platform, pair.to);
	return rc;
}

int backup_leave_out(struct backup *backup, const char *name, const char *why, struct bobbin_error *error)
{
	const struct store_backup_options *options = backup->options;
	char text[sizeof(error->message)];

	snprintf(text, sizeof(text), "%s", why); /* it may stand in `error` itself */
	backup->counts->left_out++;
	int rc = options && options->left_out ? options->left_out(options->data, name, text) : 0;
	return rc < 0 ? error_set(error, rc, "%s", error_code_text(rc)) : 0;
}

/* ---- Other files -----------------------------------------------------------------------------------------
 */

/* Two open files, compared and copied in pieces. */
static int same_content(
	struct backup *backup, int from, int to, uint64_t size, bool *ret_same, struct bobbin_error *error)
{
	struct pair pair = {.backup = backup, .name = "a file", .from = from, .to = to};
	return compare(&pair, 0, size, ret_same, error);
}

static int copy_file(struct backup *backup, int from, uint64_t size, int to_dir, const char *name,
	struct bobbin_error *error)
{
	const struct platform *platform = backup->target->platform;
	char temporary[FOLDER_NAME_BYTES + 8];
	uint64_t at = 0;
	int file;

	snprintf(temporary, sizeof(temporary), ".%s.tmp", name);
	int rc = file_open_locked(platform, to_dir, temporary, 0, &file, error);
	if (rc)
		return rc;
	if ((rc = platform->truncate(platform->context, file, 0)) < 0)
		rc = error_set_os(error, -rc, "cannot empty %s", temporary);
	while (!rc && at < size) {
		size_t written, wanted = size - at < BACKUP_PIECE_BYTES ? (size_t)(size - at) : BACKUP_PIECE_BYTES;
		ssize_t got = platform_read_full(platform, from, backup->piece, wanted, at);
		if (got < 0)
			rc = error_set_os(error, (int)-got, "cannot read %s", name);
		else if (got == 0)
			break; /* shorter than it was: it is being replaced, and this was its last state */
		else
			rc = file_write(platform, file, (struct slice){backup->piece, (size_t)got}, name, &written, error);
		at += got > 0 ? (uint64_t)got : 0;
	}
	if (!rc && (rc = platform->sync_data(platform->context, file)) < 0)
		rc = error_set_os(error, -rc, "cannot sync the copy of %s", name);
	if (!rc && (rc = platform->rename_at(platform->context, to_dir, temporary, name)) < 0)
		rc = error_set_os(error, -rc, "cannot put the copy of %s in its place", name);
	if (rc)
		platform->unlink_at(platform->context, to_dir, temporary, 0);
	file_close(platform, file);
	return rc;
}

static int copy_if(struct backup *backup, int from_dir, int to_dir, const char *name, bool size_tells,
	bool *ret_copied, struct bobbin_error *error)
{
	const struct platform *platform = backup->source->platform;
	struct file_info info, there;
	bool same = false;
	int from, to;
	struct bobbin_error why = {0};
	int rc = file_open(platform, from_dir, name, O_RDONLY, &from, &info, &why);

	*ret_copied = false;
	if (rc == BOBBIN_ENOTFOUND) /* gone */
		return 0;
	if (rc == BOBBIN_EREFUSED)
		return backup_leave_out(backup, name, why.message, error);
	if (rc)
		return error_set(error, rc, "%s", why.message);
	if (file_open(platform, to_dir, name, O_RDONLY, &to, &there, NULL) == 0) {
		same = there.size == info.size;
		if (same && !size_tells)
			rc = same_content(backup, from, to, info.size, &same, error);
		file_close(platform, to);
	}
	if (!rc && !same) {
		rc = copy_file(backup, from, info.size, to_dir, name, error);
		*ret_copied = !rc;
	}
	file_close(platform, from);
	return rc;
}

int backup_file(
	struct backup *backup, int from_dir, int to_dir, const char *name, bool *ret_copied, struct bobbin_error *error)
{
	return copy_if(backup, from_dir, to_dir, name, false, ret_copied, error);
}

/* ---- Folders ---------------------------------------------------------------------------------------------
 */

static int open_dir(const struct platform *platform, int dir, const char *name)
{
	return platform->open_at(platform->context, dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* A folder, the copy of which is made if needed. */
struct folders {
	struct backup *backup;
	bool grows;
	unsigned depth;
	struct bobbin_error *error;
};

static int copy_below(const struct folders *folders, int from_dir, int to_dir, const char *name);

static int copy_entry(const struct folders *folders, int from_dir, int to_dir, const char *name)
{
	const struct platform *platform = folders->backup->source->platform;
	struct file_info info;
	bool ignored;

	int rc = platform->info_at(platform->context, from_dir, name, &info);
	if (rc < 0)
		return rc == -ENOENT ? 0 : error_set_os(folders->error, -rc, "cannot examine %s", name);
	if (S_ISDIR(info.mode) && folders->depth < DEPTH_MAX)
		return copy_below(folders, from_dir, to_dir, name);
	/* What a workspace holds beside files was never a version of anything. */
	return S_ISREG(info.mode) || folders->grows
		       ? copy_if(folders->backup, from_dir, to_dir, name, folders->grows, &ignored, folders->error)
		       : 0;
}

/* Takes away what is not in the source any more; a folder only once it is empty. */
static int drop_others(const struct folders *folders, int from_dir, int to_dir, const char *shown)
{
	const struct platform *platform = folders->backup->source->platform;
	struct file_names names = {0};
	struct file_info info;
	int rc = file_names_read(platform, to_dir, shown, &names, folders->error);

	for (size_t at = 0; !rc && at < names.len; at += strlen(names.data + at) + 1)
		if (platform->info_at(platform->context, from_dir, names.data + at, &info) == -ENOENT &&
			platform->unlink_at(platform->context, to_dir, names.data + at, 0) < 0)
			platform->unlink_at(platform->context, to_dir, names.data + at, AT_REMOVEDIR);
	mem_free(names.data);
	return rc;
}

static int copy_names(const struct folders *folders, int from, int to, const char *shown)
{
	const struct platform *platform = folders->backup->source->platform;
	struct file_names names = {0};
	int rc = file_names_read(platform, from, shown, &names, folders->error);

	for (size_t at = 0; !rc && at < names.len; at += strlen(names.data + at) + 1)
		rc = copy_entry(folders, from, to, names.data + at);
	mem_free(names.data);
	if (!rc && !folders->grows)
		rc = drop_others(folders, from, to, shown);
	if (!rc && (rc = platform->sync(platform->context, to)) < 0)
		rc = error_set_os(folders->error, -rc, "cannot sync the copy of %s", shown);
	return rc;
}

static int copy_below(const struct folders *folders, int from_dir, int to_dir, const char *name)
{
	const struct platform *platform = folders->backup->source->platform;
	struct folders below = *folders;
	int from = open_dir(platform, from_dir, name);

	if (from == -ENOENT || (from < 0 && folders->depth)) /* gone, or a link in a workspace */
		return 0;
	if (from < 0)
		return backup_leave_out(folders->backup, name, "it is no folder, and links are not followed here", folders->error);
	below.depth++;
	int rc = platform->make_dir_at(platform->context, to_dir, name, 0700);
	int to = rc < 0 && rc != -EEXIST ? rc : open_dir(platform, to_dir, name);
	rc = to < 0 ? error_set_os(folders->error, -to, "cannot make the copy of the folder %s", name)
		    : copy_names(&below, from, to, name);
	file_close(platform, from);
	file_close(platform, to);
	return rc;
}

int backup_folder(struct backup *backup, const char *name, bool grows, struct bobbin_error *error)
{
	const struct folders folders = {backup, grows, 0, error};

	return copy_below(&folders, backup->source->dir, backup->target->dir, name);
}
