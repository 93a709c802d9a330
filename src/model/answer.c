/* SPDX-License-Identifier: MIT */
/* See answer.h. */
#include "model/answer.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "model/facts.h"

#define QUOTE_BYTES_MAX 240
#define QUOTES_MAX 3
#define NOTE_TOOL SLICE_LITERAL("note")

static const char *const not_found[] = {"I can't find that in what I was shown.", "在我看到的内容里找不到。"};

/* Appends a quotation, shortened at a code point. */
static void add_quote(struct buffer *out, struct slice text)
{
	size_t len = utf8_truncate(text.data, text.len, QUOTE_BYTES_MAX);
	buffer_add(out, text.data, len);
	if (len < text.len)
		buffer_add_text(out, "…");
}

static void begin_sentence(struct buffer *out)
{
	if (out->len > 0)
		buffer_add_char(out, ' ');
}

/* A key asked for and a key stated name the same thing. */
static bool same_key(struct slice asked, struct slice stated)
{
	return text_is_about(stated, asked) && text_is_about(asked, stated);
}

/* The newest statement of this kind in the user's words. */
static bool find_fact(const struct seen *seen, enum fact_kind kind, struct slice key, struct fact *ret_fact)
{
	for (size_t i = seen->count; i-- > 0;) {
		struct slice text = seen->items[i].text, sentence;
		bool found = false;
		while (seen->items[i].kind == SEEN_USER && sentence_next(&text, &sentence)) {
			struct fact fact;
			for (size_t offset = 0; fact_next(sentence, &offset, &fact);) {
				if (fact.kind != kind || (kind == FACT_ATTRIBUTE && !same_key(key, fact.key)))
					continue;
				*ret_fact = fact;
				found = true;
			}
		}
		if (found)
			return true;
	}
	return false;
}

/* The last line about `topic` in a part that is not the user's words. */
static bool find_labelled(const struct seen *seen, struct slice topic, const struct seen_item **ret_item,
	struct slice *ret_line)
{
	for (size_t i = seen->count; i-- > 0;) {
		struct slice text = seen->items[i].text, sentence;
		bool found = false;
		while (seen->items[i].kind == SEEN_LABELLED && sentence_next(&text, &sentence)) {
			if (!text_is_about(sentence, topic) || sentence.data == seen->items[i].text.data)
				continue;
			*ret_item = &seen->items[i];
			*ret_line = sentence;
			found = true;
		}
		if (found)
			return true;
	}
	return false;
}

static void add_labelled(struct buffer *out, bool chinese, const struct seen_item *item, struct slice line)
{
	buffer_add_text(out, chinese ? "“" : "The part labelled \"");
	buffer_add_slice(out, item->label);
	buffer_add_text(out, chinese ? "”里写着：“" : "\" says: \"");
	add_quote(out, line);
	buffer_add_text(out, chinese ? "”。" : "\"");
	if (!chinese)
		buffer_add_char(out, '.');
}

/* Quotes the newest sentences of the user about `topic` (an empty topic: what was to be noted). True if
 * any. */
static bool add_sentences_about(const struct seen *seen, struct slice topic, bool chinese, struct buffer *out)
{
	struct slice found[QUOTES_MAX];
	size_t count = 0;
	for (size_t i = 0; i < seen->count; i++) {
		struct slice text = seen->items[i].text, sentence;
		while (seen->items[i].kind == SEEN_USER && sentence_next(&text, &sentence)) {
			struct fact fact;
			size_t offset = 0;
			if (sentence_is_question(sentence) ||
				!(topic.len ? text_is_about(sentence, topic)
					    : fact_next(sentence, &offset, &fact)))
				continue;
			if (count == QUOTES_MAX)
				memmove(found, found + 1, --count * sizeof(found[0]));
			found[count++] = sentence;
		}
	}
	for (size_t i = 0; i < count; i++) {
		buffer_add_text(
			out, i ? (chinese ? "，“" : ", \"") : (chinese ? "你说过：“" : "You said: \""));
		add_quote(out, sentence_without_end(found[i]));
		buffer_add_text(out, chinese ? "”" : "\"");
	}
	if (count > 0)
		buffer_add_text(out, chinese ? "。" : ".");
	return count > 0;
}

static void add_fact(struct buffer *out, bool chinese, const struct fact *fact)
{
	static const char *const before[][2] = {
		{"you live in ", "你住在"}, {"your name is ", "你的名字是"}, {"your ", "你的"}, {"", ""}};
	buffer_add_text(out, before[fact->kind][chinese]);
	if (fact->kind == FACT_ATTRIBUTE) {
		buffer_add_slice(out, fact->key);
		buffer_add_text(out, chinese ? "是" : " is ");
	}
	add_quote(out, fact->value);
}

