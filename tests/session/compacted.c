/* SPDX-License-Identifier: MIT */
#include "compacted.h"

#include "base/arena.h"
#include "model/mock.h"

/* ---- Messages */

static const char *keep_id(const char *id)
{
	static char kept[8][BOBBIN_MESSAGE_ID_BYTES];
	static unsigned next;
	char *place = kept[next++ % 8];
	snprintf(place, BOBBIN_MESSAGE_ID_BYTES, "%s", id);
	return place;
}

const char *say_record(bobbin_session *session, const char *json)
{
	struct bobbin_error error;
	struct bobbin_ack ack;
	if (bobbin_session_append(session, json, strlen(json), NULL, &ack, &error) < 0)
		fail_msg("%s: %s", error.message, json);
	return keep_id(ack.id);
}

static const char *say_text(bobbin_session *session, const char *role, const char *text)
{
	struct bobbin_error error;
	struct bobbin_ack ack;
	if (bobbin_session_append_text(session, role, text, strlen(text), &ack, &error) < 0)
		fail_msg("%s: %s", error.message, text);
	return keep_id(ack.id);
}

static const char *say_list(bobbin_session *session, const char *role, const char *format, va_list list)
{
	char *text = NULL;
	if (vasprintf(&text, format, list) < 0)
		fail_msg("out of memory");
	const char *id = say_text(session, role, text);
	free(text);
	return id;
}

const char *say_user(bobbin_session *session, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	const char *id = say_list(session, "user", format, list);
	va_end(list);
	return id;
}

const char *say_assistant(bobbin_session *session, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	const char *id = say_list(session, "assistant", format, list);
	va_end(list);
	return id;
}

/* As the inside of a JSON string. */
static void escape(const char *text, char *out, size_t size)
{
	size_t used = 0;
	for (; *text && used + 3 < size; text++) {
		if (*text == '"' || *text == '\\' || *text == '\n')
			out[used++] = '\\';
		out[used++] = *text == '\n' ? 'n' : *text;
	}
	out[used] = 0;
}

const char *say_round(
	bobbin_session *session, const char *id, const char *tool, const char *arguments, const char *result)
{
	static char escaped[65536], json[70000];
	escape(arguments, escaped, sizeof(escaped));
	snprintf(json, sizeof(json),
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"%s\",\"name\":\"%s\","
		"\"arguments\":\"%s\"}]}",
		id, tool, escaped);
	say_record(session, json);
	escape(result, escaped, sizeof(escaped));
	snprintf(json, sizeof(json), "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":\"%s\"}", id,
		escaped);
	return say_record(session, json);
}

void say_filler(bobbin_session *session, unsigned turns, unsigned tokens)
{
	static const char words[] = "so it went on and the rain fell on the roof and ";
	char *text = malloc(tokens * 6 + sizeof(words) + 1);
	assert_non_null(text);
	for (unsigned turn = 0; turn < turns; turn++) {
		size_t used = 0;
		while (used < (size_t)tokens * 4) {
			memcpy(text + used, words, sizeof(words) - 1);
			used += sizeof(words) - 1;
		}
		text[used] = 0;
		say_text(session, "user", text);
		say_text(session, "assistant", text);
	}
	free(text);
}

void say_mock(bobbin_session *session, uint64_t seed, unsigned rounds, unsigned tokens)
{
	struct mock_conversation_options options = MOCK_CONVERSATION_INIT;
	struct arena arena = ARENA_INIT;
	struct slice *records;
	size_t count;
	options.seed = seed;
	options.rounds = rounds;
	options.message_tokens = tokens;
	assert_int_equal(mock_conversation(&options, &arena, &records, &count), 0);
	for (size_t i = 0; i < count; i++) {
		struct bobbin_error error;
		struct bobbin_ack ack;
		if (bobbin_session_append(session, records[i].data, records[i].len, NULL, &ack, &error) < 0)
			fail_msg("%s", error.message);
	}
	arena_release(&arena);
}

/* ---- Budgets */

struct bobbin_window_options history_of(uint64_t tokens)
{
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	window.window = tokens;
	window.output_reserve = 0;
	window.margin = 0;
	return window;
}

/* ---- Compaction */

