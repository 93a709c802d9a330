/* SPDX-License-Identifier: MIT */
/* The reader of Claude Code's files, trait by trait, on small inputs. */
#include "transcript/imported.h"

/* Lines without the members that do not matter here. */
#define USER(uuid, parent, content)                                                                          \
	"{\"parentUuid\":" parent ",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":" content   \
	"},"                                                                                                 \
	"\"uuid\":\"" uuid "\"}\n"
#define MODEL(uuid, parent, id, blocks)                                                                      \
	"{\"parentUuid\":" parent ",\"type\":\"assistant\",\"message\":{\"id\":\"" id                        \
	"\",\"role\":\"assistant\","                                                                         \
	"\"content\":[" blocks "]},\"uuid\":\"" uuid "\"}\n"
#define SIDE_USER(uuid, parent, content)                                                                     \
	"{\"parentUuid\":" parent ",\"isSidechain\":true,\"type\":\"user\",\"message\":{\"role\":\"user\","  \
	"\"content\":" content "},\"uuid\":\"" uuid "\"}\n"
#define SIDE_MODEL(uuid, parent, id, blocks)                                                                 \
	"{\"parentUuid\":" parent ",\"isSidechain\":true,\"type\":\"assistant\",\"message\":{\"id\":\"" id   \
	"\","                                                                                                \
	"\"role\":\"assistant\",\"content\":[" blocks "]},\"uuid\":\"" uuid "\"}\n"
#define USE(id) "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"ls\",\"input\":{}}"
#define RESULT(id, text) "[{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" text "\"}]"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"

static void one_message_over_lines__is_one_with_blocks_in_order(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") "{\"parentUuid\":\"u\",\"type\":\"assistant\",\"uuid\":\"a\","
					    "\"requestId\":\"r\",\"timestamp\":\"t1\",\"message\":"
					    "{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":"
					    "\"thinking\",\"thinking\":\"hm\\/\",\"signature\":\"S==\"}],"
					    "\"usage\":{\"output_tokens\":1}}}\n"
					    "{\"parentUuid\":\"a\",\"type\":\"assistant\",\"uuid\":\"b\","
					    "\"requestId\":\"r\",\"timestamp\":\"t2\",\"message\":"
					    "{\"id\":\"m\",\"role\":\"assistant\",\"content\":[" USE(
						    "c1") "],\"usage\":{\"output_tokens\":9}}}\n");
	assert_string_equal(import.format, "claude-code");
	expect_counts(&import, 2, 1, 0, 1);
	expect_record(&import, 0, "{\"id\":\"u\",\"role\":\"user\",\"content\":\"hi\"}");
	expect_record(&import, 1,
		"{\"id\":\"a\",\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
		"\"hm\\/\","
		"\"signature\":\"S==\"}," USE("c1") "],\"ts\":\"t1\"}");
	/* The usage of one API message stands once, and it is the last line's. */
	expect_source(&import, 1,
		"{\"parentUuid\":\"u\",\"requestId\":\"r\",\"timestamp\":\"t1\",\"message\":{\"id\":\"m\","
		"\"usage\":"
		"{\"output_tokens\":9}},\"lines\":[{\"parentUuid\":\"a\",\"uuid\":\"b\",\"timestamp\":\"t2\"}"
		"]}");
	import_release(&import);
}

static void parallel_results__follow_the_message_in_the_order_of_its_calls(void **state)
{
	struct import import;
	(void)state;

	/* The next use hangs from the use before it, and each result from its own use. */
	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a1", "\"u\"", "m", USE("c1")) MODEL(
			"a2", "\"a1\"", "m", USE("c2")) USER("r2", "\"a2\"", RESULT("c2", "two"))
			USER("r1", "\"a1\"", RESULT("c1", "one")) MODEL("a3", "\"r2\"", "n", TEXT("done")));
	expect_counts(&import, 5, 2, 2, 4);
	expect_record(&import, 1,
		"{\"id\":\"a1\",\"role\":\"assistant\",\"content\":[" USE("c1") "," USE("c2") "]}");
	expect_record(
		&import, 2, "{\"id\":\"r1\",\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}");
	expect_record(
		&import, 3, "{\"id\":\"r2\",\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"two\"}");
	expect_record(&import, 4, "{\"id\":\"a3\",\"role\":\"assistant\",\"content\":[" TEXT("done") "]}");
	import_release(&import);
}

