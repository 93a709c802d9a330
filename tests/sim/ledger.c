/* SPDX-License-Identifier: MIT */
/* Entries, and what of them stands in a log's bytes, see ledger.h. */
#include "sim/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_ledger_release(struct sim_ledger *ledger)
{
	for (int i = 0; i < ledger->entry_count; i++)
		free(ledger->entries[i].members);
}

struct sim_entry *sim_ledger_add(struct sim_ledger *ledger, int log, enum sim_kind kind)
{
	if (ledger->entry_count == SIM_ENTRIES_MAX)
		abort();
	struct sim_entry *entry = &ledger->entries[ledger->entry_count++];
	memset(entry, 0, sizeof(*entry));
	entry->log = log;
	entry->kind = kind;
	return entry;
}

int sim_ledger_add_log(struct sim_ledger *ledger, const char *id, bool durable_mode)
{
	if (ledger->log_count == SIM_LOGS_MAX)
		abort();
	struct sim_log *log = &ledger->logs[ledger->log_count];
	memset(log, 0, sizeof(*log));
	snprintf(log->id, sizeof(log->id), "%s", id);
	log->durable_mode = durable_mode;
	log->file = SIM_NOT_YET;
	log->parent = log->base = -1;
	return ledger->log_count++;
}

int sim_ledger_find_log(const struct sim_ledger *ledger, const char *id)
{
	char name[SIM_NAME_BYTES];
	snprintf(name, sizeof(name), "%s.jsonl", id);
	int file = sim_disk_find(ledger->disk, name);
	for (int i = 0; file >= 0 && i < ledger->log_count; i++)
		if (ledger->logs[i].file == file)
			return i;
	return -1;
}

/* ---- Lines */

/* CRC-32C, bit by bit. */
static uint32_t checksum(const char *data, size_t len)
{
	static uint32_t table[256];
	uint32_t crc = 0xffffffff;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t value = i;
			for (int bit = 0; bit < 8; bit++)
				value = value & 1 ? (value >> 1) ^ 0x82f63b78 : value >> 1;
			table[i] = value;
		}
	for (size_t i = 0; i < len; i++)
		crc = (crc >> 8) ^ table[(crc ^ (uint8_t)data[i]) & 0xff];
	return ~crc;
}

struct reading {
	const char *start, *at, *end;
};

static bool take(struct reading *reading, const char *text)
{
	size_t len = strlen(text);
	if ((size_t)(reading->end - reading->at) < len || memcmp(reading->at, text, len) != 0)
		return false;
	reading->at += len;
	return true;
}

static bool take_number(struct reading *reading, uint64_t *ret_number)
{
	const char *from = reading->at;
	uint64_t number = 0;
	while (reading->at < reading->end && *reading->at >= '0' && *reading->at <= '9')
		number = number * 10 + (uint64_t)(*reading->at++ - '0');
	*ret_number = number;
	return reading->at > from;
}

/* Up to and with the next quotation mark; `text` may be NULL. */
static bool take_quoted(struct reading *reading, char text[SIM_ID_BYTES])
{
	const char *stop = memchr(reading->at, '"', (size_t)(reading->end - reading->at));
	if (!stop || stop - reading->at >= SIM_ID_BYTES)
		return false;
	if (text) {
		memcpy(text, reading->at, (size_t)(stop - reading->at));
		text[stop - reading->at] = '\0';
	}
	reading->at = stop + 1;
	return true;
}

/* …,"ts":"…","crc":"…"} with the right checksum. */
static bool take_end(struct reading *reading)
{
	char digits[SIM_ID_BYTES];
	if (!take(reading, ",\"ts\":\"") || !take_quoted(reading, NULL))
		return false;
	snprintf(digits, sizeof(digits), ",\"crc\":\"%08x\"}",
		checksum(reading->start, (size_t)(reading->at - reading->start)));
	return take(reading, digits);
}

static bool is_in(const struct sim_scan *scan, int entry)
{
	return sim_scan_find(scan, entry) != NULL;
}

/* Rewinds made by the store itself carry nothing of ours: the one with this number, else any that fits. */
static bool take_rewind(const struct sim_ledger *ledger, int log, const struct sim_scan *scan,
	struct reading *reading, struct sim_line *line)
{
	char target[SIM_ID_BYTES] = "";
	int found = -1;

	if (!take(reading, ",\"type\":\"rewind\",\"to\":"))
		return false;
	if (!take(reading, "null") && !(take(reading, "\"") && take_quoted(reading, target)))
		return false;
	for (int i = 0; i < ledger->entry_count; i++) {
		const struct sim_entry *entry = &ledger->entries[i];
		if (entry->kind != SIM_REWIND || entry->log != log || strcmp(entry->target, target) != 0 ||
			is_in(scan, i))
			continue;
		if (entry->seq == line->seq ||
			(found < 0 && entry->seq == 0 && !entry->refused && !entry->lost))
			found = i;
		if (entry->seq == line->seq)
			break;
	}
	line->entry = found;
	return found >= 0;
}

