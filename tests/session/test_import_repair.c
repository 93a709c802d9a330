/* SPDX-License-Identifier: MIT */
/*
 * Repairing and examining foreign conversations: memory that runs out at each allocation, and real files damaged in seeded ways. After
 * a repair nothing is left to repair, the doctor names no provider that refuses it, and the request in each dialect passes the strict
 * check. A spread of files and damages; with BOBBIN_SOAK all files, twenty each (N= more, SEED= others).
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "session/import_repair.h"
#include "support/fail.h"
#include "talk.h"
#include "transcript/import.h"

/* Everything that a repair mends: a dangling call, an orphan, a second result, an id twice, no arguments that are an object, half
 * a character, a NUL in a string of arguments, a text of white space, a message of nothing, a name and an id that are too long. */
static const char SICK[] =
	"[{\"role\":\"user\",\"content\":\"one \\ud83d\"},"
	"{\"role\":\"assistant\",\"content\":\" \",\"tool_calls\":["
	"{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"git diff\",\"arguments\":\"{\\\"x\\\":\\\"\\\\u0000\\\"}\"}},"
	"{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"x\"}}]},"
	"{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"two\"},"
	"{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"another\"},"
	"{\"role\":\"tool\",\"tool_call_id\":\"z\",\"content\":\"nobody asked\"},"
	"{\"role\":\"assistant\",\"content\":[]},"
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\"well\"}],\"tool_calls\":["
	"{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}},"
	"{\"id\":\"ccccccccccccccccccccccccccccccccccccccccc\",\"type\":\"function\",\"function\":{\"name\":\"look\","
	"\"arguments\":\"[1]\"}}]},"
	"{\"role\":\"user\",\"content\":\"on\"}]";

/* A summary that lost a rule and a path, in Roo's form, with its log of the screen in the user's messages. */
static const char LOST[] =
	"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"<task>\\nNever write to customers yourself. Read /srv/shop/returns.csv\\n"
	"</task>\"},{\"type\":\"text\",\"text\":\"<environment_details>\\n/srv/shop/open-tab-one.ts\\n</environment_details>\"}],\"ts\":1},"
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I read it.\"}],\"ts\":2},"
	"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[read_file for 'x'] Result:\\n\\n/srv/shop/printed.ts\"},{\"type\":"
	"\"text\",\"text\":\"<feedback>\\nSee /srv/shop/second.csv\\n</feedback>\\n<environment_details>\\n/srv/shop/open-tab-two.ts\\n"
	"</environment_details>\"}],\"ts\":3},"
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"**Context:** The returns were read.\"}],\"isSummary\":true,\"ts\":4},"
	"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go on\"}],\"ts\":5}]";

/* ---- Memory ---- */

static void repair__nth_allocation(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct bobbin_error error = {0};
		struct import_repairs repairs;
		struct import import;
		assert_int_equal(import_read("openai-chat", SICK, strlen(SICK), &import, &error), 0);
		struct import_conversation before = import.conversations[0];
		fail_alloc_start(nth);
		int rc = import_repair(&import, &import.conversations[0], &repairs, &error);
		struct fail_alloc_report report = fail_alloc_stop();
		if (rc) {
			assert_int_equal(rc, BOBBIN_ENOMEM);
			assert_memory_equal(&before, &import.conversations[0], sizeof(before));
		} else {
			for (int i = 0; i < REPAIRS; i++)
				if (i != REPAIR_MOVED && i != REPAIR_COPIES && i != REPAIR_SEALED && i != REPAIR_OPENED && !repairs.counts[i])
					fail_msg("allocation %llu: nothing was: %s", (unsigned long long)nth,
						import_repair_text((enum import_repair)i));
		}
		import_release(&import);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			assert_true(nth > 10);
			return;
		}
	}
}

static void examine(const char *text)
{
	for (uint64_t nth = 1;; nth++) {
		struct bobbin_error error = {0};
		bobbin_faults *faults = NULL;
		fail_alloc_start(nth);
		int rc = bobbin_doctor_data(NULL, text, strlen(text), &faults, &error);
		if (rc == 0)
			bobbin_faults_free(faults);
		else
			assert_int_equal(rc, BOBBIN_ENOMEM);
		struct fail_alloc_report report = fail_alloc_stop();
		assert_int_equal(report.live, 0);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			assert_true(nth > 20);
			return;
		}
	}
}

