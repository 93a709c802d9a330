/* SPDX-License-Identifier: MIT */
/* The command doctor: what is wrong with sessions, the store, and transcripts; and repairing sessions. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Progress ---- */

/* On a terminal's last line of stderr, wiped out before anything else is printed. */
static bool progress_shown;

static int show_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
	(void)context;
	if (total)
		fprintf(stderr, "\r\033[K%.40s: %llu of %llu MB", visible(what), (unsigned long long)(done >> 20),
			(unsigned long long)(total >> 20));
	else
		fprintf(stderr, "\r\033[K%.40s: %llu", visible(what), (unsigned long long)done);
	progress_shown = true;
	return 0;
}

void progress_begin(const struct arguments *arguments, bobbin_store *store)
{
	if (!arguments->quiet && output_color(STDERR_FILENO))
		bobbin_store_progress(store, show_progress, NULL);
}

void progress_wipe(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

/* ---- Reports ---- */

/* What the doctor has looked at so far. */
struct visit {
	const struct arguments *arguments;
	uint64_t looked_at, with_faults, repaired; /* with_faults: after a repair, those in which some stay */
	uint64_t replaced; /* damaged ones beside which their repaired copy stands */
	bool can_repair; /* some fault is one that a repair does something about */
	bool quiet_if_healthy; /* of many, the healthy ones are only counted */
	int rc;
};

/* The worst of several: a failure outweighs a "no". */
static void worse(struct visit *visit, int rc)
{
	visit->rc = rc > visit->rc ? rc : visit->rc;
}

static void begin_json(const char *what)
{
	putchar('{');
	print_json_member("of", what);
	putchar(',');
}

static void print_name(const char *what)
{
	fputs(paint(BOLD), stdout);
	print_clean(what, strlen(what));
	printf("%s: ", paint(PLAIN));
}

static bool has_repair(const bobbin_faults *faults)
{
	for (size_t i = 0; i < bobbin_faults_count(faults); i++)
		if (*bobbin_faults_get(faults, i)->repair)
			return true;
	return false;
}

/* A damaged session whose repaired copy stands beside it: nothing is left to do about it. */
static void print_replaced(const char *what, const char *repaired_as)
{
	print_name(what);
	printf("damaged; its repaired copy is %s\n", repaired_as);
	puts("  Go on in that one. The damaged one stays as it is, and can be deleted.");
}

static int report(struct visit *visit, const char *what, bobbin_faults *faults)
{
	size_t count = bobbin_faults_count(faults);
	const char *repaired_as = bobbin_faults_repaired_as(faults);
	/* Of all sessions, what was done about is told and counts no more; whoever asks for one by its name hears what it has. */
	bool replaced = repaired_as && visit->quiet_if_healthy && !has_repair(faults);
	progress_wipe();
	visit->looked_at++;
	visit->replaced += replaced;
	visit->with_faults += count > 0 && !replaced;
	visit->can_repair |= has_repair(faults);
	if (visit->arguments->json) {
		begin_json(what);
		if (repaired_as) {
			print_json_member("repaired_as", repaired_as);
			putchar(',');
		}
		print_faults_json(faults);
		puts("}");
	} else if (replaced) {
		print_replaced(what, repaired_as);
	} else if (count || !visit->quiet_if_healthy) {
		print_name(what);
		if (count)
			printf("%zu fault%s\n", count, count == 1 ? "" : "s");
		else
			puts("healthy");
		print_faults(visit->arguments, faults);
	}
	bobbin_faults_free(faults);
	return count && !replaced ? EXIT_NO : EXIT_DONE;
}

/* ---- Repairs ---- */

/* What a repair left as it was, looked for anew. The end of a line of JSON, or a part of the report. `count`: how many. */
static void print_left(const struct visit *visit, bobbin_faults *faults)
{
	size_t count = bobbin_faults_count(faults);
	if (visit->arguments->json) {
		fputs(",\"left\":{", stdout);
		print_faults_json(faults);
		puts("}}");
	} else if (count) {
		printf("%zu fault%s no repair mends:\n", count, count == 1 ? "" : "s");
		print_faults(visit->arguments, faults);
	}
	bobbin_faults_free(faults);
}

static void print_repaired_json(const char *id, const struct bobbin_repaired *repaired)
{
	begin_json(id);
	print_json_member("repaired_as", repaired->id);
	printf(",\"earlier\":%s,\"mended\":%llu,\"messages\":%llu,\"left_out\":%llu,\"changed\":%llu,\"marked\":%llu,"
	       "\"replayed\":%llu,\"detached\":%s,\"copied\":%s,\"emptied\":%s",
		repaired->found ? "true" : "false", (unsigned long long)repaired->mended,
		(unsigned long long)repaired->messages, (unsigned long long)repaired->left_out,
		(unsigned long long)repaired->changed, (unsigned long long)repaired->marked,
		(unsigned long long)repaired->replayed,
		repaired->detached ? "true" : "false", repaired->copied ? "true" : "false",
		repaired->emptied ? "true" : "false");
}

static void print_sentence(const char *text)
{
	print_wrapped(text, strlen(text), 2);
}

/* What of it the new session has. */
static void print_counts(const struct bobbin_repaired *repaired)
{
	char text[400];
	int len = snprintf(text, sizeof(text), "%s", counted(repaired->messages, "message"));
	if (repaired->left_out)
		len += snprintf(text + len, sizeof(text) - (size_t)len, ", %s left out", counted(repaired->left_out, "line"));
	if (repaired->changed)
		len += snprintf(text + len, sizeof(text) - (size_t)len, ", %s put right", counted(repaired->changed, "record"));
	if (repaired->marked)
		len += snprintf(text + len, sizeof(text) - (size_t)len, ", %s marked as unanswered",
			counted(repaired->marked, "call"));
	if (repaired->replayed)
		snprintf(text + len, sizeof(text) - (size_t)len, ", %s answered from the journal",
			counted(repaired->replayed, "call"));
	print_sentence(text);
}

static void print_made(const struct bobbin_repaired *repaired)
{
	if (repaired->found) {
		puts("was repaired before; it stays as it is");
	} else {
		puts("it stays as it is; a new session holds what can be read of it:");
		print_counts(repaired);
	}
	if (repaired->emptied)
		print_sentence("its log was emptied: a note in the new one stands for what was in it");
	else if (repaired->detached)
		print_sentence("what it was forked from is gone or changed: the new one begins with a note that says so");
	if (repaired->copied)
		print_sentence("what it inherits was copied into it: there is no whole log that a fork could name");
	printf("  repaired as %s\n", repaired->id);
}

static void print_repaired(const char *id, const struct bobbin_repaired *repaired, size_t left)
{
	print_name(id);
	if (repaired->mended)
		printf("%s put right%s", counted(repaired->mended, "file"), *repaired->id ? "\n  " : left ? "; " : "\n");
	if (*repaired->id)
		print_made(repaired);
	else if (!repaired->mended && !left)
		puts("nothing to repair");
}

/* Is what has the log's name something that is not opened? */
static bool is_no_log(bobbin_store *store, const char *id)
{
	bobbin_faults *faults;
	if (bobbin_doctor_session(store, id, &faults, NULL) < 0)
		return false;
	bool refused = bobbin_faults_count(faults) && strcmp(bobbin_faults_get(faults, 0)->kind, "refused") == 0;
	bobbin_faults_free(faults);
	return refused;
}

static int repair_session(struct visit *visit, bobbin_store *store, const char *id)
{
	struct bobbin_repaired repaired = {.id = ""};
	struct bobbin_error error;
	bobbin_faults *left;
	int failed = bobbin_repair_session(store, id, &repaired, &error);
	if (failed == BOBBIN_EREFUSED && is_no_log(store, id)) /* a fault that stays */
		failed = 0;
	if (!failed) /* a damaged log stays as it is: what counts then is what was made of it */
		failed = bobbin_doctor_session(store, *repaired.id ? repaired.id : id, &left, &error);
	progress_wipe();
	if (failed < 0)
		return fail_about(id, &error);
	size_t count = bobbin_faults_count(left);
	visit->looked_at++;
	visit->with_faults += count > 0;
	visit->repaired += (*repaired.id && !repaired.found) || repaired.mended;
	if (visit->arguments->json)
		print_repaired_json(id, &repaired);
	else if (count || *repaired.id || repaired.mended || !visit->quiet_if_healthy)
		print_repaired(id, &repaired, count);
	print_left(visit, left);
	return count ? EXIT_NO : EXIT_DONE;
}

static int repair_folder(struct visit *visit, bobbin_store *store)
{
	struct bobbin_error error;
	uint64_t mended;
	bobbin_faults *left;
	int failed = bobbin_repair_store(store, &mended, &error);
	if (!failed)
		failed = bobbin_doctor_store(store, &left, &error);
	progress_wipe();
	if (failed < 0)
		return fail(&error);
	size_t count = bobbin_faults_count(left);
	if (visit->arguments->json) {
		begin_json("");
		printf("\"mended\":%llu", (unsigned long long)mended);
	} else {
		if (mended || count)
			print_name("the store's folder");
		if (mended)
			printf("%s put right or taken away%s", counted(mended, "file"), count ? "; " : "\n");
	}
	print_left(visit, left);
	return count ? EXIT_NO : EXIT_DONE;
}

/* ---- What is looked at ---- */

static int visit_session(struct visit *visit, bobbin_store *store, const char *id)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	if (visit->arguments->repair)
		return repair_session(visit, store, id);
	int failed = bobbin_doctor_session(store, id, &faults, &error);
	progress_wipe();
	if (failed == BOBBIN_ENOTFOUND && access(id, F_OK) == 0)
		return fail_usage("there is no session %s; for the file of that name: bobbin doctor ./%s", id, id);
	return failed < 0 ? fail_about(id, &error) : report(visit, id, faults);
}

