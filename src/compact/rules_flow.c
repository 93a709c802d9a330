/* SPDX-License-Identifier: MIT */
/*
 * Messages in their order: what was asked for and whether it was done, questions and their answers.
 *
 *	user       Fix the login. Do not touch the API.    task (open) "Fix the login."; a rule
 *	assistant  Fixed.                                  signal: the latest open task is done, unless the
 * user complains user       Thanks! Now write the release notes.    signal: done; task (open)
 *
 * Invariants:
 * (1) A task's text is the user's, in one piece.
 * (2) Only a person's message makes a task; only a person's thanks or an answer nobody contradicts says that
 * it is done.
 */
#include "base/utf8.h"
#include "compact/rules_facts.h"
#include "compact/rules_state.h"

#define TASK_BYTES 480		/* a request with the sentences after it that belong to it */
#define LEAD_BYTES 240		/* of sentences before a request that it may need to be understood */
#define TASKS_MAX 3		/* of one message; more are the steps of one */
#define QUESTION_BYTES 300	/* a longer one is told by its task, or not */
#define ASSISTANT_SENTENCES 400 /* of one message are read for decisions and facts */
#define ASSISTANT_FACTS 12
#define ASSISTANT_DECISIONS 4

/* ---- Looking ahead */

static uint32_t next_person(const struct derive_input *input, uint32_t from)
{
	while (from < input->count && !derive_is_person(&input->messages[from]))
		from++;
	return from;
}

/* The last words of the assistant in [from, to) that are no call: the answer; DERIVE_NONE: there is none. */
static uint32_t answer_in(const struct derive_input *input, uint32_t from, uint32_t to)
{
	while (to-- > from) {
		const struct derive_message *message = &input->messages[to];

		if (message->role == ROLE_ASSISTANT && message->text.len && !message->call_count)
			return to;
	}
	return DERIVE_NONE;
}

/* Whether a person's message begins with a complaint. */
static bool complains(struct rules *rules, uint32_t place)
{
	struct language_votes votes = rules->votes;
	struct sentence_iter iter;
	struct sentence sentence;

	if (place >= rules->input->count)
		return false;
	sentences_init(&iter, rules->input->messages[place].text);
	for (unsigned i = 0; i < 3 && sentences_next(&iter, &sentence); i++) {
		if (!sentence_is_said(&sentence))
			continue;
		statement_read(rules->statement, sentence.text, &votes);
		if (statement_cue(rules->statement, KIND(CUE_COMPLAINT), 0))
			return true;
	}
	return false;
}

/* ---- Signals without words of their own: they are about the latest open item */

static void add_flow_signal(
	struct rules *rules, enum item_kind target, enum item_state state, struct slice text)
{
	struct compact_item item = rules_item(rules, ITEM_SIGNAL, state, text);

	item.target = target;
	rules_add(rules, item, DERIVE_NONE);
}

/* ---- A person's message */

struct person_reader {
	struct slice task;     /* the span so far; len 0: none */
	const char *lead;      /* where what leads up to a request begins; NULL: nothing does */
	struct slice fallback; /* the first sentence, if it may be all there is of a task */
	bool open;	       /* the span may go on */
	bool done;	       /* thanked already */
	unsigned tasks, questions, found;
};

static void end_task(struct rules *rules, struct person_reader *reader)
{
	if (reader->task.len) {
		rules_add(rules, rules_item(rules, ITEM_TASK, STATE_OPEN, reader->task), DERIVE_NONE);
		reader->tasks++;
	}
	reader->task.len = 0;
	reader->open = false;
	reader->lead = NULL;
}

/* Begins a task at this sentence, or at what led up to it. */
static void begin_task(struct person_reader *reader, struct slice sentence)
{
	const char *from =
		reader->lead && sentence.data - reader->lead <= LEAD_BYTES ? reader->lead : sentence.data;

	reader->task = (struct slice){from, (size_t)(sentence.data + sentence.len - from)};
	reader->open = true;
}

/* Makes the task's span reach to the end of this sentence, if it stays short. */
static bool extend_task(struct person_reader *reader, struct slice sentence)
{
	size_t len = (size_t)(sentence.data + sentence.len - reader->task.data);

	if (!reader->open || len > TASK_BYTES)
		return false;
	reader->task.len = len;
	return true;
}

/* Whether a sentence with a rule asks for something else than a way to do things: "Add a page and use tabs
 * everywhere", but not "Please use tabs everywhere". */
