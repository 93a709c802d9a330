/* SPDX-License-Identifier: MIT */
/* Facts of a person, for hosts: what memory/memory.h does, behind the handles of bobbin.h. */
#include "base/alloc.h"
#include "memory/judge.h"
#include "session/facts.h"

struct bobbin_memory {
	pid_t process;
	bobbin_store *store;
	char *owner;
	struct memory *memory; /* NULL: there is no database yet */
};

struct bobbin_facts {
	struct arena arena;
	struct fact *facts;
	struct fact_source *sources;
	size_t count, next;
	struct bobbin_fact *items;
};

int bobbin_memory_open(
	bobbin_store *store, const char *owner, bobbin_memory **ret_memory, struct bobbin_error *error)
{
	int code = STORE_CHECK(store, error);
	bobbin_memory *memory;

	if (code < 0)
		return code;
	if (!owner || !*owner)
		return error_set(error, BOBBIN_EINVAL, "facts belong to somebody: name the owner");
	memory = mem_alloc_zero(sizeof *memory);
	if (!memory || !(memory->owner = mem_copy_text(owner, strlen(owner)))) {
		mem_free(memory);
		return error_set(error, BOBBIN_ENOMEM, "opening the facts: out of memory");
	}
	memory->process = store->process;
	memory->store = store;
	code = memory_open(store->store, slice_of(owner), false, &memory->memory, error);
	if (code == BOBBIN_ENOTFOUND)
		code = 0;
	if (code < 0) {
		bobbin_memory_close(memory);
		return code;
	}
	*ret_memory = memory;
	return 0;
}

void bobbin_memory_close(bobbin_memory *memory)
{
	if (!memory)
		return;
	memory_close(memory->memory);
	mem_free(memory->owner);
	mem_free(memory);
}

