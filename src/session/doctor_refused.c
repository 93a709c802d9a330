/* SPDX-License-Identifier: MIT */
/*
 * Who refuses a foreign line, at which message and why. For each dialect the line is made a request that mends nothing
 * (doctor_request.h), the strict check looks at it (window/check.h), and what it finds is told apart into causes, for which the
 * providers' verdicts and words are known (doctor_words.h). What the check does not know is looked for here: half characters and
 * NULs in each message, and seals that are none. What all dialects have at one message is one fault.
 */
#include "session/doctor_request.h"
#include "session/doctor_words.h"

#include "base/alloc.h"
#include "session/foreign_text.h"
#include "transcript/import_tools.h"
#include "window/view.h"
#include <stdio.h>
#include <stdlib.h>

#define DIALECTS 3
#define NAMES_BYTES_MAX 240

struct answer {
	enum verdict verdict; /* TAKES: nothing was found in this dialect */
	enum cause cause;
	char at[64];
	struct buffer names; /* calls */
	size_t len, count;
};

struct finding {
	size_t position;
	enum cause cause; /* the first that was met */
	struct answer answers[DIALECTS];
};

struct refused {
	const struct path *path;
	const struct doctor_foreign *foreign;
	bobbin_faults *faults;
	struct finding *findings;
	size_t count, cap;
	struct id_table called, answered; /* call ids: where they are called first, where answered last */
	struct id_table keys;		  /* of findings: kind and position */
	struct arena arena, ids;
	struct doctor_request request;
};

/* ---- Findings ---- */

/* Those of one kind at one message are one; those that are told once are one on the whole line. */
static struct finding *finding_of(struct refused *refused, enum cause cause, size_t position)
{
	const struct cause_about *about = cause_about(cause);
	char key[64];
	size_t index;
	int len = snprintf(key, sizeof(key), "%s %zu", about->kind, about->once ? 0 : position);
	if (id_table_get(&refused->keys, (struct slice){key, (size_t)len}, &index))
		return &refused->findings[index];
	const char *copy = arena_copy(&refused->ids, key, (size_t)len);
	if (!copy || id_table_put(&refused->keys, (struct slice){copy, (size_t)len}, refused->count) < 0 ||
		mem_grow((void **)&refused->findings, &refused->cap, refused->count + 1, sizeof(*refused->findings)) < 0)
		return NULL;
	struct finding *finding = &refused->findings[refused->count++];
	*finding = (struct finding){.position = position, .cause = cause};
	for (int i = 0; i < DIALECTS; i++)
		finding->answers[i].names = (struct buffer)BUFFER_INIT(NAMES_BYTES_MAX + LIMIT_MESSAGE_ID_BYTES * 4);
	return finding;
}

static void add_name(struct answer *answer, struct slice name)
{
	if (!name.len || answer->names.len > NAMES_BYTES_MAX || name.len > LIMIT_MESSAGE_ID_BYTES)
		return;
	buffer_add_text(&answer->names, answer->names.len ? ", " : "");
	buffer_add_slice(&answer->names, name);
}

static int found(struct refused *refused, enum cause cause, size_t position, const char *at, struct slice name, size_t len)
{
	enum dialect dialect = refused->request.dialect, own;
	if (cause_about(cause)->own && (!foreign_dialect(refused->foreign->format, &own) || own != dialect))
		return 0;
	struct finding *finding = finding_of(refused, cause, position);
	if (!finding)
		return BOBBIN_ENOMEM;
	struct answer *answer = &finding->answers[dialect];
	enum verdict verdict = cause_verdict(cause, dialect);
	answer->count++;
	if (answer->cause == CAUSE_NONE || verdict > answer->verdict) {
		if (verdict == VERDICT_REFUSES && cause_about(cause)->once) {
			finding->position = position;
			finding->cause = cause;
		}
		answer->verdict = verdict;
		answer->cause = cause;
		snprintf(answer->at, sizeof(answer->at), "%s", at);
		answer->len = len;
		buffer_clear(&answer->names);
	}
	if (answer->cause == cause)
		add_name(answer, name);
	return buffer_error(&answer->names);
}

