/* SPDX-License-Identifier: MIT */
/* The stream of Anthropic's messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "stream.h"

#define E(type, members) "event: " type "\ndata: {\"type\":\"" type "\"" members "}\n\n"
#define MESSAGE_START                                                                                        \
	E("message_start", ",\"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[],\"usage\":" \
			   "{\"input_tokens\":25,\"cache_creation_input_tokens\":4,"                         \
			   "\"cache_read_input_tokens\":300,\"output_tokens\":1}}")
#define START(index, block) E("content_block_start", ",\"index\":" #index ",\"content_block\":" block)
#define DELTA(index, delta) E("content_block_delta", ",\"index\":" #index ",\"delta\":" delta)
#define STOP(index) E("content_block_stop", ",\"index\":" #index)
#define TEXT(index, text) DELTA(index, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define INPUT(index, text) DELTA(index, "{\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"}")
#define PING E("ping", "")
#define MESSAGE_DELTA(word)                                                                                  \
	E("message_delta", ",\"delta\":{\"stop_reason\":\"" word "\",\"stop_sequence\":null},"               \
			   "\"usage\":{\"output_tokens\":15}")
#define MESSAGE_STOP E("message_stop", "")
#define USED "usage 25 300 4 15\n"

static const struct protocol *const anthropic = &protocol_anthropic;

static void text__with_pings_and_cumulative_usage(void **state)
{
	(void)state;
	stream_assert(anthropic,
		MESSAGE_START START(0, "{\"type\":\"text\",\"text\":\"\"}") PING TEXT(0, "Hel")
			TEXT(0, "lo 🇨🇳") STOP(0) MESSAGE_DELTA("end_turn") MESSAGE_STOP,
		"text Hel\ntext lo 🇨🇳\n" USED "done stop end_turn\n");
}

static void calls__input_in_pieces_whole_or_absent(void **state)
{
	(void)state;
	stream_assert(anthropic,
		MESSAGE_START START(0, "{\"type\":\"text\",\"text\":\"ok\"}") STOP(0) START(
			1, "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"ls\",\"input\":{}}") INPUT(1,
			"") INPUT(1, "{\\\"path\\\":") PING INPUT(1, " \\\"/a\\\"}") STOP(1) START(2,
			"{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"now\",\"input\":{}}") STOP(2)
			START(3, "{\"type\":\"tool_use\",\"id\":\"t3\",\"name\":\"at\",\"input\":{\"x\": 1}}")
				STOP(3) MESSAGE_DELTA("tool_use") MESSAGE_STOP,
		"text ok\ncall t1 ls {\"path\": \"/a\"}\ncall t2 now {}\ncall t3 at {\"x\": 1}\n" USED
		"done tool_calls tool_use\n");
}

/* Case X37: pieces find their own block. */
static void x37__interleaved_blocks(void **state)
{
	(void)state;
	stream_assert(anthropic,
		START(0, "{\"type\":\"tool_use\",\"id\":\"t0\",\"name\":\"f\",\"input\":{}}") START(
			1, "{\"type\":\"text\",\"text\":\"\"}")
			START(2, "{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"g\",\"input\":{}}") INPUT(
				0, "{\\\"a\\\"") TEXT(1, "x") INPUT(2, "{") INPUT(0, ":0}") TEXT(1, "y")
				INPUT(2, "}") STOP(2) STOP(1) STOP(0) START(3,
					"{\"type\":\"tool_use\",\"id\":\"t3\",\"name\":\"h\",\"input\":{}}")
					INPUT(3, "{}") STOP(3) MESSAGE_DELTA("tool_use") MESSAGE_STOP,
		"text x\ntext y\ncall t2 g {}\ncall t0 f {\"a\":0}\ncall t3 h {}\nusage -1 -1 -1 15\n"
		"done tool_calls tool_use\n");
}

static void sealed__thinking_with_its_signature_exactly(void **state)
{
	(void)state;
	stream_assert(anthropic,
		START(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\", \"extra\" : 1.50}")
			DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"let \\\"me\\\"\"}") DELTA(
				0, "{\"type\":\"thinking_delta\",\"thinking\":\" see\\n\"}")
				DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"EqQ/+ab=\"}") STOP(0)
					START(1, "{\"type\":\"redacted_thinking\",\"data\":\"opa\\/que==\"}")
						STOP(1) MESSAGE_DELTA("end_turn") MESSAGE_STOP,
		"thinking let \"me\"\nthinking  see\n\n"
		"sealed {\"type\":\"thinking\",\"thinking\":\"let \\\"me\\\" "
		"see\\n\",\"signature\":\"EqQ/+ab=\", \"extra\" : 1.50}\n"
		"sealed {\"type\":\"redacted_thinking\",\"data\":\"opa\\/que==\"}\n"
		"usage -1 -1 -1 15\ndone stop end_turn\n");
}

