/* SPDX-License-Identifier: MIT */
/* Words, language and cues of a sentence. Invariants: rules_words.h. */
#include "compact/rules_words.h"

#include "base/buffer.h"
#include "base/utf8.h"

#define WORD_BYTES 48 /* longer words are in no file */

const char *language_text(enum cue_language language)
{
	static const char *const TEXTS[CUE_LANGUAGES] = {"en", "zh", "es", "fr", "de", ""};

	return TEXTS[language];
}

/* ---- Code points */

enum point_class {
	POINT_LETTER,
	POINT_DIGIT,
	POINT_WIDE,
	POINT_MARK,
	POINT_BREAK,
	POINT_OPEN,
	POINT_CLOSE,
	POINT_TICK,
	POINT_APOSTROPHE,
	POINT_OTHER,
	POINT_SPACE
};

static enum point_class class_of_ascii(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return POINT_LETTER;
	if (c >= '0' && c <= '9')
		return POINT_DIGIT;
	if (c <= ' ')
		return POINT_SPACE;
	if (c == '\'')
		return POINT_APOSTROPHE;
	if (c == '"' || c == '`')
		return POINT_TICK;
	return memchr(",:;()!?", c, 7) ? POINT_BREAK : POINT_OTHER;
}

static enum point_class class_of(uint32_t point)
{
	if (point < 0x80)
		return class_of_ascii((unsigned char)point);
	if (point == 0xAB || point == 0x201C || point == 0x201E || point == 0x300C || point == 0x300E)
		return POINT_OPEN;
	if (point == 0xBB || point == 0x201D || point == 0x300D || point == 0x300F)
		return POINT_CLOSE;
	if (point == 0x2019)
		return POINT_APOSTROPHE;
	if (point < 0xC0 || point == 0xD7 || point == 0xF7)
		return point == 0xA0 ? POINT_SPACE : POINT_OTHER;
	if (point >= 0x300 && point < 0x370)
		return POINT_MARK;
	if ((point >= 0x3040 && point <= 0x30FF) || (point >= 0x3400 && point <= 0x9FFF) ||
		(point >= 0xF900 && point <= 0xFAFF))
		return POINT_WIDE;
	if (point >= 0xFF01 && point <= 0xFF5E)
		return class_of_ascii((unsigned char)(point - 0xFF01 + '!'));
	if (point == 0x2013 || point == 0x2014 || point == 0x2026 || point == 0x3001 || point == 0x3002)
		return POINT_BREAK;
	if (point == 0x3000 || (point >= 0x2000 && point <= 0x200B))
		return POINT_SPACE;
	if ((point >= 0x2010 && point <= 0x2BFF) || (point >= 0x3001 && point <= 0x303F) || point == 0xFFFD ||
		(point >= 0x1F000 && point <= 0x1FAFF) || (point >= 0xFE00 && point <= 0xFE0F))
		return POINT_OTHER;
	return POINT_LETTER;
}

/* Appends a letter or digit in its folded form; returns the new length. */
static size_t fold_point(uint32_t point, const char *bytes, unsigned step, char *out, size_t len, size_t size)
{
	char folded = 0;

	if (point >= 0xFF01 && point <= 0xFF5E)
		point = point - 0xFF01 + '!';
	if (point < 0x80)
		folded = (char)(point >= 'A' && point <= 'Z' ? point + 32 : point);
	else if (point >= CUE_FOLD_FIRST && point < CUE_FOLD_END)
		folded = cue_fold[point - CUE_FOLD_FIRST];
	if (folded && len < size) {
		out[len++] = folded;
	} else if (!folded && len + step <= size) {
		memcpy(out + len, bytes, step);
		len += step;
	}
	return len;
}

struct slice fold_name(struct slice text, char *ret_name, size_t size)
{
	size_t len = 0;

	for (size_t at = 0; at < text.len;) {
		uint32_t point;
		unsigned step = utf8_decode(text.data + at, text.len - at, &point);

		if (!step) {
			at++;
			continue;
		}
		enum point_class kind = class_of(point);

		if (kind == POINT_LETTER || kind == POINT_DIGIT || kind == POINT_WIDE)
			len = fold_point(point, text.data + at, step, ret_name, len, size);
		at += step;
	}
	return (struct slice){ret_name, len};
}