static int visit_folder(struct visit *visit, bobbin_store *store)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	if (visit->arguments->repair)
		return repair_folder(visit, store);
	int failed = bobbin_doctor_store(store, &faults, &error);
	progress_wipe();
	if (failed < 0)
		return fail(&error);
	struct visit folder = *visit; /* it is not counted: it is no session */
	int rc = report(&folder, visit->arguments->json ? "" : "the store's folder", faults);
	visit->can_repair |= folder.can_repair;
	return rc;
}

/* Formats in that are called otherwise out; those that cannot be written go on as something every client takes. */
static const char *export_format_of(const char *format)
{
	if (strcmp(format, "anthropic-messages") == 0)
		return "anthropic";
	return *bobbin_export_summary(format) ? format : "openai-chat";
}

/* Where the product looks for its sessions; docs/readers.md. */
static const char *where_to_put(const char *format)
{
	static const char *const PLACES[][2] = {
		{"claude-code", "its place is ~/.claude/projects/FOLDER/SESSION.jsonl (SESSION: the sessionId in it), where the damaged one "
				"was; then: claude --resume SESSION"},
		{"codex", "its place is ~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl (ID: that of its first line); then: codex "
			  "resume ID"},
		{"pi", "then: pi --session NEW-FILE"},
	};
	for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++)
		if (strcmp(PLACES[i][0], format) == 0)
			return PLACES[i][1];
	return NULL;
}

