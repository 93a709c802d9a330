/* SPDX-License-Identifier: MIT */
/*
 * Plans: the window room's numbers and ranges for a session's line, with the
 * texts and ids a host wants to see. A plan keeps copies of the system prompt
 * and the tools, so that rendering it later gives the same request.
 */
#include "session/plan_inside.h"

#include "base/alloc.h"
#include "base/json.h"
#include "session/segments.h"
#include "model/known.h"
#include "tokens/counter.h"
#include "window/render.h"

#define BYTES_PER_TOKEN 3 /* of facts, when only about how many may be shown */

const struct window_plan *plan_window(const bobbin_plan *plan)
{
	return &plan->window;
}

/* ---- The line from the newest run on: nothing before it is shown to it ---- */

static int shown_item(void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	const bobbin_plan *plan = context;
	const struct path *whole = log_path_path(plan->path);
	struct path_item item;
	int rc = path_item(whole, plan->floor + position, &item, error);
	if (rc < 0)
		return rc;
	item.tokens_before -= whole->tokens - plan->shown.tokens;
	item.bytes_before -= whole->bytes - plan->shown.bytes;
	item.turn = item.turn > plan->floor ? item.turn - plan->floor : 0;
	item.round = item.round > plan->floor ? item.round - plan->floor : 0;
	*ret_item = item;
	return 0;
}

static int shown_id(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	const bobbin_plan *plan = context;
	return path_id(log_path_path(plan->path), plan->floor + position, ret_id, error);
}

static int shown_message(void *context, size_t position, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	const bobbin_plan *plan = context;
	return path_message(log_path_path(plan->path), plan->floor + position, arena, ret_message, error);
}

static int shown_late(void *context, size_t position, uint32_t nth, struct arena *arena, char ret_id[PATH_ID_BYTES],
	uint32_t *ret_tokens, struct message *ret_message, struct bobbin_error *error)
{
	const bobbin_plan *plan = context;
	return path_late(log_path_path(plan->path), plan->floor + position, nth, arena, ret_id, ret_tokens, ret_message,
		error);
}

static int take_shown(bobbin_plan *plan, struct bobbin_error *error)
{
	static const struct path_ops ops = {shown_item, shown_id, shown_message, shown_late};
	const struct path *whole = log_path_path(plan->path);
	char floor[PATH_ID_BYTES];
	struct path_item first;
	int rc = session_floor(plan->session, plan->head, floor, &plan->floor, error);
	plan->shown = *whole;
	if (rc < 0 || !plan->floor)
		return rc;
	if ((rc = path_item(whole, plan->floor, &first, error)) < 0)
		return rc;
	plan->shown = (struct path){.ops = &ops,
		.context = plan,
		.count = whole->count - plan->floor,
		.tokens = whole->tokens - first.tokens_before,
		.bytes = whole->bytes - first.bytes_before,
		.exact = whole->exact};
	return 0;
}

/* ---- Making ---- */

/* "anthropic:NAME@URL" as models are opened, "NAME" as budgets name them: the name alone. */
static struct slice plain_model(struct slice model)
{
	const char *colon = model.len ? memchr(model.data, ':', model.len) : NULL;
	const char *at;
	if (colon) {
		model.len -= (size_t)(colon + 1 - model.data);
		model.data = colon + 1;
	}
	at = model.len ? memchr(model.data, '@', model.len) : NULL;
	if (at)
		model.len = (size_t)(at - model.data);
	return model;
}

static void window_options_of(const struct bobbin_window_options *from, const struct plan_model *model,
	struct window_options *ret_options)
{
	*ret_options = (struct window_options)WINDOW_OPTIONS_INIT;
	ret_options->window = from->window ? from->window : model->window_tokens;
	ret_options->output_max = model->output_tokens_max;
	ret_options->output_reserve = from->output_reserve;
	ret_options->margin = from->margin;
	ret_options->trigger = from->trigger;
	ret_options->trigger_tokens = from->trigger_tokens;
	ret_options->target = from->target;
	ret_options->tail_min = from->tail_min;
	ret_options->tail_max = from->tail_max;
	ret_options->keep_recent = from->keep_recent;
	ret_options->keep_first = from->keep_first;
	ret_options->byte_limit = from->byte_limit;
}