/* ---- What the check found ---- */

static struct slice member(struct refused *refused, const struct json *object, const char *key)
{
	struct json value;
	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return (struct slice){"", 0};
	return json_string_content(&value, &refused->arena);
}

static struct slice call_name(struct refused *refused, const struct json *value)
{
	static const char *const KEYS[] = {"tool_use_id", "tool_call_id", "call_id", "id"};
	for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
		struct slice name = member(refused, value, KEYS[i]);
		if (name.len)
			return name;
	}
	return (struct slice){"", 0};
}

/* Whether the message says nothing at all. */
static int says_nothing(struct refused *refused, size_t position, bool *ret_nothing, struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	int rc = path_message(refused->path, position, &refused->arena, &message, error);
	*ret_nothing = true;
	if (rc < 0)
		return rc;
	block_iter_init(&iter, &message, &refused->arena);
	while (block_iter_next(&iter, &block))
		if (block.type != BLOCK_TEXT || !text_is_blank(&block.text))
			*ret_nothing = *ret_nothing && block.type == BLOCK_SEALED;
	return iter.error;
}

static enum cause empty_text(const struct json *text, bool alone)
{
	bool none = text->type != JSON_STRING || text->len == 2;
	if (alone)
		return none ? CAUSE_EMPTY_ALONE : CAUSE_BLANK_ALONE;
	return none ? CAUSE_EMPTY_TEXT : CAUSE_BLANK_TEXT;
}

