/* SPDX-License-Identifier: MIT */
/* bobbin inside a program of your own: one durable message, one planned request.  cc embed.c $(pkg-config --cflags --libs bobbin) */
#include <bobbin.h>
#include <stdio.h>
#include <string.h>

static int fail(const struct bobbin_error *error)
{
	fprintf(stderr, "%s\n", error->message);
	return 1;
}

int main(int count, char **values)
{
	const char *text = "I live in Shanghai.";
	struct bobbin_window_options options = BOBBIN_WINDOW_OPTIONS_INIT;
	struct bobbin_error error;
	struct bobbin_ack ack;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_plan *plan;
	char *body;
	size_t len;
	if (bobbin_store_open(count > 1 ? values[1] : ".sessions", NULL, &store, &error) < 0 ||
		bobbin_session_open(store, "embedded", NULL, &session, &error) < 0 ||
		bobbin_session_append_text(session, "user", text, strlen(text), &ack, &error) < 0)
		return fail(&error);
	printf("%s is on disk\n", ack.id); /* kill -9 cannot take it back */
	options.system = "You are brief.";
	options.system_len = strlen(options.system);
	if (bobbin_plan_make(session, &options, &plan, &error) < 0 ||
		bobbin_plan_request(plan, "openai-chat", &body, &len, &error) < 0)
		return fail(&error);
	printf("%.*s\n", (int)len, body); /* send this */
	bobbin_free(body);
	bobbin_plan_free(plan);
	bobbin_session_close(session);
	bobbin_store_close(store);
	return 0;
}
