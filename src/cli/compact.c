/* SPDX-License-Identifier: MIT */
/* Commands about what is no longer shown word for word: compact, record, verify, recall, work. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- compact ---- */

static void print_report_json(const struct bobbin_compaction_report *report)
{
	printf("{\"done\":%s,", report->done ? "true" : "false");
	print_json_member("reason", report->reason);
	putchar(',');
	print_json_member("steps", report->steps);
	putchar(',');
	print_json_member("cut", report->cut);
	putchar(',');
	print_json_member("inner_cut", report->inner_cut);
	printf(",\"messages\":%llu,\"tokens_before\":%llu,\"tokens_after\":%llu,\"record_tokens\":%llu",
		(unsigned long long)report->messages, (unsigned long long)report->tokens_before,
		(unsigned long long)report->tokens_after, (unsigned long long)report->record_tokens);
	printf(",\"constraints\":%llu,\"refused\":%llu,\"repaired\":%llu,\"dropped\":%llu",
		(unsigned long long)report->constraints, (unsigned long long)report->refused,
		(unsigned long long)report->repaired, (unsigned long long)report->dropped);
	printf(",\"segments_found\":%llu,\"segments_derived\":%llu,",
		(unsigned long long)report->segments_found, (unsigned long long)report->segments_derived);
	print_json_member("digest", report->digest);
	putchar(',');
	print_json_member("text", report->text);
	puts("}");
}

static void print_report(const struct bobbin_compaction_report *report, bool dry_run)
{
	fputs(paint(BOLD), stdout);
	if (dry_run && report->done)
		puts("dry run, nothing is written:");
	print_hanging(report->line, strlen(report->line), 2);
	fputs(paint(PLAIN), stdout);
	if (!report->done)
		return;
	printf("  cut at %s%s%s · steps: %s\n", visible(report->cut),
		*report->inner_cut ? ", inside its turn at " : "", visible(report->inner_cut), report->steps);
	printf("  record: %s, %s found, %s derived now\n", counted(report->record_tokens, "token"),
		counted(report->segments_found, "segment record"), number_text(report->segments_derived));
	printf("  verification: %s refused, %s put back\n", number_text(report->refused),
		counted(report->repaired, "constraint"));
	if (report->dropped)
		printf("  %s did not fit; the record says where %s\n", counted(report->dropped, "item"),
			report->dropped == 1 ? "it is" : "they are");
	if (*report->reason)
		print_wrapped(report->reason, strlen(report->reason), 2);
}

/* --deriver rules, or model with --deriver-model M (default: the model that answers). */
int open_deriver(const struct arguments *arguments, bobbin_model **ret_model)
{
	struct bobbin_error error;
	const char *spec = arguments->deriver_model ? arguments->deriver_model : model_spec(arguments);
	bool model = arguments->deriver ? strcmp(arguments->deriver, "model") == 0
					: arguments->deriver_model != NULL;
	*ret_model = NULL;
	if (arguments->deriver && !model && strcmp(arguments->deriver, "rules") != 0)
		return fail_usage("--deriver is rules or model, not '%s'", arguments->deriver);
	if (!model)
		return 0;
	if (!spec)
		return fail_usage("which model shall write the record? --deriver-model M");
	if (bobbin_model_open(spec, ret_model, &error) < 0)
		return fail(&error);
	return 0;
}

static int compact(const struct arguments *arguments, bobbin_session *session, bobbin_model *deriver)
{
	struct bobbin_compact_options options = BOBBIN_COMPACT_OPTIONS_INIT;
	struct window_request window;
	struct bobbin_error error;
	bobbin_compaction *compaction;
	int rc = window_options_read(arguments, &window);
	if (rc)
		return rc;
	options.window = &window.options;
	options.deriver = deriver;
	options.force = 1;
	options.dry_run = arguments->dry_run;
	rc = bobbin_session_compact(session, &options, &compaction, &error);
	window_options_release(&window);
	if (rc < 0)
		return fail(&error);
	if (arguments->json)
		print_report_json(bobbin_compaction_report(compaction));
	else
		print_report(bobbin_compaction_report(compaction), arguments->dry_run);
	bobbin_compaction_free(compaction);
	return EXIT_DONE;
}

int command_compact(const struct arguments *arguments)
{
	bobbin_store *store;
	bobbin_session *session;
	bobbin_model *deriver;
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = open_deriver(arguments, &deriver);
	if (!rc)
		rc = open_session(arguments, id, false, false, &store, &session);
	if (!rc) {
		rc = compact(arguments, session, deriver);
		close_session(store, session);
	}
	bobbin_model_close(deriver);
	return rc;
}

