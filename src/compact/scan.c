/* SPDX-License-Identifier: MIT */
/* See scan.h. The loop over a text is the hot one: a table look-up, a multiplication and a branch a
 * byte. */
#include "compact/scan.h"

#include "base/error.h"
#include "compact/numbers.h"

#define BITMAP_BITS 16
#define HASH_START 0xcbf29ce484222325ull
#define HASH_FACTOR 0x100000001b3ull

/* What a byte is: part of a word, its lower-case form; 0: a separator; 1: the first byte of a code point
 * beyond ASCII; 2: a later one of it. */
#define SAME(c) [c] = (c)
#define BOTH(c) [c] = (c), [(c)-32] = (c)
#define LATER(c)                                                                                             \
	[c] = 2, [(c) + 1] = 2, [(c) + 2] = 2, [(c) + 3] = 2, [(c) + 4] = 2, [(c) + 5] = 2, [(c) + 6] = 2,   \
	[(c) + 7] = 2
#define FIRST(c)                                                                                             \
	[c] = 1, [(c) + 1] = 1, [(c) + 2] = 1, [(c) + 3] = 1, [(c) + 4] = 1, [(c) + 5] = 1, [(c) + 6] = 1,   \
	[(c) + 7] = 1
static const unsigned char CLASS[256] = {SAME('0'), SAME('1'), SAME('2'), SAME('3'), SAME('4'), SAME('5'),
	SAME('6'), SAME('7'), SAME('8'), SAME('9'), BOTH('a'), BOTH('b'), BOTH('c'), BOTH('d'), BOTH('e'),
	BOTH('f'), BOTH('g'), BOTH('h'), BOTH('i'), BOTH('j'), BOTH('k'), BOTH('l'), BOTH('m'), BOTH('n'),
	BOTH('o'), BOTH('p'), BOTH('q'), BOTH('r'), BOTH('s'), BOTH('t'), BOTH('u'), BOTH('v'), BOTH('w'),
	BOTH('x'), BOTH('y'), BOTH('z'), LATER(0x80), LATER(0x88), LATER(0x90), LATER(0x98), LATER(0xa0),
	LATER(0xa8), LATER(0xb0), LATER(0xb8), FIRST(0xc0), FIRST(0xc8), FIRST(0xd0), FIRST(0xd8),
	FIRST(0xe0), FIRST(0xe8), FIRST(0xf0), FIRST(0xf8)};

static inline unsigned char class_of(char c)
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

/* Blanks as records clean them away: white space, no-break and ideographic space. Bytes of one; 0: none.
 * */
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

