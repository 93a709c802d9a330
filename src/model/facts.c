/* SPDX-License-Identifier: MIT */
/* See facts.h. */
#include "model/facts.h"

#include "base/utf8.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool matches_at(struct slice text, size_t at, const char *needle, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (lower(text.data[at + i]) != lower(needle[i]))
			return false;
	}
	if (is_word(needle[0]) && at > 0 && is_word(text.data[at - 1]))
		return false;
	return !is_word(needle[len - 1]) || at + len == text.len || !is_word(text.data[at + len]);
}

size_t text_find(struct slice text, const char *needle, size_t from)
{
	size_t len = strlen(needle);
	for (size_t at = from; at + len <= text.len; at++) {
		if (matches_at(text, at, needle, len))
			return at;
	}
	return TEXT_NOT_FOUND;
}

bool text_has(struct slice text, const char *needle)
{
	return text_find(text, needle, 0) != TEXT_NOT_FOUND;
}

struct slice text_trim(struct slice text)
{
	while (text.len > 0 && is_space(text.data[0])) {
		text.data++;
		text.len--;
	}
	while (text.len > 0 && is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

bool text_is_chinese(struct slice text)
{
	uint32_t code_point;
	for (size_t at = 0; at < text.len;) {
		unsigned len = utf8_decode(text.data + at, text.len - at, &code_point);
		if (len > 0 && code_point >= 0x4e00 && code_point <= 0x9fff)
			return true;
		at += len ? len : 1;
	}
	return false;
}

static const char *const ends[] = {"!", "?", "。", "！", "？"};
static const char *const clause_ends[] = {";", "，", "；", "、", "(", "（"};

/* The length of the first of `marks` that stands at `at`, else 0. */
static size_t mark_at(struct slice text, size_t at, const char *const *marks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(marks[i]);
		if (at + len <= text.len && memcmp(text.data + at, marks[i], len) == 0)
			return len;
	}
	return 0;
}

/* The length of the sign at `at` that ends a sentence, else 0. A full stop does it before white space
 * only: 12.50. */
static size_t end_at(struct slice text, size_t at)
{
	if (text.data[at] == '\n')
		return 1;
	if (text.data[at] == '.')
		return at + 1 == text.len || is_space(text.data[at + 1]) ? 1 : 0;
	return mark_at(text, at, ends, sizeof(ends) / sizeof(ends[0]));
}

bool sentence_next(struct slice *text, struct slice *ret_sentence)
{
	while (text->len > 0) {
		size_t at = 0, end = 0;
		while (at < text->len && (end = end_at(*text, at)) == 0)
			at++;
		struct slice sentence = text_trim((struct slice){text->data, at + end});
		text->data += at + end;
		text->len -= at + end;
		if (sentence.len > 0) {
			*ret_sentence = sentence;
			return true;
		}
	}
	return false;
}

struct slice sentence_without_end(struct slice sentence)
{
	for (size_t at = 0; at < sentence.len; at++) {
		size_t len = end_at(sentence, at);
		if (len > 0 && at + len == sentence.len)
			return text_trim((struct slice){sentence.data, at});
	}
	return sentence;
}

static bool begins_with_one_of(struct slice text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (text_find(text, words[i], 0) == 0)
			return true;
	}
	return false;
}

static bool has_one_of(struct slice text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (text_has(text, words[i]))
			return true;
	}
	return false;
}

bool sentence_is_question(struct slice sentence)
{
	static const char *const statements[] = {"remember that", "note that", "记住"};
	static const char *const openings[] = {"what", "what's", "where", "when", "who", "which", "how",
		"why", "do", "does", "did", "can", "could", "tell me", "please tell me"};
	static const char *const signs[] = {"?", "？", "哪", "什么", "多少", "几条", "吗"};
	if (has_one_of(sentence, statements, sizeof(statements) / sizeof(statements[0])))
		return false;
	return begins_with_one_of(sentence, openings, sizeof(openings) / sizeof(openings[0])) ||
	       has_one_of(sentence, signs, sizeof(signs) / sizeof(signs[0]));
}

struct pattern {
	const char *text;
	enum fact_kind kind;
	const char *verb; /* of FACT_ATTRIBUTE: what stands between key and value */
};

/* Of two at the same place the earlier one counts. */
static const struct pattern patterns[] = {
	{"I live in", FACT_RESIDENCE, NULL},
	{"I now live in", FACT_RESIDENCE, NULL},
	{"I moved to", FACT_RESIDENCE, NULL},
	{"my name is", FACT_NAME, NULL},
	{"remember that", FACT_NOTE, NULL},
	{"note that", FACT_NOTE, NULL},
	{"remember:", FACT_NOTE, NULL},
	{"note:", FACT_NOTE, NULL},
	{"my", FACT_ATTRIBUTE, "is"},
	{"my", FACT_ATTRIBUTE, "are"},
	{"我住在", FACT_RESIDENCE, NULL},
	{"我的名字是", FACT_NAME, NULL},
	{"我叫", FACT_NAME, NULL},
	{"记住", FACT_NOTE, NULL},
	{"我的", FACT_ATTRIBUTE, "是"},
};

