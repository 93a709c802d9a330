/* SPDX-License-Identifier: MIT */
/* Verification: judging what was found, and mending the record. */
#include "base/alloc.h"
#include "compact/verify_claims.h"

struct judge {
	struct verify *verify;
	struct arena *arena;
	struct verify_result result;
	size_t violation_cap, missing_cap;
	struct slice *statements; /* normalised texts of the record's constraints, by item */
	int error;
};

static void *room_for_one_more(struct judge *judge, void *array, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return array;
	size_t larger_cap = *cap ? *cap * 2 : 16;
	void *larger = arena_alloc(judge->arena, larger_cap * size);

	if (!larger) {
		judge->error = BOBBIN_ENOMEM;
		return NULL;
	}
	if (count)
		memcpy(larger, array, count * size);
	*cap = larger_cap;
	return larger;
}

static void violate(struct judge *judge, enum violation_kind kind, size_t item, struct slice value)
{
	struct verify_violation *violations = room_for_one_more(judge, judge->result.violations,
		judge->result.violation_count, &judge->violation_cap, sizeof *violations);

	if (!violations)
		return;
	judge->result.violations = violations;
	violations[judge->result.violation_count++] = (struct verify_violation){kind, item, value};
}

static void miss(struct judge *judge, const struct compact_item *constraint)
{
	struct verify_missing *missing = room_for_one_more(judge, judge->result.missing,
		judge->result.missing_count, &judge->missing_cap, sizeof *missing);

	if (!missing)
		return;
	judge->result.missing = missing;
	missing[judge->result.missing_count++] = (struct verify_missing){
		constraint->text, constraint->sources[0], constraint->state, constraint->proof};
}

/* ---- Containment */

static uint8_t needed(const struct claim *claim)
{
	return claim->user ? CLAIM_CITED_USER : CLAIM_CITED;
}

/* Both halves of a path stand somewhere, the second where the item says. */
static bool stands_in_parts(const struct verify *verify, uint32_t whole)
{
	for (size_t i = whole + 1; i < verify->claim_count && verify->claims[i].part_of == whole; i++) {
		const struct claim *tail = &verify->claims[i];

		if (tail->other != UINT32_MAX && (tail->flags & CLAIM_CITED) &&
			(verify->claims[tail->other].flags & CLAIM_ANY))
			return true;
	}
	return false;
}

static void judge_claim(struct judge *judge, uint32_t index)
{
	const struct claim *claim = &judge->verify->claims[index];

	if (claim->part_of != UINT32_MAX)
		return;
	judge->result.values++;
	if ((claim->flags & needed(claim)) ||
		(claim->kind == VALUE_PATH && stands_in_parts(judge->verify, index)))
		return;
	if (!(claim->flags & CLAIM_ANY))
		violate(judge,
			claim->user && claim->kind == VALUE_TEXT ? VIOLATION_NOT_USER : VIOLATION_NOWHERE,
			claim->item, claim->text);
	else if (claim->user && !(claim->flags & CLAIM_USER))
		violate(judge, VIOLATION_NOT_USER, claim->item, claim->text);
	else
		violate(judge, VIOLATION_NOT_CITED, claim->item, claim->text);
}

/* At least half of the words that are said to be the user's must be. */
static void judge_attribution(struct judge *judge, const struct attribution *attribution)
{
	unsigned found = (unsigned)__builtin_popcount(attribution->found);

	judge->result.values++;
	if (attribution->words.count && 2 * found < attribution->words.count)
		violate(judge, VIOLATION_NOT_USER, attribution->item, attribution->text);
}

static unsigned place_flags(const struct verify *verify, uint32_t place)
{
	return place < verify->place_count ? verify->places[place] : 0;
}

static void judge_sources(struct judge *judge, size_t index)
{
	const struct compact_item *item = &judge->verify->record->items[index];
	bool person = false;

	for (uint32_t i = 0; i < item->source_count; i++) {
		unsigned flags = place_flags(judge->verify, item->sources[i].place);

		person |= (flags & PLACE_PERSON) != 0;
		if (!flags) {
			violate(judge, VIOLATION_SOURCE, index, item->text);
			return;
		}
	}
	if (item->kind == ITEM_CONSTRAINT && item->source_count && !person)
		violate(judge, VIOLATION_NOT_USER, index, item->text);
}

/* ---- Coverage and states */

static bool covers(const struct judge *judge, size_t item, struct slice statement)
{
	return judge->statements[item].data && words_contain(judge->statements[item], statement);
}

static int normalise_statements(struct judge *judge)
{
	const struct compact_record *record = judge->verify->record;

	judge->statements = arena_alloc_zero(judge->arena, (record->count + 1) * sizeof *judge->statements);
	if (!judge->statements)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < record->count; i++) {
		if (record->items[i].kind != ITEM_CONSTRAINT)
			continue;
		judge->statements[i] = words_normalise(record->items[i].text, false, judge->arena);
		if (!judge->statements[i].data)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

/* Whether the record has the constraint, in this state or any if it is STATE_NONE. */
static bool has_constraint(const struct judge *judge, struct slice statement, bool binding)
{
	const struct compact_record *record = judge->verify->record;

	for (size_t i = 0; i < record->count; i++)
		if (record->items[i].kind == ITEM_CONSTRAINT && covers(judge, i, statement) &&
			(!binding || record->items[i].state == STATE_BINDING ||
				judge->verify->items[i].proof_fits))
			return true;
	return false;
}

/* What the harvester found, with the normalised statements of its constraints (empty for other items). */
struct harvest {
	struct compact_record record;
	struct slice *statements;
};

static int normalise_harvest(struct judge *judge, struct harvest *harvest)
{
	harvest->statements =
		arena_alloc_zero(judge->arena, (harvest->record.count + 1) * sizeof *harvest->statements);
	if (!harvest->statements)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < harvest->record.count; i++) {
		if (harvest->record.items[i].kind != ITEM_CONSTRAINT)
			continue;
		harvest->statements[i] = words_normalise(harvest->record.items[i].text, false, judge->arena);
		if (!harvest->statements[i].data)
			return BOBBIN_ENOMEM;
	}
	return 0;
}

