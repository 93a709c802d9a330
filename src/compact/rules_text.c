/* SPDX-License-Identifier: MIT */
/* Blocks (lines that belong together), then sentences in them. Invariants: rules_text.h. */
#include "compact/rules_text.h"

#include "compact/rules_cues.h"

#define WRAPPED_BYTES 60 /* a line this long may have been broken by a program */
#define QUOTE_BYTES 600	 /* how far away the end of a quotation is looked for */
#define SEARCHES_MAX 16	 /* closing tags that may be missing before no tag is believed */
#define TAG_BYTES 48

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

struct slice slice_trim(struct slice text)
{
	while (text.len && is_blank(text.data[0]))
		text.data++, text.len--;
	while (text.len && is_blank(text.data[text.len - 1]))
		text.len--;
	return text;
}

bool line_next(struct slice *rest, struct slice *ret_line)
{
	const char *end;

	if (!rest->len)
		return false;
	end = memchr(rest->data, '\n', rest->len);
	size_t len = end ? (size_t)(end - rest->data) : rest->len;

	*ret_line = slice_trim((struct slice){rest->data, len});
	rest->data += end ? len + 1 : len;
	rest->len -= end ? len + 1 : len;
	return true;
}

void sentences_init(struct sentence_iter *iter, struct slice text)
{
	*iter = (struct sentence_iter){.at = text.data, .end = text.data + text.len};
}

/* ---- Lines */

/* The length of a list entry's mark with the space after it; 0: none. */
static size_t bullet_length(struct slice line, enum text_kind *ret_kind)
{
	size_t len = 0;

	*ret_kind = TEXT_ENTRY;
	if (line.len > 1 && memchr("-*+", line.data[0], 3) && line.data[1] == ' ')
		len = 2;
	else if (slice_starts_with(line, "• ") || slice_starts_with(line, "– ") ||
		 slice_starts_with(line, "— "))
		len = 4;
	else if (line.len && is_digit(line.data[0])) {
		while (len < line.len && len < 3 && is_digit(line.data[len]))
			len++;
		if (len + 1 < line.len && (line.data[len] == '.' || line.data[len] == ')') &&
			line.data[len + 1] == ' ')
			len += 2;
		else if (line.len > len + 3 && memcmp(line.data + len, "、", 3) == 0)
			len += 3;
		else
			len = 0;
	}
	if (len && len + 4 <= line.len && line.data[len] == '[' && line.data[len + 2] == ']' &&
		line.data[len + 3] == ' ') {
		*ret_kind = line.data[len + 1] == ' ' ? TEXT_TODO : TEXT_FINISHED;
		len += 4;
	}
	return len;
}

static bool is_fence(struct slice line)
{
	return line.len >= 3 && (memcmp(line.data, "```", 3) == 0 || memcmp(line.data, "~~~", 3) == 0) &&
	       !memmem(line.data + 3, line.len - 3, line.data, 3);
}

static bool ends_with(struct slice text, const char *tail)
{
	size_t len = strlen(tail);

	return text.len >= len && memcmp(text.data + text.len - len, tail, len) == 0;
}

/* "12:30:01 …", "2026-01-02T…", "[INFO] …", "I0102 …" */
static bool looks_like_log(struct slice line)
{
	size_t digits = 0;

	if (line.len < 10)
		return false;
	if (line.data[0] == '[' && line.len > 6 && line.data[1] >= 'A' && line.data[1] <= 'Z' &&
		line.data[2] >= 'A' && line.data[2] <= 'Z')
		return true;
	for (size_t i = 0; i < 20 && i < line.len; i++)
		digits += is_digit(line.data[i]);
	return digits >= 10 && (is_digit(line.data[0]) || line.data[0] == '[');
}

