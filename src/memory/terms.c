/* SPDX-License-Identifier: MIT */
/* Words, pairs of characters, and what of them counts in a query. Invariants: terms.h. */
#include "memory/terms.h"
#include <utf8proc.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "memory/stem.h"
#include "memory/stop.h"

enum shape {
	SHAPE_SPACE,
	SHAPE_APOSTROPHE,
	SHAPE_LETTER,
	SHAPE_WIDE,
};

static bool is_wide(uint32_t point)
{
	return (point >= 0x0E00 && point <= 0x0EFF) || (point >= 0x1000 && point <= 0x109F) ||
	       (point >= 0x1780 && point <= 0x17FF) || (point >= 0x3041 && point <= 0x30FF && point != 0x30FB) ||
	       (point >= 0x3105 && point <= 0x312F) || (point >= 0x3400 && point <= 0x4DBF) || point == 0x3005 ||
	       (point >= 0x4E00 && point <= 0x9FFF) || (point >= 0xAC00 && point <= 0xD7A3) ||
	       (point >= 0xF900 && point <= 0xFAFF) || (point >= 0x20000 && point <= 0x323AF);
}

static bool is_hiragana(uint32_t point)
{
	return point >= 0x3041 && point <= 0x309F;
}

static enum shape shape_of(uint32_t point)
{
	if (point == '\'' || point == 0x2019)
		return SHAPE_APOSTROPHE;
	if (is_wide(point))
		return SHAPE_WIDE;
	switch (utf8proc_category((utf8proc_int32_t)point)) {
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_LO:
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NL:
	case UTF8PROC_CATEGORY_NO:
	case UTF8PROC_CATEGORY_MN:
	case UTF8PROC_CATEGORY_MC:
		return SHAPE_LETTER;
	default:
		return SHAPE_SPACE;
	}
}

/* A code point in its folded form: one or more, or none for a mark. */
#define FOLDED_MAX 24
static size_t fold(uint32_t point, uint32_t ret_points[FOLDED_MAX])
{
	utf8proc_int32_t points[FOLDED_MAX];
	int last_class = 0;

	if (point < 0x80 || is_wide(point)) {
		ret_points[0] = point >= 'A' && point <= 'Z' ? point + 32 : point;
		return 1;
	}
	utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)point, points, FOLDED_MAX,
		UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK, &last_class);
	if (count < 0 || count > FOLDED_MAX)
		return 0;
	for (utf8proc_ssize_t i = 0; i < count; i++)
		ret_points[i] = (uint32_t)points[i];
	return (size_t)count;
}

/* ---- Folded text */

struct folder {
	struct buffer *out;
	bool wide; /* the last character was */
};

static void fold_point(struct folder *folder, uint32_t point)
{
	char bytes[4];
	enum shape shape = shape_of(point);
	bool blank = folder->out->len && folder->out->data[folder->out->len - 1] == ' ';

	if (shape == SHAPE_APOSTROPHE)
		return;
	if (shape == SHAPE_SPACE) {
		if (!blank)
			buffer_add_char(folder->out, ' ');
		folder->wide = false;
		return;
	}
	if (!blank && folder->wide != (shape == SHAPE_WIDE))
		buffer_add_char(folder->out, ' ');
	folder->wide = shape == SHAPE_WIDE;
	buffer_add(folder->out, bytes, utf8_encode(point, bytes));
}

void terms_fold(struct slice text, struct buffer *out)
{
	struct folder folder = {out, false};

	buffer_add_char(out, ' ');
	for (size_t at = 0; at < text.len;) {
		uint32_t point = ' ', points[FOLDED_MAX];
		unsigned step = utf8_decode(text.data + at, text.len - at, &point);

		at += step ? step : 1;
		size_t count = fold(step ? point : ' ', points);
		for (size_t i = 0; i < count; i++)
			fold_point(&folder, points[i]);
	}
	if (out->len && out->data[out->len - 1] != ' ')
		buffer_add_char(out, ' ');
}

/* ---- Terms */

struct reader {
	enum terms_for purpose;
	struct arena *arena;
	struct terms *terms;
	size_t max;
	uint16_t place;
	bool weighs; /* for a query, also when stop words are all it has */
	bool failed;
};

static void add(struct reader *reader, struct slice text, float weight, bool wide, uint16_t place)
{
	struct terms *terms = reader->terms;

	if (reader->purpose != TERMS_ORDER)
		for (size_t i = 0; i < terms->count; i++)
			if (slice_equal(terms->items[i].text, text))
				return;
	if (terms->count == reader->max || reader->failed)
		return;
	if (terms->count == terms->cap) {
		size_t cap = terms->cap ? terms->cap * 2 : 32;
		struct term *grown = arena_alloc(reader->arena, cap * sizeof *grown);
		if (grown && terms->count)
			memcpy(grown, terms->items, terms->count * sizeof *grown);
		reader->failed = !grown;
		if (!grown)
			return;
		terms->items = grown;
		terms->cap = cap;
	}
	char *copy = arena_copy(reader->arena, text.data, text.len);
	reader->failed = !copy;
	if (copy)
		terms->items[terms->count++] = (struct term){{copy, text.len}, weight, wide, place};
}