static void sealed__what_the_provider_ran_itself_and_unknown_kinds(void **state)
{
	(void)state;
	stream_assert(anthropic,
		START(0, "{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{}}")
			INPUT(0, "{\\\"query\\\":\\\"x\\\"}") STOP(0) START(1,
				"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[{"
				"\"url\":\"u\"}]}") STOP(1) START(2, "{\"type\":\"hologram\",\"z\":[1,2]}")
				STOP(2) MESSAGE_DELTA("end_turn") MESSAGE_STOP,
		"sealed "
		"{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{\"query\":"
		"\"x\"}}\n"
		"sealed "
		"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[{\"url\":\"u\"}]}\n"
		"sealed {\"type\":\"hologram\",\"z\":[1,2]}\nusage -1 -1 -1 15\ndone stop end_turn\n");
}

static void stops__what_the_words_mean(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"stop_sequence", "stop"},
		{"max_tokens", "length"},
		{"refusal", "content_filter"},
		{"model_context_window_exceeded", "length"},
		{"pause_turn", "pause"},
		{"compaction", "other"},
	};
	struct buffer text = BUFFER_INIT(10000), expected = BUFFER_INIT(10000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buffer_clear(&text);
		buffer_clear(&expected);
		buffer_addf(&text,
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\"}}\n\n"
			"data: {\"type\":\"message_stop\"}\n\n",
			cases[i][0]);
		buffer_addf(&expected, "done %s %s\n", cases[i][1], cases[i][0]);
		stream_assert(anthropic, text.data, expected.data);
	}
	buffer_release(&text);
	buffer_release(&expected);
}

static void end__only_message_stop_is_success(void **state)
{
	(void)state;
	stream_assert(anthropic,
		MESSAGE_START START(0, "{\"type\":\"text\",\"text\":\"\"}") TEXT(0, "a") STOP(0)
			MESSAGE_DELTA("end_turn"),
		"text a\n" USED "error cut_off 0 once the bytes ended\n");
	/* What was used before the cut was paid; a call that is not whole is not given. */
	stream_assert(anthropic,
		MESSAGE_START START(0, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"rm\",\"input\":{}}")
			INPUT(0, "{\\\"path\\\":\\\"/"),
		"usage 25 300 4 1\nerror cut_off 0 once the bytes ended\n");
	stream_assert(anthropic, MESSAGE_DELTA("end_turn") MESSAGE_STOP TEXT(0, "late") MESSAGE_STOP,
		"usage -1 -1 -1 15\ndone stop end_turn\n");
}

static void errors__by_their_type(void **state)
{
	(void)state;
#define ERROR(type, words) E("error", ",\"error\":{\"type\":\"" type "\",\"message\":\"" words "\"}")
	stream_assert(anthropic, MESSAGE_START ERROR("overloaded_error", "Overloaded"),
		"usage 25 300 4 1\nerror server 0 again the provider reported an error: Overloaded\n");
	stream_assert(anthropic,
		START(0, "{\"type\":\"text\",\"text\":\"\"}") TEXT(0, "a")
			ERROR("overloaded_error", "Overloaded"),
		"text a\nerror server 0 once the provider reported an error: Overloaded\n");
	stream_assert(anthropic, ERROR("rate_limit_error", "slow"),
		"error rate 0 again the provider reported an error: slow\n");
	stream_assert(anthropic, ERROR("invalid_request_error", "prompt is too long: 2 > 1"),
		"error overflow 0 once the provider reported an error: prompt is too long: 2 > 1\n");
	stream_assert(anthropic, ERROR("authentication_error", "bad"),
		"error auth 0 once the provider reported an error: bad\n");
	/* Without the field "event". */
	stream_assert(anthropic,
		"data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}\n\n",
		"error server 0 again the provider reported an error: x\n");
}

static void oddities__are_skipped(void **state)
{
	(void)state;
	stream_assert(anthropic,
		E("future_event", ",\"x\":1") TEXT(7, "nobody") STOP(7) E("content_block_start", "")
			E("content_block_start", ",\"index\":0,\"content_block\":[]") E("message_start", "")
				START(0, "{\"type\":\"text\",\"text\":\"a\"}")
					DELTA(0, "{\"type\":\"citations_delta\",\"citation\":{}}") STOP(0)
						E("message_delta", "") MESSAGE_STOP,
		"text a\ndone other \n");
	/* Blocks that were never stopped end with the message. */
	stream_assert(anthropic,
		START(0, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}") INPUT(0, "{}")
			MESSAGE_DELTA("tool_use") MESSAGE_STOP,
		"call t f {}\nusage -1 -1 -1 15\ndone tool_calls tool_use\n");
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	stream_assert_memory(anthropic,
		MESSAGE_START START(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")
			DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"a\\n\"}")
				DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"s\"}") STOP(0) START(
					1, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}")
					INPUT(1, "{}") STOP(1) MESSAGE_DELTA("tool_use") MESSAGE_STOP);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text__with_pings_and_cumulative_usage),
		cmocka_unit_test(calls__input_in_pieces_whole_or_absent),
		cmocka_unit_test(x37__interleaved_blocks),
		cmocka_unit_test(sealed__thinking_with_its_signature_exactly),
		cmocka_unit_test(sealed__what_the_provider_ran_itself_and_unknown_kinds),
		cmocka_unit_test(stops__what_the_words_mean),
		cmocka_unit_test(end__only_message_stop_is_success),
		cmocka_unit_test(errors__by_their_type),
		cmocka_unit_test(oddities__are_skipped),
		cmocka_unit_test(memory__every_allocation_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
