/* SPDX-License-Identifier: MIT */
/* The reader of pi's files, trait by trait, on small inputs. */
#include "transcript/imported.h"

#define HEADER "{\"type\":\"session\",\"id\":\"s1\",\"timestamp\":\"t0\",\"cwd\":\"/x\"}\n"
#define ENTRY(message) "{\"type\":\"message\",\"timestamp\":\"t\",\"message\":" message "}"
#define USER(text) ENTRY("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}")

static void call_and_result__keep_their_blocks_and_order(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER USER("hi") "\n" ENTRY(
			"{\"role\":\"assistant\",\"model\":\"x\",\"content\":[{\"type\":\"thinking\","
			"\"thinking\":\"a\\u0062\","
			"\"thinkingSignature\":\"S=\"},{\"type\":\"text\",\"text\":\"look\"},{\"type\":"
			"\"toolCall\",\"id\":\"c1\","
			"\"name\":\"ls\",\"arguments\":{\"p\":1.10},\"partialJson\":\"{\"}],\"usage\":{"
			"\"input\":3}}") "\n" ENTRY("{\"role\":\"toolResult\",\"toolCallId\":\"c1\","
						    "\"toolName\":\"ls\",\"isError\":true,\"content\":"
						    "[{\"type\":\"text\",\"text\":\"no\"}],\"details\":{"
						    "\"d\":1}}") "\n");
	assert_string_equal(import.format, "pi");
	assert_int_equal(import.conversations[0].foreign_id.len, 2);
	expect_counts(&import, 3, 1, 1, 2);
	expect_record(&import, 0,
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"ts\":\"t\"}");
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"a\\u0062\","
		"\"thinkingSignature\":\"S=\"},{\"type\":\"text\",\"text\":\"look\"},{\"type\":\"tool_call\","
		"\"id\":\"c1\","
		"\"name\":\"ls\",\"arguments\":{\"p\":1.10},\"partialJson\":\"{\"}],\"ts\":\"t\",\"usage\":"
		"{\"input\":3}}");
	expect_source(&import, 1,
		"{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"assistant\",\"model\":"
		"\"x\",\"usage\":{\"input\":3}}}");
	expect_record(&import, 2,
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"name\":\"ls\",\"content\":[{\"type\":\"text\","
		"\"text\":\"no\"}],"
		"\"is_error\":true,\"ts\":\"t\"}");
	expect_source(&import, 2,
		"{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"toolResult\",\"details\":{"
		"\"d\":1}}}");
	import_release(&import);
}

static void picture_in_a_result__takes_the_canonical_form(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, "pi",
		ENTRY("{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":"
		      "\"image/png\"}]}"));
	expect_record(&import, 0,
		"{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_"
		"type\":\"image/png\","
		"\"data\":\"AAAA\"}}],\"ts\":\"t\"}");
	import_release(&import);
}

static void command_the_person_ran__is_injected_text(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER ENTRY("{\"role\":\"bashExecution\",\"command\":\"ls "
			     "\\\"a\\\"\",\"output\":\"x\\ny\",\"exitCode\":2,"
			     "\"cancelled\":false,\"truncated\":true}"));
	expect_counts(&import, 1, 0, 0, 0);
	expect_record(&import, 0,
		"{\"role\":\"user\",\"content\":\"$ ls \\\"a\\\"\\nx\\ny\\n[exit code 2]\\n[output "
		"truncated]\","
		"\"origin\":\"injected\",\"ts\":\"t\"}");
	import_release(&import);
}

static void compaction__is_a_summary_on_the_line(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER USER("hi") "\n{\"type\":\"compaction\",\"timestamp\":\"t\",\"summary\":\"so "
				  "far\",\"firstKeptEntryIndex\":1,"
				  "\"tokensBefore\":9}\n" USER("more"));
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 1,
		"{\"role\":\"user\",\"content\":\"so "
		"far\",\"origin\":\"summary\",\"ts\":\"t\",\"cut\":\"i-1\"}");
	expect_source(&import, 1,
		"{\"type\":\"compaction\",\"timestamp\":\"t\",\"firstKeptEntryIndex\":1,\"tokensBefore\":9}");
	import_release(&import);
}

static void aborted_reply__keeps_its_calls_in_the_middle_of_the_line(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER USER("hi") "\n" ENTRY(
			"{\"role\":\"assistant\",\"stopReason\":\"aborted\",\"content\":[{\"type\":"
			"\"toolCall\",\"id\":\"c1\","
			"\"name\":\"ls\",\"arguments\":{}}]}") "\n" ENTRY("{\"role\":\"assistant\","
									  "\"stopReason\":\"error\","
									  "\"content\":[]}") "\n" USER("agai"
												       "n"));
	expect_counts(&import, 4, 1, 0, 3);
	expect_record(&import, 2, "{\"role\":\"assistant\",\"content\":[],\"ts\":\"t\"}");
	import_release(&import);
}