static void results_between_the_lines_of_a_message__do_not_part_it(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a1", "\"u\"", "m", USE("c1")) USER(
			"r1", "\"a1\"", RESULT("c1", "one")) MODEL("a2", "\"r1\"", "m", USE("c2"))
			USER("r2", "\"a2\"", RESULT("c2", "two")) MODEL("a3", "\"r2\"", "n", TEXT("done")));
	expect_counts(&import, 5, 2, 2, 4);
	expect_record(&import, 1,
		"{\"id\":\"a1\",\"role\":\"assistant\",\"content\":[" USE("c1") "," USE("c2") "]}");
	expect_record(
		&import, 2, "{\"id\":\"r1\",\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}");
	expect_record(
		&import, 3, "{\"id\":\"r2\",\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"two\"}");
	import_release(&import);
}

static void result_after_the_model_went_on__is_late_and_leaves_the_head(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a1", "\"u\"", "m", USE("c1") "," USE("c2"))
			USER("r1", "\"a1\"", RESULT("c1", "one")) MODEL("a2", "\"r1\"", "n", TEXT("done"))
				USER("r2", "\"a1\"", RESULT("c2", "two")));
	expect_counts(&import, 5, 2, 2, 3);
	expect_record(&import, 3, "{\"id\":\"a2\",\"role\":\"assistant\",\"content\":[" TEXT("done") "]}");
	/* No parent: a result outside the head's batch hangs from the message that asked. */
	expect_record(
		&import, 4, "{\"id\":\"r2\",\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"two\"}");
	import_release(&import);
}

static void progress_and_system_records__are_passed_through_to_the_message_above(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"parentUuid\":null,\"type\":\"progress\",\"data\":{\"type\":\"hook_progress\"},\"uuid\":"
		"\"p0\"}\n" USER("u", "\"p0\"", "\"hi\"") MODEL("a", "\"u\"", "m",
			USE("c1")) "{\"parentUuid\":\"a\",\"type\":\"progress\",\"uuid\":\"p1\",\"data\":{"
				   "\"type\":\"agent_progress\",\"message\":"
				   "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":"
				   "[" USE("x") "]}}}}\n" USER("r", "\"p1\"",
					   RESULT("c1", "one")) "{\"parentUuid\":\"r\",\"type\":\"system\","
								"\"subtype\":\"stop_hook_summary\",\"uuid\":"
								"\"s\"}\n" USER("v", "\"s\"", "\"more\""));
	expect_counts(&import, 4, 1, 1, 3);
	expect_record(&import, 3, "{\"id\":\"v\",\"role\":\"user\",\"content\":\"more\"}");
	assert_true(has_warning(&import, 4, "left out: 1 message of sub-agents"));
	assert_true(has_warning(&import, 1, "left out: 1 progress record"));
	import_release(&import);
}

