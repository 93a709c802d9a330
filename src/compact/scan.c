/* SPDX-License-Identifier: MIT */
/* See scan.h. The loop over a text is the hot one: a table look-up, a multiplication and a branch a byte. */
#include "compact/scan.h"

#include "base/error.h"
#include "compact/numbers.h"

#define BITMAP_BITS 16
#define HASH_START 0xcbf29ce484222325ull
#define HASH_FACTOR 0x100000001b3ull

/* What a byte is: part of a word, its lower-case form; 0: a separator; 1: the first byte of a code point beyond ASCII;
 * 2: a later one of it. */
#define SAME(c) [c] = (c)
#define BOTH(c) [c] = (c), [(c) - 32] = (c)
#define LATER(c) [c] = 2, [(c) + 1] = 2, [(c) + 2] = 2, [(c) + 3] = 2, [(c) + 4] = 2, [(c) + 5] = 2, \
	[(c) + 6] = 2, [(c) + 7] = 2
#define FIRST(c) [c] = 1, [(c) + 1] = 1, [(c) + 2] = 1, [(c) + 3] = 1, [(c) + 4] = 1, [(c) + 5] = 1, \
	[(c) + 6] = 1, [(c) + 7] = 1
static const unsigned char CLASS[256] = {SAME('0'), SAME('1'), SAME('2'), SAME('3'), SAME('4'), SAME('5'), SAME('6'),
	SAME('7'), SAME('8'), SAME('9'), BOTH('a'), BOTH('b'), BOTH('c'), BOTH('d'), BOTH('e'), BOTH('f'), BOTH('g'),
	BOTH('h'), BOTH('i'), BOTH('j'), BOTH('k'), BOTH('l'), BOTH('m'), BOTH('n'), BOTH('o'), BOTH('p'), BOTH('q'),
	BOTH('r'), BOTH('s'), BOTH('t'), BOTH('u'), BOTH('v'), BOTH('w'), BOTH('x'), BOTH('y'), BOTH('z'),
	LATER(0x80), LATER(0x88), LATER(0x90), LATER(0x98), LATER(0xa0), LATER(0xa8), LATER(0xb0), LATER(0xb8),
	FIRST(0xc0), FIRST(0xc8), FIRST(0xd0), FIRST(0xd8), FIRST(0xe0), FIRST(0xe8), FIRST(0xf0), FIRST(0xf8)};

static unsigned char class_of(char c)
{
	return CLASS[(unsigned char)c];
}

