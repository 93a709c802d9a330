/* SPDX-License-Identifier: MIT */
/* Compaction as a session sees it: what the next request shows, what the log holds, and when a record is not
 * used. */
#include "compacted.h"

/* ---- Examples */

static void worked_example__two_rounds_and_a_record(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(8000);
	bobbin_session *session = open_session("main");
	say_mock(session, 1, 30, 330);
	window.keep_recent = 6;
	const struct compacted *compacted = compact(session, &window, NULL);
	assert_true(compacted->done);
	assert_in_range(compacted->report.tokens_before, 28000, 32000);
	assert_in_range(compacted->report.tokens_after, 1500, 2700);
	assert_in_range(compacted->report.record_tokens, 400, 750);
	assert_int_equal(compacted->report.messages, bobbin_session_info(session)->messages - 8);
	assert_contains(compacted->line, "compacted 119 messages: 29,");
	assert_contains(compacted->line, "×), 0 constraints kept; see bobbin record main");
	char *request = request_of(session, &window);
	assert_int_equal(count_of(request, "\"role\":\"user\""), 2);
	assert_int_equal(count_of(request, "[Summary of earlier conversation]"), 1);
	assert_int_equal(verify_faults(session), 0);
	free(request);
	bobbin_session_close(session);
}

#define LONG_TEXT                                                                                            \
	"and then a good deal of talk that nobody will ever need again, about the weather, the harbour, "    \
	"the "                                                                                               \
	"ferry that was late, the coffee, the view from the hill, and everything else one talks about "      \
	"while "                                                                                             \
	"something compiles; and then more of it, because a talk that is short is not worth summing up at "  \
	"all. "

static bobbin_session *five_messages(const char *id)
{
	bobbin_session *session = open_session(id);
	say_record(session,
		"{\"id\":\"m01\",\"role\":\"user\",\"content\":\"Set the port to 5051. " LONG_TEXT LONG_TEXT
		"\"}");
	say_record(session,
		"{\"id\":\"m02\",\"role\":\"assistant\",\"content\":\"Done. " LONG_TEXT LONG_TEXT "\"}");
	say_record(session,
		"{\"id\":\"m03\",\"role\":\"assistant\",\"content\":\"Also this. " LONG_TEXT LONG_TEXT "\"}");
	say_record(session, "{\"id\":\"m04\",\"role\":\"user\",\"content\":\"And which port was it?\"}");
	say_record(session, "{\"id\":\"m05\",\"role\":\"assistant\",\"content\":\"It was 5051.\"}");
	return session;
}

static void five_messages__record_is_the_first_part_of_m04(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(4000);
	bobbin_session *session = five_messages("main");
	window.keep_recent = 2;
	const struct compacted *compacted = compact(session, &window, NULL);
	assert_true(compacted->done);
	assert_string_equal(compacted->cut, "m04");
	char *request = request_of(session, &window);
	char *record = record_of(session);
	assert_contains(record, "5051");
	assert_contains(request, "5051");
	free(record);
	assert_contains(
		request, "\"messages\":[{\"role\":\"user\",\"content\":\"[Summary of earlier conversation]");
	assert_contains(request, "And which port was it?");
	assert_lacks(request, "Also this.");
	free(request);

	struct bobbin_error error;
	struct bobbin_ack ack;
	assert_int_equal(bobbin_session_edit(session, "m04", "Which host was it?", 18, &ack, &error), 0);
	request = request_of(session, &window);
	assert_true(is_stale(session));
	assert_lacks(request, "[Summary of earlier conversation]");
	assert_contains(request, "Also this.");
	assert_contains(request, "Which host was it?");
	assert_lacks(request, "And which port was it?");
	free(request);
	bobbin_session_close(session);
}

/* Replaces bytes of the log as somebody with an editor would; checksums of lines that changed are taken off.
 */
