/* SPDX-License-Identifier: MIT */
/* Values become facts, with the words around them. See rules_facts.h. */
#include "compact/rules_facts.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "compact/rules_values.h"

#define FACT_BYTES 280 /* a longer sentence is cut to what stands around the value */
#define AROUND_BYTES 110
#define VALUES_MAX 32768u	/* mentioned values that are remembered */
#define RESULT_FACTS 12		/* of one result: values that are mentioned later */
#define RESULT_IDS 4		/* of one result, mentioned or not */
#define UNMENTIONED_FACTS 40	/* of one input */
#define SHORT_RESULT_BYTES 8192 /* an answer; what is longer is a listing */
#define SUBJECT_WORDS 7

/* ---- Which values are mentioned, and where last */

struct mention {
	uint64_t hash;	/* 0: free */
	uint32_t place; /* the last message of a person's or the assistant's with it */
	bool told;	/* it is in the record */
	uint32_t item;	/* … as this item of the assistant's; DERIVE_NONE */
};

struct value_set {
	struct mention *slots;
	uint32_t mask, used;
};

static uint64_t value_hash(struct slice text)
{
	uint64_t hash = hash_bytes(text.data, text.len);

	return hash ? hash : 1;
}

static struct mention *set_find(struct value_set *set, uint64_t hash)
{
	for (uint32_t at = (uint32_t)hash & set->mask;; at = (at + 1) & set->mask)
		if (!set->slots[at].hash || set->slots[at].hash == hash)
			return &set->slots[at];
}

static int set_grow(struct value_set *set)
{
	struct value_set larger = {.mask = set->slots ? set->mask * 2 + 1 : 255, .used = set->used};

	if (set->slots && 2 * (set->used + 1) < set->mask)
		return 0;
	if (!(larger.slots = mem_alloc_zero((larger.mask + 1) * sizeof *larger.slots)))
		return BOBBIN_ENOMEM;
	for (uint32_t i = 0; set->slots && i <= set->mask; i++)
		if (set->slots[i].hash)
			*set_find(&larger, set->slots[i].hash) = set->slots[i];
	mem_free(set->slots);
	*set = larger;
	return 0;
}

static struct mention *set_add(struct rules *rules, struct slice text, uint32_t place)
{
	struct value_set *set = rules->values;
	struct mention *mention;
	uint64_t hash = value_hash(text);

	if (rules->rc || (rules->rc = set_grow(set)))
		return NULL;
	mention = set_find(set, hash);
	if (!mention->hash) {
		if (set->used >= VALUES_MAX)
			return NULL;
		set->used++;
		mention->hash = hash;
		mention->item = DERIVE_NONE;
	}
	if (place != DERIVE_NONE)
		mention->place = place;
	return mention;
}

static void mention_values(struct rules *rules, struct slice text, uint32_t place)
{
	struct rules_value_iter iter;
	struct rules_value value;

	rules_values_init(&iter, text);
	while (!rules->rc && rules_values_next(&iter, &value))
		if (value.tag != TAG_PATH && (value.strong || value.text.len >= 4))
			set_add(rules, value.text, place);
}

int facts_prepare(struct rules *rules)
{
	rules->values = mem_alloc_zero(sizeof *rules->values);
	if (!rules->values)
		return BOBBIN_ENOMEM;
	for (uint32_t i = 0; i < rules->input->count; i++) {
		const struct derive_message *message = &rules->input->messages[i];

		if (message->role == ROLE_TOOL || message->origin != ORIGIN_PERSON)
			continue;
		mention_values(rules, message->text, i);
		for (uint32_t c = 0; c < message->call_count; c++)
			mention_values(rules, message->calls[c].arguments, i);
	}
	return rules->rc;
}

void facts_release(struct rules *rules)
{
	if (rules->values)
		mem_free(rules->values->slots);
	mem_free(rules->values);
	rules->values = NULL;
}

/* ---- The words around a value */

static bool is_boundary(char c)
{
	return c == ',' || c == ';' || c == '{' || c == '}' || c == '|' || c == '\n';
}

/* The part of a long text that tells of the value: between commas and the like, or between spaces. */
static struct slice around(struct slice text, struct slice value)
{
	size_t at = (size_t)(value.data - text.data), end = at + value.len, from = at, to = end, space;

	if (text.len <= FACT_BYTES)
		return text;
	while (from > 0 && at - from < AROUND_BYTES && !is_boundary(text.data[from - 1]))
		from--;
	if (from > 0 && !is_boundary(text.data[from - 1])) {
		for (space = from; space < at && text.data[space] != ' ';)
			space++;
		from = space < at ? space + 1 : at;
	}
	while (to < text.len && to - end < AROUND_BYTES && !is_boundary(text.data[to]))
		to++;
	if (to < text.len && !is_boundary(text.data[to])) {
		for (space = to; space > end && text.data[space] != ' ';)
			space--;
		to = space > end ? space : end;
	}
	return slice_trim((struct slice){text.data + from, to - from});
}

