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
	static const char *const TEXTS[] = {
		"rules", "reject", "tried", "ids", "paths", "number", "dates", "near", "now", "stale"};

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
static void add_words(uint32_t *state, unsigned words, char *out, size_t size)
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
	va_list list;
	char *line;
	int len;

	va_start(list, format);
	len = vasprintf(&line, format, list);
	va_end(list);
	if (len < 0)
		must(NULL);
	if (seeded->count == seeded->cap) {
		seeded->cap = seeded->cap ? seeded->cap * 2 : 1024;
		seeded->records = must(realloc(seeded->records, seeded->cap * sizeof *seeded->records));
	}
	seeded->records[seeded->count++] = (struct slice){line, (size_t)len};
}

/* A plant in the message that is added next. */
static struct plant *add_plant(struct seeded *seeded, enum plant_kind kind)
{
	if (seeded->plant_count == seeded->plant_cap) {
		seeded->plant_cap = seeded->plant_cap ? seeded->plant_cap * 2 : 64;
		seeded->plants = must(realloc(seeded->plants, seeded->plant_cap * sizeof *seeded->plants));
	}
	seeded->plants[seeded->plant_count] = (struct plant){.kind = kind, .place = seeded->count};
	return &seeded->plants[seeded->plant_count++];
}

static void add_message(struct seeded *seeded, const char *role, const char *text)
{
	add_record(seeded, "{\"seq\":%zu,\"role\":\"%s\",\"content\":\"%s\"}", seeded->count + 1, role, text);
}

static void add_round(struct seeded *seeded, const char *command, const char *result, bool failed)
{
	size_t call = seeded->count;

	add_record(seeded,
		"{\"seq\":%zu,\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call-%zu\","
		"\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"%s\\\"}\"}]}",
		call + 1, call, command);
	add_record(seeded,
		"{\"seq\":%zu,\"role\":\"tool\",\"tool_call_id\":\"call-%zu\",\"content\":\"%s\"%s}",
		seeded->count + 1, call, result, failed ? ",\"is_error\":true" : "");
}

/* Puts `name` for each @ and `value` for each $. */
static void put(char *out, size_t size, const char *pattern, const char *name, const char *value)
{
	size_t len = 0;

	out[0] = '\0';
	for (; *pattern && len < size; pattern++) {
		const char *piece = *pattern == '@' ? name : *pattern == '$' ? value : NULL;

		len += piece ? (size_t)snprintf(out + len, size - len, "%s", piece)
			     : (size_t)snprintf(out + len, size - len, "%c", *pattern);
	}
}

#define WAYS 3
static const char *const VALUE_WAYS[][WAYS] = {
	[PLANT_ID] = {"The order of customer-@ is $.", "Customer-@ writes about $ again.",
		"By the way, $ is the order that customer-@ asks about."},
	[PLANT_PATH] = {"The pool is configured in $.", "You will find the settings of host-@ at $.",
		"$ holds the limits of team-@."},
	[PLANT_NUMBER] = {"The load ratio of host-@ is $.", "Last night queue-@ took $ seconds.",
		"We measured $ ms on host-@."},
	[PLANT_DATE] = {"The migration of shard-@ is due on $.", "Customer-@ leaves us on $.",
		"On $ the contract of site-@ ends."},
	[PLANT_NEAR] = {"The database of cell-@ answers at $.", "For cell-@ connect to $.",
		"$ is where cell-@ listens."},
};
static const char *const RULE_WAYS[] = {"Never restart the node worker-@",
	"Do not push to the branch release-@", "The report must name the account acct-@",
	"Starte den Knoten worker-@ niemals neu", "No reinicies nunca el nodo worker-@",
	"Ne redémarre jamais le nœud worker-@", "不要重启节点 worker-@"};
static const char *const REJECTED_WAYS[WAYS] = {
	"We will not use engine-@ because the license fee is too high.",
	"Not engine-@, the license fee is too high.",
	"I decided against engine-@ because of the license fee."};
static const char *const TRIED_WAYS[WAYS] = {"error: quota of the region exceeded (exit code 3)",
	"uploading\\nFATAL: the quota is used up\\nexit code: 1",
	"Traceback (most recent call last):\\n  File \\\"deploy.py\\\", line 3\\nQuotaError: quota exceeded"};
static const char *const REPLIES[] = {"Noted.", "I see.", "Thanks, I will keep it in mind.", "Understood."};

static void reply(struct seeded *seeded, uint32_t *state)
{
	add_message(seeded, "assistant", REPLIES[seed_next(state) % (sizeof REPLIES / sizeof *REPLIES)]);
}

/* The user tells a value of something with this number. */
static void tell(
	struct seeded *seeded, uint32_t *state, enum plant_kind kind, unsigned number, const char *value)
{
	struct plant *plant = add_plant(seeded, kind);
	char name[16], text[512];

	snprintf(plant->value, sizeof plant->value, "%s", value);
	snprintf(name, sizeof name, "%u", number);
	put(text, sizeof text, VALUE_WAYS[kind][seed_next(state) % WAYS], name, value);
	add_message(seeded, "user", text);
	reply(seeded, state);
}