static const struct compacted *compact_as(
	bobbin_session *session, const struct bobbin_window_options *window, bobbin_model *deriver, int force)
{
	static struct compacted kept;
	struct bobbin_compact_options options = BOBBIN_COMPACT_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_compaction *compaction;
	options.window = window;
	options.deriver = deriver;
	options.force = force;
	if (bobbin_session_compact(session, &options, &compaction, &error) < 0)
		fail_msg("%s", error.message);
	const struct bobbin_compaction_report *report = bobbin_compaction_report(compaction);
	kept.done = report->done;
	kept.report = *report;
	snprintf(kept.line, sizeof(kept.line), "%s", report->line);
	snprintf(kept.reason, sizeof(kept.reason), "%s", report->reason);
	snprintf(kept.steps, sizeof(kept.steps), "%s", report->steps);
	snprintf(kept.cut, sizeof(kept.cut), "%s", report->cut);
	snprintf(kept.inner_cut, sizeof(kept.inner_cut), "%s", report->inner_cut);
	snprintf(kept.digest, sizeof(kept.digest), "%s", report->digest);
	snprintf(kept.text, sizeof(kept.text), "%s", report->text);
	kept.report.line = kept.line;
	kept.report.reason = kept.reason;
	kept.report.steps = kept.steps;
	kept.report.cut = kept.cut;
	kept.report.inner_cut = kept.inner_cut;
	kept.report.digest = kept.digest;
	kept.report.text = kept.text;
	bobbin_compaction_free(compaction);
	return &kept;
}

const struct compacted *compact(
	bobbin_session *session, const struct bobbin_window_options *window, bobbin_model *deriver)
{
	return compact_as(session, window, deriver, 1);
}

const struct compacted *compact_if_needed(
	bobbin_session *session, const struct bobbin_window_options *window, bobbin_model *deriver)
{
	return compact_as(session, window, deriver, 0);
}

static bobbin_plan *plan_of(bobbin_session *session, const struct bobbin_window_options *window)
{
	struct bobbin_error error;
	bobbin_plan *plan;
	if (bobbin_plan_make(session, window, &plan, &error) < 0)
		fail_msg("%s", error.message);
	return plan;
}

static void expect_accepted(const char *dialect, const char *body, size_t len)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	if (bobbin_check(dialect, body, len, &faults, &error) < 0)
		fail_msg("%s", error.message);
	if (bobbin_faults_count(faults))
		fail_msg("%s refuses it: %s", dialect, bobbin_faults_get(faults, 0)->message);
	bobbin_faults_free(faults);
}

char *request_of(bobbin_session *session, const struct bobbin_window_options *window)
{
	struct bobbin_error error;
	bobbin_plan *plan = plan_of(session, window);
	char *kept = NULL, *body;
	for (size_t i = 0; bobbin_dialects()[i]; i++) {
		size_t len;
		if (bobbin_plan_request(plan, bobbin_dialects()[i], &body, &len, &error) < 0)
			fail_msg("%s", error.message);
		expect_accepted(bobbin_dialects()[i], body, len);
		if (strcmp(bobbin_dialects()[i], "openai-chat") == 0)
			kept = strdup(body);
		bobbin_free(body);
	}
	bobbin_plan_free(plan);
	assert_non_null(kept);
	return kept;
}

char *record_of(bobbin_session *session)
{
	struct bobbin_error error;
	char *text;
	int rc = bobbin_session_record(session, NULL, &text, NULL, &error);
	if (rc == BOBBIN_ENOTFOUND)
		return strdup("");
	if (rc < 0)
		fail_msg("%s", error.message);
	char *copy = strdup(text);
	bobbin_free(text);
	return copy;
}

int is_stale(bobbin_session *session)
{
	bobbin_plan *plan = plan_of(session, NULL);
	int stale = bobbin_plan_summary_stale(plan);
	bobbin_plan_free(plan);
	return stale;
}

size_t verify_faults(bobbin_session *session)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	if (bobbin_session_verify(session, NULL, 0, &faults, &error) < 0)
		fail_msg("%s", error.message);
	size_t count = bobbin_faults_count(faults);
	for (size_t i = 0; i < count && i < 10; i++)
		print_message("%s: %s\n", bobbin_faults_get(faults, i)->kind,
			bobbin_faults_get(faults, i)->message);
	bobbin_faults_free(faults);
	return count;
}

/* ---- The files */

bobbin_session *restart(bobbin_session *session, const char *id)
{
	struct bobbin_error error;
	bobbin_session_close(session);
	bobbin_store_close(store);
	if (scratch_exists(scratch_dir, "store/.cache"))
		scratch_remove(scratch_path(scratch_dir, "store/.cache"));
	if (bobbin_store_open(scratch_path(scratch_dir, "store"), NULL, &store, &error) < 0)
		fail_msg("%s", error.message);
	return open_session(id);
}

unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;
	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

char *log_bytes(const char *id)
{
	char name[128];
	snprintf(name, sizeof(name), "store/%s.jsonl", id);
	char *bytes = scratch_read(scratch_dir, name, NULL);
	assert_non_null(bytes);
	return bytes;
}

unsigned log_lines(const char *id, const char *type)
{
	char part[64];
	char *bytes = log_bytes(id);
	snprintf(part, sizeof(part), "\"type\":\"%s\"", type);
	unsigned count = count_of(bytes, part);
	free(bytes);
	return count;
}
