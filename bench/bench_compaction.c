/* SPDX-License-Identifier: MIT */
/*
 * What compaction keeps, what verification catches, and what both cost; without any model.
 *
 *	planted truths       survival by kind at several budgets, after several compactions
 *	the same summariser  lossy, under a rolling summary and under bobbin, over 20 rounds
 *	false certificates   records damaged on purpose
 *	swap, verification   times
 *
 * Everything is seeded; BENCH_SEED chooses another seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/limits.h"
#include "compact/render.h"
#include "compact/rules.h"
#include "compact/segment.h"
#include "compact/verify.h"
#include "compaction_seed.h"

#define SEGMENTS_MAX 100000

static uint32_t random_state;

static double processor_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* others use the machine too */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void must(int rc, const char *what)
{
	if (rc) {
		fprintf(stderr, "%s: %d\n", what, rc);
		exit(1);
	}
}

/* ---- A conversation with its segment records */

struct session {
	struct seeded seeded;
	struct arena arena, scratch;
	struct segment *segments;
	size_t count;
	struct compact_record *records;
	struct compact_merge *merge;
	uint64_t bytes;
};

static void derive_segment(struct session *session, size_t index)
{
	struct derive_input input;
	const struct segment *segment = &session->segments[index];

	arena_reset(&session->scratch);
	must(derive_input_read(
		     session->seeded.path, segment->from, segment->to, &session->scratch, &input, NULL),
		"input");
	compact_record_init(&session->records[index], &session->arena);
	must(rules_deriver.derive(rules_deriver.context, &input, &session->records[index], NULL), "derive");
	must(compact_merge_add(session->merge, &session->records[index], segment->from, segment->to, NULL),
		"merge");
	session->bytes += segment->bytes;
}

static void session_make(struct session *session, uint32_t seed, size_t messages, unsigned plants_each)
{
	struct segment_options options = {0};

	memset(session, 0, sizeof *session);
	seeded_make(&session->seeded, seed, messages, plants_each);
	must(segments_divide(session->seeded.path, &options, 0, session->seeded.count, &session->arena,
		     &session->scratch, &session->segments, &session->count, NULL),
		"divide");
	session->records = arena_alloc_zero(&session->arena, (session->count + 1) * sizeof *session->records);
	must(compact_merge_new(&session->merge), "merge");
	for (size_t i = 0; i < session->count; i++)
		derive_segment(session, i);
}

static void session_release(struct session *session)
{
	compact_merge_free(session->merge);
	arena_release(&session->arena);
	arena_release(&session->scratch);
	seeded_release(&session->seeded);
}

static uint64_t render(struct session *session, size_t cut, uint64_t tokens, struct arena *arena,
	struct buffer *out, struct compact_record *ret_record)
{
	struct compact_merge_options options = {cut, COMPACT_NO_INNER};
	struct render_options rendering = RENDER_OPTIONS_INIT;
	struct render_report report;
	struct compact_record merged;

	rendering.tokens_max = tokens;
	buffer_clear(out);
	must(compact_merge_finish(session->merge, &options, arena, &merged, NULL), "finish");
	must(compact_render(&merged, session->seeded.path, &rendering, arena, ret_record, out, &report, NULL),
		"render");
	return report.tokens;
}

/* ---- Planted truths */

/* Whether one line has both; stale ones count only where they look current. */
static bool shows(const char *text, const struct plant *plant)
{
	for (const char *line = text; line && *line;) {
		const char *end = strchr(line, '\n');
		size_t len = end ? (size_t)(end - line) : strlen(line);
		bool has = memmem(line, len, plant->value, strlen(plant->value)) &&
			   (!plant->reason[0] || memmem(line, len, plant->reason, strlen(plant->reason)));

		if (has && !(plant->kind == PLANT_STALE && strncmp(line, "- superseded", 12) == 0))
			return true;
		line = end ? end + 1 : NULL;
	}
	return false;
}

static void count_survivors(const struct session *session, const char *text, unsigned found[PLANT_KINDS],
	unsigned all[PLANT_KINDS])
{
	for (size_t i = 0; i < session->seeded.plant_count; i++) {
		const struct plant *plant = &session->seeded.plants[i];

		all[plant->kind]++;
		found[plant->kind] += shows(text, plant);
	}
}

static void print_survival(struct session *session, uint64_t covered, const char *name, uint64_t tokens)
{
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct compact_record record;
	unsigned found[PLANT_KINDS] = {0}, all[PLANT_KINDS] = {0};
	uint64_t used = render(session, session->seeded.count, tokens, &arena, &out, &record);

	count_survivors(session, out.data ? out.data : "", found, all);
	printf("  %-12s %6llu of %llu tokens:", name, (unsigned long long)used, (unsigned long long)covered);
	for (int kind = 0; kind < PLANT_KINDS; kind++)
		printf(" %s %u/%u%s", plant_text((enum plant_kind)kind), found[kind], all[kind],
			kind + 1 < PLANT_KINDS ? "," : "\n");
	buffer_release(&out);
	arena_release(&arena);
}

