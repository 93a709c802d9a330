/* SPDX-License-Identifier: MIT */
/*
 * Facts in a turn: what the newest message brings back goes with it, and is stored nowhere; when the turn is over, what the person
 * typed is judged. Facts help an answer and must not prevent it: what fails here is said and leaves the turn as it is.
 */
#include "base/alloc.h"
#include "base/utf8.h"
#include "memory/dates.h"
#include "memory/judge.h"
#include "session/facts.h"

/* ---- Showing */

int facts_typed_text(struct log *log, uint32_t node, struct buffer *out, struct message *ret_message,
	struct arena *arena, struct bobbin_error *error)
{
	int code = log_message(log, node, arena, ret_message, error);

	if (code < 0)
		return code;
	message_add_text(ret_message, arena, out);
	return buffer_error(out) ? error_set(error, BOBBIN_ENOMEM, "reading a message: out of memory") : 0;
}

/* Whether the view shows the message that said it. */
static bool is_shown(bobbin_session *session, const struct facts_wanted *wanted, const struct fact *fact)
{
	struct log_node info;
	uint32_t node;

	for (size_t i = 0; i < fact->source_count; i++)
		if (strcmp(fact->sources[i].session, log_info(session->log)->id) == 0 &&
			log_find(session->log, slice_of(fact->sources[i].message), &node, NULL) == 0 &&
			log_on_line(session->log, node, wanted->head) && log_node(session->log, node, &info) == 0 &&
			info.depth >= wanted->shown_from)
			return true;
	return false;
}

static void add_day(struct buffer *out, const char *what, int64_t time_ns)
{
	struct day day = day_of(time_ns);

	buffer_addf(out, "%s%04d-%02d-%02d", what, day.year, day.month, day.day);
}

void facts_add_text(struct buffer *out, const struct fact *fact)
{
	buffer_add_text(out, fact->text);
	add_day(out, fact->ended_ns ? " (no longer so: said " : " (said ", fact->said_ns);
	if (fact->ended_ns)
		add_day(out, ", until ", fact->ended_ns);
	else if (fact->expires_ns)
		add_day(out, ", until ", fact->expires_ns);
	buffer_add_char(out, ')');
}

static int copy_shown(const struct facts_shown *from, struct arena *arena, struct facts_shown *ret_shown)
{
	struct facts_shown shown = {{arena_copy(arena, from->text.data, from->text.len), from->text.len},
		arena_copy(arena, from->reason, strlen(from->reason))};

	if (!shown.text.data || !shown.reason)
		return BOBBIN_ENOMEM;
	*ret_shown = shown;
	return 0;
}

static int write_shown(bobbin_session *session, struct facts_answer *answer)
{
	const struct facts_wanted *wanted = &answer->wanted;
	struct buffer text, reason;
	size_t shown = 0;

	buffer_init(&text, wanted->bytes_max + FACT_TEXT_BYTES + 256);
	buffer_init(&reason, 4096);
	buffer_add_text(&text, MEMORY_HEADING);
	for (size_t i = 0; i < answer->count; i++) {
		size_t before = text.len;
		if (is_shown(session, wanted, &answer->facts[i]))
			continue;
		buffer_add_text(&text, "\n- ");
		facts_add_text(&text, &answer->facts[i]);
		if (text.len > wanted->bytes_max) {
			buffer_truncate(&text, before);
			continue;
		}
		buffer_addf(&reason, "%sf%llu", shown++ ? ", " : "", (unsigned long long)answer->facts[i].number);
	}
	buffer_add_text(&reason, ": they answer the newest message");
	int code = buffer_error(&text) ? buffer_error(&text) : buffer_error(&reason);
	answer->shown = (struct facts_shown){{"", 0}, NULL};
	if (!code && shown)
		code = copy_shown(&(struct facts_shown){buffer_slice(&text), reason.data}, &answer->arena, &answer->shown);
	buffer_release(&text);
	buffer_release(&reason);
	return code;
}

/* What is wanted is mostly what was wanted last time. */
static int show(bobbin_session *session, const struct facts_wanted *wanted, struct facts_answer *answer, struct arena *arena,
	struct facts_shown *ret_shown)
{
	const struct facts_wanted *before = &answer->wanted;
	int code = 0;

	if (!answer->written || before->head != wanted->head || before->bytes_max != wanted->bytes_max ||
		before->shown_from != wanted->shown_from) {
		arena_reset(&answer->arena);
		answer->wanted = *wanted;
		code = write_shown(session, answer);
		answer->written = code == 0;
	}
	return code < 0 || !answer->shown.text.len ? code : copy_shown(&answer->shown, arena, ret_shown);
}

