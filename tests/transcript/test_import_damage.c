/* SPDX-License-Identifier: MIT */
/* Damaged, foreign and huge input, memory running out, and which reader a file gets. */
#include "transcript/imported.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "support/fail.h"

static const char CLAUDE[] =
	"{\"type\":\"summary\",\"summary\":\"T\",\"leafUuid\":\"u\"}\n"
	"{\"parentUuid\":null,\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":"
	"\"text\",\"text\":"
	"\"<system-reminder>x</"
	"system-reminder>\"},{\"type\":\"text\",\"text\":\"\\u00e9\xc3\xa9\"}]},\"uuid\":\"u\"}\n"
	"{\"parentUuid\":\"u\",\"type\":\"progress\",\"uuid\":\"p\"}\n"
	"{\"parentUuid\":\"p\",\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"role\":\"assistant\","
	"\"content\":[{\"type\":"
	"\"tool_use\",\"id\":\"c1\",\"name\":\"ls\",\"input\":{\"a\":[1]}}]},\"uuid\":\"a\"}\n"
	"{\"parentUuid\":\"a\",\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"role\":\"assistant\","
	"\"content\":[{\"type\":"
	"\"tool_use\",\"id\":\"c2\",\"name\":\"ls\",\"input\":{}}]},\"uuid\":\"b\"}\n"
	"{\"parentUuid\":\"a\",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":"
	"\"tool_result\","
	"\"tool_use_id\":\"c1\",\"content\":\"one\"}]},\"uuid\":\"r\",\"toolUseResult\":{\"o\":\"one\"}}\n"
	"{\"parentUuid\":null,\"isSidechain\":true,\"type\":\"user\",\"message\":{\"role\":\"user\","
	"\"content\":\"s\"},\"uuid\":\"s\"}"
	"{\"parentUuid\":\"u\",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"edit\"},"
	"\"uuid\":\"e\"}\n";

static const char PI[] = "{\"type\":\"session\",\"id\":\"s1\",\"cwd\":\"/x\"}\n"
			 "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"
			 "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":"
			 "\"toolCall\",\"id\":\"c1\","
			 "\"name\":\"ls\",\"arguments\":{}}]}}{\"type\":\"thinking_level_change\"}\n"
			 "{\"type\":\"message\",\"message\":{\"role\":\"bashExecution\",\"command\":\"ls\","
			 "\"output\":\"x\"}}\n"
			 "{\"type\":\"message\",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"c1\","
			 "\"content\":[{\"type\":\"image\","
			 "\"data\":\"AA\",\"mimeType\":\"image/png\"}]}}\n"
			 "{\"type\":\"compaction\",\"summary\":\"so far\"}\n";

static const char CHAT[] = "[{\"task_id\":1,\"traj\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":"
			   "\"user\",\"content\":\"hi\"},\n"
			   "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":"
			   "\"function\",\"function\":"
			   "{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
			   "\"c\",\"content\":\"x\"}]},\n"
			   "{\"task_id\":2,\"traj\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
			   "\"text\":\"ho\"}],\"name\":\"ana\"}]}]";

static const char LOG[] = "{\"type\":\"session\",\"id\":\"s\",\"v\":1}\n"
			  "{\"seq\":1,\"role\":\"user\",\"content\":\"hi\"}\n"
			  "{\"seq\":2,\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":"
			  "\"c\",\"name\":\"f\",\"input\":{}}]}\n"
			  "{\"seq\":3,\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\"}\n"
			  "{\"seq\":4,\"type\":\"rewind\",\"to\":\"m1\"}\n"
			  "{\"seq\":5,\"role\":\"assistant\",\"content\":\"other\"}\n";

static const struct {
	const char *format, *text;
	uint64_t messages, calls, results;
} SAMPLES[] = {
	{"claude-code", CLAUDE, 6, 2, 1},
	{"pi", PI, 5, 1, 1},
	{"openai-chat", CHAT, 4, 1, 1},
	{"bobbin", LOG, 4, 1, 1},
};

#define SAMPLE_COUNT (sizeof(SAMPLES) / sizeof(SAMPLES[0]))

/* A store refuses a record in which a key stands twice; the file must not be lost for it. Deeper ones are the tools' affair. */
static void key_twice__the_last_one_counts(void **state)
{
	static const char TEXT[] = "[{\"role\":\"user\",\"content\":\"one\",\"content\":\"two\"},"
				   "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"t\\u0065xt\":\"b\"},"
				   "{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{\"x\":{\"deep\":{\"k\":1,\"k\":2}}}}]},"
				   "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"}]}]";
	struct import import;
	(void)state;
	import_text(&import, "anthropic-messages", TEXT);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"two\"}");
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"b\"},{\"type\":\"tool_use\",\"id\":\"c\","
		"\"name\":\"f\",\"input\":{\"x\":{\"deep\":{\"k\":1,\"k\":2}}}}]}");
	assert_true(has_warning(&import, 0, "a key that stands twice: the last one counts"));
	import_release(&import);
}

