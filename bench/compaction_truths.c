/* SPDX-License-Identifier: MIT */
/*
 * Planted truths: what of them is in the record at several budgets, and whether what is not is behind a
 * pointer.
 *
 *	✓ holds   ✗ does not   → not all is shown: the record is full, the rest is behind a pointer that says
 * so
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "compaction_case.h"
#include "transcript/import.h"

/* What is shown of one or several conversations at one budget. */
struct row {
	unsigned found[PLANT_KINDS], all[PLANT_KINDS];
	uint64_t tokens, budget;
	size_t items, shown, lost; /* lost: neither shown nor behind a pointer */
	bool full;		   /* at least one record has no room left */
};

enum { BUDGETS = 7, BUDGET_LONG = 5 };
struct budget {
	const char *name;
	unsigned share;	 /* of the covered text, in %; 0: */
	uint64_t tokens; /* … so many; 0: without limit */
	unsigned least;	 /* % of other kinds that must be shown */
};
static const struct budget BUDGET_LIST[BUDGETS] = {{"10 %", 10, 0, 60}, {"20 %", 20, 0, 95},
	{"30 %", 30, 0, 100}, {"600", 0, 600, 0}, {"2,000", 0, 2000, 0}, {"6,000", 0, 6000, 0},
	{"no limit", 0, 0, 100}};

/* ---- Looking for what was planted */

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

static bool is_pointed_to(const struct compact_record *record, enum item_kind kind, size_t place)
{
	for (size_t i = 0; i < record->pointer_count; i++) {
		const struct compact_pointer *pointer = &record->pointers[i];

		if ((pointer->kind == kind || pointer->kind == ITEM_KINDS || kind == ITEM_KINDS) &&
			pointer->from.place <= place && place <= pointer->to.place)
			return true;
	}
	return false;
}

static bool has_item(const struct compact_record *record, const struct compact_item *item)
{
	for (size_t i = 0; i < record->count; i++)
		if (record->items[i].kind == item->kind && slice_equal(record->items[i].text, item->text))
			return true;
	return false;
}

/* Each item of the whole is shown, or all messages it came from are behind a pointer of its kind. */
static void count_items(
	const struct compact_record *whole, const struct compact_record *shown, struct row *row)
{
	for (size_t i = 0; i < whole->count; i++) {
		const struct compact_item *item = &whole->items[i];
		bool found = has_item(shown, item), pointed = true;

		for (uint32_t s = 0; s < item->source_count; s++)
			pointed &= is_pointed_to(shown, item->kind, item->sources[s].place);
		row->items++;
		row->shown += found;
		row->lost += !found && !pointed;
	}
}

static void count_plants(
	const struct seeded *seeded, const struct compact_record *shown, const char *text, struct row *row)
{
	for (size_t i = 0; i < seeded->plant_count; i++) {
		const struct plant *plant = &seeded->plants[i];
		bool found = shows(text, plant);

		row->all[plant->kind]++;
		row->found[plant->kind] += found;
		if (plant->kind == PLANT_STALE || found)
			continue;
		if (!is_pointed_to(shown, ITEM_KINDS, plant->place))
			row->lost++;
		if (getenv("BENCH_FAULTS") && row->budget == 0)
			fprintf(stderr, "not in the record: %s %s\n", plant_text(plant->kind), plant->value);
	}
}

static void measure(struct session *session, const struct budget *budget, struct row *row)
{
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct compact_record merged, shown;
	uint64_t limit = budget->share ? session->seeded.path->tokens * budget->share / 100 : budget->tokens;
	uint64_t tokens;

	session_merge(session, session->seeded.count, &arena, &merged);
	tokens = session_render(session, &merged, limit, &arena, &out, &shown);
	row->tokens += tokens;
	row->budget += limit;
	row->full |= limit && tokens * 10 >= limit * 9;
	count_items(&merged, &shown, row);
	count_plants(&session->seeded, &shown, out.data ? out.data : "", row);
	buffer_release(&out);
	arena_release(&arena);
}

/* ---- Printing */