/* ---- record, verify ---- */

/* Headings as they are, items with their further lines under the first one's text. */
static void print_record(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		bool item = strncmp(text, "- ", 2) == 0;
		if (item)
			fputs("- ", stdout);
		print_hanging(text + (item ? 2 : 0), len - (item ? 2 : 0), item ? 2 : 0);
		if (!len)
			putchar('\n');
		text += len + (text[len] == '\n');
	}
}

int command_record(const struct arguments *arguments)
{
	struct bobbin_record_options options = BOBBIN_RECORD_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	char *text = NULL;
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = open_session(arguments, id, false, true, &store, &session);
	if (rc)
		return rc;
	options.at = arguments->at;
	options.segments = arguments->segments;
	rc = bobbin_session_record(
		session, &options, arguments->json ? NULL : &text, arguments->json ? &text : NULL, &error);
	if (rc == BOBBIN_ENOTFOUND && !arguments->at)
		rc = fail(&error), rc = EXIT_NO;
	else if (rc < 0)
		rc = fail(&error);
	else if (arguments->json)
		print_json_data(text, strlen(text)), putchar('\n');
	else if (!*text)
		note(arguments, "session %s has no segments with records yet", bobbin_session_info(session)->id);
	else
		print_record(text);
	bobbin_free(text);
	close_session(store, session);
	return rc;
}

#define EVERYTHING "everything in the record stands in its sources, and no rule of the user's is missing"

static int verify(const struct arguments *arguments, bobbin_session *session, const char *record, size_t len)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	int rc = bobbin_session_verify(session, record, len, &faults, &error);
	if (rc < 0)
		return fail(&error);
	size_t count = bobbin_faults_count(faults);
	print_faults(arguments, faults);
	if (!arguments->json && !record && bobbin_session_record(session, NULL, NULL, NULL, &error) < 0)
		printf("nothing to verify: %s\n", visible(error.message));
	else if (!arguments->json && !count)
		print_hanging(EVERYTHING, strlen(EVERYTHING), 2);
	else if (!arguments->json)
		printf("%s%s fault%s%s\n", paint(BOLD), number_text(count), count == 1 ? "" : "s",
			paint(PLAIN));
	bobbin_faults_free(faults);
	return count ? EXIT_NO : EXIT_DONE;
}

int command_verify(const struct arguments *arguments)
{
	bobbin_store *store;
	bobbin_session *session;
	char *record = NULL;
	size_t len = 0;
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = arguments->record_file ? read_input(arguments->record_file, &record, &len) : 0;
	if (!rc)
		rc = open_session(arguments, id, false, true, &store, &session);
	if (!rc) {
		rc = verify(arguments, session, record, len);
		close_session(store, session);
	}
	free(record);
	return rc;
}

/* ---- recall ---- */

static void print_hit(const struct arguments *arguments, const struct bobbin_hit *hit)
{
	if (arguments->json) {
		putchar('{');
		print_json_member("id", hit->id);
		putchar(',');
		print_json_member("name", hit->name);
		putchar(',');
		print_json_member("role", hit->role);
		printf(",\"score\":%.3f,\"excerpt\":", hit->score);
		print_json_string(hit->excerpt, hit->excerpt_len);
		puts("}");
		return;
	}
	printf("%s%s%s %s\n", paint(BOLD), visible(hit->name), paint(PLAIN), hit->role);
	print_wrapped(hit->excerpt, hit->excerpt_len, 2);
}

/* All words after the session are the query. */
static char *query_of(const struct arguments *arguments, int first)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	for (int i = first; out && i < arguments->word_count; i++)
		fprintf(out, "%s%s", i > first ? " " : "", arguments->words[i]);
	if (out)
		fclose(out);
	return text;
}

/* "m17", "m17-m20": what is so called and not there is no word that nothing matches. The number's end, or NULL. */
static const char *name_end(const char *text)
{
	size_t digits = *text == 'm' ? strspn(text + 1, "0123456789") : 0;
	return digits ? text + 1 + digits : NULL;
}

