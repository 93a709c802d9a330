/* SPDX-License-Identifier: MIT */
#include "compaction_seed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t seed_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

const char *plant_text(enum plant_kind kind)
{
	static const char *const TEXTS[] = {"constraints", "rejected", "tried", "ids", "paths", "numbers",
		"dates", "near duplicates", "current values", "stale values"};

	return TEXTS[kind];
}

static const char *const WORDS[] = {"the", "service", "that", "handles", "orders", "reads", "its", "table",
	"before", "each", "cycle", "and", "writes", "what", "changed", "into", "another", "queue", "where",
	"workers", "pick", "it", "up", "again", "after", "some", "time", "if", "nobody", "answers", "this",
	"part", "looks", "fine", "so", "far"};

static void *must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memory;
}

/* A word that is often another one: what a vocabulary has beside its few common words. */
static size_t rare_word(uint32_t *state, char *out, size_t size)
{
	static const char *const SYLLABLES[] = {
		"ba", "den", "ko", "ril", "mu", "ta", "sen", "vo", "lar", "pi", "ges", "no"};
	size_t len = 0;

	for (unsigned i = seed_next(state) % 3 + 2; i > 0 && len + 8 < size; i--)
		len += (size_t)snprintf(out + len, size - len, "%s",
			SYLLABLES[seed_next(state) % (sizeof SYLLABLES / sizeof *SYLLABLES)]);
	return len;
}

/* Plain words without anything worth keeping. */
static void filler(uint32_t *state, unsigned words, char *out, size_t size)
{
	size_t len = 0;

	for (unsigned i = 0; i < words && len + 32 < size; i++) {
		len += (size_t)snprintf(out + len, size - len, "%s", i ? (i % 14 ? " " : ". ") : "");
		if (seed_next(state) % 2)
			len += (size_t)snprintf(out + len, size - len, "%s",
				WORDS[seed_next(state) % (sizeof WORDS / sizeof *WORDS)]);
		else
			len += rare_word(state, out + len, size - len);
	}
	snprintf(out + len, size - len, ".");
}