static void sidechain__is_a_root_of_its_own_and_leaves_the_head(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a", "\"u\"", "m", USE("c1")) SIDE_USER(
			"s1", "null", "\"sub\"") SIDE_MODEL("s2", "\"s1\"", "sm", USE("d1") "," USE("d2"))
			SIDE_USER("s3", "\"s2\"", RESULT("d1", "x")) SIDE_USER("s4", "\"s2\"",
				RESULT("d2", "y")) SIDE_MODEL("s5", "\"s4\"", "sn", TEXT("found")) USER("r",
				"\"a\"", RESULT("c1", "found")) MODEL("b", "\"r\"", "n", TEXT("done")));
	expect_counts(&import, 9, 3, 3, 8);
	expect_record(
		&import, 2, "{\"id\":\"r\",\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"found\"}");
	expect_record(&import, 3, "{\"id\":\"s1\",\"parent\":null,\"role\":\"user\",\"content\":\"sub\"}");
	expect_record(&import, 4,
		"{\"id\":\"s2\",\"parent\":\"s1\",\"role\":\"assistant\",\"content\":[" USE("d1") "," USE(
			"d2") "]}");
	expect_record(
		&import, 5, "{\"id\":\"s3\",\"role\":\"tool\",\"tool_call_id\":\"d1\",\"content\":\"x\"}");
	/* The second result hangs from the first, so that walking up from s5 meets both. */
	expect_record(&import, 6,
		"{\"id\":\"s4\",\"parent\":\"s3\",\"role\":\"tool\",\"tool_call_id\":\"d2\",\"content\":"
		"\"y\"}");
	expect_record(&import, 7,
		"{\"id\":\"s5\",\"parent\":\"s4\",\"role\":\"assistant\",\"content\":[" TEXT("found") "]}");
	expect_record(&import, 8, "{\"id\":\"b\",\"role\":\"assistant\",\"content\":[" TEXT("done") "]}");
	import_release(&import);
}

static void sidechain_first_in_the_file__comes_after_the_main_lines_first_message(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL, SIDE_USER("s", "null", "\"sub\"") USER("u", "null", "\"hi\""));
	expect_counts(&import, 2, 0, 0, 0);
	expect_record(&import, 0, "{\"id\":\"u\",\"role\":\"user\",\"content\":\"hi\"}");
	expect_record(&import, 1, "{\"id\":\"s\",\"parent\":null,\"role\":\"user\",\"content\":\"sub\"}");
	import_release(&import);

	/* A sub-agent's own file has no other line. */
	import_text(
		&import, NULL, SIDE_USER("s", "null", "\"sub\"") SIDE_MODEL("t", "\"s\"", "m", TEXT("ok")));
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 1, "{\"id\":\"t\",\"role\":\"assistant\",\"content\":[" TEXT("ok") "]}");
	import_release(&import);
}

static void edit_and_retry__are_branches_and_the_last_is_the_line(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a", "\"u\"", "m", TEXT("one")) USER("v", "\"a\"",
			"\"old\"") MODEL("b", "\"v\"", "n", TEXT("two")) USER("w", "\"a\"", "\"new\"")
			MODEL("c", "\"w\"", "o", TEXT("three")) MODEL("d", "\"w\"", "p", TEXT("again")));
	expect_counts(&import, 7, 0, 0, 6);
	expect_record(&import, 4,
		"{\"id\":\"w\",\"parent\":\"a\",\"branch\":true,\"role\":\"user\",\"content\":\"new\"}");
	expect_record(&import, 6,
		"{\"id\":\"d\",\"parent\":\"w\",\"branch\":true,\"role\":\"assistant\",\"content\":[" TEXT(
			"again") "]}");
	import_release(&import);
}

static void retry_of_the_same_message_id_elsewhere__is_another_message(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a", "\"u\"", "m", TEXT("one"))
			USER("v", "\"a\"", "\"more\"") MODEL("b", "\"v\"", "m", TEXT("copy")));
	expect_counts(&import, 4, 0, 0, 3);
	import_release(&import);
}

