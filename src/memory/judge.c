/* SPDX-License-Identifier: MIT */
/* The three questions, answered by cue phrases. Invariants: judge.h. */
#include "memory/judge.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "memory/dates.h"
#include "memory/phrases.h"
#include "memory/terms.h"

#define FOR_NOW_DAYS 30 /* "for the time being", when nobody says how long */
#define SAYS_MUCH 0.6f	/* the weight of a term that something can be found by */
#define OBJECT_TERMS 3	/* of what is liked */

struct reading {
	struct slice text;
	const char *folded;
	int64_t said_ns;
	const struct phrase *cue; /* what says that it is about the person, NULL: none */
	size_t start, end;	  /* of the cue, in `folded` */
	struct arena *arena;
};

static bool ends_with(struct slice text, const char *ending)
{
	size_t len = strlen(ending);

	return text.len >= len && memcmp(text.data + text.len - len, ending, len) == 0;
}

static bool is_question(struct slice text)
{
	static const char *const ENDINGS[] = {"?", "？", "吗", "呢", "ですか", "ますか", "ですか。", "ますか。", "吗。", NULL};

	for (const char *const *ending = ENDINGS; *ending; ending++)
		if (ends_with(text, *ending))
			return true;
	return false;
}

/* A request begins with what is to be done; in scripts without spaces it may also end with it. */
static bool is_task(const char *folded)
{
	size_t start, end;
	const char *please = strncmp(folded, " please ", 8) == 0 ? folded + 7 : strncmp(folded, " bitte ", 7) == 0 ? folded + 6 : folded;

	for (const struct phrase *phrase = phrases; phrase->text; phrase++)
		if (phrase->kind == PHRASE_TASK && phrase_find(phrase, please, &start, &end) &&
			(start <= 1 || phrase->text[0] != ' '))
			return true;
	return false;
}

static const struct phrase *find_cue(struct reading *reading)
{
	static const enum phrase_kind KINDS[] = {PHRASE_STATES, PHRASE_STATES_OF, PHRASE_LASTS, PHRASE_SELF};

	for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
		const struct phrase *phrase = phrase_of(KINDS[i], reading->folded);
		if (phrase && phrase_find(phrase, reading->folded, &reading->start, &reading->end))
			return reading->cue = phrase;
	}
	return NULL;
}

/* "I'm in Berlin", not "I'm in trouble". */
static bool is_in_a_place(struct reading *reading)
{
	static const char *const BEGINNINGS[] = {"I'm in ", "I\xE2\x80\x99m in ", "I am in ", NULL};
	static const struct phrase PLACE = {"", PHRASE_STATES, "home"};

	for (const char *const *beginning = BEGINNINGS; *beginning; beginning++) {
		size_t len = strlen(*beginning);
		if (!slice_starts_with(reading->text, *beginning) || reading->text.len <= len ||
			reading->text.data[len] < 'A' || reading->text.data[len] > 'Z')
			continue;
		reading->cue = &PLACE;
		reading->start = 0;
		reading->end = (size_t)(strstr(reading->folded, " in ") - reading->folded) + 4;
		return true;
	}
	return false;
}

static void ask_needed(struct reading *reading, struct judgement *judgement)
{
	bool points = phrase_of(PHRASE_POINTS, reading->folded) != NULL;
	enum phrase_kind kind;

	judgement->needed = ANSWER_NO;
	if (is_question(reading->text)) {
		judgement->needed_why = "a question states nothing";
		return;
	}
	if (is_task(reading->folded)) {
		judgement->needed_why = "it is about the work at hand";
		return;
	}
	if (!is_in_a_place(reading) && !find_cue(reading)) {
		judgement->needed_why = "it says nothing about the person";
		return;
	}
	kind = reading->cue->kind;
	if (points && kind != PHRASE_STATES && kind != PHRASE_STATES_OF) {
		judgement->needed_why = "it points at something that only this conversation shows";
		return;
	}
	judgement->needed = kind == PHRASE_SELF ? ANSWER_PERHAPS : ANSWER_YES;
	judgement->needed_why = kind == PHRASE_SELF ? "it is about the person, but may matter only now: it must recur"
						    : "it says something lasting about the person";
}

