/* SPDX-License-Identifier: MIT */
/*
 * What compaction keeps, what verification catches, and what both cost; without any model.
 *
 *	planted truths       survival by kind at several budgets, after several compactions
 *	the same summariser  lossy, under a rolling summary and under bobbin, over 20 rounds
 *	false certificates   records damaged on purpose
 *	swap, verification   times
 *	cost                 what a session would have cost under several policies
 *
 * Everything is seeded; BENCH_SEED chooses another seed. BENCH_FAULTS=1 says on stderr what a ✗ is about.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "compact/rules.h"
#include "compaction_case.h"

static uint32_t random_state;

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

struct judgement {
	unsigned all, kept;	    /* of the true items */
	unsigned rules, kept_rules; /* … of the user's constraints */
	unsigned wrong;		    /* items that are not true */
};

static struct judgement judge(const struct compact_record *truth, const struct compact_record *record)
{
	struct judgement judgement = {.all = (unsigned)truth->count};

	for (size_t t = 0; t < truth->count; t++)
		judgement.rules += truth->items[t].kind == ITEM_CONSTRAINT;
	for (size_t i = 0; i < record->count; i++) {
		bool is = false;

		for (size_t t = 0; t < truth->count && !is; t++)
			is = slice_equal(truth->items[t].text, record->items[i].text);
		judgement.kept += is;
		judgement.kept_rules += is && record->items[i].kind == ITEM_CONSTRAINT;
		judgement.wrong += !is;
	}
	return judgement;
}

static void print_judgement(const struct judgement *judgement, bool bound)
{
	bool rules = judgement->kept_rules == judgement->rules;

	printf("%11u %% %6u %%%s %7u%s", judgement->all ? 100 * judgement->kept / judgement->all : 100,
		judgement->rules ? 100 * judgement->kept_rules / judgement->rules : 100,
		!bound	? " "
		: rules ? "✓"
			: "✗",
		judgement->wrong,
		!bound		   ? " "
		: judgement->wrong ? "✗"
				   : "✓");
}

static void append_all(struct compact_record *to, const struct compact_record *from)
{
	int rc = 0;

	for (size_t i = 0; i < from->count; i++)
		if (from->items[i].kind != ITEM_SIGNAL)
			compact_record_add(to, &from->items[i], &rc);
	must(rc, "append");
}

/* One segment through the lossy summariser, verified; what is refused is asked for once more, then dropped.
 */
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

/* The summary of the summary and of what is new. */
static void summarise_rolling(
	const struct compact_record *fresh, struct arena *arena, struct compact_record *rolling)
{
	struct compact_record next;

	compact_record_init(&next, arena);
	append_all(&next, rolling);
	append_all(&next, fresh);
	summarise(&next, arena, rolling);
}

static bool same_summariser(uint32_t seed)
{
	struct session session;
	struct arena arena = ARENA_INIT;
	struct compact_record truth, rolling, checked, one;
	bool good = true;

	random_state = seed;
	session_make(&session, seed, 2000, 8, 0.4);
	compact_record_init(&truth, &arena);
	compact_record_init(&rolling, &arena);
	compact_record_init(&checked, &arena);
	printf("the same summariser: keeps an item with 0.9, changes a value with 0.05, invents one with "
	       "0.05\n"
	       "  round   rolling: items   rules   wrong    bobbin: items   rules   wrong\n");
	for (size_t round = 0; round < session.count && round < 20; round++) {
		struct judgement theirs, ours;

		append_all(&truth, &session.records[round]);
		summarise_rolling(&session.records[round], &arena, &rolling);
		derive_checked(&session, round, &arena, &one);
		append_all(&checked, &one);
		if (round && (round + 1) % 5)
			continue;
		theirs = judge(&truth, &rolling);
		ours = judge(&truth, &checked);
		printf("  %5zu   ", round + 1);
		print_judgement(&theirs, false);
		printf("   ");
		print_judgement(&ours, true);
		printf("\n");
		good &= !ours.wrong && ours.kept_rules == ours.rules;
	}
	arena_release(&arena);
	session_release(&session);
	return good;
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

static bool false_certificates(uint32_t seed)
{
	struct session session;
	unsigned tried[DAMAGES] = {0}, caught[DAMAGES] = {0};
	bool good = true;

	random_state = seed + 7;
	session_make(&session, seed + 7, 2000, 20, 1);
	printf("false certificates: damaged records that verification refuses\n");
	for (int damage = 0; damage < DAMAGES; damage++) {
		for (size_t attempt = 0; attempt < 40 * session.count && tried[damage] < 60; attempt++) {
			int rc = certify_damaged(&session, attempt % session.count, (enum damage)damage);

			tried[damage] += rc >= 0;
			caught[damage] += rc > 0;
		}
		bool all = caught[damage] == tried[damage], bound = damage <= DAMAGE_ATTRIBUTED;

		printf("  %-28s %u of %u%s\n", DAMAGE_TEXTS[damage], caught[damage], tried[damage],
			!bound ? ""
			: all  ? "✓"
			       : "✗");
		good &= all || !bound;
	}
	session_release(&session);
	return good;
}

/* ---- Times */

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *times, size_t count)
{
	qsort(times, count, sizeof *times, compare_times);
	return times[count / 2];
}

