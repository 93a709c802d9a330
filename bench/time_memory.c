/* SPDX-License-Identifier: MIT */
/*
 * Facts of a person: whether the right ones are found, and how long that takes; one measure a call. memory.sh runs them and makes
 * the table.
 *
 *	time_memory locomo DIR FILE        LoCoMo's questions: of how many a turn that has the answer is among the first 5 and 10, by
 *	                                   bobbin's search and by SQLite's FTS5 with porter, ordered by its bm25()
 *	time_memory make DIR COUNT         so many facts of one owner
 *	time_memory search DIR RUNS        questions made of words of these facts
 *	time_memory add DIR RUNS           one more, durable
 *	time_memory plan DIR RUNS          the next request of an open session, with facts and without: again and again without a
 *	                                   new message, and each time after one
 *	time_memory unrelated DIR OWNER    of how many of 200 questions about something else a fact is brought back
 */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/platform.h"
#include "memory/row.h"
#include "timing.h"
#include <bobbin.h>

#define OWNER "ana"
#define WORDS 30000 /* that facts are made of */
#define FACT_WORDS 6
#define FIRST 5
#define MORE 10

static struct bobbin_error error;

static void check(int code)
{
	if (code >= 0)
		return;
	fprintf(stderr, "time_memory: %s\n", error.message);
	exit(1);
}

static void *must(void *made)
{
	if (!made) {
		fprintf(stderr, "time_memory: out of memory\n");
		exit(1);
	}
	return made;
}

static struct store *open_store(const char *dir)
{
	struct store_options options = {.create = true, .sync = STORE_SYNC_FULL};
	struct store *store;
	check(store_open(platform_default(), dir, &options, &store, &error));
	return store;
}

/* Filling it need not be durable; what is timed is. */
static struct memory *open_memory(struct store *store, const char *owner, bool durable)
{
	struct memory *memory;
	check(memory_open(store, slice_of(owner), true, &memory, &error));
	if (!durable)
		check(database_run(memory->database, "PRAGMA synchronous=OFF", &error));
	return memory;
}

/* ---- Many facts ---- */

/* How often words occur follows Zipf's law, as Mandelbrot bent it for the most frequent. */
static unsigned next_word(void)
{
	double uniform = (double)(next_random() >> 11) / 9007199254740992.0;
	double rank = 10 * exp(uniform * log((WORDS + 10) / 10.0)) - 10;
	return rank < WORDS ? (unsigned)rank : WORDS - 1;
}

/* The frequent ones are English, and one word of each question about something else is among them; the rest is made up. */
static void spell(unsigned number, char *out)
{
	static const char *const ENGLISH[] = {"house", "friend", "music", "water", "garden", "city", "family", "work", "book", "language",
		"river", "school", "room", "mountain", "red", "point", "library", "winter", "tea", "error", "mother", "flag", "coffee",
		"program", "first", "medicine", "number", "street", "difference", "dance", "summer", "uncle", "root", "sister", "bread",
		"join", "train", "minimum", "color", "function", "brother", "teacher", "horse", "structure", "cake", "wine", "window",
		"email", "search", "doctor", "name", "dentist", "currency", "market", "bicycle", "holiday", "blue", "piano"};
	static const char FIRSTS[] = "bdfgklmnprstvz", VOWELS[] = "aou";
	size_t len = 0;
	if (number < sizeof ENGLISH / sizeof *ENGLISH) {
		strcpy(out, ENGLISH[number]);
		return;
	}
	do {
		out[len++] = FIRSTS[number % 14];
		out[len++] = VOWELS[number / 14 % 3];
		number /= 14 * 3;
	} while (number);
	out[len++] = 'k';
	out[len] = 0;
}

static void write_fact(size_t number, unsigned words[FACT_WORDS], char *out)
{
	static const char *const FORMS[] = {"I bought a %s %s for the %s in %s when %s had %s",
		"My %s %s is with %s, and the %s was %s before %s", "We went to %s %s because the %s of %s is %s and %s",
		"The %s of my %s has a %s, it is %s for %s and %s"};
	char spelt[FACT_WORDS][24];
	for (int i = 0; i < FACT_WORDS; i++)
		spell(words[i] = next_word(), spelt[i]);
	sprintf(out, FORMS[number % 4], spelt[0], spelt[1], spelt[2], spelt[3], spelt[4], spelt[5]);
}