static unsigned weight(enum item_tag tag)
{
	static const unsigned char WEIGHTS[ITEM_TAGS] = {[TAG_ID] = 9,
		[TAG_HASH] = 8,
		[TAG_URL] = 7,
		[TAG_HOST] = 10,
		[TAG_DATE] = 6,
		[TAG_NUMBER] = 5,
		[TAG_PATH] = 4,
		[TAG_QUOTE] = 2};

	return WEIGHTS[tag];
}

/* ---- Sentences */

/* What a value is given to: "the staging port is now 5051" → "staging port". Empty: nothing by name. */
static struct slice subject(struct rules *rules, const struct statement *statement, struct slice value)
{
	const struct cue *named = statement_cue(statement, KIND(CUE_NAMED), 1);
	unsigned from;

	if (!named || named->first > SUBJECT_WORDS || named->last + 1u >= statement->count)
		return (struct slice){NULL, 0};
	size_t gap = statement->words[named->last + 1].start;
	const char *next = statement->text.data + gap;

	if (value.data < next || value.data > next + 24)
		return (struct slice){NULL, 0};
	for (from = named->first; from > 0 && !statement->words[from].broken; from--)
		;
	if (!statement_content_count(statement, from, named->first - 1u, NULL))
		return (struct slice){NULL, 0};
	rules_key(rules, from, named->first - 1u, NULL);
	for (unsigned w = from; w < named->first;
		w++) { /* the port of listener 3 is not that of listener 4 */
		if (!word_is_number(statement, w) || statement->words[w].glued)
			continue;
		buffer_add_char(&rules->key, ' ');
		buffer_add_slice(&rules->key, statement_span(statement, w, w));
	}
	if (buffer_error(&rules->key))
		rules->rc = buffer_error(&rules->key);
	return buffer_slice(&rules->key);
}

static bool has_number_words(const struct statement *statement)
{
	for (unsigned w = 0; w + 1u < statement->count; w++)
		if (word_is(statement, w, WORD_NUMBER) && !statement->words[w].number &&
			(word_is(statement, w + 1, WORD_NUMBER) || word_is(statement, w + 1, WORD_UNIT)))
			return true;
	return false;
}

static struct slice quotation(struct slice text)
{
	static const char *const PAIRS[][2] = {{"\"", "\""}, {"“", "”"}, {"«", "»"}, {"「", "」"}};

	for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
		const char *open = memmem(text.data, text.len, PAIRS[i][0], strlen(PAIRS[i][0])), *close;

		if (!open)
			continue;
		open += strlen(PAIRS[i][0]);
		close = memmem(open, (size_t)(text.data + text.len - open), PAIRS[i][1], strlen(PAIRS[i][1]));
		if (close && close - open >= 2 && close - open <= 200)
			return (struct slice){open, (size_t)(close - open)};
	}
	return (struct slice){NULL, 0};
}

/* The value that tells most, of those worth telling; false: none. */
static bool best_value(
	struct rules *rules, struct slice text, bool person, struct rules_value *ret_value, bool *ret_fresh)
{
	struct rules_value_iter iter;
	struct rules_value value;
	bool found = false;

	*ret_fresh = false;
	rules_values_init(&iter, text);
	while (rules_values_next(&iter, &value)) {
		bool bare = value.tag == TAG_NUMBER && !value.strong;
		struct mention *mention;

		if (bare && (!person || value.text.len < 3))
			continue;
		if (!person && value.tag == TAG_PATH)
			continue;
		mention = set_add(rules, value.text, DERIVE_NONE);
		*ret_fresh |= mention && !mention->told;
		if (mention)
			mention->told = true;
		if (!found || weight(value.tag) > weight(ret_value->tag)) {
			found = true;
			*ret_value = value;
		}
	}
	return found;
}

/* Notes in which item the values of a text are told, so that where they come from can be added. */
static void note_item(struct rules *rules, struct slice text)
{
	struct rules_value_iter iter;
	struct rules_value value;

	rules_values_init(&iter, text);
	while (rules_values_next(&iter, &value)) {
		struct mention *mention = set_add(rules, value.text, DERIVE_NONE);

		if (mention && mention->item == DERIVE_NONE)
			mention->item = (uint32_t)(rules->record->count - 1);
	}
}

