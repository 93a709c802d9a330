/* SPDX-License-Identifier: MIT */
/* `bobbin memory`: facts of a person. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"

#define NS_PER_SECOND INT64_C(1000000000)

static const char *day_text(int64_t ns)
{
	static char buffers[4][16];
	static unsigned next;
	char *out = buffers[next++ % 4];
	time_t seconds = (time_t)(ns / NS_PER_SECOND);
	struct tm parts;

	out[0] = 0;
	if (gmtime_r(&seconds, &parts))
		strftime(out, sizeof buffers[0], "%Y-%m-%d", &parts);
	return out;
}

static void print_time_json(const char *name, int64_t ns)
{
	char text[32] = "";
	time_t seconds = (time_t)(ns / NS_PER_SECOND);
	struct tm parts;

	if (ns && gmtime_r(&seconds, &parts))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	printf(",\"%s\":", name);
	if (*text)
		print_json_text(text);
	else
		fputs("null", stdout);
}

static void print_fact_json(const struct bobbin_fact *fact)
{
	printf("{\"id\":\"f%" PRIu64 "\",", fact->number);
	print_json_member("text", fact->text);
	putchar(',');
	print_json_member("subject", fact->subject);
	putchar(',');
	print_json_member("relation", fact->relation);
	printf(",\"candidate\":%s,\"proposed\":%s", fact->candidate == 1 ? "true" : "false",
		fact->candidate == 2 ? "true" : "false");
	print_time_json("said", fact->said_ns);
	print_time_json("valid_from", fact->valid_ns);
	print_time_json("expires", fact->expires_ns);
	print_time_json("ended", fact->ended_ns);
	if (fact->superseded_by)
		printf(",\"superseded_by\":\"f%" PRIu64 "\"", fact->superseded_by);
	else
		fputs(",\"superseded_by\":null", stdout);
	printf(",\"sessions\":%" PRIu64 ",\"score\":%.3f,\"sources\":[", fact->sessions, fact->score);
	for (size_t i = 0; i < fact->source_count; i++) {
		fputs(i ? ",{" : "{", stdout);
		print_json_member("session", fact->sources[i].session);
		putchar(',');
		print_json_member("message", fact->sources[i].message);
		putchar('}');
	}
	puts("]}");
}

/* "f12  I live in Berlin", and under it where it comes from and how long it holds. */
static void print_fact(const struct bobbin_fact *fact)
{
	char id[24];

	snprintf(id, sizeof id, "f%" PRIu64, fact->number);
	printf("%s%-5s%s ", paint(BOLD), id, paint(PLAIN));
	print_hanging(fact->text, strlen(fact->text), 6);
	printf("      %ssaid %s", paint(DIM), day_text(fact->said_ns));
	if (fact->ended_ns)
		printf(", held until %s, then f%" PRIu64, day_text(fact->ended_ns), fact->superseded_by);
	else if (fact->expires_ns)
		printf(", expires %s", day_text(fact->expires_ns));
	if (fact->source_count > 1)
		printf(" · %s", counted(fact->source_count, "source"));
	else if (fact->source_count && *fact->sources[0].session)
		printf(" · %s %s", visible(fact->sources[0].session), visible(fact->sources[0].message));
	if (fact->candidate == 1)
		fputs(" · a candidate: kept once it recurs in another session", stdout);
	else if (fact->candidate)
		fputs(" · proposed by the model: kept once you say so", stdout);
	printf("%s\n", paint(PLAIN));
}

static size_t print_facts(const struct arguments *arguments, bobbin_facts *facts)
{
	const struct bobbin_fact *fact;
	size_t count = 0;

	for (; (fact = bobbin_facts_next(facts)); count++)
		if (arguments->json)
			print_fact_json(fact);
		else
			print_fact(fact);
	bobbin_facts_close(facts);
	return count;
}

