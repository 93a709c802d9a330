/* SPDX-License-Identifier: MIT */
/*
 * Collecting what a record claims, and looking for it in the messages.
 *
 * A claim is one value of one item. The scanner finds spellings of values; a hit at a message sets flags
 * of the claim: found at all, found in a person's message, found where the item says. What is still
 * missing after the last message is a violation (verify_result.c).
 */
#include "compact/verify.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "compact/verify_claims.h"

static int out_of_memory(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_ENOMEM, "out of memory while verifying a record");
}

/* ---- Claims */

static uint32_t new_claim(struct verify *verify, uint32_t item, const struct value *value)
{
	if (verify->claim_count == verify->claim_cap) {
		size_t cap = verify->claim_cap ? verify->claim_cap * 2 : 64;
		struct claim *larger = arena_alloc(&verify->arena, cap * sizeof *larger);

		if (!larger)
			return UINT32_MAX;
		if (verify->claim_count)
			memcpy(larger, verify->claims, verify->claim_count * sizeof *larger);
		verify->claims = larger;
		verify->claim_cap = cap;
	}
	verify->claims[verify->claim_count] = (struct claim){.item = item,
		.kind = value->kind,
		.text = value->text,
		.part_of = UINT32_MAX,
		.other = UINT32_MAX};
	if (!value->unit.len || slice_is(value->unit, "%"))
		memcpy(verify->claims[verify->claim_count].number, value->number, sizeof value->number);
	return (uint32_t)verify->claim_count++;
}

struct claimer {
	struct verify *verify;
	uint32_t item, claim;
	enum scan_case how;
	bool user, computed;
	struct slice attributed; /* the part of the text whose values must be the user's */
	bool added;		 /* a spelling of the claim can be looked for */
};

static int add_spelling(void *context, struct slice spelling, bool number)
{
	struct claimer *claimer = context;
	bool added;
	int rc = scanner_add(&claimer->verify->scanner, spelling, number ? SCAN_NUMBER : claimer->how,
		claimer->claim, &added);

	claimer->added |= added;
	return rc;
}

/* Half of a path that was put together from two places. */
static int add_part(struct claimer *claimer, struct slice text, uint32_t whole, uint32_t *ret_claim)
{
	struct value value = {.kind = VALUE_PATH, .text = text};
	uint32_t claim = new_claim(claimer->verify, claimer->item, &value);

	if (claim == UINT32_MAX)
		return BOBBIN_ENOMEM;
	claimer->verify->claims[claim].part_of = whole;
	*ret_claim = claim;
	return scanner_add(&claimer->verify->scanner, text, SCAN_EXACT, claim, NULL);
}

/* An absolute path may be a folder told in one place and a path relative to it in another: /repo and
 * src/a.c. */
static int add_path_parts(struct claimer *claimer, struct slice path, uint32_t whole)
{
	size_t slashes = 0;
	int rc = 0;

	if (path.data[0] != '/' && path.data[0] != '~')
		return 0;
	for (size_t i = path.len; i-- > 1 && slashes < 5 && !rc;) {
		uint32_t head, tail;

		if (path.data[i] != '/' || ++slashes < 2)
			continue;
		rc = add_part(claimer, (struct slice){path.data, i}, whole, &head);
		if (!rc)
			rc = add_part(
				claimer, (struct slice){path.data + i + 1, path.len - i - 1}, whole, &tail);
		if (!rc)
			claimer->verify->claims[tail].other = head;
	}
	return rc;
}

static bool is_inside(struct slice text, struct slice part)
{
	return part.len && text.data >= part.data && text.data < part.data + part.len;
}

static int add_claim(void *context, const struct value *value)
{
	struct claimer *claimer = context;
	struct verify *verify = claimer->verify;
	int rc;

	if (claimer->computed && value->kind == VALUE_NUMBER)
		return 0;
	claimer->claim = new_claim(verify, claimer->item, value);
	claimer->how = value->kind == VALUE_QUOTE || value->kind == VALUE_TEXT ? SCAN_FOLDED : SCAN_EXACT;
	claimer->added = false;
	if (claimer->claim == UINT32_MAX)
		return BOBBIN_ENOMEM;
	verify->claims[claimer->claim].user = claimer->user || is_inside(value->text, claimer->attributed);
	verify->numbers |= value->kind == VALUE_NUMBER;
	if ((rc = value_spellings(value, &verify->arena, add_spelling, claimer)))
		return rc;
	if (!claimer->added) { /* nothing but signs: not a value */
		verify->claim_count = claimer->claim;
		return 0;
	}
	return value->kind == VALUE_PATH ? add_path_parts(claimer, value->text, claimer->claim) : 0;
}