/* After k compactions at growing cuts the last record is what one compaction at the last cut gives. */
static void print_drift(struct session *session)
{
	static const unsigned ROUNDS[] = {1, 5, 20, 50};
	struct buffer once = BUFFER_INIT(LIMIT_REQUEST_BYTES), often = BUFFER_INIT(LIMIT_REQUEST_BYTES);

	for (size_t r = 0; r < sizeof ROUNDS / sizeof *ROUNDS; r++) {
		struct arena arena = ARENA_INIT;
		struct compact_record record;

		for (unsigned round = 1; round <= ROUNDS[r]; round++) {
			arena_reset(&arena);
			render(session, session->seeded.count * round / ROUNDS[r], 6000, &arena, &often,
				&record);
		}
		if (r == 0) {
			buffer_add_slice(&once, buffer_slice(&often));
			printf("  drift:");
		}
		printf(" after %u: %s%s", ROUNDS[r],
			slice_equal(buffer_slice(&once), buffer_slice(&often)) ? "0" : "CHANGED",
			r + 1 < sizeof ROUNDS / sizeof *ROUNDS ? "," : "\n");
		arena_release(&arena);
	}
	buffer_release(&once);
	buffer_release(&often);
}

static void planted_truths(uint32_t seed)
{
	static const unsigned SHARES[] = {10, 20, 30};
	static const uint64_t BUDGETS[] = {600, 2000, 6000};
	struct session session;
	uint64_t covered = 0;
	char name[16];

	printf("planted truths\n");
	session_make(&session, seed, 200, 2);
	covered = session.seeded.path->tokens;
	for (size_t i = 0; i < sizeof SHARES / sizeof *SHARES; i++) {
		snprintf(name, sizeof name, "%u %%", SHARES[i]);
		print_survival(&session, covered, name, covered * SHARES[i] / 100);
	}
	for (size_t i = 0; i < sizeof BUDGETS / sizeof *BUDGETS; i++) {
		snprintf(name, sizeof name, "budget %llu", (unsigned long long)BUDGETS[i]);
		print_survival(&session, covered, name, BUDGETS[i]);
	}
	print_drift(&session);
	session_release(&session);
	session_make(&session, seed + 1, 2400, 8);
	print_survival(&session, session.seeded.path->tokens, "long, 6000", 6000);
	session_release(&session);
}

/* ---- The same lossy summariser, rolling and from raw */

/* Changes the last digit it finds. False: there is none. */
static bool change_digit(struct arena *arena, struct slice *text)
{
	char *copy = arena_copy(arena, text->data, text->len);

	for (size_t i = text->len; copy && i-- > 0;) {
		if (copy[i] >= '0' && copy[i] <= '9') {
			copy[i] = copy[i] == '9' ? '1' : (char)(copy[i] + 1);
			text->data = copy;
			return true;
		}
	}
	return false;
}

static void summarise(const struct compact_record *from, struct arena *arena, struct compact_record *to)
{
	compact_record_init(to, arena);
	for (size_t i = 0; i < from->count; i++) {
		struct compact_item item = from->items[i];
		int rc = 0;

		if (item.kind == ITEM_SIGNAL || seed_next(&random_state) % 100 >= 90)
			continue;
		if (seed_next(&random_state) % 100 < 5)
			change_digit(arena, &item.text);
		compact_record_add(to, &item, &rc);
		must(rc, "summarise");
		if (seed_next(&random_state) % 100 < 5) {
			char text[64];

			snprintf(text, sizeof text, "ticket INV-%u was closed", seed_next(&random_state));
			item.text = slice_of(text);
			item.kind = ITEM_FACT;
			item.state = STATE_NONE;
			compact_record_add(to, &item, &rc);
			must(rc, "summarise");
		}
	}
}

/* How many of the true items are still there, and how many that are not true are. */
static void judge(const struct compact_record *truth, const struct compact_record *record, unsigned *ret_true,
	unsigned *ret_false)
{
	*ret_true = *ret_false = 0;
	for (size_t i = 0; i < record->count; i++) {
		bool is = false;

		for (size_t t = 0; t < truth->count && !is; t++)
			is = slice_equal(truth->items[t].text, record->items[i].text);
		*(is ? ret_true : ret_false) += 1;
	}
}

static void append_all(struct compact_record *to, const struct compact_record *from)
{
	int rc = 0;

	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].kind != ITEM_SIGNAL)
			compact_record_add(to, &from->items[i], &rc);
	must(rc, "append");
}

