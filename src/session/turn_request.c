/* SPDX-License-Identifier: MIT */
/* A turn's requests: planned, checked, sent, and tried again where that is
 * safe. */
#include "session/turn.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "session/compact.h"
#include "session/model_deriver.h"
#include <stdio.h>

#define RETRY_FIRST_MS 500
#define RETRY_LONGEST_MS 60000
#define OVERFLOWS_MAX 3 /* each halves the request, or nearly; a refusal costs nothing */

void turn_close_stream(bobbin_turn *turn)
{
	pthread_mutex_lock(&turn->stream_mutex);
	struct model_stream *stream = turn->stream;
	turn->stream = NULL;
	pthread_mutex_unlock(&turn->stream_mutex);
	model_stream_free(stream);
}

/* The last look before it leaves: a body that our own check refuses is not
 * sent. */
int check_body(const char *dialect, struct slice body, struct bobbin_error *error)
{
	struct check_faults faults;
	int rc = check_request(dialect, body, NULL, &faults, error);
	if (rc < 0)
		return rc;
	if (faults.count)
		rc = error_set_at(error, BOBBIN_EINPUT, 0, faults.items[0].offset,
			"the request would be refused (%s: %s); nothing was sent", faults.items[0].where,
			faults.items[0].message);
	check_faults_release(&faults);
	return rc;
}

static int announce(bobbin_turn *turn, const bobbin_plan *plan)
{
	const struct bobbin_hidden *hidden;
	char text[160];
	uint64_t messages = 0;
	for (size_t i = 0; (hidden = bobbin_plan_hidden(plan, i)); i++)
		messages += hidden->messages;
	uint64_t tokens = bobbin_plan_budget(plan)->view;
	int len = snprintf(text, sizeof(text), "%llu tokens of the conversation", (unsigned long long)tokens);
	if (messages && len > 0)
		snprintf(text + len, sizeof(text) - (size_t)len, ", %llu message%s not shown or not in full",
			(unsigned long long)messages, messages == 1 ? "" : "s");
	return turn_queue(turn, BOBBIN_EVENT_PLANNED, NULL, NULL, slice_of(text), tokens);
}

/* ---- Counting ---- */

static struct plan_model model_of(const bobbin_turn *turn, const struct model_properties *properties)
{
	return (struct plan_model){
		properties->window_tokens, properties->output_tokens_max, turn->model->factor};
}

/* What is sent, so that a report can be told from one about another view. */
static void measure(bobbin_turn *turn, const bobbin_plan *plan, struct slice body)
{
	const struct bobbin_budget *budget = bobbin_plan_budget(plan);
	turn->sent.view = hash_bytes(body.data, body.len);
	turn->sent.estimated = budget->system + budget->tools + budget->injected + budget->view;
	turn->sent.factor = turn->model->factor ? turn->model->factor : COUNTER_FACTOR_ONE;
}

void turn_calibrate(bobbin_turn *turn, const struct model_usage *usage)
{
	int64_t input = model_usage_request_tokens(usage);
	const struct token_usage reported = {
		.input = input > 0 ? (uint64_t)input : 0, .has_input = input > 0};
	struct token_counter counter;
	token_counter_for_model(turn->window.model, &counter);
	counter.factor = turn->sent.factor;
	if (token_counter_observe(&counter, &turn->sent, turn->sent.view, &reported))
		turn->model->factor = counter.factor;
	token_counter_release(&counter);
}

/* ---- Compacting and planning ---- */

enum urgency {
	CAN_WAIT, /* the request fits: the reply is not held up for a model that writes records */
	MUST_SHRINK,
	OVERFLOWED, /* whatever the trigger says */
};