/* The words from `from` on, as one text of malloc. */
static char *join_words(const struct arguments *arguments, int from)
{
	size_t len = 1;

	for (int i = from; i < arguments->word_count; i++)
		len += strlen(arguments->words[i]) + 1;
	char *text = malloc(len), *at = text;
	for (int i = from; text && i < arguments->word_count; i++) {
		size_t size = strlen(arguments->words[i]);
		memcpy(at, arguments->words[i], size);
		at += size;
		*at++ = ' ';
	}
	if (text)
		*(at > text ? at - 1 : at) = 0;
	return text;
}

/* "f12", "12" */
static int read_number(const char *text, uint64_t *ret_number)
{
	char *end;

	text += *text == 'f';
	*ret_number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end ? 0 : fail_usage("a fact is called f1, f2, …, not %s", text);
}

/* "2026-09-04" or "2026-09-04T10:00:00Z", UTC; "never" where that makes sense. */
static int read_time(const char *name, const char *text, int64_t *ret_ns)
{
	struct tm parts = {0};
	const char *end;

	*ret_ns = 0;
	if (!text)
		return 0;
	if (strcmp(text, "never") == 0) {
		*ret_ns = -1;
		return 0;
	}
	end = strptime(text, "%Y-%m-%d", &parts);
	if (end && *end == 'T')
		end = strptime(end, "T%H:%M:%SZ", &parts);
	if (!end || *end || parts.tm_year < 70)
		return fail_usage("%s takes a date such as 2026-09-04 or 2026-09-04T10:00:00Z, not %s", name, text);
	*ret_ns = (int64_t)timegm(&parts) * NS_PER_SECOND;
	return 0;
}

/* ---- Verbs */

static const char *const ANSWERS[] = {"no", "perhaps", "yes"};
static const char *const VERDICTS[] = {
	"", "stays in the session", "a candidate: kept once it recurs in another session", "kept"};

static void print_question(const char *question, int answer, const char *why)
{
	printf("  %-31s %-8s ", question, ANSWERS[answer]);
	print_hanging(why, strlen(why), 43);
}

static void print_why(const struct bobbin_judgement *judgement)
{
	printf("said in a session, this would be: %s%s%s\n", paint(BOLD), VERDICTS[judgement->verdict], paint(PLAIN));
	print_question("needed after this session?", judgement->needed, judgement->needed_why);
	print_question("does it expire?", judgement->expires, judgement->expires_why);
	print_question("can retrieval bring it back?", judgement->retrievable, judgement->retrievable_why);
	if (*judgement->relation)
		printf("  relation: %s\n", visible(judgement->relation));
}

static void print_added_json(const struct bobbin_fact_added *added, const struct bobbin_judgement *judgement)
{
	static const char *const names[] = {"", "session", "candidate", "keep"};

	printf("{\"id\":\"f%" PRIu64 "\",\"merged\":%s,\"superseded\":", added->number, added->merged ? "true" : "false");
	if (added->superseded)
		printf("\"f%" PRIu64 "\"", added->superseded);
	else
		fputs("null", stdout);
	if (judgement) {
		printf(",\"why\":{\"verdict\":\"%s\",\"needed\":\"%s\",\"expires\":\"%s\",\"retrievable\":\"%s\",",
			names[judgement->verdict], ANSWERS[judgement->needed], ANSWERS[judgement->expires],
			ANSWERS[judgement->retrievable]);
		print_json_member("needed_why", judgement->needed_why);
		putchar(',');
		print_json_member("expires_why", judgement->expires_why);
		putchar(',');
		print_json_member("retrievable_why", judgement->retrievable_why);
		putchar(',');
		print_json_member("relation", judgement->relation);
		putchar('}');
	}
	puts("}");
}

