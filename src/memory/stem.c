/* SPDX-License-Identifier: MIT */
/*
 * The five steps of the paper. A rule has an ending, what takes its place, and the least measure (number of vowel-consonant
 * groups) of what comes before it. Of the rules of a step the first whose ending fits decides, whether it may change the word
 * or not; so longer endings stand before shorter ones that they end with.
 */
#include "memory/stem.h"
#include <stdbool.h>
#include <string.h>

struct rule {
	const char *ending, *becomes;
	int measure; /* of the rest, at least */
};

static bool is_vowel(const char *word, size_t at)
{
	switch (word[at]) {
	case 'a':
	case 'e':
	case 'i':
	case 'o':
	case 'u':
		return true;
	case 'y':
		return at > 0 && !is_vowel(word, at - 1);
	default:
		return false;
	}
}

static int measure(const char *word, size_t len)
{
	int count = 0;

	for (size_t i = 1; i < len; i++)
		count += is_vowel(word, i - 1) && !is_vowel(word, i);
	return count;
}

static bool has_vowel(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_vowel(word, i))
			return true;
	return false;
}

static bool ends_double(const char *word, size_t len)
{
	return len > 1 && word[len - 1] == word[len - 2] && !is_vowel(word, len - 1);
}

/* consonant, vowel, consonant, the last none of w, x, y: "hop", which gets its e back */
static bool ends_short(const char *word, size_t len)
{
	return len > 2 && !is_vowel(word, len - 1) && is_vowel(word, len - 2) && !is_vowel(word, len - 3) &&
	       !strchr("wxy", word[len - 1]);
}

static bool ends_with(const char *word, size_t len, const char *ending)
{
	size_t size = strlen(ending);

	return len >= size && memcmp(word + len - size, ending, size) == 0;
}

static size_t apply(char *word, size_t len, const struct rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!ends_with(word, len, rules[i].ending))
			continue;
		size_t rest = len - strlen(rules[i].ending);
		if (measure(word, rest) < rules[i].measure)
			return len;
		size_t size = strlen(rules[i].becomes);
		memcpy(word + rest, rules[i].becomes, size);
		return rest + size;
	}
	return len;
}

/* What is left after -ed or -ing. */
static size_t mend(char *word, size_t len)
{
	if (ends_with(word, len, "at") || ends_with(word, len, "bl") || ends_with(word, len, "iz") ||
		(measure(word, len) == 1 && ends_short(word, len))) {
		word[len] = 'e';
		return len + 1;
	}
	return ends_double(word, len) && !strchr("lsz", word[len - 1]) ? len - 1 : len;
}

static size_t past_and_progress(char *word, size_t len)
{
	if (ends_with(word, len, "eed"))
		return measure(word, len - 3) > 0 ? len - 1 : len;
	if (ends_with(word, len, "ed") && has_vowel(word, len - 2))
		return mend(word, len - 2);
	if (ends_with(word, len, "ing") && has_vowel(word, len - 3))
		return mend(word, len - 3);
	return len;
}

static size_t last_letters(char *word, size_t len)
{
	if (word[len - 1] == 'e') {
		int groups = measure(word, len - 1);
		if (groups > 1 || (groups == 1 && !ends_short(word, len - 1)))
			len--;
	}
	return measure(word, len) > 1 && ends_double(word, len) && word[len - 1] == 'l' ? len - 1 : len;
}

size_t stem(char *word, size_t len)
{
	static const struct rule PLURALS[] = {{"sses", "ss", 0}, {"ies", "i", 0}, {"ss", "ss", 0}, {"s", "", 0}};
	static const struct rule LONG[] = {{"ational", "ate", 1}, {"tional", "tion", 1}, {"enci", "ence", 1},
		{"anci", "ance", 1}, {"izer", "ize", 1}, {"bli", "ble", 1}, {"alli", "al", 1}, {"entli", "ent", 1},
		{"eli", "e", 1}, {"ousli", "ous", 1}, {"ization", "ize", 1}, {"ation", "ate", 1}, {"ator", "ate", 1},
		{"alism", "al", 1}, {"iveness", "ive", 1}, {"fulness", "ful", 1}, {"ousness", "ous", 1},
		{"aliti", "al", 1}, {"iviti", "ive", 1}, {"biliti", "ble", 1}, {"logi", "log", 1}};
	static const struct rule MIDDLE[] = {{"icate", "ic", 1}, {"ative", "", 1}, {"alize", "al", 1},
		{"iciti", "ic", 1}, {"ical", "ic", 1}, {"ful", "", 1}, {"ness", "", 1}};
	static const struct rule SHORT[] = {{"al", "", 2}, {"ance", "", 2}, {"ence", "", 2}, {"er", "", 2},
		{"ic", "", 2}, {"able", "", 2}, {"ible", "", 2}, {"ant", "", 2}, {"ement", "", 2}, {"ment", "", 2},
		{"ent", "", 2}, {"sion", "s", 2}, {"tion", "t", 2}, {"ou", "", 2}, {"ism", "", 2}, {"ate", "", 2},
		{"iti", "", 2}, {"ous", "", 2}, {"ive", "", 2}, {"ize", "", 2}};

	for (size_t i = 0; i < len; i++)
		if (word[i] < 'a' || word[i] > 'z')
			return len;
	if (len < 3)
		return len;
	len = apply(word, len, PLURALS, sizeof PLURALS / sizeof *PLURALS);
	len = past_and_progress(word, len);
	if (word[len - 1] == 'y' && has_vowel(word, len - 1))
		word[len - 1] = 'i';
	len = apply(word, len, LONG, sizeof LONG / sizeof *LONG);
	len = apply(word, len, MIDDLE, sizeof MIDDLE / sizeof *MIDDLE);
	len = apply(word, len, SHORT, sizeof SHORT / sizeof *SHORT);
	return last_letters(word, len);
}