static void print_heading(void)
{
	printf("  %-9s %10s", "record of", "tokens");
	for (int kind = 0; kind < PLANT_KINDS; kind++)
		printf(" %6s", plant_text((enum plant_kind)kind));
	printf("  lost\n");
}

static unsigned percent(const struct row *row, int kind)
{
	return row->all[kind] ? 100 * row->found[kind] / row->all[kind] : 100;
}

/* "✓" holds, "✗" does not, "→" is said, " " nothing is asked for. */
static const char *mark_of(const struct row *row, const struct budget *budget, int kind)
{
	unsigned shown = percent(row, kind);

	if (kind == PLANT_CONSTRAINT)
		return shown == 100 ? "✓" : "✗";
	if (kind == PLANT_REJECTED || kind == PLANT_TRIED)
		return shown == 100 ? "✓" : row->full && !row->lost ? "→" : "✗";
	if (!budget->least)
		return " ";
	return shown >= budget->least ? "✓" : "✗";
}

static bool print_row(const struct row *row, const struct budget *budget)
{
	bool good = !row->found[PLANT_STALE] && !row->lost;

	printf("  %-9s %10llu", budget->name, (unsigned long long)row->tokens);
	for (int kind = 0; kind < PLANT_STALE; kind++) {
		const char *mark = mark_of(row, budget, kind);

		printf(" %5u%s", percent(row, kind), mark);
		good &= strcmp(mark, "✗") != 0;
	}
	printf(" %5u%s", row->found[PLANT_STALE], row->found[PLANT_STALE] ? "✗" : "✓");
	printf(" %4zu%s\n", row->lost, row->lost ? "✗" : "✓");
	return good;
}

static void print_items(const struct row *row, const struct budget *budget)
{
	printf("  items in the record of %s: %zu of %zu; neither there nor behind a pointer: %zu%s\n",
		budget->name, row->shown, row->items, row->lost, row->lost ? "✗" : "✓");
}

/* ---- The same after any number of compactions */

/* Rules, decisions, facts, attempts and files of one round that the next one has no more, or otherwise. */
static size_t count_drifted(const struct compact_record *before, const struct compact_record *after)
{
	size_t count = 0;

	for (size_t i = 0; i < before->count; i++) {
		bool gone = before->items[i].kind != ITEM_OPEN && !has_item(after, &before->items[i]);

		if (gone && getenv("BENCH_FAULTS"))
			fprintf(stderr, "no longer there: %s: %.*s\n",
				item_kind_heading(before->items[i].kind), (int)before->items[i].text.len,
				before->items[i].text.data);
		count += gone;
	}
	return count;
}

/* `rounds` compactions at growing cuts: what was lost from one to the next, and the last one's text. */
static size_t compact_often(struct session *session, unsigned rounds, struct buffer *out)
{
	struct arena arenas[2] = {ARENA_INIT, ARENA_INIT};
	struct compact_record merged[2], shown;
	size_t drifted = 0;

	for (unsigned round = 1; round <= rounds; round++) {
		unsigned now = round % 2;

		arena_reset(&arenas[now]);
		session_merge(session, session->seeded.count * round / rounds, &arenas[now], &merged[now]);
		session_render(session, &merged[now], 6000, &arenas[now], out, &shown);
		if (round > 1)
			drifted += count_drifted(&merged[!now], &merged[now]);
	}
	arena_release(&arenas[0]);
	arena_release(&arenas[1]);
	return drifted;
}

static const unsigned ROUNDS[] = {1, 5, 20, 50};
enum { ROUND_COUNTS = sizeof ROUNDS / sizeof *ROUNDS };

/* Counts for each number of rounds whether anything differs. */
static void measure_drift(struct session *session, unsigned changed[ROUND_COUNTS])
{
	struct buffer once = BUFFER_INIT(LIMIT_REQUEST_BYTES), often = BUFFER_INIT(LIMIT_REQUEST_BYTES);

	for (size_t r = 0; r < ROUND_COUNTS; r++) {
		size_t drifted = compact_often(session, ROUNDS[r], r ? &often : &once);

		changed[r] += drifted || (r && !slice_equal(buffer_slice(&once), buffer_slice(&often)));
	}
	buffer_release(&once);
	buffer_release(&often);
}