static int add(const struct arguments *arguments, bobbin_memory *memory)
{
	struct bobbin_fact_options options = BOBBIN_FACT_OPTIONS_INIT;
	struct bobbin_judgement judgement;
	struct bobbin_fact_added added;
	struct bobbin_error error;

	options.subject = arguments->subject;
	options.relation = arguments->relation;
	options.session = arguments->session;
	options.message = arguments->message;
	int code = read_time("--said", arguments->said, &options.said_ns);
	if (!code)
		code = read_time("--expires", arguments->expires, &options.expires_ns);
	if (!code && !arguments->session != !arguments->message)
		code = fail_usage("a source is --session ID and --message ID, both");
	if (code)
		return code;
	char *text = join_words(arguments, 1);
	size_t len = text ? strlen(text) : 0;
	if (arguments->why && bobbin_judge(text, len, options.said_ns, &judgement, &error) < 0)
		code = fail(&error);
	if (!code && bobbin_memory_add(memory, text, len, &options, &added, &error) < 0)
		code = error.code == BOBBIN_EINVAL ? fail_usage("%s", error.message) : fail(&error);
	free(text);
	if (code)
		return code;
	if (arguments->json) {
		print_added_json(&added, arguments->why ? &judgement : NULL);
		return EXIT_DONE;
	}
	printf("f%" PRIu64 "\n", added.number);
	if (added.merged)
		note(arguments, "f%" PRIu64 " said that already; it has one more source", added.number);
	if (added.superseded)
		note(arguments, "f%" PRIu64 " does not hold any more", added.superseded);
	if (arguments->why)
		print_why(&judgement);
	return EXIT_DONE;
}

static int search(const struct arguments *arguments, bobbin_memory *memory)
{
	struct bobbin_facts_options options = BOBBIN_FACTS_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_facts *facts;
	char *query = join_words(arguments, 1);

	options.limit = arguments->limit;
	options.past = arguments->past;
	int code = bobbin_memory_search(memory, query, query ? strlen(query) : 0, &options, &facts, &error);
	free(query);
	if (code < 0)
		return error.code == BOBBIN_EINVAL ? fail_usage("%s", error.message) : fail(&error);
	if (print_facts(arguments, facts))
		return EXIT_DONE;
	note(arguments, "nothing is known about that");
	return EXIT_NO;
}

static int list(const struct arguments *arguments, bobbin_memory *memory)
{
	struct bobbin_facts_options options = BOBBIN_FACTS_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_facts *facts;

	options.limit = arguments->limit;
	options.past = arguments->past;
	options.candidates = arguments->candidates;
	if (bobbin_memory_list(memory, &options, &facts, &error) < 0)
		return fail(&error);
	if (!print_facts(arguments, facts))
		note(arguments, "no facts yet");
	return EXIT_DONE;
}

static int correct(const struct arguments *arguments, bobbin_memory *memory)
{
	struct bobbin_error error;
	uint64_t number = 0;
	int code = read_number(arguments->words[1], &number);

	if (code)
		return code;
	char *text = join_words(arguments, 2);
	code = bobbin_memory_correct(memory, number, text, text ? strlen(text) : 0, &error);
	free(text);
	if (code == BOBBIN_EINVAL)
		return fail_usage("%s", error.message);
	if (code < 0)
		return fail(&error) && error.code == BOBBIN_ENOTFOUND ? EXIT_NO : error.code == BOBBIN_EEXIST ? EXIT_CONFLICT : EXIT_FAILED;
	if (arguments->json)
		printf("{\"id\":\"f%" PRIu64 "\",\"corrected\":true}\n", number);
	note(arguments, "f%" PRIu64 " is corrected; what it said before does not come back", number);
	return EXIT_DONE;
}

static int keep(const struct arguments *arguments, bobbin_memory *memory)
{
	struct bobbin_fact_added added;
	struct bobbin_error error;
	uint64_t number = 0;
	int code = arguments->word_count == 2 ? read_number(arguments->words[1], &number)
					      : fail_usage("keep takes one fact: f12");

	if (code)
		return code;
	if (bobbin_memory_keep(memory, number, &added, &error) < 0)
		return fail(&error) && error.code == BOBBIN_ENOTFOUND ? EXIT_NO : EXIT_FAILED;
	if (arguments->json)
		print_added_json(&added, NULL);
	note(arguments, added.merged ? "f%" PRIu64 " is kept already" : "f%" PRIu64 " is kept", number);
	if (added.superseded)
		note(arguments, "f%" PRIu64 " does not hold any more", added.superseded);
	return EXIT_DONE;
}

