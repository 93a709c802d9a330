/* SPDX-License-Identifier: MIT */
/* The reader of bobbin's own records: logs, and what `show --json` prints. */
#include "transcript/imported.h"

#define HEADER "{\"type\":\"session\",\"id\":\"s-1\",\"owner\":\"ana\",\"v\":1,\"crc\":\"00000000\"}\n"
#define USER(seq, text)                                                                                      \
	"{\"seq\":" seq ",\"role\":\"user\",\"content\":\"" text "\",\"ts\":\"t\",\"crc\":\"00000000\"}\n"

static void log_of_one_line__keeps_every_member_but_seq_and_crc(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER USER("1",
			"h\\/i") "{\"seq\":2,\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":"
				 "\"c1\",\"name\":\"ls\",\"arguments\":\"{}\"}],"
				 "\"x\":[1.10, -0],\"crc\":\"00000000\"}\n"
				 "{\"seq\":3,\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"y\","
				 "\"crc\":\"00000000\"}\n"
				 "{\"seq\":4,\"type\":\"usage\",\"for\":\"m2\",\"crc\":\"00000000\"}\n" USER(
					 "5", "more"));
	assert_string_equal(import.format, "bobbin");
	assert_int_equal(import.conversations[0].foreign_id.len, 3);
	expect_counts(&import, 4, 1, 1, 3);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"h\\/i\",\"ts\":\"t\"}");
	expect_record(&import, 1,
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"ls\","
		"\"arguments\":\"{}\"}],"
		"\"x\":[1.10, -0]}");
	expect_record(&import, 3, "{\"role\":\"user\",\"content\":\"more\",\"ts\":\"t\"}");
	assert_true(has_warning(&import, 5, "left out: 1 record that is no message"));
	import_release(&import);
}

static void reserved_ids__are_given_anew_and_parents_follow(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER USER("3", "one") USER(
			"4", "two") "{\"seq\":6,\"parent\":\"m3\",\"branch\":true,\"role\":\"user\","
				    "\"content\":\"other two\"}\n"
				    "{\"seq\":7,\"parent\":\"m4\",\"role\":\"user\",\"content\":\"beside\"}\n"
				    "{\"seq\":8,\"id\":\"own\",\"role\":\"user\",\"content\":\"three\"}\n");
	expect_counts(&import, 5, 0, 0, 4);
	expect_record(&import, 0, "{\"id\":\"i-1\",\"role\":\"user\",\"content\":\"one\",\"ts\":\"t\"}");
	expect_record(&import, 1, "{\"id\":\"i-2\",\"role\":\"user\",\"content\":\"two\",\"ts\":\"t\"}");
	expect_record(&import, 2,
		"{\"parent\":\"i-1\",\"branch\":true,\"role\":\"user\",\"content\":\"other two\"}");
	expect_record(&import, 3, "{\"parent\":\"i-2\",\"role\":\"user\",\"content\":\"beside\"}");
	expect_record(&import, 4, "{\"id\":\"own\",\"role\":\"user\",\"content\":\"three\"}");
	import_release(&import);
}

static void shown_lines__may_carry_their_ids(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"id\":\"m1\",\"seq\":1,\"role\":\"user\",\"content\":\"one\"}\n"
		"{\"id\":\"m2\",\"seq\":2,\"parent\":\"m1\",\"role\":\"assistant\",\"content\":\"two\"}\n");
	expect_counts(&import, 2, 0, 0, 1);
	expect_record(&import, 0, "{\"role\":\"user\",\"content\":\"one\"}");
	expect_record(&import, 1, "{\"role\":\"assistant\",\"content\":\"two\"}");
	import_release(&import);
}

static void rewind__shows_in_the_next_parent_or_in_the_head(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER USER("1", "one") USER(
			"2", "two") "{\"seq\":3,\"type\":\"rewind\",\"to\":\"m1\"}\n" USER("4", "three"));
	expect_counts(&import, 3, 0, 0, 2);
	expect_record(&import, 2,
		"{\"parent\":\"i-1\",\"branch\":true,\"role\":\"user\",\"content\":\"three\",\"ts\":\"t\"}");
	import_release(&import);

	import_text(&import, NULL,
		HEADER USER("1", "one") USER("2", "two") "{\"seq\":3,\"type\":\"rewind\",\"to\":\"m1\"}\n");
	expect_counts(&import, 2, 0, 0, 0);
	import_release(&import);
}

static void late_result__hangs_from_its_call(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		"{\"seq\":1,\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"ls\"}]}\n"
		"{\"seq\":2,\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"?\",\"marker\":"
		"\"unknown\"}\n" USER("3", "more") "{\"seq\":4,\"role\":\"tool\",\"tool_call_id\":\"c1\","
						   "\"content\":\"real\"}\n" USER("5", "on"));
	expect_counts(&import, 5, 1, 2, 4);
	expect_record(&import, 3, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"real\"}");
	expect_record(&import, 4, "{\"role\":\"user\",\"content\":\"on\",\"ts\":\"t\"}");
	import_release(&import);
}

static void record_of_the_wrong_shape__is_left_out_with_its_line(void **state)
{
	struct import import;
	(void)state;

	import_text(&import, NULL,
		HEADER "{\"seq\":1,\"role\":\"user\",\"content\":{\"a\":1}}\n" USER("2", "ok"));
	expect_counts(&import, 1, 0, 0, 0);
	assert_true(has_warning(&import, 2, "\"content\""));
	import_release(&import);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_of_one_line__keeps_every_member_but_seq_and_crc),
		cmocka_unit_test(reserved_ids__are_given_anew_and_parents_follow),
		cmocka_unit_test(shown_lines__may_carry_their_ids),
		cmocka_unit_test(rewind__shows_in_the_next_parent_or_in_the_head),
		cmocka_unit_test(late_result__hangs_from_its_call),
		cmocka_unit_test(record_of_the_wrong_shape__is_left_out_with_its_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
