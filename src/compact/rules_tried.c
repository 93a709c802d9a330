/* SPDX-License-Identifier: MIT */
/*
 * What was tried and failed: commands and calls whose results say so.
 *
 *	bash {"command":"make deploy"}   →   "… No space left on device\nmake: *** [deploy] Error 2", exit
 * code 2 failed: make deploy — because make: *** [deploy] Error 2
 *
 * Invariants:
 * (1) A call is tried and failed iff its result is marked as an error, tells an exit code other than 0, or,
 * without one, ends in lines that report a failure; commands whose exit code is an answer (grep) and looking
 * at files never. (2) The reason is a line of the result. That the same command worked later is said behind
 * it.
 */
#include "base/utf8.h"
#include "compact/rules_calls.h"
#include "compact/rules_shell.h"

#define COMMAND_BYTES 240
#define REASON_BYTES 240
#define HEAD_LINES 6  /* lines looked at at the start of a result */
#define EDGE_LINES 20 /* … and at its end */
#define TAIL_LINES 4  /* of them, where a failure without an exit code must stand */
#define EDGE_BYTES 4096
#define LINE_BYTES 400

struct outcome {
	struct slice reason;   /* the line that tells most */
	unsigned strength;     /* of it */
	long exit_code;	       /* -1: not told */
	unsigned tail_failure; /* how surely one of the last lines reports a failure */
	struct slice last;     /* the last line that is not empty */
};

/* ---- What a result says */

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (unsigned char)c >= 0x80;
}

/* Not inside a word or a path: what is left of one is another. */
static struct slice shorten(struct slice text, size_t max)
{
	if (text.len <= max)
		return text;
	text.len = utf8_truncate(text.data, text.len, max);
	for (size_t at = text.len; at > max / 2; at--)
		if (memchr(" ;\t\n", text.data[at - 1], 4) ||
			(text.data[at - 1] == ',' && text.data[at] == '"'))
			return slice_trim((struct slice){text.data, at - 1});
	while (text.len && (is_letter_or_digit(text.data[text.len - 1]) ||
				   memchr("/._-\\:", text.data[text.len - 1], 6)))
		text.len--;
	return slice_trim(text);
}

static long number_after(const struct statement *statement, const struct cue *cue)
{
	unsigned at = cue->last + 1u;
	long value = 0;

	if (at >= statement->count || !statement->words[at].number ||
		statement->words[at].end - statement->words[at].start > 3)
		return -1;
	for (unsigned i = statement->words[at].start; i < statement->words[at].end; i++) {
		if (statement->text.data[i] < '0' || statement->text.data[i] > '9')
			return -1;
		value = value * 10 + (statement->text.data[i] - '0');
	}
	return value;
}

static bool is_shouted(struct slice word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.data[i] < 'A' || word.data[i] > 'Z')
			return false;
	return word.len > 3;
}

/* "QuotaError: …", "java.io.IOException: …": whatever the name, it is one of an error. */
static bool begins_with_error(struct slice line)
{
	static const char *const ENDS[] = {"Error", "Exception"};
	const char *colon = memchr(line.data, ':', line.len);
	size_t len = colon ? (size_t)(colon - line.data) : 0;

	for (size_t i = 0; i < len; i++)
		if (!is_letter_or_digit(line.data[i]) && line.data[i] != '.' && line.data[i] != '_')
			return false;
	for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
		if (len > strlen(ENDS[i]) && memcmp(colon - strlen(ENDS[i]), ENDS[i], strlen(ENDS[i])) == 0)
			return true;
	return false;
}

