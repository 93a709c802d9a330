/* SPDX-License-Identifier: MIT */
/* chat and regenerate: a turn with its answer streamed, or a prompt that goes on until it is left. */
#include "cli/tools.h"

#include <editline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS 100
#define IDLE_SECONDS_MAX 86400u

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	interrupted = 1;
}

/* What a turn has said so far; the reply is kept for --json. */
struct answer {
	const struct arguments *arguments;
	bobbin_store *store;
	bobbin_session *session;
	const struct chat_tools *tools;
	char *reply;
	size_t reply_len;
	FILE *collect;
	FILE *notes; /* with --json: what was said beside the answer, each with its NUL */
	char *notes_text;
	size_t notes_len;
	uint64_t compacted; /* messages: the last compaction */
	uint64_t input, cached, output, recovered;
	bool reported, any_text;
	bool told; /* at a prompt the recovery was told once */
	char id[BOBBIN_MESSAGE_ID_BYTES];
	char stop[64];
};

/* Says it on stderr, and keeps it for --json. */
static void take_note(struct answer *answer, const char *text)
{
	note(answer->arguments, "%s", text);
	if (answer->notes)
		fwrite(text, 1, strlen(text) + 1, answer->notes);
}

static void show_recovered(struct answer *answer, const struct bobbin_event *event)
{
	answer->recovered = event->number;
	if (answer->told)
		return;
	if (event->number)
		note(answer->arguments, "recovered %s message%s from %s.jsonl", number_text(event->number),
			event->number == 1 ? "" : "s", bobbin_session_info(answer->session)->id);
	if (event->text_len)
		take_note(answer, event->text);
}

static int answer_call(struct answer *answer, bobbin_turn *turn, const struct bobbin_event *event)
{
	struct bobbin_error error;
	char *id = strdup(event->id), *text = NULL;
	note(answer->arguments, "→ %s %s", event->name, event->text);
	int is_error = chat_tool_run(
		answer->tools, answer->store, answer->session, event->id, event->name, event->text, &text);
	const char *result = text ? text : "out of memory";
	int rc = bobbin_turn_result(turn, id ? id : "", result, strlen(result), is_error, &error);
	free(text);
	free(id);
	return rc < 0 ? fail(&error) : 0;
}

static void show_text(struct answer *answer, const struct bobbin_event *event)
{
	if (answer->collect)
		fwrite(event->text, 1, event->text_len, answer->collect);
	answer->any_text = true;
	if (answer->arguments->json)
		return;
	print_data(event->text, event->text_len);
	fflush(stdout);
}

static int take_event(struct answer *answer, bobbin_turn *turn, const struct bobbin_event *event)
{
	if (event->reported) {
		answer->reported = true;
		answer->input = event->input_tokens;
		answer->cached = event->cached_tokens;
		answer->output = event->output_tokens;
	}
	switch (event->type) {
	case BOBBIN_EVENT_RECOVERED:
		show_recovered(answer, event);
		return 0;
	case BOBBIN_EVENT_TEXT:
		show_text(answer, event);
		return 0;
	case BOBBIN_EVENT_CALL:
		return answer_call(answer, turn, event);
	case BOBBIN_EVENT_NOTE:
		take_note(answer, event->text);
		if (strcmp(event->name, "compaction") == 0)
			answer->compacted = event->number;
		return 0;
	case BOBBIN_EVENT_DONE:
		snprintf(answer->id, sizeof(answer->id), "%s", event->id);
		snprintf(answer->stop, sizeof(answer->stop), "%s", event->text);
		return 0;
	default:
		return 0;
	}
}

static void print_answer_json(const struct answer *answer)
{
	putchar('{');
	print_json_member("session", bobbin_session_info(answer->session)->id);
	putchar(',');
	print_json_member("id", answer->id);
	fputs(",\"reply\":", stdout);
	print_json_string(answer->reply ? answer->reply : "", answer->reply_len);
	putchar(',');
	print_json_member("stop", answer->stop);
	printf(",\"recovered\":%llu,\"usage\":", (unsigned long long)answer->recovered);
	if (answer->reported)
		printf("{\"input\":%llu,\"cached\":%llu,\"output\":%llu}", (unsigned long long)answer->input,
			(unsigned long long)answer->cached, (unsigned long long)answer->output);
	else
		fputs("null", stdout);
	if (answer->compacted)
		printf(",\"compaction\":{\"messages\":%llu}", (unsigned long long)answer->compacted);
	else
		fputs(",\"compaction\":null", stdout);
	fputs(",\"notes\":[", stdout);
	for (size_t at = 0; at < answer->notes_len; at += strlen(answer->notes_text + at) + 1) {
		if (at)
			putchar(',');
		print_json_string(answer->notes_text + at, strlen(answer->notes_text + at));
	}
	puts("]}");
}