/* Whether the record's item also states a rule that binds. */
static bool states_a_binding_one(const struct judge *judge, const struct harvest *harvest, size_t item)
{
	for (size_t i = 0; i < harvest->record.count; i++)
		if (item_is_binding(&harvest->record.items[i]) && covers(judge, item, harvest->statements[i]))
			return true;
	return false;
}

/* Items that show a constraint as binding which the user lifted. */
static void judge_lifted(struct judge *judge, const struct harvest *harvest, size_t lifted)
{
	const struct compact_record *record = judge->verify->record;
	bool wrong = false;

	for (size_t i = 0; i < record->count; i++) {
		if (!item_is_binding(&record->items[i]) || !covers(judge, i, harvest->statements[lifted]) ||
			states_a_binding_one(judge, harvest, i))
			continue;
		violate(judge, VIOLATION_STATE, i, record->items[i].text);
		wrong = true;
	}
	if (wrong)
		miss(judge, &harvest->record.items[lifted]); /* to be shown as what it is */
}

static void judge_proof(struct judge *judge, size_t index)
{
	const struct compact_item *item = &judge->verify->record->items[index];

	if (item->kind != ITEM_CONSTRAINT || item->state == STATE_BINDING)
		return;
	if (!judge->verify->items[index].proof_fits ||
		(item->source_count && item->sources[item->source_count - 1].place >= item->proof.place))
		violate(judge, VIOLATION_STATE, index, item->text);
}

static int judge_coverage(
	struct judge *judge, const struct compact_merge_options *options, struct bobbin_error *error)
{
	struct compact_merge_options all = {SIZE_MAX, COMPACT_NO_INNER};
	struct harvest harvest;
	int rc = compact_merge_finish(
		judge->verify->harvest, options ? options : &all, judge->arena, &harvest.record, error);

	if (rc)
		return rc;
	if ((rc = normalise_harvest(judge, &harvest)))
		return error_set(error, rc, "out of memory while verifying a record");
	for (size_t i = 0; i < harvest.record.count && !judge->error; i++) {
		const struct compact_item *constraint = &harvest.record.items[i];

		if (constraint->kind != ITEM_CONSTRAINT)
			continue;
		judge->result.constraints++;
		if (!has_constraint(judge, harvest.statements[i], constraint->state == STATE_BINDING))
			miss(judge, constraint);
		if (constraint->state != STATE_BINDING)
			judge_lifted(judge, &harvest, i);
	}
	return 0;
}

int verify_finish(struct verify *verify, const struct compact_merge_options *options, struct arena *arena,
	struct verify_result *ret_result, struct bobbin_error *error)
{
	struct judge judge = {.verify = verify, .arena = arena, .result = {.bytes = verify->bytes}};
	int rc = normalise_statements(&judge);

	for (uint32_t i = 0; i < verify->claim_count && !judge.error; i++)
		judge_claim(&judge, i);
	for (const struct attribution *at = verify->attributions; at && !judge.error; at = at->next)
		judge_attribution(&judge, at);
	for (size_t i = 0; i < verify->record->count && !judge.error; i++) {
		judge_sources(&judge, i);
		judge_proof(&judge, i);
	}
	if (rc || (rc = judge.error))
		return error_set(error, rc, "out of memory while verifying a record");
	if (verify->harvester && (rc = judge_coverage(&judge, options, error)))
		return rc;
	if (judge.error)
		return error_set(error, judge.error, "out of memory while verifying a record");
	*ret_result = judge.result;
	return 0;
}

/* ---- Mending */

static bool is_violated(const struct verify_result *result, size_t item)
{
	for (size_t i = 0; i < result->violation_count; i++)
		if (result->violations[i].item == item)
			return true;
	return false;
}

static int add_missing(struct compact_record *record, const struct verify_missing *missing)
{
	struct compact_item item = compact_item_make(ITEM_CONSTRAINT);
	struct item_source source = missing->source;
	int rc;

	item.state = missing->state;
	item.by = BY_USER;
	item.exact = true;
	item.text = missing->text;
	item.sources = &source;
	item.source_count = 1;
	item.proof = missing->proof;
	compact_record_add(record, &item, &rc);
	return rc;
}

int verify_repair(const struct compact_record *record, const struct verify_result *result,
	struct arena *arena, struct compact_record *ret_record, struct bobbin_error *error)
{
	struct compact_record mended;
	int rc = 0;

	compact_record_init(&mended, arena);
	for (size_t i = 0; i < record->count && !rc; i++)
		if (!is_violated(result, i))
			compact_record_add(&mended, &record->items[i], &rc);
	for (size_t i = 0; i < result->missing_count && !rc; i++)
		rc = add_missing(&mended, &result->missing[i]);
	for (size_t i = 0; i < record->pointer_count && !rc; i++)
		rc = compact_record_add_pointer(&mended, &record->pointers[i]);
	if (rc)
		return error_set(error, rc, "out of memory while mending a record");
	*ret_record = mended;
	return 0;
}