/* "  12 | code", "12→code", "│ code": what tools print. */
static bool has_gutter(struct slice line)
{
	size_t at = 0;

	if (slice_starts_with(line, "│"))
		return true;
	while (at < line.len && at < 7 && is_digit(line.data[at]))
		at++;
	struct slice rest = {line.data + at, line.len - at};

	return at && (slice_starts_with(rest, " |") || slice_starts_with(rest, "→") ||
			     slice_starts_with(rest, "|") || slice_starts_with(rest, "\t"));
}

static bool looks_like_code(struct slice line)
{
	static const char *const STARTS[] = {"//", "/*", "* @", "$ ", "#!", "import ", "from ", "def ",
		"class ", "@@ ", "+++ ", "--- ", "diff --", "at ", "File \"", "Traceback", "</", "{", "}",
		"return ", "const ", "let ", "var ", "SELECT ", "#include", "function ", "public ",
		"private "};
	size_t marks = 0;

	if (has_gutter(line) || (line.data[0] == '|' && ends_with(line, "|")))
		return true;
	if (line.len < 2)
		return line.len && !is_letter(line.data[0]) && !is_digit(line.data[0]);
	bool coded = ends_with(line, ";") || ends_with(line, "{") || ends_with(line, "}") ||
		     ends_with(line, ")") || ends_with(line, "):") || ends_with(line, "\"") ||
		     ends_with(line, "'") || ends_with(line, ",") || ends_with(line, "@@");
	for (size_t i = 0; i < line.len && i < 400; i++)
		marks += memchr("{}();=<>[]|&$\\+", line.data[i], 15) != NULL;
	for (size_t i = 0; i < sizeof STARTS / sizeof *STARTS; i++)
		if (slice_starts_with(line, STARTS[i]))
			return i < 2 || i == 3 || i == 4 || (i >= 9 && i <= 12) || i == 14 || i == 15 ||
			       coded || marks > 2;
	size_t seen = line.len < 400 ? line.len : 400;
	return marks * 6 > seen || (ends_with(line, ";") && marks > 2);
}

/* Whether the line goes on in the next one: it was wrapped, not ended. */
static bool goes_on(struct slice line, struct slice next)
{
	enum text_kind kind;
	char last = line.len ? line.data[line.len - 1] : '.';

	if (line.len < WRAPPED_BYTES || memchr(".!?:;|", last, 6) || (unsigned char)last >= 0x80)
		return false;
	return next.len && !bullet_length(next, &kind) && !is_fence(next) &&
	       !memchr(">#|<", next.data[0], 4) && !looks_like_code(next) && !looks_like_log(next);
}

/* ---- Blocks */

static void take_fence(struct sentence_iter *iter, struct slice opening)
{
	struct slice rest = {iter->at, (size_t)(iter->end - iter->at)}, line;
	const char *from = iter->at;

	iter->kind = TEXT_CODE;
	iter->block_at = from;
	iter->block_end = iter->end;
	while (line_next(&rest, &line)) {
		if (line.len >= 3 && memcmp(line.data, opening.data, 3) == 0) {
			iter->block_end = line.data;
			break;
		}
	}
	iter->at = rest.data;
}

/* The name of the tag that a line begins with, folded to letters and digits. */
static struct slice tag_name(struct slice line, char ret_name[TAG_BYTES], struct slice *ret_written)
{
	size_t len = 0, at = 1;

	for (; at < line.len && len < TAG_BYTES; at++) {
		char c = line.data[at];

		if (c >= 'A' && c <= 'Z')
			ret_name[len++] = (char)(c + 32);
		else if ((c >= 'a' && c <= 'z') || is_digit(c))
			ret_name[len++] = c;
		else if (c != '-' && c != '_')
			break;
	}
	*ret_written = (struct slice){line.data + 1, at - 1};
	if (at >= line.len || (line.data[at] != '>' && line.data[at] != ' '))
		len = 0;
	return (struct slice){ret_name, len};
}