static bool asks_besides(const struct statement *statement)
{
	for (unsigned i = 0; i < statement->cue_count; i++) {
		const struct cue *cue = &statement->cues[i];

		if (cue->kinds & (KIND(CUE_RULE_BROAD) | KIND(CUE_RULE_BARE)))
			return false;
		if (cue->kinds & KIND(CUE_REQUEST) && !(cue->kinds & KIND(CUE_MANNER)) &&
			!word_is(statement, cue->first, WORD_FILLER))
			return true;
	}
	return false;
}

static bool asks_for_something(const struct rules *rules, unsigned found)
{
	const struct cue *request = statement_cue(rules->statement, KIND(CUE_REQUEST), 0);

	if (!(found & FOUND_REQUEST) || !request)
		return false;
	if (found & FOUND_DECISION)
		return false;
	if ((found & (FOUND_REPLY | FOUND_THANKS)) &&
		statement_content_count(rules->statement, 0, STATEMENT_WORDS, NULL) < 4)
		return false; /* "Yes, please go ahead." */
	if (!(found & (FOUND_RULE | FOUND_LIFT)))
		return true;
	/* "Please do not …" is a rule, "Write … without …" is both. */
	const struct cue *next =
		statement_cue(rules->statement, KIND(CUE_RULE) | KIND(CUE_RULE_NUMBER) | KIND(CUE_LIFT), 0);

	return next ? next->first > request->last + 2u : asks_besides(rules->statement);
}

static void add_question(struct rules *rules, struct person_reader *reader, struct slice text)
{
	const struct derive_input *input = rules->input;
	uint32_t to = next_person(input, rules->at + 1), answer = answer_in(input, rules->at + 1, to);
	struct compact_item item =
		rules_item(rules, ITEM_OPEN, answer == DERIVE_NONE ? STATE_OPEN : STATE_ANSWERED, text);

	if (text.len > QUESTION_BYTES || reader->questions++ >= 4 || rules->statement->count < 2)
		return;
	if (answer != DERIVE_NONE)
		item.proof.place = answer;
	else if (to < input->count)
		return; /* the user went on without waiting */
	rules_add(rules, item, DERIVE_NONE);
}

static void read_said(struct rules *rules, struct person_reader *reader, const struct sentence *sentence)
{
	unsigned found;

	statement_read(rules->statement, sentence->text, &rules->votes);
	found = rules_person(rules, sentence);
	if (rules->harvest)
		return;
	reader->found |= found;
	if ((found & (FOUND_THANKS | FOUND_DONE)) && !(found & FOUND_COMPLAINT) && !reader->done &&
		!reader->tasks && !reader->task.len && rules->statement->count < 40) {
		add_flow_signal(rules, ITEM_TASK, STATE_DONE, sentence->text);
		reader->done = true;
	}
	if ((found & FOUND_REPLY) && rules->at == 0 && sentence->first && !reader->task.len)
		add_flow_signal(rules, ITEM_OPEN, STATE_ANSWERED, sentence->text);
	bool step = reader->tasks && (sentence->kind != TEXT_PROSE || reader->tasks >= TASKS_MAX);

	if ((!step && sentence->kind != TEXT_HEADING && asks_for_something(rules, found)) ||
		((found & FOUND_COMPLAINT) && !reader->task.len)) {
		if (!extend_task(reader, sentence->text)) {
			end_task(rules, reader);
			begin_task(reader, sentence->text);
		}
	} else if (found & FOUND_QUESTION) {
		if (!extend_task(reader, sentence->text)) {
			end_task(rules, reader);
			add_question(rules, reader, sentence->text);
		}
	} else if (found & (FOUND_RULE | FOUND_LIFT | FOUND_DECISION | FOUND_THANKS | FOUND_TRIED)) {
		reader->open = false;
		reader->lead = NULL;
	} else {
		if (sentence->kind == TEXT_TODO)
			rules_add(
				rules, rules_item(rules, ITEM_OPEN, STATE_OPEN, sentence->text), DERIVE_NONE);
		else if (!extend_task(reader, sentence->text) && !reader->lead)
			reader->lead = sentence->text.data;
		if (!reader->fallback.len && !(found & FOUND_REPLY) && rules->statement->count >= 5)
			reader->fallback = sentence->text;
	}
	if (!(found & (FOUND_RULE | FOUND_LIFT | FOUND_DECISION | FOUND_FACT | FOUND_TRIED)))
		facts_of_sentence(
			rules, sentence->text, rules->statement, reader->task.len > 0 && reader->open);
}