static void what_the_client_put_in__is_not_the_persons_word(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null",
			"[" TEXT("<system-reminder>be brief</system-reminder>") "," TEXT(
				"hi") "]") "{\"parentUuid\":\"u\",\"type\":\"user\",\"isMeta\":true,"
					   "\"message\":{\"role\":\"user\",\"content\":\"caveat\"},"
					   "\"uuid\":\"x\"}\n" USER("y", "\"x\"",
						   "\"<local-command-stdout>bye</local-command-stdout>\"")
						   USER("z", "\"y\"",
							   "[" TEXT("[Request interrupted by user]") "]")
							   USER("k", "\"z\"",
								   "\"<command-name>/init</command-name>\"")
								   USER("l", "\"k\"",
									   "\"see "
									   "<system-reminder>x</"
									   "system-reminder>\""));
	expect_counts(&import, 7, 0, 0, 6);
	expect_record(&import, 0,
		"{\"id\":\"u\",\"role\":\"user\",\"content\":[" TEXT(
			"<system-reminder>be brief</system-reminder>") "],"
								       "\"origin\":\"injected\"}");
	expect_record(&import, 1, "{\"id\":\"u.2\",\"role\":\"user\",\"content\":[" TEXT("hi") "]}");
	expect_record(&import, 2,
		"{\"id\":\"x\",\"role\":\"user\",\"content\":\"caveat\",\"origin\":\"injected\"}");
	expect_record(&import, 3,
		"{\"id\":\"y\",\"role\":\"user\",\"content\":\"<local-command-stdout>bye</"
		"local-command-stdout>\","
		"\"origin\":\"injected\"}");
	expect_record(&import, 4,
		"{\"id\":\"z\",\"role\":\"user\",\"content\":[" TEXT(
			"[Request interrupted by user]") "],"
							 "\"origin\":\"injected\"}");
	expect_record(&import, 5,
		"{\"id\":\"k\",\"role\":\"user\",\"content\":\"<command-name>/init</command-name>\"}");
	expect_record(&import, 6,
		"{\"id\":\"l\",\"role\":\"user\",\"content\":\"see <system-reminder>x</system-reminder>\"}");
	import_release(&import);
}

static void result_and_text_in_one_line__are_two_messages(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a", "\"u\"", "m", USE("c1")) USER("r", "\"a\"",
			"[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"is_error\":true,\"content\":"
			"[" TEXT("no") "]}," TEXT("stop") "]") MODEL("b", "\"r\"", "n", TEXT("ok")));
	expect_counts(&import, 5, 1, 1, 4);
	expect_record(&import, 2,
		"{\"id\":\"r\",\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":[" TEXT(
			"no") "],\"is_error\":true}");
	expect_record(&import, 3, "{\"id\":\"r.2\",\"role\":\"user\",\"content\":[" TEXT("stop") "]}");
	expect_record(&import, 4, "{\"id\":\"b\",\"role\":\"assistant\",\"content\":[" TEXT("ok") "]}");
	import_release(&import);
}

static void compaction__goes_on_with_the_line_and_its_summary_has_an_origin(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a", "\"u\"", "m",
			TEXT("one")) "{\"parentUuid\":null,\"logicalParentUuid\":\"a\",\"type\":\"system\","
				     "\"subtype\":\"compact_boundary\",\"uuid\":\"k\"}\n"
				     "{\"parentUuid\":\"k\",\"type\":\"user\",\"isCompactSummary\":true,"
				     "\"message\":{\"role\":\"user\",\"content\":\"so far\"},"
				     "\"uuid\":\"s\"}\n" MODEL("b", "\"s\"", "n",
					     TEXT("two")) "{\"parentUuid\":null,\"logicalParentUuid\":"
							  "\"gone\",\"type\":\"system\",\"subtype\":"
							  "\"compact_boundary\",\"uuid\":\"l\"}\n" USER(
								  "v", "\"l\"", "\"next\""));
	expect_counts(&import, 5, 0, 0, 4);
	expect_record(
		&import, 2, "{\"id\":\"s\",\"role\":\"user\",\"content\":\"so far\",\"origin\":\"summary\"}");
	expect_record(&import, 3, "{\"id\":\"b\",\"role\":\"assistant\",\"content\":[" TEXT("two") "]}");
	expect_record(&import, 4, "{\"id\":\"v\",\"role\":\"user\",\"content\":\"next\"}");
	assert_true(has_warning(&import, 6, "goes on from the last message"));
	import_release(&import);
}

static void second_root__is_a_branch(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL, USER("u", "null", "\"hi\"") USER("v", "null", "\"anew\""));
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 1,
		"{\"id\":\"v\",\"parent\":null,\"branch\":true,\"role\":\"user\",\"content\":\"anew\"}");
	import_release(&import);
}