/* A pasted block: from its tag to the closing one. False if the line begins no such block. */
static bool take_pasted(struct sentence_iter *iter, struct slice line)
{
	char name[TAG_BYTES], closing[TAG_BYTES + 3] = "</";
	struct slice written, folded = tag_name(line, name, &written);
	const char *found = NULL;

	if (!folded.len || !cue_name_is(folded, CUE_PASTED) || written.len > TAG_BYTES)
		return false;
	memcpy(closing + 2, written.data, written.len);
	if (iter->searches < SEARCHES_MAX) {
		found = memmem(line.data, (size_t)(iter->end - line.data), closing, written.len + 2);
		iter->searches += !found;
	}
	iter->kind = TEXT_PASTED;
	iter->block_at = line.data;
	if (found) {
		const char *close = memchr(found, '>', (size_t)(iter->end - found));

		iter->at = close ? close + 1 : iter->end;
		iter->block_end = iter->at;
	} else {
		iter->block_end = line.data + line.len;
	}
	return true;
}

static void take_paragraph(struct sentence_iter *iter, struct slice line, size_t skip)
{
	struct slice rest = {iter->at, (size_t)(iter->end - iter->at)}, before = rest, next;

	iter->block_at = line.data + skip;
	iter->block_end = line.data + line.len;
	while (line_next(&rest, &next) && goes_on(line, next)) {
		iter->block_end = next.data + next.len;
		line = next;
		before = rest;
	}
	iter->at = before.data;
}

/* The next lines that belong together, into block_at and block_end; iter->at is behind them. */
static bool next_block(struct sentence_iter *iter)
{
	struct slice rest, line;
	size_t skip;

	do {
		rest = (struct slice){iter->at, (size_t)(iter->end - iter->at)};
		if (!line_next(&rest, &line))
			return false;
		iter->at = rest.data;
	} while (!line.len);
	iter->first = true;
	if (is_fence(line)) {
		take_fence(iter, line);
		return true;
	}
	if (line.data[0] == '<' && take_pasted(iter, line))
		return true;
	iter->block_at = line.data;
	iter->block_end = line.data + line.len;
	if (line.data[0] == '>') {
		iter->kind = TEXT_QUOTED;
	} else if (line.data[0] == '#' && line.len > 1 && (line.data[1] == '#' || line.data[1] == ' ')) {
		iter->kind = TEXT_HEADING;
		while (iter->block_at < iter->block_end && (*iter->block_at == '#' || *iter->block_at == ' '))
			iter->block_at++;
	} else if ((skip = bullet_length(line, &iter->kind))) {
		take_paragraph(iter, line, skip);
	} else if (looks_like_code(line) || looks_like_log(line)) {
		iter->kind = TEXT_CODE;
	} else {
		iter->kind = TEXT_PROSE;
		take_paragraph(iter, line, 0);
	}
	return true;
}

/* ---- Sentences */

static const char *const PAIRS[][2] = {
	{"\"", "\""}, {"`", "`"}, {"“", "”"}, {"«", "»"}, {"「", "」"}, {"『", "』"}, {"„", "“"}};

static bool opens_quotation(const char *at, const char *end)
{
	for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++)
		if (slice_starts_with((struct slice){at, (size_t)(end - at)}, PAIRS[i][0]))
			return true;
	return false;
}

/* A quotation's end, if one begins at `at`; else `at`. */
static const char *skip_quotation(const char *at, const char *end)
{
	if (*at != '"' && *at != '`' && (unsigned char)*at < 0xC0)
		return at;
	size_t left = (size_t)(end - at), bytes = left < QUOTE_BYTES ? left : QUOTE_BYTES;

	for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
		size_t len = strlen(PAIRS[i][0]);
		const char *close;

		if (left <= len || memcmp(at, PAIRS[i][0], len) != 0)
			continue;
		close = memmem(
			at + len, bytes - (bytes > len ? len : bytes), PAIRS[i][1], strlen(PAIRS[i][1]));
		return close ? close + strlen(PAIRS[i][1]) : at;
	}
	return at;
}