/* ---- Words */

struct word_reader {
	struct statement *statement;
	struct slice text;
	char folded[WORD_BYTES];
	size_t folded_len, word_start;
	bool in_word, word_number, word_capital, word_letters;
	bool broken, spaced;  /* before the word to come */
	bool ticked[2], open; /* between " or `; between other quotation marks */
	size_t last_tick[2], last_close;
};

static void end_word(struct word_reader *reader, size_t end, bool wide, bool glued_after)
{
	struct statement *statement = reader->statement;
	struct word *word;

	if (!reader->in_word)
		return;
	reader->in_word = false;
	if (statement->count == STATEMENT_WORDS)
		return;
	word = &statement->words[statement->count++];
	*word = (struct word){.start = (uint16_t)reader->word_start,
		.end = (uint16_t)end,
		.broken = reader->broken,
		.quoted = reader->ticked[0] || reader->ticked[1] || reader->open,
		.number = reader->word_number && !reader->word_letters,
		.wide = wide,
		.capital = reader->word_capital,
		.glued = !reader->spaced && !wide,
		.glued_after = glued_after};
	if (reader->folded_len < WORD_BYTES)
		word->id = cue_word_find((struct slice){reader->folded, reader->folded_len});
	reader->broken = false;
	reader->spaced = true;
}

static void begin_word(struct word_reader *reader, size_t at, uint32_t point, enum point_class kind)
{
	reader->in_word = true;
	reader->word_start = at;
	reader->folded_len = 0;
	reader->word_number = kind == POINT_DIGIT;
	reader->word_letters = false;
	reader->word_capital = (point >= 'A' && point <= 'Z') || (point >= 0xC0 && point <= 0xDE);
}

/* What glues words into names and paths. */
static bool is_glue(uint32_t point)
{
	return point == '/' || point == '_' || point == '-' || point == '.' || point == '@' ||
	       point == '\\' || point == '=';
}

/* A point or comma inside a number. */
static bool inside_number(const struct word_reader *reader, size_t at, uint32_t point)
{
	return reader->in_word && reader->word_number && (point == '.' || point == ',') &&
	       at + 1 < reader->text.len && reader->text.data[at + 1] >= '0' &&
	       reader->text.data[at + 1] <= '9';
}

static bool is_plain(const struct word_reader *reader, size_t at)
{
	return at < reader->text.len &&
	       ((unsigned char)reader->text.data[at] >= 0x80 ||
		       class_of_ascii((unsigned char)reader->text.data[at]) <= POINT_DIGIT);
}

static void read_mark(
	struct word_reader *reader, size_t at, unsigned step, uint32_t point, enum point_class kind)
{
	bool glue = is_glue(point) && is_plain(reader, at + step);

	if (kind == POINT_APOSTROPHE && reader->in_word && is_plain(reader, at + step)) {
		if (reader->folded_len < WORD_BYTES)
			reader->folded[reader->folded_len++] = '\'';
		end_word(reader, at + step, false, false);
		return;
	}
	bool was_in_word = reader->in_word;

	end_word(reader, at, false, glue);
	reader->spaced = !glue || (!was_in_word && reader->spaced && point == '-');
	if (kind == POINT_BREAK)
		reader->broken = true;
	if (point == '-' && at > 0 && reader->text.data[at - 1] == ' ' && at + 1 < reader->text.len &&
		reader->text.data[at + 1] == ' ')
		reader->broken = true;
	if (kind == POINT_TICK) {
		bool *ticked = &reader->ticked[point == '`'];

		*ticked = !*ticked && at < reader->last_tick[point == '`'];
	} else if (kind == POINT_OPEN || (point == 0x201C && reader->open)) {
		reader->open = at < reader->last_close && !(reader->open && point == 0x201C);
	} else if (kind == POINT_CLOSE) {
		reader->open = false;
	}
}