/* A verbatim statement whose middle was left out is two. */
static int add_statement(struct claimer *claimer, struct slice text)
{
	static const char GAP[] = " […] ";
	const char *gap = memmem(text.data, text.len, GAP, sizeof GAP - 1);
	struct value value = {.kind = VALUE_TEXT, .text = text};
	int rc;

	if (!gap)
		return add_claim(claimer, &value);
	value.text.len = (size_t)(gap - text.data);
	if ((rc = add_claim(claimer, &value)))
		return rc;
	value.text = (struct slice){gap + sizeof GAP - 1, text.len - value.text.len - (sizeof GAP - 1)};
	return value.text.len ? add_claim(claimer, &value) : 0;
}

static int add_item(struct verify *verify, uint32_t index)
{
	const struct compact_item *item = &verify->record->items[index];
	struct claimer claimer = {.verify = verify, .item = index, .computed = item->computed};
	struct slice attributed = {NULL, 0};
	bool of_user = item->by == BY_USER || item->kind == ITEM_CONSTRAINT;
	bool verbatim = item->exact || item->kind == ITEM_CONSTRAINT || (of_user && item->kind == ITEM_TASK);
	int rc;

	if (item->kind == ITEM_SIGNAL && !of_user)
		return 0; /* it is not shown, and may set no constraint's state */
	if (!of_user)
		attributed = attributed_words(item->text);
	claimer.user = of_user;
	claimer.attributed = attributed;
	if (attributed.len && (rc = verify_add_attribution(verify, index, attributed)))
		return rc;
	if (verbatim)
		rc = add_statement(&claimer, item->text);
	else
		rc = values_read(item->text, add_claim, &claimer);
	if (!rc && !verbatim && of_user && !item->computed &&
		verify->claim_count == verify->items[index].first)
		rc = add_statement(
			&claimer, item->text); /* without a value of its own it must be his words */
	claimer.user = false;
	claimer.attributed = (struct slice){NULL, 0};
	return rc ? rc : values_read(item->reason, add_claim, &claimer);
}

static int add_items(struct verify *verify)
{
	size_t count = verify->record->count;
	int rc = 0;

	scanner_init(&verify->scanner, &verify->arena);
	verify->items = arena_alloc_zero(&verify->arena, (count + 1) * sizeof *verify->items);
	if (!verify->items)
		return BOBBIN_ENOMEM;
	for (uint32_t i = 0; i < count && !rc; i++) {
		verify->items[i].first = verify->claim_count;
		verify->proofs |= verify->record->items[i].kind == ITEM_CONSTRAINT &&
				  item_has_proof(&verify->record->items[i]);
		rc = add_item(verify, i);
	}
	if (!rc && verify->numbers)
		rc = scanner_add_number_words(&verify->scanner);
	return rc ? rc : scanner_prepare(&verify->scanner);
}

int verify_new(const struct compact_record *record, const struct deriver *harvester,
	struct verify **ret_verify, struct bobbin_error *error)
{
	struct verify *verify = mem_alloc_zero(sizeof *verify);
	int rc;

	if (!verify)
		return out_of_memory(error);
	verify->record = record;
	verify->harvester = harvester;
	verify->decoded = (struct buffer)BUFFER_INIT(LIMIT_LINE_BYTES);
	rc = compact_merge_new(&verify->harvest);
	if (!rc)
		rc = add_items(verify);
	if (rc) {
		verify_free(verify);
		return error_set(error, rc, "out of memory while verifying a record");
	}
	*ret_verify = verify;
	return 0;
}

void verify_free(struct verify *verify)
{
	if (!verify)
		return;
	compact_merge_free(verify->harvest);
	buffer_release(&verify->decoded);
	mem_free(verify->places);
	arena_release(&verify->arena);
	arena_release(&verify->scratch);
	mem_free(verify);
}

/* ---- Messages */

struct looking {
	struct verify *verify;
	size_t place, round_from, round_to; /* positions; the round's end is exclusive */
	bool person;
};

static bool is_cited(const struct looking *looking, const struct compact_item *item)
{
	for (uint32_t i = 0; i < item->source_count; i++) {
		size_t place = item->sources[i].place;

		if (place == looking->place || (place >= looking->round_from && place < looking->round_to))
			return true;
	}
	return item->source_count == 0;
}

static void found(struct looking *looking, uint32_t index)
{
	struct claim *claim = &looking->verify->claims[index];

	if (claim->flags == CLAIM_ALL)
		return;
	bool cited = is_cited(looking, &looking->verify->record->items[claim->item]);

	claim->flags |= CLAIM_ANY;
	if (looking->person)
		claim->flags |= CLAIM_USER;
	if (cited)
		claim->flags |= CLAIM_CITED;
	if (cited && looking->person)
		claim->flags |= CLAIM_CITED_USER;
}

