/* SPDX-License-Identifier: MIT */
/* The stream of chat completions, as OpenAI sends it and as others imitate it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "stream.h"

#define D(json) "data: " json "\n\n"
#define DELTA(json) D("{\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":" json "}]}")
#define CALLS(json) DELTA("{\"tool_calls\":[" json "]}")
#define FINISH(word)                                                                                         \
	D("{\"id\":\"r1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}]}")
#define USAGE                                                                                                \
	D("{\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5,"                         \
	  "\"prompt_tokens_details\":{\"cached_tokens\":8}}}")
#define END D("[DONE]")

static const struct protocol *const chat = &protocol_openai_chat;

static void text__pieces_leave_as_they_came(void **state)
{
	(void)state;
	stream_assert(chat,
		DELTA("{\"role\":\"assistant\",\"content\":\"\"}") DELTA("{\"content\":\"Hel\"}")
			DELTA("{\"content\":\"lo 你好🇨🇳\"}") FINISH("stop") USAGE END,
		"text Hel\ntext lo 你好🇨🇳\nusage 12 8 -1 5\ndone stop stop\n");
}

/* Case G1. */
static void g1__pieces_of_two_calls_only_the_first_with_ids(void **state)
{
	(void)state;
	stream_assert(chat,
		CALLS("{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
		      "\"arguments\":\"\"}}") CALLS("{\"index\":1,\"id\":\"c2\",\"type\":\"function\","
						    "\"function\":{\"name\":\"g\",\"arguments\":\"\"}}")
			CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"ci\"}}")
				CALLS("{\"index\":1,\"function\":{\"arguments\":\"{\\\"q\\\":\"}}") CALLS(
					"{\"index\":0,\"function\":{\"arguments\":\"ty\\\":\\\"Pa\"}}")
					CALLS("{\"index\":1,\"function\":{\"arguments\":\"1}\"}}") CALLS(
						"{\"index\":0,\"function\":{\"arguments\":\"ris\\\"}\"}}")
						FINISH("tool_calls") END,
		"call c1 f {\"city\":\"Paris\"}\ncall c2 g {\"q\":1}\ndone tool_calls tool_calls\n");
}

static void g1__id_and_name_on_every_piece_are_taken_once(void **state)
{
	(void)state;
	stream_assert(chat,
		CALLS("{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\"}}")
			CALLS("{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"\\\":"
			      "1\"}}") CALLS("{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\","
					     "\"arguments\":\"}\"}}") FINISH("tool_calls") END,
		"call c1 f {\"a\":1}\ndone tool_calls tool_calls\n");
}

/* Cases G1 and X34. */
static void x34__whole_calls_in_one_piece(void **state)
{
	(void)state;
	stream_assert(chat,
		CALLS("{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}"
		      "\"}},"
		      "{\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}")
			FINISH("tool_calls") END,
		"call c1 f {\"a\":1}\ncall c2 g {}\ndone tool_calls tool_calls\n");
}

static void g1__no_index_at_all(void **state)
{
	(void)state;
	static const char expected[] =
		"call c1 f {\"a\":1}\ncall c2 g {\"b\":2}\ndone tool_calls tool_calls\n";
	stream_assert(chat,
		CALLS("{\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}")
			CALLS("{\"function\":{\"arguments\":\":1}\"}}") CALLS(
				"{\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\\"b\\\"\"}}")
				CALLS("{\"function\":{\"arguments\":\":2}\"}}") FINISH("tool_calls") END,
		expected);
	/* … and every call numbered 0 */
	stream_assert(chat,
		CALLS("{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}"
		      "\"}}") CALLS("{\"index\":0,\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":"
				    "\"{\\\"b\\\":2}\"}}") FINISH("tool_calls") END,
		expected);
}

static void ids__missing_ones_are_made_of_the_response(void **state)
{
	(void)state;
	stream_assert(chat,
		CALLS("{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}")
			CALLS("{\"function\":{\"name\":\"g\"}}") FINISH("stop") END,
		"call r1-0 f {\"a\":1}\ncall r1-1 g {}\ndone tool_calls stop\n");
}