static int forget(const struct arguments *arguments, bobbin_memory *memory)
{
	struct bobbin_error error;
	uint64_t number = 0;
	int code = arguments->word_count == 2 ? read_number(arguments->words[1], &number)
					      : fail_usage("forget takes one fact: f12");

	if (code)
		return code;
	code = bobbin_memory_forget(memory, number, &error);
	if (code < 0)
		return fail(&error);
	if (arguments->json)
		printf("{\"id\":\"f%" PRIu64 "\",\"forgotten\":%s}\n", number, code ? "true" : "false");
	note(arguments, code ? "f%" PRIu64 " is forgotten" : "there is no f%" PRIu64 " of this owner", number);
	return code ? EXIT_DONE : EXIT_NO;
}

static int learn(const struct arguments *arguments, bobbin_store *store)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_learned learned;
	struct bobbin_error error;
	bobbin_session *session;
	int code = 0;

	options.must_exist = 1;
	if (arguments->word_count != 2)
		return fail_usage("learn takes one session");
	if (bobbin_session_open(store, arguments->words[1], &options, &session, &error) < 0)
		return fail(&error);
	if (strcmp(bobbin_session_info(session)->owner, owner_name(arguments)) != 0)
		code = fail_usage("session %s is not %s's", arguments->words[1], visible(owner_name(arguments)));
	else if (bobbin_session_learn(session, &learned, &error) < 0)
		code = fail(&error);
	else if (arguments->json)
		printf("{\"messages\":%" PRIu64 ",\"kept\":%" PRIu64 ",\"candidates\":%" PRIu64 ",\"merged\":%" PRIu64
		       ",\"forgotten\":%" PRIu64 "}\n",
			learned.messages, learned.kept, learned.candidates, learned.merged, learned.forgotten);
	else
		printf("%s of yours read: %s kept, %s, %" PRIu64 " known, %" PRIu64 " forgotten before\n",
			counted(learned.messages, "message"), number_text(learned.kept),
			counted(learned.candidates, "candidate"), learned.merged, learned.forgotten);
	bobbin_session_close(session);
	return code;
}

static int run(const struct arguments *arguments, bobbin_store *store,
	int (*verb)(const struct arguments *, bobbin_memory *))
{
	struct bobbin_error error;
	bobbin_memory *memory;

	if (bobbin_memory_open(store, owner_name(arguments), &memory, &error) < 0)
		return error.code == BOBBIN_EINVAL ? fail_usage("%s", error.message) : fail(&error);
	int code = verb(arguments, memory);
	bobbin_memory_close(memory);
	return code;
}

int command_memory(const struct arguments *arguments)
{
	static const struct {
		const char *name;
		int words; /* at least, with its name */
		int (*run)(const struct arguments *, bobbin_memory *);
	} VERBS[] = {{"add", 2, add}, {"search", 2, search}, {"list", 1, list}, {"correct", 3, correct},
		{"keep", 2, keep}, {"forget", 2, forget}, {"learn", 2, NULL}};
	const char *verb = arguments->word_count ? arguments->words[0] : "list";
	bobbin_store *store;

	for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++) {
		if (strcmp(verb, VERBS[i].name) != 0)
			continue;
		if (arguments->word_count < VERBS[i].words && arguments->word_count)
			return fail_usage("memory %s needs more: bobbin help memory", verb);
		int code = open_store(arguments, i == 0, &store);
		if (code)
			return code;
		code = VERBS[i].run ? run(arguments, store, VERBS[i].run) : learn(arguments, store);
		bobbin_store_close(store);
		return code;
	}
	return fail_usage("memory has add, search, list, correct, keep, forget and learn, no %s", verb);
}