static void file_that_begins_in_the_middle__keeps_its_orphan_result(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("r", "\"gone\"", RESULT("c0", "late")) USER("u", "\"r\"", "\"hi\"")
			MODEL("a", "\"u\"", "m", USE("c1")));
	expect_counts(&import, 3, 1, 1, 2);
	expect_record(
		&import, 0, "{\"id\":\"r\",\"role\":\"tool\",\"tool_call_id\":\"c0\",\"content\":\"late\"}");
	assert_true(has_warning(&import, 1, "begins in the middle"));
	assert_true(has_warning(&import, 1, "whose call is not in the file"));
	import_release(&import);
}

static void glued_lines_and_a_second_copy__are_read_once(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"parentUuid\":null,\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"},"
		"\"uuid\":\"u\"}"
		"{\"type\":\"summary\",\"summary\":\"Greeting\",\"leafUuid\":\"u\"}\n" USER(
			"u", "null", "\"hi\"") USER("v", "\"u\"", "\"more\""));
	expect_counts(&import, 2, 0, 0, 1);
	assert_true(has_warning(&import, 1, "two records on one line"));
	assert_true(has_warning(&import, 2, "a second time"));
	assert_int_equal(import.conversations[0].title.len, 8);
	assert_memory_equal(import.conversations[0].title.data, "Greeting", 8);
	import_release(&import);
}

static void other_record_with_the_same_id__is_kept_without_it(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL, USER("u", "null", "\"hi\"") USER("u", "\"u\"", "\"ho\""));
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 1, "{\"role\":\"user\",\"content\":\"ho\"}");
	import_release(&import);
}

static void error_message_of_the_client__is_not_the_models_word(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null",
			"\"hi\"") "{\"parentUuid\":\"u\",\"type\":\"assistant\",\"isApiErrorMessage\":true,"
				  "\"message\":{\"id\":\"m\",\"model\":\"<synthetic>\","
				  "\"role\":\"assistant\",\"content\":[" TEXT(
					  "API Error: 500") "]},\"uuid\":\"a\"}\n");
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 1,
		"{\"id\":\"a\",\"role\":\"assistant\",\"content\":[" TEXT(
			"API Error: 500") "],\"origin\":\"injected\"}");
	expect_source(&import, 1,
		"{\"parentUuid\":\"u\",\"isApiErrorMessage\":true,\"message\":{\"id\":\"m\",\"model\":\"<"
		"synthetic>\"}}");
	import_release(&import);
}

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG HUNDRED HUNDRED

static void what_stands_twice__is_stored_once_and_can_be_found_again(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "null", "\"hi\"") MODEL("a", "\"u\"", "m",
			USE("c1")) "{\"parentUuid\":\"a\",\"type\":\"user\",\"message\":{\"role\":\"user\","
				   "\"content\":[{\"type\":\"tool_result\","
				   "\"tool_use_id\":\"c1\",\"content\":\"<" LONG
				   ">\"}]},\"uuid\":\"r\",\"toolUseResult\":{\"stdout\":\"" LONG
				   "\",\"stderr\":\"\",\"other\":\"x" LONG "\"}}\n");
	expect_counts(&import, 3, 1, 1, 2);
	/* At byte 2 of the content's text (after the quote and the bracket), 200 bytes long. */
	expect_source(&import, 2,
		"{\"parentUuid\":\"a\",\"toolUseResult\":{\"stdout\":{\"in_content\":[2,200]},\"stderr\":"
		"\"\",\"other\":\"x" LONG "\"}}");
	import_release(&import);
}

static void reserved_and_foreign_ids__are_given_anew_and_parents_follow(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("m1", "null", "\"hi\"") MODEL("a", "\"m1\"", "m", TEXT("one"))
			MODEL("b", "\"m1\"", "n", TEXT("two")));
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 0, "{\"id\":\"i-1\",\"role\":\"user\",\"content\":\"hi\"}");
	expect_record(&import, 2,
		"{\"id\":\"b\",\"parent\":\"i-1\",\"branch\":true,\"role\":\"assistant\",\"content\":[" TEXT(
			"two") "]}");
	import_release(&import);
}

