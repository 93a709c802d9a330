/* SPDX-License-Identifier: MIT */
#include "talk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

char scratch_dir[SCRATCH_PATH_BYTES];
bobbin_store *store;

int store_setup(void **state)
{
	struct bobbin_error error;
	(void)state;
	scratch_make(scratch_dir);
	if (bobbin_store_open(scratch_path(scratch_dir, "store"), NULL, &store, &error) < 0)
		fail_msg("%s", error.message);
	return 0;
}

int store_teardown(void **state)
{
	(void)state;
	bobbin_store_close(store);
	store = NULL;
	scratch_remove(scratch_dir);
	return 0;
}

bobbin_session *open_session(const char *id)
{
	struct bobbin_error error;
	bobbin_session *session = NULL;
	if (bobbin_session_open(store, id, NULL, &session, &error) < 0)
		fail_msg("%s", error.message);
	return session;
}

bobbin_model *open_script(const char *script)
{
	struct bobbin_error error;
	bobbin_model *model = NULL;
	char spec[SCRATCH_PATH_BYTES + 8] = "mock";
	if (script) {
		scratch_write_text(scratch_dir, "script.jsonl", script);
		snprintf(spec, sizeof(spec), "mock:%s", scratch_path(scratch_dir, "script.jsonl"));
	}
	if (bobbin_model_open(spec, &model, &error) < 0)
		fail_msg("%s", error.message);
	return model;
}

static void add(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);
	snprintf(to + used, size - used, "%s", text);
}

static void answer(bobbin_turn *turn, const struct bobbin_event *event, struct told *told)
{
	char text[128], id[128];
	snprintf(text, sizeof(text), "result of %s", event->name);
	snprintf(id, sizeof(id), "%s", event->id);
	told->calls++;
	told->rc = bobbin_turn_result(turn, id, text, strlen(text), 0, &told->error);
}

static void take(bobbin_turn *turn, const struct bobbin_event *event, struct told *told)
{
	static const char letters[] = "?RPTKCNSD";
	const char letter[2] = {letters[event->type], 0};
	add(told->events, sizeof(told->events), letter);
	if (event->type == BOBBIN_EVENT_TEXT)
		add(told->text, sizeof(told->text), event->text);
	if (event->type == BOBBIN_EVENT_NOTE)
		add(told->notes, sizeof(told->notes), event->text);
	if (event->type == BOBBIN_EVENT_DONE)
		snprintf(told->reply, sizeof(told->reply), "%s", event->id);
	if (event->type == BOBBIN_EVENT_CALL)
		answer(turn, event, told);
}

struct told pull(bobbin_turn *turn, struct told told)
{
	const struct bobbin_event *event;
	int rc;
	while (!told.rc && (rc = bobbin_turn_next(turn, 50, &event, &told.error)) != 0) {
		if (rc == BOBBIN_ETIMEOUT)
			continue;
		if (rc < 0)
			told.rc = rc;
		else
			take(turn, event, &told);
	}
	return told;
}

struct told tell(bobbin_session *session, bobbin_model *model, const char *text,
	const struct bobbin_turn_options *options)
{
	struct told told = {0};
	bobbin_turn *turn;
	told.rc = bobbin_turn_start(session, model, text, text ? strlen(text) : 0, options, &turn, &told.error);
	if (told.rc < 0)
		return told;
	told = pull(turn, told);
	bobbin_turn_free(turn);
	return told;
}

const char *line_of(bobbin_session *session, char *buffer, size_t size)
{
	const struct bobbin_message *message;
	bobbin_messages *messages;
	struct bobbin_error error;
	buffer[0] = 0;
	if (bobbin_messages_open(session, NULL, &messages, &error) < 0)
		fail_msg("%s", error.message);
	while (bobbin_messages_next(messages, &message, &error) > 0) {
		const char role[4] = {message->role[0], ':', 0};
		add(buffer, size, *buffer ? "|" : "");
		add(buffer, size, role);
		add(buffer, size, message->text);
	}
	bobbin_messages_close(messages);
	return buffer;
}