static void read_point(struct word_reader *reader, size_t at, unsigned step, uint32_t point)
{
	enum point_class kind = class_of(point);

	if (kind == POINT_WIDE) {
		end_word(reader, at, false, false);
		begin_word(reader, at, point, kind);
		reader->folded_len =
			fold_point(point, reader->text.data + at, step, reader->folded, 0, WORD_BYTES);
		end_word(reader, at + step, true, false);
	} else if (kind == POINT_LETTER || kind == POINT_DIGIT) {
		if (!reader->in_word)
			begin_word(reader, at, point, kind);
		reader->word_letters |= kind == POINT_LETTER;
		reader->folded_len = fold_point(
			point, reader->text.data + at, step, reader->folded, reader->folded_len, WORD_BYTES);
	} else if (kind == POINT_SPACE) {
		end_word(reader, at, false, false);
		reader->spaced = true;
	} else if (kind != POINT_MARK && !inside_number(reader, at, point)) {
		read_mark(reader, at, step, point, kind);
	}
}

/* Where the last of a kind of quotation mark is; 0: nowhere. */
static size_t last_tick(struct slice text, char mark)
{
	const char *found = memrchr(text.data, mark, text.len);

	return found ? (size_t)(found - text.data) : 0;
}

static size_t last_closing(struct slice text)
{
	static const char *const CLOSING[] = {"”", "»", "」", "』", "“"};

	for (size_t at = text.len; at-- > 0;) {
		if ((unsigned char)text.data[at] < 0xC0)
			continue;
		for (size_t i = 0; i < sizeof CLOSING / sizeof *CLOSING; i++)
			if (slice_starts_with((struct slice){text.data + at, text.len - at}, CLOSING[i]))
				return at;
	}
	return 0;
}

static void read_words(struct statement *statement)
{
	struct word_reader reader = {
		.statement = statement, .text = statement->text, .spaced = true, .broken = true};
	uint32_t point;

	reader.last_tick[0] = last_tick(statement->text, '"');
	reader.last_tick[1] = last_tick(statement->text, '`');
	reader.last_close = last_closing(statement->text);
	for (size_t at = 0; at < statement->text.len && statement->count < STATEMENT_WORDS;) {
		unsigned step = utf8_decode(statement->text.data + at, statement->text.len - at, &point);

		if (!step) {
			step = 1;
			point = 0xFFFD;
		}
		read_point(&reader, at, step, point);
		at += step;
	}
	end_word(&reader, statement->text.len, false, false);
}

/* ---- Language */

static enum cue_language guess_language(struct statement *statement, struct language_votes *votes)
{
	unsigned own[CUE_LANGUAGES] = {0}, wide = 0;
	enum cue_language best = LANGUAGE_EN;
	unsigned best_score = 0, most = 0, scores[CUE_LANGUAGES] = {0};

	for (unsigned i = 0; i < statement->count; i++) {
		const struct cue_word *word = &cue_words[statement->words[i].id];

		wide += statement->words[i].wide;
		for (unsigned l = 0; l < LANGUAGE_ANY && statement->words[i].id; l++) {
			if (l == LANGUAGE_ZH || !(word->languages & (1u << l)))
				continue;
			own[l] += (word->languages & ((1u << LANGUAGE_ANY) - 1)) == (1u << l) ? 3 : 1;
		}
	}
	statement->languages = 1u << LANGUAGE_ZH | 1u << LANGUAGE_ANY;
	if (wide > 1 || (wide && wide >= statement->count / 4)) {
		statement->languages |= 1u << LANGUAGE_EN;
		return LANGUAGE_ZH;
	}
	for (unsigned l = 0; l < LANGUAGE_ANY; l++) {
		unsigned prior = votes->votes[l] > 12 ? 6 : votes->votes[l] / 2;

		scores[l] = 2 * own[l] + (own[l] || l == LANGUAGE_EN ? prior : 0);
		if (scores[l] > best_score) {
			best_score = scores[l];
			best = (enum cue_language)l;
		}
		votes->votes[l] = votes->votes[l] / 2 + own[l];
		most = own[l] > most ? own[l] : most;
	}
	statement->languages |= 1u << best;
	for (unsigned l = 0; l < LANGUAGE_ANY; l++)
		if (own[l] && (3 * scores[l] >= 2 * best_score || own[l] == most))
			statement->languages |= 1u << l;
	return best;
}