static void parents_in_a_circle__do_not_lose_a_message(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		USER("u", "\"v\"", "\"hi\"") USER("v", "\"u\"", "\"ho\"") USER("w", "\"w\"", "\"ha\""));
	expect_counts(&import, 3, 0, 0, 2);
	import_release(&import);
}

/* Ids of calls and messages may repeat in a session that was begun anew. */
static void unrelated_sessions_in_one_file__are_sessions_of_their_own(void **state)
{
	static const char TEXT[] =
		"{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null,\"sessionId\":\"A\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n"
		"{\"type\":\"assistant\",\"uuid\":\"a1\",\"parentUuid\":\"u1\",\"sessionId\":\"A\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}]}}\n"
		"{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":null,\"sessionId\":\"B\",\"message\":{\"role\":\"user\",\"content\":\"two\"}}\n"
		"{\"type\":\"user\",\"uuid\":\"r2\",\"parentUuid\":\"u2\",\"sessionId\":\"B\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"}]}}\n"
		"{\"type\":\"user\",\"uuid\":\"r1\",\"parentUuid\":\"a1\",\"sessionId\":\"A\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"y\"}]}}\n"
		/* B was resumed under a new id, and C begins in the middle. */
		"{\"type\":\"user\",\"uuid\":\"u3\",\"parentUuid\":\"r2\",\"sessionId\":\"D\",\"message\":{\"role\":\"user\",\"content\":\"three\"}}\n"
		"{\"type\":\"user\",\"uuid\":\"u4\",\"parentUuid\":\"lost\",\"sessionId\":\"C\",\"message\":{\"role\":\"user\",\"content\":\"four\"}}\n";
	struct import import;
	(void)state;

	import_text(&import, NULL, TEXT);
	assert_int_equal(import.conversation_count, 3);
	expect_counts(&import, 3, 1, 1, 2);
	expect_record_of(&import, 0, 2, "{\"id\":\"r1\",\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"y\"}");
	assert_true(slice_equal(import.conversations[0].foreign_id, slice_of("A")));
	assert_int_equal(import.conversations[1].messages, 3);
	assert_true(slice_equal(import.conversations[1].foreign_id, slice_of("D")));
	expect_record_of(&import, 1, 2, "{\"id\":\"u3\",\"role\":\"user\",\"content\":\"three\"}");
	expect_record_of(&import, 2, 0, "{\"id\":\"u4\",\"role\":\"user\",\"content\":\"four\"}");
	assert_true(has_warning(&import, 4, "a result whose call is not in the file"));
	import_release(&import);
}

static void queued_words__are_told_when_they_never_became_a_message(void **state)
{
	static const char TEXT[] =
		"{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"first\\nwords\",\"sessionId\":\"A\"}\n"
		"{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"second\",\"sessionId\":\"A\"}\n"
		"{\"type\":\"queue-operation\",\"operation\":\"remove\",\"sessionId\":\"A\"}\n"
		"{\"type\":\"queue-operation\",\"operation\":\"dequeue\",\"sessionId\":\"A\"}\n"
		"{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null,\"sessionId\":\"A\",\"message\":{\"role\":\"user\",\"content\":\"second\"}}\n"
		"{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"third\",\"sessionId\":\"A\"}\n";
	struct import import;
	(void)state;

	import_text(&import, NULL, TEXT);
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"first\\nwords\"}");
	assert_false(has_warning(&import, 2, "so no message"));
	assert_true(has_warning(&import, 6, "still queued at the end, so no message: \"third\""));
	import_release(&import);
}

