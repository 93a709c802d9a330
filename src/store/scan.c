/* SPDX-License-Identifier: MIT */
/* Lines out of a file, see scan.h. */
#include "store/scan.h"

#include "base/alloc.h"

#define PIECE_BYTES ((size_t)256 << 10)

struct scanner {
	const struct scan *scan;
	struct index_position *position;
	char *data;
	size_t cap, filled;
	uint64_t end;	  /* as scan->end, or before it if the file has become shorter */
	uint64_t skipped; /* bytes of the current line that were let go */
};

static int tell(
	struct scanner *scanner, size_t start, size_t len, bool terminated, struct bobbin_error *error)
{
	struct index_position *position = scanner->position;
	struct scan_line line = {
		.data = scanner->skipped ? NULL : scanner->data + start,
		.length = scanner->skipped + len,
		.offset = position->offset,
		.line = position->line,
		.terminated = terminated,
	};
	int rc = scanner->scan->take(scanner->scan->data, &line, error);
	if (rc == SCAN_TAKEN) {
		position->offset += line.length + terminated;
		position->line += terminated;
		position->tail_open = !terminated;
		scanner->skipped = 0;
	}
	return rc;
}

/* Tells all whole lines; what is left moves to the front. */
static int tell_lines(struct scanner *scanner, size_t searched, struct bobbin_error *error)
{
	size_t start = 0;

	for (;;) {
		const char *from = scanner->data + (searched > start ? searched : start);
		const char *stop = memchr(from, '\n', (size_t)(scanner->data + scanner->filled - from));
		if (!stop)
			break;
		size_t len = (size_t)(stop - scanner->data) - start;
		int rc = tell(scanner, start, len, true, error);
		if (rc)
			return rc;
		start += len + 1;
	}
	scanner->filled -= start;
	memmove(scanner->data, scanner->data + start, scanner->filled);
	return 0;
}

static int make_room(struct scanner *scanner, uint64_t left, struct bobbin_error *error)
{
	if (scanner->filled > LIMIT_LINE_BYTES) {
		scanner->skipped += scanner->filled;
		scanner->filled = 0;
	}
	if (scanner->filled < scanner->cap)
		return 0;
	size_t cap = scanner->cap ? scanner->cap * 2 : PIECE_BYTES;
	if (cap > LIMIT_LINE_BYTES + PIECE_BYTES)
		cap = LIMIT_LINE_BYTES + PIECE_BYTES;
	if (cap > scanner->filled + left)
		cap = scanner->filled + (size_t)left;
	char *data = mem_realloc(scanner->data, cap);
	if (!data)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	scanner->data = data;
	scanner->cap = cap;
	return 0;
}

static int read_piece(struct scanner *scanner, uint64_t at, struct bobbin_error *error)
{
	const struct scan *scan = scanner->scan;
	size_t wanted = scanner->cap - scanner->filled;

	if (wanted > scanner->end - at)
		wanted = (size_t)(scanner->end - at);
	ssize_t got =
		platform_read_full(scan->platform, scan->file, scanner->data + scanner->filled, wanted, at);
	if (got < 0)
		return error_set_os(error, (int)-got, "cannot read at offset %llu", (unsigned long long)at);
	/* Shorter than it was: a writer took back what it could not finish. What is there is the end. */
	if ((size_t)got < wanted)
		scanner->end = at + (uint64_t)got;
	scanner->filled += (size_t)got;
	return 0;
}

int scan_lines(const struct scan *scan, struct index_position *position, struct bobbin_error *error)
{
	struct scanner scanner = {.scan = scan, .position = position, .end = scan->end};
	uint64_t at = position->offset;
	int rc = 0;

	while (!rc && at < scanner.end) {
		rc = make_room(&scanner, scanner.end - at, error);
		size_t searched = scanner.filled;
		if (!rc)
			rc = read_piece(&scanner, at, error);
		if (!rc) {
			at += scanner.filled - searched;
			rc = tell_lines(&scanner, searched, error);
		}
	}
	if (!rc && scanner.skipped + scanner.filled > 0)
		rc = tell(&scanner, 0, scanner.filled, false, error);
	mem_free(scanner.data);
	return rc == SCAN_PENDING ? 0 : rc;
}