static enum cause name_cause(struct slice name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		if (!((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_'))
			return CAUSE_NAME_PATTERN;
	}
	return name.len > 200 ? CAUSE_NAME_VERY_LONG : name.len ? CAUSE_NAME_LONG : CAUSE_NAME_PATTERN;
}

static enum cause id_cause(struct slice id)
{
	enum cause cause = name_cause(id);
	return !id.len ? CAUSE_ID_MISSING : cause == CAUSE_NAME_PATTERN ? CAUSE_ID_PATTERN : CAUSE_ID_LONG;
}

static bool is_of(const struct check_fault *fault, const char *rule)
{
	return strcmp(fault->rule, rule) == 0;
}

static int role_at(struct refused *refused, size_t position, enum message_role *ret_role, struct bobbin_error *error)
{
	struct path_item item;
	int rc = path_item(refused->path, position, &item, error);
	*ret_role = rc < 0 ? ROLE_USER : item.role;
	return rc;
}

static int text_fault(struct refused *refused, const struct check_fault *fault, const struct json *value, size_t position,
	struct bobbin_error *error)
{
	enum message_role role;
	bool alone = false;
	int rc = role_at(refused, position, &role, error);
	if (rc < 0 || role == ROLE_TOOL) /* what a result says may be empty with every provider */
		return rc;
	rc = says_nothing(refused, position, &alone, error);
	if (rc < 0)
		return rc;
	return found(refused, empty_text(value, alone), position, fault->where, (struct slice){"", 0}, 0);
}

static const char *entry_name(const struct refused *refused, size_t entry, char ret_name[64])
{
	snprintf(ret_name, 64, "%s[%zu]", refused->request.dialect == DIALECT_OPENAI_RESPONSES ? "input" : "messages", entry);
	return ret_name;
}

/* A result that comes too late leaves its call unanswered, too; with Anthropic that is what is said. */
static int late_result(struct refused *refused, const struct check_fault *fault, struct slice name, size_t position, size_t caller)
{
	const struct doctor_span *span = doctor_request_span(&refused->request, fault->offset);
	char before[64];
	int rc = found(refused, CAUSE_LATE, position, fault->where, name, 0);
	if (!rc && is_of(fault, "result_place"))
		rc = found(refused, CAUSE_DANGLING, caller, entry_name(refused, span->entry ? span->entry - 1 : 0, before), name, 0);
	return rc;
}

static int result_fault(struct refused *refused, const struct check_fault *fault, const struct json *value, size_t position)
{
	struct slice name = call_name(refused, value);
	char at[64];
	size_t other;
	if (is_of(fault, "result_missing")) {
		/* The Responses API does not mind where the output stands. */
		if (refused->request.dialect == DIALECT_OPENAI_RESPONSES && id_table_get(&refused->answered, name, &other) &&
			other > position)
			return 0;
		/* The check notices it where the batch ends; it is about the message that calls. */
		return found(refused, CAUSE_DANGLING, position,
			entry_name(refused, doctor_request_span(&refused->request, fault->offset)->entry, at), name, 0);
	}
	if (is_of(fault, "result_duplicate"))
		return found(refused, CAUSE_SECOND_RESULT, position, fault->where, name, 0);
	if (id_table_get(&refused->called, name, &other) && other < position)
		return late_result(refused, fault, name, position, other);
	return found(refused, CAUSE_ORPHAN, position, fault->where, name, 0);
}

static enum cause other_cause(const struct check_fault *fault, const struct json *value, enum message_role role)
{
	struct json type = {NULL, 0, JSON_ABSENT};
	if (is_of(fault, "content_empty"))
		return role == ROLE_ASSISTANT ? CAUSE_EMPTY_ASSISTANT : CAUSE_EMPTY_USER;
	if (is_of(fault, "role_order"))
		return strncmp(fault->advice, "begin", 5) == 0 ? CAUSE_NO_USER_FIRST : CAUSE_NONE;
	if (is_of(fault, "sealed_last"))
		return CAUSE_SEAL_LAST;
	if (is_of(fault, "call_id_duplicate"))
		return json_get(value, "type", &type) && json_string_is(&type, "reasoning") ? CAUSE_REPEATED_ITEM
											    : CAUSE_REPEATED_ID;
	if (is_of(fault, "arguments_invalid"))
		return CAUSE_ARGUMENTS;
	if (is_of(fault, "server_pair"))
		return CAUSE_SERVER_PAIR;
	if (is_of(fault, "image_invalid") || is_of(fault, "image_too_large"))
		return CAUSE_IMAGE;
	return is_of(fault, "json_invalid") || is_of(fault, "utf8_invalid") ? CAUSE_SHAPE : CAUSE_NONE;
}

static int other_fault(struct refused *refused, const struct check_fault *fault, const struct json *value, size_t position,
	struct bobbin_error *error)
{
	struct slice name = call_name(refused, value);
	enum message_role role;
	int rc = role_at(refused, position, &role, error);
	if (rc < 0 || (role == ROLE_TOOL && is_of(fault, "content_empty")))
		return rc;
	if (is_of(fault, "name_invalid")) {
		struct slice tool = member(refused, value, "name");
		return found(refused, name_cause(tool), position, fault->where, tool, tool.len);
	}
	if (is_of(fault, "call_id_invalid") && role == ROLE_TOOL)
		return 0; /* its call has it, too */
	if (is_of(fault, "call_id_invalid"))
		return found(refused, id_cause(name), position, fault->where, name, name.len);
	enum cause cause = other_cause(fault, value, role);
	return cause == CAUSE_NONE ? 0 : found(refused, cause, position, fault->where, name, 0);
}

static int take_fault(struct refused *refused, const struct check_fault *fault, struct bobbin_error *error)
{
	const struct doctor_span *span = doctor_request_span(&refused->request, fault->offset);
	struct json value = {NULL, 0, JSON_ABSENT};
	if (!span || fault->offset < refused->request.spans[0].offset)
		return 0; /* of the whole */
	if (fault->len && json_parse(refused->request.body.data + fault->offset, fault->len, &value, NULL) < 0)
		value.type = JSON_ABSENT;
	int rc;
	if (is_of(fault, "text_empty"))
		rc = text_fault(refused, fault, &value, span->position, error);
	else if (strncmp(fault->rule, "result_", 7) == 0)
		rc = result_fault(refused, fault, &value, span->position);
	else
		rc = other_fault(refused, fault, &value, span->position, error);
	arena_reset(&refused->arena);
	return rc;
}

/* ---- What the check does not know ---- */

static int take_poison(struct refused *refused)
{
	const struct doctor_request *request = &refused->request;
	int rc = 0;
	for (size_t i = 0; !rc && i < request->span_count; i++) {
		size_t from = request->spans[i].offset, nuls = 0;
		size_t to = i + 1 < request->span_count ? request->spans[i + 1].offset : request->body.len;
		size_t all = json_poison_count(request->body.data + from, to - from, &nuls);
		char at[64];
		if (all)
			rc = found(refused, all > nuls ? CAUSE_SURROGATE : CAUSE_NUL, request->spans[i].position,
				entry_name(refused, request->spans[i].entry, at), (struct slice){"", 0}, 0);
	}
	return rc;
}

static int take_seals(struct refused *refused)
{
	const struct doctor_request *request = &refused->request;
	int rc = 0;
	for (size_t i = 0; !rc && i < request->seal_count; i++) {
		const struct doctor_seal *seal = &request->seals[i];
		char at[64];
		if (request->dialect == DIALECT_ANTHROPIC)
			snprintf(at, sizeof(at), "messages[%zu].content[%zu]", seal->entry, seal->part);
		else
			snprintf(at, sizeof(at), "input[%zu]", seal->entry);
		rc = found(refused, seal->missing ? CAUSE_SEAL_MISSING : CAUSE_SEAL_WRONG, seal->position, at,
			(struct slice){"", 0}, 0);
	}
	return rc;
}

static int examine_dialect(struct refused *refused, enum dialect dialect, struct bobbin_error *error)
{
	const struct check_options options = {SIZE_MAX, 0, LIMIT_FAULTS_REPORTED * 20};
	struct check_faults faults;
	int rc = doctor_request_make(refused->path, refused->foreign, dialect, &refused->request, error);
	if (!rc && (rc = check_request(dialect_text(dialect), buffer_slice(&refused->request.body), &options, &faults, error)) == 0) {
		for (size_t i = 0; !rc && i < faults.count; i++)
			rc = take_fault(refused, &faults.items[i], error);
		check_faults_release(&faults);
		if (!rc)
			rc = take_poison(refused);
		if (!rc)
			rc = take_seals(refused);
		if (rc < 0)
			error_set(error, rc, "out of memory");
	}
	doctor_request_release(&refused->request);
	return rc;
}

/* ---- What is told ---- */

static bool is_among(const struct finding *finding, enum dialect dialect, enum verdict verdict)
{
	const struct answer *answer = &finding->answers[dialect];
	if (answer->cause == CAUSE_NONE)
		return verdict == VERDICT_TAKES && cause_verdict(finding->cause, dialect) == VERDICT_TAKES;
	return answer->verdict == verdict;
}

/* "openai-chat, openai-responses and anthropic": those with the verdict; their number. */
static size_t add_dialects(const struct finding *finding, enum verdict verdict, struct buffer *out)
{
	size_t count = 0, told = 0;
	for (int i = 0; i < DIALECTS; i++)
		count += is_among(finding, (enum dialect)i, verdict);
	for (int i = 0; i < DIALECTS; i++) {
		if (!is_among(finding, (enum dialect)i, verdict))
			continue;
		buffer_add_text(out, told == 0 ? "" : told + 1 == count ? " and " : ", ");
		buffer_add_text(out, dialect_text((enum dialect)i));
		told++;
	}
	return count;
}

/* The own provider's words in full; of the others it is enough where they stumble. All words are in the list of refusals. */
static void add_refusal(
	struct refused *refused, const struct finding *finding, enum dialect dialect, bool full, struct buffer *out, struct buffer *also)
{
	const struct answer *answer = &finding->answers[dialect];
	struct buffer words = BUFFER_INIT(4096);
	cause_words(answer->cause, dialect, slice_of(answer->at), buffer_slice(&answer->names), answer->len, &words);
	if (faults_add_refusal(refused->faults, dialect_text(dialect), answer->at, buffer_slice(&words),
		    answer->verdict == VERDICT_STRICT) < 0)
		out->error = BOBBIN_ENOMEM;
	if (answer->verdict == VERDICT_REFUSES && full) {
		buffer_addf(out, "%sRefused by %s at %s%s", out->len ? "\n" : "", dialect_text(dialect), answer->at,
			words.len ? ": " : ".");
		buffer_add_slice(out, buffer_slice(&words));
	} else if (answer->verdict == VERDICT_REFUSES) {
		buffer_addf(also, "%s%s at %s", also->len ? " and " : "", dialect_text(dialect), answer->at);
	}
	if (buffer_error(&words))
		out->error = buffer_error(&words);
	buffer_release(&words);
}

static void add_refusals(struct refused *refused, const struct finding *finding, struct buffer *out)
{
	struct buffer also = BUFFER_INIT(1024);
	enum dialect own;
	bool has_own = foreign_dialect(refused->foreign->format, &own) && finding->answers[own].verdict == VERDICT_REFUSES;
	if (has_own)
		add_refusal(refused, finding, own, true, out, &also);
	for (int i = 0; i < DIALECTS; i++)
		if (finding->answers[i].verdict != VERDICT_TAKES && !(has_own && (enum dialect)i == own))
			add_refusal(refused, finding, (enum dialect)i, !has_own, out, &also);
	if (also.len)
		buffer_addf(out, "\nAlso by %s.", also.data);
	if (buffer_error(&also))
		out->error = buffer_error(&also);
	buffer_release(&also);
}

static void add_others(const struct finding *finding, bool refused_by_any, struct buffer *out)
{
	struct buffer names = BUFFER_INIT(256);
	if (add_dialects(finding, VERDICT_STRICT, &names))
		buffer_addf(out, "%sStrict servers of %.*s refuse it%s.", out->len ? "\n" : "", (int)names.len, names.data,
			refused_by_any ? ", too" : "; the providers themselves take it");
	buffer_clear(&names);
	size_t takers = add_dialects(finding, VERDICT_TAKES, &names);
	if (takers)
		buffer_addf(out, "%s%.*s %s it.", out->len ? "\n" : "", (int)names.len, names.data, takers == 1 ? "takes" : "take");
	if (buffer_error(&names))
		out->error = buffer_error(&names);
	buffer_release(&names);
}

static void add_sentence(const struct finding *finding, struct buffer *out)
{
	const struct cause_about *about = cause_about(finding->cause);
	size_t count = 0;
	for (int i = 0; i < DIALECTS; i++)
		count = finding->answers[i].count > count ? finding->answers[i].count : count;
	if (finding->cause == CAUSE_DANGLING)
		buffer_addf(out, "%zu call%s of this message %s no result after it.", count, count == 1 ? "" : "s",
			count == 1 ? "has" : "have");
	else
		buffer_add_text(out, about->sentence);
	if (about->once && count > 1)
		buffer_addf(out, " There are %zu from here on.", count);
}

/* One fault, as long as any provider refuses it; what only strict servers refuse is told where a repair mends it. */
static int tell(struct refused *refused, const struct finding *finding)
{
	struct buffer message = BUFFER_INIT(1024), advice = BUFFER_INIT(16384);
	const struct doctor_foreign *foreign = refused->foreign;
	bool any = false, strict = false;
	int rc = 0;
	for (int i = 0; i < DIALECTS; i++) {
		any |= finding->answers[i].verdict == VERDICT_REFUSES;
		strict |= finding->answers[i].verdict == VERDICT_STRICT;
	}
	if (!any && !(strict && cause_about(finding->cause)->once))
		return 0;
	if (foreign->conversation)
		buffer_addf(&message, "conversation %zu, ", foreign->conversation);
	buffer_addf(&message, "message %zu of %zu (m%zu): ", finding->position + 1, refused->path->count,
		foreign->numbers[finding->position]);
	add_sentence(finding, &message);
	rc = faults_add(refused->faults, cause_about(finding->cause)->kind, foreign->ids[finding->position], 0, 0,
		buffer_slice(&message).data, "");
	if (!rc)
		add_refusals(refused, finding, &advice);
	add_others(finding, any, &advice);
	if (!rc)
		rc = buffer_error(&message) ? buffer_error(&message) : buffer_error(&advice);
	if (!rc)
		rc = faults_add_advice(refused->faults, buffer_slice(&advice));
	if (!rc)
		rc = faults_add_repair(refused->faults, cause_about(finding->cause)->repair);
	buffer_release(&message);
	buffer_release(&advice);
	return rc;
}

static int by_position(const void *a, const void *b)
{
	const struct finding *left = a, *right = b;
	if (left->position != right->position)
		return left->position < right->position ? -1 : 1;
	return (int)left->cause - (int)right->cause;
}

/* ---- The whole ---- */

static int note_id(struct refused *refused, struct id_table *table, struct slice id, size_t position)
{
	if (!id.len)
		return 0;
	const char *copy = arena_copy(&refused->ids, id.data, id.len);
	return copy ? id_table_put(table, (struct slice){copy, id.len}, position) : BOBBIN_ENOMEM;
}

static int note_ids(struct refused *refused, size_t position, struct bobbin_error *error)
{
	struct message message;
	struct block_iter iter;
	struct block block;
	size_t before;
	int rc = path_message(refused->path, position, &refused->arena, &message, error);
	if (rc < 0)
		return rc;
	if (message.role == ROLE_TOOL)
		rc = note_id(refused, &refused->answered, message.tool_call_id, position);
	block_iter_init(&iter, &message, &refused->arena);
	while (!rc && block_iter_next(&iter, &block))
		if (block.type == BLOCK_CALL && !id_table_get(&refused->called, block.call_id, &before))
			rc = note_id(refused, &refused->called, block.call_id, position);
	arena_reset(&refused->arena);
	rc = rc ? rc : iter.error;
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static void release(struct refused *refused)
{
	for (size_t i = 0; i < refused->count; i++)
		for (int dialect = 0; dialect < DIALECTS; dialect++)
			buffer_release(&refused->findings[i].answers[dialect].names);
	mem_free(refused->findings);
	id_table_release(&refused->called);
	id_table_release(&refused->answered);
	id_table_release(&refused->keys);
	arena_release(&refused->arena);
	arena_release(&refused->ids);
}

int doctor_refused(const struct path *path, const struct doctor_foreign *foreign, bobbin_faults *faults,
	struct bobbin_error *error)
{
	struct refused refused = {.path = path, .foreign = foreign, .faults = faults};
	int rc = 0;
	for (size_t i = 0; !rc && i < path->count; i++)
		rc = note_ids(&refused, i, error);
	for (int i = 0; !rc && i < DIALECTS && path->count; i++)
		rc = examine_dialect(&refused, (enum dialect)i, error);
	if (refused.count)
		qsort(refused.findings, refused.count, sizeof(*refused.findings), by_position);
	for (size_t i = 0; !rc && i < refused.count && faults->count < LIMIT_FAULTS_REPORTED; i++)
		if ((rc = tell(&refused, &refused.findings[i])) < 0)
			error_set(error, rc, "out of memory");
	release(&refused);
	return rc;
}