void facts_of_sentence(struct rules *rules, struct slice text, const struct statement *statement, bool told)
{
	struct compact_item item;
	struct rules_value value;
	bool person = rules->by == BY_USER, fresh;

	if (best_value(rules, text, person, &value, &fresh)) {
		bool weak = value.tag == TAG_PATH || (value.tag == TAG_NUMBER && !value.strong);

		if ((!person && !fresh) || (weak && (told || !statement)))
			return;
		item = rules_item(rules, ITEM_FACT, STATE_NONE, around(text, value.text));
		item.tag = value.tag;
		if (person && statement && value.tag != TAG_PATH)
			item.key = subject(rules, statement, value.text);
	} else if (told) {
		return;
	} else if (person && statement && has_number_words(statement)) {
		item = rules_item(rules, ITEM_FACT, STATE_NONE, text);
		item.tag = TAG_NUMBER;
	} else if (person && statement && quotation(text).len) {
		item = rules_item(rules, ITEM_FACT, STATE_NONE, around(text, quotation(text)));
		item.tag = TAG_QUOTE;
	} else {
		return;
	}
	size_t count = rules->record->count;

	rules_add(rules, item, DERIVE_NONE);
	if (!person && rules->record->count > count)
		note_item(rules, item.text);
}

/* ---- Results */

/* A name before the value: "port: 5051", "\"id\":\"x\"", "status=5". */
static bool is_labelled(struct slice line, struct slice value)
{
	const char *at = value.data;

	while (at > line.data && memchr(" \t\"'", at[-1], 4))
		at--;
	return at > line.data + 1 && (at[-1] == ':' || at[-1] == '=' || at[-1] == '|');
}

static void add_result_fact(struct rules *rules, struct slice line, const struct rules_value *value)
{
	struct compact_item item = rules_item(rules, ITEM_FACT, STATE_NONE, around(line, value->text));

	item.tag = value->tag;
	rules_add(rules, item, DERIVE_NONE);
}

/* The assistant tells a value that this result was the first to show: it is where the fact comes from. */
static void add_origin(struct rules *rules, const struct mention *mention)
{
	struct compact_item *item;

	if (mention->item == DERIVE_NONE)
		return;
	item = &rules->record->items[mention->item];
	if (item->source_count == 1 && item->sources[0].place > rules->at)
		rules->rc = compact_item_add_source(
			rules->record, item, (struct item_source){rules->at, {NULL, 0}});
}

struct result_count {
	unsigned mentioned, ids;
};

static void facts_of_line(struct rules *rules, struct slice line, bool answer, struct result_count *count)
{
	struct rules_value_iter iter;
	struct rules_value value;

	rules_values_init(&iter, line);
	while (!rules->rc && rules_values_next(&iter, &value)) {
		if (value.tag == TAG_PATH || (value.tag == TAG_NUMBER && !answer) ||
			(!value.strong && value.text.len < 4))
			continue;
		struct mention *mention =
			rules->values->slots ? set_find(rules->values, value_hash(value.text)) : NULL;
		bool known = mention && mention->hash;

		if (known && mention->told) {
			add_origin(rules, mention);
			continue;
		}
		if (known && mention->place > rules->at && value.strong && count->mentioned < RESULT_FACTS) {
			mention->told = true;
			count->mentioned++;
			add_result_fact(rules, line, &value);
		} else if (answer &&
			   (value.tag == TAG_ID || value.tag == TAG_HOST || value.tag == TAG_DATE) &&
			   value.strong && is_labelled(line, value.text) && count->ids < RESULT_IDS &&
			   rules->tool_facts < UNMENTIONED_FACTS) {
			if ((mention = set_add(rules, value.text, DERIVE_NONE)))
				mention->told = true;
			count->ids++;
			rules->tool_facts++;
			add_result_fact(rules, line, &value);
		}
	}
}

/* Whether a result answers a question rather than showing a file. */
static bool is_answer(const struct derive_message *message)
{
	char name[64];
	struct slice folded = fold_name(message->tool, name, sizeof name);

	return message->text.len <= SHORT_RESULT_BYTES && !cue_name_is(folded, CUE_TOOL_READ) &&
	       !cue_name_is(folded, CUE_TOOL_EDIT) && !cue_name_is(folded, CUE_TOOL_WRITE) &&
	       !cue_name_is(folded, CUE_TOOL_SHELL) && !cue_name_is(folded, CUE_TOOL_TODO);
}

void facts_of_results(struct rules *rules)
{
	for (uint32_t i = 0; i < rules->input->count && !rules->rc; i++) {
		const struct derive_message *message = &rules->input->messages[i];
		struct result_count count = {0};
		struct slice rest = message->text, line;

		if (message->role != ROLE_TOOL || message->marker)
			continue;
		rules->at = i;
		rules->by = BY_TOOL;
		while (count.mentioned < RESULT_FACTS && line_next(&rest, &line))
			facts_of_line(rules, line, is_answer(message), &count);
	}
}
