/* SPDX-License-Identifier: MIT */
/*
 * Codex' rollout files, one record {"timestamp","type","payload"} a line; the payloads:
 *
 *	session_meta     {"id":…,"base_instructions":…}; the first names the session
 *	turn_context     {"model":…}: settings of a turn
 *	response_item    ITEM: the context (import_items.h)
 *	event_msg        {"type":…}: what the screen showed, copies of items among it
 *	compacted        {"message":…,"replacement_history":[ITEM,…]}
 *
 * and in the layout of 2025-08 without the wrapping: {"id":…,"instructions":…}, bare items, and
 * {"record_type":"state"}.
 *
 * Invariants: (1) only items are messages; events that repeat them are counted by kind. (2) Of a token_count
 * it is last_token_usage that is recorded, once for the reply it follows: total_token_usage adds up all
 * requests and is no size of a context. (3) A compaction is a summary message with "cut":null: all before it
 * was replaced; what replaced it stands under "src", and its opaque part in the content. (4)
 * thread_rolled_back takes the last turns off the line; what comes next is a branch.
 */
#include "transcript/import_items.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "transcript/import_readers.h"

struct codex {
	struct import *import;
	struct builder builder;
	struct items items;
	struct slice session_id;
	bool began;	      /* a session's first record was met */
	size_t settled, head; /* drafts whose parent is known already; the end of the line at them */
};

/* What Codex itself puts into messages of the role user. */
static const char *const INJECTED[] = {"# AGENTS.md instructions", "<environment_context>",
	"<user_instructions>", "<INSTRUCTIONS>", "<turn_aborted>", "<skill>", "<skills_instructions>",
	"<permissions instructions>", "<collaboration_mode>", "<user_shell_command>",
	"<subagent_notification>", "<model_switch>", "<apps_instructions>", "<plugins_instructions>", NULL};

/* Events that say again what items say, or what never was said to a model. */
static const char *const EVENTS[] = {"user_message", "agent_message", "agent_message_delta",
	"agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break", "task_started",
	"task_complete", "turn_started", "turn_complete", "turn_aborted", "turn_diff", "plan_update",
	"token_count", "context_compacted", "patch_apply_begin", "patch_apply_updated", "patch_apply_end",
	"mcp_tool_call_begin", "mcp_tool_call_end", "mcp_startup_update", "mcp_startup_complete",
	"web_search_begin", "web_search_end", "exec_command_begin", "exec_command_output_delta",
	"exec_command_end", "terminal_interaction", "view_image_tool_call", "image_generation_begin",
	"image_generation_end", "dynamic_tool_call_request", "dynamic_tool_call_response",
	"exec_approval_request", "apply_patch_approval_request", "elicitation_request", "request_user_input",
	"session_configured", "thread_name_updated", "background_event", "stream_error", "error", "warning",
	"deprecation_notice", "entered_review_mode", "exited_review_mode", "item_started", "item_completed",
	"undo_started", "undo_completed", "model_reroute", "collab_agent_spawn_begin",
	"collab_agent_spawn_end", "collab_agent_interaction_begin", "collab_agent_interaction_end",
	"collab_waiting_begin", "collab_waiting_end", "collab_close_begin", "collab_close_end",
	"thread_goal_updated", "hook_started", "hook_completed", "sub_agent_activity", NULL};

static bool is_one_of(const struct json *text, const char *const *list)
{
	for (; *list; list++) {
		if (json_string_is(text, *list))
			return true;
	}
	return false;
}

/* The size of the context at the last reply, as the provider reported it; often said a second time. */
static int read_token_count(struct codex *codex, const struct json *payload)
{
	struct json info, last;
	int rc = items_end_reply(&codex->items);
	size_t reply = codex->items.reply;

	if (rc || reply == DRAFT_NONE || !json_get(payload, "info", &info) ||
		!json_get(&info, "last_token_usage", &last) || drafts_have_more(&codex->builder.drafts, reply))
		return rc;
	struct import_usage usage = items_usage(&last);
	return builder_usage_late(&codex->builder, reply, &usage);
}

/* Where the line stands after `turns` messages that a person typed are taken off its end. */
static size_t find_rollback(const struct codex *codex, size_t at, int64_t turns)
{
	const struct drafts *drafts = &codex->builder.drafts;

	for (; at != DRAFT_NONE && turns > 0; at = drafts_parent(drafts, at)) {
		const struct placed *draft = &drafts->list[at];
		turns -= draft->role == ROLE_USER && draft->origin == ORIGIN_PERSON;
	}
	return at;
}

/* The draft at the end of the line. Drafts that follow the head get their parents only when they are written,
 * so they are followed here by the store's own rule. */
static size_t settle_line(struct codex *codex)
{
	struct drafts *drafts = &codex->builder.drafts;

	for (; codex->settled < drafts->count; codex->settled++) {
		size_t parent;
		bool moves;
		drafts_place_added(drafts, codex->settled, codex->head, &parent, &moves);
		drafts->list[codex->settled].parent = parent == DRAFT_NONE ? PLACED_NONE : (uint32_t)parent;
		if (moves)
			codex->head = codex->settled;
	}
	return codex->head;
}

static int read_rollback(struct codex *codex, const struct json *payload)
{
	int64_t turns = import_number(payload, "num_turns");
	int rc = items_end_reply(&codex->items);

	if (rc || turns <= 0 || !codex->builder.drafts.count)
		return rc;
	size_t head = codex->builder.rewound ? codex->builder.rewound_to : settle_line(codex);
	size_t at = find_rollback(codex, head, turns);
	codex->items.next = (struct draft){.parent_kind = DRAFT_AT, .parent = at};
	codex->items.reply = DRAFT_NONE;
	codex->builder.rewound = true;
	codex->builder.rewound_to = at;
	return 0;
}