/* ---- Does it expire? */

static int64_t end_of_month(struct day day)
{
	struct day next = {day.month == 12 ? day.year + 1 : day.year, day.month == 12 ? 1 : day.month + 1, 1};

	return day_start(next);
}

/* "until Friday": 1 to 7 days on; 0: none is named. */
static int days_to_weekday(const char *folded, int today)
{
	static const char *const NAMES[] = {" until monday  bis montag ", " until tuesday  bis dienstag ",
		" until wednesday  bis mittwoch ", " until thursday  bis donnerstag ", " until friday  bis freitag ",
		" until saturday  bis samstag ", " until sunday  bis sonntag "};

	for (int day = 0; day < 7; day++) {
		char english[32];
		size_t len = (size_t)(strstr(NAMES[day], "  ") - NAMES[day]) + 1;
		memcpy(english, NAMES[day], len);
		english[len] = 0;
		if (strstr(folded, english) || strstr(folded, NAMES[day] + len))
			return (day - today + 6) % 7 + 1;
	}
	return 0;
}

static int64_t end_of_date(const char *folded, struct day today)
{
	const char *until = strstr(folded, " until ") ? strstr(folded, " until ") : strstr(folded, " bis ");
	struct day day;

	if (!until || dates_find(until, &day, 1) != 1)
		return 0;
	if (!day.year)
		day.year = today.year + (day.month < today.month);
	if (!day.month)
		return day_start((struct day){day.year + 1, 1, 1});
	return day.day ? day_start(day) + NS_PER_DAY : end_of_month(day);
}

static int64_t end_of(const char *folded, int64_t said_ns)
{
	struct day today = day_of(said_ns);
	int64_t midnight = day_start(today) + NS_PER_DAY;
	int weekday = weekday_of(today), days = days_to_weekday(folded, weekday);
	int64_t named = end_of_date(folded, today);

	if (named)
		return named;
	if (days)
		return midnight + days * NS_PER_DAY;
	if (phrase_of(PHRASE_TODAY, folded))
		return midnight;
	if (phrase_of(PHRASE_TOMORROW, folded))
		return midnight + NS_PER_DAY;
	if (phrase_of(PHRASE_WEEK, folded))
		return midnight + (6 - weekday) * NS_PER_DAY;
	if (phrase_of(PHRASE_NEXT_WEEK, folded))
		return midnight + (13 - weekday) * NS_PER_DAY;
	if (phrase_of(PHRASE_MONTH, folded))
		return end_of_month(today);
	if (phrase_of(PHRASE_YEAR, folded))
		return day_start((struct day){today.year + 1, 1, 1});
	return phrase_of(PHRASE_FOR_NOW, folded) ? midnight + FOR_NOW_DAYS * NS_PER_DAY : 0;
}

static void ask_expires(const struct reading *reading, struct judgement *judgement)
{
	bool lasts = strstr(reading->folded, " from now on ") || strstr(reading->folded, " ab heute ");

	judgement->expires_ns = lasts ? 0 : end_of(reading->folded, reading->said_ns);
	judgement->expires = judgement->expires_ns ? ANSWER_YES : ANSWER_NO;
	judgement->expires_why = judgement->expires_ns ? "it names its end, or says that it is for a while"
						       : "it names no end";
}

/* ---- Can retrieval bring it back? */