static void make(const char *dir, size_t count)
{
	struct store *store = open_store(dir);
	struct memory *memory = open_memory(store, OWNER, false);
	for (size_t i = 0; i < count; i++) {
		unsigned words[FACT_WORDS];
		char text[256];
		write_fact(i, words, text);
		struct fact_new fact = {.text = slice_of(text), .said_ns = (int64_t)(1600000000 + i * 60) * 1000000000};
		check(memory_add(memory, &fact, NULL, &error));
	}
	memory_close(memory);
	store_close(store);
}

/* Three or four words of one of the facts: the nth question asks for the nth fact, as `make` begins with the same seed. */
static void write_question(size_t number, char *out)
{
	static const char *const FORMS[] = {"Where did I get the %s %s for the %s?", "What is it with my %s %s, %s and %s?",
		"Do you remember %s and the %s of %s?"};
	unsigned words[FACT_WORDS] = {0};
	char text[256], spelt[4][24];
	write_fact(number, words, text);
	for (int i = 0; i < 4; i++)
		spell(words[(number + (size_t)i) % FACT_WORDS], spelt[i]);
	sprintf(out, FORMS[number % 3], spelt[0], spelt[1], spelt[2], spelt[3]);
}

static void time_search(const char *dir, size_t runs)
{
	struct store *store = open_store(dir);
	struct memory *memory = open_memory(store, OWNER, true);
	uint64_t *times = must(calloc(runs, sizeof *times)), found = 0;
	for (size_t run = 0; run < runs; run++) {
		struct arena arena = ARENA_INIT;
		struct fact *facts;
		char question[256];
		size_t count;
		write_question(run, question);
		uint64_t start = now_ns();
		check(memory_search(memory, slice_of(question), NULL, &arena, &facts, &count, &error));
		times[run] = now_ns() - start;
		for (size_t i = 0; i < count; i++)
			found += facts[i].number == run + 1;
		arena_release(&arena);
	}
	printf("search found_percent %.1f\n", 100.0 * (double)found / (double)runs);
	tell("search", times, runs);
	free(times);
	memory_close(memory);
	store_close(store);
}

static void time_add(const char *dir, size_t runs)
{
	struct store *store = open_store(dir);
	struct memory *memory = open_memory(store, OWNER, true);
	uint64_t *times = must(calloc(runs, sizeof *times));
	seed_random(now_ns() | 1);
	for (size_t run = 0; run < runs; run++) {
		unsigned words[FACT_WORDS];
		char text[256];
		write_fact(run, words, text);
		struct fact_new fact = {.text = slice_of(text)};
		uint64_t start = now_ns();
		check(memory_add(memory, &fact, NULL, &error));
		times[run] = now_ns() - start;
	}
	tell("add", times, runs);
	free(times);
	memory_close(memory);
	store_close(store);
}

/* ---- Plans ---- */

static void append(bobbin_session *session, const char *role, const char *text)
{
	char record[512];
	int len = snprintf(record, sizeof record, "{\"role\":\"%s\",\"content\":\"%s\"}", role, text);
	check(bobbin_session_append(session, record, (size_t)len, NULL, NULL, &error));
}

static uint64_t time_one_plan(bobbin_session *session, int no_facts)
{
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	bobbin_plan *plan;
	options.no_facts = no_facts;
	uint64_t start = now_ns();
	check(bobbin_session_refresh(session, &error));
	check(bobbin_plan_make(session, &options, &plan, &error));
	bobbin_plan_free(plan);
	return now_ns() - start;
}

/* In turn, so that all meet the same machine. */
static void time_plan(const char *dir, size_t runs)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	uint64_t *times[3];
	bobbin_store *store;
	bobbin_session *session;
	for (int i = 0; i < 3; i++)
		times[i] = must(calloc(runs, sizeof *times[i]));
	options.owner = OWNER;
	check(bobbin_store_open(dir, NULL, &store, &error));
	check(bobbin_session_open(store, "plans", &options, &session, &error));
	for (size_t run = 0; run < runs; run++) {
		char question[256];
		write_question(run, question);
		append(session, "user", question);
		times[0][run] = time_one_plan(session, 0);
		times[1][run] = time_one_plan(session, 0);
		times[2][run] = time_one_plan(session, 1);
		append(session, "assistant", "It is as it was.");
	}
	tell("plan-first", times[0], runs);
	tell("plan-again", times[1], runs);
	tell("plan-without", times[2], runs);
	for (int i = 0; i < 3; i++)
		free(times[i]);
	bobbin_session_close(session);
	bobbin_store_close(store);
}

/* ---- Questions about something else ---- */