static void answer_fact(const struct seen *seen, enum fact_kind kind, struct slice key, struct slice topic,
	bool chinese, struct buffer *out)
{
	struct fact fact;
	const struct seen_item *item;
	struct slice line;
	if (find_fact(seen, kind, key, &fact)) {
		buffer_add_text(out, chinese ? "你说过" : "You said ");
		add_fact(out, chinese, &fact);
		buffer_add_text(out, chinese ? "。" : ".");
	} else if (kind == FACT_ATTRIBUTE && add_sentences_about(seen, topic, chinese, out)) {
		return;
	} else if (find_labelled(seen, topic, &item, &line)) {
		add_labelled(out, chinese, item, line);
	} else {
		buffer_add_text(out, not_found[chinese]);
	}
}

static void answer_topic(const struct seen *seen, struct slice topic, bool chinese, struct buffer *out)
{
	const struct seen_item *item;
	struct slice line;
	if (add_sentences_about(seen, topic, chinese, out))
		return;
	if (find_labelled(seen, topic, &item, &line))
		add_labelled(out, chinese, item, line);
	else
		buffer_add_text(out, not_found[chinese]);
}

static void answer_count(const struct seen *seen, bool chinese, struct buffer *out)
{
	buffer_add_text(out, chinese ? "我能看到" : "I can see ");
	buffer_add_u64(out, seen->message_count);
	buffer_add_text(out, chinese ? "条消息" : seen->message_count == 1 ? " message" : " messages");
	for (size_t i = 0; i < seen->count; i++) {
		const struct seen_item *item = &seen->items[i];
		if (item->kind != SEEN_LABELLED ||
			item->text.len <= item->label.len + 2) /* nothing under it */
			continue;
		buffer_add_text(out, chinese ? "，还有“" : " and a part labelled \"");
		buffer_add_slice(out, item->label);
		buffer_add_text(out, chinese ? "”" : "\"");
	}
	buffer_add_text(out, chinese ? "。" : ".");
}

/* What follows the first of these words in the question, without its end. */
static bool topic_after(
	struct slice question, const char *const *words, size_t count, struct slice *ret_topic)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = text_find(question, words[i], 0);
		if (at == TEXT_NOT_FOUND)
			continue;
		at += strlen(words[i]);
		struct slice rest = {question.data + at, question.len - at};
		*ret_topic = sentence_without_end(text_trim(rest));
		return true;
	}
	return false;
}

/* "budget is again" → "budget". */
static struct slice key_asked(struct slice key)
{
	static const char *const tails[] = {
		"please", "again", "is", "are", "was", "是什么", "是多少", "是哪个", "是谁", "是"};
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t len = strlen(tails[i]);
		if (key.len > len &&
			text_find((struct slice){key.data + key.len - len, len}, tails[i], 0) == 0 &&
			((key.data[key.len - len] & 0x80) || key.data[key.len - len - 1] == ' '))
			key = text_trim((struct slice){key.data, key.len - len});
	}
	return key;
}

/* "关于X我说过什么" → "X". */
static struct slice topic_asked(struct slice topic)
{
	static const char *const tails[] = {"我说", "我都说", "我有没有说", "，"};
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		size_t at = text_find(topic, tails[i], 0);
		if (at != TEXT_NOT_FOUND && at > 0)
			topic.len = at;
	}
	return text_trim(topic);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void answer_question(const struct seen *seen, struct slice question, struct buffer *out)
{
	static const char *const counts[] = {"how many messages", "多少条消息", "几条消息"};
	static const char *const abouts[] = {"about", "关于"};
	static const char *const notes[] = {"ask you to remember", "ask you to note", "asked you to remember",
		"asked you to note", "tell you to remember", "do you remember", "让你记住"};
	static const char *const own[] = {"my", "我的"};
	bool chinese = text_is_chinese(question);
	struct slice topic;
	if (topic_after(question, counts, COUNT(counts), &topic)) {
		answer_count(seen, chinese, out);
	} else if (topic_after(question, abouts, COUNT(abouts), &topic) && topic.len > 0) {
		answer_topic(seen, topic_asked(topic), chinese, out);
	} else if (text_has(question, "I live") || text_has(question, "do I live") ||
		   text_has(question, "我住")) {
		struct slice living = chinese ? SLICE_LITERAL("住") : SLICE_LITERAL("live");
		answer_fact(seen, FACT_RESIDENCE, living, living, chinese, out);
	} else if (text_has(question, "my name") || text_has(question, "who am I") ||
		   text_has(question, "我叫") || text_has(question, "我的名字")) {
		struct slice name = chinese ? SLICE_LITERAL("名") : SLICE_LITERAL("name");
		answer_fact(seen, FACT_NAME, name, name, chinese, out);
	} else if (topic_after(question, own, COUNT(own), &topic) && key_asked(topic).len > 0) {
		answer_fact(seen, FACT_ATTRIBUTE, key_asked(topic), key_asked(topic), chinese, out);
	} else if (topic_after(question, notes, COUNT(notes), &topic)) {
		answer_topic(seen, SLICE_LITERAL(""), chinese, out);
	} else {
		answer_topic(seen, sentence_without_end(question), chinese, out);
	}
}