static bool is_word(char c)
{
	return class_of(c) > 2;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

void scanner_init(struct scanner *scanner, struct arena *arena)
{
	*scanner = (struct scanner){.arena = arena};
}

/* The end of the word that begins at `at` and its hash. */
static size_t hash_word(struct slice text, size_t at, uint64_t *ret_hash)
{
	uint64_t hash = HASH_START;

	if (is_word(text.data[at])) {
		for (; at < text.len && is_word(text.data[at]); at++)
			hash = (hash ^ class_of(text.data[at])) * HASH_FACTOR;
	} else {
		do {
			hash = (hash ^ (unsigned char)text.data[at++]) * HASH_FACTOR;
		} while (at < text.len && class_of(text.data[at]) == 2);
	}
	*ret_hash = hash;
	return at;
}

/* Blanks as records clean them away: white space, no-break and ideographic space. Bytes of one; 0: none. */
static size_t blank_at(struct slice text, size_t at)
{
	if (at >= text.len)
		return 0;
	if ((unsigned char)text.data[at] <= ' ' || text.data[at] == 0x7f)
		return 1;
	if ((unsigned char)text.data[at] < 0xc2)
		return 0;
	struct slice rest = {text.data + at, text.len - at};

	if (slice_starts_with(rest, "\xc2") && rest.len > 1 && (unsigned char)rest.data[1] <= 0xa0)
		return 2;
	if (slice_starts_with(rest, "\xe3\x80\x80") || slice_starts_with(rest, "\xe2\x80\xa8") ||
		slice_starts_with(rest, "\xe2\x80\xa9") || slice_starts_with(rest, "\xef\xbb\xbf"))
		return 3;
	return 0;
}

/* The first byte of a word in a pattern; what is a blank in a text is none in a clean pattern. */
static size_t first_word(struct slice text)
{
	size_t at = 0;

	while (at < text.len && (class_of(text.data[at]) == 0 || class_of(text.data[at]) == 2))
		at++;
	return at;
}

int scanner_add(struct scanner *scanner, struct slice text, enum scan_case how, uint32_t value, bool *ret_added)
{
	size_t anchor = first_word(text);
	struct scan_pattern pattern = {.text = text, .value = value, .how = (uint8_t)how, .next = UINT32_MAX};

	if (ret_added)
		*ret_added = anchor < text.len && anchor <= UINT16_MAX;
	if (anchor >= text.len || anchor > UINT16_MAX)
		return 0;
	pattern.anchor = (uint16_t)anchor;
	hash_word(text, anchor, &pattern.hash);
	if (scanner->count == scanner->cap) {
		uint32_t cap = scanner->cap ? scanner->cap * 2 : 64;
		struct scan_pattern *larger = arena_alloc(scanner->arena, cap * sizeof *larger);

		if (!larger)
			return BOBBIN_ENOMEM;
		if (scanner->count)
			memcpy(larger, scanner->patterns, scanner->count * sizeof *larger);
		scanner->patterns = larger;
		scanner->cap = cap;
	}
	scanner->patterns[scanner->count++] = pattern;
	return 0;
}

static void mark(struct scanner *scanner, uint64_t hash)
{
	size_t bit = (size_t)(hash >> 40) & ((1u << BITMAP_BITS) - 1);

	scanner->bitmap[bit / 64] |= 1ull << (bit % 64);
}

static bool is_marked(const struct scanner *scanner, uint64_t hash)
{
	size_t bit = (size_t)(hash >> 40) & ((1u << BITMAP_BITS) - 1);

	return scanner->bitmap[bit / 64] >> (bit % 64) & 1;
}

int scanner_prepare(struct scanner *scanner)
{
	uint32_t slots = 16;

	while (slots < 2 * scanner->count)
		slots *= 2;
	scanner->mask = slots - 1;
	scanner->table = arena_alloc(scanner->arena, slots * sizeof *scanner->table);
	scanner->bitmap = arena_alloc_zero(scanner->arena, (1u << BITMAP_BITS) / 8);
	if (!scanner->table || !scanner->bitmap)
		return BOBBIN_ENOMEM;
	memset(scanner->table, 0xff, slots * sizeof *scanner->table);
	for (uint32_t i = 0; i < scanner->count; i++) {
		struct scan_pattern *pattern = &scanner->patterns[i];
		uint32_t at = (uint32_t)pattern->hash & scanner->mask;

		while (scanner->table[at] != UINT32_MAX && scanner->patterns[scanner->table[at]].hash != pattern->hash)
			at = (at + 1) & scanner->mask;
		pattern->next = scanner->table[at];
		scanner->table[at] = i;
		mark(scanner, pattern->hash);
	}
	return 0;
}

/* Number words begin with few of all pairs of letters: the others need not be looked at. */
static unsigned pair_of(const char *word)
{
	return (unsigned)(class_of(word[0]) - 'a') * 26 + (unsigned)(class_of(word[1]) - 'a');
}

static bool may_be_number_word(const struct scanner *scanner, const char *word)
{
	if (class_of(word[0]) < 'a')
		return false;
	if (class_of(word[1]) < 'a') /* an accent, or the word is one letter */
		return (unsigned char)word[1] >= 0x80;
	return scanner->pairs[pair_of(word) / 64] >> (pair_of(word) % 64) & 1;
}

void scanner_add_number_words(struct scanner *scanner)
{
	const char *word;

	scanner->number_words = true;
	for (size_t i = 0; (word = number_word_text(i)); i++)
		if (class_of(word[1]) >= 'a')
			scanner->pairs[pair_of(word) / 64] |= 1ull << (pair_of(word) % 64);
}

/* ---- Comparing */

static bool same(char pattern, char text, enum scan_case how)
{
	return pattern == text ||
	       (how == SCAN_FOLDED && is_word(text) && class_of(pattern) == class_of(text));
}

/* Compares forwards from the anchor; SIZE_MAX: it does not stand here. */
static size_t meet_forwards(const struct scan_pattern *pattern, struct slice text, size_t at)
{
	for (size_t i = pattern->anchor; i < pattern->text.len; i++) {
		size_t blank;

		if (pattern->text.data[i] == ' ') {
			if (!(blank = blank_at(text, at)))
				return SIZE_MAX;
			for (; blank; blank = blank_at(text, at))
				at += blank;
			continue;
		}
		if (at >= text.len || !same(pattern->text.data[i], text.data[at], (enum scan_case)pattern->how))
			return SIZE_MAX;
		at++;
	}
	return at;
}

static bool meet_backwards(const struct scan_pattern *pattern, struct slice text, size_t at)
{
	for (size_t i = pattern->anchor; i-- > 0;) {
		if (pattern->text.data[i] == ' ') {
			if (!at || (unsigned char)text.data[at - 1] > ' ')
				return false;
			while (at && (unsigned char)text.data[at - 1] <= ' ')
				at--;
			continue;
		}
		if (!at || text.data[at - 1] != pattern->text.data[i])
			return false;
		at--;
	}
	return true;
}

/* A number must not be the beginning of a longer one; zeros of a fraction make it no longer. */
static bool number_ends(const struct scan_pattern *pattern, struct slice text, size_t at)
{
	bool fraction = memchr(pattern->text.data, '.', pattern->text.len) != NULL;

	if (!fraction && at + 1 < text.len && text.data[at] == '.' && text.data[at + 1] == '0') {
		fraction = true;
		at++;
	}
	while (fraction && at < text.len && text.data[at] == '0')
		at++;
	if (at < text.len && is_digit(text.data[at]))
		return false;
	return !(at + 1 < text.len && (text.data[at] == '.' || text.data[at] == ',') && is_digit(text.data[at + 1]));
}

static bool number_begins(struct slice text, size_t at)
{
	return !(at > 1 && (text.data[at - 1] == '.' || text.data[at - 1] == ',') && is_digit(text.data[at - 2]));
}

static bool meets(const struct scan_pattern *pattern, struct slice text, size_t at)
{
	size_t end = meet_forwards(pattern, text, at);

	if (end == SIZE_MAX || !meet_backwards(pattern, text, at))
		return false;
	if (pattern->how == SCAN_NUMBER && is_digit(pattern->text.data[pattern->text.len - 1]))
		return number_begins(text, at) && number_ends(pattern, text, end);
	return !(end < text.len && is_word(text.data[end]) && is_word(pattern->text.data[pattern->text.len - 1]));
}

/* ---- Scanning */

struct scan {
	const struct scanner *scanner;
	struct slice text;
	size_t numbers_to;  /* number words before it are part of one that was reported */
	void (*hit)(void *context, const struct scan_hit *hit);
	void *context;
};

static void look_up(struct scan *scan, uint64_t hash, size_t at)
{
	const struct scanner *scanner = scan->scanner;
	uint32_t slot = (uint32_t)hash & scanner->mask;
	uint32_t index;

	while ((index = scanner->table[slot]) != UINT32_MAX && scanner->patterns[index].hash != hash)
		slot = (slot + 1) & scanner->mask;
	for (; index != UINT32_MAX; index = scanner->patterns[index].next) {
		struct scan_hit hit = {.value = scanner->patterns[index].value};

		if (meets(&scanner->patterns[index], scan->text, at))
			scan->hit(scan->context, &hit);
	}
}

static void read_number_words(struct scan *scan, size_t at)
{
	struct scan_hit hit = {.is_number_word = true};
	size_t len;

	if (at < scan->numbers_to)
		return;
	if ((len = number_words_read(scan->text, at, &hit.number))) {
		scan->numbers_to = at + len;
		scan->hit(scan->context, &hit);
	}
}

/* A code point beyond ASCII is a word of its own. */
static size_t scan_wide(struct scan *scan, size_t at)
{
	uint64_t hash;
	size_t end = hash_word(scan->text, at, &hash);

	if (is_marked(scan->scanner, hash))
		look_up(scan, hash, at);
	if (scan->scanner->number_words)
		read_number_words(scan, at);
	return end;
}

static size_t scan_word(struct scan *scan, size_t at)
{
	const char *data = scan->text.data;
	size_t start = at, len = scan->text.len;
	uint64_t hash = HASH_START;
	unsigned char class;

	if (is_digit(data[at])) { /* digits may be followed by a unit: "250ms" has 250 in it */
		for (; at < len && is_digit(data[at]); at++)
			hash = (hash ^ (unsigned char)data[at]) * HASH_FACTOR;
		if (is_marked(scan->scanner, hash))
			look_up(scan, hash, start);
		if (at == len || !is_word(data[at]))
			return at;
	}
	for (; at < len && (class = class_of(data[at])) > 2; at++)
		hash = (hash ^ class) * HASH_FACTOR;
	if (is_marked(scan->scanner, hash))
		look_up(scan, hash, start);
	if (scan->scanner->number_words && start + 1 < len && may_be_number_word(scan->scanner, data + start))
		read_number_words(scan, start);
	return at;
}

void scan_text(const struct scanner *scanner, struct slice text,
	void (*hit)(void *context, const struct scan_hit *hit), void *context)
{
	struct scan scan = {.scanner = scanner, .text = text, .hit = hit, .context = context};

	for (size_t at = 0; at < text.len;) {
		unsigned char class = class_of(text.data[at]);

		if (class > 2)
			at = scan_word(&scan, at);
		else if (class == 1)
			at = scan_wide(&scan, at);
		else
			at++;
	}
}