#define KEY_BYTES_MAX 60

/* Up to where a clause goes that begins at `from`. */
static size_t clause_end(struct slice text, size_t from)
{
	static const char *const joints[] = {"and my", "and I", "but", "please"};
	for (size_t at = from; at < text.len; at++) {
		if (end_at(text, at) ||
			mark_at(text, at, clause_ends, sizeof(clause_ends) / sizeof(clause_ends[0])))
			return at;
		if (text.data[at] == ',' && (at + 1 == text.len || is_space(text.data[at + 1])))
			return at;
		for (size_t i = 0; at > from && i < sizeof(joints) / sizeof(joints[0]); i++) {
			size_t len = strlen(joints[i]);
			if (is_space(text.data[at - 1]) && at + len <= text.len &&
				matches_at(text, at, joints[i], len))
				return at;
		}
	}
	return text.len;
}

/* Key and value of "my KEY is VALUE" after the "my", which ends at `from`. */
static bool attribute_at(struct slice text, size_t from, const char *verb, struct fact *fact)
{
	size_t end = clause_end(text, from), at = text_find(text, verb, from);
	if (at == TEXT_NOT_FOUND || at >= end)
		return false;
	fact->key = text_trim((struct slice){text.data + from, at - from});
	at += strlen(verb);
	fact->value = text_trim((struct slice){text.data + at, end > at ? end - at : 0});
	return fact->key.len > 0 && fact->key.len <= KEY_BYTES_MAX;
}

static bool fact_at(struct slice text, size_t at, const struct pattern *pattern, struct fact *fact)
{
	size_t from = at + strlen(pattern->text);
	*fact = (struct fact){.kind = pattern->kind};
	if (pattern->kind == FACT_ATTRIBUTE)
		return attribute_at(text, from, pattern->verb, fact) && fact->value.len > 0;
	struct slice rest = {text.data + from, text.len - from};
	if (pattern->kind == FACT_NOTE) {
		fact->value = sentence_without_end(text_trim(rest));
		return fact->value.len > 0;
	}
	fact->value = text_trim((struct slice){rest.data, clause_end(text, from) - from});
	return fact->value.len > 0;
}

bool fact_next(struct slice sentence, size_t *offset, struct fact *ret_fact)
{
	if (sentence_is_question(sentence))
		return false;
	for (size_t at = *offset; at < sentence.len; at++) {
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
			size_t len = strlen(patterns[i].text);
			if (at + len > sentence.len || !matches_at(sentence, at, patterns[i].text, len) ||
				!fact_at(sentence, at, &patterns[i], ret_fact))
				continue;
			*offset = at + len;
			return true;
		}
	}
	return false;
}

/* The next run of letters, digits and non-ASCII bytes. */
static bool word_next(struct slice *text, struct slice *ret_word)
{
	size_t begin = 0, end;
	while (begin < text->len && !is_word(text->data[begin]) && !(text->data[begin] & 0x80))
		begin++;
	for (end = begin; end < text->len && (is_word(text->data[end]) || (text->data[end] & 0x80));)
		end++;
	*ret_word = (struct slice){text->data + begin, end - begin};
	text->data += end;
	text->len -= end;
	return ret_word->len > 0;
}

static bool word_is_empty_of_meaning(struct slice word)
{
	static const char *const words[] = {"a", "about", "am", "an", "and", "are", "at", "can", "did", "do",
		"does", "for", "from", "have", "how", "i", "in", "is", "it", "me", "my", "of", "on", "or",
		"please", "s", "say", "said", "see", "tell", "that", "the", "this", "to", "told", "was",
		"were", "what", "when", "where", "which", "who", "why", "with", "you", "your", "again"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i]) == word.len && matches_at(word, 0, words[i], word.len))
			return true;
	}
	return false;
}

/* Without word boundaries: "orders" is about "order", and Chinese has none. */
static bool contains(struct slice text, struct slice word)
{
	for (size_t at = 0; at + word.len <= text.len; at++) {
		size_t i = 0;
		while (i < word.len && lower(text.data[at + i]) == lower(word.data[i]))
			i++;
		if (i == word.len && (at == 0 || !is_word(word.data[0]) || !is_word(text.data[at - 1])))
			return true;
	}
	return false;
}

bool text_is_about(struct slice text, struct slice topic)
{
	struct slice word;
	bool any = false;
	while (word_next(&topic, &word)) {
		if (word_is_empty_of_meaning(word))
			continue;
		if (!contains(text, word))
			return false;
		any = true;
	}
	return any;
}