static void add_record(struct seeded *seeded, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_record(struct seeded *seeded, const char *format, ...)
{
	char line[8192];
	va_list list;
	int len;

	va_start(list, format);
	len = vsnprintf(line, sizeof line, format, list);
	va_end(list);
	if (seeded->count == seeded->cap) {
		seeded->cap = seeded->cap ? seeded->cap * 2 : 1024;
		seeded->records = must(realloc(seeded->records, seeded->cap * sizeof *seeded->records));
	}
	char *copy = must(malloc((size_t)len + 1));
	memcpy(copy, line, (size_t)len + 1);
	seeded->records[seeded->count++] = (struct slice){copy, (size_t)len};
}

static struct plant *add_plant(struct seeded *seeded, enum plant_kind kind, unsigned tenth)
{
	if (seeded->plant_count == seeded->plant_cap) {
		seeded->plant_cap = seeded->plant_cap ? seeded->plant_cap * 2 : 64;
		seeded->plants = must(realloc(seeded->plants, seeded->plant_cap * sizeof *seeded->plants));
	}
	seeded->plants[seeded->plant_count] = (struct plant){.kind = kind, .tenth = tenth};
	return &seeded->plants[seeded->plant_count++];
}

static void add_user(struct seeded *seeded, const char *text)
{
	add_record(seeded, "{\"seq\":%zu,\"role\":\"user\",\"content\":\"%s\"}", seeded->count + 1, text);
}

static void add_assistant(struct seeded *seeded, const char *text)
{
	add_record(
		seeded, "{\"seq\":%zu,\"role\":\"assistant\",\"content\":\"%s\"}", seeded->count + 1, text);
}

static void add_round(struct seeded *seeded, const char *command, const char *result, bool failed)
{
	size_t call = seeded->count;

	add_record(seeded,
		"{\"seq\":%zu,\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c%zu\","
		"\"name\":\"bash\","
		"\"arguments\":\"{\\\"command\\\":\\\"%s\\\"}\"}]}",
		call + 1, call, command);
	add_record(seeded, "{\"seq\":%zu,\"role\":\"tool\",\"tool_call_id\":\"c%zu\",\"content\":\"%s\"%s}",
		seeded->count + 1, call, result, failed ? ",\"is_error\":true" : "");
}

static void plant_values(struct seeded *seeded, uint32_t *state, unsigned tenth)
{
	char text[512];
	unsigned n = seed_next(state) % 900000 + 100000;
	struct plant *plant = add_plant(seeded, PLANT_ID, tenth);

	snprintf(plant->value, sizeof plant->value, "ORD-%u-%c", n, (char)('A' + n % 26));
	snprintf(text, sizeof text, "The order of customer-%u is %s.", n % 7919, plant->value);
	add_user(seeded, text);
	add_assistant(seeded, "Noted.");
	plant = add_plant(seeded, PLANT_PATH, tenth);
	snprintf(plant->value, sizeof plant->value, "/srv/app-%u/etc/pool_%u.yaml", n % 97, n % 1013);
	snprintf(text, sizeof text, "The pool is configured in %s.", plant->value);
	add_user(seeded, text);
	add_assistant(seeded, "I will look there.");
	plant = add_plant(seeded, PLANT_NUMBER, tenth);
	snprintf(plant->value, sizeof plant->value, "%u.%u", n % 1000, n % 89 + 10);
	snprintf(text, sizeof text, "The load ratio of host-%u is %s.", n % 7919, plant->value);
	add_user(seeded, text);
	add_assistant(seeded, "Understood.");
	plant = add_plant(seeded, PLANT_DATE, tenth);
	snprintf(plant->value, sizeof plant->value, "20%02u-%02u-%02u", n % 60 + 30, n % 12 + 1, n % 28 + 1);
	snprintf(text, sizeof text, "The migration of shard-%u is due on %s.", n % 7919, plant->value);
	add_user(seeded, text);
	add_assistant(seeded, "I will plan for it.");
	for (unsigned twin = 0; twin < 2; twin++) {
		plant = add_plant(seeded, PLANT_NEAR, tenth);
		snprintf(plant->value, sizeof plant->value, "10.%u.%u.%u:5432", n % 200, n % 250, 20 + twin);
		snprintf(text, sizeof text, "%s database answers at %s.",
			twin ? "The standby" : "The primary", plant->value);
		add_user(seeded, text);
		add_assistant(seeded, "Thanks.");
	}
}

static void plant_statements(struct seeded *seeded, uint32_t *state, unsigned tenth)
{
	char text[512];
	unsigned n = seed_next(state) % 9000 + 1000;
	struct plant *plant = add_plant(seeded, PLANT_CONSTRAINT, tenth);

	snprintf(plant->value, sizeof plant->value, "Never restart the node worker-%u", n);
	snprintf(text, sizeof text, "%s.", plant->value);
	add_user(seeded, text);
	add_assistant(seeded, "I will not.");
	plant = add_plant(seeded, PLANT_REJECTED, tenth);
	snprintf(plant->value, sizeof plant->value, "engine-%u", n);
	snprintf(plant->reason, sizeof plant->reason, "license fee");
	snprintf(text, sizeof text, "We will not use engine-%u because the license fee is too high.", n);
	add_user(seeded, text);
	add_assistant(seeded, "Then I drop that option.");
	plant = add_plant(seeded, PLANT_TRIED, tenth);
	snprintf(plant->value, sizeof plant->value, "deploy --shard %u", n);
	snprintf(plant->reason, sizeof plant->reason, "quota");
	add_user(seeded, "Please deploy the shard.");
	snprintf(text, sizeof text, "deploy --shard %u", n);
	add_round(seeded, text, "error: quota of the region exceeded (exit code 3)", true);
	add_assistant(seeded, "That failed.");
}

/* The earlier value in the first tenth, the later one where `tenth` is. */
static void plant_setting(
	struct seeded *seeded, unsigned number, unsigned value, enum plant_kind kind, unsigned tenth)
{
	char text[512];
	struct plant *plant = add_plant(seeded, kind, tenth);

	snprintf(plant->value, sizeof plant->value, "%u", value);
	snprintf(text, sizeof text, "The port of listener-%u is %s%u.", number,
		kind == PLANT_CURRENT ? "now " : "", value);
	add_user(seeded, text);
	add_assistant(seeded, "Noted.");
}

static void add_filler(struct seeded *seeded, uint32_t *state)
{
	char text[2048], result[4096], command[64];

	filler(state, 12 + seed_next(state) % 20, text, sizeof text);
	add_user(seeded, text);
	snprintf(command, sizeof command, "ls part%u", seed_next(state) % 7);
	filler(state, 60 + seed_next(state) % 80, result, sizeof result);
	add_round(seeded, command, result, false);
	filler(state, 20 + seed_next(state) % 40, text, sizeof text);
	add_assistant(seeded, text);
}

void seeded_make(struct seeded *seeded, uint32_t seed, size_t messages, unsigned plants_each)
{
	uint32_t state = seed * 2654435761u + 1;
	unsigned planted[3] = {0};

	memset(seeded, 0, sizeof *seeded);
	while (seeded->count < messages) {
		unsigned tenth = (unsigned)(10 * seeded->count / messages);
		int where = tenth == 0 ? 0 : tenth == 5 ? 1 : tenth == 9 ? 2 : -1;

		add_filler(seeded, &state);
		if (where < 0 || planted[where] == plants_each)
			continue;
		plant_values(seeded, &state, tenth);
		plant_statements(seeded, &state, tenth);
		plant_setting(seeded, planted[where], 20000 + 1000 * (unsigned)where + planted[where],
			where == 2 ? PLANT_CURRENT : PLANT_STALE, tenth);
		planted[where]++;
	}
	if (array_path_new(seeded->records, seeded->count, NULL, &seeded->array, NULL)) {
		fprintf(stderr, "the seeded conversation is not valid\n");
		exit(1);
	}
	seeded->path = array_path_path(seeded->array);
}

void seeded_release(struct seeded *seeded)
{
	array_path_free(seeded->array);
	for (size_t i = 0; i < seeded->count; i++)
		free((char *)seeded->records[i].data);
	free(seeded->records);
	free(seeded->plants);
}
