/* SPDX-License-Identifier: MIT */
/*
 * What one sentence of a person's says: a rule, a permission, a decision, an attempt, something about
 * himself.
 *
 *	Do NOT push to main. Use at most 3 retries.       two constraints
 *	You may push to main now.                         signal: constraint "push main" lifted
 *	We dropped plan B because they drifted apart.     decision: rejected "plan B", reason "they drifted
 * apart" Make it 3,000 instead.                            signal: the latest rule with a number overruled; a
 * constraint
 *
 * Invariants:
 * (1) A question, an assumption, a condition's own clause, a quotation and somebody else's word state no
 * rule. (2) Text is the sentence, or a clause of it, as it was written.
 */
#include "compact/rules_sentence.h"

#define BROAD_KINDS                                                                                          \
	(KIND(CUE_RULE_BROAD) | KIND(CUE_RULE_BARE) | KIND(CUE_RULE_HABIT) | KIND(CUE_RULE_WHENEVER))
#define RULE_KINDS (KIND(CUE_RULE) | KIND(CUE_RULE_NUMBER) | KIND(CUE_RULE_BOUND) | BROAD_KINDS)
#define BOUND_KINDS (KIND(CUE_REQUEST) | KIND(CUE_SELF))
#define LIFT_KINDS (KIND(CUE_LIFT) | KIND(CUE_LIFT_NOW))
/* Kinds of a sentence, not of names or results, that a mere name for things does not have. */
#define SAID_KINDS ((KIND(CUE_FAILURE) - 1u) & ~(BROAD_KINDS | KIND(CUE_PLAN) | KIND(CUE_NOTHING)))
#define NUMBER_NEAR 6 /* words between "at most" and its number */
#define NUMBER_BEFORE 3
#define BROAD_WORDS 5 /* of what "need a" is about: "new pull requests" */
#define JOIN_NEAR 3   /* words between "and" and the cue of a clause of its own */

/* ---- What a cue is worth where it stands */

/* Whether word `at` stands in a clause that begins with "if", or behind an assumption or somebody's "said".
 */
bool rules_is_unmeant(const struct statement *statement, unsigned at)
{
	for (unsigned i = 0; i < statement->cue_count && statement->cues[i].first < at; i++) {
		const struct cue *cue = &statement->cues[i];

		if (cue->kinds & (KIND(CUE_HYPOTHESIS) | KIND(CUE_REPORTED)))
			return true;
		if (!(cue->kinds & KIND(CUE_CONDITION)))
			continue;
		bool same = true;

		for (unsigned w = cue->last + 1u; w <= at && same; w++)
			same = !statement->words[w].broken &&
			       !(word_is(statement, w, WORD_JOIN) && word_is(statement, w, WORD_FILLER) &&
				       w > cue->last + 2u && statement->language != LANGUAGE_ZH &&
				       w == at - 1u);
		if (same)
			return true;
	}
	return false;
}

static bool number_near(const struct statement *statement, const struct cue *cue)
{
	unsigned from = cue->first > NUMBER_BEFORE ? cue->first - NUMBER_BEFORE
						   : 0; /* "500 dollars at most", 三天以内 */

	for (unsigned w = from; w < statement->count && w <= cue->last + NUMBER_NEAR + 0u; w++)
		if (word_is_number(statement, w) &&
			(w < cue->first || w > cue->last || statement->words[w].number))
			return true;
	return false;
}

/* "No, not Redis." */
bool rules_follows_reply(const struct statement *statement)
{
	return statement->cues[0].first == 0 && statement->cues[0].kinds & KIND(CUE_REPLY);
}

static unsigned clause_start(const struct statement *statement, unsigned at)
{
	while (at > 0 && !statement->words[at].broken)
		at--;
	return at;
}

/* Whether the clause begins with a few words that name a kind of things, and then comes `cue`: "Pull requests
 * need a …", but neither "The build needs a …" nor "Write a test that needs a …". */
static bool is_broad(const struct statement *statement, const struct cue *cue)
{
	unsigned from = clause_start(statement, cue->first);

	if (from == cue->first && from && clause_start(statement, from - 1u) == 0)
		from = 0; /* "Dates, in ISO format" */
	while (from < cue->first && word_is(statement, from, WORD_FILLER))
		from++;
	if (from == cue->first || cue->first - from > BROAD_WORDS)
		return false;
	for (unsigned w = from; w < cue->first; w++)
		if (word_is(statement, w, WORD_DEFINITE) || word_is_number(statement, w))
			return false;
	for (unsigned i = 0; i < statement->cue_count && statement->cues[i].first < cue->first; i++)
		if (statement->cues[i].first >= from && statement->cues[i].kinds & SAID_KINDS &&
			!(word_is(statement, statement->cues[i].first, WORD_FILLER) ||
				statement->words[statement->cues[i].first].wide))
			return false;
	return true;
}

