/* SPDX-License-Identifier: MIT */
/* Which format a file is of, where a damage took what usually tells; and what is said of files that are none. */
#include "transcript/imported.h"

#define ROO_PLAIN "{\n\"role\":\"assistant\",\"content\":\"**Context:** so far\",\"ts\":1756000000000,\"isSummary\":true}"
#define ROO_LIST "{\n\"role\":\"user\",\n\"content\":[{\"type\":\"text\",\"text\":\"<task>go</task>\"}],\"ts\":1756000000001}"
#define SWE_STEP                                                                                                                   \
	"{\n\"action\":\"ls\",\n\"observation\":\"a\",\"response\":\"r\",\"messages\":[{\"role\":\"user\",\"content\":\"one\",\"agent\":\"main\"},"\
	"{\"role\":\"assistant\",\"content\":\"two\",\"agent\":\"main\"},{\"role\":\"user\",\"content\":\"three\",\"agent\":\"main\"}]}"

static const struct {
	const char *name, *format, *text;
	uint64_t messages; /* that are whole in it */
} SAMPLES[] = {
	{"Roo, a summary first", "anthropic-messages", "[" ROO_PLAIN ",\n" ROO_LIST "]", 2},
	{"Roo, the beginning lost", "anthropic-messages", "\"ts\": 1756000000000\n},\n" ROO_LIST ",\n" ROO_PLAIN "]", 2},
	{"Roo, another's record first", "anthropic-messages", "[{\"level\":\"warn\"},\n" ROO_PLAIN ",\n" ROO_LIST "]", 2},
	{"aider, the header lost", "aider", "itignore  \n> Aider v0.86.1  \n\n#### fix it  \n\nDone.\n\n> Tokens: 1k sent  \n", 3},
	{"SWE-agent, half a step first", "swe-agent", "ls\",\"messages\":[]},\n" SWE_STEP ",\n" SWE_STEP "]}", 4}, /* what was asked with, and "r" */
	{"Gemini CLI, the beginning lost", "gemini-cli",
		"\"tokens\": {\n\"input\": 1\n}\n},\n{\"id\":\"2\",\"timestamp\":\"t\",\"type\":\"gemini\",\"content\":\"done\"}\n]\n}\n", 1},
	{"Responses, the beginning lost", "openai-responses",
		"{\"type\":\"output_text\",\n\"text\":\"one\"}],\n\"role\":\"assistant\"},\n{\"type\":\"compaction\",\n\"encrypted_content\":\"AA\"}\n]\n",
		2},
};

static void what_is_left_tells(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(SAMPLES) / sizeof(SAMPLES[0]); i++) {
		struct bobbin_error error = {0};
		struct import import;
		uint64_t messages = 0;
		if (import_read(NULL, SAMPLES[i].text, strlen(SAMPLES[i].text), &import, &error) < 0)
			fail_msg("%s: %s", SAMPLES[i].name, error.message);
		for (size_t k = 0; k < import.conversation_count; k++)
			messages += import.conversations[k].messages;
		if (strcmp(import.format, SAMPLES[i].format) != 0 || messages != SAMPLES[i].messages)
			fail_msg("%s: %s, %llu messages", SAMPLES[i].name, import.format, (unsigned long long)messages);
		import_release(&import);
	}
}

static void expect_error(const char *text, int code, const char *expected)
{
	struct bobbin_error error = {0};
	struct import import;
	assert_int_equal(import_read(NULL, text, strlen(text), &import, &error), code);
	assert_string_equal(error.message, expected);
	import_release(&import);
}

static void what_tells_nothing__is_described(void **state)
{
	(void)state;
	expect_error("{\"level\":\"warn\",\"msg\":\"x\",\"n\":1,\"more\":2}", BOBBIN_EUNSUPPORTED,
		"no transcript of a known format: JSON with \"level\", \"msg\", \"n\"; --format NAME reads it as one of those that "
		"bobbin help import lists");
	expect_error("[1,2]", BOBBIN_EUNSUPPORTED,
		"no transcript of a known format: JSON; --format NAME reads it as one of those that bobbin help import lists");
	expect_error("# Notes\n\n> quoted\n", BOBBIN_EINPUT,
		"no transcript of a known format: not JSON at byte 0: a value is missing; --format NAME reads it as one of those that "
		"bobbin help import lists");
	expect_error("{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n", BOBBIN_EINPUT,
		"not a codex transcript: no message in it; if it is something else, --format NAME says so");
}

/* Who names the format is not told to. */
static void format_that_was_named__is_not_doubted(void **state)
{
	static const char TEXT[] = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n";
	struct bobbin_error error = {0};
	struct import import;
	(void)state;
	assert_int_equal(import_read("codex", TEXT, strlen(TEXT), &import, &error), BOBBIN_EINPUT);
	assert_string_equal(error.message, "not a codex transcript: no message in it");
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_tells),
		cmocka_unit_test(what_tells_nothing__is_described),
		cmocka_unit_test(format_that_was_named__is_not_doubted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
