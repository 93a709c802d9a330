/* SPDX-License-Identifier: MIT */
/*
 * What a person or a program sees. Text from a log may hold anything, so nothing reaches a terminal here
 * without its control characters made visible: a tool's output must not be able to move the cursor or set the
 * title.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define BEGINNING_COLUMNS 40 /* of what somebody typed, in a message about it */
#define VISIBLE_BYTES 1024

bool output_color(int stream)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	return isatty(stream) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

const char *paint(const char *escape)
{
	static int color = -1;
	if (color < 0)
		color = output_color(STDOUT_FILENO);
	return color ? escape : "";
}

/* $COLUMNS says it for what is no terminal; 0: nobody does. */
static int known_columns(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	long asked = columns ? strtol(columns, NULL, 10) : 0;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		return size.ws_col > 120 ? 120 : size.ws_col;
	return asked >= 40 && asked <= 1000 ? (int)asked : 0;
}

int output_columns(void)
{
	int columns = known_columns();
	return columns ? columns : 80;
}

/* One character at `text`: its bytes, and the columns it takes. A control character counts as the two of ^X.
 */
static size_t character(const char *text, size_t len, int *ret_columns)
{
	unsigned char c = (unsigned char)*text;
	if (c < 0x80) {
		*ret_columns = c < 0x20 || c == 0x7f ? 2 : 1;
		return 1;
	}
	wchar_t wide;
	mbstate_t state = {0};
	size_t used = mbrtowc(&wide, text, len, &state);
	if (used == (size_t)-1 || used == (size_t)-2 || used == 0) {
		*ret_columns = 1;
		return 1;
	}
	int columns = wcwidth(wide);
	*ret_columns = columns < 0 ? 1 : columns;
	return used;
}

/* C1 controls (U+0080 to U+009F) can drive a terminal as well as C0. */
static bool is_c1(const char *text, size_t used)
{
	return used == 2 && (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0;
}

/* U+202A to U+202E and U+2066 to U+2069 make a terminal show text in another order than it has. */
static bool is_reordering(const char *text, size_t used)
{
	unsigned char last = used == 3 ? (unsigned char)text[2] : 0;
	return used == 3 && (unsigned char)text[0] == 0xe2 &&
	       (((unsigned char)text[1] == 0x80 && last >= 0xaa && last <= 0xae) ||
		       ((unsigned char)text[1] == 0x81 && last >= 0xa6 && last <= 0xa9));
}

static void put_character(FILE *stream, const char *text, size_t used)
{
	unsigned char c = (unsigned char)*text;
	if (used == 1 && (c < 0x20 || c == 0x7f))
		fprintf(stream, "^%c", c == 0x7f ? '?' : c + '@');
	else if ((used == 1 && c >= 0x80) || is_c1(text, used) || is_reordering(text, used))
		fputs("\xef\xbf\xbd", stream);
	else
		fwrite(text, 1, used, stream);
}

/* A character as it may stand in a string of JSON: no byte that is no UTF-8, and nothing that drives a terminal as itself. */
static size_t put_json_character(const char *text, size_t len)
{
	int columns;
	size_t used = character(text, len, &columns);
	if (used == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f))
		printf("\\u%04x", (unsigned char)*text);
	else if (is_c1(text, used))
		printf("\\u%04x", (unsigned char)text[1]);
	else if (is_reordering(text, used))
		printf("\\u20%02x", ((unsigned char)text[1] & 3) << 6 | ((unsigned char)text[2] & 0x3f));
	else if (used == 1 && (unsigned char)*text >= 0x80)
		fputs("\xef\xbf\xbd", stdout);
	else
		fwrite(text, 1, used, stdout);
	return used;
}

/* How many bytes from `text` on stand in JSON as they are: ASCII without what is escaped. */
static size_t plain_run(const char *text, size_t len)
{
	size_t run = 0;
	while (run < len && (unsigned char)text[run] >= 0x20 && (unsigned char)text[run] < 0x7f && text[run] != '"' &&
		text[run] != '\\')
		run++;
	return run;
}