/* "No long paragraphs": a few words, the first of which says something. What hyphens join is one: "no one-letter names". */
static bool is_bare(const struct statement *statement, const struct cue *cue)
{
	unsigned to = cue->last + 1u;

	if (to >= statement->count || statement->words[to].broken ||
		(word_is(statement, to, WORD_STOP) && !statement->words[to].glued_after))
		return false;
	if (to + 1u < statement->count && !statement->words[to + 1u].broken &&
		word_is(statement, to + 1u, WORD_DEFINITE))
		return false; /* "No remove this" */
	unsigned joined = 0;
	while (to + 1u < statement->count && !statement->words[to + 1u].broken)
		joined += statement->words[++to].glued;
	return to - cue->last - joined <= BROAD_WORDS;
}

/* "Run the linter after each …", "Whenever …, ask me." */
static bool is_asked_whenever(const struct statement *statement)
{
	const struct cue *request = statement_cue(statement, KIND(CUE_REQUEST) | KIND(CUE_MANNER), 0);

	return request && !rules_is_unmeant(statement, request->first);
}

/* "Use tabs … everywhere" */
static bool is_habit(const struct statement *statement, const struct cue *cue)
{
	const struct cue *manner = statement_cue(statement, KIND(CUE_MANNER), 0);

	return manner && manner->first < cue->first && !rules_is_unmeant(statement, manner->first);
}

static bool states_rule(const struct statement *statement, const struct cue *cue)
{
	if (!(cue->kinds & RULE_KINDS) || rules_is_unmeant(statement, cue->first))
		return false;
	if (cue->kinds & KIND(CUE_REJECT_AFTER_NO) && cue->first && rules_follows_reply(statement))
		return false; /* 不，不要用 Redis */
	if (cue->kinds & KIND(CUE_RULE))
		return true;
	if ((cue->kinds & KIND(CUE_RULE_BROAD) && is_broad(statement, cue) && !statement_cue(statement, KIND(CUE_HEDGE), 0)) ||
		(cue->kinds & KIND(CUE_RULE_BARE) && is_bare(statement, cue)) ||
		(cue->kinds & KIND(CUE_RULE_HABIT) && is_habit(statement, cue)) ||
		(cue->kinds & KIND(CUE_RULE_WHENEVER) && is_asked_whenever(statement)))
		return true;
	if (!(cue->kinds & (KIND(CUE_RULE_NUMBER) | KIND(CUE_RULE_BOUND))))
		return false;
	if (!(cue->kinds & KIND(CUE_RULE_NUMBER)) && !statement_cue(statement, BOUND_KINDS, 0))
		return false;
	return number_near(statement, cue);
}

static bool states_lift(const struct statement *statement, const struct cue *cue)
{
	if (!(cue->kinds & LIFT_KINDS) || rules_is_unmeant(statement, cue->first))
		return false;
	return (cue->kinds & KIND(CUE_LIFT)) || statement_cue(statement, KIND(CUE_NOW), 0) ||
	       (cue->kinds & KIND(CUE_NOW));
}

/* ---- Clauses */

/* Whether no parenthesis is open where word `to` begins. */
static bool is_balanced(const struct statement *statement, unsigned to)
{
	int depth = 0;

	for (unsigned i = 0; i < statement->words[to].start; i++)
		depth += (statement->text.data[i] == '(') - (statement->text.data[i] == ')');
	return depth <= 0;
}

/* The first word of the clause that `cue` stands in, if it begins one of its own after word `after`; else 0.
 */
static unsigned own_clause(const struct statement *statement, const struct cue *cue, unsigned after)
{
	unsigned lowest = cue->first > JOIN_NEAR ? cue->first - JOIN_NEAR : 0;

	for (unsigned w = cue->first; w > after && w >= lowest && w > 0; w--)
		if (statement->words[w].broken || word_is(statement, w - 1, WORD_JOIN))
			return is_balanced(statement, w) ? w : 0;
	return 0;
}