static void edit_by_hand(const char *id, const char *from, const char *to)
{
	char name[128];
	char *bytes = log_bytes(id), *at = strstr(bytes, from);
	assert_non_null(at);
	char *crc = strstr(at, ",\"crc\":");
	assert_non_null(crc);
	char *rest = strchr(crc, '\n');
	size_t size = strlen(bytes) + strlen(to) + 16;
	char *out = malloc(size);
	snprintf(out, size, "%.*s%s%.*s}%s", (int)(at - bytes), bytes, to,
		(int)(crc - at - (ptrdiff_t)strlen(from)), at + strlen(from), rest);
	snprintf(name, sizeof(name), "store/%s.jsonl", id);
	scratch_write_text(scratch_dir, name, out);
	free(out);
	free(bytes);
}

static void five_messages__m04_or_what_is_before_it_edited_by_hand(void **state)
{
	(void)state;
	static const char *const edits[][2] = {{"And which port was it?", "And which host was it?"},
		{"Set the port to 5051.", "Set the port to 6061."}};
	for (size_t i = 0; i < 2; i++) {
		const char *id = i ? "second" : "first";
		struct bobbin_window_options window = history_of(4000);
		bobbin_session *session = five_messages(id);
		window.keep_recent = 2;
		assert_true(compact(session, &window, NULL)->done);
		bobbin_session_close(session);
		edit_by_hand(id, edits[i][0], edits[i][1]);
		session = open_session(id);
		char *request = request_of(session, &window);
		assert_true(is_stale(session));
		assert_lacks(request, "[Summary of earlier conversation]");
		assert_contains(request, edits[i][1]);
		assert_contains(request, "Also this.");
		free(request);
		bobbin_session_close(session);
	}
}

static void hundred_paths__in_the_record_or_behind_a_pointer(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(8000);
	bobbin_session *session = open_session("main");
	char arguments[128], id[16], path[64];
	say_user(session, "Please tidy up the includes of the whole tree.");
	for (int i = 0; i < 101; i++) {
		snprintf(id, sizeof(id), "c%d", i);
		snprintf(
			arguments, sizeof(arguments), "{\"path\":\"src/part%d/module_%d.c\"}", i % 7, i * 31);
		say_round(session, id, i % 3 ? "read_file" : "edit_file", arguments, LONG_TEXT);
	}
	say_assistant(session, "All of them are tidy now.");
	say_user(session, "Which files did you touch?");
	say_assistant(session, "Many.");
	window.keep_recent = 2;
	assert_true(compact(session, &window, NULL)->done);
	char *record = record_of(session);
	unsigned shown = 0;
	for (int i = 0; i < 101; i++) {
		struct bobbin_error error;
		bobbin_recall *recall;
		snprintf(path, sizeof(path), "src/part%d/module_%d.c", i % 7, i * 31);
		if (strstr(record, path)) {
			shown++;
			continue;
		}
		/* what is not in it is in the range that the pointer names */
		char *pointer = strstr(record, " more files: recall ");
		assert_non_null(pointer);
		pointer += strlen(" more files: recall ");
		char range[64];
		snprintf(range, sizeof(range), "%.*s", (int)strcspn(pointer, "\n"), pointer);
		assert_int_equal(bobbin_session_recall(session, range, 200, &recall, &error), 0);
		int found = 0;
		for (size_t at = 0; bobbin_recall_get(recall, at); at++) {
			const struct bobbin_hit *hit = bobbin_recall_get(recall, at);
			found |= memmem(hit->excerpt, hit->excerpt_len, path, strlen(path)) != NULL;
		}
		bobbin_recall_free(recall);
		if (!found)
			fail_msg("%s is neither in the record nor in %s", path, range);
		assert_int_equal(bobbin_session_recall(session, path, 1, &recall, &error), 0);
		assert_non_null(bobbin_recall_get(recall, 0));
		bobbin_recall_free(recall);
	}
	print_message("%u of 101 paths in the record\n", shown);
	assert_true(shown >= 20);
	free(record);
	bobbin_session_close(session);
}

/* ---- The same again */

static const char *const six_facts[] = {
	"ALPHA-7F3C", "10.2.3.4:5051", "2031-04-09", "88213", "/srv/app-2/etc", "0.0375"};

static void say_six_facts(bobbin_session *session)
{
	say_user(session, "The token is ALPHA-7F3C and the database listens on 10.2.3.4:5051.");
	say_assistant(session, "Noted.");
	say_user(session, "The deadline is 2031-04-09, for build 88213.");
	say_assistant(session, "Good.");
	say_user(session, "Its settings are in /srv/app-2/etc and the ratio is 0.0375.");
	say_assistant(session, "All noted.");
}

