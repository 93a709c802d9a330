/* SPDX-License-Identifier: MIT */
/* The stream of OpenAI's responses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "stream.h"

#define E(type, members) "event: " type "\ndata: {\"type\":\"" type "\"" members "}\n\n"
#define TEXT(index, text)                                                                                    \
	E("response.output_text.delta", ",\"output_index\":" #index ",\"delta\":\"" text "\"")
#define ITEM(index, item) E("response.output_item.done", ",\"output_index\":" #index ",\"item\":" item)
#define USAGE                                                                                                \
	"\"usage\":{\"input_tokens\":36,\"input_tokens_details\":{\"cached_tokens\":20},\"output_tokens\":"  \
	"87}"
#define COMPLETED E("response.completed", ",\"response\":{\"status\":\"completed\"," USAGE "}")
#define USED "usage 36 20 -1 87\n"

static const struct protocol *const responses = &protocol_openai_responses;

static void text__in_pieces_or_only_when_done(void **state)
{
	(void)state;
	stream_assert(responses,
		E("response.created", ",\"response\":{\"id\":\"r\"}") E("response.output_item.added",
			",\"output_index\":0,\"item\":{\"type\":\"message\",\"content\":[]}") TEXT(0,
			"Hel") TEXT(0, "lo 你好") E("response.output_text.done",
			",\"text\":\"Hello 你好\"") ITEM(0,
			"{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello "
			"你好\"}]}") ITEM(1,
			"{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"!\"}]}")
			COMPLETED,
		"text Hel\ntext lo 你好\ntext !\n" USED "done stop completed\n");
}

static void calls__are_whole_when_their_item_is_done(void **state)
{
	(void)state;
	stream_assert(responses,
		ITEM(0, "{\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[], "
			"\"encrypted_content\":\"a\\/b=\"}") E("response.function_call_arguments.delta",
			",\"output_index\":1,\"delta\":\"{\\\"a\\\"\"") ITEM(1,
			"{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"c1\",\"name\":\"f\","
			"\"arguments\":\"{\\\"a\\\":1}\"}") ITEM(2,
			"{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"g\",\"arguments\":\"\"}")
			COMPLETED,
		"sealed {\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[], "
		"\"encrypted_content\":\"a\\/b=\"}\n"
		"call c1 f {\"a\":1}\ncall c2 g {}\n" USED "done tool_calls completed\n");
}

static void thinking__summaries(void **state)
{
	(void)state;
	stream_assert(responses, E("response.reasoning_summary_text.delta", ",\"delta\":\"hm\"") COMPLETED,
		"thinking hm\n" USED "done stop completed\n");
}

static void ends__complete_incomplete_failed_or_cut(void **state)
{
	(void)state;
	stream_assert(responses,
		TEXT(0, "a") E("response.incomplete",
			",\"response\":{\"incomplete_details\":{\"reason\":\"max_output_tokens\"}," USAGE
			"}"),
		"text a\n" USED "done length max_output_tokens\n");
	stream_assert(responses,
		E("response.incomplete", ",\"response\":{\"incomplete_details\":{\"reason\":\"content_"
					 "filter\"},\"usage\":null}"),
		"done content_filter content_filter\n");
	stream_assert(responses,
		E("response.failed",
			",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"it broke\"}}"),
		"error server 0 again the provider reported an error: it broke\n");
	stream_assert(responses,
		E("response.failed",
			",\"response\":{\"error\":{\"code\":\"context_length_exceeded\","
			"\"message\":\"Your input exceeds the context window of this model.\"}}"),
		"error overflow 0 once the provider reported an error: Your input exceeds the context window "
		"of this model.\n");
	stream_assert(responses, E("error", ",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\""),
		"error rate 0 again the provider reported an error: slow\n");
	stream_assert(responses, TEXT(0, "a"), "text a\nerror cut_off 0 once the bytes ended\n");
	stream_assert(responses,
		E("response.refusal.delta", ",\"output_index\":0,\"delta\":\"No.\"") COMPLETED,
		"text No.\n" USED "done content_filter completed\n");
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	stream_assert_memory(responses, TEXT(0, "a") ITEM(1, "{\"type\":\"reasoning\"}") ITEM(
						2, "{\"type\":\"function_call\",\"call_id\":\"c\\u0031\","
						   "\"name\":\"f\",\"arguments\":\"{}\"}") COMPLETED);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text__in_pieces_or_only_when_done),
		cmocka_unit_test(calls__are_whole_when_their_item_is_done),
		cmocka_unit_test(thinking__summaries),
		cmocka_unit_test(ends__complete_incomplete_failed_or_cut),
		cmocka_unit_test(memory__every_allocation_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
