/* SPDX-License-Identifier: MIT */
/* `bobbin files`: the workspace of a session: its files and their versions. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

#define VERSION_SHOWN 12

static void print_file_json(const struct bobbin_file *file)
{
	putchar('{');
	print_json_member("path", file->path);
	printf(",\"size\":%" PRIu64 ",\"version\":", file->size);
	if (*file->version)
		print_json_text(file->version);
	else
		fputs("null", stdout);
	putchar(',');
	print_json_member("by", file->by);
	putchar(',');
	print_json_member("ts", file->ts);
	putchar(',');
	print_json_member("after", file->after);
	printf(",\"inherited\":%s}\n", file->inherited ? "true" : "false");
}

static void print_file(bobbin_session *session, const struct bobbin_file *file, bool with_version)
{
	size_t columns = (size_t)output_columns(), taken = 12;
	char version[VERSION_SHOWN + 1];

	if (with_version) {
		snprintf(version, sizeof version, "%.*s", VERSION_SHOWN, *file->version ? file->version : "taken away");
		printf("%s%-*s%s  %-19.19s  %-7s  %-6s  ", paint(*file->version ? CYAN : DIM), VERSION_SHOWN, version,
			paint(PLAIN), visible(file->ts), visible(file->by),
			*file->after ? visible(short_id(session, file->after)) : "start");
		taken += VERSION_SHOWN + 2 + 21 + 9 + 8;
	}
	printf("%10s  ", number_text(file->size));
	print_line_of(file->path, strlen(file->path), columns > taken + 8 ? columns - taken : 8);
	putchar('\n');
}

static int list(const struct arguments *arguments, bobbin_session *session, const char *path, bool versions)
{
	struct bobbin_files_options options = BOBBIN_FILES_OPTIONS_INIT;
	const struct bobbin_file *file;
	struct bobbin_error error;
	bobbin_files *files;
	size_t count = 0;

	options.path = path;
	options.at = arguments->at;
	options.versions = versions;
	if (bobbin_files_open(session, &options, &files, &error) < 0)
		return fail(&error);
	for (; (file = bobbin_files_next(files)); count++) {
		if (arguments->json)
			print_file_json(file);
		else
			print_file(session, file, versions);
	}
	bobbin_files_close(files);
	if (!count)
		note(arguments, path ? "there is no version of %s" : "the workspace has no files", path);
	return count || !path ? EXIT_DONE : EXIT_NO;
}

/* What others did, and what is left alone, is told. */
static int look(const struct arguments *arguments, bobbin_session *session)
{
	struct bobbin_files_report report;
	struct bobbin_error error;

	if (bobbin_files_sync(session, &report, &error) < 0)
		return fail(&error);
	if (report.noticed)
		note(arguments, "noticed %s by others", counted(report.noticed, "change"));
	if (report.refused)
		note(arguments, "left alone: %s%s%s", visible(report.refused_why), report.refused > 1 ? ", and " : "",
			report.refused > 1 ? counted(report.refused - 1, "more") : "");
	return 0;
}

static int cat(const struct arguments *arguments, bobbin_session *session, const char *path)
{
	struct bobbin_error error;
	char *data;
	size_t len;

	if (bobbin_file_read(session, path, arguments->at, &data, &len, &error) < 0)
		return fail(&error);
	if (arguments->json) {
		putchar('{');
		print_json_member("path", path);
		fputs(",\"content\":", stdout);
		print_json_string(data, len);
		puts("}");
	} else {
		print_data(data, len);
	}
	bobbin_free(data);
	return EXIT_DONE;
}

static int put(const struct arguments *arguments, bobbin_session *session, const char *path)
{
	struct bobbin_error error;
	char *data;
	size_t len;
	int code = read_input(arguments->word_count > 3 ? arguments->words[3] : "-", &data, &len);

	if (code)
		return code;
	if (bobbin_file_put(session, path, data, len, &error) < 0)
		code = fail(&error);
	free(data);
	return code;
}

static int take_away(bobbin_session *session, const char *path)
{
	struct bobbin_error error;

	return bobbin_file_remove(session, path, &error) < 0 ? fail(&error) : EXIT_DONE;
}

static const struct {
	const char *name;
	int words_min, words_max;
	const char *usage;
	bool make; /* the session, if it is not there */
	bool only_looks; /* what others changed is written down on the way, if anything can be */
} VERBS[] = {
	{"ls", 2, 2, "files SESSION ls", false, true},
	{"log", 2, 3, "files SESSION log [PATH]", false, true},
	{"cat", 3, 3, "files SESSION cat PATH [--at MESSAGE|VERSION]", false, true},
	{"put", 3, 4, "files SESSION put PATH [FILE]", true, false},
	{"rm", 3, 3, "files SESSION rm PATH", false, false},
};

static int run(const struct arguments *arguments, size_t verb)
{
	const char *path = arguments->word_count > 2 ? arguments->words[2] : NULL;
	bobbin_session *session;
	bobbin_store *store;
	bool read_only = VERBS[verb].only_looks && access(store_path(arguments), W_OK) < 0 && errno != ENOENT;
	int code = open_session(arguments, arguments->words[0], VERBS[verb].make, read_only, &store, &session);

	if (code)
		return code;
	switch (VERBS[verb].name[0]) {
	case 'l':
		if (read_only)
			note(arguments, "as the log says: nothing can be written here, so what others changed since is not looked for");
		else
			code = look(arguments, session);
		if (!code)
			code = list(arguments, session, path, strcmp(VERBS[verb].name, "log") == 0);
		break;
	case 'c':
		code = cat(arguments, session, path);
		break;
	case 'p':
		code = put(arguments, session, path);
		break;
	default:
		code = take_away(session, path);
	}
	close_session(store, session);
	return code;
}

int command_files(const struct arguments *arguments)
{
	for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++) {
		if (strcmp(arguments->words[1], VERBS[i].name) != 0)
			continue;
		if (arguments->word_count < VERBS[i].words_min || arguments->word_count > VERBS[i].words_max)
			return fail_usage("like this: bobbin %s", VERBS[i].usage);
		return run(arguments, i);
	}
	return fail_usage("files does ls, log, cat, put and rm, not '%s'", arguments->words[1]);
}