/* ---- Cues */

static bool at_start(const struct statement *statement, unsigned i)
{
	if (i == 0 || statement->words[i].broken)
		return true;
	if (statement->words[i].quoted != statement->words[i - 1].quoted)
		return false;
	return word_is(statement, i - 1, WORD_JOIN) ||
	       (word_is(statement, i - 1, WORD_FILLER) && statement->words[i - 1].start_of_clause);
}

/* Whether the members from `member` on stand at word `at`; then the last word. */
static bool matches(const struct statement *statement, const struct cue_phrase *phrase, unsigned member,
	unsigned at, unsigned *ret_last)
{
	const uint16_t *words = cue_phrase_words + phrase->words;

	for (; member < phrase->count; member++, at++) {
		if (words[member] == CUE_GAP) {
			for (unsigned gap = 0; gap <= CUE_GAP_WORDS; gap++) {
				if (gap && (at + gap - 1 >= statement->count ||
						   statement->words[at + gap - 1].broken))
					return false;
				if (matches(statement, phrase, member + 1, at + gap, ret_last))
					return true;
			}
			return false;
		}
		if (at >= statement->count || statement->words[at].quoted)
			return false;
		if (member && statement->words[at].broken)
			return false;
		if (words[member] == CUE_NUMBER
				? !word_is_number(statement, at)
				: words[member] != CUE_ANY && words[member] != statement->words[at].id)
			return false;
	}
	*ret_last = at - 1;
	return true;
}

static bool phrase_stands(
	const struct statement *statement, const struct cue_phrase *phrase, unsigned at, unsigned *ret_last)
{
	if (!(statement->languages & (1u << phrase->language)))
		return false;
	if ((phrase->anchors & CUE_AT_START) && !statement->words[at].start_of_clause)
		return false;
	if (!matches(statement, phrase, 1, at + 1, ret_last) || statement->words[*ret_last].glued_after)
		return false;
	return !(phrase->anchors & CUE_AT_END) || *ret_last + 1u == statement->count ||
	       statement->words[*ret_last + 1].broken;
}

