/* SPDX-License-Identifier: MIT */
/* Sentences, questions, facts and topics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/buffer.h"
#include "model/facts.h"

static void assert_sentences(const char *text, const char *expected)
{
	struct slice rest = slice_of(text), sentence;
	struct buffer out = BUFFER_INIT(10000);
	buffer_add_text(&out, "");
	while (sentence_next(&rest, &sentence)) {
		buffer_add_slice(&out, sentence);
		buffer_add_char(&out, '|');
	}
	assert_string_equal(out.data ? out.data : "", expected);
	buffer_release(&out);
}

/* All facts of one sentence as "R value|", "N value|", "A key=value|", "O note|". */
static void assert_facts(const char *sentence, const char *expected)
{
	struct fact fact;
	struct buffer out = BUFFER_INIT(10000);
	size_t offset = 0;
	while (fact_next(slice_of(sentence), &offset, &fact)) {
		buffer_add_char(&out, "RNAO"[fact.kind]);
		buffer_add_char(&out, ' ');
		buffer_add_slice(&out, fact.key);
		if (fact.kind == FACT_ATTRIBUTE)
			buffer_add_char(&out, '=');
		buffer_add_slice(&out, fact.value);
		buffer_add_char(&out, '|');
	}
	assert_string_equal(out.data ? out.data : "", expected);
	buffer_release(&out);
}

static void sentences__cut_at_their_ends_only(void **state)
{
	(void)state;
	assert_sentences("One. Two! Three?", "One.|Two!|Three?|");
	assert_sentences("It costs 12.50 at v1.2.3 today", "It costs 12.50 at v1.2.3 today|");
	assert_sentences("a\n\n  b  \n", "a|b|");
	assert_sentences("好。我住在上海！是吗？", "好。|我住在上海！|是吗？|");
	assert_sentences(" \n ", "");
	assert_sentences("", "");
}

static void questions__told_from_statements(void **state)
{
	(void)state;
	static const char *const questions[] = {"where do I live", "What's up", "You live there?",
		"tell me my name", "我住在哪里", "你好吗", "Can you see this"};
	static const char *const statements[] = {"I live here.", "My whatnot is blue.",
		"Could you note that I left?", "Doors are open.", "我住在上海。", "Whatever works."};
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		assert_true(sentence_is_question(slice_of(questions[i])));
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		assert_false(sentence_is_question(slice_of(statements[i])));
}

static void facts__read(void **state)
{
	(void)state;
	assert_facts("I live in Shanghai, please note that.", "R Shanghai|");
	assert_facts("i live in New York and my name is Bo", "R New York|N Bo|");
	assert_facts("My order number is A-17, my budget is 12.50 euros.",
		"A order number=A-17|A budget=12.50 euros|");
	assert_facts("Remember that my dog is old.", "O my dog is old|A dog=old|");
	assert_facts("note: call back at 5", "O call back at 5|");
	assert_facts("My keys are under the mat; thanks.", "A keys=under the mat|");
	assert_facts("我住在上海，我叫小明。", "R 上海|N 小明|");
	assert_facts("我的生日是五月三日。", "A 生日=五月三日|");
	assert_facts("请记住门是红的。", "O 门是红的|");
}

static void facts__not_read_into_other_sentences(void **state)
{
	(void)state;
	assert_facts("We live in hope.", "");
	assert_facts("Do I live in Rome?", "");
	assert_facts("I live in", "");
	assert_facts("I live in .", "");
	assert_facts("My, this is nice.", "");
	assert_facts("Tommy is tired.", "");
	assert_facts("please note that", "");
	assert_facts("", "");
}

static void topics__every_word_that_means_something(void **state)
{
	(void)state;
	assert_true(text_is_about(SLICE_LITERAL("The printers jam."), SLICE_LITERAL("the printer")));
	assert_true(text_is_about(SLICE_LITERAL("Paint the DOOR red"), SLICE_LITERAL("red door")));
	assert_false(text_is_about(SLICE_LITERAL("Paint the door"), SLICE_LITERAL("red door")));
	assert_false(text_is_about(SLICE_LITERAL("blueprinter"), SLICE_LITERAL("printer")));
	assert_false(text_is_about(SLICE_LITERAL("what is the"), SLICE_LITERAL("what is the")));
	assert_true(text_is_about(SLICE_LITERAL("订单号是A17"), SLICE_LITERAL("订单号")));
	assert_false(text_is_about(SLICE_LITERAL("anything"), SLICE_LITERAL("")));
}

static void find__whole_words_without_case(void **state)
{
	(void)state;
	assert_int_equal(text_find(SLICE_LITERAL("recall, then Call it"), "call", 0), 13);
	assert_int_equal(text_find(SLICE_LITERAL("calling"), "call", 0), TEXT_NOT_FOUND);
	assert_int_equal(text_find(SLICE_LITERAL("a call"), "call", 3), TEXT_NOT_FOUND);
	assert_int_equal(text_find(SLICE_LITERAL("我住在"), "住", 0), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sentences__cut_at_their_ends_only),
		cmocka_unit_test(questions__told_from_statements),
		cmocka_unit_test(facts__read),
		cmocka_unit_test(facts__not_read_into_other_sentences),
		cmocka_unit_test(topics__every_word_that_means_something),
		cmocka_unit_test(find__whole_words_without_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
