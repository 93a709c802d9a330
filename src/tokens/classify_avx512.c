/* SPDX-License-Identifier: MIT */
/*
 * Classes with AVX-512, 64 bytes at once and all in vectors: each byte's kind by the ASCII half of kind_of_byte, the kind before it by
 * moving the kinds up, and then the two together are a place in a table of 63 for each class. What the table of
 * classify.c says of a pair stands in those tables.
 *
 * Of the kinds before, all first bytes of a character beyond ASCII are one. In a JSON string the backslash that begins an
 * escape has no amounts, and what stands behind it has the kind of what it stands for, after the kind of what stands
 * before the backslash.
 */
#include "tokens/classify.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx512bw,avx512vbmi,bmi,bmi2,popcnt")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define BLOCK 64
#define BYTES_AT_ONCE ((size_t)1 << 26) /* their amounts fit 32 bits */

enum { BEFORE_FIRST = TA + 1, BEFORE_KINDS, PAIRS = TA * BEFORE_KINDS };

/* After: SP NL LO RA UP DI MA TA, a first byte. A row for each kind: SP NL LO RA UP DI MA. */
typedef uint8_t pair_table[BLOCK] __attribute__((aligned(64)));
#define NONE 0, 0, 0, 0, 0, 0, 0, 0, 0
static const pair_table letter_of_pair = {
	/* clang-format off */
	1, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 1, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 2, 2, 2, 0, 0, 2, 0,
	0, 0, 2, 2, 2, 0, 0, 2, 0,
	0, 0, 0, 0, 0, 0, 0, 2, 0,
	/* clang-format on */
};
static const pair_table word_of_pair = {
	/* clang-format off */
	0, 4, 0, 0, 0, 0, 0, 0, 0,
	5, 0, 5, 5, 5, 5, 5, 5, 5,
	3, 3, 0, 0, 0, 0, 3, 0, 3,
	3, 3, 0, 0, 0, 0, 3, 0, 3,
	3, 3, 0, 0, 3, 0, 3, 0, 3,
	/* clang-format on */
};
static const pair_table switch_of_pair = {
	/* clang-format off */
	NONE,
	NONE,
	0, 0, 0, 0, 0, 4, 0, 0, 0,
	9, 9, 9, 9, 9, 9, 9, 9, 9,
	0, 0, 4, 4, 0, 4, 0, 0, 0,
	6, 6, 4, 4, 4, 0, 6, 6, 6,
	/* clang-format on */
};
static const pair_table mark_of_pair = {
	/* clang-format off */
	NONE, NONE, NONE, NONE, NONE,
	3, 3, 3, 3, 3, 3, 3, 3, 3,
	6, 6, 6, 6, 6, 6, 1, 6, 6,
	/* clang-format on */
};

/* First bytes, from C0 on. */
#define TWICE(...) __VA_ARGS__, __VA_ARGS__
#define FOUR(x) x, x, x, x
static const pair_table europe_of_lead = {FOUR(6), FOUR(6), FOUR(6), FOUR(0), FOUR(2)};
static const pair_table south_of_lead = {
	FOUR(0), FOUR(0), FOUR(0), FOUR(4), FOUR(0), FOUR(4), FOUR(4), FOUR(4), 6, 8};
static const pair_table cjk_of_lead = {[0x23] = 1, FOUR(1), FOUR(1), 1, 1};
static const pair_table symbol_of_lead = {[0x22] = 2, [0x2e] = 2, 2, TWICE(FOUR(4), FOUR(4))};

/* Keeps a mask out of the mask registers, where the compiler would go on with it. */
TARGET static inline uint64_t scalar(uint64_t mask)
{
	__asm__("" : "+r"(mask));
	return mask;
}

TARGET static inline __m512i load(const void *at)
{
	return _mm512_loadu_si512(at);
}

TARGET static inline uint64_t mask_is(uint64_t among, __m512i bytes, char c)
{
	return _mm512_mask_cmpeq_epi8_mask(among, bytes, _mm512_set1_epi8(c));
}