int facts_memory(bobbin_session *session, bool create, struct memory **ret_memory, struct bobbin_error *error)
{
	struct slice owner = slice_of(log_info(session->log)->owner);
	int code = session->memory ? 0 : memory_open(session->store->store, owner, create, &session->memory, error);

	if (code == 0)
		*ret_memory = session->memory;
	return code;
}

int facts_for(bobbin_session *session, const struct facts_wanted *wanted, struct arena *arena,
	struct facts_shown *ret_shown, struct bobbin_error *error)
{
	struct slice owner = slice_of(log_info(session->log)->owner);
	uint32_t node = NODE_NONE;
	struct bobbin_error why = {0};
	struct facts_answer *answer;
	struct memory *memory;

	*ret_shown = (struct facts_shown){{"", 0}, NULL};
	int code = owner.len ? newest_typed(session->log, wanted->head, &node, &why) : 0;
	if (code == 0 && node == NODE_NONE)
		return 0;
	if (code == 0)
		code = facts_memory(session, false, &memory, &why);
	if (code == BOBBIN_ENOTFOUND)
		return 0;
	if (code == 0)
		code = facts_find(session, memory, node, &answer, &why);
	if (code == 0 && show(session, wanted, answer, arena, ret_shown) < 0)
		code = error_set(&why, BOBBIN_ENOMEM, "showing facts: out of memory");
	if (code == BOBBIN_ENOMEM)
		return error_set(error, code, "%s", why.message);
	if (code < 0)
		ret_shown->reason = arena_copy(arena, why.message, strlen(why.message));
	return 0;
}

/* ---- Learning */

static int number(const char *text, size_t len)
{
	int value = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value;
}

/* "2026-09-04T10:00:00Z" as the log writes it; 0 for anything else. */
static int64_t time_of(const struct json *record)
{
	struct json ts;
	struct slice text;

	if (!json_get(record, "ts", &ts) || !json_string_plain(&ts, &text) || text.len < 20 || text.data[10] != 'T')
		return 0;
	struct day day = {number(text.data, 4), number(text.data + 5, 2), number(text.data + 8, 2)};
	int hour = number(text.data + 11, 2), minute = number(text.data + 14, 2), second = number(text.data + 17, 2);
	if (day.year < 1970 || day.month < 1 || day.month > 12 || day.day < 1 || day.day > 31 || hour < 0 || minute < 0 ||
		second < 0)
		return 0;
	return day_start(day) + ((int64_t)hour * 3600 + minute * 60 + second) * 1000000000;
}

int64_t facts_said_ns(const struct message *message)
{
	const struct platform *platform = platform_default();
	int64_t said_ns = time_of(&message->record);

	return said_ns ? said_ns : platform->realtime_ns(platform->context);
}

int facts_learn(bobbin_session *session, struct memory *memory, uint32_t node, struct memory_taken *taken,
	struct bobbin_error *error)
{
	struct arena arena = ARENA_INIT;
	struct message message;
	struct log_node info;
	struct buffer typed;
	char id[PATH_ID_BYTES];
	int code = 0;

	if (log_node(session->log, node, &info) < 0 || info.level || info.role != ROLE_USER ||
		info.origin != ORIGIN_PERSON)
		return 0;
	buffer_init(&typed, LIMIT_LINE_BYTES);
	code = facts_typed_text(session->log, node, &typed, &message, &arena, error);
	if (code == 0)
		code = log_node_id(session->log, node, id, error);
	if (code == 0) {
		code = memory_take(memory, slice_of(log_info(session->log)->id), slice_of(id), buffer_slice(&typed),
			(struct slice){"", 0}, facts_said_ns(&message), taken, error);
	}
	buffer_release(&typed);
	arena_release(&arena);
	return code;
}

int facts_learn_turn(bobbin_session *session, uint32_t node, struct memory_taken *taken, struct bobbin_error *error)
{
	struct slice owner = slice_of(log_info(session->log)->owner);
	struct memory *memory = NULL;
	uint32_t typed = NODE_NONE;
	int code = owner.len ? newest_typed(session->log, node, &typed, error) : 0;

	if (code < 0 || typed == NODE_NONE)
		return code;
	code = facts_memory(session, true, &memory, error);
	return code < 0 ? code : facts_learn(session, memory, typed, taken, error);
}