/* Cases G1 and X37: text comes before, between and after the pieces of three calls. */
static void x37__text_among_the_pieces_of_three_calls(void **state)
{
	(void)state;
	stream_assert(chat,
		DELTA("{\"content\":\"a\",\"tool_calls\":[{\"index\":0,\"id\":\"c0\",\"function\":{\"name\":"
		      "\"f\",\"arguments\":\"{\"}}]}")
			CALLS("{\"index\":1,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"[\"}}")
				DELTA("{\"content\":\"b\"}") CALLS("{\"index\":2,\"id\":\"c2\",\"function\":{"
								   "\"name\":\"f\",\"arguments\":\"1\"}}")
					CALLS("{\"index\":0,\"function\":{\"arguments\":\"}\"}},{\"index\":2,"
					      "\"function\":{\"arguments\":\"2\"}}")
						CALLS("{\"index\":1,\"function\":{\"arguments\":\"]\"}}")
							DELTA("{\"content\":\"c\"}") FINISH("tool_calls") END,
		"text a\ntext b\ntext c\ncall c0 f {}\ncall c1 f []\ncall c2 f 12\ndone tool_calls "
		"tool_calls\n");
}

static void surrogates__a_pair_in_two_pieces_is_one_character(void **state)
{
	(void)state;
	stream_assert(chat,
		DELTA("{\"content\":\"x\\ud83d\"}") DELTA("{\"content\":\"\\ude00y\"}") FINISH("stop") END,
		"text x\ntext 😀y\ndone stop stop\n");
	stream_assert(chat, DELTA("{\"content\":\"x\\ud83d\"}") FINISH("stop") END,
		"text x\ntext \xEF\xBF\xBD\ndone stop stop\n");
	stream_assert(chat, DELTA("{\"content\":\"\\ude00x\\ud83dy\"}") FINISH("stop") END,
		"text \xEF\xBF\xBDx\xEF\xBF\xBDy\ndone stop stop\n");
	stream_assert(chat,
		CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":"
		      "\\\"\\ud83d\"}}") CALLS("{\"index\":0,\"function\":{\"arguments\":\"\\ude00\\\"}\"}}")
			FINISH("tool_calls") END,
		"call c f {\"a\":\"😀\"}\ndone tool_calls tool_calls\n");
}

static void thinking__in_its_shapes(void **state)
{
	(void)state;
	stream_assert(chat,
		DELTA("{\"reasoning_content\":\"hm\",\"content\":null}") DELTA("{\"reasoning\":\" so\"}")
			DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
			      "\"text\":\"mm\"}]},"
			      "{\"type\":\"text\",\"text\":\"ok\"}]}") FINISH("stop") END,
		"thinking hm\nthinking  so\nthinking mm\ntext ok\ndone stop stop\n");
}

static void stops__what_the_words_mean(void **state)
{
	(void)state;
	stream_assert(chat, FINISH("length") END, "done length length\n");
	stream_assert(chat, FINISH("content_filter") END, "done content_filter content_filter\n");
	stream_assert(chat, FINISH("insufficient_system_resource") END,
		"done other insufficient_system_resource\n");
	stream_assert(chat, DELTA("{\"refusal\":\"No.\"}") FINISH("stop") END,
		"text No.\ndone content_filter stop\n");
}

static void end__only_finish_reason_is_success(void **state)
{
	(void)state;
	/* Some servers leave out the end mark, some usage. */
	stream_assert(chat, DELTA("{\"content\":\"a\"}") FINISH("stop"), "text a\ndone stop stop\n");
	stream_assert(chat, DELTA("{\"content\":\"a\"}"), "text a\nerror cut_off 0 once the bytes ended\n");
	stream_assert(chat, DELTA("{\"content\":\"a\"}") USAGE,
		"text a\nusage 12 8 -1 5\nerror cut_off 0 once the bytes ended\n");
	stream_assert(chat, DELTA("{\"content\":\"a\"}") END,
		"text a\nerror cut_off 0 once the provider ended the answer without saying that it is "
		"finished\n");
	stream_assert(chat, "", "error cut_off 0 once the bytes ended\n");
	/* A call whose pieces were cut is not given. */
	stream_assert(chat,
		CALLS("{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"rm\",\"arguments\":\"{\\\"path\\\":"
		      "\\\"/tmp\"}}"),
		"error cut_off 0 once the bytes ended\n");
}