#define QUEUE(operation, rest) "{\"type\":\"queue-operation\",\"operation\":\"" operation "\"," rest "\"sessionId\":\"A\"}\n"
#define CALL_OF_A                                                                                                                   \
	"{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":null,\"sessionId\":\"A\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}\n"    \
	"{\"type\":\"assistant\",\"uuid\":\"a1\",\"parentUuid\":\"u1\",\"sessionId\":\"A\",\"message\":{\"id\":\"m1\",\"role\":\"assistant\"," \
	"\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}]}}\n"
#define RESULT_OF_A                                                                                                                 \
	"{\"type\":\"user\",\"uuid\":\"r1\",\"parentUuid\":\"a1\",\"sessionId\":\"A\",\"message\":{\"role\":\"user\",\"content\":["            \
	"{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"}]}}\n"
#define ANSWER(uuid, parent, block)                                                                                                 \
	"{\"type\":\"assistant\",\"uuid\":\"" uuid "\",\"parentUuid\":\"" parent "\",\"sessionId\":\"A\",\"message\":{\"id\":\"m2\"," \
	"\"role\":\"assistant\",\"content\":[" block "]}}\n"

/* Taken from the queue between two calls of a turn: the model saw them with the result, and answers them. */
static void queued_words__are_a_message_before_the_call_that_saw_them(void **state)
{
	static const char TEXT[] = CALL_OF_A
		QUEUE("enqueue", "\"content\":\"not in /tmp\",")
		QUEUE("enqueue", "\"content\":\"<task-notification>done\",")
		QUEUE("remove", "\"timestamp\":\"2026-02-13T01:57:14.987Z\",")
		QUEUE("remove", "")
		RESULT_OF_A
		ANSWER("a2", "r1", "{\"type\":\"text\",\"text\":\"Not there, then.\"}")
		ANSWER("a3", "a2", "{\"type\":\"text\",\"text\":\"Done.\"}");
	struct import import;
	(void)state;

	import_text(&import, NULL, TEXT);
	expect_counts(&import, 6, 1, 1, 5);
	expect_record(&import, 3, "{\"role\":\"user\",\"content\":\"not in /tmp\",\"ts\":\"2026-02-13T01:57:14.987Z\"}");
	expect_record(&import, 4, "{\"role\":\"user\",\"content\":\"<task-notification>done\",\"origin\":\"injected\"}");
	expect_record(&import, 5, "{\"id\":\"a2\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Not there, then.\"},"
				  "{\"type\":\"text\",\"text\":\"Done.\"}]}");
	assert_false(has_warning(&import, 3, "so no message"));
	import_release(&import);
}

/* Newer clients also write a record of them. */
static void queued_words__with_an_attachment_are_one_message(void **state)
{
	static const char TEXT[] = CALL_OF_A
		QUEUE("enqueue", "\"content\":\"not in /tmp\",")
		RESULT_OF_A
		QUEUE("remove", "")
		"{\"type\":\"attachment\",\"uuid\":\"q1\",\"parentUuid\":\"r1\",\"sessionId\":\"A\",\"attachment\":"
		"{\"type\":\"queued_command\",\"prompt\":\"not in /tmp\",\"commandMode\":\"prompt\"}}\n"
		ANSWER("a2", "q1", "{\"type\":\"text\",\"text\":\"Not there, then.\"}");
	struct import import;
	(void)state;

	import_text(&import, NULL, TEXT);
	expect_counts(&import, 5, 1, 1, 4);
	expect_record(&import, 3, "{\"id\":\"q1\",\"role\":\"user\",\"content\":\"not in /tmp\"}");
	assert_false(has_warning(&import, 3, "so no message"));
	import_release(&import);
}

/* Words that were given before the person spoke again, and before the file ends. */
/* The beginning of the file is lost; a session is known only by its messages, and this is the first. */
static void queued_words__that_begin_the_file_are_a_message(void **state)
{
	struct import import;
	(void)state;
	import_text(&import, NULL,
		"{\"type\":\"attachment\",\"uuid\":\"t1\",\"parentUuid\":\"gone\",\"sessionId\":\"s\",\"attachment\":"
		"{\"type\":\"queued_command\",\"prompt\":\"not in /tmp\"}}\n"
		"{\"type\":\"assistant\",\"uuid\":\"a1\",\"parentUuid\":\"t1\",\"sessionId\":\"s\",\"message\":{\"id\":\"m\","
		"\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\n");
	expect_record(&import, 0, "{\"id\":\"t1\",\"role\":\"user\",\"content\":\"not in /tmp\"}");
	expect_counts(&import, 2, 0, 0, 1);
	assert_int_equal(import.conversations[0].foreign_id.len, 1);
	import_release(&import);
}