static bool answer_questions(const struct seen *seen, struct slice words, struct buffer *out)
{
	struct slice sentence;
	bool any = false;
	while (sentence_next(&words, &sentence)) {
		if (!sentence_is_question(sentence))
			continue;
		begin_sentence(out);
		answer_question(seen, sentence, out);
		any = true;
	}
	return any;
}

/* "Noted: you live in Shanghai; your name is Ana." A note is said only if no other fact is in its
 * sentence. */
static bool note_facts(struct slice words, struct buffer *out)
{
	bool chinese = text_is_chinese(words), any = false;
	struct slice sentence;
	while (sentence_next(&words, &sentence)) {
		struct fact fact, next;
		size_t offset = 0;
		bool more = fact_next(sentence, &offset, &fact);
		while (more) {
			next = fact;
			more = fact_next(sentence, &offset, &next);
			if (fact.kind != FACT_NOTE || !more) {
				buffer_add_text(out,
					any ? (chinese ? "；" : "; ") : (chinese ? "记下了：" : "Noted: "));
				add_fact(out, chinese, &fact);
				any = true;
			}
			fact = next;
		}
	}
	if (any)
		buffer_add_text(out, chinese ? "。" : ".");
	return any;
}

static void echo(const struct seen *seen, struct slice words, struct buffer *out)
{
	bool chinese = text_is_chinese(words);
	if (words.len > 0) {
		buffer_add_text(out, chinese ? "我看到你说：“" : "I have read your message: \"");
		add_quote(out, sentence_without_end(words));
		buffer_add_text(out, chinese ? "”。" : "\". ");
	}
	answer_count(seen, chinese, out);
}

static bool is_offered(const struct seen *seen, struct slice name)
{
	for (size_t i = 0; i < seen->tool_count; i++) {
		if (slice_equal(seen->tools[i], name))
			return true;
	}
	return false;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-';
}

static void skip(struct slice *text, size_t len)
{
	text->data += len;
	text->len -= len;
}

/* Takes one of `words` (a whole word) and the space around it off the front; the index + 1, or 0. */
static size_t take_one(struct slice *text, const char *const *words, size_t count)
{
	*text = text_trim(*text);
	for (size_t i = 0; i < count; i++) {
		if (text_find(*text, words[i], 0) == 0) {
			skip(text, strlen(words[i]));
			*text = text_trim(*text);
			return i + 1;
		}
	}
	return 0;
}

static int add_call(struct answer *answer, struct slice name, struct slice arguments)
{
	if (mem_grow((void **)&answer->calls, &answer->call_cap, answer->call_count + 1,
		    sizeof(*answer->calls)) < 0)
		return BOBBIN_ENOMEM;
	answer->calls[answer->call_count++] = (struct answer_call){name, arguments};
	return 0;
}

/* Takes "NAME" or "NAME with {…}" off the front. */
static bool take_call(struct slice *text, struct answer_call *ret_call)
{
	static const char *const withs[] = {"with", "用"};
	struct json arguments;
	size_t len = 0, used;
	while (len < text->len && is_name_byte(text->data[len]))
		len++;
	ret_call->name = (struct slice){text->data, len};
	ret_call->arguments = SLICE_LITERAL("{}");
	skip(text, len);
	if (len == 0 || !take_one(text, withs, COUNT(withs)))
		return len > 0;
	if (json_parse_prefix(text->data, text->len, &arguments, &used, NULL) == 0 &&
		arguments.type == JSON_OBJECT) {
		ret_call->arguments = (struct slice){arguments.text, arguments.len};
		skip(text, used);
	}
	return true;
}

static void say_not_offered(struct buffer *out, struct slice name)
{
	begin_sentence(out);
	buffer_add_text(out, "I was not offered a tool named ");
	buffer_add_slice(out, name);
	buffer_add_char(out, '.');
}

