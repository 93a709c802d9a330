/* SPDX-License-Identifier: MIT */
/*
 * Finding values by their shape.
 *
 * The text is cut into tokens at blanks, quotation marks, brackets and everything beyond ASCII; a
 * token's outer punctuation is taken off. What is left is a value if it has a digit, an @ or an
 * underscore, looks like a path, like a file name, or like an identifier with a hump (fooBar).
 */
#include "compact/values.h"

#include "compact/dates.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
	return is_digit(c) || is_lower(c) || is_upper(c);
}

static struct slice from(struct slice text, size_t at)
{
	return (struct slice){text.data + at, text.len - at};
}

/* ---- Quotations */

static const struct {
	const char *open, *close;
} QUOTES[] = {{"\"", "\""}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}, {"『", "』"}, {"`", "`"}};

/* The quotation that begins at `at`, with its marks; 0: none. */
static size_t quote_at(struct slice text, size_t at, struct slice *ret_inside)
{
	for (size_t i = 0; i < sizeof QUOTES / sizeof *QUOTES; i++) {
		size_t open = strlen(QUOTES[i].open), close = strlen(QUOTES[i].close);
		const char *end;

		if (!slice_starts_with(from(text, at), QUOTES[i].open))
			continue;
		end = memmem(text.data + at + open, text.len - at - open, QUOTES[i].close, close);
		if (!end)
			continue;
		*ret_inside = (struct slice){text.data + at + open, (size_t)(end - text.data) - at - open};
		while (ret_inside->len && ret_inside->data[0] == ' ')
			ret_inside->data++, ret_inside->len--;
		while (ret_inside->len && ret_inside->data[ret_inside->len - 1] == ' ')
			ret_inside->len--;
		if (ret_inside->len > 2 && memcmp(ret_inside->data + ret_inside->len - 2, "()", 2) == 0)
			ret_inside->len -= 2; /* the name of a function, not a call without arguments */
		return (size_t)(end - text.data) - at + close;
	}
	return 0;
}

/* ---- Tokens */

static bool ends_token(char c)
{
	return (unsigned char)c <= ' ' || (unsigned char)c >= 0x7f || strchr("\"`()[]{}<>|,;", c) != NULL;
}

/* A comma between digits is part of the number. */
static size_t token_length(struct slice text, size_t at)
{
	size_t end = at;

	while (end < text.len) {
		bool grouping = text.data[end] == ',' && end > at && is_digit(text.data[end - 1]) &&
				end + 1 < text.len && is_digit(text.data[end + 1]);

		if (ends_token(text.data[end]) && !grouping)
			break;
		end++;
	}
	return end - at;
}

static struct slice trim_token(struct slice token)
{
	while (token.len && strchr("'*=:!?,;", token.data[0]))
		token.data++, token.len--;
	while (token.len && strchr("'*=:!?.,;&", token.data[token.len - 1]))
		token.len--;
	if (token.len > 2 && token.data[token.len - 2] == '\'' && token.data[token.len - 1] == 's')
		token.len -= 2;
	return token;
}

static bool has(struct slice token, bool (*is)(char))
{
	for (size_t i = 0; i < token.len; i++)
		if (is(token.data[i]))
			return true;
	return false;
}

static bool looks_like_path(struct slice token)
{
	size_t slashes = 0, letters = 0;
	bool marked = false;

	for (size_t i = 0; i < token.len; i++) {
		slashes += token.data[i] == '/' || token.data[i] == '\\';
		letters += is_alnum(token.data[i]);
		marked |= token.data[i] == '_' || token.data[i] == '.' || is_digit(token.data[i]);
	}
	if (!slashes || letters < 2)
		return false;
	return marked || slashes > 1 || token.data[0] == '/' || token.data[0] == '~';
}

/* name.ext with two letters or more before the dot and an extension of one to five; or a dotted name of
 * three parts. */
static bool looks_like_name(struct slice token)
{
	const char *dot = memrchr(token.data, '.', token.len);
	size_t head, tail;

	if (!dot)
		return false;
	head = (size_t)(dot - token.data);
	tail = token.len - head - 1;
	if (head < 2 || tail < 1 || tail > 5 || !is_alnum(token.data[head - 1]))
		return false;
	for (size_t i = head + 1; i < token.len; i++)
		if (!is_lower(token.data[i]))
			return false;
	return true;
}

static bool looks_like_identifier(struct slice token)
{
	for (size_t i = 0; i < token.len; i++) {
		char c = token.data[i], next = i + 1 < token.len ? token.data[i + 1] : ' ';

		if ((c == '_' || c == '@') && i && is_alnum(next))
			return true;
		if (is_lower(c) && is_upper(next) && i > 0)
			return true;
	}
	return false;
}

/* ---- Numbers */

static const char *const UNITS[] = {"ms", "s", "min", "h", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "kg",
	"g", "km", "m", "cm", "mm", "usd", "eur", "gbp", "khz", "mhz", "ghz", "hz", "px", "k", "x",
	"percent"};