/* The bytes that a backslash before them escapes; see json_scan_check.inc. */
static inline uint64_t escaped_bytes(uint64_t backslash, uint64_t carry)
{
	const uint64_t even = UINT64_C(0x5555555555555555);
	uint64_t live = backslash & ~carry;
	uint64_t odd_begin = live & ~(live << 1) & ~even;
	uint64_t even_runs = (live + odd_begin) & live;
	return (even ^ even_runs << 1) & (live << 1 | carry);
}

/* A text on its way. */
struct flow {
	__m512i kinds;	 /* of the block before */
	uint64_t escape; /* 1: its last byte begins an escape */
	__m512i letter, word, switches, mark; /* eight sums each */
	__m512i europe, south, cjk, symbol;
	uint64_t stray, bytes;
	bool any_high;
};

INLINE void add(__m512i *sums, __m512i amounts)
{
	*sums = _mm512_add_epi64(*sums, _mm512_sad_epu8(amounts, _mm512_setzero_si512()));
}

INLINE void count_high(struct flow *flow, __m512i bytes, __m512i before, uint64_t high)
{
	uint64_t lead = _mm512_mask_cmpge_epu8_mask(high, bytes, _mm512_set1_epi8((char)0xc0));
	uint64_t after_ascii = _mm512_cmplt_epu8_mask(before, _mm512_set1_epi8(TA));

	flow->any_high = true;
	flow->stray += (uint64_t)_mm_popcnt_u64(high & ~lead & after_ascii);
	/* By the low six bits of each. */
	add(&flow->europe, _mm512_maskz_permutexvar_epi8(lead, bytes, load(europe_of_lead)));
	add(&flow->south, _mm512_maskz_permutexvar_epi8(lead, bytes, load(south_of_lead)));
	add(&flow->cjk, _mm512_maskz_permutexvar_epi8(lead, bytes, load(cjk_of_lead)));
	add(&flow->symbol, _mm512_maskz_permutexvar_epi8(lead, bytes, load(symbol_of_lead)));
}

/* The kinds that stand `back` places before. */
INLINE __m512i kinds_before(const struct flow *flow, __m512i kinds, char back)
{
	/* clang-format off */
	static const uint8_t places[BLOCK] __attribute__((aligned(64))) = {
		64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79,
		80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95,
		96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111,
		112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
	};
	/* clang-format on */
	return _mm512_permutex2var_epi8(
		flow->kinds, _mm512_sub_epi8(load(places), _mm512_set1_epi8(back)), kinds);
}

INLINE void count_pairs(struct flow *flow, __m512i kinds, __m512i before, uint64_t ascii)
{
	const __m512i rows = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 9, 18, 27, 36, 45, 54, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	__m512i pairs = _mm512_add_epi8(_mm512_shuffle_epi8(rows, kinds), before);

	add(&flow->letter, _mm512_maskz_permutexvar_epi8(ascii, pairs, load(letter_of_pair)));
	add(&flow->word, _mm512_maskz_permutexvar_epi8(ascii, pairs, load(word_of_pair)));
	add(&flow->switches, _mm512_maskz_permutexvar_epi8(ascii, pairs, load(switch_of_pair)));
	add(&flow->mark, _mm512_maskz_permutexvar_epi8(ascii, pairs, load(mark_of_pair)));
}