/* What it says beside the cue. */
static int read_rest(const struct reading *reading, struct terms *ret_terms)
{
	struct buffer rest;
	size_t len = strlen(reading->folded);
	bool all = !reading->cue;

	buffer_init(&rest, len + 4);
	buffer_add(&rest, reading->folded, all ? len : reading->start);
	buffer_add_char(&rest, ' ');
	/* What stands in the gap of a cue is what is said: "ich bin nach" Hamburg "gezogen". */
	const char *gap = all ? NULL : strchr(reading->cue->text, '*');
	if (gap) {
		size_t from = reading->start + (size_t)(gap - reading->cue->text);
		size_t to = reading->end - strlen(gap + 1);
		if (from < to)
			buffer_add(&rest, reading->folded + from, to - from);
		buffer_add_char(&rest, ' ');
	}
	if (!all)
		buffer_add(&rest, reading->folded + reading->end, len - reading->end);
	int code = buffer_error(&rest) ? BOBBIN_ENOMEM
				       : terms_read(buffer_slice(&rest), TERMS_QUERY, reading->arena, ret_terms);
	buffer_release(&rest);
	return code;
}

static void ask_retrievable(const struct terms *terms, struct judgement *judgement)
{
	bool found = false;

	for (size_t i = 0; i < terms->count; i++)
		found |= terms->items[i].weight >= SAYS_MUCH;
	judgement->retrievable = found ? ANSWER_YES : ANSWER_NO;
	judgement->retrievable_why = found ? "it has words of its own to be found by"
					   : "without the conversation nobody knows what it speaks of";
}

/* ---- Together */

/* Of what is liked there is one relation for each thing: "taste coffee". What does not fit is left out. */
static int name_relation(const struct reading *reading, const struct terms *terms, struct judgement *judgement)
{
	struct buffer relation;

	if (!reading->cue || (reading->cue->kind != PHRASE_STATES && reading->cue->kind != PHRASE_STATES_OF))
		return 0;
	buffer_init(&relation, FACT_NAME_BYTES);
	buffer_add_text(&relation, reading->cue->relation);
	for (size_t i = 0; reading->cue->kind == PHRASE_STATES_OF && i < terms->count && i < OBJECT_TERMS; i++) {
		buffer_add_char(&relation, ' ');
		buffer_add_slice(&relation, terms->items[i].text);
	}
	size_t len = utf8_truncate(relation.data, relation.len, FACT_NAME_BYTES);
	if (len)
		memcpy(judgement->relation, relation.data, len);
	judgement->relation[len] = 0;
	int code = buffer_error(&relation) == BOBBIN_ENOMEM ? BOBBIN_ENOMEM : 0;
	buffer_release(&relation);
	return code;
}

static void decide(struct judgement *judgement, int64_t said_ns)
{
	bool soon = judgement->expires_ns && judgement->expires_ns - said_ns <= 2 * NS_PER_DAY;

	judgement->verdict = VERDICT_SESSION;
	if (judgement->needed == ANSWER_NO || judgement->retrievable == ANSWER_NO)
		return;
	if (judgement->needed == ANSWER_PERHAPS && soon) {
		judgement->expires_why = "it is over before another session could need it";
		return;
	}
	judgement->verdict = judgement->needed == ANSWER_YES ? VERDICT_KEEP : VERDICT_CANDIDATE;
}

int judge(struct slice text, int64_t said_ns, struct judgement *ret_judgement, struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct buffer folded;
	struct judgement judgement = {0};
	struct reading reading = {.text = text, .said_ns = said_ns, .arena = &arena};
	struct terms terms;
	int code;

	buffer_init(&folded, text.len * 8 + 64);
	terms_fold(text, &folded);
	code = buffer_error(&folded);
	if (!code) {
		reading.folded = folded.data;
		ask_needed(&reading, &judgement);
		ask_expires(&reading, &judgement);
		code = read_rest(&reading, &terms);
	}
	if (!code)
		code = name_relation(&reading, &terms, &judgement);
	if (!code) {
		ask_retrievable(&terms, &judgement);
		decide(&judgement, said_ns);
		*ret_judgement = judgement;
	}
	buffer_release(&folded);
	arena_release(&arena);
	return code ? error_set(error, BOBBIN_ENOMEM, "judging a statement: out of memory") : 0;
}