static uint64_t total(const struct import *import)
{
	uint64_t messages = 0;
	for (size_t i = 0; i < import->conversation_count; i++)
		messages += import->conversations[i].messages;
	return messages;
}

static void whole_samples__are_recognised_and_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct import import;
		import_text(&import, NULL, SAMPLES[i].text);
		assert_string_equal(import.format, SAMPLES[i].format);
		assert_int_equal(total(&import), SAMPLES[i].messages);
		assert_int_equal(import.conversations[0].calls, SAMPLES[i].calls);
		assert_int_equal(import.conversations[0].results, SAMPLES[i].results);
		import_release(&import);
	}
}

/* Reads a copy that ends where it ends, so that a sanitizer sees every byte too many. */
static int read_exactly(const char *format, const char *text, size_t len, uint64_t *ret_messages)
{
	struct bobbin_error error = {0};
	struct import import;
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	int rc = import_read(format, copy, len, &import, &error);
	assert_true(rc == 0 || rc == BOBBIN_EINPUT || rc == BOBBIN_EUNSUPPORTED);
	if (rc)
		assert_true(error.code == rc && error.message[0] != '\0' && error.line >= 1 &&
			    error.offset <= len);
	*ret_messages = rc ? 0 : total(&import);
	for (size_t i = 0; i < import.warning_count; i++)
		assert_true(import.warnings[i].offset <= len);
	import_release(&import);
	free(copy);
	return rc;
}

static void cut_at_every_byte__earlier_messages_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		uint64_t before = 0, messages = 0;
		size_t len = strlen(SAMPLES[i].text);
		for (size_t cut = 0; cut <= len; cut++) {
			read_exactly(SAMPLES[i].format, SAMPLES[i].text, cut, &messages);
			if (messages < before) fail_msg("%s cut at %zu: %d then %d", SAMPLES[i].format, cut, (int)before, (int)messages);
			before = messages;
			read_exactly(NULL, SAMPLES[i].text, cut, &messages);
		}
		assert_int_equal(before, SAMPLES[i].messages);
	}
}

static void every_byte_changed__never_crashes(void **state)
{
	static const char BYTES[] = {'\0', '"', '{', '}', '\\', '\n', (char)0xff};
	(void)state;

	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		size_t len = strlen(SAMPLES[i].text);
		char *text = malloc(len);
		uint64_t messages;
		assert_non_null(text);
		for (size_t at = 0; at < len; at++) {
			memcpy(text, SAMPLES[i].text, len);
			text[at] = BYTES[at % sizeof(BYTES)];
			read_exactly(SAMPLES[i].format, text, len, &messages);
		}
		free(text);
	}
}

static void broken_lines_in_the_middle__are_reported_and_the_rest_is_read(void **state)
{
	static const char HEAD[] = "{\"type\":\"session\",\"id\":\"s\",\"v\":1}\n{\"seq\":1,\"role\":"
				   "\"user\",\"content\":\"a\"}\n";
	static const char TORN[] =
		"{\"seq\":2,\"role\":\"user\",\"cont{\"seq\":3,\"role\":\"user\",\"content\":\"c\"}\n";
	static const char LATIN[] = "{\"seq\":4,\"role\":\"user\",\"content\":\"\xe9\"}\n";
	static const char TAIL[] = "{\"seq\":5,\"role\":\"user\",\"content\":\"e\"}\n";
	struct buffer text = BUFFER_INIT(1 << 16);
	struct import import;
	char nuls[512] = {0};
	(void)state;

	buffer_add_text(&text, HEAD);
	buffer_add(&text, nuls, sizeof(nuls));
	buffer_add_text(&text, "\n");
	buffer_add_text(&text, TORN);
	buffer_add_text(&text, LATIN);
	buffer_add_text(&text, TAIL);
	assert_int_equal(import_read(NULL, text.data, text.len, &import, NULL), 0);
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 1, "{\"role\":\"user\",\"content\":\"c\"}"); /* glued behind the torn one */
	expect_record(&import, 2, "{\"role\":\"user\",\"content\":\"e\"}");
	assert_true(has_warning(&import, 3, "not a whole JSON record"));
	assert_true(has_warning(&import, 4, "not a whole JSON record"));
	assert_true(has_warning(&import, 5, "not a whole JSON record"));
	assert_int_equal(import.warnings[0].offset, sizeof(HEAD) - 1);
	import_release(&import);
	buffer_release(&text);
}