/* Bytes that are not `valid` are NULs. False: a \u is in it, and nothing was counted. */
INLINE bool count_block(struct flow *flow, __m512i bytes, uint64_t valid, bool json)
{
	uint64_t high = _mm512_movepi8_mask(bytes), kept = valid;
	__m512i kinds = _mm512_permutex2var_epi8(load(kind_of_byte), bytes, load(kind_of_byte + BLOCK));
	__m512i first = _mm512_set1_epi8(BEFORE_FIRST), before;
	uint64_t lead = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xc0));

	kinds = _mm512_mask_mov_epi8(_mm512_mask_mov_epi8(kinds, high, _mm512_set1_epi8(TA)), lead, first);
	if (json) {
		uint64_t backslash = scalar(mask_is(UINT64_MAX, bytes, '\\'));
		uint64_t escaped = escaped_bytes(backslash, flow->escape) & valid, begin = backslash & ~escaped;
		if (mask_is(escaped, bytes, 'u'))
			return false;
		kinds = _mm512_mask_mov_epi8(kinds, escaped, _mm512_set1_epi8(MA));
		kinds = _mm512_mask_mov_epi8(kinds, mask_is(escaped, bytes, 't'), _mm512_set1_epi8(SP));
		kinds = _mm512_mask_mov_epi8(kinds,
			mask_is(escaped, bytes, 'n') | mask_is(escaped, bytes, 'r'), _mm512_set1_epi8(NL));
		kept = valid & ~begin;
		before = _mm512_mask_mov_epi8(
			kinds_before(flow, kinds, 1), escaped, kinds_before(flow, kinds, 2));
		/* Foreseen, so that no block waits for the one before it. */
		flow->escape = 0;
		if (__builtin_expect(backslash >> (BLOCK - 1), 0))
			flow->escape = scalar(begin >> (BLOCK - 1));
	} else {
		before = kinds_before(flow, kinds, 1);
	}
	count_pairs(flow, kinds, before, kept & ~high);
	if (high)
		count_high(flow, bytes, before, high);
	flow->bytes += (uint64_t)_mm_popcnt_u64(kept);
	flow->kinds = kinds;
	return true;
}

INLINE struct flow begin_flow(const struct class_state *state)
{
	__m512i zero = _mm512_setzero_si512();
	char before = state->before > TA ? BEFORE_FIRST : (char)state->before;

	return (struct flow){.kinds = _mm512_set1_epi8(before),
		.letter = zero,
		.word = zero,
		.switches = zero,
		.mark = zero,
		.europe = zero,
		.south = zero,
		.cjk = zero,
		.symbol = zero};
}

/* Two classes in one sum, the second in its upper half. */
INLINE void sum_up(struct class_state *state, enum token_class a, __m512i sums_a, enum token_class b, __m512i sums_b)
{
	uint64_t both = (uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(sums_a, _mm512_slli_epi64(sums_b, 32)));

	state->count[a] += both & UINT32_MAX;
	state->count[b] += both >> 32;
}

INLINE void end_flow(const struct flow *flow, struct class_state *state)
{
	uint8_t kinds[BLOCK];

	sum_up(state, CLASS_LETTER, flow->letter, CLASS_WORD, flow->word);
	sum_up(state, CLASS_SWITCH, flow->switches, CLASS_MARK, flow->mark);
	if (flow->any_high) {
		sum_up(state, CLASS_EUROPE, flow->europe, CLASS_SOUTH, flow->south);
		sum_up(state, CLASS_CJK, flow->cjk, CLASS_SYMBOL, flow->symbol);
		state->count[CLASS_SYMBOL] += flow->stray;
	}
	state->bytes += flow->bytes;
	_mm512_storeu_si512(kinds, flow->kinds);
	uint8_t last = kinds[BLOCK - 1 - flow->escape];
	state->before = last == BEFORE_FIRST ? LA : (enum byte_kind)last;
}

INLINE const char *count_blocks(struct class_state *state, const char *at, const char *end, bool json)
{
	struct flow flow = begin_flow(state);

	while (end - at >= BLOCK && count_block(&flow, load(at), UINT64_MAX, json))
		at += BLOCK;
	size_t left = (size_t)(end - at);
	if (left > 0 && left < BLOCK) {
		uint64_t valid = (UINT64_C(1) << left) - 1;
		if (count_block(&flow, _mm512_maskz_loadu_epi8(valid, at), valid, json)) {
			flow.escape = 0;
			at = end;
		}
	}
	end_flow(&flow, state);
	return at - flow.escape;
}

TARGET static const char *blocks(struct class_state *state, const char *at, const char *end, bool json)
{
	/* With more to come nobody stops within a character or escape: that the kind before is known is enough. */
	while ((size_t)(end - at) > BYTES_AT_ONCE) {
		const char *until = at + BYTES_AT_ONCE;
		const char *to = json ? count_blocks(state, at, until, true) : count_blocks(state, at, until, false);
		if (until - to > 1)
			return to;
		at = to;
	}
	return json ? count_blocks(state, at, end, true) : count_blocks(state, at, end, false);
}

static bool can_run(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

const struct classify classify_avx512 = {"avx512", blocks, can_run};
#endif