/* The log without its compaction and segment lines. */
static void without_records(const char *id)
{
	char name[128];
	char *bytes = log_bytes(id), *out = malloc(strlen(bytes) + 1), *to = out;
	for (char *line = bytes; *line;) {
		size_t len = strcspn(line, "\n") + 1;
		char *kind = memmem(line, len, "\"type\":\"compaction\"", 19);
		kind = kind ? kind : memmem(line, len, "\"type\":\"segment\"", 16);
		if (!kind) {
			memcpy(to, line, len);
			to += len;
		}
		line += len;
	}
	*to = 0;
	snprintf(name, sizeof(name), "store/%s.jsonl", id);
	scratch_write_text(scratch_dir, name, out);
	free(out);
	free(bytes);
}

static void b10_ten_compactions_lose_nothing(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(4000);
	bobbin_session *session = open_session("main");
	say_six_facts(session);
	say_filler(session, 10, 120);
	window.keep_recent = 2;
	char digest[80] = "";
	for (int round = 0; round < 10; round++) {
		const struct compacted *compacted = compact(session, &window, NULL);
		assert_int_equal(compacted->done, round == 0);
		if (round)
			assert_contains(compacted->reason, "up to date");
		else
			snprintf(digest, sizeof(digest), "%s", compacted->digest);
	}
	assert_int_equal(log_lines("main", "compaction"), 1);
	for (int round = 0; round < 10; round++) {
		say_filler(session, 1, 120);
		assert_true(compact(session, &window, NULL)->done);
		char *record = record_of(session);
		for (size_t i = 0; i < 6; i++)
			assert_contains(record, six_facts[i]);
		free(record);
	}
	/* the last one does not depend on those before it: without them, and without segment records, it is
	 * the same */
	char *many = record_of(session);
	bobbin_session_close(session);
	without_records("main");
	session = restart(open_session("main"), "main");
	assert_true(compact(session, &window, NULL)->done);
	char *one = record_of(session);
	assert_string_equal(many, one);
	assert_int_equal(verify_faults(session), 0);
	free(many);
	free(one);
	bobbin_session_close(session);
}

static void compaction_twice__no_call_and_the_same_digest(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(4000);
	struct bobbin_error error;
	bobbin_model *deriver =
		open_script("{\"text\":\"FACTS\\n- The token is ALPHA-7F3C. [user 1]\\nEND\"}\n");
	bobbin_session *session = open_session("main");
	say_six_facts(session);
	say_filler(session, 8, 120);
	window.keep_recent = 2;
	assert_true(compact(session, &window, deriver)->done);
	char *first = record_of(session), *log = log_bytes("main");
	bobbin_model_close(deriver);
	/* a deriver that would be asked now hangs */
	deriver = open_script("{\"hang\":true,\"times\":100}\n");
	const struct compacted *again = compact(session, &window, deriver);
	assert_false(again->done);
	assert_contains(again->reason, "up to date");
	char *second = record_of(session), *log_after = log_bytes("main");
	assert_string_equal(first, second);
	assert_string_equal(log, log_after);

	/* with an equal line of messages in another handle: the same digest */
	struct bobbin_compact_options options = BOBBIN_COMPACT_OPTIONS_INIT;
	bobbin_compaction *compaction;
	session = restart(session, "main");
	options.window = &window;
	options.deriver = deriver;
	options.force = options.dry_run = 1;
	assert_int_equal(bobbin_session_compact(session, &options, &compaction, &error), 0);
	assert_false(bobbin_compaction_report(compaction)->done);
	bobbin_compaction_free(compaction);
	bobbin_model_close(deriver);
	free(first);
	free(second);
	free(log);
	free(log_after);
	bobbin_session_close(session);
}

static void x17_same_bytes_after_a_restart_without_caches(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(8000);
	bobbin_session *session = open_session("main");
	say_mock(session, 3, 12, 200);
	assert_true(compact(session, &window, NULL)->done);
	say_mock(session, 4, 12, 200);
	assert_true(compact(session, &window, NULL)->done);
	say_user(session, "One more thing.");
	char *before = request_of(session, &window);
	session = restart(session, "main");
	char *after = request_of(session, &window);
	assert_string_equal(before, after);
	assert_int_equal(count_of(after, "[Summary of earlier conversation]"), 1);
	free(before);
	free(after);
	bobbin_session_close(session);
}