static void say_nothing_found(const struct arguments *arguments, bobbin_session *session, const char *query)
{
	static const char dash[] = "–";
	const char *after = name_end(query), *second = NULL;
	if (after && *after)
		second = strncmp(after, dash, strlen(dash)) == 0 ? after + strlen(dash) : *after == '-' ? after + 1 : query;
	const char *id = bobbin_session_info(session)->id;
	if (after && !second)
		note(arguments, "there is no message %s in session %s", query, id);
	else if (after && name_end(second) && !*name_end(second) && second != query)
		note(arguments, "there are no messages %s in session %s", query, id);
	else
		note(arguments, "nothing in this session matches \"%s\"", visible_beginning(query));
}

int command_recall(const struct arguments *arguments)
{
	struct bobbin_error error;
	const struct bobbin_hit *hit;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_recall *found;
	size_t count = 0;
	int rc = open_session(arguments, arguments->words[0], false, true, &store, &session);
	if (rc)
		return rc;
	char *query = query_of(arguments, 1);
	if (bobbin_session_recall(session, query, (size_t)arguments->limit, &found, &error) < 0) {
		rc = fail(&error);
	} else {
		for (; (hit = bobbin_recall_get(found, count)); count++)
			print_hit(arguments, hit);
		bobbin_recall_free(found);
		if (!count)
			say_nothing_found(arguments, session, query);
		rc = count ? EXIT_DONE : EXIT_NO;
	}
	free(query);
	close_session(store, session);
	return rc;
}

/* ---- work ---- */

int command_work(const struct arguments *arguments)
{
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_model *deriver;
	uint64_t derived;
	int rc = open_deriver(arguments, &deriver);
	if (!rc)
		rc = open_store(arguments, false, &store);
	if (!rc) {
		if (bobbin_work(store, deriver, arguments->once ? 0 : -1, &derived, NULL, &error) < 0)
			rc = fail(&error);
		else if (arguments->json)
			printf("{\"derived\":%llu}\n", (unsigned long long)derived);
		else
			printf("%s segment record%s derived\n", number_text(derived),
				derived == 1 ? "" : "s");
		bobbin_store_close(store);
	}
	bobbin_model_close(deriver);
	return rc;
}

/* ---- simulate ---- */

static void print_row(
	const struct arguments *arguments, const struct bobbin_simulation_row *row, double whole)
{
	if (arguments->json) {
		putchar('{');
		print_json_member("prices", row->prices);
		putchar(',');
		print_json_member("policy", row->policy);
		printf(",\"trigger\":%.2f,\"requests\":%llu,\"compactions\":%llu,\"billed\":%.0f}\n",
			row->trigger, (unsigned long long)row->requests, (unsigned long long)row->compactions,
			row->billed);
		return;
	}
	char policy[32];
	snprintf(policy, sizeof(policy), row->trigger > 0 ? "%s %.2f" : "%s", row->policy, row->trigger);
	printf("  %-18s %14s  %5.1f %%  %6s compaction%s\n", policy, number_text((uint64_t)row->billed),
		whole > 0 ? 100.0 * row->billed / whole : 0.0, number_text(row->compactions), row->compactions == 1 ? "" : "s");
}

static void print_rows(const struct arguments *arguments, const bobbin_simulation *simulation)
{
	const struct bobbin_simulation_row *row;
	double whole = 0;
	const char *prices = "";
	for (size_t i = 0; (row = bobbin_simulation_get(simulation, i)); i++) {
		if (strcmp(prices, row->prices) != 0) {
			prices = row->prices;
			whole = row->billed;
			if (!arguments->json)
				printf("%s%s%s, %s; billed, in uncached input tokens:\n", paint(BOLD), prices,
					paint(PLAIN), counted(row->requests, "request"));
		}
		print_row(arguments, row, whole);
	}
}

int command_simulate(const struct arguments *arguments)
{
	struct window_request window;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_simulation *simulation;
	char *prices = NULL;
	size_t len = 0;
	const char *id = arguments->word_count ? arguments->words[0] : arguments->session;
	int rc = window_options_read(arguments, &window);
	if (rc)
		return rc;
	if (arguments->prices_file)
		rc = read_input(arguments->prices_file, &prices, &len);
	if (!rc)
		rc = open_session(arguments, id, false, true, &store, &session);
	if (!rc) {
		if (bobbin_session_simulate(session, &window.options, prices, len, &simulation, &error) < 0) {
			rc = fail(&error);
		} else {
			print_rows(arguments, simulation);
			bobbin_simulation_free(simulation);
		}
		close_session(store, session);
	}
	free(prices);
	window_options_release(&window);
	return rc;
}
