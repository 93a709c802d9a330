/* SPDX-License-Identifier: MIT */
/*
 * Reading numbers. Words are in number_words.inc; German ones are made of parts ("zweitausend"), Chinese
 * ones of characters.
 */
#include "compact/numbers.h"

#include "base/utf8.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t digits_at(struct slice text, size_t at)
{
	size_t len = 0;

	while (at + len < text.len && is_digit(text.data[at + len]))
		len++;
	return len;
}

/* Bytes of a separator of thousands: comma, underscore, apostrophe, thin or narrow no-break space. */
static size_t separator_at(struct slice text, size_t at)
{
	struct slice rest = {text.data + at, text.len - at};

	if (!rest.len)
		return 0;
	if (rest.data[0] == ',' || rest.data[0] == '_' || rest.data[0] == '\'')
		return 1;
	if (slice_starts_with(rest, "\xc2\xa0"))
		return 2;
	return slice_starts_with(rest, "\xe2\x80\xaf") || slice_starts_with(rest, "\xe2\x80\x89") ? 3 : 0;
}

size_t number_read(struct slice text, char ret_canonical[NUMBER_BYTES])
{
	char digits[NUMBER_BYTES];
	size_t at = digits_at(text, 0), len = at, first = 0, separator;

	if (!at || at >= NUMBER_BYTES)
		return 0;
	memcpy(digits, text.data, len);
	while (at <= 3 + len && (separator = separator_at(text, at)) &&
		digits_at(text, at + separator) == 3) {
		if (len + 3 >= NUMBER_BYTES)
			return 0;
		memcpy(digits + len, text.data + at + separator, 3);
		len += 3;
		at += separator + 3;
	}
	while (first + 1 < len && digits[first] == '0')
		first++;
	if (at < text.len && text.data[at] == '.' && digits_at(text, at + 1)) {
		size_t fraction = digits_at(text, at + 1), kept = fraction;

		while (kept && text.data[at + kept] == '0')
			kept--;
		if (len + kept + 2 >= NUMBER_BYTES)
			return 0;
		if (kept) {
			memcpy(digits + len, text.data + at, kept + 1);
			len += kept + 1;
		}
		at += fraction + 1;
	}
	memcpy(ret_canonical, digits + first, len - first);
	ret_canonical[len - first] = '\0';
	return at;
}

/* ---- Words */

enum word_kind { WORD_ADD, WORD_TIMES, WORD_JOIN, WORD_PART, WORD_PART_TIMES, WORD_PART_JOIN };

static const struct number_word {
	const char *word;
	uint64_t value;
	enum word_kind kind;
} WORDS[] = {
#define ADD(word, value) {word, value, WORD_ADD},
#define TIMES(word, value) {word, value, WORD_TIMES},
#define JOIN(word) {word, 0, WORD_JOIN},
#define PART(word, value) {word, value, WORD_PART},
#define PART_TIMES(word, value) {word, value, WORD_PART_TIMES},
#define PART_JOIN(word) {word, 0, WORD_PART_JOIN},
#include "compact/number_words.inc"
};

/* As chinese_digit() reads them. */
static const char *const CHINESE[] = {
	"零", "一", "二", "两", "三", "四", "五", "六", "七", "八", "九", "十", "百", "千", "万", "亿"};

const char *number_word_text(size_t index, bool *ret_part)
{
	size_t words = sizeof WORDS / sizeof *WORDS;

	*ret_part = index < words && WORDS[index].kind >= WORD_PART;
	if (index < words)
		return WORDS[index].word;
	index -= words;
	return index < sizeof CHINESE / sizeof *CHINESE ? CHINESE[index] : NULL;
}

struct sum {
	uint64_t total, current;
	bool any;
};

#define VALUE_MAX 1000000000000000ull

/* False if the word cannot go on with this number ("two three" are two). */
static bool add_word(struct sum *sum, uint64_t value, bool part)
{
	uint64_t rest = sum->current % 100;

	if (sum->any && sum->current == 4 && value == 20)
		value = 76; /* quatre-vingt */
	else if (sum->any && part && rest && rest < 10 && value >= 20 && value < 100 && value % 10 == 0)
		; /* fünfundzwanzig */
	else if (sum->current && value >= 100)
		return false;
	else if (sum->any && rest && !(rest % 10 == 0 && rest >= 20 && value < 10 && value) &&
		 !((rest == 60 || rest == 80) && value >= 10 && value < 20))
		return false;
	sum->current += value;
	sum->any = true;
	return true;
}

static bool times_word(struct sum *sum, uint64_t value)
{
	uint64_t factor = sum->current ? sum->current : 1;

	if (factor > VALUE_MAX / value || sum->total > VALUE_MAX)
		return false;
	if (value == 100) {
		if (sum->current >= 100)
			return false;
		sum->current = factor * 100;
	} else {
		sum->total += factor * value;
		sum->current = 0;
	}
	sum->any = true;
	return true;
}