/* One segment through the lossy summariser, verified; what is refused is asked for once more, then dropped. */
static void derive_checked(
	struct session *session, size_t index, struct arena *arena, struct compact_record *ret_record)
{
	const struct segment *segment = &session->segments[index];
	struct arena input_arena = ARENA_INIT;
	struct derive_input input;
	struct compact_record answer;
	struct verify_result result;

	must(derive_input_read(session->seeded.path, segment->from, segment->to, &input_arena, &input, NULL),
		"input");
	for (int attempt = 0; attempt < 2; attempt++) {
		summarise(&session->records[index], arena, &answer);
		must(verify_segment(&answer, &input, &rules_deriver, arena, &result, NULL), "verify");
		if (!result.violation_count)
			break;
	}
	must(verify_repair(&answer, &result, arena, ret_record, NULL), "repair");
	arena_release(&input_arena);
}

static void same_summariser(uint32_t seed)
{
	struct session session;
	struct arena arena = ARENA_INIT;
	struct compact_record truth, rolling, checked;
	size_t rounds;

	random_state = seed;
	session_make(&session, seed, 1000, 4);
	rounds = session.count < 20 ? session.count : 20;
	compact_record_init(&truth, &arena);
	compact_record_init(&rolling, &arena);
	compact_record_init(&checked, &arena);
	printf("the same summariser (keeps 0.9, changes 0.05, invents 0.05), %% of all true items; wrong "
	       "ones\n");
	for (size_t round = 0; round < rounds; round++) {
		struct compact_record next, one;
		unsigned kept, wrong;

		append_all(&truth, &session.records[round]);
		compact_record_init(&next, &arena);
		append_all(&next, &rolling);
		append_all(&next, &session.records[round]);
		summarise(&next, &arena, &rolling); /* the summary of the summary and what is new */
		derive_checked(&session, round, &arena, &one);
		append_all(&checked, &one);
		if (round + 1 != 1 && (round + 1) % 5)
			continue;
		judge(&truth, &rolling, &kept, &wrong);
		printf("  round %2zu: rolling %3.0f %%, %u wrong;", round + 1,
			100.0 * kept / (double)truth.count, wrong);
		judge(&truth, &checked, &kept, &wrong);
		printf(" bobbin %3.0f %%, %u wrong\n", 100.0 * kept / (double)truth.count, wrong);
	}
	arena_release(&arena);
	session_release(&session);
}

/* ---- False certificates */

enum damage {
	DAMAGE_VALUE,
	DAMAGE_DROPPED,
	DAMAGE_INVENTED,
	DAMAGE_ATTRIBUTED,
	DAMAGE_WEAKENED,
	DAMAGE_CONTRADICTED,
	DAMAGES
};

static const char *const DAMAGE_TEXTS[] = {"value changed", "binding constraint dropped", "value invented",
	"attributed to the user", "weakened", "contradicted"};

/* The index of a random item that suits; SIZE_MAX: none. */
static size_t pick(const struct compact_record *record, enum damage damage)
{
	size_t start = seed_next(&random_state) % (record->count ? record->count : 1);

	for (size_t i = 0; i < record->count; i++) {
		size_t index = (start + i) % record->count;
		const struct compact_item *item = &record->items[index];
		bool binding = item_is_binding(item);
		bool suits = damage == DAMAGE_DROPPED || damage == DAMAGE_WEAKENED ? binding
			     : damage == DAMAGE_ATTRIBUTED
				     ? item->by != BY_USER && item->kind != ITEM_FILE && item->text.len > 12
			     : damage == DAMAGE_VALUE
				     ? !binding && strpbrk(item->text.data, "23456789") != NULL
				     : !binding && item->kind == ITEM_FACT;

		if (suits)
			return index;
	}
	return SIZE_MAX;
}

static bool damage_item(struct compact_item *item, enum damage damage, struct arena *arena)
{
	char text[4096];

	switch (damage) {
	case DAMAGE_VALUE:
		return change_digit(arena, &item->text);
	case DAMAGE_INVENTED:
		snprintf(text, sizeof text, "%.*s, ticket INV-%u", (int)item->text.len, item->text.data,
			seed_next(&random_state));
		break;
	case DAMAGE_ATTRIBUTED:
		item->by = BY_USER;
		return true;
	case DAMAGE_WEAKENED:
		snprintf(text, sizeof text, "The user discussed: %.*s",
			(int)(item->text.len > 6 ? item->text.len - 6 : 0),
			item->text.data + (item->text.len > 6 ? 6 : 0));
		break;
	case DAMAGE_CONTRADICTED:
		snprintf(text, sizeof text, "It is not true that %.*s", (int)item->text.len, item->text.data);
		break;
	default:
		return false;
	}
	item->text = (struct slice){arena_copy(arena, text, strlen(text)), strlen(text)};
	return item->text.data != NULL;
}

