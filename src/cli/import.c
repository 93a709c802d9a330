/* SPDX-License-Identifier: MIT */
/* The command import: sessions of other products into the store. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN_REMARKS 8

static void print_tallies_json(const bobbin_import *import)
{
	const struct bobbin_import_tally *tally;
	fputs("\"met\":[", stdout);
	for (size_t i = 0; (tally = bobbin_import_tally(import, i)); i++) {
		fputs(i ? ",{" : "{", stdout);
		print_json_member("kind", tally->kind);
		putchar(',');
		print_json_member("what", tally->what);
		printf(",\"count\":%llu}", (unsigned long long)tally->count);
	}
	putchar(']');
}

static void print_imported_json(
	const struct known_sessions *known, bobbin_store *store, const bobbin_import *import, const char *file)
{
	const struct bobbin_imported *one;
	putchar('{');
	print_json_member("file", file);
	putchar(',');
	print_json_member("format", bobbin_import_format(import));
	fputs(",\"sessions\":[", stdout);
	for (size_t i = 0; (one = bobbin_import_get(import, i)); i++) {
		fputs(i ? ",{" : "{", stdout);
		print_json_member("id", one->id);
		putchar(',');
		print_json_member("title", one->title);
		putchar(',');
		print_json_member("foreign_id", one->foreign_id);
		printf(",\"messages\":%llu,\"calls\":%llu,\"results\":%llu,\"messages_on_line\":%llu",
			(unsigned long long)one->messages, (unsigned long long)one->calls,
			(unsigned long long)one->results, (unsigned long long)one->messages_on_line);
		const char *before = imported_before(known, store, import, i);
		if (before) {
			putchar(',');
			print_json_member("same_as", before);
		}
		putchar('}');
	}
	fputs("],\"warnings\":", stdout);
	putchar('{');
	print_faults_json(bobbin_import_warnings(import));
	fputs("},", stdout);
	print_tallies_json(import);
	puts("}");
}

static bool is_kind(const struct bobbin_import_tally *tally, const char *kind)
{
	return strcmp(tally->kind, kind) == 0;
}

/* What was met in all, in a line: damage, if there is any, and what was not understood if the remarks were too many for it. */
static void note_tallies(const struct arguments *arguments, const bobbin_import *import, bool all)
{
	const struct bobbin_import_tally *tally;
	char *text = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&text, &len);
	if (!stream)
		return;
	for (size_t i = 0; (tally = bobbin_import_tally(import, i)); i++) {
		bool strange = is_kind(tally, "not_understood");
		if (is_kind(tally, "left_out") || (strange && !all))
			continue;
		fprintf(stream, "%s%s %s%s", ftell(stream) ? ", " : "", number_text(tally->count), tally->what,
			strange ? " not understood" : "");
	}
	if (fclose(stream) == 0 && len)
		note(arguments, "  in all: %s", text);
	free(text);
}

/* As they stand no provider takes them, and nobody would see it before the first request elsewhere. */
static void note_unanswered(const struct arguments *arguments, const bobbin_import *import)
{
	const struct bobbin_imported *one;
	uint64_t open = 0;

	for (size_t i = 0; (one = bobbin_import_get(import, i)); i++)
		open += one->calls > one->results ? one->calls - one->results : 0;
	if (open && !arguments->repair)
		note(arguments, "  %s without a result: --repair gives %s one that says so, as chat does when it goes on",
			counted(open, "call"), open == 1 ? "it" : "each");
}

/* The ids go to stdout, one a line, so that a script can use them; the rest is for a person. */
static void print_imported(const struct arguments *arguments, const struct known_sessions *known, bobbin_store *store,
	const bobbin_import *import, const char *file)
{
	const struct bobbin_imported *one;
	size_t warnings = bobbin_faults_count(bobbin_import_warnings(import)),
	       count = bobbin_import_count(import);
	note(arguments, "%s: %s, %s session%s", file, bobbin_import_format(import), number_text(count),
		count == 1 ? "" : "s");
	for (size_t i = 0; (one = bobbin_import_get(import, i)); i++) {
		if (i < 10)
			note(arguments, "  %s: %s (%s on the line), %s, %s", one->id, counted(one->messages, "message"),
				number_text(one->messages_on_line), counted(one->calls, "call"),
				counted(one->results, "result"));
		else if (i == 10)
			note(arguments, "  … and %s more", number_text(count - 10));
		const char *before = imported_before(known, store, import, i);
		if (before)
			note(arguments, "  the same messages stand in %s, which was there before", before);
	}
	for (size_t i = 0; i < warnings && i < SHOWN_REMARKS; i++) {
		const struct bobbin_fault *fault = bobbin_faults_get(bobbin_import_warnings(import), i);
		if (fault->line)
			note(arguments, "  %s:%llu: %s", file, (unsigned long long)fault->line,
				fault->message);
		else
			note(arguments, "  %s", fault->message);
	}
	if (warnings > SHOWN_REMARKS)
		note(arguments, "  … and %s; --json shows %s", counted(warnings - SHOWN_REMARKS, "more remark"),
			warnings - SHOWN_REMARKS == 1 ? "it" : "them all");
	note_tallies(arguments, import, warnings > SHOWN_REMARKS);
	note_unanswered(arguments, import);
	for (size_t i = 0; (one = bobbin_import_get(import, i)); i++)
		puts(one->id);
}

static int import_file(
	const struct arguments *arguments, bobbin_store *store, struct known_sessions *known, const char *file)
{
	struct bobbin_import_options options = BOBBIN_IMPORT_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_import *import;
	struct stat status;
	/* What says that it is empty is read all the same: files of the kernel have no size, and may not be readable. */
	bool regular = strcmp(file, "-") != 0 && stat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size;
	char *data = NULL;
	size_t len = 0;
	int rc = regular ? 0 : read_input(file, &data, &len);
	if (rc)
		return rc;
	options.format = arguments->format;
	options.id = arguments->id;
	options.owner = owner_name(arguments);
	options.name = file;
	options.redact_on_write = arguments->redact_on_write;
	options.repair = arguments->repair;
	rc = regular ? bobbin_import_file(store, file, &options, &import, &error)
		     : bobbin_import_data(store, data, len, &options, &import, &error);
	free(data);
	if (rc < 0)
		return fail(&error);
	if (arguments->json)
		print_imported_json(known, store, import, file);
	else
		print_imported(arguments, known, store, import, file);
	known_sessions_add(known, import);
	bobbin_import_free(import);
	return 0;
}

int command_import(const struct arguments *arguments)
{
	struct known_sessions known = {NULL, 0, 0, 0};
	bobbin_store *store;
	if (arguments->id && arguments->word_count > 1)
		return fail_usage("--id names one session; import the files one by one");
	int rc = arguments->format ? check_format(arguments->format, "import") : 0;
	if (!rc)
		rc = open_store(arguments, true, &store);
	if (rc)
		return rc;
	known_sessions_list(&known, store, owner_name(arguments));
	for (int i = 0; i < arguments->word_count; i++) {
		int one = import_file(arguments, store, &known, arguments->words[i]);
		rc = one ? one : rc; /* one bad file does not stop the others */
	}
	known_sessions_free(&known);
	bobbin_store_close(store);
	return rc;
}