/* Bytes that a repair of so many rounds asks for, all of whose calls have one id. */
static uint64_t bytes_of_repair(unsigned rounds)
{
	struct buffer text = BUFFER_INIT(16 << 20);
	struct bobbin_error error = {0};
	struct import_repairs repairs;
	struct import import;
	buffer_add_text(&text, "[{\"role\":\"user\",\"content\":\"on\"}");
	for (unsigned i = 0; i < rounds; i++)
		buffer_add_text(&text,
			",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":"
			"{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"r\"}");
	buffer_add_text(&text, "]");
	assert_int_equal(buffer_error(&text), 0);
	assert_int_equal(import_read("openai-chat", text.data, text.len, &import, &error), 0);
	fail_alloc_start(0);
	assert_int_equal(import_repair(&import, &import.conversations[0], &repairs, &error), 0);
	struct fail_alloc_report report = fail_alloc_stop();
	assert_int_equal(repairs.counts[REPAIR_RENAMED], rounds - 1);
	import_release(&import);
	buffer_release(&text);
	return report.bytes;
}

static void repair__takes_as_much_for_each_call_with_the_same_id(void **state)
{
	(void)state;
	uint64_t few = bytes_of_repair(500), many = bytes_of_repair(4000);
	if (many > few * 8 * 2) /* eight times as many; tables grow by doubling */
		fail_msg("500 rounds: %llu bytes, 4000: %llu", (unsigned long long)few, (unsigned long long)many);
}

static void doctor__nth_allocation(void **state)
{
	(void)state;
	examine(SICK);
	examine(LOST);
}

/* ---- What a summary lost ---- */

static void lost__what_the_product_added_is_no_loss(void **state)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	unsigned lost = 0;
	(void)state;
	assert_int_equal(bobbin_doctor_data(NULL, LOST, strlen(LOST), &faults, &error), 0);
	for (size_t i = 0; i < bobbin_faults_count(faults); i++) {
		const struct bobbin_fault *fault = bobbin_faults_get(faults, i);
		if (strcmp(fault->kind, "lost") != 0)
			continue;
		assert_null(strstr(fault->message, "open-tab"));
		assert_null(strstr(fault->message, "printed"));
		lost |= strstr(fault->message, "Never write to customers yourself.") ? 1 : 0;
		if (strstr(fault->message, "names, paths and dates")) {
			assert_non_null(strstr(fault->message, "of 2 names, paths and dates that the user wrote it lacks 2"));
			assert_non_null(strstr(fault->message, "/srv/shop/returns.csv, /srv/shop/second.csv"));
			lost |= 2;
		}
	}
	assert_int_equal(lost, 3);
	bobbin_faults_free(faults);
}

/* ---- Damage ---- */

static uint64_t seed;
static size_t tried, damaged, not_read;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static size_t below(size_t limit)
{
	return limit ? (size_t)(next_random() % limit) : 0;
}

struct text {
	char *data;
	size_t len;
};

static void splice(struct text *text, size_t at, size_t gone, const char *with, size_t len)
{
	char *made = malloc(text->len - gone + len + 1);
	assert_non_null(made);
	memcpy(made, text->data, at);
	memcpy(made + at, with, len);
	memcpy(made + at + len, text->data + at + gone, text->len - at - gone);
	free(text->data);
	text->data = made;
	text->len = text->len - gone + len;
}

/* The line, or in a document a stretch up to a comma, that a place lies in. */
static void stretch(const struct text *text, size_t place, size_t *ret_from, size_t *ret_to)
{
	char end = memchr(text->data, '\n', text->len) ? '\n' : ',';
	size_t from = place, to = place;
	while (from && text->data[from - 1] != end)
		from--;
	while (to < text->len && text->data[to] != end)
		to++;
	*ret_from = from;
	*ret_to = to < text->len ? to + 1 : to;
}

/* The inside of a string after a place, behind `"text":"` and the like; the place itself if there is none. */
static size_t inside_string(const struct text *text, size_t place)
{
	const char *found = memmem(text->data + place, text->len - place, "\":\"", 3);
	return found ? (size_t)(found - text->data) + 3 : place;
}