/* Bytes of a blank that ends at `at`; 0: none. */
static size_t blank_before(struct slice text, size_t at)
{
	if (at && ((unsigned char)text.data[at - 1] <= ' ' || text.data[at - 1] == 0x7f))
		return 1;
	for (size_t len = 2; len <= 3 && len <= at; len++)
		if ((unsigned char)text.data[at - len] >= 0xc2 && blank_at(text, at - len) == len)
			return len;
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

/* Of two words; the order counts. */
static uint64_t join_hashes(uint64_t first, uint64_t second)
{
	return (first ^ (second >> 29)) * HASH_FACTOR + second;
}

/* The hash of the word that ends at `at` and the one after it; just `first` if there is none. */
static uint64_t hash_both(struct slice text, size_t at, uint64_t first)
{
	uint64_t second;

	if (at < text.len && text.data[at] == ' ') /* as nearly always */
		at++;
	while (at < text.len && !is_word(text.data[at])) {
		size_t blank = blank_at(text, at);

		if (!blank && class_of(text.data[at]) != 0)
			break;
		at += blank ? blank : 1;
	}
	if (at >= text.len)
		return first;
	hash_word(text, at, &second);
	return join_hashes(first, second);
}

#define ANCHOR_WORDS 6

/* The word by which a pattern is looked for: of its first ones the longest, for long words are rare; digits make one
 * rarer still. SIZE_MAX: there is no word. */
static size_t choose_anchor(struct slice text)
{
	size_t best = SIZE_MAX, best_score = 0, at = first_word(text);

	for (int i = 0; i < ANCHOR_WORDS && at < text.len && at <= UINT16_MAX; i++) {
		uint64_t hash;
		size_t end = hash_word(text, at, &hash), score = end - at;

		for (size_t c = at; c < end; c++)
			score += is_digit(text.data[c]) ? 2 : 0;
		if (score > best_score) {
			best = at;
			best_score = score;
		}
		at = end + first_word((struct slice){text.data + end, text.len - end});
	}
	return best;
}

int scanner_add(
	struct scanner *scanner, struct slice text, enum scan_case how, uint32_t value, bool *ret_added)
{
	/* a number is looked for by its beginning: its end may go on, with zeros, with a unit */
	size_t anchor = how == SCAN_NUMBER ? first_word(text) : choose_anchor(text), end;
	struct scan_pattern pattern = {.text = text, .value = value, .how = (uint8_t)how, .next = UINT32_MAX};

	if (ret_added)
		*ret_added = anchor < text.len && anchor <= UINT16_MAX;
	if (anchor >= text.len || anchor > UINT16_MAX)
		return 0;
	pattern.anchor = (uint16_t)anchor;
	end = hash_word(text, anchor, &pattern.first);
	pattern.both = how == SCAN_NUMBER ? pattern.first : hash_both(text, end, pattern.first);
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

/* ---- Bitmaps and the table */

#define BITMAP_WORDS ((1u << BITMAP_BITS) / 64)

static size_t bit_of(uint64_t hash)
{
	return (size_t)(hash >> 40) & ((1u << BITMAP_BITS) - 1);
}

static void mark(uint64_t *bitmap, size_t bit)
{
	bitmap[bit / 64] |= 1ull << (bit % 64);
}

static inline bool is_marked(const uint64_t *bitmap, size_t bit)
{
	return bitmap[bit / 64] >> (bit % 64) & 1;
}

static bool is_letter(char c)
{
	return class_of(c) >= 'a';
}

static size_t triple_of(const char *word)
{
	return (size_t)(class_of(word[0]) - 'a') * 26 * 26 + (size_t)(class_of(word[1]) - 'a') * 26 +
	       (size_t)(class_of(word[2]) - 'a');
}

int scanner_add_number_words(struct scanner *scanner)
{
	const char *word;
	bool part;

	scanner->numbers = arena_alloc_zero(scanner->arena, BITMAP_WORDS * sizeof *scanner->numbers);
	scanner->triples =
		arena_alloc_zero(scanner->arena, (SCAN_TRIPLES / 64 + 1) * sizeof *scanner->triples);
	if (!scanner->numbers || !scanner->triples)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; (word = number_word_text(i, &part)); i++) {
		uint64_t hash;

		hash_word(slice_of(word), 0, &hash);
		mark(scanner->numbers, bit_of(hash));
		if (part && is_letter(word[1]) && is_letter(word[2]))
			mark(scanner->triples, triple_of(word));
	}
	return 0;
}

int scanner_prepare(struct scanner *scanner)
{
	uint32_t slots = 16;

	while (slots < 2 * scanner->count)
		slots *= 2;
	scanner->mask = slots - 1;
	scanner->table = arena_alloc(scanner->arena, slots * sizeof *scanner->table);
	scanner->firsts = arena_alloc_zero(scanner->arena, BITMAP_WORDS * sizeof *scanner->firsts);
	scanner->boths = arena_alloc_zero(scanner->arena, BITMAP_WORDS * sizeof *scanner->boths);
	if (!scanner->table || !scanner->firsts || !scanner->boths)
		return BOBBIN_ENOMEM;
	memset(scanner->table, 0xff, slots * sizeof *scanner->table);
	for (uint32_t i = 0; i < scanner->count; i++) {
		struct scan_pattern *pattern = &scanner->patterns[i];
		uint32_t at = (uint32_t)pattern->both & scanner->mask;

		while (scanner->table[at] != UINT32_MAX &&
			scanner->patterns[scanner->table[at]].both != pattern->both)
			at = (at + 1) & scanner->mask;
		pattern->next = scanner->table[at];
		scanner->table[at] = i;
		mark(scanner->firsts, bit_of(pattern->first));
		mark(scanner->boths, bit_of(pattern->both));
	}
	for (size_t i = 0; scanner->numbers && i < BITMAP_WORDS; i++)
		scanner->firsts[i] |= scanner->numbers[i];
	return 0;
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
		if (at >= text.len ||
			!same(pattern->text.data[i], text.data[at], (enum scan_case)pattern->how))
			return SIZE_MAX;
		at++;
	}
	return at;
}

/* Compares backwards from the anchor: where the pattern begins; SIZE_MAX: it does not stand here. */
static size_t meet_backwards(const struct scan_pattern *pattern, struct slice text, size_t at)
{
	for (size_t i = pattern->anchor; i-- > 0;) {
		size_t blank;

		if (pattern->text.data[i] == ' ') {
			if (!(blank = blank_before(text, at)))
				return SIZE_MAX;
			for (; blank; blank = blank_before(text, at))
				at -= blank;
			continue;
		}
		if (!at || !same(pattern->text.data[i], text.data[at - 1], (enum scan_case)pattern->how))
			return SIZE_MAX;
		at--;
	}
	return at;
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
	return !(at + 1 < text.len && (text.data[at] == '.' || text.data[at] == ',') &&
		 is_digit(text.data[at + 1]));
}

