/* SPDX-License-Identifier: MIT */
/* See plan.h. Tokens are bytes / 4, rounded up: of everything readable in the request, and of the
 * answer. */
#include "model/plan.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "model/provider.h"

#define CHUNK_BYTES 24
#define BYTES_PER_TOKEN 4

void plan_init(struct plan *plan)
{
	*plan = (struct plan){.arena = ARENA_INIT};
}

void plan_release(struct plan *plan)
{
	mem_free(plan->events);
	arena_release(&plan->arena);
	plan_init(plan);
}

static uint64_t tokens_of(size_t bytes)
{
	return (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

/* The first that the script gives (is not negative), else `otherwise`. */
static int64_t given(int64_t step, int64_t setting, int64_t otherwise)
{
	if (step >= 0)
		return step;
	return setting >= 0 ? setting : otherwise;
}

/* Adds an event after the delay that is due. NULL when memory is out. */
static struct model_event *add_event(struct plan *plan, enum model_event_type type)
{
	if (mem_grow((void **)&plan->events, &plan->cap, plan->count + 1, sizeof(*plan->events)) < 0) {
		plan->failed = true;
		return NULL;
	}
	struct planned *planned = &plan->events[plan->count++];
	*planned = (struct planned){.delay_ms = plan->pending_ms, .event = {.type = type}};
	plan->pending_ms = 0;
	return &planned->event;
}

static struct slice copied(struct plan *plan, struct slice text)
{
	char *copy = arena_copy(&plan->arena, text.data ? text.data : "", text.len);
	plan->failed |= !copy;
	return (struct slice){copy, copy ? text.len : 0};
}

static void add_failure(struct plan *plan, enum model_failure failure, int http_status, const char *message)
{
	struct slice copy = copied(plan, slice_of(message));
	struct model_event *event = add_event(plan, MODEL_EVENT_ERROR);
	if (event && copy.data)
		model_event_failure(event, failure, http_status, copy.data);
}

int plan_failure(struct plan *plan, enum model_failure failure, int http_status, const char *message)
{
	add_failure(plan, failure, http_status, message);
	return plan->failed ? BOBBIN_ENOMEM : 0;
}

/* The next place to split after `at`: the script's offsets, or every so many bytes. */
static size_t next_split(const struct plan_input *input, size_t at, size_t len)
{
	const struct script_step *step = input->step;
	for (size_t i = 0; i < step->chunk_count; i++) {
		if (step->chunks[i] > at)
			return step->chunks[i] < len ? step->chunks[i] : len;
	}
	int64_t bytes =
		step->chunk_count ? 0 : given(step->chunk_bytes, input->settings->chunk_bytes, CHUNK_BYTES);
	return bytes == 0 || (uint64_t)bytes >= len - at ? len : at + (size_t)bytes;
}

static void add_text(
	struct plan *plan, const struct plan_input *input, enum model_event_type type, struct slice text)
{
	int64_t delay_ms = given(input->step->chunk_delay_ms, input->settings->chunk_delay_ms, 0);
	size_t shown = 0;
	text = copied(plan, text);
	plan->output_bytes += text.len;
	for (size_t at = 0; at < text.len;) {
		plan->pending_ms += at ? delay_ms : 0;
		at = next_split(input, at, text.len);
		size_t whole = utf8_truncate(text.data, text.len, at);
		if (whole == shown)
			continue;
		struct model_event *event = add_event(plan, type);
		if (!event)
			return;
		event->text = (struct slice){text.data + shown, whole - shown};
		shown = whole;
	}
}

/* Without an id of its own a call is named after the body, so that no two requests give the same. */
static struct slice call_id(struct plan *plan, const struct plan_input *input, struct slice id, size_t index)
{
	if (id.len > 0)
		return copied(plan, id);
	struct buffer made = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	buffer_addf(&made, "call_%08x_%zu", crc32c(0, input->request->body.data, input->request->body.len),
		index + 1);
	plan->failed |= buffer_error(&made) != 0;
	struct slice copy = copied(plan, buffer_slice(&made));
	buffer_release(&made);
	return copy;
}

static void add_call(struct plan *plan, struct slice id, struct slice name, struct slice arguments)
{
	struct slice name_copy = copied(plan, name), arguments_copy = copied(plan, arguments);
	struct model_event *event = add_event(plan, MODEL_EVENT_CALL);
	if (!event)
		return;
	event->call.id = id;
	event->call.name = name_copy;
	event->call.arguments = arguments_copy;
	plan->output_bytes += name.len + arguments.len;
}

/* Returns how many there were. */
static size_t add_calls(struct plan *plan, const struct plan_input *input, bool scripted)
{
	size_t count = scripted ? input->step->call_count : input->answer->call_count;
	for (size_t i = 0; i < count && !plan->failed; i++) {
		if (scripted) {
			const struct script_call *call = &input->step->calls[i];
			add_call(plan, call_id(plan, input, call->id, i), call->name, call->arguments);
		} else {
			const struct answer_call *call = &input->answer->calls[i];
			add_call(plan, call_id(plan, input, SLICE_LITERAL(""), i), call->name,
				call->arguments);
		}
	}
	return count;
}

static void add_sealed(struct plan *plan, const struct plan_input *input)
{
	for (size_t i = 0; i < input->step->sealed_count; i++) {
		struct slice copy = copied(plan, input->step->sealed[i]);
		struct model_event *event = add_event(plan, MODEL_EVENT_SEALED);
		if (event)
			event->sealed = copy;
	}
}

static void add_usage(struct plan *plan, const struct plan_input *input)
{
	const struct script_step *step = input->step;
	int64_t shown = (int64_t)tokens_of(input->seen->visible_bytes);
	int64_t cached = (int64_t)(input->cached_bytes / BYTES_PER_TOKEN);
	bool beside = input->request->dialect == MODEL_ANTHROPIC;
	struct model_event *event = step->no_usage ? NULL : add_event(plan, MODEL_EVENT_USAGE);
	if (!event)
		return;
	if (cached > shown)
		cached = shown;
	event->usage.dialect = input->request->dialect;
	event->usage.input = given(step->input, -1, beside ? shown - cached : shown);
	event->usage.cached = given(step->cached, -1, cached);
	event->usage.cache_write = given(step->cache_write, -1, beside ? 0 : -1);
	event->usage.output = given(step->output, -1, (int64_t)tokens_of(plan->output_bytes));
}

static struct slice stop_word(enum model_dialect dialect, enum model_stop stop)
{
	static const char *const words[][MODEL_STOP_OTHER] = {
		{"stop", "tool_calls", "length", "content_filter", "stop"},
		{"completed", "completed", "max_output_tokens", "content_filter", "completed"},
		{"end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"},
	};
	return slice_of(words[dialect][stop]);
}

/* The script may name a stop of ours, which is said in the dialect's word, or any word of its own. */
static void add_done(struct plan *plan, const struct plan_input *input, enum model_stop stop)
{
	struct slice word = input->step->stop;
	bool own_word = word.data != NULL;
	for (int i = MODEL_STOP_END; own_word && i < MODEL_STOP_OTHER; i++) {
		if (!slice_is(word, model_stop_text((enum model_stop)i)))
			continue;
		stop = (enum model_stop)i;
		own_word = false;
	}
	struct slice copy = copied(plan, own_word ? word : stop_word(input->request->dialect, stop));
	struct model_event *event = add_event(plan, MODEL_EVENT_DONE);
	if (!event)
		return;
	event->stop = own_word ? MODEL_STOP_OTHER : stop;
	event->stop_text = copy;
}

/* The answers that are refusals. True if one was planned. */
static bool add_refusal(struct plan *plan, const struct plan_input *input)
{
	const struct script_step *step = input->step;
	uint64_t shown = tokens_of(input->seen->visible_bytes);
	struct bobbin_error words = {0};
	if (step->overflow || shown > input->properties->window_tokens) {
		error_set(&words, BOBBIN_EPROVIDER,
			"context_length_exceeded: the request has %llu tokens, the window of %s %llu",
			(unsigned long long)shown, input->properties->name,
			(unsigned long long)input->properties->window_tokens);
		add_failure(plan, MODEL_FAILURE_OVERFLOW, 400, words.message);
		return true;
	}
	if (step->status < 0 || step->status == 200)
		return false;
	error_set(&words, BOBBIN_EPROVIDER, "the mock was told to answer HTTP %lld", (long long)step->status);
	add_failure(plan, model_failure_of_status((int)step->status), (int)step->status,
		step->message.len ? step->message.data : words.message);
	if (!plan->failed)
		plan->events[plan->count - 1].event.error.retry_after_ms = step->retry_after_ms;
	return true;
}

/* The text that is shown: shortened where the connection is cut (what came of a code point by then is
 * never shown), or to the output limit. */
static struct slice sent_text(const struct plan_input *input, bool scripted, bool *ret_over_limit)
{
	struct slice text = scripted ? input->step->text : buffer_slice(&input->answer->text);
	int64_t limit = input->seen->output_tokens_max;
	*ret_over_limit = limit > 0 && tokens_of(text.len) > (uint64_t)limit;
	if (*ret_over_limit)
		text.len = utf8_truncate(text.data, text.len, (size_t)limit * BYTES_PER_TOKEN);
	if (input->step->cut_after >= 0 && (uint64_t)input->step->cut_after < text.len)
		text.len = utf8_truncate(text.data, text.len, (size_t)input->step->cut_after);
	return text;
}

static void add_end(struct plan *plan, const struct plan_input *input, enum model_stop stop)
{
	const struct script_step *step = input->step;
	if (step->hang)
		return;
	if (step->garbage) {
		add_failure(plan, MODEL_FAILURE_PROTOCOL, 200, "what the mock sent is not the protocol");
	} else if (step->cut_after >= 0) {
		add_failure(plan, MODEL_FAILURE_CUT_OFF, 200, "the connection ended before the answer did");
	} else {
		add_usage(plan, input);
		add_done(plan, input, stop);
	}
}

int plan_answer(struct plan *plan, const struct plan_input *input)
{
	const struct script_step *step = input->step;
	bool scripted = step->text.data || step->call_count > 0, over_limit = false;
	plan->pending_ms = given(step->delay_ms, input->settings->delay_ms, 0);
	if (add_refusal(plan, input))
		return plan->failed ? BOBBIN_ENOMEM : 0;
	if (step->thinking.len > 0)
		add_text(plan, input, MODEL_EVENT_THINKING, step->thinking);
	add_sealed(plan, input);
	add_text(plan, input, MODEL_EVENT_TEXT, sent_text(input, scripted, &over_limit));
	enum model_stop stop = over_limit ? MODEL_STOP_LENGTH : MODEL_STOP_END;
	if (step->cut_after < 0 && !step->garbage && !over_limit && add_calls(plan, input, scripted) > 0)
		stop = MODEL_STOP_TOOL_CALLS;
	add_end(plan, input, stop);
	return plan->failed ? BOBBIN_ENOMEM : 0;
}