static void read_person(struct rules *rules, const struct derive_message *message)
{
	struct person_reader reader = {0};
	struct sentence_iter iter;
	struct sentence sentence;

	sentences_init(&iter, message->text);
	while (!rules->rc && sentences_next(&iter, &sentence)) {
		if (sentence_is_said(&sentence)) {
			read_said(rules, &reader, &sentence);
		} else if (!rules->harvest) {
			reader.open = false;
			reader.lead = NULL;
			if (sentence.text.len <= SENTENCE_BYTES && sentence.kind != TEXT_PASTED &&
				sentence.kind != TEXT_FINISHED)
				facts_of_sentence(rules, sentence.text, NULL, false);
		}
	}
	if (rules->harvest)
		return;
	end_task(rules, &reader);
	/* The first message of a conversation says what it is about, however it says it. */
	if (rules->input->begins && next_person(rules->input, 0) == rules->at && !reader.tasks &&
		!reader.questions && reader.fallback.len &&
		!(reader.found & (FOUND_THANKS | FOUND_REPLY | FOUND_FACT))) {
		reader.task = reader.fallback;
		end_task(rules, &reader);
	}
}

/* ---- The assistant's message */

struct assistant_reader {
	struct slice question; /* the last one, if nothing but courtesies follow */
	bool done;
	unsigned sentences, decisions;
	size_t facts_from;
};

static void read_assistant_sentence(
	struct rules *rules, struct assistant_reader *reader, const struct sentence *sentence)
{
	unsigned found;

	statement_read(rules->statement, sentence->text, &rules->assistant_votes);
	if (reader->decisions < ASSISTANT_DECISIONS) {
		found = rules_assistant(rules, sentence);
		reader->decisions += (found & (FOUND_DECISION | FOUND_TRIED)) != 0;
	} else {
		found = sentence->question ? FOUND_QUESTION : 0;
	}
	reader->done |= (found & FOUND_DONE) != 0;
	if (found & FOUND_QUESTION) {
		if (sentence->question && sentence->text.len <= QUESTION_BYTES &&
			rules->statement->count > 2 &&
			!statement_cue(rules->statement, KIND(CUE_COURTESY), 0))
			reader->question = sentence->text;
		return;
	}
	if (sentence->kind == TEXT_PROSE)
		reader->question.len = 0;
	if (sentence->kind == TEXT_TODO)
		rules_add(rules, rules_item(rules, ITEM_OPEN, STATE_OPEN, sentence->text), DERIVE_NONE);
	else if (!(found & (FOUND_DECISION | FOUND_TRIED)) &&
		 rules->record->count - reader->facts_from < ASSISTANT_FACTS)
		facts_of_sentence(rules, sentence->text, rules->statement, false);
}

static void read_assistant(struct rules *rules, const struct derive_message *message)
{
	struct assistant_reader reader = {.facts_from = rules->record->count};
	const struct derive_input *input = rules->input;
	uint32_t next = next_person(input, rules->at + 1);
	struct sentence_iter iter;
	struct sentence sentence;
	bool last;

	sentences_init(&iter, message->text);
	while (!rules->rc && reader.sentences++ < ASSISTANT_SENTENCES && sentences_next(&iter, &sentence))
		if (sentence_is_said(&sentence))
			read_assistant_sentence(rules, &reader, &sentence);
	last = !message->call_count && answer_in(input, rules->at, next) == rules->at;
	if (!last || rules->rc)
		return;
	struct slice opening = message->text;

	opening.len = utf8_truncate(opening.data, opening.len, 120);
	if (next_person(input, 0) > rules->at) /* the answer to what an earlier input asked */
		add_flow_signal(rules, ITEM_OPEN, STATE_ANSWERED, opening);
	if (reader.question.len && next == input->count)
		rules_add(rules, rules_item(rules, ITEM_OPEN, STATE_OPEN, reader.question), DERIVE_NONE);
	if (reader.done && !reader.question.len && !complains(rules, next))
		add_flow_signal(rules, ITEM_TASK, STATE_DONE, opening);
}

void rules_messages(struct rules *rules)
{
	for (uint32_t i = 0; i < rules->input->count && !rules->rc; i++) {
		const struct derive_message *message = &rules->input->messages[i];

		if (!message->text.len)
			continue;
		rules->at = i;
		rules->by = derive_by(message);
		if (derive_is_person(message))
			read_person(rules, message);
		else if (message->role == ROLE_ASSISTANT && message->origin == ORIGIN_PERSON &&
			 !rules->harvest)
			read_assistant(rules, message);
	}
}