/* The clauses that state rules or lift them, at most `max`. */
static unsigned find_clauses(const struct statement *statement, struct clause *clauses, unsigned max)
{
	unsigned count = 0;

	for (unsigned i = 0; i < statement->cue_count && count < max; i++) {
		const struct cue *cue = &statement->cues[i];
		bool lifts = states_lift(statement, cue), rules = states_rule(statement, cue);

		if (!lifts && !rules)
			continue;
		if (!count) {
			clauses[count++] = (struct clause){0, statement->count - 1u, cue, lifts};
			continue;
		}
		struct clause *before = &clauses[count - 1];
		unsigned from = own_clause(statement, cue, before->cue->last);

		if (!from || from <= before->cue->last + 1u ||
			!statement_content_count(statement, before->cue->last + 1u, from - 1, NULL)) {
			if (lifts && !before->lifts && count == 1 && !from)
				before->lifts = false; /* "must not" before "may": the rule counts */
			continue;
		}
		before->to = from - 1;
		while (before->to > before->from && word_is(statement, before->to, WORD_JOIN))
			before->to--;
		clauses[count++] = (struct clause){from, statement->count - 1u, cue, lifts};
	}
	return count;
}

/* The clause's text; of the last one up to the sentence's end, marks and quotes included. */
struct slice rules_clause_text(const struct statement *statement, const struct clause *clause, bool only)
{
	struct slice text;

	if (only)
		return statement->text;
	text = statement_span(statement, clause->from, clause->to);
	if (clause->from == 0) {
		text.len += (size_t)(text.data - statement->text.data);
		text.data = statement->text.data;
	}
	if (clause->to + 1u == statement->count)
		text.len = (size_t)(statement->text.data + statement->text.len - text.data);
	return slice_trim(text);
}

/* ---- Rules and permissions */

void rules_add_signal(struct rules *rules, enum item_kind target, enum item_state state, enum item_by by,
	struct slice text, struct slice key)
{
	struct compact_item item = rules_item(rules, ITEM_SIGNAL, state, text);

	item.target = target;
	item.by = by;
	item.key = key;
	rules_add(rules, item, DERIVE_NONE);
}

static void add_rule(struct rules *rules, struct slice text, struct slice key)
{
	struct compact_item item = rules_item(rules, ITEM_CONSTRAINT, STATE_BINDING, text);

	item.key = key;
	item.language = slice_of(language_text(rules->statement->language));
	rules_add(rules, item, DERIVE_NONE);
}

static bool has_number(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] >= '0' && text.data[i] <= '9')
			return true;
	return false;
}

/* The latest rule with a number that an earlier message of this input states: what "make it 3,000" is about.
 */
static const struct compact_item *latest_number_rule(const struct rules *rules)
{
	for (size_t i = rules->record->count; i-- > 0;) {
		const struct compact_item *item = &rules->record->items[i];

		if (item->kind == ITEM_CONSTRAINT && item->source_count &&
			item->sources[0].place < rules->at &&
			(has_number(item->text) || item->tag == TAG_NUMBER))
			return item;
	}
	return NULL;
}

/* "Make it 3,000 instead": the old value is overruled, the new one is a rule. */
static unsigned add_change(struct rules *rules)
{
	const struct statement *statement = rules->statement;
	const struct cue *cue = statement_cue(statement, KIND(CUE_CHANGE), 0);
	const struct compact_item *old;
	struct slice key;
	bool number = false;

	if (!cue || rules_is_unmeant(statement, cue->first))
		return 0;
	for (unsigned w = 0; w < statement->count; w++)
		number |= word_is_number(statement, w);
	if (!number)
		return 0;
	key = rules_key(rules, 0, statement->count - 1u, NULL);
	old = latest_number_rule(rules);
	if (!statement_content_count(statement, 0, statement->count - 1u, NULL) && old)
		key = old->key;
	else if (!statement_content_count(statement, 0, statement->count - 1u, NULL))
		return 0; /* nothing says what it is about */
	rules_add_signal(rules, ITEM_CONSTRAINT, STATE_OVERRULED, BY_USER, statement->text, key);
	add_rule(rules, statement->text, key);
	return FOUND_RULE | FOUND_LIFT;
}

/* "Never!", but not "Duze mich!" */
static bool says_nothing(const struct statement *statement, const struct clause *clause)
{
	const struct cue *cue = clause->cue;

	if (cue->last > cue->first && !statement->words[cue->first].wide)
		cue = NULL;
	return !statement_content_count(statement, clause->from, clause->to, cue);
}

static unsigned add_rules(struct rules *rules)
{
	struct clause clauses[8];
	unsigned count = find_clauses(rules->statement, clauses, 8), found = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct clause *clause = &clauses[i];
		struct slice text = rules_clause_text(rules->statement, clause, count == 1);
		struct slice key = rules_key(rules, clause->from, clause->to, clause->cue);

		if (rules->statement->count < 3 && !key.len && says_nothing(rules->statement, clause))
			continue; /* "Never!" says nothing by itself */
		if (clause->lifts)
			rules_add_signal(rules, ITEM_CONSTRAINT, STATE_LIFTED, BY_USER, text, key);
		else
			add_rule(rules, text, key);
		found |= clause->lifts ? FOUND_LIFT : FOUND_RULE;
	}
	return found;
}