/* Rare: only for words that are numbers. */
static void found_number_word(struct looking *looking, uint64_t number)
{
	struct verify *verify = looking->verify;

	for (size_t i = 0; i < verify->claim_count; i++) {
		const char *digits = verify->claims[i].number;
		uint64_t value = 0;
		size_t len = 0;

		if (verify->claims[i].kind != VALUE_NUMBER || verify->claims[i].flags == CLAIM_ALL)
			continue;
		for (; digits[len] >= '0' && digits[len] <= '9' && len < 18; len++)
			value = value * 10 + (uint64_t)(digits[len] - '0');
		if (len && !digits[len] && value == number)
			found(looking, (uint32_t)i);
	}
}

static void take_hit(void *context, const struct scan_hit *hit)
{
	if (hit->is_number_word)
		found_number_word(context, hit->number);
	else
		found(context, hit->value);
}

static void look_at(struct looking *looking, struct slice text)
{
	looking->verify->bytes += text.len;
	if (text.len)
		scan_text(&looking->verify->scanner, text, take_hit, looking);
}

/* All strings of a JSON value, decoded, one a line. */
static void add_strings(const struct json *value, struct buffer *out)
{
	struct json_iter iter;
	struct json element;

	if (value->type == JSON_STRING) {
		json_string_decode(value, JSON_SURROGATES_REPLACE, out);
		buffer_add_char(out, '\n');
		return;
	}
	json_iter_init(&iter, value);
	while (json_iter_next(&iter, NULL, &element))
		add_strings(&element, out);
}

/* Arguments stand escaped in the text; what they mean counts as well. */
static int look_at_call(struct looking *looking, const struct derive_call *call)
{
	struct buffer *decoded = &looking->verify->decoded;

	look_at(looking, call->name);
	look_at(looking, call->arguments);
	if (call->value.type == JSON_ABSENT || !memchr(call->arguments.data, '\\', call->arguments.len))
		return 0;
	buffer_clear(decoded);
	add_strings(&call->value, decoded);
	if (buffer_error(decoded))
		return buffer_error(decoded);
	look_at(looking, buffer_slice(decoded));
	return 0;
}

static void find_round(const struct derive_input *input, uint32_t at, size_t from, struct looking *looking)
{
	uint32_t first = at, end = at + 1;

	looking->round_from = looking->round_to = from + at;
	if (input->messages[at].role == ROLE_USER)
		return;
	while (first > 0 && input->messages[first].role == ROLE_TOOL)
		first--;
	while (end < input->count && input->messages[end].role == ROLE_TOOL)
		end++;
	if (input->messages[first].role == ROLE_USER)
		first = at;
	looking->round_from = from + first;
	looking->round_to = from + end;
}

static int harvest(
	struct verify *verify, const struct derive_input *input, size_t from, struct bobbin_error *error)
{
	struct compact_record record;
	int rc;

	arena_reset(&verify->scratch);
	compact_record_init(&record, &verify->scratch);
	if ((rc = verify->harvester->harvest(verify->harvester->context, input, &record, error)))
		return rc;
	return compact_merge_add(verify->harvest, &record, from, from + input->count, error);
}

int verify_messages(
	struct verify *verify, const struct derive_input *input, size_t from, struct bobbin_error *error)
{
	struct looking looking = {.verify = verify};
	int rc = 0;

	for (uint32_t i = 0; i < input->count && !rc; i++) {
		const struct derive_message *message = &input->messages[i];

		looking.place = from + i;
		looking.person = derive_is_person(message);
		find_round(input, i, from, &looking);
		if (!message->marker)
			look_at(&looking, message->text);
		look_at(&looking, message->other);
		for (uint32_t c = 0; c < message->call_count && !rc; c++)
			rc = look_at_call(&looking, &message->calls[c]);
		if (!rc)
			rc = verify_note_message(verify, from + i, looking.person, message->text);
	}
	if (rc)
		return out_of_memory(error);
	return verify->harvester ? harvest(verify, input, from, error) : 0;
}

int verify_segment(const struct compact_record *record, const struct derive_input *input,
	const struct deriver *harvester, struct arena *arena, struct verify_result *ret_result,
	struct bobbin_error *error)
{
	struct verify *verify;
	int rc = verify_new(record, harvester, &verify, error);

	if (rc)
		return rc;
	rc = verify_messages(verify, input, 0, error);
	if (!rc)
		rc = verify_finish(verify, NULL, arena, ret_result, error);
	verify_free(verify);
	return rc;
}