static void fork__first_window_equals_its_parents(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(8000);
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_error error;
	struct bobbin_forked forked;
	bobbin_session *session = open_session("main");
	say_user(session, "Never touch /srv/data.");
	say_assistant(session, "I will not.");
	say_mock(session, 5, 14, 200);
	assert_true(compact(session, &window, NULL)->done);
	char *parents = request_of(session, &window), *parent_log = log_bytes("main");
	assert_int_equal(
		bobbin_session_fork(session, bobbin_session_head(session), &options, &forked, &error), 0);
	bobbin_session *child = open_session(forked.id);
	char *childs = request_of(child, &window);
	assert_string_equal(parents, childs);
	assert_contains(childs, "Never touch /srv/data.");

	/* the child compacts on its own: the parent's segments serve it, the parent's bytes stay */
	say_mock(child, 6, 14, 200);
	const struct compacted *compacted = compact(child, &window, NULL);
	assert_true(compacted->done);
	assert_true(compacted->report.segments_found > 0);
	assert_int_equal(verify_faults(child), 0);
	char *now = log_bytes("main");
	assert_string_equal(now, parent_log);
	free(now);
	free(parents);
	free(childs);
	free(parent_log);
	bobbin_session_close(child);
	bobbin_session_close(session);
}

static void fork_before_the_cut__inherits_no_record(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(8000);
	struct bobbin_fork_options options = BOBBIN_FORK_OPTIONS_INIT;
	struct bobbin_error error;
	struct bobbin_forked forked;
	bobbin_session *session = open_session("main");
	say_mock(session, 5, 4, 200);
	say_user(session, "The secret plan is called ZEBRA-9.");
	say_assistant(session, "Aha.");
	say_mock(session, 6, 14, 200);
	assert_true(compact(session, &window, NULL)->done);
	assert_int_equal(bobbin_session_fork(session, "m8", &options, &forked, &error), 0);
	bobbin_session *child = open_session(forked.id);
	char *request = request_of(child, &window);
	assert_lacks(request, "[Summary of earlier conversation]");
	assert_lacks(request, "ZEBRA-9");
	free(request);
	bobbin_session_close(child);
	bobbin_session_close(session);
}

/* ---- What stays, what goes */

static void x14_everything_after_the_cut_stays(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(6000);
	bobbin_session *session = open_session("main");
	say_user(session, "First: look at engine R1. " LONG_TEXT LONG_TEXT LONG_TEXT);
	say_assistant(session, "R1 seen. " LONG_TEXT LONG_TEXT LONG_TEXT);
	say_user(session, "Second: look at engine R2. " LONG_TEXT LONG_TEXT LONG_TEXT);
	say_assistant(session, "R2 seen. " LONG_TEXT LONG_TEXT LONG_TEXT);
	const char *third = say_user(session, "Third: R3.");
	say_assistant(session, "R3 seen.");
	say_user(session, "Fourth: R4.");
	say_assistant(session, "R4 seen.");
	window.keep_recent = 4;
	assert_string_equal(compact(session, &window, NULL)->cut, third);
	char *request = request_of(session, &window);
	const char *at = strstr(request, "[Summary of earlier conversation]");
	static const char *const order[] = {"Third: R3.", "R3 seen.", "Fourth: R4.", "R4 seen."};
	for (size_t i = 0; i < 4; i++) {
		assert_non_null(at);
		at = strstr(at, order[i]);
	}
	assert_non_null(at);
	assert_lacks(request, "R1 seen. and then");
	free(request);
	bobbin_session_close(session);
}