/* ---- Attempts, and the user himself */

/* "I tried X but it did not help." */
static unsigned add_attempt(struct rules *rules)
{
	const struct statement *statement = rules->statement;
	const struct cue *tried = statement_cue(statement, KIND(CUE_TRIED), 0);
	const struct cue *failed =
		tried ? statement_cue(statement, KIND(CUE_FAILED), tried->last + 1u) : NULL;
	struct compact_item item;

	if (!tried || !failed || rules_is_unmeant(statement, tried->first))
		return 0;
	item = rules_item(rules, ITEM_TRIED, STATE_FAILED,
		statement_span(statement, 0, failed->first ? failed->first - 1u : 0));
	item.reason = rules_tail(statement, failed->first);
	rules_add(rules, item, DERIVE_NONE);
	return FOUND_TRIED;
}

static unsigned add_self(struct rules *rules)
{
	const struct statement *statement = rules->statement;
	const struct cue *cue =
		statement_cue(statement, KIND(CUE_NAME) | KIND(CUE_PLACE) | KIND(CUE_SELF), 0);
	struct compact_item item;

	if (!cue || rules_is_unmeant(statement, cue->first))
		return 0;
	item = rules_item(rules, ITEM_FACT, STATE_NONE, statement->text);
	if (cue->kinds & KIND(CUE_NAME)) {
		item.tag = TAG_NAME;
		item.key = SLICE_LITERAL("name");
	} else if (cue->kinds & KIND(CUE_PLACE)) {
		item.tag = TAG_PLACE;
		item.key = SLICE_LITERAL("home");
	}
	rules_add(rules, item, DERIVE_NONE);
	return FOUND_FACT;
}

/* ---- Whole sentences */

static unsigned about_flow(const struct statement *statement)
{
	static const struct {
		enum cue_kind kind;
		enum found found;
	} FLOW[] = {{CUE_REQUEST, FOUND_REQUEST}, {CUE_THANKS, FOUND_THANKS},
		{CUE_COMPLAINT, FOUND_COMPLAINT}, {CUE_REPLY, FOUND_REPLY}, {CUE_DONE, FOUND_DONE}};
	unsigned found = 0;

	for (size_t i = 0; i < sizeof FLOW / sizeof *FLOW; i++) {
		const struct cue *cue = statement_cue(statement, KIND(FLOW[i].kind), 0);

		if (cue && (FLOW[i].kind != CUE_REQUEST || !rules_is_unmeant(statement, cue->first)))
			found |= FLOW[i].found;
	}
	return found;
}

static bool is_question(const struct statement *statement, const struct sentence *sentence)
{
	const struct cue *cue = statement_cue(statement, KIND(CUE_QUESTION), 0);

	if (sentence->question)
		return true;
	if (!cue)
		return false;
	return (cue->first <= 2 && statement->words[cue->first].start_of_clause) ||
	       statement->words[cue->first].wide;
}

unsigned rules_person(struct rules *rules, const struct sentence *sentence)
{
	unsigned found = 0;

	if (!rules->statement->count)
		return 0;
	if (is_question(rules->statement, sentence)) {
		found = rules->harvest ? 0
				       : about_flow(rules->statement) &
						 (FOUND_REQUEST | FOUND_COMPLAINT | FOUND_REPLY);
		return found | FOUND_QUESTION;
	}
	if ((found = add_change(rules)) == 0)
		found = add_rules(rules);
	if (!found)
		found = rules_add_decisions(rules);
	if (rules->harvest)
		return found;
	if (!(found & (FOUND_RULE | FOUND_LIFT)))
		found |= add_attempt(rules);
	if (!(found & ~(unsigned)FOUND_RULE))
		found |= add_self(rules);
	return found | about_flow(rules->statement);
}

unsigned rules_assistant(struct rules *rules, const struct sentence *sentence)
{
	unsigned found = 0;

	if (!rules->statement->count)
		return 0;
	if (is_question(rules->statement, sentence))
		return FOUND_QUESTION;
	if (!(found = add_attempt(rules)))
		found = rules_add_decisions(rules);
	const struct cue *report = statement_cue(rules->statement, KIND(CUE_DONE_REPORT), 0);

	if (report && report->first == 0 && !(found & FOUND_TRIED))
		found |= FOUND_DONE;
	return found | (about_flow(rules->statement) & FOUND_DONE);
}