static bool is_unit(struct slice word)
{
	char lower[8];

	if (!word.len || word.len >= sizeof lower)
		return false;
	for (size_t i = 0; i < word.len; i++)
		lower[i] = is_upper(word.data[i]) ? (char)(word.data[i] + 32) : word.data[i];
	for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
		if (slice_equal((struct slice){lower, word.len}, slice_of(UNITS[i])))
			return true;
	return false;
}

static bool is_ordinal_ending(struct slice word)
{
	return slice_is(word, "st") || slice_is(word, "nd") || slice_is(word, "rd") || slice_is(word, "th");
}

/* Whether the token is a number, maybe with a currency before it and a unit behind it. A sign is kept:
 * it is told apart by the spelling. */
static bool read_number(struct slice token, struct slice after, struct value *value)
{
	struct slice rest = token;
	size_t len, word = 0;

	if (rest.len && rest.data[0] == '$')
		rest = from(rest, 1);
	if (!(len = number_read(rest, value->number)))
		return false;
	rest = from(rest, len);
	if (rest.len && !is_ordinal_ending(rest) && !slice_is(rest, "%") && !is_unit(rest))
		return false;
	value->kind = VALUE_NUMBER;
	value->text = token;
	if (rest.len && !is_ordinal_ending(rest))
		value->unit = rest;
	if (rest.len || !after.len || after.data[0] != ' ')
		return true;
	while (word + 1 < after.len && (is_lower(after.data[word + 1]) || is_upper(after.data[word + 1])))
		word++;
	if (word && !(word == 1 && (after.data[1] == 'x' || after.data[1] == 'k')) &&
		is_unit((struct slice){after.data + 1, word}))
		value->unit = (struct slice){after.data + 1, word};
	return true;
}

/* ---- Reading */

struct values_reader {
	struct slice text;
	int (*add)(void *context, const struct value *value);
	void *context;
};

static int read_token(struct values_reader *reader, struct slice token)
{
	struct value value = {.kind = VALUE_ID, .text = token};
	struct slice after = from(reader->text, (size_t)(token.data + token.len - reader->text.data));

	if (token.len > 1 && (token.data[0] == '~' || token.data[0] == '#') && is_digit(token.data[1]))
		value.text = token = from(token, 1);
	if (!token.len)
		return 0;
	if (read_number(token, after, &value))
		return reader->add(reader->context, &value);
	if (looks_like_path(token))
		value.kind = VALUE_PATH;
	else if (!has(token, is_digit) && !looks_like_name(token) && !looks_like_identifier(token))
		return 0;
	return reader->add(reader->context, &value);
}

/* A number in words counts from thirteen on or with two words: smaller ones are often no count of
 * anything. */
static size_t read_words(struct values_reader *reader, size_t at, int *error)
{
	struct value value = {.kind = VALUE_NUMBER, .words = true};
	uint64_t number;
	size_t len = number_words_read(reader->text, at, &number);
	struct slice text = {reader->text.data + at, len};

	if (!len || (number < 13 && !memchr(text.data, ' ', len)) || number == 0)
		return 0;
	char digits[24];
	size_t count = 0;

	for (uint64_t left = number; left; left /= 10)
		digits[count++] = (char)('0' + left % 10);
	for (size_t i = 0; i < count; i++)
		value.number[i] = digits[count - 1 - i];
	value.text = text;
	*error = reader->add(reader->context, &value);
	return len;
}

static bool begins_word(struct slice text, size_t at)
{
	return !at || !is_alnum(text.data[at - 1]);
}

int values_read(struct slice text, int (*add)(void *context, const struct value *value), void *context)
{
	struct values_reader reader = {text, add, context};
	struct value value = {.kind = VALUE_QUOTE};
	size_t at = 0, len;
	int rc = 0;

	while (at < text.len && !rc) {
		if (text.data[at] == '`' && /* a fence: code is looked at word by word */
			slice_starts_with(from(text, at), "``")) {
			while (at < text.len && text.data[at] == '`')
				at++;
		} else if ((len = quote_at(text, at, &value.text))) {
			if (value.text.len > 1)
				rc = add(context, &value);
			at += len;
		} else if (begins_word(text, at) &&
			   (len = date_read(from(text, at), &value.year, &value.month, &value.day))) {
			struct value date = {.kind = VALUE_DATE,
				.text = {text.data + at, len},
				.year = value.year,
				.month = value.month,
				.day = value.day};

			rc = add(context, &date);
			at += len;
		} else if (begins_word(text, at) && (len = read_words(&reader, at, &rc))) {
			at += len;
		} else if (ends_token(text.data[at])) {
			at++;
		} else {
			len = token_length(text, at);
			rc = read_token(&reader, trim_token((struct slice){text.data + at, len}));
			at += len;
		}
	}
	return rc;
}

const char *value_kind_text(enum value_kind kind)
{
	static const char *const TEXTS[] = {"id", "number", "date", "path", "quotation", "text"};

	return TEXTS[kind];
}