static int read_event(struct codex *codex, const struct json *payload, struct place place)
{
	struct json type;

	json_get(payload, "type", &type);
	if (json_string_is(&type, "thread_rolled_back"))
		return read_rollback(codex, payload);
	if (json_string_is(&type, "token_count")) {
		int rc = read_token_count(codex, payload);
		return rc ? rc
			  : import_left_out(
				    codex->import, place, "{report|reports} of usage (each reply keeps its own)");
	}
	if (is_one_of(&type, EVENTS))
		return import_left_out(codex->import, place, "{event|events} that the screen showed (event_msg)");
	return import_not_understood(
		codex->import, place, "{event|events} of the type", import_string(codex->import, payload, "type"));
}

/* The summary, if it is one that can be read, and what of the replacing items cannot. */
static int read_compacted(struct codex *codex, const struct json *payload)
{
	static const char *const OWN[] = {"message", NULL};
	struct buffer blocks = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	struct json_writer writer;
	struct json message, history, item, type;
	struct json_iter iter;

	json_writer_init(&writer, &blocks);
	json_begin_array(&writer);
	if (json_get(payload, "message", &message) && message.type == JSON_STRING && message.len > 2)
		write_text_block(&writer, &message);
	json_get(payload, "replacement_history", &history);
	json_iter_init(&iter, &history);
	while (history.type == JSON_ARRAY && json_iter_next(&iter, NULL, &item)) {
		if (json_get(&item, "type", &type) &&
			(json_string_is(&type, "compaction") || json_string_is(&type, "context_compaction")))
			json_add_value(&writer, &item);
	}
	json_end_array(&writer);
	int rc = buffer_error(&blocks);
	if (!rc)
		rc = items_add_summary(&codex->items, buffer_slice(&blocks), payload, OWN);
	buffer_release(&blocks);
	return rc;
}

static int read_wrapped(
	struct codex *codex, const struct json *type, const struct json *payload, struct place place)
{
	if (json_string_is(type, "response_item")) {
		size_t before = codex->builder.drafts.count;
		int rc = items_add(&codex->items, payload, place);
		codex->builder.rewound =
			codex->builder.rewound && codex->builder.drafts.count == before && !codex->items.open;
		return rc;
	}
	if (json_string_is(type, "event_msg"))
		return read_event(codex, payload, place);
	if (json_string_is(type, "compacted"))
		return read_compacted(codex, payload);
	if (json_string_is(type, "turn_context")) {
		struct slice model = import_string(codex->import, payload, "model");
		if (!slice_equal(model, codex->items.model))
			codex->items.model = import_hold(codex->import, model);
		return import_left_out(codex->import, place, "{setting of a turn|settings of turns} (turn_context)");
	}
	if (json_string_is(type, "session_meta")) {
		if (!codex->began)
			codex->session_id = import_hold(codex->import, import_string(codex->import, payload, "id"));
		codex->began = true;
		return import_left_out(
			codex->import, place, "{header|headers} with the system prompt (session_meta)");
	}
	return import_not_understood(codex->import, place, "{record|records} of the type",
		json_string_content(type, import_scratch(codex->import)));
}

static int read_record(struct codex *codex, const struct json *record, struct place place)
{
	struct json type, payload, value;
	struct slice none = {NULL, 0};

	json_get(record, "timestamp", &codex->items.time);
	if (json_get(record, "payload", &payload) && json_get(record, "type", &type) &&
		type.type == JSON_STRING)
		return read_wrapped(codex, &type, &payload, place);
	if (json_get(record, "record_type", &value))
		return import_left_out(codex->import, place, "{mark|marks} of the client's state");
	if (json_get(record, "type", &type) && type.type == JSON_STRING)
		return items_add(&codex->items, record, place);
	if (json_get(record, "id", &value) && json_get(record, "timestamp", &value)) {
		if (!codex->began)
			codex->session_id = import_hold(codex->import, import_string(codex->import, record, "id"));
		codex->began = true;
		return import_left_out(
			codex->import, place, "{header|headers} with the system prompt (session_meta)");
	}
	return import_not_understood(codex->import, place, "{record|records} without a type", none);
}

bool import_is_codex(const struct import_probe *probe)
{
	static const char *const WRAPPED[] = {
		"session_meta", "turn_context", "response_item", "event_msg", "compacted", NULL};
	struct json type, value;

	if (json_get(&probe->value, "record_type", &type) && json_string_is(&type, "state"))
		return true;
	if (json_get(&probe->value, "payload", &value) && json_get(&probe->value, "type", &type))
		return is_one_of(&type, WRAPPED);
	return json_get(&probe->value, "instructions", &value) &&
	       json_get(&probe->value, "timestamp", &value) && json_get(&probe->value, "id", &value) &&
	       json_get(&probe->value, "git", &value);
}

int import_codex(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct codex codex = {.import = import, .head = DRAFT_NONE};
	struct import_lines lines;
	struct json record;
	struct place place;
	int rc;

	builder_init(&codex.builder, import);
	items_init(&codex.items, &codex.builder);
	codex.items.injected = INJECTED;
	import_lines_init(&lines, import, data, len);
	while ((rc = import_lines_next(&lines, &record, &place)) > 0) {
		if ((rc = read_record(&codex, &record, place)) < 0)
			break;
	}
	if (!rc)
		rc = items_end_reply(&codex.items);
	if (!rc && !codex.builder.drafts.count)
		rc = import_lines_fail(&lines, "codex", error);
	else if (!rc)
		rc = builder_conversation(&codex.builder, codex.session_id, (struct slice){NULL, 0});
	items_release(&codex.items);
	builder_release(&codex.builder);
	return import_end(rc, error);
}