static void queued_words__without_an_answer_are_messages_too(void **state)
{
	static const char TEXT[] = CALL_OF_A
		ANSWER("b1", "a1", "{\"type\":\"tool_use\",\"id\":\"d\",\"name\":\"f\",\"input\":{}}")
		QUEUE("enqueue", "\"content\":\"first\",")
		QUEUE("remove", "")
		QUEUE("enqueue", "\"content\":\"second\",")
		"{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"b1\",\"sessionId\":\"A\",\"message\":{\"role\":\"user\",\"content\":\"stop\"}}\n"
		QUEUE("remove", "")
		ANSWER("a4", "u2", "{\"type\":\"text\",\"text\":\"Stopped.\"}");
	struct import import;
	(void)state;

	import_text(&import, NULL, TEXT);
	expect_counts(&import, 7, 2, 0, 6);
	expect_record(&import, 3, "{\"role\":\"user\",\"content\":\"first\"}");
	expect_record(&import, 4, "{\"id\":\"u2\",\"role\":\"user\",\"content\":\"stop\"}");
	expect_record(&import, 5, "{\"role\":\"user\",\"content\":\"second\"}");
	expect_record(&import, 6, "{\"id\":\"a4\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Stopped.\"}]}");
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unrelated_sessions_in_one_file__are_sessions_of_their_own),
		cmocka_unit_test(queued_words__are_told_when_they_never_became_a_message),
		cmocka_unit_test(queued_words__are_a_message_before_the_call_that_saw_them),
		cmocka_unit_test(queued_words__with_an_attachment_are_one_message),
		cmocka_unit_test(queued_words__that_begin_the_file_are_a_message),
		cmocka_unit_test(queued_words__without_an_answer_are_messages_too),
		cmocka_unit_test(one_message_over_lines__is_one_with_blocks_in_order),
		cmocka_unit_test(parallel_results__follow_the_message_in_the_order_of_its_calls),
		cmocka_unit_test(results_between_the_lines_of_a_message__do_not_part_it),
		cmocka_unit_test(result_after_the_model_went_on__is_late_and_leaves_the_head),
		cmocka_unit_test(progress_and_system_records__are_passed_through_to_the_message_above),
		cmocka_unit_test(sidechain__is_a_root_of_its_own_and_leaves_the_head),
		cmocka_unit_test(sidechain_first_in_the_file__comes_after_the_main_lines_first_message),
		cmocka_unit_test(edit_and_retry__are_branches_and_the_last_is_the_line),
		cmocka_unit_test(retry_of_the_same_message_id_elsewhere__is_another_message),
		cmocka_unit_test(what_the_client_put_in__is_not_the_persons_word),
		cmocka_unit_test(result_and_text_in_one_line__are_two_messages),
		cmocka_unit_test(compaction__goes_on_with_the_line_and_its_summary_has_an_origin),
		cmocka_unit_test(second_root__is_a_branch),
		cmocka_unit_test(file_that_begins_in_the_middle__keeps_its_orphan_result),
		cmocka_unit_test(glued_lines_and_a_second_copy__are_read_once),
		cmocka_unit_test(other_record_with_the_same_id__is_kept_without_it),
		cmocka_unit_test(error_message_of_the_client__is_not_the_models_word),
		cmocka_unit_test(what_stands_twice__is_stored_once_and_can_be_found_again),
		cmocka_unit_test(reserved_and_foreign_ids__are_given_anew_and_parents_follow),
		cmocka_unit_test(parents_in_a_circle__do_not_lose_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