/* Of one turn: the answer, and what was said beside it. */
static void collect(struct answer *answer)
{
	answer->collect = open_memstream(&answer->reply, &answer->reply_len);
	answer->notes = open_memstream(&answer->notes_text, &answer->notes_len);
}

static void close_collected(struct answer *answer)
{
	if (answer->collect)
		fclose(answer->collect);
	if (answer->notes)
		fclose(answer->notes);
}

static int pull_events(struct answer *answer, bobbin_turn *turn)
{
	struct bobbin_error error;
	const struct bobbin_event *event;
	int rc, code = 0;
	while (!code && (rc = bobbin_turn_next(turn, POLL_MS, &event, &error)) != 0) {
		if (interrupted)
			bobbin_cancel(turn);
		if (rc == BOBBIN_ETIMEOUT)
			continue;
		if (rc < 0 && answer->any_text && !answer->arguments->json)
			putchar('\n');
		code = rc < 0 ? fail(&error) : take_event(answer, turn, event);
	}
	return code;
}

/* What a conversation needs: kept open over all its turns. */
struct talk {
	const struct arguments *arguments;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_model *model, *deriver; /* deriver NULL: rules write the records */
	struct window_request window;
	struct chat_tools tools;
};

static int run_turn(const struct talk *talk, const char *text, bool regenerate, bool first)
{
	struct bobbin_turn_options options = BOBBIN_TURN_OPTIONS_INIT;
	const struct arguments *arguments = talk->arguments;
	struct answer answer = {.arguments = arguments,
		.store = talk->store,
		.session = talk->session,
		.tools = &talk->tools,
		.told = !first};
	struct bobbin_error error;
	bobbin_turn *turn;
	options.window = &talk->window.options;
	options.regenerate = regenerate;
	options.run = first ? arguments->run : NULL;
	options.routine = first ? arguments->routine : NULL;
	options.no_compaction = arguments->no_compaction;
	options.deriver = talk->deriver;
	options.idle_timeout_ms =
		(int64_t)(arguments->idle_timeout < IDLE_SECONDS_MAX ? arguments->idle_timeout
								     : IDLE_SECONDS_MAX) *
		1000;
	if (bobbin_turn_start(
		    talk->session, talk->model, text, text ? strlen(text) : 0, &options, &turn, &error) < 0)
		return fail(&error);
	if (arguments->json)
		collect(&answer);
	int rc = pull_events(&answer, turn);
	if (rc && !regenerate)
		note(arguments, "your message is stored; bobbin regenerate %s asks again",
			bobbin_session_info(talk->session)->id);
	close_collected(&answer);
	if (!rc && arguments->json)
		print_answer_json(&answer);
	else if (!rc && answer.any_text)
		putchar('\n');
	free(answer.reply);
	free(answer.notes_text);
	bobbin_turn_free(turn);
	return rc;
}

static void catch_interrupt(void)
{
	struct sigaction action = {.sa_handler = on_interrupt};
	sigaction(SIGINT, &action, NULL);
}

static const char prompt_help[] =
	"/window  the next request      /record  what is not shown word for word\n"
	"/show    the conversation\n"
	"/help    this                 /quit    leave (or Ctrl-D); Ctrl-C stops an answer\n";

static void prompt_command(const struct talk *talk, const char *line)
{
	struct arguments plain = *talk->arguments;
	struct bobbin_window_options window = talk->window.options;
	char *no_words[] = {NULL};
	plain.words = no_words;
	plain.word_count = 0;
	plain.json = false;
	window.model = model_spec(talk->arguments);
	if (strcmp(line, "/window") == 0)
		show_window(talk->session, &window);
	else if (strcmp(line, "/record") == 0)
		command_record(&plain);
	else if (strcmp(line, "/show") == 0)
		command_show(&plain);
	else if (strcmp(line, "/help") == 0)
		fputs(prompt_help, stdout);
	else
		printf("there is no %s here\n%s", visible(line), prompt_help);
}