/* Of phrases [from, to), which begin alike, the first whose second member is not before `second`. */
static uint32_t lower_bound(uint32_t from, uint32_t to, uint16_t second)
{
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		const struct cue_phrase *phrase = &cue_phrases[middle];

		if (phrase->count == 1 || cue_phrase_words[phrase->words + 1] < second)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Tries phrases [from, to) at word `at`; those that reach furthest so far are in `cue`, up to word `best`
 * - 1. */
static unsigned try_phrases(const struct statement *statement, uint32_t from, uint32_t to, unsigned at,
	unsigned best, struct cue *cue)
{
	unsigned last;

	for (uint32_t i = from; i < to; i++) {
		if (!phrase_stands(statement, &cue_phrases[i], at, &last) || last + 1 < best)
			continue;
		if (last + 1 > best)
			cue->kinds = 0;
		best = last + 1;
		cue->kinds |= cue_phrases[i].kinds;
	}
	return best;
}

/* Of the phrases of a word those are tried that are that word alone, those that go on with the word that
 * follows it, and those that go on with a gap, a number or any word: they are sorted in this order. */
static bool best_cue(const struct statement *statement, unsigned at, struct cue *cue)
{
	uint16_t id = statement->words[at].id,
		 next = at + 1 < statement->count ? statement->words[at + 1].id : 0;
	uint32_t from = cue_first[id], to = cue_first[id + 1], alone = from;
	unsigned best;

	if (!id || from == to || statement->words[at].quoted || statement->words[at].glued)
		return false;
	alone = lower_bound(from, to, 0);
	best = try_phrases(statement, from, alone, at, 0, cue);
	if (next)
		best = try_phrases(statement, lower_bound(alone, to, next),
			lower_bound(alone, to, (uint16_t)(next + 1)), at, best, cue);
	best = try_phrases(statement, lower_bound(alone, to, CUE_NUMBER), to, at, best, cue);
	cue->first = (uint16_t)at;
	cue->last = (uint16_t)(best ? best - 1 : at);
	return best > 0;
}

void statement_read(struct statement *statement, struct slice text, struct language_votes *votes)
{
	statement->text = (struct slice){text.data, utf8_truncate(text.data, text.len, UINT16_MAX)};
	statement->count = statement->cue_count = 0;
	read_words(statement);
	statement->language = guess_language(statement, votes);
	for (unsigned i = 0; i < statement->count; i++)
		statement->words[i].start_of_clause = at_start(statement, i);
	for (unsigned i = 0; i < statement->count && statement->cue_count < STATEMENT_CUES;) {
		struct cue *cue = &statement->cues[statement->cue_count];

		if (best_cue(statement, i, cue)) {
			statement->cue_count++;
			i = cue->last;
		}
		i++;
	}
}

const struct cue *statement_cue(const struct statement *statement, uint64_t kinds, unsigned from)
{
	for (unsigned i = 0; i < statement->cue_count; i++)
		if (statement->cues[i].first >= from && statement->cues[i].kinds & kinds)
			return &statement->cues[i];
	return NULL;
}

bool word_is(const struct statement *statement, unsigned word, enum word_class kind)
{
	return cue_word_is(statement->words[word].id, kind, statement->language);
}

bool word_is_number(const struct statement *statement, unsigned word)
{
	const struct word *found = &statement->words[word];

	return found->number || word_is(statement, word, WORD_NUMBER) ||
	       (statement->text.data[found->start] >= '0' && statement->text.data[found->start] <= '9' &&
		       !found->glued);
}

struct slice statement_span(const struct statement *statement, unsigned from, unsigned to)
{
	if (from > to || to >= statement->count)
		return (struct slice){statement->text.data, 0};
	return (struct slice){statement->text.data + statement->words[from].start,
		(size_t)(statement->words[to].end - statement->words[from].start)};
}

/* "plan A": a letter that names something. */
static bool is_letter_name(const struct statement *statement, unsigned word)
{
	const struct word *found = &statement->words[word];

	return word > 0 && !found->broken && !found->glued && !found->glued_after && found->capital &&
	       found->end - found->start == 1 && statement->text.data[found->start] != 'I';
}

/* The 2404 of "worker-2404", both parts of "shard-3-1": numbers that tell names apart. */
static bool is_name_part(const struct statement *statement, unsigned word)
{
	while (word > 0 && word_is_number(statement, word) && statement->words[word].glued &&
		memchr("-_#/", statement->text.data[statement->words[word].start - 1u], 4))
		if (!word_is_number(statement, --word))
			return true;
	return false;
}

static bool is_content(const struct statement *statement, unsigned word, const struct cue *cue, bool numbers)
{
	if (cue && word >= cue->first && word <= cue->last && !(cue->kinds & KIND(CUE_RULE_NUMBER)))
		return false;
	if (word_is_number(statement, word))
		return numbers || is_name_part(statement, word);
	if (is_letter_name(statement, word))
		return true;
	return !word_is(statement, word, WORD_STOP) &&
	       !(statement->words[word].wide && word_is(statement, word, WORD_FILLER));
}

unsigned statement_content_count(
	const struct statement *statement, unsigned from, unsigned to, const struct cue *cue)
{
	unsigned count = 0;

	for (unsigned i = from; i <= to && i < statement->count; i++)
		count += is_content(statement, i, cue, false);
	return count;
}

void statement_content(const struct statement *statement, unsigned from, unsigned to, const struct cue *cue,
	struct buffer *out)
{
	bool numbers = statement_content_count(statement, from, to, cue) == 0, wide = true;
	char folded[WORD_BYTES];

	for (unsigned i = from; i <= to && i < statement->count; i++) {
		if (!is_content(statement, i, cue, numbers))
			continue;
		if (out->len && !(wide && statement->words[i].wide))
			buffer_add_char(out, ' ');
		if (is_letter_name(statement, i))
			buffer_add_slice(out, statement_span(statement, i,
						      i)); /* a letter in lower case would count as nothing */
		else
			buffer_add_slice(
				out, fold_name(statement_span(statement, i, i), folded, sizeof folded));
		wide = statement->words[i].wide;
	}
}