static int copy_text(struct arena *arena, const char *text, size_t len, struct slice *ret_slice)
{
	const char *copy = arena_copy(arena, text ? text : "", text ? len : 0);
	*ret_slice = (struct slice){copy, text ? len : 0};
	return copy ? 0 : BOBBIN_ENOMEM;
}

/* Tools are checked here, where the caller can be told where they are wrong. */
static int check_tools(struct slice tools, struct bobbin_error *error)
{
	struct json value;
	if (!tools.len)
		return 0;
	int rc = json_parse(tools.data, tools.len, &value, error);
	if (rc < 0)
		error_prefix(error, "the tool definitions");
	else if (value.type != JSON_ARRAY)
		rc = error_set(error, BOBBIN_EINPUT, "the tool definitions must be a JSON array");
	return rc;
}

static int copy_texts(
	bobbin_plan *plan, const struct bobbin_window_options *options, struct bobbin_error *error)
{
	const char *model = options->model ? options->model : "";
	if (copy_text(&plan->arena, model, strlen(model), &plan->model) < 0 ||
		copy_text(&plan->arena, options->system, options->system_len, &plan->system) < 0 ||
		copy_text(&plan->arena, options->tools, options->tools_len, &plan->tools) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	return check_tools(plan->tools, error);
}

static int fixed_costs(bobbin_plan *plan, struct window_fixed *ret_fixed, struct bobbin_error *error)
{
	struct window_fixed fixed = {.bytes = plan->system.len + plan->tools.len + plan->injected.len};
	int rc = 0;
	if (plan->system.len)
		rc = token_counter_count(
			&plan->counter, plan->system.data, plan->system.len, &fixed.system_tokens);
	if (!rc && plan->tools.len)
		rc = token_counter_count(
			&plan->counter, plan->tools.data, plan->tools.len, &fixed.tools_tokens);
	if (!rc && plan->injected.len)
		rc = token_counter_count(
			&plan->counter, plan->injected.data, plan->injected.len, &fixed.injected_tokens);
	if (!rc && plan->routine.text.len)
		rc = token_counter_count(
			&plan->counter, plan->routine.text.data, plan->routine.text.len, &plan->routine_tokens);
	if (rc < 0)
		return error_set(error, rc, "out of memory");
	*ret_fixed = fixed;
	return 0;
}

/* Facts that the view shows in the person's own words need not be said again: from `shown_from` on it does. */
static int take_facts(bobbin_plan *plan, struct bobbin_error *error)
{
	uint64_t window = plan->options.window ? plan->options.window : WINDOW_TOKENS_DEFAULT;
	const struct path *whole = log_path_path(plan->path);
	struct facts_wanted wanted = {.head = plan->head, .bytes_max = window / FACTS_SHARE * BYTES_PER_TOKEN};
	if (plan->found.usable)
		wanted.shown_from = plan->found.window.cut;
	else
		wanted.shown_from = whole->tokens <= window / 2 ? 0 : whole->count;
	return facts_for(plan->session, &wanted, &plan->arena, &plan->facts, error);
}

/* What a run is told of those before it, and then the facts: one text. */
static int take_routine(bobbin_plan *plan, const char *spoken, struct bobbin_error *error)
{
	struct slice facts = plan->facts.text, *told = &plan->routine.text;
	struct routine_wanted wanted = {plan->head, plan->options.window ? plan->options.window : WINDOW_TOKENS_DEFAULT,
		spoken};
	int rc = routine_tell(plan->session, &wanted, &plan->arena, &plan->routine, error);
	if (rc < 0)
		return rc;
	plan->injected = told->len ? *told : facts;
	if (!told->len || !facts.len)
		return 0;
	char *text = arena_alloc(&plan->arena, told->len + facts.len + 3);
	if (!text)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	memcpy(text, told->data, told->len);
	memcpy(text + told->len, "\n\n", 2);
	memcpy(text + told->len + 2, facts.data, facts.len);
	plan->injected = (struct slice){text, told->len + facts.len + 2};
	return 0;
}

static int keep_id(bobbin_plan *plan, size_t position, const char **ret_id, struct bobbin_error *error)
{
	char id[PATH_ID_BYTES];
	const struct path *path = &plan->shown;
	if (position >= path->count)
		return 0;
	int rc = path_id(path, position, id, error);
	if (rc < 0)
		return rc;
	*ret_id = arena_copy(&plan->arena, id, strlen(id));
	return *ret_id ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

static int fill_part(bobbin_plan *plan, const struct window_part *from, struct bobbin_part *ret_part,
	struct bobbin_error *error)
{
	bool range = from->to > from->from;
	*ret_part = (struct bobbin_part){window_kind_text(from->kind), "", "", from->to - from->from,
		from->tokens, from->source, from->reason};
	if (from->kind == WINDOW_INJECTED && plan->facts.text.len) {
		ret_part->source = "facts of the session's owner";
		ret_part->reason = plan->facts.reason;
	}
	if (!range)
		return 0;
	int rc = keep_id(plan, from->from, &ret_part->from, error);
	return rc < 0 ? rc : keep_id(plan, from->to - 1, &ret_part->to, error);
}

/* The injected text is one text to the window; what the run is told and the facts are two parts of it. */
static void part_routine(bobbin_plan *plan)
{
	struct bobbin_part told = {
		"injected", "", "", 0, plan->routine_tokens, "earlier runs of the routine", plan->routine.reason};
	size_t at = 0;
	if (!plan->routine.text.len)
		return;
	while (at < plan->part_count && strcmp(plan->parts[at].kind, "injected") != 0)
		at++;
	if (at == plan->part_count)
		return;
	if (!plan->facts.text.len) {
		told.tokens = plan->parts[at].tokens;
		plan->parts[at] = told;
		return;
	}
	memmove(&plan->parts[at + 1], &plan->parts[at], (plan->part_count - at) * sizeof(told));
	plan->part_count++;
	plan->parts[at] = told;
	uint64_t *rest = &plan->parts[at + 1].tokens;
	*rest = *rest > told.tokens ? *rest - told.tokens : 0;
}

static int fill_hidden(bobbin_plan *plan, const struct window_hidden *from, struct bobbin_hidden *ret_hidden)
{
	char pointer[WINDOW_POINTER_BYTES];
	window_pointer(from, pointer);
	*ret_hidden = (struct bobbin_hidden){arena_copy(&plan->arena, from->from_id, strlen(from->from_id)),
		arena_copy(&plan->arena, from->to_id, strlen(from->to_id)), from->to - from->from,
		from->tokens, from->reason, arena_copy(&plan->arena, pointer, strlen(pointer))};
	return ret_hidden->from && ret_hidden->to && ret_hidden->pointer ? 0 : BOBBIN_ENOMEM;
}

/* What lies before the newest run. */
static int hide_before_floor(bobbin_plan *plan, struct bobbin_error *error)
{
	const struct path *whole = log_path_path(plan->path);
	struct window_hidden hidden = {.from = 0,
		.to = plan->floor,
		.tokens = whole->tokens - plan->shown.tokens,
		.reason = "before the newest run of a routine"};
	int rc = path_id(whole, 0, hidden.from_id, error);
	if (!rc)
		rc = path_id(whole, plan->floor - 1, hidden.to_id, error);
	if (rc < 0)
		return rc;
	rc = fill_hidden(plan, &hidden, &plan->hidden[plan->hidden_count++]);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

static void fill_budget(bobbin_plan *plan)
{
	const struct window_plan *window = &plan->window;
	const struct window_budget *from = &window->budget;
	plan->budget = (struct bobbin_budget){from->window, from->output_reserve, from->margin, from->system,
		from->tools, from->injected, from->history, from->trigger, from->target, from->tail,
		from->record, log_path_path(plan->path)->tokens, window->view_tokens, window->over_trigger,
		window->exact, plan->counter.name};
}

/* The window's ranges as the host sees them. */
static int describe(bobbin_plan *plan, struct bobbin_error *error)
{
	const struct window_plan *window = &plan->window;
	int rc = 0;
	fill_budget(plan);
	plan->parts = arena_alloc(&plan->arena, (window->part_count + 3) * sizeof(*plan->parts));
	plan->hidden = arena_alloc(&plan->arena, (window->hidden_count + 2) * sizeof(*plan->hidden));
	if (!plan->parts || !plan->hidden)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < window->part_count; i++)
		rc = fill_part(plan, &window->parts[i], &plan->parts[i], error);
	plan->part_count = window->part_count;
	if (!rc)
		part_routine(plan);
	if (plan->facts.reason && !plan->facts.text.len) /* the facts could not be read: that is said, too */
		plan->parts[plan->part_count++] = (struct bobbin_part){
			"injected", "", "", 0, 0, "facts of the session's owner", plan->facts.reason};
	if (!rc && plan->floor)
		rc = hide_before_floor(plan, error);
	for (size_t i = 0; !rc && i < window->hidden_count; i++)
		if ((rc = fill_hidden(plan, &window->hidden[i], &plan->hidden[plan->hidden_count++])) < 0)
			error_set(error, rc, "out of memory");
	if (rc < 0)
		return rc;
	bool cut = window->cut || window->inner_cut != WINDOW_NONE;
	plan->cut = plan->inner_cut = "";
	if (cut)
		rc = keep_id(plan, window->cut, &plan->cut, error);
	if (!rc && window->inner_cut != WINDOW_NONE)
		rc = keep_id(plan, window->inner_cut, &plan->inner_cut, error);
	return rc;
}

/* The record in force, or, when it is stale, the reason for the plan to tell.
 */
static const struct window_record *record_of(bobbin_plan *plan)
{
	if (!plan->found.seen)
		return NULL;
	if (!plan->found.usable)
		plan->found.window = (struct window_record){
			.stale = plan->found.stale, .cut = WINDOW_NONE, .inner_cut = WINDOW_NONE};
	return &plan->found.window;
}

/* Positions of the record in force, counted from the floor: it was made above it (compaction.c). */
static void place_record(bobbin_plan *plan)
{
	struct window_record *window = &plan->found.window;
	if (!plan->found.usable)
		return;
	window->cut -= plan->floor;
	if (window->inner_cut != WINDOW_NONE)
		window->inner_cut -= plan->floor;
}

static int make(bobbin_plan *plan, const struct bobbin_window_options *options,
	const struct plan_model *model, struct bobbin_error *error)
{
	struct window_fixed fixed;
	bool as_of = options->at && *options->at;
	struct slice spoken = plain_model(slice_of(options->model ? options->model : ""));
	struct plan_model facts = *model;
	const char *name = arena_copy(&plan->arena, spoken.data ? spoken.data : "", spoken.len);
	if (!name)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	token_counter_for_model(name, &plan->counter);
	if (!facts.window_tokens && spoken.len) {
		struct known_model known = known_model(spoken);
		facts.window_tokens = known.window_tokens;
		facts.output_tokens_max = known.output_tokens_max;
	}
	if (model->factor && !plan->counter.exact)
		plan->counter.factor = model->factor;
	window_options_of(options, &facts, &plan->options);
	int rc = copy_texts(plan, options, error);
	if (!rc)
		rc = log_path_new(plan->session->log, plan->head, &plan->counter, &plan->path, error);
	if (!rc)
		rc = compaction_find(
			plan->session, plan->head, as_of, &plan->counter, &plan->arena, &plan->found, error);
	if (!rc && !options->no_facts)
		rc = take_facts(plan, error);
	if (!rc)
		rc = take_routine(plan, name, error);
	if (!rc)
		rc = fixed_costs(plan, &fixed, error);
	if (!rc)
		rc = window_budget(&plan->options, &fixed, &plan->numbers, error);
	if (!rc)
		rc = take_shown(plan, error);
	if (!rc)
		place_record(plan);
	if (!rc)
		rc = window_plan(&plan->shown, &plan->numbers, &plan->options, record_of(plan),
			&plan->counter, &plan->window, error);
	return rc < 0 ? rc : describe(plan, error);
}

int plan_make_at(bobbin_session *session, uint32_t head, const struct bobbin_window_options *options,
	const struct plan_model *model, bobbin_plan **ret_plan, struct bobbin_error *error)
{
	bobbin_plan *plan = mem_alloc_zero(sizeof(*plan));
	if (!plan)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	plan->session = session;
	plan->head = head;
	int rc = make(plan, options, model, error);
	if (rc < 0)
		bobbin_plan_free(plan);
	else
		*ret_plan = plan;
	return rc;
}

int bobbin_plan_make(bobbin_session *session, const struct bobbin_window_options *options,
	bobbin_plan **ret_plan, struct bobbin_error *error)
{
	struct bobbin_window_options all = BOBBIN_WINDOW_OPTIONS_INIT;
	const struct plan_model unknown = {0, 0, 0};
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	uint32_t head = log_head(session->log);
	if (all.at && *all.at)
		rc = log_find(session->log, slice_of(all.at), &head, error);
	if (rc < 0)
		return rc;
	return plan_make_at(session, head, &all, &unknown, ret_plan, error);
}

void bobbin_plan_free(bobbin_plan *plan)
{
	if (!plan)
		return;
	log_path_free(plan->path);
	token_counter_release(&plan->counter);
	arena_release(&plan->arena);
	mem_free(plan);
}

/* ---- Looking ---- */

const struct bobbin_budget *bobbin_plan_budget(const bobbin_plan *plan)
{
	return &plan->budget;
}

const char *bobbin_plan_cut(const bobbin_plan *plan)
{
	return plan->cut;
}

const char *bobbin_plan_inner_cut(const bobbin_plan *plan)
{
	return plan->inner_cut;
}

int bobbin_plan_summary_stale(const bobbin_plan *plan)
{
	return plan->window.summary_stale;
}

const struct bobbin_part *bobbin_plan_part(const bobbin_plan *plan, size_t index)
{
	return index < plan->part_count ? &plan->parts[index] : NULL;
}

const struct bobbin_hidden *bobbin_plan_hidden(const bobbin_plan *plan, size_t index)
{
	return index < plan->hidden_count ? &plan->hidden[index] : NULL;
}

static void add_budget_json(struct json_writer *writer, const struct bobbin_budget *budget)
{
	json_key(writer, "budget");
	json_begin_object(writer);
	json_member_uint(writer, "window", budget->window);
	json_member_uint(writer, "output_reserve", budget->output_reserve);
	json_member_uint(writer, "margin", budget->margin);
	json_member_uint(writer, "system", budget->system);
	json_member_uint(writer, "tools", budget->tools);
	json_member_uint(writer, "injected", budget->injected);
	json_member_uint(writer, "history", budget->history);
	json_member_uint(writer, "trigger", budget->trigger);
	json_member_uint(writer, "target", budget->target);
	json_member_uint(writer, "tail", budget->tail);
	json_member_uint(writer, "record", budget->record);
	json_member_uint(writer, "line", budget->line);
	json_member_uint(writer, "view", budget->view);
	json_member_bool(writer, "over_trigger", budget->over_trigger);
	json_member_bool(writer, "exact", budget->exact);
	json_member_text(writer, "counted_by", budget->counted_by);
	json_end_object(writer);
}

static void add_id_json(struct json_writer *writer, const char *key, const char *id)
{
	json_key(writer, key);
	if (*id)
		json_add_text(writer, id);
	else
		json_add_null(writer);
}

static void add_ranges_json(struct json_writer *writer, const bobbin_plan *plan)
{
	json_key(writer, "parts");
	json_begin_array(writer);
	for (size_t i = 0; i < plan->part_count; i++) {
		const struct bobbin_part *part = &plan->parts[i];
		json_begin_object(writer);
		json_member_text(writer, "kind", part->kind);
		add_id_json(writer, "from", part->from);
		add_id_json(writer, "to", part->to);
		json_member_uint(writer, "messages", part->messages);
		json_member_uint(writer, "tokens", part->tokens);
		json_member_text(writer, "source", part->source);
		json_member_text(writer, "reason", part->reason);
		json_end_object(writer);
	}
	json_end_array(writer);
	json_key(writer, "not_shown");
	json_begin_array(writer);
	for (size_t i = 0; i < plan->hidden_count; i++) {
		const struct bobbin_hidden *hidden = &plan->hidden[i];
		json_begin_object(writer);
		json_member_text(writer, "from", hidden->from);
		json_member_text(writer, "to", hidden->to);
		json_member_uint(writer, "messages", hidden->messages);
		json_member_uint(writer, "tokens", hidden->tokens);
		json_member_text(writer, "reason", hidden->reason);
		json_member_text(writer, "pointer", hidden->pointer);
		json_end_object(writer);
	}
	json_end_array(writer);
}

int bobbin_plan_json(const bobbin_plan *plan, char **ret_text, size_t *ret_len, struct bobbin_error *error)
{
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	struct json_writer writer;
	json_writer_init(&writer, &out);
	json_begin_object(&writer);
	json_member_text(&writer, "session", log_info(plan->session->log)->id);
	add_budget_json(&writer, &plan->budget);
	add_id_json(&writer, "cut", plan->cut);
	add_id_json(&writer, "inner_cut", plan->inner_cut);
	json_member_bool(&writer, "summary_stale", plan->window.summary_stale);
	add_ranges_json(&writer, plan);
	json_end_object(&writer);
	*ret_text = buffer_take(&out, ret_len);
	buffer_release(&out);
	return *ret_text ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

/* ---- Rendering ---- */

int plan_render(const bobbin_plan *plan, const char *dialect, const char *model, struct buffer *out,
	struct bobbin_error *error)
{
	struct render_options options = {.model = slice_of(model),
		.system = plan->system,
		.record = plan->found.window.text,
		.injected = plan->injected,
		.stream = true,
		.output_max = plan->budget.output_reserve,
		.byte_limit = plan->options.byte_limit};
	if (!dialect || !dialect_of(dialect, &options.dialect))
		return error_set(error, BOBBIN_EUNSUPPORTED,
			"there is no dialect '%s'; there are openai-chat, "
			"openai-responses and anthropic",
			dialect ? dialect : "");
	/* A conversation that is hidden is continued; where there is none, nothing is made up. */
	if (plan->head == NODE_NONE && !options.record.len)
		return error_set(error, BOBBIN_EINPUT, "there is no message to send in session %s",
			log_info(plan->session->log)->id);
	if (plan->tools.len) {
		int rc = json_parse(plan->tools.data, plan->tools.len, &options.tools, error);
		if (rc < 0)
			return rc;
	}
	return render_request(&plan->window, &plan->shown, &options, out, NULL, error);
}

int bobbin_plan_request(const bobbin_plan *plan, const char *dialect, char **ret_body, size_t *ret_len,
	struct bobbin_error *error)
{
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	const char *model = plan->model.len ? plan->model.data : "unnamed";
	int rc = plan_render(plan, dialect, model, &out, error);
	char *body = rc < 0 ? NULL : buffer_take(&out, ret_len);
	buffer_release(&out);
	if (rc < 0)
		return rc;
	if (!body)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_body = body;
	return 0;
}