static bool number_begins(struct slice text, size_t at)
{
	return !(at > 1 && (text.data[at - 1] == '.' || text.data[at - 1] == ',') &&
		 is_digit(text.data[at - 2]));
}

static bool meets(const struct scan_pattern *pattern, struct slice text, size_t at)
{
	size_t end = meet_forwards(pattern, text, at);
	size_t start = end == SIZE_MAX ? SIZE_MAX : meet_backwards(pattern, text, at);
	char first = pattern->text.data[0], last = pattern->text.data[pattern->text.len - 1];

	if (start == SIZE_MAX || (start > 0 && is_word(first) && is_word(text.data[start - 1])))
		return false;
	if (pattern->how == SCAN_NUMBER && is_digit(last))
		return number_begins(text, at) && number_ends(pattern, text, end);
	return !(end < text.len && is_word(text.data[end]) && is_word(last));
}

/* ---- Scanning */

struct scan {
	const struct scanner *scanner;
	struct slice text;
	size_t numbers_to; /* number words before it are part of one that was reported */
	void (*hit)(void *context, const struct scan_hit *hit);
	void *context;
};

static void compare_all(struct scan *scan, uint64_t both, size_t at)
{
	const struct scanner *scanner = scan->scanner;
	uint32_t slot = (uint32_t)both & scanner->mask;
	uint32_t index;

	while ((index = scanner->table[slot]) != UINT32_MAX && scanner->patterns[index].both != both)
		slot = (slot + 1) & scanner->mask;
	for (; index != UINT32_MAX; index = scanner->patterns[index].next) {
		struct scan_hit hit = {.value = scanner->patterns[index].value};

		if (meets(&scanner->patterns[index], scan->text, at))
			scan->hit(scan->context, &hit);
	}
}

/* The word [at, end) begins a pattern, or shares the bit of one that does. */
static void look_up(struct scan *scan, uint64_t hash, size_t at, size_t end)
{
	uint64_t both = hash_both(scan->text, end, hash);

	if (is_marked(scan->scanner->boths, bit_of(hash)))
		compare_all(scan, hash, at);
	if (both != hash && is_marked(scan->scanner->boths, bit_of(both)))
		compare_all(scan, both, at);
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

/* A word made of parts: it is longer than any of them. */
static inline bool may_have_parts(const struct scanner *scanner, const char *word, size_t len)
{
	return len > 5 && scanner->triples && is_letter(word[0]) && is_letter(word[1]) &&
	       is_letter(word[2]) && is_marked(scanner->triples, triple_of(word));
}

static void look_closer(struct scan *scan, uint64_t hash, size_t at, size_t end)
{
	const struct scanner *scanner = scan->scanner;

	look_up(scan, hash, at, end);
	if ((scanner->numbers && is_marked(scanner->numbers, bit_of(hash))) ||
		may_have_parts(scanner, scan->text.data + at, end - at))
		read_number_words(scan, at);
}

static inline void look_at_word(struct scan *scan, uint64_t hash, size_t at, size_t end)
{
	if (is_marked(scan->scanner->firsts, bit_of(hash)))
		look_closer(scan, hash, at, end);
	else if (may_have_parts(scan->scanner, scan->text.data + at, end - at))
		read_number_words(scan, at);
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
		if (is_marked(scan->scanner->firsts, bit_of(hash)))
			look_up(scan, hash, start, at);
		if (at == len || !is_word(data[at]))
			return at;
	}
	for (; at < len && (class = class_of(data[at])) > 2; at++)
		hash = (hash ^ class) * HASH_FACTOR;
	look_at_word(scan, hash, start, at);
	return at;
}

void scan_text(const struct scanner *scanner, struct slice text,
	void (*hit)(void *context, const struct scan_hit *hit), void *context)
{
	struct scan scan = {.scanner = scanner, .text = text, .hit = hit, .context = context};

	for (size_t at = 0; at < text.len;) {
		unsigned char class = class_of(text.data[at]);

		if (class > 2) {
			at = scan_word(&scan, at);
		} else if (class == 1) {
			uint64_t hash;
			size_t end = hash_word(text, at, &hash);

			look_at_word(&scan, hash, at, end);
			at = end;
		} else {
			at++;
		}
	}
}