static bool take_record(
	const struct sim_ledger *ledger, int log, struct reading *reading, struct sim_line *line)
{
	uint64_t number;
	char members[SIM_ID_BYTES];

	if (take(reading, ",\"parent\":")) {
		line->aside = true;
		if (!take(reading, "null") && !(take(reading, "\"") && take_quoted(reading, line->parent)))
			return false;
	}
	if (!take(reading, ",\"tok\":") || !take_number(reading, &number) ||
		number >= (uint64_t)ledger->entry_count)
		return false;
	const struct sim_entry *entry = &ledger->entries[number];
	line->entry = (int)number;
	snprintf(members, sizeof(members), "\"tok\":%llu", (unsigned long long)number);
	return entry->log == log && strncmp(entry->members, members, strlen(members)) == 0 &&
	       take(reading, entry->members + strlen(members));
}

/* "wasBytes": the log was longer once, so it says where it has become shorter. */
static bool take_was_bytes(struct reading *reading, const char *data)
{
	uint64_t bytes;

	return take(reading, "\"wasBytes\":") && take_number(reading, &bytes) &&
	       bytes > (uint64_t)(reading->start - data);
}

static bool take_title(
	const struct sim_ledger *ledger, int log, const char *data, struct reading *reading, struct sim_line *line)
{
	uint64_t number;
	struct reading more;

	if (!take(reading, "\"title\":\"t") || !take_number(reading, &number) || !take(reading, "\"") ||
		number >= (uint64_t)ledger->entry_count)
		return false;
	line->entry = (int)number;
	more = *reading;
	if (take(&more, ",") && take_was_bytes(&more, data))
		*reading = more;
	return ledger->entries[number].log == log && ledger->entries[number].kind == SIM_TITLE;
}

/* The length of the record that begins here, 0 if it is none of ours. */
static size_t match(const struct sim_ledger *ledger, int log, const struct sim_scan *scan, const char *data,
	const char *at, const char *end, struct sim_line *ret_line)
{
	struct reading reading = {at, at, end};
	struct sim_line line = {.entry = -1};

	if (take(&reading, "{\"seq\":")) {
		if (!take_number(&reading, &line.seq))
			return 0;
		struct reading rewind = reading;
		if (take_rewind(ledger, log, scan, &rewind, &line))
			reading = rewind;
		else if (!take_record(ledger, log, &reading, &line))
			return 0;
	} else if (!take(&reading, "{\"type\":\"session\",") ||
		   (!take_was_bytes(&reading, data) && !take_title(ledger, log, data, &reading, &line)))
		return 0;
	if (!take_end(&reading))
		return 0;
	line.len = (size_t)(reading.at - at);
	*ret_line = line;
	return line.len;
}

const struct sim_line *sim_scan_find(const struct sim_scan *scan, int entry)
{
	for (size_t i = 0; i < scan->count; i++)
		if (scan->lines[i].entry == entry)
			return &scan->lines[i];
	return NULL;
}

static size_t match_all(const struct sim_ledger *ledger, int log, struct sim_scan *scan, const char *data,
	const char *at, const char *end)
{
	const char *from = at;
	struct sim_line line;
	size_t len;

	while (at < end && (len = match(ledger, log, scan, data, at, end, &line)) > 0) {
		if (scan->count == SIM_LINES_MAX)
			abort();
		line.offset = (size_t)(at - data);
		scan->lines[scan->count++] = line;
		at += len;
	}
	return (size_t)(at - from);
}

/* One line, between its NULs: of the first piece what it begins with, of the others only those that are
 * whole. */
static void scan_line(const struct sim_ledger *ledger, int log, struct sim_scan *scan, const char *data,
	const char *at, const char *end)
{
	bool nuls = memchr(at, '\0', (size_t)(end - at)) != NULL, first = true;

	while (at < end) {
		const char *stop = memchr(at, '\0', (size_t)(end - at));
		size_t before = scan->count;
		if (!stop)
			stop = end;
		size_t used = match_all(ledger, log, scan, data, at, stop);
		if (!first && used < (size_t)(stop - at))
			scan->count = before;
		if (!nuls && used == 0 && end - at > 2 && at[0] == '{' && end[-1] == '}')
			scan->odd++;
		first = false;
		at = stop + 1;
	}
}

static bool is_header(const struct sim_ledger *ledger, int log, const char *at, const char *end)
{
	char start[2 * SIM_ID_BYTES + 64], owner[SIM_ID_BYTES];
	struct reading reading = {at, at, end};
	const char *stop = memmem(at, (size_t)(end - at), ",\"ts\":\"", 7);

	snprintf(start, sizeof(start), "{\"type\":\"session\",\"id\":\"%s\",", ledger->logs[log].id);
	snprintf(owner, sizeof(owner), "\"owner\":\"i%d\",", log);
	if (!stop || !take(&reading, start) || !take(&reading, owner))
		return false;
	reading.at = stop;
	return take_end(&reading) && reading.at == end;
}

void sim_scan(const struct sim_ledger *ledger, int log, struct sim_scan *ret_scan)
{
	ret_scan->count = ret_scan->odd = 0;
	ret_scan->header = false;
	ret_scan->size = 0;
	if (ledger->logs[log].file < 0)
		return;
	const struct sim_file *file = &ledger->disk->files[ledger->logs[log].file];
	const char *at = file->data, *end = file->data + file->size;
	ret_scan->size = file->size;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		if (at == file->data && is_header(ledger, log, at, stop))
			ret_scan->header = true;
		else
			scan_line(ledger, log, ret_scan, file->data, at, stop);
		at = stop + 1;
	}
}