static bool is_word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static size_t word_length(struct slice text, size_t at)
{
	size_t len = 0;

	while (at + len < text.len && is_word_byte(text.data[at + len]))
		len++;
	return len;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool begins_with_word(struct slice text, const char *word)
{
	for (size_t i = 0; word[i]; i++)
		if (i == text.len || lower(text.data[i]) != word[i])
			return false;
	return true;
}

static const struct number_word *find_word(struct slice word)
{
	for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
		if (WORDS[i].kind <= WORD_JOIN && begins_with_word(word, WORDS[i].word) &&
			strlen(WORDS[i].word) == word.len)
			return &WORDS[i];
	return NULL;
}

/* The longest part `word` begins with. */
static const struct number_word *find_part(struct slice word)
{
	const struct number_word *best = NULL;

	for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
		if (WORDS[i].kind >= WORD_PART && begins_with_word(word, WORDS[i].word) &&
			(!best || strlen(best->word) < strlen(WORDS[i].word)))
			best = &WORDS[i];
	return best;
}

/* A German number: all of the word is made of parts. */
static bool read_parts(struct slice word, struct sum *sum)
{
	if (sum->any)
		return false;
	while (word.len) {
		const struct number_word *part = find_part(word);

		if (!part || (part->kind == WORD_PART && !add_word(sum, part->value, true)) ||
			(part->kind == WORD_PART_TIMES && !times_word(sum, part->value)))
			return false;
		word.data += strlen(part->word);
		word.len -= strlen(part->word);
	}
	return sum->any;
}

static int chinese_digit(uint32_t point, uint64_t *ret_value)
{
	static const struct {
		uint32_t point;
		uint64_t value;
	} DIGITS[] = {{0x96f6, 0}, {0x4e00, 1}, {0x4e8c, 2}, {0x4e24, 2}, {0x4e09, 3}, {0x56db, 4},
		{0x4e94, 5}, {0x516d, 6}, {0x4e03, 7}, {0x516b, 8}, {0x4e5d, 9}, {0x5341, 10}, {0x767e, 100},
		{0x5343, 1000}, {0x4e07, 10000}, {0x4ebf, 100000000}};

	for (size_t i = 0; i < sizeof DIGITS / sizeof *DIGITS; i++) {
		if (DIGITS[i].point == point) {
			*ret_value = DIGITS[i].value;
			return DIGITS[i].value >= 10 ? 2 : 1;
		}
	}
	return 0;
}

static size_t read_chinese(struct slice text, size_t at, uint64_t *ret_value)
{
	uint64_t total = 0, section = 0, digit = 0, value = 0;
	size_t start = at;
	uint32_t point;

	while (at < text.len && (unsigned char)text.data[at] >= 0x80) {
		unsigned step = utf8_decode(text.data + at, text.len - at, &point);
		int kind = step ? chinese_digit(point, &value) : 0;

		if (!kind || total > VALUE_MAX)
			break;
		if (kind == 1) {
			digit = value;
		} else if (value >= 10000) {
			total = (total + section + digit) * value;
			section = digit = 0;
		} else {
			section += (digit ? digit : 1) * value;
			digit = 0;
		}
		at += step;
	}
	*ret_value = total + section + digit;
	return at - start;
}

/* Takes a word into the sum. False, and the sum as it was, if it does not go on with the number. */
static bool take_word(struct sum *sum, const struct number_word *word)
{
	struct sum before = *sum;

	if (word && word->kind == WORD_ADD && add_word(sum, word->value, false))
		return true;
	if (word && word->kind == WORD_TIMES && times_word(sum, word->value))
		return true;
	*sum = before;
	return false;
}

size_t number_words_read(struct slice text, size_t at, uint64_t *ret_value)
{
	struct sum sum = {0, 0, false};
	size_t end = at, next = at, len;

	if (at < text.len && (unsigned char)text.data[at] >= 0xe4 &&
		(len = read_chinese(text, at, ret_value)))
		return len;
	if ((len = word_length(text, at)) && !find_word((struct slice){text.data + at, len}) &&
		read_parts((struct slice){text.data + at, len}, &sum)) {
		*ret_value = sum.total + sum.current; /* such a word is a whole number */
		return len;
	}
	sum = (struct sum){0, 0, false};
	while ((len = word_length(text, next))) {
		const struct number_word *word = find_word((struct slice){text.data + next, len});
		bool joins = word && word->kind == WORD_JOIN && sum.any;

		if (!joins && !take_word(&sum, word))
			break;
		next += len;
		if (!joins)
			end = next;
		if (next < text.len && (text.data[next] == ' ' || text.data[next] == '-'))
			next++;
	}
	*ret_value = sum.total + sum.current;
	return sum.any ? end - at : 0;
}
