/* SPDX-License-Identifier: MIT */
/* Commands about the next request: window, request, check, tokens. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One segment of the budget bar: a letter that says what it is also without colour. */
struct segment {
	const char *name;
	uint64_t tokens;
	char letter;
	const char *color;
	const char *meaning;
};

#define SEGMENTS 7

static void fill_segments(const struct bobbin_budget *budget, struct segment *segments)
{
	uint64_t view = budget->view < budget->history ? budget->view : budget->history;
	const struct segment all[SEGMENTS] = {
		{"system", budget->system, 's', CYAN, "the system prompt"},
		{"tools", budget->tools, 't', BLUE, "tool definitions"},
		{"injected", budget->injected, 'i', YELLOW, "memory, notes"},
		{"shown", view, '#', GREEN, "what is shown of the conversation"},
		{"free", budget->history - view, '.', DIM, "what the conversation may still grow"},
		{"reserve", budget->output_reserve, 'r', DIM, "kept for the answer"},
		{"margin", budget->margin, 'm', DIM, "kept free, counts may be off"},
	};
	memcpy(segments, all, sizeof(all));
}

/* Cells in proportion, at least one for what is there at all; the rest goes to the largest. */
static void share_cells(const struct segment *segments, uint64_t window, int width, int *ret_cells)
{
	int used = 0, largest = 0;
	for (int i = 0; i < SEGMENTS; i++) {
		double share = window ? (double)segments[i].tokens / (double)window : 0;
		ret_cells[i] = segments[i].tokens ? (int)(share * width + 0.5) : 0;
		if (segments[i].tokens && !ret_cells[i])
			ret_cells[i] = 1;
		used += ret_cells[i];
		if (segments[i].tokens > segments[largest].tokens)
			largest = i;
	}
	ret_cells[largest] += width - used;
	if (ret_cells[largest] < 0)
		ret_cells[largest] = 0;
}

static void print_bar(const struct bobbin_budget *budget)
{
	struct segment segments[SEGMENTS];
	int cells[SEGMENTS], width = output_columns() - 4;
	fill_segments(budget, segments);
	share_cells(segments, budget->window, width, cells);
	fputs(" [", stdout);
	for (int i = 0; i < SEGMENTS; i++) {
		fputs(paint(segments[i].color), stdout);
		for (int cell = 0; cell < cells[i]; cell++)
			putchar(segments[i].letter);
		fputs(paint(PLAIN), stdout);
	}
	puts("]");
	for (int i = 0; i < SEGMENTS; i++)
		if (segments[i].tokens)
			printf("  %s%c%s %-9s %10s  %5.1f %%  %s\n", paint(segments[i].color),
				segments[i].letter, paint(PLAIN), segments[i].name,
				number_text(segments[i].tokens),
				100.0 * (double)segments[i].tokens / (double)budget->window,
				segments[i].meaning);
}

static void print_numbers(const struct bobbin_budget *budget)
{
	printf("\n  history budget %s · trigger %s · target %s · tail %s\n", number_text(budget->history),
		number_text(budget->trigger), number_text(budget->target), number_text(budget->tail));
	printf("  the whole line %s · shown %s%s\n", number_text(budget->line), number_text(budget->view),
		budget->over_trigger ? " · over the trigger" : "");
	printf("  counted by %s%s\n", budget->counted_by,
		budget->exact ? "" : " (not the model's own tokenizer)");
}

/* Foreign ids are long; their beginning is enough to recognise one (--json has them whole). */
static void add_short_id(char *out, size_t size, const char *id)
{
	size_t used = strlen(out);
	if (strlen(id) <= 12)
		snprintf(out + used, size - used, "%s", id);
	else
		snprintf(out + used, size - used, "%.8s…", id);
}

static void print_range(const char *from, const char *to, uint64_t messages, uint64_t tokens)
{
	char range[64] = "";
	add_short_id(range, sizeof(range), from);
	if (strcmp(from, to) != 0) {
		snprintf(range + strlen(range), sizeof(range) - strlen(range), " – ");
		add_short_id(range, sizeof(range), to);
	}
	int pad = 22 - (int)text_columns(visible(range), strlen(visible(range)));
	printf("  %s%*s %6s %s %9s tokens\n", visible(range), pad > 0 ? pad : 0, "", number_text(messages),
		messages == 1 ? "message " : "messages", number_text(tokens));
}

static void print_shown(const bobbin_plan *plan)
{
	const struct bobbin_part *part;
	printf("\n%sshown%s\n", paint(BOLD), paint(PLAIN));
	for (size_t i = 0; (part = bobbin_plan_part(plan, i)); i++) {
		if (*part->from)
			print_range(part->from, part->to, part->messages, part->tokens);
		else
			printf("  %-22s %15s %9s tokens\n", part->kind, "", number_text(part->tokens));
		print_wrapped(part->reason, strlen(part->reason), 6);
	}
}

static void print_hidden(const bobbin_plan *plan)
{
	const struct bobbin_hidden *hidden;
	if (!bobbin_plan_hidden(plan, 0)) {
		printf("\nnothing is left out\n");
		return;
	}
	printf("\n%snot shown%s\n", paint(BOLD), paint(PLAIN));
	for (size_t i = 0; (hidden = bobbin_plan_hidden(plan, i)); i++) {
		print_range(hidden->from, hidden->to, hidden->messages, hidden->tokens);
		print_wrapped(hidden->reason, strlen(hidden->reason), 6);
		if (*hidden->pointer) {
			printf("      %s", paint(DIM));
			print_line_of(hidden->pointer, strlen(hidden->pointer), (size_t)output_columns() - 6);
			printf("%s\n", paint(PLAIN));
		}
	}
}