void print_json_string(const char *text, size_t len)
{
	putchar('"');
	for (size_t i = 0; i < len; i++) {
		size_t run = plain_run(text + i, len - i);
		fwrite(text + i, 1, run, stdout);
		i += run;
		if (i == len)
			break;
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c == '\n')
			fputs("\\n", stdout);
		else
			i += put_json_character(text + i, len - i) - 1;
	}
	putchar('"');
}

void print_json_text(const char *text)
{
	print_json_string(text, strlen(text));
}

void print_json_member(const char *name, const char *text)
{
	print_json_text(name);
	putchar(':');
	print_json_text(text);
}

size_t text_columns(const char *text, size_t len)
{
	size_t total = 0;
	for (size_t i = 0; i < len;) {
		int columns;
		i += character(text + i, len - i, &columns);
		total += (size_t)columns;
	}
	return total;
}

static const char *visible_within(const char *text, size_t columns_max)
{
	static char buffers[8][VISIBLE_BYTES];
	static unsigned next;
	char *out = buffers[next++ % 8];
	FILE *stream = fmemopen(out, VISIBLE_BYTES, "w");
	size_t column = 0;
	out[0] = 0;
	if (!stream)
		return out;
	for (size_t len = strlen(text), i = 0; i < len;) {
		int columns;
		size_t used = character(text + i, len - i, &columns);
		if (ftell(stream) + 8 > VISIBLE_BYTES) /* the longest character, … and the NUL */
			break;
		column += (size_t)columns;
		if (column >= columns_max && i + used < len) {
			fputs("…", stream);
			break;
		}
		put_character(stream, text + i, used);
		i += used;
	}
	fclose(stream);
	out[VISIBLE_BYTES - 1] = 0;
	return out;
}

const char *visible(const char *text)
{
	return visible_within(text, VISIBLE_BYTES);
}

const char *visible_beginning(const char *text)
{
	return visible_within(text, BEGINNING_COLUMNS);
}

void print_clean(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		int columns;
		size_t used = character(text + i, len - i, &columns);
		if (text[i] == '\n' || text[i] == '\t')
			putchar(text[i]);
		else if (text[i] != '\r')
			put_character(stdout, text + i, used);
		i += used;
	}
}

void print_data(const char *data, size_t len)
{
	if (isatty(STDOUT_FILENO))
		print_clean(data, len);
	else
		fwrite(data, 1, len, stdout);
}

void print_json_data(const char *json, size_t len)
{
	if (!isatty(STDOUT_FILENO)) {
		fwrite(json, 1, len, stdout);
		return;
	}
	/* A control character that is neither blank nor line break stands within a string, or it is no JSON. */
	for (size_t i = 0; i < len;) {
		if (json[i] == '\n' || json[i] == '\t' || json[i] == '\r')
			putchar(json[i++]);
		else
			i += put_json_character(json + i, len - i);
	}
}

void print_line_of(const char *text, size_t len, size_t columns_max)
{
	bool whole = text_columns(text, len) <= columns_max && !memchr(text, '\n', len);
	size_t room = whole ? columns_max : columns_max - 1, column = 0;
	for (size_t i = 0; i < len;) {
		int columns;
		size_t used = character(text + i, len - i, &columns);
		if (column + (size_t)columns > room || text[i] == '\n')
			break;
		put_character(stdout, text + i, used);
		column += (size_t)columns;
		i += used;
	}
	if (!whole)
		fputs("\xe2\x80\xa6", stdout);
}

/* How much of `text` fits one line of `room` columns, broken after a blank where there is one. */
static size_t line_that_fits(const char *text, size_t len, size_t room)
{
	size_t column = 0, i = 0, after_blank = 0;
	while (i < len && text[i] != '\n') {
		int columns;
		size_t used = character(text + i, len - i, &columns);
		if (text[i] == '\t')
			columns = 1;
		if (column + (size_t)columns > room && i > 0)
			return after_blank ? after_blank : i;
		column += (size_t)columns;
		i += used;
		if (text[i - used] == ' ')
			after_blank = i;
	}
	return i;
}

static void put_line(const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		int columns;
		size_t used = character(text + at, len - at, &columns);
		if (text[at] == '\t')
			putchar(' ');
		else if (text[at] != '\r')
			put_character(stdout, text + at, used);
		at += used;
	}
}