static void errors__in_the_middle_of_the_stream(void **state)
{
	(void)state;
	stream_assert(chat,
		DELTA("{\"content\":\"a\"}") D("{\"error\":{\"message\":\"engine\\nfell "
					       "over\",\"type\":\"server_error\",\"code\":null}}"),
		"text a\nerror server 0 once the provider reported an error: engine fell over\n");
	stream_assert(chat, D("{\"error\":{\"message\":\"slow down\",\"code\":429}}"),
		"error rate 0 again the provider reported an error: slow down\n");
	stream_assert(chat, D("{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}"),
		"error overflow 0 once the provider reported an error: too long\n");
	stream_assert(chat, "event: error\n" D("{\"message\":\"boom\"}"),
		"error server 0 again the provider reported an error: boom\n");
}

static void garbage__is_a_failure_of_the_protocol(void **state)
{
	(void)state;
	static const char words[] =
		"error protocol 0 once the provider sent an event that is not a JSON object\n";
	stream_assert(chat, D("{\"choices\":[{"), words);
	stream_assert(chat, D("[1]"), words);
	stream_assert(chat, D("hello"), words);
	stream_assert(chat, CALLS("{\"index\":0,\"id\":\"c\"}") FINISH("tool_calls") END,
		"error protocol 0 once the answer has a tool call without a name\n");
	/* Shapes that are only odd are skipped. */
	stream_assert(chat,
		D("{\"choices\":null}")
			D("{\"choices\":[1,{\"delta\":7},{\"index\":1,\"delta\":{\"content\":\"no\"}}]}")
				D("{}") DELTA("{\"content\":7,\"tool_calls\":\"x\"}") FINISH("stop") END,
		"done stop stop\n");
	/* Bytes that are not UTF-8 become U+FFFD. */
	stream_assert(chat,
		DELTA("{\"content\":\"a\xFF"
		      "b\"}") FINISH("stop") END,
		"text a\xEF\xBF\xBD"
		"b\ndone stop stop\n");
}

static void terminal__nothing_after_it(void **state)
{
	(void)state;
	stream_assert(chat, FINISH("stop") END DELTA("{\"content\":\"late\"}") FINISH("length"),
		"done stop stop\n");
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	stream_assert_memory(chat,
		DELTA("{\"content\":\"a\\ud83d\\ude00b\",\"reasoning_content\":\"hm\"}")
			CALLS("{\"index\":0,\"id\":\"c\\u0031\",\"function\":{\"name\":\"f\",\"arguments\":"
			      "\"{\\\"a\\\"\"}}") CALLS(
				"{\"index\":0,\"id\":\"c\\u0031\",\"function\":{\"arguments\":\":1}\"}}")
				CALLS("{\"index\":1,\"function\":{\"name\":\"g\"}}") FINISH("tool_calls")
					USAGE END);
	stream_assert_memory(chat, D("{\"error\":{\"message\":\"slow \\u00e9\",\"code\":429}}"));
	stream_assert_memory(chat, DELTA("{\"content\":\"a\xFF"
					 "b\"}"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text__pieces_leave_as_they_came),
		cmocka_unit_test(g1__pieces_of_two_calls_only_the_first_with_ids),
		cmocka_unit_test(g1__id_and_name_on_every_piece_are_taken_once),
		cmocka_unit_test(x34__whole_calls_in_one_piece),
		cmocka_unit_test(g1__no_index_at_all),
		cmocka_unit_test(ids__missing_ones_are_made_of_the_response),
		cmocka_unit_test(x37__text_among_the_pieces_of_three_calls),
		cmocka_unit_test(surrogates__a_pair_in_two_pieces_is_one_character),
		cmocka_unit_test(thinking__in_its_shapes),
		cmocka_unit_test(stops__what_the_words_mean),
		cmocka_unit_test(end__only_finish_reason_is_success),
		cmocka_unit_test(errors__in_the_middle_of_the_stream),
		cmocka_unit_test(garbage__is_a_failure_of_the_protocol),
		cmocka_unit_test(terminal__nothing_after_it),
		cmocka_unit_test(memory__every_allocation_failing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