static void glued_entries__are_both_read(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL, HEADER USER("hi") USER("ho") "\n" USER("ha"));
	expect_counts(&import, 3, 0, 0, 2);
	assert_true(has_warning(&import, 2, "two records on one line"));
	import_release(&import);
}

#define NODE(id, parent, text)                                                                               \
	"{\"type\":\"message\",\"id\":\"" id "\",\"parentId\":" parent                                       \
	",\"message\":{\"role\":\"user\",\"content\":\"" text "\"}}\n"

static void entries_with_parents__make_a_tree(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER NODE("a", "null",
			"one") "{\"type\":\"model_change\",\"id\":\"x\",\"parentId\":\"a\"}\n" NODE("b",
			"\"x\"", "two") NODE("c", "\"x\"", "other two"));
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 1, "{\"id\":\"b\",\"role\":\"user\",\"content\":\"two\"}");
	expect_record(&import, 2,
		"{\"id\":\"c\",\"parent\":\"a\",\"branch\":true,\"role\":\"user\",\"content\":\"other "
		"two\"}");
	import_release(&import);
}

static void glued_entries__count_for_the_cut_and_a_compaction_may_keep_nothing(void **state)
{
	struct import import;
	(void)state;

	/* Entries: header 0, hi 1, ho 2 (glued), compaction 3, which keeps from ho; more 4, compaction 5,
	 * which names itself. */
	import_text(&import, NULL,
		HEADER USER("hi")
			USER("ho") "\n{\"type\":\"compaction\",\"summary\":\"a\",\"firstKeptEntryIndex\":2}"
				   "\n" USER("more") "\n{\"type\":\"compaction\",\"summary\":\"b\","
						     "\"firstKeptEntryIndex\":5}\n");
	expect_counts(&import, 5, 0, 0, 4);
	expect_record(&import, 1,
		"{\"id\":\"i-2\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"ho\"}],\"ts\":"
		"\"t\"}");
	expect_record(
		&import, 2, "{\"role\":\"user\",\"content\":\"a\",\"origin\":\"summary\",\"cut\":\"i-2\"}");
	expect_record(
		&import, 4, "{\"role\":\"user\",\"content\":\"b\",\"origin\":\"summary\",\"cut\":null}");
	import_release(&import);
}

static void session_of_version_three__branches_names_extensions_and_its_end(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"t0\",\"cwd\":\"/"
		"x\"}\n" NODE("a", "null", "one") NODE(
			"b", "\"a\"", "two") "{\"type\":\"branch_summary\",\"id\":\"s\",\"parentId\":\"a\","
					     "\"fromId\":\"b\",\"summary\":\"tried\"}\n"
					     "{\"type\":\"custom_message\",\"id\":\"x\",\"parentId\":\"s\","
					     "\"customType\":\"k\",\"content\":\"given\",\"display\":true}\n"
					     "{\"type\":\"compaction\",\"id\":\"k\",\"parentId\":\"x\","
					     "\"summary\":\"sum\",\"firstKeptEntryId\":\"s\"}\n"
					     "{\"type\":\"session_info\",\"id\":\"i\",\"parentId\":\"b\","
					     "\"name\":\"Bread\"}\n");
	expect_counts(&import, 5, 0, 0, 1); /* the last entry hangs from b: the line ends there */
	assert_int_equal(import.conversations[0].title.len, 5);
	expect_record(&import, 2,
		"{\"id\":\"s\",\"parent\":\"a\",\"branch\":true,\"role\":\"user\",\"content\":\"tried\","
		"\"origin\":\"summary\"}");
	expect_record(
		&import, 3, "{\"id\":\"x\",\"role\":\"user\",\"content\":\"given\",\"origin\":\"injected\"}");
	expect_record(&import, 4,
		"{\"id\":\"k\",\"role\":\"user\",\"content\":\"sum\",\"origin\":\"summary\",\"cut\":\"s\"}");
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_and_result__keep_their_blocks_and_order),
		cmocka_unit_test(picture_in_a_result__takes_the_canonical_form),
		cmocka_unit_test(command_the_person_ran__is_injected_text),
		cmocka_unit_test(compaction__is_a_summary_on_the_line),
		cmocka_unit_test(aborted_reply__keeps_its_calls_in_the_middle_of_the_line),
		cmocka_unit_test(glued_entries__are_both_read),
		cmocka_unit_test(entries_with_parents__make_a_tree),
		cmocka_unit_test(glued_entries__count_for_the_cut_and_a_compaction_may_keep_nothing),
		cmocka_unit_test(session_of_version_three__branches_names_extensions_and_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