static void expect_refusal(
	const char *format, const char *text, size_t len, int code, uint64_t line, uint64_t offset)
{
	struct bobbin_error error = {0};
	struct import import;

	assert_int_equal(import_read(format, text, len, &import, &error), code);
	assert_int_equal(error.code, code);
	assert_int_equal(error.line, line);
	assert_int_equal(error.offset, offset);
	assert_true(error.message[0] != '\0');
	import_release(&import);
}

static void empty_binary_and_foreign_files__are_refused_with_their_place(void **state)
{
	static const char PNG[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	(void)state;

	expect_refusal(NULL, "", 0, BOBBIN_EINPUT, 1, 0);
	expect_refusal(NULL, " \n\n", 3, BOBBIN_EINPUT, 1, 0);
	expect_refusal("pi", "", 0, BOBBIN_EINPUT, 1, 0);
	expect_refusal(NULL, PNG, sizeof(PNG) - 1, BOBBIN_EINPUT, 1, 0);
	expect_refusal("claude-code", PNG, sizeof(PNG) - 1, BOBBIN_EINPUT, 1, 0);
	expect_refusal(NULL, "# aider chat\n", 13, BOBBIN_EINPUT, 1, 0);
	expect_refusal(NULL, "{\"a\":1}\n", 8, BOBBIN_EUNSUPPORTED, 1, 0);
	expect_refusal(NULL, "[1,2]", 5, BOBBIN_EUNSUPPORTED, 1, 0);
	expect_refusal("pi", "{\"a\":1}\n", 8, BOBBIN_EINPUT, 1, 0);
	expect_refusal("openai-chat", "{\n \"messages\": [\n  {]\n", 22, BOBBIN_EINPUT, 3, 20);
	expect_refusal("no-such", "{}", 2, BOBBIN_EUNSUPPORTED, 0, 0);
}

static void line_of_twelve_megabytes__is_one_message(void **state)
{
	struct buffer text = BUFFER_INIT(32u << 20);
	struct import import;
	(void)state;

	buffer_add_text(&text, "{\"seq\":1,\"role\":\"user\",\"content\":\"");
	size_t start = text.len;
	char *room = buffer_reserve(&text, 12u << 20);
	assert_non_null(room);
	memset(room, 'x', 12u << 20);
	text.len += 12u << 20;
	buffer_add_text(&text, "\"}\n");
	assert_int_equal(import_read(NULL, text.data, text.len, &import, NULL), 0);
	expect_counts(&import, 1, 0, 0, 0);
	assert_true(import.conversations[0].records[0].len > text.len - start);
	import_release(&import);
	buffer_release(&text);
}

static void message_nested_to_the_limit__is_refused_because_its_record_would_pass_it(void **state)
{
	struct buffer text = BUFFER_INIT(1 << 16);
	(void)state;

	/* 512 levels in all; under "src" they would be 513. */
	buffer_add_text(&text, "{\"parentUuid\":null,\"uuid\":\"u\",\"type\":\"user\",\"message\":{\"role\":"
			       "\"user\",\"x\":");
	for (int i = 0; i < LIMIT_JSON_DEPTH - 2; i++)
		buffer_add_char(&text, '[');
	for (int i = 0; i < LIMIT_JSON_DEPTH - 2; i++)
		buffer_add_char(&text, ']');
	buffer_add_text(&text, ",\"content\":\"hi\"}}\n");
	expect_refusal("claude-code", text.data, text.len, BOBBIN_ELIMIT, 0, 0);
	buffer_release(&text);
}

static void warnings__are_kept_up_to_a_limit_and_counted(void **state)
{
	struct buffer text = BUFFER_INIT(1 << 20);
	struct import import;
	(void)state;

	buffer_add_text(&text, "{\"seq\":1,\"role\":\"user\",\"content\":\"x\"}\n");
	for (int i = 0; i < LIMIT_FAULTS_REPORTED + 5; i++)
		buffer_add_text(&text, "{broken\n");
	assert_int_equal(import_read(NULL, text.data, text.len, &import, NULL), 0);
	assert_int_equal(import.warning_count, LIMIT_FAULTS_REPORTED);
	assert_int_equal(import.warnings_total, LIMIT_FAULTS_REPORTED + 5);
	import_release(&import);
	buffer_release(&text);
}

static void expect_tallies(const struct import *import, const char *expected)
{
	struct buffer out = BUFFER_INIT(4096);
	for (size_t i = 0; i < import->tally_count; i++)
		buffer_addf(&out, "%s: %llu %s\n", import->tallies[i].kind, (unsigned long long)import->tallies[i].count,
			import->tallies[i].what);
	buffer_add_char(&out, '\0');
	assert_int_equal(buffer_error(&out), 0);
	assert_string_equal(out.data, expected);
	buffer_release(&out);
}

static void damage__is_counted_by_kind_beyond_the_limit_of_warnings(void **state)
{
	static const char LINES[] =
		"{\"seq\":1,\"role\":\"user\",\"content\":\"a\"}{\"seq\":2,\"role\":\"user\",\"content\":\"b\"}\n"
		"\0\0\0{\"seq\":3,\"role\":\"user\",\"content\":\"c\"}\n"
		"{\"seq\":4,\"role\":\"user\",\"content\":\"\xe2\x82\"}\n"
		"{\"seq\":5,\"role\":\"user\",\"content\":\"e\",\"content\":\"f\"}\n"
		"panic: no\n"
		"{\"seq\":6,\"type\":\"usage\"}\n";
	static const char DOCUMENT[] = "warning: x\n[{\"role\":\"user\",\"content\":\"a\"},\n {\"role\":\"user\",\"content\":\"\x01\"},\n"
				       " {\"role\":\"user\",\"content\":\"b\"},\n {\"role\":\"user\",\"content\":\"\0\0\0\0\"},\n"
				       " {\"role\":\"user\",\"content\":\"c\"},\n {\"role\":\"us";
	struct buffer text = BUFFER_INIT(1 << 20);
	struct import import;
	(void)state;

	buffer_add(&text, LINES, sizeof(LINES) - 1);
	for (int i = 0; i < LIMIT_FAULTS_REPORTED + 5; i++)
		buffer_add_text(&text, "{\"seq\":7,\n");
	assert_int_equal(import_read("bobbin", text.data, text.len, &import, NULL), 0);
	assert_int_equal(import.conversations[0].messages, 4);
	assert_int_equal(LIMIT_FAULTS_REPORTED, 1000);
	expect_tallies(&import, "torn: 1005 torn lines\nnuls: 1 place with NULs\nhalf_character: 1 half character\n"
				"foreign: 1 line of something else\nglued: 1 line with several records\n"
				"key_twice: 1 message with a key twice\n"
				"left_out: 1 record that is no message (usage, compaction and the like)\n");
	import_release(&import);
	assert_int_equal(import_read("openai-chat", DOCUMENT, sizeof(DOCUMENT) - 1, &import, NULL), 0);
	assert_int_equal(import.conversations[0].messages, 3);
	expect_tallies(&import, "nuls: 1 place with NULs\nhole: 1 damaged place in the document\nbroken_off: 1 lost end\n"
				"around: 1 piece of text around the document\n");
	import_release(&import);
	buffer_release(&text);
}

/* Everything an import says, as text. */
static void tell(const struct import *import, struct buffer *out)
{
	buffer_clear(out);
	for (size_t i = 0; i < import->conversation_count; i++) {
		const struct import_conversation *conversation = &import->conversations[i];
		buffer_addf(out, "%.*s|%.*s|%zd\n", (int)conversation->foreign_id.len,
			conversation->foreign_id.data ? conversation->foreign_id.data : "", (int)conversation->title.len,
			conversation->title.data ? conversation->title.data : "", (ssize_t)conversation->head);
		for (size_t k = 0; k < conversation->record_count; k++) {
			buffer_add_slice(out, conversation->records[k]);
			buffer_add_char(out, '\n');
		}
	}
	for (size_t i = 0; i < import->warning_count; i++)
		buffer_addf(out, "%llu %llu %s\n", (unsigned long long)import->warnings[i].line,
			(unsigned long long)import->warnings[i].offset, import->warnings[i].message);
}

/* Each allocation fails once: an error, or all that the undisturbed import gives. */
static void expect_no_memory_no_loss(const char *name, const char *format, const char *text, size_t len)
{
	struct buffer right = BUFFER_INIT(1 << 24), got = BUFFER_INIT(1 << 24);
	struct import import;

	if (import_read(format, text, len, &import, NULL) < 0) {
		import_release(&import);
		return;
	}
	tell(&import, &right);
	import_release(&import);
	for (uint64_t nth = 1;; nth++) {
		struct bobbin_error error = {0};
		fail_alloc_start(nth);
		int rc = import_read(format, text, len, &import, &error);
		struct fail_alloc_report report = fail_alloc_stop();
		if (rc == 0)
			tell(&import, &got);
		bool same = rc != 0 || (got.len == right.len && memcmp(got.data, right.data, got.len) == 0);
		import_release(&import);
		if (!same)
			fail_msg("%s (%s): allocation %llu failed, and this was made of it:\n%s\nright is:\n%s", name,
				format ? format : "recognised", (unsigned long long)nth, got.data, right.data);
		if (!report.failed) {
			assert_int_equal(rc, 0);
			break;
		}
		if (rc && rc != BOBBIN_ENOMEM)
			fail_msg("%s (%s): allocation %llu failed: %d, %s", name, format ? format : "recognised",
				(unsigned long long)nth, rc, error.message);
	}
	buffer_release(&right);
	buffer_release(&got);
}

static void memory_running_out__leaks_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		for (uint64_t nth = 1;; nth++) {
			struct import import;
			fail_alloc_start(nth);
			import_read(NULL, SAMPLES[i].text, strlen(SAMPLES[i].text), &import, NULL);
			import_release(&import);
			struct fail_alloc_report report = fail_alloc_stop();
			assert_int_equal(report.live, 0);
			if (!report.failed)
				break;
		}
	}
}