/* A compaction at a cut for which all segments are derived, as the session makes it. */
static double time_swap(struct session *session)
{
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct compact_record merged, record;
	double times[9];

	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		struct arena arena = ARENA_INIT;
		double start = processor_ms();

		session_merge(session, session->seeded.count - 100, &arena, &merged);
		session_render(session, &merged, 6000, &arena, &out, &record);
		times[i] = processor_ms() - start;
		arena_release(&arena);
	}
	buffer_release(&out);
	return median(times, sizeof times / sizeof *times);
}

/* Containment of the record at the end, in all of the source; the median of five passes. */
static double time_verification(struct session *session, uint64_t *ret_bytes)
{
	struct arena arena = ARENA_INIT, input_arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct compact_record merged, record;
	struct derive_input input;
	double times[5];

	session_merge(session, session->seeded.count, &arena, &merged);
	session_render(session, &merged, 6000, &arena, &out, &record);
	must(derive_input_read(session->seeded.path, 0, session->seeded.count, &input_arena, &input, NULL),
		"input");
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		struct verify *verify;
		struct verify_result result;
		double start = processor_ms();

		must(verify_new(&record, NULL, &verify, NULL), "verify");
		must(verify_messages(verify, &input, 0, NULL), "verify");
		must(verify_finish(verify, NULL, &arena, &result, NULL), "verify");
		times[i] = processor_ms() - start;
		*ret_bytes = result.bytes;
		verify_free(verify);
	}
	buffer_release(&out);
	arena_release(&input_arena);
	arena_release(&arena);
	return median(times, sizeof times / sizeof *times);
}

#define SWAP_MS 5.0
#define VERIFY_MB 200.0

static void times(uint32_t seed)
{
	struct session session;
	double start = processor_ms(), swap, speed;
	uint64_t bytes;

	session_make(&session, seed, 100000, 50, 1);
	printf("processor times, 100,000 messages of %.1f MB in %zu segments\n"
	       "  made and derived by rules          %8.0f ms\n",
		(double)session.bytes * 1e-6, session.count, processor_ms() - start);
	swap = time_swap(&session);
	printf("  swap with ready segments           %8.2f ms%s     must: under 5\n", swap,
		swap < SWAP_MS ? "✓" : "✗");
	speed = time_verification(&session, &bytes);
	speed = (double)bytes * 1e-3 / speed;
	printf("  containment of its record          %8.0f MB/s%s   must: at least 200\n", speed,
		speed >= VERIFY_MB ? "✓" : "✗");
	session_release(&session);
}

int main(void)
{
	const char *text = getenv("BENCH_SEED");
	uint32_t seed = text ? (uint32_t)strtoul(text, NULL, 10) : 1;
	bool good;

	printf("seed %u\n", (unsigned)seed);
	good = planted_truths(seed);
	good &= planted_in_real(seed);
	good &= same_summariser(seed);
	good &= false_certificates(seed);
	good &= cost_table();
	times(seed); /* how fast is a matter of the machine: marked, but no reason to fail */
	return good ? 0 : 1;
}