/* Compacts, and says what was done; when nothing was, `error` has the reason, for who wants to tell it. */
static int compact(bobbin_turn *turn, const struct model_properties *properties, enum urgency urgency,
	bool *ret_done, struct bobbin_error *error)
{
	struct deriver deriver;
	struct compact_request request = {.window = &turn->window,
		.model = model_of(turn, properties),
		.force = urgency == OVERFLOWED,
		.only_ready = turn->deriver && urgency == CAN_WAIT};
	bobbin_compaction *compaction;
	if (turn->deriver) {
		deriver = model_deriver(turn->deriver);
		request.deriver = &deriver;
	}
	int rc = compact_now(turn->session, &request, &compaction, error);
	if (rc < 0)
		return rc;
	*ret_done = bobbin_compaction_report(compaction)->done;
	if (*ret_done)
		rc = turn_queue(turn, BOBBIN_EVENT_NOTE, NULL, "compaction",
			slice_of(bobbin_compaction_report(compaction)->line), bobbin_compaction_report(compaction)->messages);
	else
		error_set(error, BOBBIN_EBUDGET, "%s", bobbin_compaction_report(compaction)->line);
	bobbin_compaction_free(compaction);
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}

/* The plan of the next request; when its view is too full, of what compaction
 * leaves of it. A compaction that fails costs the turn nothing: the plan leaves
 * out what does not fit, and says so. */
static int plan(bobbin_turn *turn, const struct model_properties *properties, bobbin_plan **ret_plan,
	struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	bool done = false;
	const struct plan_model model = model_of(turn, properties);
	int rc = plan_make_at(turn->session, turn->head_node, &turn->window, &model, ret_plan, error);
	bool at_head = turn->head_node == log_head(turn->session->log);
	if (rc < 0 || turn->no_compaction || !at_head || !plan_window(*ret_plan)->over_trigger)
		return rc;
	const struct window_plan *window = plan_window(*ret_plan);
	bool fits = window->full_tokens <= window->budget.history;
	rc = compact(turn, properties, fits ? CAN_WAIT : MUST_SHRINK, &done, &why);
	if (rc == BOBBIN_ENOMEM || rc == BOBBIN_EUNKNOWN) {
		bobbin_plan_free(*ret_plan);
		return error_set(error, rc, "%s", why.message);
	}
	if (rc < 0)
		turn_note(turn, "compaction failed: %s", why.message);
	if (rc < 0 || !done)
		return 0;
	bobbin_plan_free(*ret_plan);
	return plan_make_at(turn->session, turn->head_node, &turn->window, &model, ret_plan, error);
}

static int render(bobbin_turn *turn, const struct model_properties *properties, struct buffer *body,
	struct bobbin_error *error)
{
	bobbin_plan *made;
	const char *dialect = model_dialect_text(properties->dialect);
	int rc = plan(turn, properties, &made, error);
	if (rc < 0)
		return rc;
	rc = plan_render(made, dialect, properties->name, body, error);
	if (!rc)
		rc = check_body(dialect, buffer_slice(body), error);
	const struct bobbin_budget *budget = bobbin_plan_budget(made);
	turn->asked_tokens = budget->system + budget->tools + budget->injected + budget->view;
	if (!rc && (rc = announce(turn, made)) < 0)
		error_set(error, rc, "out of memory");
	if (!rc)
		measure(turn, made, buffer_slice(body));
	bobbin_plan_free(made);
	return rc;
}

int turn_send(bobbin_turn *turn, struct bobbin_error *error)
{
	const struct model_properties *properties = model_properties(turn->model->model);
	struct model_request request = MODEL_REQUEST_INIT;
	struct model_stream *stream;
	struct buffer body = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	if (turn->rounds >= LIMIT_TURN_ROUNDS)
		return error_set(
			error, BOBBIN_ELIMIT, "the model asked for tools %u times in one turn", turn->rounds);
	int rc = render(turn, properties, &body, error);
	if (!rc) {
		request.dialect = properties->dialect;
		request.body = buffer_slice(&body);
		request.idle_timeout_ms = turn->idle_timeout_ms;
		rc = model_send(turn->model->model, &request, &stream, error);
	}
	buffer_release(&body);
	if (rc < 0)
		return rc;
	reply_release(&turn->reply);
	reply_init(&turn->reply);
	pthread_mutex_lock(&turn->stream_mutex);
	turn->stream = stream;
	pthread_mutex_unlock(&turn->stream_mutex);
	if (atomic_load(&turn->cancelled)) /* it came while the request was made */
		model_stream_cancel(stream);
	turn->state = TURN_STREAM;
	return 0;
}

