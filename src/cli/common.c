/* SPDX-License-Identifier: MIT */
/* What most commands begin with: the store, the session, the files named on the command line. */
#include "cli/cli.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *store_path(const struct arguments *arguments)
{
	const char *path = arguments->store ? arguments->store : getenv("BOBBIN_STORE");
	return path && *path ? path : ".sessions";
}

int open_store(const struct arguments *arguments, bool create, bobbin_store **ret_store)
{
	struct bobbin_store_options options = BOBBIN_STORE_OPTIONS_INIT;
	struct bobbin_error error;
	options.must_exist = !create;
	options.force_file_system = arguments->force_file_system;
	options.sync = arguments->sync_none ? BOBBIN_SYNC_NONE : BOBBIN_SYNC_FULL;
	if (bobbin_store_open(store_path(arguments), &options, ret_store, &error) < 0)
		return fail(&error);
	return 0;
}

const char *owner_name(const struct arguments *arguments)
{
	if (arguments->owner)
		return arguments->owner;
	const struct passwd *user = getpwuid(geteuid());
	return user ? user->pw_name : "";
}

int open_session(const struct arguments *arguments, const char *id, bool create, bool read_only,
	bobbin_store **ret_store, bobbin_session **ret_session)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	struct bobbin_error error;
	if (id && !*id)
		return fail_usage("a session id is missing");
	int rc = open_store(arguments, create, ret_store);
	if (rc)
		return rc;
	options.must_exist = !create;
	options.read_only = read_only;
	options.owner = owner_name(arguments);
	options.title = arguments->title;
	options.segment_bytes = arguments->segment_bytes;
	options.redact_on_write = arguments->redact_on_write;
	if (bobbin_session_open(*ret_store, id ? id : "main", &options, ret_session, &error) < 0) {
		bobbin_store_close(*ret_store);
		return fail(&error);
	}
	/* Who says whose session it is means that one, and not what is known about somebody else. */
	const char *owner = bobbin_session_info(*ret_session)->owner;
	if (create && arguments->owner && *owner && strcmp(owner, arguments->owner) != 0) {
		rc = fail_usage("session %s is %s's, not %s's", bobbin_session_info(*ret_session)->id,
			visible(owner), visible(arguments->owner));
		close_session(*ret_store, *ret_session);
	}
	return rc;
}

const char *short_id(bobbin_session *session, const char *id)
{
	static char buffers[2][BOBBIN_MESSAGE_ID_BYTES];
	static unsigned next;
	char *out = buffers[next++ % 2];
	return *id && bobbin_short_id(session, id, out, NULL) == 0 ? out : id;
}

const char *counted(uint64_t count, const char *noun)
{
	static char buffers[8][64];
	static unsigned next;
	char *out = buffers[next++ % 8];
	snprintf(out, sizeof(buffers[0]), "%s %s%s", number_text(count), noun, count == 1 ? "" : "s");
	return out;
}

void close_session(bobbin_store *store, bobbin_session *session)
{
	bobbin_session_close(session);
	bobbin_store_close(store);
}

int window_options_read(const struct arguments *arguments, struct window_request *ret_request)
{
	struct window_request request = {BOBBIN_WINDOW_OPTIONS_INIT, NULL, NULL};
	struct bobbin_window_options *options = &request.options;
	int rc = 0;
	options->model = arguments->model;
	options->window = arguments->window;
	options->output_reserve = arguments->output_reserve;
	options->margin = arguments->margin;
	options->trigger = arguments->trigger;
	options->trigger_tokens = arguments->trigger_tokens;
	options->target = arguments->target;
	options->tail_min = arguments->tail_min;
	options->tail_max = arguments->tail_max;
	options->keep_recent = arguments->keep_recent;
	options->keep_first = arguments->keep_first;
	options->byte_limit = arguments->byte_limit;
	options->at = arguments->at;
	options->no_facts = arguments->no_facts;
	if (arguments->system_file)
		rc = read_input(arguments->system_file, &request.system, &options->system_len);
	if (!rc && arguments->tools_file)
		rc = read_input(arguments->tools_file, &request.tools, &options->tools_len);
	options->system = request.system;
	options->tools = request.tools;
	if (rc)
		window_options_release(&request);
	else
		*ret_request = request;
	return rc;
}

void window_options_release(struct window_request *request)
{
	free(request->system);
	free(request->tools);
	request->system = request->tools = NULL;
}

const char *model_spec(const struct arguments *arguments)
{
	const char *model = getenv("BOBBIN_MODEL"), *mock = getenv("MOCK");
	if (arguments->model)
		return arguments->model;
	if (model && *model)
		return model;
	return mock && strcmp(mock, "1") == 0 ? "mock" : NULL;
}

void tell_terminal(void)
{
	if (isatty(STDIN_FILENO))
		fputs("reading from the terminal; end with Ctrl-D on a line of its own\n", stderr);
}

/* A file is held whole. What is larger is no transcript but a device or a mistake. */
#define INPUT_BYTES_MAX ((size_t)1 << 30)

int read_input(const char *name, char **ret_data, size_t *ret_len)
{
	FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
	if (file == stdin)
		tell_terminal();
	char *data = NULL;
	size_t len = 0, cap = 0, got;
	bool full = false; /* memory: what was read so far must not pass for the whole */
	if (!file)
		return fail_file(name, errno);
	do {
		if (cap - len < 65536) {
			cap = cap ? cap * 2 : 65536 * 2;
			char *more = realloc(data, cap + 1);
			if (!more) {
				full = true;
				break;
			}
			data = more;
		}
		got = fread(data + len, 1, cap - len, file);
		len += got;
	} while (got && len <= INPUT_BYTES_MAX);
	int bad = 0;
	if (full)
		bad = fail_file(name, ENOMEM);
	else if (len > INPUT_BYTES_MAX)
		bad = fail_file(name, EFBIG);
	else if (ferror(file))
		bad = fail_file(name, errno);
	if (file != stdin)
		fclose(file);
	if (bad) {
		free(data);
		return bad;
	}
	data[len] = 0;
	*ret_data = data;
	*ret_len = len;
	return 0;
}

int check_format(const char *format, const char *command)
{
	bool known = strcmp(command, "export") == 0 ? *bobbin_export_summary(format) != '\0'
						    : bobbin_import_format_about(format) != NULL;
	return known ? 0 : fail_usage("there is no format '%s'; `bobbin help %s` lists them", format, command);
}
