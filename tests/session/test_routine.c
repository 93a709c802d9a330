/* SPDX-License-Identifier: MIT */
/* What a run is told of the runs before it: which words are left out, how long it may be, and what is left when memory is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "base/utf8.h"
#include "session/excerpt.h"
#include "support/fail.h"
#include "talk.h"

static struct bobbin_error error;

static void openings__are_left_out_and_results_are_not(void **state)
{
	(void)state;
	static const struct {
		const char *text, *rest;
	} cases[] = {
		{"On it.", ""}, {"On it!", ""}, {"ON IT…", ""}, {"  On it.\n\n", ""},
		{"On it.\n\nThree letters, two newsletters.", "Three letters, two newsletters."},
		{"On it. Three letters.", "Three letters."}, /* on the same line */
		{"Sure, working on it …\nDone: 4 mails.", "Done: 4 mails."},
		{"Sure! I'll check the mails.\nNothing new.", "Nothing new."},
		{"Okay, let me look at the inbox.\n\nTwo bills.", "Two bills."},
		{"I\xe2\x80\x99ll sort them now. All sorted.", "All sorted."},
		{"Got it. On it. Right away!\nNo mail.", "No mail."},
		{"Let me check the calendar:\n- Monday: dentist", "- Monday: dentist"},
		{"Okay, three letters and two newsletters.", "Okay, three letters and two newsletters."},
		{"Okay, 3 letters are sorted now.", "Okay, 3 letters are sorted now."},
		{"Sure enough, the backup failed.", "Sure enough, the backup failed."},
		{"On its own the disk is fine.", "On its own the disk is fine."},
		{"Starting with the letters: the bank wrote, the school wrote, and the landlord wants his money by Friday.",
			"Starting with the letters: the bank wrote, the school wrote, and the landlord wants his money by Friday."},
		{"Understood.", ""}, {"Will do.", ""}, {"", ""}, {"…", ""},
		{"Illness reported by two people.", "Illness reported by two people."},
		{"邮件已整理。", "邮件已整理。"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slice rest = excerpt_without_opening(slice_of(cases[i].text));
		if (rest.len != strlen(cases[i].rest) || memcmp(rest.data, cases[i].rest, rest.len) != 0)
			fail_msg("\"%s\" leaves \"%.*s\"", cases[i].text, (int)rest.len, rest.data);
	}
}

static uint64_t count(struct token_counter *counter, const char *text, size_t len)
{
	uint64_t tokens;
	assert_int_equal(token_counter_count(counter, text, len, &tokens), 0);
	return tokens;
}

/* Never more than so many tokens and the mark of a cut, whatever the script, and always whole characters. */
static void excerpts__within_their_tokens_in_every_script(void **state)
{
	(void)state;
	static const char *const words[] = {"letter ", "Grüße ", "邮件已经整理好了", "メールを整理", "🙂🏳️‍🌈", "x", "0x7f3a91c ", "مرحبا ", "ก็", "\n\t  a"};
	static const char *const models[] = {"", "gpt-4o", "gpt-4"};
	for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++)
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
			for (uint64_t max = 1; max <= 400; max = max * 2 + 1) {
				struct buffer text = BUFFER_INIT(1 << 20), out = BUFFER_INIT(1 << 20);
				struct token_counter counter;
				token_counter_for_model(models[m], &counter);
				for (int i = 0; i < 3000; i++)
					buffer_add_text(&text, words[w]);
				assert_int_equal(excerpt_add(&out, buffer_slice(&text), &counter, max), 0);
				assert_int_equal(buffer_error(&out), 0);
				struct slice got = buffer_slice(&out);
				assert_true(got.len >= 4 && memcmp(got.data + got.len - 4, " …", 4) == 0);
				assert_true(got.len == 4 || count(&counter, got.data, got.len - 4) <= max);
				assert_true(max < 30 || got.len > 4);
				assert_int_equal(utf8_valid_prefix(got.data, got.len), got.len);
				assert_null(memchr(got.data, '\n', got.len));
				token_counter_release(&counter);
				buffer_release(&text);
				buffer_release(&out);
			}
}

static void add(struct buffer *log, const char *role, const char *piece, int times)
{
	buffer_addf(log, "{\"role\":\"%s\",\"content\":\"", role);
	for (int i = 0; i < times; i++)
		buffer_add_text(log, piece);
	buffer_add_text(log, "\"}\n");
}

