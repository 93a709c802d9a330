/* SPDX-License-Identifier: MIT */
/*
 * What a sentence decides: an option dropped, rejected with its reason, or chosen.
 *
 *	We dropped plan B because they drifted apart.     rejected "plan B", reason "they drifted apart"
 *	Let's go with PostgreSQL.                         chosen, the whole clause
 *
 * Invariants: (1) a decision about something unmeant (a question, a condition, somebody else's word) is none;
 * (2) text and reason are stretches of the sentence as it was written.
 */
#include "compact/rules_sentence.h"

#define OPTION_BYTES 160 /* a longer one is a story, and is told as the whole sentence */

/* Words [from, end of the clause]: up to a reason, a break, or another option. */
static unsigned option_end(const struct statement *statement, unsigned from)
{
	unsigned to = from;

	while (to + 1u < statement->count && !statement->words[to + 1].broken) {
		bool cut = false;

		for (unsigned i = 0; i < statement->cue_count && !cut; i++)
			cut = statement->cues[i].first == to + 1u &&
			      statement->cues[i].kinds &
				      (KIND(CUE_REASON) | KIND(CUE_OVER) | KIND(CUE_FAILED) | KIND(CUE_NOW) |
					      KIND(CUE_RULE));
		if (cut)
			break;
		to++;
	}
	return to;
}

struct slice rules_tail(const struct statement *statement, unsigned from)
{
	struct slice text;

	if (from >= statement->count)
		return (struct slice){statement->text.data, 0};
	text.data = statement->text.data + statement->words[from].start;
	text.len = (size_t)(statement->text.data + statement->text.len - text.data);
	while (text.len && memchr(".!;, ", text.data[text.len - 1], 5))
		text.len--;
	return text;
}

/* Why, in the sentence's words: what follows "because", or a verdict after the option. */
static struct slice reason_after(const struct statement *statement, unsigned at)
{
	const struct cue *reason = statement_cue(statement, KIND(CUE_REASON), at);

	if (reason) {
		bool whole = reason->last > reason->first && statement->language == LANGUAGE_EN &&
			     reason->kinds == KIND(CUE_REASON) &&
			     slice_starts_with(statement_span(statement, reason->first, reason->first), "as");
		return rules_tail(statement, whole ? reason->first + 1u : reason->last + 1u);
	}
	if (!(reason = statement_cue(statement, KIND(CUE_VERDICT), at)))
		return (struct slice){statement->text.data, 0};
	/* the whole clause, if the verdict has one of its own: "the fee is too high" */
	for (unsigned from = reason->first; from >= at && from; from--)
		if (statement->words[from].broken)
			return rules_tail(statement, from);
	return rules_tail(statement, reason->first);
}

static bool names_option(const struct statement *statement, unsigned from, unsigned to)
{
	for (unsigned w = from; w <= to && w < statement->count; w++)
		if (!word_is(statement, w, WORD_STOP) && !word_is(statement, w, WORD_PRONOUN))
			return true;
	return false;
}

static void add_rejected(struct rules *rules, struct slice option, struct slice reason, struct slice key)
{
	struct compact_item item = rules_item(rules, ITEM_DECISION, STATE_REJECTED, option);

	item.reason = reason;
	item.key = key;
	rules_add(rules, item, DERIVE_NONE);
	if (rules->by != BY_USER || !key.len)
		return;
	item = rules_item(rules, ITEM_SIGNAL, STATE_REJECTED, option);
	item.target = ITEM_DECISION;
	item.by = BY_NOBODY; /* met or not, the decision itself stands above */
	item.reason = reason;
	item.key = key;
	rules_add(rules, item, DERIVE_NONE);
}

/* The option after a cue ("we dropped …") with its reason; the whole sentence if no option is named. */
static unsigned reject_after(struct rules *rules, const struct cue *cue)
{
	const struct statement *statement = rules->statement;
	unsigned from = cue->last + 1u, to;
	struct slice option, key, reason;

	if (rules->by == BY_ASSISTANT && from < statement->count) {
		add_rejected(rules, statement->text, (struct slice){NULL, 0},
			rules_key(rules, from, option_end(statement, from), NULL));
		return FOUND_DECISION;
	}

	if (from >= statement->count)
		return 0;
	to = option_end(statement, from);
	while (from < to && word_is(statement, from, WORD_STOP) && !statement->words[from].capital)
		from++;
	option = statement_span(statement, from, to);
	reason = reason_after(statement, to + 1u);
	bool untold = !reason.len && to + 1u < statement->count; /* maybe why, without a sign of it */

	if (untold || option.len > OPTION_BYTES || !names_option(statement, from, to)) {
		option = statement->text;
		reason.len = 0;
		from = 0;
		to = statement->count - 1u;
	}
	key = rules_key(rules, from, to, NULL);
	add_rejected(rules, option, reason, key);
	return FOUND_DECISION;
}