/* A word of a command that is to be copied into a shell: in quotes, if it needs them. */
static void print_shell_word(const char *word)
{
	static const char PLAIN_CHARACTERS[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@%=";
	if (!word[strspn(word, PLAIN_CHARACTERS)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (const char *part = word; *part;) {
		size_t len = strcspn(part, "'");
		print_clean(part, len);
		part += len;
		if (*part) {
			fputs("'\\''", stdout);
			part++;
		}
	}
	putchar('\'');
}

/* The way on: into the store with everything put right, and out again. */
static void print_way_on(const struct visit *visit, const char *file, const bobbin_faults *faults)
{
	bool repairs = has_repair(faults), refused = false;
	for (size_t i = 0; i < bobbin_faults_count(faults); i++)
		refused |= bobbin_faults_get(faults, i)->refusal_count > 0;
	const char *format = bobbin_faults_format(faults);
	if (!format || visit->arguments->json)
		return;
	if (!repairs && !refused && bobbin_faults_count(faults))
		puts("no provider refuses it: `bobbin import` takes it as it is");
	if (!repairs)
		return;
	puts("to go on with it:");
	fputs("  bobbin import --repair ", stdout);
	print_shell_word(file);
	printf("\n  bobbin export ID --format %s > NEW-FILE\n", export_format_of(format));
	const char *place = where_to_put(export_format_of(format));
	if (place)
		print_wrapped(place, strlen(place), 0);
}

/* As report(), with what repairs it. */
static int report_file(struct visit *visit, const char *file, bobbin_faults *faults)
{
	size_t count = bobbin_faults_count(faults);
	visit->looked_at++;
	visit->with_faults += count > 0;
	if (visit->arguments->json) {
		const char *format = bobbin_faults_format(faults);
		begin_json(file);
		print_json_member("format", format ? format : "");
		putchar(',');
		print_faults_json(faults);
		puts("}");
	} else {
		print_name(file);
		if (count)
			printf("%zu fault%s\n", count, count == 1 ? "" : "s");
		else
			puts("healthy");
		print_faults(visit->arguments, faults);
		print_way_on(visit, file, faults);
	}
	bobbin_faults_free(faults);
	return count ? EXIT_NO : EXIT_DONE;
}

static int visit_file(struct visit *visit, const char *file)
{
	struct bobbin_error error;
	bobbin_faults *faults;
	char *data;
	size_t len;
	if (visit->arguments->repair)
		return fail_usage("--repair is for sessions of the store; for a transcript: bobbin import --repair %s", file);
	int rc = read_input(file, &data, &len);
	if (rc)
		return rc;
	rc = bobbin_doctor_data(visit->arguments->format, data, len, &faults, &error);
	free(data);
	return rc < 0 ? fail_about(file, &error) : report_file(visit, file, faults);
}

static void print_sum(const struct visit *visit)
{
	if (visit->arguments->json)
		return;
	if (visit->arguments->repair)
		printf("%s, %s put right%s%s\n", counted(visit->looked_at, "session"), number_text(visit->repaired),
			visit->with_faults ? ", faults stay in " : "",
			visit->with_faults ? number_text(visit->with_faults) : "");
	else if (visit->with_faults)
		printf("%s, faults in %s%s\n", counted(visit->looked_at, "session"), number_text(visit->with_faults),
			visit->can_repair ? "; bobbin doctor --repair mends what it can" : "");
	else if (visit->replaced)
		printf("%s, no faults but in %s, whose repaired cop%s there\n", counted(visit->looked_at, "session"),
			number_text(visit->replaced), visit->replaced == 1 ? "y is" : "ies are");
	else if (visit->rc == EXIT_DONE)
		printf("%s, no faults\n", counted(visit->looked_at, "session"));
	else
		printf("%s, no faults in them\n", counted(visit->looked_at, "session"));
}

static void visit_all(struct visit *visit, bobbin_store *store)
{
	const struct bobbin_session_info *info;
	struct bobbin_error error;
	bobbin_list *list;
	visit->quiet_if_healthy = true;
	if (bobbin_list_open(store, NULL, &list, &error) < 0) {
		worse(visit, fail(&error));
		return;
	}
	worse(visit, visit_folder(visit, store));
	while ((info = bobbin_list_next(list)))
		worse(visit, visit_session(visit, store, info->id));
	bobbin_list_close(list);
	print_sum(visit);
}

/* Session ids have no dots and no slashes: a word with one is a file (a bare name: ./NAME). "-" is stdin. */
static bool is_file(const struct arguments *arguments, const char *word)
{
	return arguments->format || strpbrk(word, "/.") || strcmp(word, "-") == 0;
}

static bool needs_store(const struct arguments *arguments)
{
	for (int i = 0; i < arguments->word_count; i++)
		if (!is_file(arguments, arguments->words[i]))
			return true;
	return arguments->word_count == 0;
}

/* A file that is named like a session, where there is no store at all. */
static int refuse_bare_names(const struct arguments *arguments)
{
	for (int i = 0; i < arguments->word_count && access(store_path(arguments), F_OK) < 0; i++) {
		const char *word = arguments->words[i];
		if (!is_file(arguments, word) && access(word, F_OK) == 0)
			return fail_usage("there is no store at %s; for the file %s: bobbin doctor ./%s", store_path(arguments),
				word, word);
	}
	return 0;
}

int command_doctor(const struct arguments *arguments)
{
	struct visit visit = {.arguments = arguments};
	bobbin_store *store = NULL;
	int rc = arguments->format ? check_format(arguments->format, "import") : 0;
	if (!rc)
		rc = refuse_bare_names(arguments);
	if (!rc && needs_store(arguments))
		rc = open_store(arguments, false, &store);
	if (rc)
		return rc;
	if (store)
		progress_begin(arguments, store);
	if (!arguments->word_count)
		visit_all(&visit, store);
	for (int i = 0; i < arguments->word_count; i++) {
		const char *word = arguments->words[i];
		worse(&visit, is_file(arguments, word) ? visit_file(&visit, word) : visit_session(&visit, store, word));
	}
	bobbin_store_close(store);
	return visit.rc;
}