static const char *const TASKS[] = {"Sort an array of integers in %s", "How do I open a socket in %s?",
	"Write a regular expression that matches an email address in %s", "Explain the difference between a pointer and a reference in %s",
	"Why does my %s program print NaN?", "Fix the off-by-one error in this %s loop", "Which %s library parses YAML?",
	"How does garbage collection work in %s?", "Convert this function to %s", "Show me a binary search in %s"};
static const char *const LANGUAGES[] = {"Rust", "Python", "Haskell", "TypeScript", "Fortran"};
static const char *const ABOUT[] = {"What is the capital of %s?", "How many inhabitants does %s have?", "Which currency is used in %s?",
	"Who was the first president of %s?", "Which rivers flow through %s?", "When did %s join the United Nations?",
	"What is the highest mountain of %s?", "Which languages are official in %s?", "Summarize the constitution of %s",
	"What does the flag of %s stand for?"};
static const char *const COUNTRIES[] = {"Peru", "Mongolia", "Estonia", "Namibia", "Vietnam"};
static const char *const MATTERS[] = {"What is the boiling point of %s?", "How is %s produced industrially?",
	"What is the atomic structure of %s?", "Is %s soluble in water?", "Which hazards does %s have?", "Who discovered %s?",
	"What is the density of %s at room temperature?", "Balance the equation for burning %s",
	"What is %s used for in medicine?", "Name three compounds of %s"};
static const char *const STUFF[] = {"ethanol", "sulfur", "ammonia", "magnesium", "benzene"};
static const char *const REST[] = {"Solve %s for x", "Differentiate %s", "Integrate %s from 0 to 1", "Plot %s",
	"Is %s continuous?", "What are the roots of %s?", "Prove that %s is bounded", "Simplify %s", "Factor %s",
	"Find the minimum of %s"};
static const char *const TERMS[] = {"x^2 - 4", "sin(x) / x", "exp(-x)", "3x + 7", "log(x + 1)"};

static void unrelated(const char *dir, const char *owner)
{
	static const char *const *const FORMS[] = {TASKS, ABOUT, MATTERS, REST}, *const *const FILLERS[] = {LANGUAGES, COUNTRIES, STUFF, TERMS};
	struct store *store = open_store(dir);
	struct memory *memory = open_memory(store, owner, true);
	unsigned asked = 0, answered = 0;
	for (int i = 0; i < 200; i++, asked++) {
		struct arena arena = ARENA_INIT;
		struct fact *facts;
		char question[256];
		size_t count;
		snprintf(question, sizeof question, FORMS[i / 50][i % 10], FILLERS[i / 50][i % 50 / 10]);
		check(memory_search(memory, slice_of(question), NULL, &arena, &facts, &count, &error));
		answered += count > 0;
		arena_release(&arena);
	}
	printf("unrelated asked %u answered %u\n", asked, answered);
	memory_close(memory);
	store_close(store);
}

/* ---- LoCoMo ---- */

struct turn {
	struct slice id, speaker, text;
};

struct talk {
	struct turn *turns;
	size_t count, cap;
	struct arena arena;
};

struct tally {
	unsigned questions, found[4][2]; /* by plain, around, bobbin, bobbin without a threshold: among the first 5, 10 */
};

static struct slice text_of(const struct json *object, const char *key, struct arena *arena)
{
	struct json value;
	struct slice text = {"", 0};
	if (json_get(object, key, &value) && value.type == JSON_STRING)
		text = json_string_content(&value, arena);
	must((void *)(uintptr_t)text.data);
	return text;
}

/* What was said, and what the picture shows that was sent with it. */
static struct turn read_turn(const struct json *turn, struct arena *arena)
{
	struct slice said = text_of(turn, "text", arena), shows = text_of(turn, "blip_caption", arena);
	struct slice text = {must(arena_alloc(arena, said.len + shows.len + 16)), 0};
	text.len = (size_t)sprintf((char *)(uintptr_t)text.data, shows.len ? "%.*s [photo: %.*s]" : "%.*s%.*s", (int)said.len, said.data,
		(int)shows.len, shows.data);
	return (struct turn){text_of(turn, "dia_id", arena), text_of(turn, "speaker", arena), text};
}

static void read_talk(const struct json *conversation, struct talk *talk)
{
	for (int session = 1; session < 100; session++) {
		struct json turns, turn;
		struct json_iter iter;
		char key[32];
		snprintf(key, sizeof key, "session_%d", session);
		if (!json_get(conversation, key, &turns))
			continue;
		json_iter_init(&iter, &turns);
		while (json_iter_next(&iter, NULL, &turn)) {
			if (mem_grow((void **)&talk->turns, &talk->cap, talk->count + 1, sizeof *talk->turns) < 0)
				must(NULL);
			talk->turns[talk->count++] = read_turn(&turn, &talk->arena);
		}
	}
}

