/* SPDX-License-Identifier: MIT */
/* The doctor of foreign transcripts: what their reader warns of, what a provider would refuse of each conversation's line and
 * at which message, and what the product's own compactions left out. It writes nothing. */
#include "session/handles.h"

#include "session/doctor_lost.h"
#include "session/replay.h"
#include "transcript/import.h"

/* The line of a conversation: its records, first to head, and the ids of its messages. */
struct line {
	struct slice *records;
	const char **ids;
	size_t *numbers;
	size_t count;
};

/* Formats that are a list of messages are sent as that list, with results where they stand in it; in the others a result that
 * came too late stands on a branch of its own, where nobody sends it. */
static bool is_list(const char *format)
{
	static const char *const LISTS[] = {"openai-chat", "openai-responses", "anthropic-messages", "codex"};
	for (size_t i = 0; i < sizeof(LISTS) / sizeof(LISTS[0]); i++)
		if (slice_is(slice_of(format), LISTS[i]))
			return true;
	return false;
}

/* Which records a request is made of. */
static bool *mark_line(struct replay *replay, const char *format)
{
	bool *marked = arena_alloc_zero(&replay->arena, (replay->count + 1) * sizeof(*marked));
	for (size_t at = replay->head; marked && at != REPLAY_NONE; at = replay->parents[at])
		marked[at] = true;
	for (size_t i = 0; marked && is_list(format) && i < replay->count; i++)
		if (replay->messages[i].role == ROLE_TOOL && replay->parents[i] != REPLAY_NONE && marked[replay->parents[i]])
			marked[i] = true;
	return marked;
}

static int line_of(struct replay *replay, const char *format, const struct import_conversation *conversation, struct line *ret_line,
	struct bobbin_error *error)
{
	struct line line = {.count = 0};
	struct buffer name = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	bool *marked = mark_line(replay, format);
	line.records = arena_alloc(&replay->arena, (replay->count + 1) * sizeof(*line.records));
	line.ids = arena_alloc(&replay->arena, (replay->count + 1) * sizeof(*line.ids));
	line.numbers = arena_alloc(&replay->arena, (replay->count + 1) * sizeof(*line.numbers));
	int rc = line.records && line.ids && line.numbers && marked ? 0 : BOBBIN_ENOMEM;
	for (size_t i = 0; !rc && i < replay->count; i++) {
		if (!marked[i])
			continue;
		buffer_clear(&name);
		rc = replay_name(replay, i, &name);
		line.records[line.count] = conversation->records[i];
		line.numbers[line.count] = i + 1;
		if (!rc && !(line.ids[line.count++] = arena_copy(&replay->arena, name.data, name.len)))
			rc = BOBBIN_ENOMEM;
	}
	buffer_release(&name);
	*ret_line = line;
	return rc ? error_set(error, rc, "out of memory") : 0;
}

/* `number`: of the conversation in a file of several, from 1; 0: it is the only one. */
static int examine_conversation(const char *format, const struct import_conversation *conversation, size_t number,
	bobbin_faults *faults, struct bobbin_error *error)
{
	struct replay replay;
	struct array_path *path = NULL;
	struct line line;
	int rc = replay_conversation(&replay, conversation, error);
	if (!rc)
		rc = line_of(&replay, format, conversation, &line, error);
	if (!rc)
		rc = array_path_new(line.records, line.count, NULL, &path, error);
	if (!rc) {
		const struct doctor_foreign foreign = {format, line.ids, line.numbers, number};
		rc = doctor_refused(array_path_path(path), &foreign, faults, error);
		if (!rc)
			rc = doctor_lost(array_path_path(path), &foreign, faults, error);
	}
	array_path_free(path);
	replay_release(&replay);
	return rc;
}

/* Damage of the file itself; what else a reader warns of is no damage that a repair mends. */
static const struct {
	const char *kind, *advice;
} DAMAGE[DAMAGE_KINDS] = {
	[DAMAGE_TORN] = {"torn", "Its writer was interrupted, or a part of it is gone; everything else is read."},
	[DAMAGE_NULS] = {"nuls", "A crash left them where something else stood; everything else is read."},
	[DAMAGE_CHARACTERS] = {"half_character", "A part of it is gone; everything else is read."},
	[DAMAGE_FOREIGN] = {"foreign", "Another program wrote it; everything else is read."},
	[DAMAGE_BROKEN_OFF] = {"torn", "Its writer was interrupted, or its end is gone; everything before it is read."},
	[DAMAGE_HOLE] = {"damaged", "Everything that can be read before and after it is read."},
};

static int tell_warning(bobbin_faults *faults, const struct import_warning *warning)
{
	const char *kind = DAMAGE[warning->damage].kind;
	int rc = faults_add(faults, kind ? kind : "transcript", "", warning->line, warning->offset, warning->message,
		kind ? DAMAGE[warning->damage].advice : "");
	return rc || !kind ? rc : faults_add_repair(faults, "It is left out.");
}

static int examine_import(const struct import *import, bobbin_faults *faults, struct bobbin_error *error)
{
	size_t count = import->conversation_count;
	int rc = 0;
	for (size_t i = 0; !rc && i < import->warning_count; i++)
		if (!import->warnings[i].remark && (rc = tell_warning(faults, &import->warnings[i])) < 0)
			error_set(error, rc, "out of memory");
	for (size_t i = 0; !rc && i < count; i++)
		rc = examine_conversation(import->format, &import->conversations[i], count > 1 ? i + 1 : 0, faults, error);
	return rc;
}

int bobbin_doctor_data(const char *format, const char *data, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error)
{
	struct import import;
	bobbin_faults *faults = faults_new();
	if (!faults)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	int rc = import_read(format, data ? data : "", data ? len : 0, &import, error);
	if (!rc)
		rc = examine_import(&import, faults, error);
	faults->format = import.format;
	import_release(&import);
	if (rc < 0)
		bobbin_faults_free(faults);
	else
		*ret_faults = faults;
	return rc;
}