static int64_t wait_before_retry(unsigned tries, int64_t asked_ms)
{
	int64_t wait = RETRY_FIRST_MS << (tries < 8 ? tries : 8);
	if (asked_ms > wait)
		wait = asked_ms;
	return wait;
}

/* Tried again only when the provider said it may help and nothing of the answer
 * has been shown. */
static bool may_retry(const bobbin_turn *turn, const struct model_event *event)
{
	return event->error.retry && turn->tries < LIMIT_PROVIDER_RETRIES && !turn->reply.text.len &&
	       event->error.retry_after_ms <= RETRY_LONGEST_MS && !atomic_load(&turn->cancelled);
}

/* What was asked is more than the model's window: for the rest of the turn that is all there is. The window
 * that was assumed may be many times the real one (a server started with less), so without this a compaction
 * could find that everything fits. A reserve that was asked for stays beside it. */
static void narrow_window(bobbin_turn *turn, const struct model_properties *properties)
{
	uint64_t window = turn->window.window ? turn->window.window : properties->window_tokens;
	uint64_t reserve = turn->window.output_reserve > 0 ? (uint64_t)turn->window.output_reserve : 0;
	if (turn->asked_tokens + reserve < window)
		turn->window.window = turn->asked_tokens + reserve;
}

/* The provider counts more than we do, or has less room than was thought: compacts for that, whatever the
 * trigger, and asks again, as long as it helps. */
static int compact_for_overflow(
	bobbin_turn *turn, const struct model_event *event, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct buffer message = BUFFER_INIT(1024);
	bool done = false;
	buffer_add_slice(&message, event->error.message);
	turn_close_stream(turn);
	turn->overflows++;
	narrow_window(turn, model_properties(turn->model->model));
	int rc = compact(turn, model_properties(turn->model->model), OVERFLOWED, &done, &why);
	if (rc < 0 || !done)
		rc = error_set(error, BOBBIN_EPROVIDER, "%s; compaction could not help: %s",
			message.data ? message.data : "", why.message);
	buffer_release(&message);
	if (!rc)
		turn->state = TURN_PLAN;
	return rc;
}

int turn_failed_request(bobbin_turn *turn, const struct model_event *event, struct bobbin_error *error)
{
	const struct platform *platform = platform_default();
	struct slice message = event->error.message;
	int stored = turn_store_usage(turn, error);
	if (stored < 0)
		return stored;
	if (event->error.failure == MODEL_FAILURE_OVERFLOW && turn->overflows < OVERFLOWS_MAX &&
		!turn->no_compaction)
		return compact_for_overflow(turn, event, error);
	/* A host that pulls takes BOBBIN_ETIMEOUT for "not yet"; this turn is over. */
	int code = event->error.code == BOBBIN_ETIMEOUT ? BOBBIN_EPROVIDER : event->error.code;
	if (!may_retry(turn, event))
		return error_set(error, code, "%.*s", (int)message.len, message.data);
	int64_t wait_ms = wait_before_retry(turn->tries, event->error.retry_after_ms);
	turn->tries++;
	turn->wait_until_ns = platform->monotonic_ns(platform->context) + wait_ms * 1000000;
	turn->state = TURN_WAIT;
	int rc = turn_note(turn, "%.*s; trying again in %lld.%lld s (%u of %d)", (int)message.len,
		message.data, (long long)wait_ms / 1000, (long long)wait_ms % 1000 / 100, turn->tries,
		LIMIT_PROVIDER_RETRIES);
	turn_close_stream(turn); /* the event's texts end with it */
	return rc < 0 ? error_set(error, rc, "out of memory") : 0;
}