/* The two turns before and the one after. */
static char *text_around(const struct talk *talk, size_t at)
{
	char *text = NULL;
	size_t len;
	FILE *out = must(open_memstream(&text, &len));
	for (size_t i = at < 2 ? 0 : at - 2; i <= at + 1 && i < talk->count; i++)
		if (i != at)
			fprintf(out, "%.*s\n", (int)talk->turns[i].text.len, talk->turns[i].text.data);
	fclose(out);
	return must(text);
}

static sqlite3 *fill_plain(const struct talk *talk)
{
	sqlite3 *database;
	sqlite3_stmt *insert;
	if (sqlite3_open(":memory:", &database) ||
		sqlite3_exec(database, "CREATE VIRTUAL TABLE plain USING fts5 (text, tokenize = 'porter unicode61');"
			"CREATE VIRTUAL TABLE turns USING fts5 (text, around, tokenize = 'porter unicode61')", NULL, NULL, NULL) ||
		sqlite3_prepare_v2(database, "INSERT INTO turns (rowid, text, around) VALUES (?1, ?2 || ': ' || ?3, ?4)", -1, &insert, NULL))
		exit(1);
	for (size_t i = 0; i < talk->count; i++) {
		const struct turn *turn = &talk->turns[i];
		sqlite3_bind_int64(insert, 1, (int64_t)i + 1);
		sqlite3_bind_text(insert, 2, turn->speaker.data, (int)turn->speaker.len, SQLITE_STATIC);
		sqlite3_bind_text(insert, 3, turn->text.data, (int)turn->text.len, SQLITE_STATIC);
		sqlite3_bind_text(insert, 4, text_around(talk, i), -1, free);
		if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert))
			exit(1);
	}
	sqlite3_finalize(insert);
	if (sqlite3_exec(database, "INSERT INTO plain (rowid, text) SELECT rowid, text FROM turns", NULL, NULL, NULL))
		exit(1);
	return database;
}

/* Each turn is a fact of what its speaker said, and is found by what was said around it, too. */
static void fill_bobbin(const struct talk *talk, struct memory *memory)
{
	for (size_t i = 0; i < talk->count; i++) {
		const struct turn *turn = &talk->turns[i];
		char *around = text_around(talk, i);
		struct fact_new fact = {.text = turn->text, .subject = turn->speaker, .session = slice_of("talk"), .message = turn->id};
		fact.context = slice_of(around);
		fact.said_ns = (int64_t)(1680000000 + i * 60) * 1000000000;
		check(memory_add(memory, &fact, NULL, &error));
		free(around);
	}
}

/* The words of a question, any of which may occur. */
static void write_match(struct slice question, char *out)
{
	size_t len = 0;
	bool inside = false;
	for (size_t i = 0; i < question.len; i++) {
		unsigned char c = (unsigned char)question.data[i];
		bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
		if (word && !inside)
			len += (size_t)sprintf(out + len, len ? " OR \"" : "\"");
		if (!word && inside)
			out[len++] = '"';
		if (word)
			out[len++] = (char)c;
		inside = word;
	}
	if (inside)
		out[len++] = '"';
	out[len] = 0;
}

static bool is_evidence(const struct json *evidence, struct slice id)
{
	struct json_iter iter;
	struct json item;
	char text[64];
	snprintf(text, sizeof text, "%.*s", (int)id.len, id.data);
	json_iter_init(&iter, evidence);
	while (json_iter_next(&iter, NULL, &item))
		if (json_string_is(&item, text))
			return true;
	return false;
}

/* By the turn's own text alone, or with what was said around it at the weight that bobbin gives it. */
static size_t ask_plain(sqlite3 *database, const struct talk *talk, bool around, struct slice question, const struct json *evidence)
{
	static const char *const SELECTS[] = {"SELECT rowid FROM plain WHERE plain MATCH ?1 ORDER BY bm25(plain) LIMIT 10",
		"SELECT rowid FROM turns WHERE turns MATCH ?1 ORDER BY bm25(turns, 1, 0.4) LIMIT 10"};
	char *match = must(malloc(8 * question.len + 16));
	sqlite3_stmt *select;
	size_t place = 0, found = SIZE_MAX;
	write_match(question, match);
	if (sqlite3_prepare_v2(database, SELECTS[around], -1, &select, NULL))
		exit(1);
	sqlite3_bind_text(select, 1, match, -1, SQLITE_STATIC);
	for (; sqlite3_step(select) == SQLITE_ROW; place++)
		if (found == SIZE_MAX && is_evidence(evidence, talk->turns[sqlite3_column_int64(select, 0) - 1].id))
			found = place;
	sqlite3_finalize(select);
	free(match);
	return found;
}