/* How surely a line reports a failure: 0 not at all, 3 for "error: …" at its start. */
static unsigned failure_strength(const struct statement *statement, struct slice line)
{
	const struct cue *cue = statement_cue(statement, KIND(CUE_FAILURE), 0);
	struct slice rest;

	if (begins_with_error(line))
		return 3;
	if (!cue || statement_cue(statement, KIND(CUE_NO_FAILURE), 0))
		return 0;
	rest = (struct slice){
		line.data + statement->words[cue->last].end, line.len - statement->words[cue->last].end};
	bool colon =
		rest.len && (rest.data[0] == ':' || rest.data[0] == ']' || slice_starts_with(rest, " TS"));
	bool shouted = is_shouted(statement_span(statement, cue->first, cue->first));

	if (cue->first <= 1 && (colon || shouted))
		return 3;
	if (colon || shouted)
		return 2;
	return cue->first == 0 || cue->last > cue->first ? 2 : 1;
}

/* Whether more than that something failed stands before the words about the exit code. */
static bool tells_more(const struct statement *statement, const struct cue *exit_cue)
{
	const struct cue *failure = statement_cue(statement, KIND(CUE_FAILURE), 0);
	unsigned from = failure->last + 1u;

	return exit_cue->first > from &&
	       statement_content_count(statement, from, exit_cue->first - 1u, exit_cue) >= 2;
}

static void read_line(struct rules *rules, struct slice line, bool is_end, struct outcome *outcome)
{
	struct language_votes votes = {{0}};
	const struct cue *exit_cue;
	unsigned strength;
	long code;

	if (!line.len)
		return;
	line = shorten(line, LINE_BYTES);
	statement_read(rules->statement, line, &votes);
	exit_cue = statement_cue(rules->statement, KIND(CUE_EXIT), 0);
	code = exit_cue ? number_after(rules->statement, exit_cue) : -1;
	if (code >= 0 && outcome->exit_code < 0)
		outcome->exit_code = code;
	strength = failure_strength(rules->statement, line);
	if (code >= 0) /* "command failed (exit code 3)" tells nothing; what else stands in the line may */
		strength = strength >= 3 && statement_cue(rules->statement, KIND(CUE_FAILURE), 0) &&
					   tells_more(rules->statement, exit_cue)
				   ? 2
				   : 0;
	if (is_end && strength > outcome->tail_failure)
		outcome->tail_failure = strength;
	if (strength && strength >= outcome->strength) {
		outcome->strength = strength;
		outcome->reason = line;
	}
	if (is_end && (code < 0 || !outcome->last.len))
		outcome->last = line;
}

/* The first and the last lines of a result. */
static void read_outcome(struct rules *rules, struct slice text, struct outcome *outcome)
{
	struct slice head = shorten(text, EDGE_BYTES), rest = head, line, lines[EDGE_LINES];
	unsigned count = 0;

	*outcome = (struct outcome){.exit_code = -1};
	for (unsigned i = 0; i < HEAD_LINES && line_next(&rest, &line); i++)
		read_line(rules, line, false, outcome);
	rest = text;
	if (rest.len > EDGE_BYTES) {
		rest.data += rest.len - EDGE_BYTES;
		rest.len = EDGE_BYTES;
		while (rest.len && ((unsigned char)*rest.data & 0xC0) == 0x80)
			rest.data++, rest.len--;
	}
	while (line_next(&rest, &line))
		if (line.len)
			lines[count++ % EDGE_LINES] = line;
	for (unsigned i = count > EDGE_LINES ? count - EDGE_LINES : 0; i < count; i++)
		read_line(rules, lines[i % EDGE_LINES], count - i <= TAIL_LINES, outcome);
}

/* ---- What was tried */

/* Without the "cd … && " that agents begin every command with. */
static struct slice without_folder(struct slice line)
{
	const char *and = slice_starts_with(line, "cd ") ? memmem(line.data, line.len, " && ", 4) : NULL;

	if (!and)
		return line;
	return (struct slice){and+4, (size_t)(line.data + line.len - and-4)};
}

/* A command's first line; for other tools the name with its arguments. */
static struct slice attempt_text(struct rules *rules, const struct derive_call *call, struct slice command)
{
	struct slice line, arguments = shorten(call->arguments, COMMAND_BYTES - 80);