/* Whether the full stop at `at` ends nothing: an abbreviation. */
static bool is_abbreviation(const char *start, const char *at)
{
	char word[16];
	size_t len = 0;
	const char *from = at;

	while (from > start && (is_letter(from[-1]) || is_digit(from[-1])) && at - from < 15)
		from--;
	if (from == at)
		return false;
	if (from > start && from[-1] == '.' && at - from == 1)
		return true; /* e.g., z.B. */
	for (const char *p = from; p < at; p++)
		word[len++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
	uint16_t found = cue_word_find((struct slice){word, len});

	return found && (cue_words[found].classes[WORD_ABBREVIATION] != 0);
}

/* The length of what ends a sentence at `at`; 0: nothing. */
static size_t ending(const char *start, const char *at, const char *end, bool *question)
{
	static const char *const WIDE[] = {"。", "！", "？", "；", "｡"};
	size_t len = 0;

	*question = false;
	if ((unsigned char)*at >= 0x80) {
		for (size_t i = 0; i < sizeof WIDE / sizeof *WIDE; i++) {
			if ((size_t)(end - at) >= 3 && memcmp(at, WIDE[i], 3) == 0) {
				*question = i == 2;
				len = 3;
			}
		}
	} else if (*at == '.' || *at == '!' || *at == '?' || *at == ';') {
		if (*at == '.' && is_abbreviation(start, at))
			return 0;
		*question = *at == '?';
		len = 1;
	}
	if (!len)
		return 0;
	while (at + len < end && memchr(".!?\"')]*", at[len], 8)) {
		*question |= at[len] == '?';
		len++;
	}
	if (len < 3 && at + len < end && !is_blank(at[len]) && (unsigned char)*at < 0x80)
		return 0; /* a.b, x?y=1 */
	return len;
}

/* After a quotation that ends in a full stop, a capital begins a sentence. */
static bool ends_after_quotation(const char *after, const char *end)
{
	return memchr(".!?", after[-2], 3) && after + 1 < end && *after == ' ' && after[1] >= 'A' &&
	       after[1] <= 'Z';
}

static bool emit(struct sentence_iter *iter, const char *from, const char *to, bool question,
	struct sentence *sentence)
{
	sentence->text = slice_trim((struct slice){from, (size_t)(to - from)});
	sentence->kind = iter->kind;
	sentence->question = question;
	sentence->first = iter->first;
	iter->first = false;
	iter->block_at = to;
	return sentence->text.len > 0;
}

static bool next_in_block(struct sentence_iter *iter, struct sentence *sentence)
{
	const char *from = iter->block_at, *end = iter->block_end, *at = from, *space = NULL;
	const char *barren = from; /* before it no quotation is looked for: one that began there had no end */
	bool question;

	if (iter->kind == TEXT_CODE || iter->kind == TEXT_PASTED)
		return emit(iter, from, end, false, sentence);
	while (at < end) {
		const char *after = at >= barren ? skip_quotation(at, end) : at;

		if (after > at) {
			at = after;
			if (ends_after_quotation(at, end))
				return emit(iter, from, at, false, sentence);
			continue;
		}
		if (at >= barren && (*at == '"' || *at == '`' || (unsigned char)*at >= 0xC0) &&
			opens_quotation(at, end))
			barren = at + QUOTE_BYTES;
		size_t len = ending(from, at, end, &question);

		if (len && emit(iter, from, at + len, question, sentence))
			return true;
		if (is_blank(*at))
			space = at;
		if (at - from >= SENTENCE_BYTES)
			return emit(iter, from, space && space > from ? space : at, false, sentence);
		at++;
		while (at < end && ((unsigned char)*at & 0xC0) == 0x80)
			at++;
	}
	return emit(iter, from, end, false, sentence);
}

bool sentences_next(struct sentence_iter *iter, struct sentence *ret_sentence)
{
	for (;;) {
		while (iter->block_at < iter->block_end)
			if (next_in_block(iter, ret_sentence))
				return true;
		if (!next_block(iter))
			return false;
	}
}