/* Ctrl-C throws the line away, not the conversation. */
static char *prompt_line(void)
{
	char *line;
	do {
		interrupted = 0;
		line = readline("> ");
		if (!line && interrupted)
			putchar('\n');
	} while (!line && interrupted);
	return line;
}

static int prompt(const struct talk *talk)
{
	char *line;
	bool first = true;
	note(talk->arguments, "%s · /help for commands · Ctrl-D leaves",
		bobbin_session_info(talk->session)->id);
	while ((line = prompt_line())) {
		if (strcmp(line, "/quit") == 0)
			break;
		if (line[0] == '/') {
			prompt_command(talk, line);
		} else if (line[strspn(line, " \t")]) {
			add_history(line);
			run_turn(talk, line, false, first); /* a failed turn is told; the prompt goes on */
			first = false;
		}
		free(line);
	}
	if (!line)
		putchar('\n'); /* Ctrl-D leaves the cursor behind the prompt */
	free(line);
	return 0;
}

/* Text that is piped in is one message. */
static int chat_input(const struct talk *talk)
{
	char *text = NULL;
	size_t len = 0;
	if (talk->arguments->word_count)
		return run_turn(talk, talk->arguments->words[0], false, true);
	if (isatty(STDIN_FILENO))
		return prompt(talk);
	int rc = read_input("-", &text, &len);
	while (!rc && len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = 0;
	if (!rc && !len)
		rc = fail_usage("there is nothing to say: give a text, or pipe one in");
	if (!rc)
		rc = run_turn(talk, text, false, true);
	free(text);
	return rc;
}

static int open_model(const struct arguments *arguments, bobbin_model **ret_model)
{
	struct bobbin_error error;
	const char *spec = model_spec(arguments);
	if (!spec)
		return fail_usage("which model? Set MOCK=1 for the offline one, or --model, or BOBBIN_MODEL");
	if (bobbin_model_open(spec, ret_model, &error) < 0)
		return fail(&error);
	return 0;
}

/* Commands are told where the session's files are, whatever folder they go to. */
static void find_workspace(struct talk *talk)
{
	char *store = realpath(store_path(talk->arguments), NULL);
	if (store && asprintf(&talk->tools.workspace, "%s/%s", store, bobbin_session_info(talk->session)->id) < 0)
		talk->tools.workspace = NULL;
	free(store);
}

static int open_talk(const struct arguments *arguments, const char *id, bool create, struct talk *talk)
{
	int rc = window_options_read(arguments, &talk->window);
	if (rc)
		return rc;
	talk->window.options.model = NULL; /* the model that answers sets the budget */
	rc = chat_tools_open(talk->window.tools, talk->window.options.tools_len, arguments->no_facts,
		&talk->tools);
	if (rc)
		return rc;
	talk->window.options.tools = talk->tools.json;
	talk->window.options.tools_len = strlen(talk->tools.json);
	rc = open_model(arguments, &talk->model);
	if (!rc)
		rc = open_deriver(arguments, &talk->deriver);
	if (!rc)
		rc = open_session(arguments, id, create, false, &talk->store, &talk->session);
	if (!rc)
		find_workspace(talk);
	return rc;
}

static void close_talk(struct talk *talk)
{
	bobbin_model_close(talk->model);
	bobbin_model_close(talk->deriver);
	window_options_release(&talk->window);
	chat_tools_close(&talk->tools);
}

static int chat(const struct arguments *arguments, bool regenerate)
{
	struct talk talk = {.arguments = arguments};
	const char *id = regenerate && arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = open_talk(arguments, id, !regenerate, &talk);
	if (!rc) {
		catch_interrupt();
		rc = regenerate ? run_turn(&talk, NULL, true, true) : chat_input(&talk);
		close_session(talk.store, talk.session);
	}
	close_talk(&talk);
	return rc;
}

int command_chat(const struct arguments *arguments)
{
	if (arguments->run && !arguments->routine)
		return fail_usage("--run needs --routine NAME");
	return chat(arguments, false);
}

int command_regenerate(const struct arguments *arguments)
{
	return chat(arguments, true);
}