/* It lives for ever; NULL: it is not told by what is in the text. */
static const char *format_of(const char *text, size_t len)
{
	struct import import;
	const char *format = import_read(NULL, text, len, &import, NULL) == 0 ? import.format : NULL;
	import_release(&import);
	return format;
}

/* A sample of each format and each of its spellings, whole and damaged. */
static void memory_running_out__is_an_error_and_never_loses_a_message(void **state)
{
	const char *source = getenv("BOBBIN_SOURCE");
	char path[4096];
	struct dirent *entry;
	size_t samples = 0;
	(void)state;

	for (size_t i = 0; i < SAMPLE_COUNT; i++)
		expect_no_memory_no_loss(SAMPLES[i].format, NULL, SAMPLES[i].text, strlen(SAMPLES[i].text));
	snprintf(path, sizeof(path), "%s/fuzz/corpus/import", source ? source : ".");
	DIR *folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char text[1 << 16];
		snprintf(path, sizeof(path), "%s/fuzz/corpus/import/%s", source ? source : ".", entry->d_name);
		FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "rb");
		if (!file)
			continue;
		size_t len = fread(text, 1, sizeof(text), file);
		fclose(file);
		expect_no_memory_no_loss(entry->d_name, NULL, text, len);
		expect_no_memory_no_loss(entry->d_name, NULL, text, len * 3 / 4);
		expect_no_memory_no_loss(entry->d_name, format_of(text, len), text + len / 4, len - len / 4);
		samples++;
	}
	closedir(folder);
	assert_true(samples > 20);
}