static void x28_undo_over_a_compaction_and_redo(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(20000);
	struct bobbin_error error;
	struct bobbin_ack ack;
	bobbin_session *session = open_session("main");
	for (int turn = 1; turn <= 6; turn++) {
		say_user(session, "Turn %d. " LONG_TEXT LONG_TEXT, turn);
		say_assistant(session, "Answer %d. " LONG_TEXT LONG_TEXT, turn);
	}
	window.keep_recent = 4;
	assert_string_equal(compact(session, &window, NULL)->cut, "m9");
	char *compacted = request_of(session, &window);
	/* three turns back: the cut is gone from the line */
	assert_int_equal(bobbin_session_rewind(session, "m6", &ack, &error), 0);
	char *request = request_of(session, &window);
	assert_lacks(request, "[Summary of earlier conversation]");
	for (int turn = 1; turn <= 3; turn++) {
		char text[32];
		snprintf(text, sizeof(text), "Turn %d. and", turn);
		assert_contains(request, text);
	}
	assert_lacks(request, "Turn 4.");
	assert_true(is_stale(session));
	free(request);
	/* and forward again */
	assert_int_equal(bobbin_session_rewind(session, "m12", &ack, &error), 0);
	request = request_of(session, &window);
	assert_string_equal(request, compacted);
	free(request);
	free(compacted);
	bobbin_session_close(session);
}

static void x11_few_large_messages_are_compacted(void **state)
{
	(void)state;
	struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
	bobbin_session *session = open_session("main");
	window.window = 200000;
	say_filler(session, 3, 30000); /* six messages */
	const struct compacted *compacted = compact_if_needed(session, &window, NULL);
	assert_false(compacted->done);
	assert_contains(compacted->reason, "nothing"); /* a record of filler is empty: said, not silent */
	say_user(session, "The token is ALPHA-7F3C. Remember it.");
	say_filler(session, 1, 30000);
	say_user(session, "Now?");
	say_assistant(session, "Now.");
	compacted = compact_if_needed(session, &window, NULL);
	assert_true(compacted->done);
	assert_true(compacted->report.messages >= 6);
	assert_true(compacted->report.tokens_after < compacted->report.tokens_before / 2);

	/* a hundred small ones are not */
	bobbin_session *small = open_session("small");
	say_filler(small, 50, 10);
	compacted = compact_if_needed(small, &window, NULL);
	assert_false(compacted->done);
	assert_contains(compacted->reason, "below the trigger");
	bobbin_session_close(small);
	bobbin_session_close(session);
}

static void two_similar_addresses__the_active_one_is_known(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(4000);
	bobbin_session *session = open_session("main");
	say_user(session, "The staging database is at db-a.internal:5432 and the production database is at "
			  "db-b.internal:5432.");
	say_assistant(session, "Noted both.");
	say_user(session, "The active one is db-b.internal:5432.");
	say_assistant(session, "Good.");
	say_filler(session, 10, 150);
	window.keep_recent = 2;
	assert_true(compact(session, &window, NULL)->done);
	char *record = record_of(session);
	assert_contains(record, "staging database is at db-a.internal:5432");
	assert_contains(record, "active one is db-b.internal:5432");
	assert_lacks(record, "active one is db-a");
	assert_int_equal(verify_faults(session), 0);
	free(record);
	bobbin_session_close(session);
}

static void cancelled_plan__is_not_open(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(4000);
	bobbin_session *session = open_session("main");
	say_user(session, "Plan A: migrate the shop to MongoDB. Please write the migration script.");
	say_assistant(session, "I will write it.");
	say_user(session, "Drop plan A, we stay with PostgreSQL because we need joins.");
	say_assistant(session, "Fine, PostgreSQL it is.");
	say_filler(session, 10, 150);
	window.keep_recent = 2;
	assert_true(compact(session, &window, NULL)->done);
	char *record = record_of(session);
	assert_contains(record, "rejected: plan A — because we need joins");
	assert_lacks(record, "- open: Plan A");
	assert_lacks(record, "- open: Please write the migration");
	assert_int_equal(verify_faults(session), 0);
	free(record);
	bobbin_session_close(session);
}