static size_t ask_bobbin(struct memory *memory, double threshold, struct slice question, const struct json *evidence)
{
	struct fact_search_options options = {.limit = MORE, .threshold = threshold};
	struct arena arena = ARENA_INIT;
	struct fact *facts;
	size_t count, found = SIZE_MAX;
	check(memory_search(memory, question, &options, &arena, &facts, &count, &error));
	for (size_t place = 0; place < count && found == SIZE_MAX; place++)
		for (size_t i = 0; i < facts[place].source_count; i++)
			if (is_evidence(evidence, slice_of(facts[place].sources[i].message)))
				found = place;
	arena_release(&arena);
	return found;
}

static void ask(const struct json *sample, const struct talk *talk, sqlite3 *plain, struct memory *memory, struct tally *tally)
{
	struct json questions, question, evidence;
	struct json_iter iter;
	json_get(sample, "qa", &questions);
	json_iter_init(&iter, &questions);
	while (json_iter_next(&iter, NULL, &question)) {
		struct arena arena = ARENA_INIT;
		if (!json_get(&question, "evidence", &evidence) || !json_count(&evidence))
			continue;
		struct slice text = text_of(&question, "question", &arena);
		size_t places[] = {ask_plain(plain, talk, false, text, &evidence), ask_plain(plain, talk, true, text, &evidence),
			ask_bobbin(memory, 0, text, &evidence), ask_bobbin(memory, -1, text, &evidence)};
		tally->questions++;
		for (int i = 0; i < 4; i++) {
			tally->found[i][0] += places[i] < FIRST;
			tally->found[i][1] += places[i] < MORE;
		}
		arena_release(&arena);
	}
}

static char *read_file(const char *name, size_t *ret_len)
{
	FILE *file = fopen(name, "rb");
	char *text = NULL;
	if (!file || fseek(file, 0, SEEK_END))
		exit(fprintf(stderr, "time_memory: %s cannot be read\n", name));
	*ret_len = (size_t)ftell(file);
	rewind(file);
	text = must(malloc(*ret_len + 1));
	if (fread(text, 1, *ret_len, file) != *ret_len)
		exit(1);
	fclose(file);
	return text;
}

static void locomo(const char *dir, const char *name)
{
	struct store *store = open_store(dir);
	static const char *const NAMES[] = {"plain", "around", "bobbin", "open"};
	struct tally tally = {0};
	struct json all, sample, conversation;
	struct json_iter iter;
	size_t len;
	char *text = read_file(name, &len);
	check(json_parse(text, len, &all, &error));
	json_iter_init(&iter, &all);
	for (unsigned i = 0; json_iter_next(&iter, NULL, &sample); i++) {
		struct talk talk = {0};
		char owner[32];
		snprintf(owner, sizeof owner, "talk-%u", i);
		struct memory *memory = open_memory(store, owner, false);
		json_get(&sample, "conversation", &conversation);
		read_talk(&conversation, &talk);
		sqlite3 *plain = fill_plain(&talk);
		fill_bobbin(&talk, memory);
		ask(&sample, &talk, plain, memory, &tally);
		sqlite3_close(plain);
		memory_close(memory);
		arena_release(&talk.arena);
		mem_free(talk.turns);
	}
	printf("locomo questions %u\n", tally.questions);
	for (int i = 0; i < 4; i++)
		printf("locomo-%s first5 %.1f first10 %.1f\n", NAMES[i], 100.0 * tally.found[i][0] / tally.questions,
			100.0 * tally.found[i][1] / tally.questions);
	free(text);
	store_close(store);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: time_memory WHAT DIR ARGUMENT\n");
		return 2;
	}
	const char *what = argv[1], *dir = argv[2], *last = argv[3];
	size_t count = (size_t)strtoull(last, NULL, 10);
	if (strcmp(what, "locomo") == 0)
		locomo(dir, last);
	else if (strcmp(what, "make") == 0)
		make(dir, count);
	else if (strcmp(what, "search") == 0)
		time_search(dir, count);
	else if (strcmp(what, "add") == 0)
		time_add(dir, count);
	else if (strcmp(what, "plan") == 0)
		time_plan(dir, count);
	else if (strcmp(what, "unrelated") == 0)
		unrelated(dir, last);
	else
		return 2;
	return 0;
}