/* Runs of a routine, each with a long answer and six remarks, in a log by hand; `begun`: and one that has just begun. */
static bobbin_session *make_runs(const char *id, const char *piece, int runs, int times, bool begun)
{
	struct buffer log = BUFFER_INIT(64 << 20);
	char name[64];
	for (int run = 0; run < runs + begun; run++) {
		buffer_addf(&log, "{\"type\":\"run\",\"run\":\"r%d\",\"routine\":\"digest\"}\n", run);
		add(&log, "user", "go", 1);
		if (run == runs)
			break;
		add(&log, "assistant", piece, times);
		for (int i = 0; i < 6; i++) {
			add(&log, "user", piece, times);
			add(&log, "assistant", "noted", 1);
		}
	}
	buffer_add(&log, "", 1);
	snprintf(name, sizeof(name), "store/%s.jsonl", id);
	scratch_write_text(scratch_dir, name, log.data);
	assert_int_equal(chmod(scratch_path(scratch_dir, name), 0600), 0);
	buffer_release(&log);
	return open_session(id);
}

static void digest__at_most_1500_tokens_in_every_script(void **state)
{
	(void)state;
	static const char *const pieces[] = {"Letters were sorted and put away. ", "邮件已经整理好了。", "🙂🏳️‍🌈", "0x7f3a91c;", "ок, понял; "};
	struct token_counter counter;
	token_counter_for_model("", &counter);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		char id[16], *text;
		size_t len;
		snprintf(id, sizeof(id), "s%zu", i);
		bobbin_session *session = make_runs(id, pieces[i], 5, 800, false);
		assert_int_equal(bobbin_routine_digest(session, "digest", &text, &len, &error), 0);
		uint64_t tokens = count(&counter, text, len);
		assert_in_range(tokens, 500, 1500); /* and it is used */
		unsigned runs = 0, said = 0;
		for (const char *at = text; (at = strstr(at, "\n- run r")); at++)
			runs++;
		for (const char *at = text; (at = strstr(at, "then the user said: ")); at++)
			said++;
		assert_int_equal(runs, 3);
		assert_int_equal(said, 12);
		assert_null(strstr(text, "- run r1"));
		bobbin_free(text);
		bobbin_session_close(session);
	}
	token_counter_release(&counter);
}

/* In a small window it is a sixteenth of it, and the newest run is the last to go. */
static void digest__within_a_sixteenth_of_the_window(void **state)
{
	(void)state;
	bobbin_session *session = make_runs("small", "Letters were sorted and put away. ", 4, 300, true);
	static const uint64_t windows[] = {128000, 16000, 8000, 4000, 2000};
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		struct bobbin_window_options window = BOBBIN_WINDOW_OPTIONS_INIT;
		bobbin_plan *plan;
		const struct bobbin_part *part = NULL;
		window.window = windows[i];
		assert_int_equal(bobbin_plan_make(session, &window, &plan, &error), 0);
		for (size_t at = 0; bobbin_plan_part(plan, at); at++)
			if (strcmp(bobbin_plan_part(plan, at)->source, "earlier runs of the routine") == 0)
				part = bobbin_plan_part(plan, at);
		assert_non_null(part);
		/* The notes' own words come to some 60 tokens. */
		assert_in_range(part->tokens, 1, (windows[i] / 16 < 1500 ? windows[i] / 16 : 1500) + 70);
		bobbin_plan_free(plan);
	}
	bobbin_session_close(session);
}

static void failures__every_allocation_of_a_digest(void **state)
{
	(void)state;
	bobbin_session *session = make_runs("fails", "On it.\\n\\nLetters were sorted. ", 3, 20, false);
	char *right, *text;
	size_t right_len, len;
	assert_int_equal(bobbin_routine_digest(session, "digest", &right, &right_len, &error), 0);
	for (uint64_t nth = 1;; nth++) {
		text = NULL;
		fail_alloc_start(nth);
		int rc = bobbin_routine_digest(session, "digest", &text, &len, &error);
		if (rc == 0) {
			assert_int_equal(len, right_len);
			assert_string_equal(text, right);
			bobbin_free(text);
		}
		struct fail_alloc_report report = fail_alloc_stop();
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_true(rc == 0 || rc == BOBBIN_ENOMEM);
		assert_true(rc == 0 || !text);
	}
	bobbin_free(right);
	bobbin_session_close(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openings__are_left_out_and_results_are_not),
		cmocka_unit_test(excerpts__within_their_tokens_in_every_script),
		cmocka_unit_test_setup_teardown(digest__at_most_1500_tokens_in_every_script, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(digest__within_a_sixteenth_of_the_window, store_setup, store_teardown),
		cmocka_unit_test_setup_teardown(failures__every_allocation_of_a_digest, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
