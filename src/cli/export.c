/* SPDX-License-Identifier: MIT */
/* `bobbin export`: a session in another product's format, to stdout. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"

void print_export_formats(void)
{
	printf("\nFormats:\n");
	for (const char *const *name = bobbin_export_formats(); *name; name++)
		printf("  %-18s %s\n", *name, bobbin_export_summary(*name));
}

static int write_all(const struct arguments *arguments, bobbin_export *export)
{
	bool json = strcmp(arguments->format, "markdown") != 0;
	struct bobbin_error error;
	const char *data;
	size_t len;
	int code;

	while ((code = bobbin_export_next(export, &data, &len, &error)) > 0) {
		json ? print_json_data(data, len) : print_data(data, len);
		if (ferror(stdout))
			return fail_file("stdout", errno);
	}
	if (code < 0)
		return fail(&error);
	return fflush(stdout) == 0 ? EXIT_DONE : fail_file("stdout", errno);
}

static void say_losses(const struct arguments *arguments, bobbin_export *export)
{
	const struct bobbin_export_loss *loss;

	for (size_t i = 0; (loss = bobbin_export_loss(export, i)); i++)
		note(arguments, "%s has no place for: %s (%s)", arguments->format, loss->what,
			number_text(loss->count));
}

int command_export(const struct arguments *arguments)
{
	struct bobbin_export_options options = BOBBIN_EXPORT_OPTIONS_INIT;
	struct bobbin_error error;
	bobbin_store *store;
	bobbin_session *session;
	bobbin_export *export;
	char folder[4096];

	if (!arguments->format)
		return fail_usage("export needs --format; `bobbin help export` lists them");
	int code = check_format(arguments->format, "export");
	if (code)
		return code;
	code = open_session(arguments, arguments->words[0], false, true, &store, &session);
	if (code)
		return code;
	note_damage(arguments, session);
	options.format = arguments->format;
	options.to = arguments->to;
	options.mask = arguments->mask;
	options.folder = getcwd(folder, sizeof folder) ? folder : NULL;
	if (bobbin_export_open(session, &options, &export, &error) < 0) {
		code = fail(&error);
	} else {
		code = write_all(arguments, export);
		say_losses(arguments, export);
		bobbin_export_close(export);
	}
	close_session(store, session);
	return code;
}
