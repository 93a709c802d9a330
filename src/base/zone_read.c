/* SPDX-License-Identifier: MIT */
/* Reading time zones: TZif files and the rules at their end. Both may be damaged or made to harm. */
#include "base/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define HEADER_BYTES 44
#define FILE_BYTES_MAX                                                                                       \
	((size_t)256 << 10) /* the largest in use has 4 KiB; "fat" ones of old zones less than 8 */
#define OFFSET_MAX (26 * 3600)
#define NAME_BYTES_MAX 128

static int damaged(struct bobbin_error *error, const char *what)
{
	return error_set(error, BOBBIN_EINPUT, "the time zone data cannot be read: %s", what);
}

/* ---- Rules: std offset dst [offset] , start [/time] , end [/time] ---- */

struct scan {
	const char *at, *end;
};

static bool take(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static bool take_number(struct scan *scan, int max, int *ret_value)
{
	int value = 0;
	const char *start = scan->at;
	for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
		if ((value = value * 10 + (*scan->at - '0')) > max)
			return false;
	*ret_value = value;
	return scan->at > start;
}

/* Three letters at least, or anything in angle brackets. */
static bool skip_name(struct scan *scan)
{
	const char *start = scan->at;
	if (take(scan, '<')) {
		while (scan->at < scan->end && *scan->at != '>')
			scan->at++;
		return take(scan, '>');
	}
	while (scan->at < scan->end &&
		((*scan->at >= 'A' && *scan->at <= 'Z') || (*scan->at >= 'a' && *scan->at <= 'z')))
		scan->at++;
	return scan->at - start >= 3;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool take_clock(struct scan *scan, int hours_max, int32_t *ret_seconds)
{
	int sign = take(scan, '-') ? -1 : 1, hours, minutes = 0, seconds = 0;
	if (sign > 0)
		take(scan, '+');
	if (!take_number(scan, hours_max, &hours))
		return false;
	if (take(scan, ':') &&
		(!take_number(scan, 59, &minutes) || (take(scan, ':') && !take_number(scan, 59, &seconds))))
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60 + seconds);
	return true;
}

static bool take_day(struct scan *scan, struct zone_day *ret_day)
{
	*ret_day = (struct zone_day){.form = '0', .second = 2 * 3600};
	if (take(scan, 'M')) {
		ret_day->form = 'M';
		if (!take_number(scan, 12, &ret_day->month) || !take(scan, '.') ||
			!take_number(scan, 5, &ret_day->week) || !take(scan, '.') ||
			!take_number(scan, 6, &ret_day->day) || ret_day->month < 1 || ret_day->week < 1)
			return false;
	} else if (take(scan, 'J')) {
		ret_day->form = 'J';
		if (!take_number(scan, 365, &ret_day->day) || ret_day->day < 1)
			return false;
	} else if (!take_number(scan, 365, &ret_day->day)) {
		return false;
	}
	return !take(scan, '/') || take_clock(scan, 167, &ret_day->second);
}

static bool parse_rule(struct slice text, struct zone_rule *ret_rule)
{
	struct scan scan = {text.data, text.data + text.len};
	struct zone_rule rule = {.given = true};
	int32_t west;
	if (!skip_name(&scan) || !take_clock(&scan, 24, &west))
		return false;
	rule.standard = -west;
	if (scan.at < scan.end) {
		rule.summer = true;
		rule.daylight = rule.standard + 3600;
		if (!skip_name(&scan))
			return false;
		if (!take(&scan, ',')) {
			if (!take_clock(&scan, 24, &west) || !take(&scan, ','))
				return false;
			rule.daylight = -west;
		}
		if (!take_day(&scan, &rule.begins) || !take(&scan, ',') || !take_day(&scan, &rule.ends))
			return false;
	}
	*ret_rule = rule;
	return scan.at == scan.end;
}

int zone_parse_rule(struct slice text, struct zone *ret_zone, struct bobbin_error *error)
{
	struct zone zone = {0};
	if (!parse_rule(text, &zone.rule))
		return error_set(error, BOBBIN_EINPUT, "this is no rule of a time zone: %.*s",
			(int)(text.len < 80 ? text.len : 80), text.len ? text.data : "");
	zone.first = zone.rule.standard;
	*ret_zone = zone;
	return 0;
}

/* ---- TZif ---- */

struct counts {
	uint32_t utc, wall, leaps, changes, types, letters;
};

static uint64_t big_endian(const char *data, size_t bytes)
{
	uint64_t value = 0;
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | (unsigned char)data[i];
	return value;
}

static bool read_header(struct slice data, char *ret_version, struct counts *ret_counts)
{
	if (data.len < HEADER_BYTES || memcmp(data.data, "TZif", 4) != 0)
		return false;
	const char *at = data.data + 20;
	*ret_version = data.data[4];
	*ret_counts = (struct counts){(uint32_t)big_endian(at, 4), (uint32_t)big_endian(at + 4, 4),
		(uint32_t)big_endian(at + 8, 4), (uint32_t)big_endian(at + 12, 4),
		(uint32_t)big_endian(at + 16, 4), (uint32_t)big_endian(at + 20, 4)};
	return true;
}

/* Counts have 32 bits, so the sum has room in 64. */
static uint64_t block_bytes(const struct counts *counts, size_t time_bytes)
{
	return (uint64_t)counts->changes * (time_bytes + 1) + (uint64_t)counts->types * 6 + counts->letters +
	       (uint64_t)counts->leaps * (time_bytes + 4) + counts->wall + counts->utc;
}

/* The block's bytes are all there. */
static int read_block(const char *block, const struct counts *counts, size_t time_bytes, struct arena *arena,
	struct zone *ret_zone, struct bobbin_error *error)
{
	const char *indices = block + (size_t)counts->changes * time_bytes,
		   *types = indices + counts->changes;
	int64_t *changes = arena_alloc(arena, (counts->changes + 1) * sizeof(*changes));
	int32_t *offsets = arena_alloc(arena, (counts->changes + 1) * sizeof(*offsets));
	if (!changes || !offsets)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (uint32_t i = 0; i < counts->types; i++) {
		int32_t offset = (int32_t)big_endian(types + (size_t)i * 6, 4);
		if (offset <= -OFFSET_MAX || offset >= OFFSET_MAX)
			return damaged(error, "an offset of more than a day");
	}
	for (uint32_t i = 0; i < counts->changes; i++) {
		uint64_t time = big_endian(block + i * time_bytes, time_bytes);
		unsigned type = (unsigned char)indices[i];
		changes[i] = time_bytes == 4 ? (int32_t)time : (int64_t)time;
		if (type >= counts->types)
			return damaged(error, "a change to a time that is not there");
		if (i && changes[i] <= changes[i - 1])
			return damaged(error, "changes out of order");
		offsets[i] = (int32_t)big_endian(types + (size_t)type * 6, 4);
	}
	*ret_zone = (struct zone){.changes = changes,
		.offsets = offsets,
		.count = counts->changes,
		.first = (int32_t)big_endian(types, 4)};
	return 0;
}

/* Between two line breaks; an empty one says nothing about the time after the last change. */
static int read_footer(struct slice rest, struct zone *zone, struct bobbin_error *error)
{
	const char *end = rest.len > 1 ? memchr(rest.data + 1, '\n', rest.len - 1) : NULL;
	if (!end || rest.data[0] != '\n')
		return damaged(error, "the rule at its end is cut off");
	struct slice text = {rest.data + 1, (size_t)(end - rest.data) - 1};
	return text.len && !parse_rule(text, &zone->rule) ? damaged(error, "the rule at its end") : 0;
}

int zone_parse(struct slice data, struct arena *arena, struct zone *ret_zone, struct bobbin_error *error)
{
	struct counts counts;
	struct zone zone;
	char version;
	size_t time_bytes = 4;
	if (!read_header(data, &version, &counts))
		return damaged(error, "this is no TZif file");
	if (version >= '2') { /* the first block is for old readers */
		uint64_t skip = HEADER_BYTES + block_bytes(&counts, 4);
		if (skip > data.len)
			return damaged(error, "it is cut off");
		data.data += skip;
		data.len -= (size_t)skip;
		time_bytes = 8;
		if (!read_header(data, &version, &counts))
			return damaged(error, "its second part is missing");
	}
	if (!counts.types || counts.types > 256)
		return damaged(error, "it names no local time");
	if (block_bytes(&counts, time_bytes) > data.len - HEADER_BYTES)
		return damaged(error, "it is cut off");
	int rc = read_block(data.data + HEADER_BYTES, &counts, time_bytes, arena, &zone, error);
	size_t used = HEADER_BYTES + (size_t)block_bytes(&counts, time_bytes);
	if (!rc && time_bytes == 8)
		rc = read_footer((struct slice){data.data + used, data.len - used}, &zone, error);
	if (!rc)
		*ret_zone = zone;
	return rc;
}

/* ---- Files ---- */

/* Letters, digits and what else stands in names of zones; each part begins with a letter, so nothing leads
 * out. */
static bool is_zone_name(const char *name)
{
	size_t len = strlen(name);
	bool start = true;
	if (!len || len > NAME_BYTES_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool letter = (name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= 'a' && name[i] <= 'z');
		if (start ? !letter : !letter && !strchr("0123456789_+-/", name[i]))
			return false;
		start = name[i] == '/';
	}
	return !start;
}

static int read_file(const struct platform *platform, const char *name, struct arena *arena,
	struct slice *ret_data, struct bobbin_error *error)
{
	char path[sizeof(ZONE_FOLDER) + NAME_BYTES_MAX + 2];
	snprintf(path, sizeof(path), "%s/%s", ZONE_FOLDER, name);
	int file = platform->open_at(
		platform->context, PLATFORM_CWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (file < 0)
		return error_set_os(error, -file, "the time zone %s", name);
	char *data = arena_alloc(arena, FILE_BYTES_MAX);
	ssize_t len = data ? platform_read_full(platform, file, data, FILE_BYTES_MAX, 0) : -ENOMEM;
	platform->close(platform->context, file);
	if (len < 0)
		return error_set_os(error, (int)-len, "the time zone %s", name);
	*ret_data = (struct slice){data, (size_t)len};
	return 0;
}

int zone_open(const struct platform *platform, const char *name, struct arena *arena, struct zone *ret_zone,
	struct bobbin_error *error)
{
	struct slice data;
	if (strcmp(name, "UTC") == 0)
		return zone_parse_rule(SLICE_LITERAL("UTC0"), ret_zone, error);
	if (strchr(name, ',') || name[0] == '<')
		return zone_parse_rule(slice_of(name), ret_zone, error);
	if (!is_zone_name(name))
		return error_set(
			error, BOBBIN_EINPUT, "'%.60s' is no name of a time zone: Europe/Berlin, UTC", name);
	int rc = read_file(platform, name, arena, &data, error);
	if (rc < 0)
		return rc;
	rc = zone_parse(data, arena, ret_zone, error);
	if (rc < 0)
		error_prefix(error, "%s", name);
	return rc;
}