static void rejected_option__its_reason_is_in_every_request(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(4000);
	bobbin_session *session = open_session("main");
	say_user(session, "Which database shall we take?");
	say_assistant(session, "MongoDB would be quick to set up.");
	say_user(session, "No, not MongoDB, because we need joins. Use PostgreSQL 15 instead.");
	say_assistant(session, "PostgreSQL 15 then.");
	for (int round = 0; round < 12; round++) {
		say_filler(session, 4, 150);
		say_user(session, "Should we not take MongoDB after all?");
		compact_if_needed(session, &window, NULL);
		char *request = request_of(session, &window);
		assert_contains(request, "because we need joins");
		free(request);
		say_assistant(session, "You said no to it.");
	}
	assert_true(log_lines("main", "compaction") >= 3);
	assert_int_equal(verify_faults(session), 0);
	bobbin_session_close(session);
}

static void x12_finished_and_open_tasks(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(6000);
	bobbin_session *session = open_session("main");
	say_user(session, "Please write the parser for the order files.");
	say_assistant(session, "I start with it.");
	say_filler(session, 8, 60);
	say_assistant(session, "The parser is finished and all tests pass.");
	say_user(session, "Thanks, the parser is done. Now please translate the manual into French.");
	say_assistant(session, "I begin with chapter one.");
	say_filler(session, 18, 100);
	window.keep_recent = 2;
	assert_true(compact(session, &window, NULL)->done);
	char *record = record_of(session);
	assert_contains(record, "- open: ");
	assert_contains(record, "translate the manual into French");
	assert_lacks(record, "- open: Please write the parser");
	assert_int_equal(verify_faults(session), 0);
	free(record);
	bobbin_session_close(session);
}

static void b12_rules_stay_word_for_word(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(6000);
	bobbin_session *session = open_session("main");
	say_user(session, "Do NOT push to main. Never touch /srv/data. Use at most 3 retries.");
	say_assistant(session, "Understood.");
	say_filler(session, 29, 60);
	char lifted[BOBBIN_MESSAGE_ID_BYTES];
	snprintf(lifted, sizeof(lifted), "%s", say_user(session, "You may push to main now."));
	say_assistant(session, "Good.");
	say_filler(session, 10, 60);
	say_user(session, "Never write to the log table.");
	window.keep_recent = 1;
	assert_true(compact(session, &window, NULL)->done);
	char *record = record_of(session), *request = request_of(session, &window);
	assert_contains(record, "Never touch /srv/data.");
	assert_contains(record, "Use at most 3 retries.");
	assert_contains(record, "Do NOT push to main.");
	char part[BOBBIN_MESSAGE_ID_BYTES + 16];
	snprintf(part, sizeof(part), "lifted (%s)", lifted);
	assert_contains(record, part);
	assert_int_equal(
		count_of(request, "Never write to the log table."), 1); /* in the tail: not doubled */
	assert_int_equal(verify_faults(session), 0);
	free(record);
	free(request);
	bobbin_session_close(session);
}

/* Taken back to before the first message: nothing to do is no error. */
static void a_line_without_messages__nothing_to_do(void **state)
{
	(void)state;
	struct bobbin_window_options window = history_of(8000);
	bobbin_session *session = five_messages("main");
	assert_int_equal(bobbin_session_rewind(session, "", NULL, NULL), 0);
	const struct compacted *compacted = compact(session, &window, NULL);
	assert_false(compacted->done);
	assert_string_equal(compacted->report.reason, "nothing to do: there are no messages");
	bobbin_session_close(session);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_line_without_messages__nothing_to_do),
		TEST(worked_example__two_rounds_and_a_record),
		TEST(five_messages__record_is_the_first_part_of_m04),
		TEST(five_messages__m04_or_what_is_before_it_edited_by_hand),
		TEST(hundred_paths__in_the_record_or_behind_a_pointer),
		TEST(b10_ten_compactions_lose_nothing),
		TEST(compaction_twice__no_call_and_the_same_digest),
		TEST(x17_same_bytes_after_a_restart_without_caches),
		TEST(fork__first_window_equals_its_parents),
		TEST(fork_before_the_cut__inherits_no_record),
		TEST(x14_everything_after_the_cut_stays),
		TEST(x28_undo_over_a_compaction_and_redo),
		TEST(x11_few_large_messages_are_compacted),
		TEST(two_similar_addresses__the_active_one_is_known),
		TEST(cancelled_plan__is_not_open),
		TEST(rejected_option__its_reason_is_in_every_request),
		TEST(x12_finished_and_open_tasks),
		TEST(b12_rules_stay_word_for_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