static bool print_drift(const unsigned changed[ROUND_COUNTS])
{
	bool good = true;

	printf("  after");
	for (size_t r = 0; r < ROUND_COUNTS; r++) {
		printf(" %u%s", ROUNDS[r],
			r + 2 < ROUND_COUNTS	? ","
			: r + 2 == ROUND_COUNTS ? " and"
						: " compactions: ");
		good &= !changed[r];
	}
	printf("%s\n", good ? "the same record, byte for byte✓" : "records that differ✗");
	return good;
}

static bool print_violations(size_t violations)
{
	printf("  values that stand in no source, rules that are missing: %zu%s\n", violations,
		violations ? "✗" : "✓");
	return !violations;
}

static size_t verify_whole(struct session *session)
{
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct compact_record merged, shown;
	size_t faults;

	session_merge(session, session->seeded.count, &arena, &merged);
	session_render(session, &merged, 0, &arena, &out, &shown);
	faults = session_verify(session, &shown, &arena);
	buffer_release(&out);
	arena_release(&arena);
	return faults;
}

/* ---- Made-up conversations */

static unsigned count_of(const struct seeded *seeded, enum plant_kind kind)
{
	unsigned count = 0;

	for (size_t i = 0; i < seeded->plant_count; i++)
		count += seeded->plants[i].kind == kind;
	return count;
}

static bool try_made(const char *what, uint32_t seed, size_t messages, unsigned groups, double filler,
	unsigned from, unsigned to)
{
	struct session session;
	struct row long_row = {0};
	unsigned changed[ROUND_COUNTS] = {0};
	bool good = true;

	session_make(&session, seed, messages, groups, filler);
	printf("%s: %zu messages, %llu tokens, %u truths of each kind\n", what, session.seeded.count,
		(unsigned long long)session.seeded.path->tokens, count_of(&session.seeded, PLANT_CONSTRAINT));
	print_heading();
	for (unsigned i = from; i < to; i++) {
		struct row row = {0};

		measure(&session, &BUDGET_LIST[i], &row);
		good &= print_row(&row, &BUDGET_LIST[i]);
		if (i == BUDGET_LONG)
			long_row = row;
	}
	print_items(&long_row, &BUDGET_LIST[BUDGET_LONG]);
	measure_drift(&session, changed);
	good &= print_drift(changed);
	good &= print_violations(verify_whole(&session));
	session_release(&session);
	return good;
}

bool planted_truths(uint32_t seed)
{
	bool good;

	printf("planted truths, in the first, a middle and the last tenth: %% of them in the record\n"
	       "  ✓ as it must be  ✗ not  → the record is full; the rest is behind a pointer that says so\n"
	       "  stale: old values shown as current; lost: neither in the record nor behind a pointer\n");
	good = try_made("made up", seed, 2400, 8, 0.1, 0, BUDGETS);
	good &= try_made("long", seed + 1, 3800, 12, 1.05, BUDGET_LONG, BUDGET_LONG + 1);
	good &= try_made("crowded", seed + 2, 12000, 40, 0.1, BUDGET_LONG, BUDGET_LONG + 1);
	return good;
}

/* ---- Real ones */

#define REAL_TOKENS_MIN 10000 /* of a shorter one 10 % has no room for what is planted */
#define REAL_EACH 2	      /* conversations of one file: some hold hundreds that hardly differ */

struct real {
	struct row rows[BUDGETS];
	uint32_t seed;
	unsigned conversations;
	uint64_t tokens;
	size_t violations;
	unsigned changed[ROUND_COUNTS];
};