static void plant_values(struct seeded *seeded, uint32_t *state)
{
	char value[96];
	unsigned n = seed_next(state) % 900000 + 100000;

	snprintf(value, sizeof value, "ORD-%u-%c", n, (char)('A' + n % 26));
	tell(seeded, state, PLANT_ID, n % 7919, value);
	snprintf(value, sizeof value, "/srv/app-%u/etc/pool_%u.yaml", n % 97, n % 1013);
	tell(seeded, state, PLANT_PATH, n % 7919, value);
	snprintf(value, sizeof value, "%u.%u", n % 1000, n % 89 + 10);
	tell(seeded, state, PLANT_NUMBER, n % 7919, value);
	snprintf(value, sizeof value, "20%02u-%02u-%02u", n % 60 + 30, n % 12 + 1, n % 28 + 1);
	tell(seeded, state, PLANT_DATE, n % 7919, value);
	for (unsigned twin = 0; twin < 2; twin++) {
		snprintf(value, sizeof value, "10.%u.%u.%u:5432", n % 200, n % 250, 20 + twin);
		tell(seeded, state, PLANT_NEAR, n % 7919 * 2 + twin, value);
	}
}

static void plant_statements(struct seeded *seeded, uint32_t *state)
{
	char name[16], text[512];
	struct plant *plant = add_plant(seeded, PLANT_CONSTRAINT);

	snprintf(name, sizeof name, "%u", seed_next(state) % 9000 + 1000);
	put(plant->value, sizeof plant->value,
		RULE_WAYS[seed_next(state) % (sizeof RULE_WAYS / sizeof *RULE_WAYS)], name, "");
	snprintf(text, sizeof text, "%s.", plant->value);
	add_message(seeded, "user", text);
	reply(seeded, state);
	plant = add_plant(seeded, PLANT_REJECTED);
	snprintf(plant->value, sizeof plant->value, "engine-%s", name);
	snprintf(plant->reason, sizeof plant->reason, "license fee");
	put(text, sizeof text, REJECTED_WAYS[seed_next(state) % WAYS], name, "");
	add_message(seeded, "user", text);
	reply(seeded, state);
	add_message(seeded, "user", "Please deploy the shard.");
	plant = add_plant(seeded, PLANT_TRIED);
	snprintf(plant->value, sizeof plant->value, "deploy --shard %s", name);
	snprintf(plant->reason, sizeof plant->reason, "uota");
	add_round(seeded, plant->value, TRIED_WAYS[seed_next(state) % WAYS], true);
	add_message(seeded, "assistant", "That failed.");
}

/* The later value stands in the last tenth, earlier ones of the same thing in the others. */
static void plant_setting(struct seeded *seeded, unsigned number, unsigned value, bool last)
{
	char text[512];
	struct plant *plant = add_plant(seeded, last ? PLANT_CURRENT : PLANT_STALE);

	snprintf(plant->value, sizeof plant->value, "%u", value);
	snprintf(text, sizeof text, "The port of listener-%u is %s%u.", number, last ? "now " : "", value);
	add_message(seeded, "user", text);
	add_message(seeded, "assistant", "Noted.");
}

static void plant_group(struct seeded *seeded, uint32_t *state, unsigned where, unsigned number)
{
	plant_values(seeded, state);
	plant_statements(seeded, state);
	plant_setting(seeded, number, 20000 + 1000 * where + number, where == 2);
}

static void add_filler(struct seeded *seeded, uint32_t *state, double scale)
{
	char text[2048], result[4096], command[64];

	add_words(state, (unsigned)(scale * (12 + seed_next(state) % 20)) + 4, text, sizeof text);
	add_message(seeded, "user", text);
	snprintf(command, sizeof command, "ls part%u", seed_next(state) % 7);
	add_words(state, (unsigned)(scale * (60 + seed_next(state) % 80)) + 4, result, sizeof result);
	add_round(seeded, command, result, false);
	add_words(state, (unsigned)(scale * (20 + seed_next(state) % 40)) + 4, text, sizeof text);
	add_message(seeded, "assistant", text);
}

static bool end(struct seeded *seeded)
{
	if (array_path_new(seeded->records, seeded->count, NULL, &seeded->array, NULL))
		return false;
	seeded->path = array_path_path(seeded->array);
	return true;
}

void seeded_make(struct seeded *seeded, uint32_t seed, size_t messages, unsigned groups_each, double filler)
{
	uint32_t state = seed * 2654435761u + 1;
	unsigned planted[3] = {0};

	memset(seeded, 0, sizeof *seeded);
	while (seeded->count < messages) {
		size_t tenth = 10 * seeded->count / messages;
		int where = tenth == 0 ? 0 : tenth == 5 ? 1 : tenth == 9 ? 2 : -1;

		add_filler(seeded, &state, filler);
		if (where < 0 || planted[where] == groups_each)
			continue;
		plant_group(seeded, &state, (unsigned)where, planted[where]);
		planted[where]++;
	}
	if (!end(seeded)) {
		fprintf(stderr, "the seeded conversation is not valid\n");
		exit(1);
	}
}

/* Where a person may say something: not between a call and its results. */
static bool may_speak(struct slice record)
{
	return !memmem(record.data, record.len, "\"role\":\"tool\"", 13);
}

bool seeded_plant(struct seeded *seeded, uint32_t seed, const struct slice *records, size_t count)
{
	uint32_t state = seed * 2654435761u + 1;
	const size_t from[3] = {count / 20, count / 2, count * 19 / 20};
	unsigned where = 0;

	memset(seeded, 0, sizeof *seeded);
	for (size_t i = 0; i <= count; i++) {
		while (where < 3 && i >= from[where] && (i == count || may_speak(records[i])))
			plant_group(seeded, &state, where++, 0);
		if (i < count)
			add_record(seeded, "%.*s", (int)records[i].len, records[i].data);
	}
	return end(seeded);
}

void seeded_release(struct seeded *seeded)
{
	array_path_free(seeded->array);
	for (size_t i = 0; i < seeded->count; i++)
		free((char *)seeded->records[i].data);
	free(seeded->records);
	free(seeded->plants);
}