static void damage(struct text *text, unsigned kind)
{
	static const char *const CHARACTERS[] = {"\\u0000", "\\ud83d", "\\ude00", "\\\\u0000", "\xc3", "\xff"};
	static const char *const FOREIGN[] = {"not a line\n", "{\"type\":\"new_kind\",\"x\":1}\n", "\n\n", "null\n"};
	size_t place = below(text->len), from, to, other, other_to;
	stretch(text, place, &from, &to);
	switch (kind % 10) {
	case 0: /* the end is missing */
		splice(text, place, text->len - place, "", 0);
		break;
	case 1: /* a line is missing */
		splice(text, from, to - from, "", 0);
		break;
	case 2: /* two lines are glued */
		if (to > from)
			splice(text, to - 1, 1, "", 0);
		break;
	case 3: /* a line stands twice */
	case 4: { /* … or elsewhere */
		size_t len = to - from;
		char *copy = malloc(len + 1);
		assert_non_null(copy);
		memcpy(copy, text->data + from, len);
		if (kind % 10 == 4)
			splice(text, from, len, "", 0);
		stretch(text, below(text->len), &other, &other_to);
		splice(text, kind % 10 == 4 ? other : to, 0, copy, len);
		free(copy);
		break;
	}
	case 5:
	case 6: /* characters that no parser takes */
		place = inside_string(text, place);
		other = below(sizeof(CHARACTERS) / sizeof(CHARACTERS[0]));
		splice(text, place, 0, CHARACTERS[other], strlen(CHARACTERS[other]));
		break;
	case 7: /* foreign lines */
		splice(text, from, 0, FOREIGN[kind % 4], strlen(FOREIGN[kind % 4]));
		break;
	case 8: { /* an id is another one */
		const char *id = memmem(text->data + place, text->len - place, "id\":\"", 5);
		if (id && (size_t)(id - text->data) + 8 < text->len)
			splice(text, (size_t)(id - text->data) + 5, 2, "no", 2);
		break;
	}
	default: /* a piece out of the middle */
		splice(text, place, below(200) % (text->len - place + 1), "", 0);
	}
}

/* ---- What must hold ---- */

/* Kinds that a request mends, or that are no damage of the line's own making. */
static bool may_stay(const char *kind)
{
	static const char *const KINDS[] = {
		"transcript", "lost", "invented", "image", "server_pair", "repeated_item", "unreadable"};
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (strcmp(KINDS[i], kind) == 0)
			return true;
	return false;
}

static void expect_nothing_refused(const struct import_conversation *conversation, const char *what)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	size_t len = 0;
	for (size_t i = 0; i < conversation->record_count; i++)
		len += conversation->records[i].len + 1;
	char *text = malloc(len + 1), *end = text;
	assert_non_null(text);
	for (size_t i = 0; i < conversation->record_count; i++) {
		for (size_t at = 0; at < conversation->records[i].len; at++) { /* white space of documents that were printed */
			char c = conversation->records[i].data[at];
			*end++ = c == '\n' || c == '\r' ? ' ' : c;
		}
		*end++ = '\n';
	}
	if (len && bobbin_doctor_data("bobbin", text, len, &faults, &error) == 0) {
		for (size_t i = 0; i < bobbin_faults_count(faults); i++) {
			const struct bobbin_fault *fault = bobbin_faults_get(faults, i);
			if (!may_stay(fault->kind))
				fail_msg("%s: after the repair: %s %s: %s: %s", what, fault->kind, fault->where, fault->message, fault->advice);
		}
		bobbin_faults_free(faults);
	}
	free(text);
}

static void expect_requests(const char *id, const char *what)
{
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	bobbin_session *session = open_session(id);
	struct bobbin_error error = {0};
	bobbin_plan *plan;
	options.window = bobbin_session_info(session)->tokens * 2 + 1000;
	options.output_reserve = 0;
	options.margin = 0;
	options.byte_limit = 30 << 20;
	if (bobbin_plan_make(session, &options, &plan, &error) == 0) {
		for (const char *const *dialect = bobbin_dialects(); *dialect; dialect++) {
			bobbin_faults *faults;
			char *body;
			size_t len;
			if (bobbin_plan_request(plan, *dialect, &body, &len, &error) < 0)
				fail_msg("%s: %s: %s", what, *dialect, error.message);
			assert_int_equal(bobbin_check(*dialect, body, len, &faults, &error), 0);
			if (bobbin_faults_count(faults))
				fail_msg("%s: %s: %s: %s", what, *dialect, bobbin_faults_get(faults, 0)->where,
					bobbin_faults_get(faults, 0)->message);
			bobbin_faults_free(faults);
			bobbin_free(body);
		}
		bobbin_plan_free(plan);
	} else if (error.code != BOBBIN_EBUDGET) {
		fail_msg("%s: %s", what, error.message);
	}
	bobbin_session_close(session);
}

static void expect_stored(const char *format, const struct text *text, const char *what)
{
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	struct bobbin_error error = {0};
	bobbin_import *import;
	options.repair = 1;
	options.format = format;
	if (bobbin_import_data(store, text->data, text->len, &options, &import, &error) < 0)
		fail_msg("%s: %s", what, error.message);
	for (size_t i = 0; i < bobbin_import_count(import); i++) {
		if (i < 2)
			expect_requests(bobbin_import_get(import, i)->id, what);
		assert_int_equal(bobbin_session_delete(store, bobbin_import_get(import, i)->id, &error), 0);
	}
	bobbin_import_free(import);
}