/* The line that ends at the head: indexes of its records. */
static size_t line_of(const struct import_conversation *conversation, struct arena *arena, struct slice *line)
{
	size_t count = conversation->record_count, head = SIZE_MAX, length = 0;
	struct message *messages = arena_alloc_zero(arena, (count + 1) * sizeof *messages);
	size_t *parents = arena_alloc(arena, (count + 1) * sizeof *parents);

	for (size_t i = 0; messages && parents && i < count; i++) {
		struct json record;

		if (json_parse(conversation->records[i].data, conversation->records[i].len, &record, NULL) ||
			message_parse(&record, arena, &messages[i], NULL))
			return 0;
		parents[i] = messages[i].parent_kind == PARENT_ROOT ? SIZE_MAX : head;
		if (messages[i].parent_kind == PARENT_ID)
			for (parents[i] = i; parents[i]-- > 0;)
				if (slice_equal(messages[parents[i]].id, messages[i].parent))
					break;
		if (parents[i] == head || messages[i].branch)
			head = i;
	}
	for (size_t at = head; at != SIZE_MAX; at = parents[at])
		length++;
	for (size_t at = head, i = length; at != SIZE_MAX; at = parents[at])
		line[--i] = conversation->records[at];
	return length;
}

static bool try_conversation(struct real *real, const struct import_conversation *conversation)
{
	struct arena arena = ARENA_INIT;
	struct slice *line = arena_alloc(&arena, (conversation->record_count + 1) * sizeof *line);
	size_t length = line ? line_of(conversation, &arena, line) : 0;
	struct session session;
	bool counts;

	memset(&session, 0, sizeof session);
	counts = length && seeded_plant(&session.seeded, real->seed + real->conversations, line, length) &&
		 session.seeded.path->tokens >= REAL_TOKENS_MIN;
	if (counts) {
		session_derive(&session);
		for (unsigned i = 0; i < BUDGETS; i++)
			measure(&session, &BUDGET_LIST[i], &real->rows[i]);
		real->violations += verify_whole(&session);
		measure_drift(&session, real->changed);
		real->conversations++;
		real->tokens += session.seeded.path->tokens;
	}
	session_release(&session);
	arena_release(&arena);
	return counts;
}

static void try_file(struct real *real, const char *path)
{
	FILE *file = fopen(path, "rb");
	struct import import;
	unsigned counted = 0;
	char *data = NULL;
	long len;

	if (!file)
		return;
	if (fseek(file, 0, SEEK_END) || (len = ftell(file)) <= 0 || fseek(file, 0, SEEK_SET) ||
		!(data = malloc((size_t)len)) || fread(data, 1, (size_t)len, file) != (size_t)len)
		len = 0;
	fclose(file);
	if (len && import_read(NULL, data, (size_t)len, &import, NULL) == 0) {
		for (size_t i = 0; i < import.conversation_count && counted < REAL_EACH; i++)
			counted += try_conversation(real, &import.conversations[i]);
	}
	if (len)
		import_release(&import);
	free(data);
}

static void try_folder(struct real *real, const char *folder, int depth)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && entries[i]->d_type == DT_DIR && depth < 3)
			try_folder(real, path, depth + 1);
		else if (entries[i]->d_type == DT_REG)
			try_file(real, path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

bool planted_in_real(uint32_t seed)
{
	const char *root = getenv("BOBBIN_TRANSCRIPTS");
	struct real *real;
	bool good = true;

	if (!root || !*root) {
		printf("planted into real transcripts: skipped, BOBBIN_TRANSCRIPTS names no folder\n");
		return true;
	}
	real = calloc(1, sizeof *real);
	must(!real, "memory");
	real->seed = seed;
	try_folder(real, root, 0);
	printf("planted into real transcripts: %u conversations of at least 10,000 tokens, %llu in all\n",
		real->conversations, (unsigned long long)real->tokens);
	print_heading();
	for (unsigned i = 0; i < BUDGETS; i++)
		good &= print_row(&real->rows[i], &BUDGET_LIST[i]);
	print_items(&real->rows[BUDGET_LONG], &BUDGET_LIST[BUDGET_LONG]);
	good &= print_drift(real->changed);
	good &= print_violations(real->violations);
	free(real);
	return good;
}