static void add_word(struct reader *reader, struct slice word)
{
	char stemmed[TERM_BYTES];
	size_t len = utf8_truncate(word.data, word.len, TERM_BYTES);
	float weight = reader->weighs ? stop_weight((struct slice){word.data, len}) : 1;

	reader->place++;
	if (reader->purpose == TERMS_QUERY && weight == 0)
		return;
	memcpy(stemmed, word.data, len);
	len = stem(stemmed, len);
	add(reader, (struct slice){stemmed, len}, weight, false, reader->place);
}

/* The end of the character at `data`. */
static size_t step_at(struct slice run, size_t at, uint32_t *ret_point)
{
	unsigned step = utf8_decode(run.data + at, run.len - at, ret_point);

	return at + (step ? step : 1);
}

/* Pairs of a run without what is only grammar; of a run of one character, that one. */
static void add_pairs(struct reader *reader, struct slice run)
{
	uint32_t first = 0, second = 0;
	size_t at = 0, next = step_at(run, 0, &first);
	bool query = reader->purpose == TERMS_QUERY;

	if (next == run.len && (!query || !is_hiragana(first)))
		add(reader, run, query ? 0.7f : 1, true, reader->place);
	while (next < run.len) {
		size_t end = step_at(run, next, &second);
		float weight = is_hiragana(first) && is_hiragana(second) ? 0.4f : 1;

		add(reader, (struct slice){run.data + at, end - at}, weight, true, reader->place++);
		if (!query && !is_hiragana(first))
			add(reader, (struct slice){run.data + at, next - at}, 1, true, reader->place);
		at = next;
		next = end;
		first = second;
	}
	if (!query && at > 0 && !is_hiragana(first))
		add(reader, (struct slice){run.data + at, run.len - at}, 1, true, reader->place);
	reader->place++;
}

static void add_run(struct reader *reader, struct slice run)
{
	size_t from = 0;

	/* A query of two characters is a word: 目的 is not 目. */
	if (reader->purpose != TERMS_QUERY || utf8_columns(run.data, run.len) <= 4) {
		if (reader->purpose != TERMS_QUERY || stop_wide(run) != run.len)
			add_pairs(reader, run);
		return;
	}
	for (size_t at = 0; at < run.len;) {
		uint32_t point;
		size_t stop = stop_wide((struct slice){run.data + at, run.len - at});
		if (!stop) {
			at = step_at(run, at, &point);
			continue;
		}
		if (at > from)
			add_pairs(reader, (struct slice){run.data + from, at - from});
		from = at += stop;
	}
	if (run.len > from)
		add_pairs(reader, (struct slice){run.data + from, run.len - from});
}

static bool is_run_wide(struct slice run)
{
	uint32_t point = 0;

	return utf8_decode(run.data, run.len, &point) && is_wide(point);
}

static void read_all(struct reader *reader, struct slice folded)
{
	for (size_t at = 0; at < folded.len;) {
		const char *end = memchr(folded.data + at, ' ', folded.len - at);
		size_t len = end ? (size_t)(end - folded.data) - at : folded.len - at;
		struct slice run = {folded.data + at, len};

		if (len && is_run_wide(run))
			add_run(reader, run);
		else if (len)
			add_word(reader, run);
		at += len + 1;
	}
}

/* "Caroline's" is about Caroline; in a folded text it is "carolines". */
static void cut_possessives(struct slice text, struct buffer *out)
{
	for (size_t at = 0; at < text.len; at++) {
		struct slice rest = {text.data + at, text.len - at};
		size_t mark = rest.data[0] == '\'' ? 1 : slice_starts_with(rest, "\xE2\x80\x99") ? 3 : 0;
		bool ends = mark && rest.len > mark && rest.data[mark] == 's' &&
			    (rest.len == mark + 1 || !memchr("abcdefghijklmnopqrstuvwxyz", rest.data[mark + 1], 26));

		if (ends)
			at += mark;
		buffer_add_char(out, ends ? ' ' : rest.data[0]);
	}
}

int terms_read(struct slice text, enum terms_for purpose, struct arena *arena, struct terms *ret_terms)
{
	struct buffer plain, folded;
	struct terms terms = {0};
	struct reader reader = {purpose, arena, &terms,
		purpose == TERMS_QUERY ? QUERY_TERMS_MAX : TERMS_MAX, 0, purpose == TERMS_QUERY, false};

	buffer_init(&plain, text.len + 1);
	buffer_init(&folded, text.len * 8 + 64);
	cut_possessives(text, &plain);
	terms_fold(buffer_slice(&plain), &folded);
	int code = buffer_error(&plain) ? buffer_error(&plain) : buffer_error(&folded);
	if (!code)
		read_all(&reader, buffer_slice(&folded));
	if (!code && purpose == TERMS_QUERY && !terms.count) {
		reader.purpose = TERMS_INDEX; /* "who am I": stop words are all there is */
		read_all(&reader, buffer_slice(&folded));
	}
	buffer_release(&plain);
	buffer_release(&folded);
	if (code || reader.failed)
		return BOBBIN_ENOMEM;
	*ret_terms = terms;
	return 0;
}