/* The first line begins where the cursor stands if `hanging`, else indented like the others. */
static void wrap(const char *text, size_t len, int indent, bool hanging)
{
	/* Into a file lines go as they are: whoever reads it next must not find words cut in two. */
	size_t room = known_columns() ? (size_t)(known_columns() - indent) : SIZE_MAX;
	while (len && text[len - 1] == '\n')
		len--;
	for (size_t i = 0; i < len;) {
		size_t used = line_that_fits(text + i, len - i, room), shown = used;
		while (shown && text[i + shown - 1] == ' ')
			shown--;
		if (shown && !(hanging && i == 0))
			printf("%*s", indent, "");
		put_line(text + i, shown);
		putchar('\n');
		i += used;
		if (i < len && text[i] == '\n')
			i++;
	}
}

void print_wrapped(const char *text, size_t len, int indent)
{
	wrap(text, len, indent, false);
}

void print_hanging(const char *text, size_t len, int indent)
{
	wrap(text, len, indent, true);
}

const char *number_text(uint64_t value)
{
	static char buffers[8][32];
	static unsigned next;
	char *out = buffers[next++ % 8];
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value), at = 0;
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

const char *time_ago(int64_t realtime_ns)
{
	static char buffers[4][32];
	static unsigned next;
	char *out = buffers[next++ % 4];
	int64_t seconds = (int64_t)time(NULL) - realtime_ns / 1000000000;
	if (seconds < 60)
		snprintf(out, 32, "just now");
	else if (seconds < 3600)
		snprintf(out, 32, "%lld min ago", (long long)seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(out, 32, "%lld h ago", (long long)seconds / 3600);
	else
		snprintf(out, 32, "%lld days ago", (long long)seconds / 86400);
	return out;
}

static int exit_code_of(int code)
{
	switch (code) {
	case BOBBIN_ECONFLICT:
	case BOBBIN_EBUSY:
	case BOBBIN_EEXIST:
		return EXIT_CONFLICT;
	case BOBBIN_EINVAL:
		return EXIT_USAGE;
	default:
		return EXIT_FAILED;
	}
}

/* How wide the terminal is on which errors appear; else $COLUMNS says it, or nobody (0): whoever reads a file of them must
 * not find lines cut in two. */
static int error_columns(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	long asked = columns ? strtol(columns, NULL, 10) : 0;
	if (isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		return size.ws_col;
	return asked >= 40 && asked <= 1000 ? (int)asked : 0;
}

/* One line of a message, broken at blanks alone: a path that is cut cannot be copied. `column`: where it begins. */
static void put_broken(const char *text, size_t len, size_t column)
{
	size_t room = (size_t)error_columns(), indent = 2 + strspn(text, " ");
	bool first = true;
	for (size_t at = 0; at < len;) {
		size_t end = at;
		while (end < len && text[end] == ' ')
			end++;
		while (end < len && text[end] != ' ')
			end++;
		size_t columns = text_columns(text + at, end - at);
		if (room && !first && column + columns > room && text[at] == ' ') {
			at += strspn(text + at, " ");
			fprintf(stderr, "\n%*s", (int)indent, "");
			column = indent;
			columns = text_columns(text + at, end - at);
		}
		for (size_t used; at < end; at += used) {
			int ignored;
			used = character(text + at, len - at, &ignored);
			put_character(stderr, text + at, used);
		}
		column += columns;
		first = false;
	}
}

/* A message can quote bytes of a damaged file, of a model or of the command line: made visible like
 * everything else. Only the newlines of our own wording stay. */
static void put_message(const char *text, bool newlines, size_t column)
{
	while (newlines && strchr(text, '\n')) {
		size_t len = strcspn(text, "\n");
		put_broken(text, len, column);
		fputc('\n', stderr);
		text += len + 1;
		column = 0;
	}
	put_broken(text, strlen(text), column);
}

static void put_formatted(bool newlines, size_t column, const char *format, va_list list)
{
	char *text = NULL;
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	put_message(text ? text : "out of memory", newlines, column);
	free(text);
}

#define PREFIX "bobbin: "
#define PREFIX_COLUMNS (sizeof(PREFIX) - 1)

static void begin_error(void)
{
	fflush(stdout);
	fputs(output_color(STDERR_FILENO) ? RED PREFIX PLAIN : PREFIX, stderr);
}

void complain(const char *format, ...)
{
	va_list list;
	begin_error();
	va_start(list, format);
	put_formatted(false, PREFIX_COLUMNS, format, list);
	va_end(list);
	fputc('\n', stderr);
}

int fail(const struct bobbin_error *error)
{
	complain("%s", error->message);
	return exit_code_of(error->code);
}

int fail_about(const char *name, const struct bobbin_error *error)
{
	complain("%s: %s", name, error->message);
	return exit_code_of(error->code);
}

int fail_file(const char *name, int error_number)
{
	if (error_number == EISDIR)
		complain("%s: it is a folder; name the files in it", name);
	else
		complain("%s: %s", name, strerror(error_number));
	return EXIT_FAILED;
}

int fail_usage(const char *format, ...)
{
	va_list list;
	begin_error();
	va_start(list, format);
	put_formatted(false, PREFIX_COLUMNS, format, list);
	va_end(list);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

void note(const struct arguments *arguments, const char *format, ...)
{
	va_list list;
	if (arguments->quiet)
		return;
	fflush(stdout);
	bool color = output_color(STDERR_FILENO);
	if (color)
		fputs(DIM, stderr);
	va_start(list, format);
	put_formatted(true, 0, format, list);
	va_end(list);
	fputs(color ? PLAIN "\n" : "\n", stderr);
}

/* `repairing`: what a repair would do was just done. */
static void print_fault(const struct bobbin_fault *fault, bool repairing)
{
	printf("%s%s%s", paint(YELLOW), fault->kind, paint(PLAIN));
	if (*fault->where)
		fputs("  ", stdout), print_clean(fault->where, strlen(fault->where));
	if (fault->line)
		printf("  line %s, byte %s", number_text(fault->line), number_text(fault->offset));
	putchar('\n');
	print_wrapped(fault->message, strlen(fault->message), 2);
	if (*fault->advice)
		print_wrapped(fault->advice, strlen(fault->advice), 2);
	if (*fault->repair && !repairing) {
		fputs("  --repair: ", stdout);
		print_hanging(fault->repair, strlen(fault->repair), 4);
	}
}

static void print_refusals_json(const struct bobbin_fault *fault)
{
	for (size_t i = 0; i < fault->refusal_count; i++) {
		const struct bobbin_refusal *refusal = &fault->refusals[i];
		fputs(i ? ",{" : ",\"refusals\":[{", stdout);
		print_json_member("dialect", refusal->dialect);
		putchar(',');
		print_json_member("at", refusal->at);
		putchar(',');
		print_json_member("words", refusal->words);
		printf(",\"only_strict\":%s}", refusal->only_strict ? "true" : "false");
	}
	if (fault->refusal_count)
		putchar(']');
}

void print_faults_json(const bobbin_faults *faults)
{
	fputs("\"faults\":[", stdout);
	for (size_t i = 0; i < bobbin_faults_count(faults); i++) {
		const struct bobbin_fault *fault = bobbin_faults_get(faults, i);
		fputs(i ? ",{" : "{", stdout);
		print_json_member("kind", fault->kind);
		putchar(',');
		print_json_member("where", fault->where);
		printf(",\"line\":%llu,\"offset\":%llu,", (unsigned long long)fault->line,
			(unsigned long long)fault->offset);
		print_json_member("message", fault->message);
		putchar(',');
		print_json_member("advice", fault->advice);
		putchar(',');
		print_json_member("repair", fault->repair);
		print_refusals_json(fault);
		putchar('}');
	}
	putchar(']');
}

void print_faults(const struct arguments *arguments, const bobbin_faults *faults)
{
	if (arguments->json) {
		putchar('{');
		print_faults_json(faults);
		puts("}");
		return;
	}
	for (size_t i = 0; i < bobbin_faults_count(faults); i++)
		print_fault(bobbin_faults_get(faults, i), arguments->repair);
}