static void print_plan(const char *id, const bobbin_plan *plan)
{
	const struct bobbin_budget *budget = bobbin_plan_budget(plan);
	printf("%s%s%s: the next request, in a window of %s tokens\n\n", paint(BOLD), id, paint(PLAIN),
		number_text(budget->window));
	print_bar(budget);
	print_numbers(budget);
	if (*bobbin_plan_cut(plan))
		printf("  cut at %s%s%s\n", visible(bobbin_plan_cut(plan)),
			*bobbin_plan_inner_cut(plan) ? ", inside its turn at " : "",
			visible(bobbin_plan_inner_cut(plan)));
	if (bobbin_plan_summary_stale(plan))
		printf("  the compaction record no longer fits the line and is not used\n");
	print_shown(plan);
	print_hidden(plan);
}

int show_window(bobbin_session *session, const struct bobbin_window_options *options)
{
	struct bobbin_error error;
	bobbin_plan *plan;
	if (bobbin_plan_make(session, options, &plan, &error) < 0)
		return fail(&error);
	print_plan(bobbin_session_info(session)->id, plan);
	bobbin_plan_free(plan);
	return EXIT_DONE;
}

/* Everything a plan needs: store, session, options. */
static int make_plan(const struct arguments *arguments, bobbin_store **ret_store,
	bobbin_session **ret_session, struct window_request *ret_request, bobbin_plan **ret_plan)
{
	struct bobbin_error error;
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = window_options_read(arguments, ret_request);
	if (rc)
		return rc;
	rc = open_session(arguments, id, false, true, ret_store, ret_session);
	if (!rc && bobbin_plan_make(*ret_session, &ret_request->options, ret_plan, &error) < 0) {
		rc = fail(&error);
		close_session(*ret_store, *ret_session);
	}
	if (rc)
		window_options_release(ret_request);
	return rc;
}

static void drop_plan(
	bobbin_store *store, bobbin_session *session, struct window_request *request, bobbin_plan *plan)
{
	bobbin_plan_free(plan);
	close_session(store, session);
	window_options_release(request);
}

int command_window(const struct arguments *arguments)
{
	bobbin_store *store;
	bobbin_session *session;
	struct window_request request;
	struct bobbin_error error;
	bobbin_plan *plan;
	char *text;
	size_t len;
	int rc = make_plan(arguments, &store, &session, &request, &plan);
	if (rc)
		return rc;
	if (!arguments->json) {
		print_plan(bobbin_session_info(session)->id, plan);
	} else if (bobbin_plan_json(plan, &text, &len, &error) < 0) {
		rc = fail(&error);
	} else {
		print_json_data(text, len);
		putchar('\n');
		bobbin_free(text);
	}
	drop_plan(store, session, &request, plan);
	return rc;
}

int command_request(const struct arguments *arguments)
{
	bobbin_store *store;
	bobbin_session *session;
	struct window_request request;
	struct bobbin_error error;
	bobbin_plan *plan;
	char *body;
	size_t len;
	int rc = make_plan(arguments, &store, &session, &request, &plan);
	if (rc)
		return rc;
	const char *dialect = arguments->dialect ? arguments->dialect : "openai-chat";
	if (bobbin_plan_request(plan, dialect, &body, &len, &error) < 0) {
		rc = fail(&error);
		rc = error.code == BOBBIN_EUNSUPPORTED ? EXIT_USAGE : rc;
	} else {
		print_json_data(body, len);
		putchar('\n');
		bobbin_free(body);
	}
	drop_plan(store, session, &request, plan);
	return rc;
}

int command_check(const struct arguments *arguments)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	char *body;
	size_t len;
	if (!arguments->dialect)
		return fail_usage("which provider is to accept it? --dialect openai-chat, openai-responses "
				  "or anthropic");
	int rc = read_input(arguments->words[0], &body, &len);
	if (rc)
		return rc;
	rc = bobbin_check(arguments->dialect, body, len, &faults, &error);
	free(body);
	if (rc < 0)
		return rc == BOBBIN_EUNSUPPORTED ? (fail(&error), EXIT_USAGE) : fail(&error);
	size_t count = bobbin_faults_count(faults);
	print_faults(arguments, faults);
	if (!arguments->json && !count)
		printf("acceptable to %s\n", arguments->dialect);
	bobbin_faults_free(faults);
	return count ? EXIT_NO : EXIT_DONE;
}

static int count_file(const struct arguments *arguments, const char *name, uint64_t *total)
{
	struct bobbin_error error;
	char *data;
	size_t len;
	uint64_t tokens;
	int exact, rc = read_input(name, &data, &len);
	if (rc)
		return rc;
	rc = bobbin_count_tokens(arguments->encoding, arguments->model, data, len, &tokens, &exact, &error);
	free(data);
	if (rc < 0)
		return rc == BOBBIN_EUNSUPPORTED ? (fail(&error), EXIT_USAGE) : fail(&error);
	*total += tokens;
	if (arguments->json) {
		putchar('{');
		print_json_member("file", name);
		printf(",\"tokens\":%llu,\"exact\":%s}\n", (unsigned long long)tokens,
			exact ? "true" : "false");
	} else {
		printf("%12s  %s%s\n", number_text(tokens), visible(name), exact ? "" : "  (estimated)");
	}
	return 0;
}

int command_tokens(const struct arguments *arguments)
{
	uint64_t total = 0;
	int rc = 0;
	for (int i = 0; i < arguments->word_count && !rc; i++)
		rc = count_file(arguments, arguments->words[i], &total);
	if (!rc && !arguments->json && arguments->word_count > 1)
		printf("%12s  in all\n", number_text(total));
	return rc;
}