static void json_that_is_no_transcript__is_refused(void **state)
{
	static const char *const FOREIGN[] = {
		"{\"log\":{\"version\":\"1.2\",\"entries\":[]}}",
		"{\"messages\":[{\"from\":\"ana\",\"subject\":\"hi\"}]}",
		"{\"level\":\"info\",\"msg\":\"started\",\"time\":\"t\"}\n{\"level\":\"warn\",\"msg\":\"x\"}"
		"\n",
		"{\"type\":\"FeatureCollection\",\"features\":[]}",
		"[{\"id\":1,\"title\":\"x\"}]",
		"{\"parts\":[],\"info\":{}}",
	};
	(void)state;

	for (size_t i = 0; i < sizeof(FOREIGN) / sizeof(FOREIGN[0]); i++)
		expect_refusal(NULL, FOREIGN[i], strlen(FOREIGN[i]), BOBBIN_EUNSUPPORTED, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_samples__are_recognised_and_counted),
		cmocka_unit_test(key_twice__the_last_one_counts),
		cmocka_unit_test(cut_at_every_byte__earlier_messages_stay),
		cmocka_unit_test(every_byte_changed__never_crashes),
		cmocka_unit_test(broken_lines_in_the_middle__are_reported_and_the_rest_is_read),
		cmocka_unit_test(empty_binary_and_foreign_files__are_refused_with_their_place),
		cmocka_unit_test(line_of_twelve_megabytes__is_one_message),
		cmocka_unit_test(message_nested_to_the_limit__is_refused_because_its_record_would_pass_it),
		cmocka_unit_test(warnings__are_kept_up_to_a_limit_and_counted),
		cmocka_unit_test(damage__is_counted_by_kind_beyond_the_limit_of_warnings),
		cmocka_unit_test(memory_running_out__leaks_nothing),
		cmocka_unit_test(memory_running_out__is_an_error_and_never_loses_a_message),
		cmocka_unit_test(json_that_is_no_transcript__is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