/* 1 if there is a database to work with. To write one is made. */
static int ready(bobbin_memory *memory, bool write, struct bobbin_error *error)
{
	int code = handle_check(memory, memory ? memory->process : 0, error);

	if (code < 0)
		return code;
	if (write && memory->store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	if (!memory->memory) {
		code = memory_open(memory->store->store, slice_of(memory->owner), write, &memory->memory, error);
		if (code == BOBBIN_ENOTFOUND)
			return 0;
	}
	return code < 0 ? code : 1;
}

static struct slice text_of(const char *text)
{
	return slice_of(text ? text : "");
}

static int read_new(const char *text, size_t len, const struct bobbin_fact_options *options,
	struct judgement *judgement, struct fact_new *ret_new, struct bobbin_error *error)
{
	int64_t now_ns = platform_default()->realtime_ns(platform_default()->context);
	int code = judge((struct slice){text, len}, options->said_ns ? options->said_ns : now_ns, judgement, error);

	*ret_new = (struct fact_new){
		.text = {text, len},
		.subject = text_of(options->subject),
		.relation = slice_of(options->relation ? options->relation : judgement->relation),
		.session = text_of(options->session),
		.message = text_of(options->message),
		.context = text_of(options->context),
		.said_ns = options->said_ns,
		.valid_ns = options->valid_ns,
		.expires_ns = options->expires_ns < 0 ? 0 : options->expires_ns ? options->expires_ns : judgement->expires_ns,
	};
	/* What it says of "I" is no relation of somebody else. */
	if (!options->relation && options->subject && *options->subject && strcmp(options->subject, "user") != 0)
		ret_new->relation = SLICE_LITERAL("");
	return code;
}

int bobbin_memory_add(bobbin_memory *memory, const char *text, size_t len, const struct bobbin_fact_options *options,
	struct bobbin_fact_added *ret_added, struct bobbin_error *error)
{
	struct bobbin_fact_options all = BOBBIN_FACT_OPTIONS_INIT;
	struct fact_report report;
	struct judgement judgement;
	struct fact_new fact;
	int code;

	if (!text && len)
		return error_set(error, BOBBIN_EINVAL, "a fact needs a text");
	if (len > FACT_TEXT_BYTES)
		return error_set(error, BOBBIN_EINVAL, "a fact has at most %d bytes: say one thing at a time",
			FACT_TEXT_BYTES);
	if (options)
		memcpy(&all, options, options->size < sizeof all ? options->size : sizeof all);
	code = ready(memory, true, error);
	if (code >= 0)
		code = read_new(text ? text : "", len, &all, &judgement, &fact, error);
	if (code >= 0)
		code = memory_add(memory->memory, &fact, &report, error);
	if (code < 0)
		return code;
	if (ret_added)
		*ret_added = (struct bobbin_fact_added){
			report.number, report.superseded, report.added == FACT_MERGED};
	return 0;
}

int bobbin_memory_correct(
	bobbin_memory *memory, uint64_t number, const char *text, size_t len, struct bobbin_error *error)
{
	int code = ready(memory, true, error);

	return code < 0 ? code
			: memory_correct(memory->memory, number, (struct slice){text ? text : "", text ? len : 0}, error);
}

int bobbin_memory_keep(bobbin_memory *memory, uint64_t number, struct bobbin_fact_added *ret_added,
	struct bobbin_error *error)
{
	struct fact_report report;
	int code = ready(memory, true, error);

	if (code >= 0)
		code = memory_keep(memory->memory, number, &report, error);
	if (code >= 0 && ret_added)
		*ret_added = (struct bobbin_fact_added){report.number, report.superseded, report.added == FACT_KNOWN};
	return code < 0 ? code : 0;
}

int bobbin_memory_forget(bobbin_memory *memory, uint64_t number, struct bobbin_error *error)
{
	int code = ready(memory, true, error);

	return code < 0 ? code : memory_forget(memory->memory, number, error);
}

/* ---- Results */

static void fill_fact(const struct fact *from, struct arena *arena, struct bobbin_fact *ret_fact, bool *ret_failed)
{
	struct bobbin_fact_source *sources = arena_alloc(arena, (from->source_count + 1) * sizeof *sources);

	*ret_failed |= !sources;
	for (size_t i = 0; sources && i < from->source_count; i++)
		sources[i] = (struct bobbin_fact_source){
			from->sources[i].session, from->sources[i].message, from->sources[i].said_ns};
	*ret_fact = (struct bobbin_fact){
		.number = from->number,
		.text = from->text,
		.subject = from->subject,
		.relation = from->relation,
		.candidate = from->state == FACT_CANDIDATE ? 1 : from->state == FACT_PROPOSED ? 2 : 0,
		.said_ns = from->said_ns,
		.valid_ns = from->valid_ns,
		.expires_ns = from->expires_ns,
		.ended_ns = from->ended_ns,
		.superseded_by = from->superseded_by,
		.sessions = from->sessions,
		.sources = sources,
		.source_count = from->source_count,
		.score = from->score,
	};
}

static int finish(bobbin_facts *facts, int code, bobbin_facts **ret_facts, struct bobbin_error *error)
{
	bool failed = false;

	if (code >= 0) {
		facts->items = arena_alloc(&facts->arena, (facts->count + 1) * sizeof *facts->items);
		failed = !facts->items;
		for (size_t i = 0; !failed && i < facts->count; i++)
			fill_fact(&facts->facts[i], &facts->arena, &facts->items[i], &failed);
		if (failed)
			code = error_set(error, BOBBIN_ENOMEM, "reading facts: out of memory");
	}
	if (code < 0) {
		bobbin_facts_close(facts);
		return code;
	}
	*ret_facts = facts;
	return 0;
}

static int begin(bobbin_memory *memory, const struct bobbin_facts_options *options,
	struct bobbin_facts_options *ret_options, bobbin_facts **ret_facts, struct bobbin_error *error)
{
	int code = ready(memory, false, error);

	*ret_options = (struct bobbin_facts_options)BOBBIN_FACTS_OPTIONS_INIT;
	if (options)
		memcpy(ret_options, options, options->size < sizeof *options ? options->size : sizeof *options);
	if (code < 0)
		return code;
	*ret_facts = mem_alloc_zero(sizeof **ret_facts);
	return *ret_facts ? code : error_set(error, BOBBIN_ENOMEM, "reading facts: out of memory");
}

int bobbin_memory_search(bobbin_memory *memory, const char *query, size_t len,
	const struct bobbin_facts_options *options, bobbin_facts **ret_facts, struct bobbin_error *error)
{
	struct bobbin_facts_options all;
	bobbin_facts *facts;
	int code = begin(memory, options, &all, &facts, error);

	if (code < 0)
		return code;
	struct fact_search_options inner = {.limit = all.limit, .past = all.past != 0, .threshold = all.threshold};
	if (code == 1)
		code = memory_search(memory->memory, (struct slice){query ? query : "", query ? len : 0}, &inner,
			&facts->arena, &facts->facts, &facts->count, error);
	return finish(facts, code, ret_facts, error);
}

int bobbin_memory_list(bobbin_memory *memory, const struct bobbin_facts_options *options, bobbin_facts **ret_facts,
	struct bobbin_error *error)
{
	struct bobbin_facts_options all;
	bobbin_facts *facts;
	int code = begin(memory, options, &all, &facts, error);

	if (code < 0)
		return code;
	struct fact_list_options inner = {
		.past = all.past != 0, .candidates = all.candidates != 0, .limit = all.limit};
	if (code == 1)
		code = memory_list(memory->memory, &inner, &facts->arena, &facts->facts, &facts->count, error);
	return finish(facts, code, ret_facts, error);
}

const struct bobbin_fact *bobbin_facts_next(bobbin_facts *facts)
{
	return facts->next < facts->count ? &facts->items[facts->next++] : NULL;
}

void bobbin_facts_close(bobbin_facts *facts)
{
	if (!facts)
		return;
	arena_release(&facts->arena);
	mem_free(facts);
}

/* ---- Judging and learning */

int bobbin_judge(const char *text, size_t len, int64_t said_ns, struct bobbin_judgement *ret_judgement,
	struct bobbin_error *error)
{
	struct judgement judgement;
	int code;

	if (len > FACT_TEXT_BYTES)
		return error_set(error, BOBBIN_EINVAL, "a statement has at most %d bytes", FACT_TEXT_BYTES);
	if (!said_ns)
		said_ns = platform_default()->realtime_ns(platform_default()->context);
	code = judge((struct slice){text ? text : "", text ? len : 0}, said_ns, &judgement, error);
	if (code < 0)
		return code;
	*ret_judgement = (struct bobbin_judgement){
		.verdict = (int)judgement.verdict,
		.needed = (int)judgement.needed,
		.expires = (int)judgement.expires,
		.retrievable = (int)judgement.retrievable,
		.needed_why = judgement.needed_why,
		.expires_why = judgement.expires_why,
		.retrievable_why = judgement.retrievable_why,
		.expires_ns = judgement.expires_ns,
	};
	memcpy(ret_judgement->relation, judgement.relation, sizeof ret_judgement->relation);
	return 0;
}

int bobbin_session_learn(bobbin_session *session, struct bobbin_learned *ret_learned, struct bobbin_error *error)
{
	struct memory_taken taken = {0};
	struct memory *memory;
	struct log_node node;
	uint64_t messages = 0;
	int code = SESSION_CHECK(session, error);

	if (code < 0)
		return code;
	if (session->store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	code = facts_memory(session, true, &memory, error);
	if (code < 0)
		return code;
	uint32_t count = log_node_count(session->log);
	for (uint32_t at = 0; at < count && code == 0; at++) {
		if (!log_has_node(session->log, at) || log_node(session->log, at, &node) < 0 || node.level ||
			node.role != ROLE_USER || node.origin != ORIGIN_PERSON)
			continue;
		messages++;
		code = facts_learn(session, memory, at, &taken, error);
	}
	if (code == 0 && ret_learned)
		*ret_learned = (struct bobbin_learned){messages, taken.kept, taken.candidates, taken.merged, taken.buried};
	return code;
}