	if (command.len) {
		while (line_next(&command, &line))
			if (line.len && !(line.data[0] == '#'))
				return shorten(without_folder(line), COMMAND_BYTES);
		return (struct slice){NULL, 0};
	}
	buffer_clear(&rules->text);
	buffer_add_slice(&rules->text, shorten(call->name, 80));
	buffer_add_char(&rules->text, ' ');
	buffer_add_slice(&rules->text, arguments);
	return buffer_slice(&rules->text);
}

static bool exit_is_answer(struct slice command)
{
	char folded[32];
	struct slice program = shell_program(command);

	return program.len && program.len < sizeof folded &&
	       cue_name_is(fold_name(program, folded, sizeof folded), CUE_SHELL_QUIET);
}

static bool looks_at_files(const struct derive_call *call)
{
	return call_is(call, CUE_TOOL_READ) || call_is(call, CUE_TOOL_EDIT) ||
	       call_is(call, CUE_TOOL_WRITE) || call_is(call, CUE_TOOL_TODO);
}

static bool has_failed(
	const struct derive_message *result, struct slice command, const struct outcome *outcome)
{
	if (command.len && exit_is_answer(command))
		return false;
	if (result->is_error || outcome->exit_code > 0)
		return true;
	if (outcome->exit_code == 0)
		return false;
	if (command.len)
		return outcome->tail_failure >= 3;
	return outcome->strength >= 3 && result->text.len < LINE_BYTES;
}

/* A command that failed before has worked: the earlier item says so. */
static void note_success(struct rules *rules, struct slice text)
{
	for (size_t i = rules->record->count; i-- > 0;) {
		struct compact_item *item = &rules->record->items[i];

		if (item->kind != ITEM_TRIED || item->state != STATE_FAILED || item->by != BY_TOOL ||
			!slice_equal(item->text, text))
			continue;
		if (item->reason.len > 14 &&
			memcmp(item->reason.data + item->reason.len - 14, "(worked later)", 14) == 0)
			return;
		size_t len = item->reason.len + 16;
		char *reason = arena_alloc(rules->record->arena, len);

		if (!reason) {
			rules->rc = BOBBIN_ENOMEM;
			return;
		}
		if (item->reason.len)
			memcpy(reason, item->reason.data, item->reason.len);
		memcpy(reason + item->reason.len, " (worked later)", 16);
		item->reason = (struct slice){reason, len - 1};
		rules->rc = compact_item_add_source(
			rules->record, item, (struct item_source){rules->at, {NULL, 0}});
		return;
	}
}

static void read_call(struct rules *rules, const struct derive_call *call, unsigned *failed)
{
	const struct derive_message *result = &rules->input->messages[call->result];
	struct slice command = call_command(rules, call), text;
	struct compact_item item;
	struct outcome outcome;

	if (result->marker || looks_at_files(call))
		return;
	read_outcome(rules, result->text, &outcome);
	text = attempt_text(rules, call, command);
	if (!has_failed(result, command, &outcome)) {
		rules->at = call->result;
		if (*failed && command.len)
			note_success(rules, text);
		return;
	}
	rules->by = BY_TOOL;
	rules->at = call->message;
	item = rules_item(rules, ITEM_TRIED, STATE_FAILED, text);
	item.exact = command.len > 0;
	item.reason = shorten(outcome.reason.len ? outcome.reason : outcome.last, REASON_BYTES);
	*failed += rules_add(rules, item, call->result) != NULL;
}

void rules_tried(struct rules *rules)
{
	unsigned failed = 0;

	for (uint32_t i = 0; i < rules->input->count && !rules->rc; i++) {
		const struct derive_message *message = &rules->input->messages[i];

		for (uint32_t c = 0; c < message->call_count && !rules->rc; c++)
			if (message->calls[c].result != DERIVE_NONE)
				read_call(rules, &message->calls[c], &failed);
	}
}
