/* SPDX-License-Identifier: MIT */
/*
 * What is known about the owner, as tools for a model. It may look, and it may ask that something be kept; it does not speak for
 * the person. What they typed in the very words of the call is their fact, from their message; any other words are the
 * model's, a proposal that waits for them and is shown to nobody until then.
 */
#include "memory/judge.h"
#include "session/facts.h"
#include "session/tools.h"

static int open_facts(struct call *call, bool create, struct memory **ret_memory)
{
	if (!*log_info(call->session->log)->owner)
		return error_set(call->error, BOBBIN_EINPUT, "this conversation belongs to nobody, so nothing is known of them");
	return facts_memory(call->session, create, ret_memory, call->error);
}

int tool_memory_search(struct call *call)
{
	struct fact_search_options options = {0};
	struct fact *facts = NULL;
	struct memory *memory;
	struct slice query;
	struct json past;
	size_t count = 0;
	int rc = tool_need(call, "query", &query);

	if (!rc && json_get(&call->arguments, "past", &past) && !json_bool(&past, &options.past))
		rc = error_set(call->error, BOBBIN_EINPUT, "\"past\" is true or false");
	if (!rc)
		rc = open_facts(call, false, &memory);
	if (!rc)
		rc = memory_search(memory, query, &options, &call->arena, &facts, &count, call->error);
	if (rc < 0 && rc != BOBBIN_ENOTFOUND)
		return rc;
	for (size_t i = 0; i < count; i++) {
		buffer_addf(&call->out, "f%llu: ", (unsigned long long)facts[i].number);
		facts_add_text(&call->out, &facts[i]);
		buffer_add_char(&call->out, '\n');
	}
	if (!count)
		buffer_add_text(&call->out, "nothing is known about that");
	return 0;
}

/* The message that the call names, or the newest that was typed; NODE_NONE: none of the session's own that a person typed. */
static int find_typed(struct call *call, uint32_t *ret_node)
{
	struct log *log = call->session->log;
	struct slice id = tool_text(call, "message");
	struct log_node info;
	uint32_t node = NODE_NONE;
	int rc = id.len ? 0 : newest_typed(log, log_head(log), &node, call->error);

	if (rc < 0)
		return rc;
	if (id.len && (log_find(log, id, &node, NULL) < 0 || !log_on_line(log, node, log_head(log))))
		return error_set(call->error, BOBBIN_EINPUT, "there is no message %.100s in this conversation", id.data);
	if (node != NODE_NONE && (log_node(log, node, &info) < 0 || info.level || info.role != ROLE_USER ||
					 info.origin != ORIGIN_PERSON))
		node = NODE_NONE;
	*ret_node = node;
	return 0;
}

/* 1 if the person said it in these words. */
static int take(struct call *call, struct memory *memory, uint32_t node, struct slice text, struct fact_report *report)
{
	struct log *log = call->session->log;
	struct buffer typed = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct message message;
	char id[PATH_ID_BYTES];
	int rc = facts_typed_text(log, node, &typed, &message, &call->arena, call->error);

	if (!rc)
		rc = log_node_id(log, node, id, call->error);
	if (!rc)
		rc = memory_take_one(memory, slice_of(log_info(log)->id), slice_of(id), buffer_slice(&typed), text,
			facts_said_ns(&message), report, call->error);
	buffer_release(&typed);
	return rc;
}

/* Its source is the message with the call. */
static int propose(struct call *call, struct memory *memory, struct slice text, struct fact_report *report)
{
	struct log *log = call->session->log;
	struct fact_new fact = {.text = text, .session = slice_of(log_info(log)->id)};
	struct judgement judgement;
	char id[PATH_ID_BYTES];
	const struct platform *platform = platform_default();
	int rc = log_head(log) == NODE_NONE
			 ? error_set(call->error, BOBBIN_EINPUT, "nobody has said anything in this conversation")
			 : log_node_id(log, log_head(log), id, call->error);

	if (!rc && text.len <= FACT_TEXT_BYTES)
		rc = judge(text, platform->realtime_ns(platform->context), &judgement, call->error);
	if (rc < 0)
		return rc;
	if (text.len <= FACT_TEXT_BYTES) {
		fact.relation = slice_of(judgement.relation);
		fact.expires_ns = judgement.expires_ns;
	}
	fact.message = slice_of(id);
	return memory_propose(memory, &fact, report, call->error);
}

static void say(struct call *call, const struct fact_report *report, bool said)
{
	struct buffer *out = &call->out;
	unsigned long long number = report->number;

	if (report->added == FACT_BURIED)
		buffer_add_text(out, "the user had this forgotten; nothing was kept");
	else if (report->added == FACT_KNOWN || report->added == FACT_MERGED)
		buffer_addf(out, "nothing new: f%llu says that, or waits for the user to say it", number);
	else if (said)
		buffer_addf(out, "kept as f%llu, as the user said it", number);
	else
		buffer_addf(out, "proposed as f%llu, in words that are not the user's: it is used once they say it in one "
				 "sentence, or keep it with bobbin memory keep f%llu", number, number);
	if (report->superseded)
		buffer_addf(out, "; f%llu does not hold any more", (unsigned long long)report->superseded);
}

int tool_memory_add(struct call *call)
{
	struct fact_report report = {0};
	struct memory *memory;
	struct slice text;
	uint32_t node = NODE_NONE;
	int rc = tool_need(call, "text", &text), said = 0;

	if (!rc && call->session->store->read_only)
		rc = error_set(call->error, BOBBIN_EREADONLY, "the store was opened for reading only");
	if (!rc)
		rc = find_typed(call, &node);
	if (!rc)
		rc = open_facts(call, true, &memory);
	if (!rc && node != NODE_NONE)
		rc = said = take(call, memory, node, text, &report);
	if (rc == 0)
		rc = propose(call, memory, text, &report);
	if (rc < 0)
		return rc;
	say(call, &report, said == 1);
	return 0;
}