/* 1: caught, 0: passed, -1: nothing suitable to damage. */
static int certify_damaged(struct session *session, size_t index, enum damage damage)
{
	const struct segment *segment = &session->segments[index];
	struct arena arena = ARENA_INIT;
	struct derive_input input;
	struct compact_record damaged;
	struct verify_result before, result;
	size_t at;
	int rc = -1;

	must(derive_input_read(session->seeded.path, segment->from, segment->to, &arena, &input, NULL),
		"input");
	must(verify_segment(&session->records[index], &input, &rules_deriver, &arena, &before, NULL),
		"verify");
	compact_record_init(&damaged, &arena);
	for (size_t i = 0; i < session->records[index].count; i++)
		if (session->records[index].items[i].kind != ITEM_SIGNAL)
			compact_record_add(&damaged, &session->records[index].items[i], &rc);
	at = pick(&damaged, damage);
	rc = -1;
	if (verify_ok(&before) && at != SIZE_MAX) {
		if (damage == DAMAGE_DROPPED)
			memmove(&damaged.items[at], &damaged.items[at + 1],
				(--damaged.count - at) * sizeof *damaged.items);
		if (damage == DAMAGE_DROPPED || damage_item(&damaged.items[at], damage, &arena)) {
			must(verify_segment(&damaged, &input, &rules_deriver, &arena, &result, NULL),
				"verify");
			rc = !verify_ok(&result);
		}
	}
	arena_release(&arena);
	return rc;
}

static int false_certificates(uint32_t seed)
{
	struct session session;
	unsigned tried[DAMAGES] = {0}, caught[DAMAGES] = {0};
	int passed = 0;

	random_state = seed + 7;
	session_make(&session, seed + 7, 2000, 20);
	printf("false certificates: damaged records that verification refuses\n");
	for (int damage = 0; damage < DAMAGES; damage++) {
		for (size_t attempt = 0; attempt < 40 * session.count && tried[damage] < 60; attempt++) {
			int rc = certify_damaged(&session, attempt % session.count, (enum damage)damage);

			tried[damage] += rc >= 0;
			caught[damage] += rc > 0;
		}
		printf("  %-28s %u of %u\n", DAMAGE_TEXTS[damage], caught[damage], tried[damage]);
		if (damage <= DAMAGE_ATTRIBUTED)
			passed += (int)(tried[damage] - caught[damage]);
	}
	session_release(&session);
	return passed;
}

/* ---- Times */

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void times(uint32_t seed)
{
	struct session session;
	double start = processor_ms(), swap[9], check[5];
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct compact_record record;
	uint64_t bytes = 0;

	session_make(&session, seed, 100000, 50);
	printf("processor times\n  100,000 messages, %.1f MB, %zu segments: made and derived in %.0f ms\n",
		(double)session.bytes * 1e-6, session.count, processor_ms() - start);
	for (size_t i = 0; i < sizeof swap / sizeof *swap; i++) {
		struct arena arena = ARENA_INIT;

		start = processor_ms();
		render(&session, session.seeded.count - 100, 6000, &arena, &out, &record);
		swap[i] = processor_ms() - start;
		arena_release(&arena);
	}
	qsort(swap, sizeof swap / sizeof *swap, sizeof *swap, compare_times);
	printf("  swap with ready segments: median %.2f ms\n", swap[4]);
	for (size_t i = 0; i < sizeof check / sizeof *check; i++) {
		struct arena arena = ARENA_INIT, input_arena = ARENA_INIT;
		struct derive_input input;
		struct verify *verify;
		struct verify_result result;

		render(&session, session.seeded.count, 6000, &arena, &out, &record);
		must(derive_input_read(
			     session.seeded.path, 0, session.seeded.count, &input_arena, &input, NULL),
			"input");
		start = processor_ms();
		must(verify_new(&record, NULL, &verify, NULL), "verify");
		must(verify_messages(verify, &input, 0, NULL), "verify");
		must(verify_finish(verify, NULL, &arena, &result, NULL), "verify");
		check[i] = processor_ms() - start;
		bytes = result.bytes;
		verify_free(verify);
		arena_release(&arena);
		arena_release(&input_arena);
	}
	qsort(check, sizeof check / sizeof *check, sizeof *check, compare_times);
	printf("  containment of its record: median %.1f ms, %.0f MB/s\n", check[2],
		(double)bytes * 1e-3 / check[2]);
	buffer_release(&out);
	session_release(&session);
}

int main(void)
{
	const char *text = getenv("BENCH_SEED");
	uint32_t seed = text ? (uint32_t)strtoul(text, NULL, 10) : 1;
	int passed;

	printf("seed %u\n", (unsigned)seed);
	planted_truths(seed);
	same_summariser(seed);
	passed = false_certificates(seed);
	times(seed);
	return passed != 0;
}