static void try_damaged(const char *format, const struct text *text, const char *what)
{
	struct bobbin_error error = {0};
	struct import import;
	int rc = import_read(format, text->data, text->len, &import, &error);
	damaged++;
	if (rc == BOBBIN_EINPUT || rc == BOBBIN_EUNSUPPORTED || rc == BOBBIN_ELIMIT) {
		not_read++;
		import_release(&import);
		return;
	}
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < import.conversation_count && i < 4; i++) {
		struct import_repairs repairs;
		assert_int_equal(import_repair(&import, &import.conversations[i], &repairs, &error), 0);
		assert_int_equal(import_repair(&import, &import.conversations[i], &repairs, &error), 0);
		for (int kind = 0; kind < REPAIRS; kind++)
			if (repairs.counts[kind])
				fail_msg("%s: the second repair of conversation %zu: %llu %s, first %zu", what, i,
					(unsigned long long)repairs.counts[kind], import_repair_text((enum import_repair)kind),
					repairs.first[kind]);
		expect_nothing_refused(&import.conversations[i], what);
	}
	import_release(&import);
	expect_stored(format, text, what);
}

static void try_file(const char *folder, const char *name, const char *format)
{
	size_t len, damages = getenv("BOBBIN_SOAK") ? (size_t)strtoul(getenv("N") ? getenv("N") : "20", NULL, 10) : 3;
	char *data = scratch_read(folder, name, &len);
	char what[600];
	assert_non_null(data);
	const char *only = getenv("ONLY"); /* with the SEED of a failure: that damage to that file first, which is written to $TMPDIR/damaged */
	if (only ? strcmp(only, name) == 0 : getenv("BOBBIN_SOAK") || len < 150000) {
		tried++;
		for (size_t i = only != NULL; i < damages + 1; i++) {
			struct text text = {malloc(len + 1), len};
			uint64_t began = seed;
			assert_non_null(text.data);
			memcpy(text.data, data, len);
			unsigned kind = (unsigned)below(1000);
			if (i)
				damage(&text, kind);
			if (only)
				scratch_write(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", "damaged", text.data, text.len);
			snprintf(what, sizeof(what), "%s, damage %u, SEED=%llu", name, i ? kind % 10 : 99, (unsigned long long)began);
			try_damaged(format, &text, what);
			free(text.data);
		}
	}
	free(data);
}

static void damaged_files__are_repaired(void **state)
{
	static const char *const FOLDERS[][2] = {{"claude-code", "claude-code"}, {"codex", "codex"}, {"pi", "pi"},
		{"openai-chat", "openai-chat"}, {"openai-responses", "openai-responses"}, {"anthropic-messages", "anthropic-messages"},
		{"opencode", "opencode"}, {"gemini-cli", "gemini-cli"}, {"copilot-cli", "copilot-cli"}, {"swe-agent", "swe-agent"},
		{"mini-swe-agent", "mini-swe-agent"}, {"openhands", "openhands"}, {"aider", "aider"}, {"letta-af", "letta"},
		{"langchain", "langchain"}, {"sharegpt", "sharegpt"}, {"tree", "tree"}, {"locomo", "locomo"},
		{"longmemeval", "longmemeval"}};
	const char *root = getenv("BOBBIN_TRANSCRIPTS");
	(void)state;
	seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 20260302;
	if (!root) {
		print_message("skipped: BOBBIN_TRANSCRIPTS is not set\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
		char folder[SCRATCH_PATH_BYTES];
		snprintf(folder, sizeof(folder), "%s/%s", root, FOLDERS[i][0]);
		DIR *dir = opendir(folder);
		for (struct dirent *entry; dir && (entry = readdir(dir));)
			if (entry->d_name[0] != '.')
				try_file(folder, entry->d_name, FOLDERS[i][1]);
		if (dir)
			closedir(dir);
	}
	if (getenv("ONLY"))
		return;
	print_message("%zu files, %zu times damaged or whole, %zu of them could not be read\n", tried, damaged, not_read);
	assert_true(tried >= 10);
	assert_true(not_read < damaged / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repair__nth_allocation),
		cmocka_unit_test(repair__takes_as_much_for_each_call_with_the_same_id),
		cmocka_unit_test(doctor__nth_allocation),
		cmocka_unit_test(lost__what_the_product_added_is_no_loss),
		cmocka_unit_test_setup_teardown(damaged_files__are_repaired, store_setup, store_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