/* "Plan B is out": the option stands before the cue. */
static unsigned reject_before(struct rules *rules, const struct cue *cue)
{
	const struct statement *statement = rules->statement;
	unsigned from = cue->first;
	struct slice reason = reason_after(statement, cue->last + 1u);

	while (from > 0 && !statement->words[from].broken && !word_is(statement, from - 1u, WORD_JOIN))
		from--;
	while (from + 1u < cue->first && word_is(statement, from, WORD_STOP) &&
		!statement->words[from].capital)
		from++;
	if (from >= cue->first || !names_option(statement, from, cue->first - 1u))
		return 0;
	bool untold = !reason.len && cue->last + 1u < statement->count;

	add_rejected(rules, untold ? statement->text : statement_span(statement, from, cue->first - 1u),
		reason, rules_key(rules, from, cue->first - 1u, NULL));
	return FOUND_DECISION;
}

/* "Drop plan A." An option is rejected; a rule, or what may be one, is lifted. */
static unsigned add_drop(struct rules *rules, const struct cue *cue)
{
	const struct statement *statement = rules->statement;
	const struct cue *plan = statement_cue(statement, KIND(CUE_PLAN), cue->first);
	bool reasoned =
		statement_cue(statement, KIND(CUE_REASON) | KIND(CUE_VERDICT), cue->last + 1u) != NULL;
	unsigned from = cue->last + 1u, found = FOUND_LIFT;
	struct slice key;

	if (plan || reasoned) {
		if (rules->harvest)
			return 0;
		if ((found = reject_after(rules, cue)) == 0)
			return 0;
		key = rules_key(rules, from, option_end(statement, from), NULL);
	} else {
		key = rules_key(rules, cue->first, statement->count - 1u,
			from < statement->count && names_option(statement, from, statement->count - 1u)
				? cue
				: NULL);
		rules_add_signal(rules, ITEM_CONSTRAINT, STATE_LIFTED, BY_USER, statement->text, key);
	}
	if (!rules->harvest && from < statement->count &&
		statement_content_count(statement, from, option_end(statement, from), plan) >= 2)
		rules_add_signal(rules, ITEM_TASK, STATE_DROPPED, BY_NOBODY, statement->text, key);
	return found;
}

static unsigned add_choice(struct rules *rules, const struct cue *cue)
{
	const struct statement *statement = rules->statement;
	const struct cue *over = statement_cue(statement, KIND(CUE_OVER), 0);
	const struct cue *why = statement_cue(statement, KIND(CUE_REASON), cue ? cue->last : 0);
	unsigned to = statement->count - 1u;
	struct compact_item item;

	if (cue) {
		if (why && why->first > cue->last + 1u)
			to = why->first - 1u;
		if (!names_option(statement, cue->last + 1u, to))
			return 0;
		struct clause clause = {0, to, cue, false};

		item = rules_item(
			rules, ITEM_DECISION, STATE_CHOSEN, rules_clause_text(statement, &clause, false));
		if (why && why->first > cue->last + 1u)
			item.reason = reason_after(statement, why->first);
		item.key = rules_key(rules, cue->last + 1u,
			option_end(statement, cue->last + 1u < statement->count ? cue->last + 1u : cue->last),
			NULL);
		rules_add(rules, item, DERIVE_NONE);
	}
	if (over && over->last + 1u < statement->count)
		reject_after(rules, over);
	return FOUND_DECISION;
}

/* "Not Redis, it is too slow": a few words, and why. In Spanish every verb may follow "no". */
static bool is_reasoned(const struct statement *statement, const struct cue *cue)
{
	unsigned from = cue->last + 1u, to;

	if (from >= statement->count || statement->language == LANGUAGE_ES)
		return false;
	to = option_end(statement, from);
	return to < from + 4u && statement_cue(statement, KIND(CUE_REASON) | KIND(CUE_VERDICT), to + 1u);
}

unsigned rules_add_decisions(struct rules *rules)
{
	const struct statement *statement = rules->statement;

	for (unsigned i = 0; i < statement->cue_count; i++) {
		const struct cue *cue = &statement->cues[i];

		if (rules_is_unmeant(statement, cue->first))
			continue;
		if (cue->kinds & KIND(CUE_DROP) && rules->by == BY_USER)
			return add_drop(rules, cue);
		if (rules->harvest)
			continue;
		if (cue->kinds & KIND(CUE_REJECT) &&
			(rules->by == BY_USER || statement_cue(statement, KIND(CUE_REASON), cue->last)))
			return reject_after(rules, cue);
		if (cue->kinds & KIND(CUE_REJECT_AFTER_NO) && rules->by == BY_USER &&
			(cue->first ? rules_follows_reply(statement) : is_reasoned(statement, cue)))
			return reject_after(rules, cue);
		if (cue->kinds & KIND(CUE_REJECTED) &&
			(rules->by == BY_USER || statement_cue(statement, KIND(CUE_REASON), cue->last)))
			return reject_before(rules, cue);
		if (cue->kinds & KIND(CUE_CHOOSE) &&
			(rules->by == BY_USER || statement_cue(statement, KIND(CUE_REASON), cue->last)))
			return add_choice(rules, cue);
		if (cue->kinds & KIND(CUE_OVER) && rules->by == BY_USER)
			return add_choice(rules, NULL);
	}
	return 0;
}