/* Reads "call A with {…} and B, then C" into the calls of round `wanted` (0: the first). False if the
 * words ask for no tool that is offered. */
static bool read_calls(
	const struct seen *seen, struct slice words, size_t wanted, struct answer *answer, int *ret_error)
{
	static const char *const verbs[] = {"call", "use", "调用"};
	static const char *const fillers[] = {"the tools", "the tool", "tools", "tool", "工具"};
	static const char *const joints[] = {
		"then", "and then", ", then", ", and", "and", ",", "然后", "和", "、", "，"};
	bool any = false;
	for (size_t v = 0; v < COUNT(verbs); v++) {
		size_t at = text_find(words, verbs[v], 0), round = 0;
		if (at == TEXT_NOT_FOUND || any)
			continue;
		struct slice rest = {words.data + at + strlen(verbs[v]), words.len - at - strlen(verbs[v])};
		struct answer_call call;
		for (;;) {
			take_one(&rest, verbs, COUNT(verbs));
			take_one(&rest, fillers, COUNT(fillers));
			if (!take_call(&rest, &call))
				break;
			if (!is_offered(seen, call.name)) {
				if (call.arguments.len > 2 && !any)
					say_not_offered(&answer->text, call.name);
				break;
			}
			any = true;
			if (round == wanted && (*ret_error = add_call(answer, call.name, call.arguments)) < 0)
				return true;
			size_t joint = take_one(&rest, joints, COUNT(joints));
			if (joint == 0)
				break;
			round += joint <= 3 || joint == 7;
		}
	}
	return any;
}

/* "Please note that", "remember": with a tool named note on offer, that is called with the user's words. */
static bool call_note(const struct seen *seen, struct slice words, struct answer *answer, int *ret_error)
{
	static const char *const verbs[] = {"note", "remember", "记住", "记下"};
	struct json_writer writer;
	bool asked = false;
	for (size_t v = 0; v < COUNT(verbs); v++)
		asked = asked || text_find(words, verbs[v], 0) != TEXT_NOT_FOUND;
	if (!asked || seen_rounds_since(seen) || sentence_is_question(words) || !is_offered(seen, NOTE_TOOL))
		return false;
	json_writer_init(&writer, &answer->arguments);
	json_begin_object(&writer);
	json_member_string(&writer, "text", words);
	json_end_object(&writer);
	*ret_error = buffer_error(&answer->arguments);
	if (*ret_error == 0)
		*ret_error = add_call(answer, NOTE_TOOL, buffer_slice(&answer->arguments));
	return true;
}

/* A note that was taken needs no report: the facts in it are acknowledged instead. */
static bool is_taken_note(const struct seen_item *item, bool failed)
{
	return !failed && slice_equal(item->name, NOTE_TOOL);
}

static bool answer_from_results(const struct seen *seen, size_t user, struct buffer *out)
{
	bool any = false;
	for (size_t i = user + 1; i < seen->count; i++) {
		const struct seen_item *item = &seen->items[i];
		if (item->kind != SEEN_RESULT)
			continue;
		bool failed = item->is_error ||
			      slice_starts_with(item->text, "[error]"); /* not every dialect has a flag */
		if (is_taken_note(item, failed))
			continue;
		begin_sentence(out);
		buffer_add_slice(out, item->name);
		buffer_add_text(out, failed ? " failed: " : " returned: ");
		add_quote(out, sentence_without_end(text_trim(item->text)));
		buffer_add_char(out, '.');
		any = true;
	}
	return any;
}

int answer_compose(const struct seen *seen, struct answer *ret_answer)
{
	*ret_answer = (struct answer){.calls = NULL};
	buffer_init(&ret_answer->text, LIMIT_REQUEST_BYTES);
	struct buffer *out = &ret_answer->text;
	size_t user = seen_last_user(seen);
	struct slice words = text_trim(seen_last_words(seen));
	int rc = 0;
	buffer_init(&ret_answer->arguments, LIMIT_REQUEST_BYTES);
	if (!read_calls(seen, words, seen_rounds_since(seen), ret_answer, &rc))
		call_note(seen, words, ret_answer, &rc);
	if (rc < 0)
		return rc;
	bool said = ret_answer->call_count > 0 || out->len > 0;
	if (!said && !answer_from_results(seen, user, out) && !answer_questions(seen, words, out) &&
		!note_facts(words, out))
		echo(seen, words, out);
	return buffer_error(out);
}

void answer_release(struct answer *answer)
{
	buffer_release(&answer->text);
	buffer_release(&answer->arguments);
	mem_free(answer->calls);
	*answer = (struct answer){.calls = NULL};
}
