/* SPDX-License-Identifier: MIT */
/* Reading shell commands and patches. Invariants: rules_shell.h. */
#include "compact/rules_shell.h"

#include "compact/rules_cues.h"
#include "compact/rules_text.h"
#include "compact/rules_words.h"

#define WORDS_MAX 64 /* of one simple command */

struct shell_word {
	struct slice text;
	bool quoted;
};

struct simple {
	struct shell_word words[WORDS_MAX];
	unsigned count;
};

struct shell_reader {
	const char *at, *end;
	file_touch_fn *touch;
	void *context;
	struct slice heredoc; /* the word that ends the text that follows this line */
};

static bool is_end(char c)
{
	return c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')';
}

/* The next word; false at the end of the simple command. */
static bool next_word(struct shell_reader *reader, struct shell_word *word)
{
	const char *from;

	while (reader->at < reader->end &&
		(*reader->at == ' ' || *reader->at == '\t' ||
			(*reader->at == '\\' && reader->at + 1 < reader->end && reader->at[1] == '\n')))
		reader->at += *reader->at == '\\' ? 2 : 1;
	if (reader->at >= reader->end || is_end(*reader->at))
		return false;
	from = reader->at;
	word->quoted = *from == '"' || *from == '\'';
	if (word->quoted) {
		const char *close = memchr(from + 1, *from, (size_t)(reader->end - from - 1));

		reader->at = close ? close + 1 : reader->end;
		word->text = (struct slice){from + 1, (size_t)((close ? close : reader->end) - from - 1)};
		return true;
	}
	if (*from == '>' || *from == '<') {
		while (reader->at < reader->end && (*reader->at == '>' || *reader->at == '<'))
			reader->at++;
	} else {
		while (reader->at < reader->end && !memchr(" \t\n;|&()<>", *reader->at, 10))
			reader->at++;
	}
	word->text = (struct slice){from, (size_t)(reader->at - from)};
	return true;
}

static bool is_path_word(const struct shell_word *word)
{
	struct slice text = word->text;

	if (text.len < 2 || text.len > 1024 || text.data[0] == '-' || text.data[0] == '<' ||
		text.data[0] == '>')
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (memchr("$*`{}=,?!\n", text.data[i], 10) || (text.data[i] == ' ' && !word->quoted))
			return false;
	if (slice_starts_with(text, "/dev/"))
		return false;
	bool dotted = memchr(text.data, '.', text.len) != NULL,
	     slashed = memchr(text.data, '/', text.len) != NULL;
	bool numeric = true;

	for (size_t i = 0; i < text.len; i++)
		numeric &= (text.data[i] >= '0' && text.data[i] <= '9') || text.data[i] == '.';
	return (dotted || slashed) && !numeric && text.data[text.len - 1] != '/';
}

static void report(struct shell_reader *reader, const struct shell_word *word, enum item_state access)
{
	struct file_touch touch = {word->text, access};

	if (is_path_word(word))
		reader->touch(reader->context, &touch);
}

static struct slice base_name(struct slice path)
{
	const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;

	return slash ? (struct slice){slash + 1, (size_t)(path.data + path.len - slash - 1)} : path;
}

static bool is_program(struct slice name, enum cue_kind kind)
{
	char folded[32];

	return name.len && name.len < sizeof folded &&
	       cue_name_is(fold_name(name, folded, sizeof folded), kind);
}

/* Redirections of the command; a heredoc is noted. */
static void report_redirections(struct shell_reader *reader, const struct simple *simple)
{
	for (unsigned i = 0; i + 1 < simple->count; i++) {
		struct slice sign = simple->words[i].text;

		if (simple->words[i].quoted || !sign.len)
			continue;
		if (sign.data[0] == '>')
			report(reader, &simple->words[i + 1], sign.len > 1 ? STATE_MODIFIED : STATE_CREATED);
		else if (slice_is(sign, "<<"))
			reader->heredoc = simple->words[i + 1].text;
	}
}

static void report_program(struct shell_reader *reader, const struct simple *simple)
{
	struct slice name = base_name(simple->words[0].text);
	bool in_place = false;
	enum item_state access = STATE_NONE;

	for (unsigned i = 1; i < simple->count; i++)
		in_place |= slice_starts_with(simple->words[i].text, "-i") ||
			    slice_is(simple->words[i].text, "--in-place");
	if (slice_is(name, "sed") || slice_is(name, "perl"))
		access = in_place ? STATE_MODIFIED : slice_is(name, "sed") ? STATE_READ : STATE_NONE;
	else if (is_program(name, CUE_SHELL_READ))
		access = STATE_READ;
	else if (is_program(name, CUE_SHELL_WRITE))
		access = STATE_CREATED;
	else if (is_program(name, CUE_SHELL_DELETE))
		access = STATE_DELETED;
	unsigned first = slice_is(name, "sed") || slice_is(name, "perl") ? 2 : 1; /* the script is no file */

	for (unsigned i = first; access != STATE_NONE && i < simple->count; i++) {
		bool redirected = !simple->words[i - 1].quoted && simple->words[i - 1].text.len &&
				  memchr("<>", simple->words[i - 1].text.data[0], 2);

		if (!redirected && !(first == 2 && simple->words[i].quoted))
			report(reader, &simple->words[i], access);
	}
	if ((slice_is(name, "mv") || slice_is(name, "cp")) && simple->count >= 3) {
		report(reader, &simple->words[simple->count - 2],
			slice_is(name, "mv") ? STATE_DELETED : STATE_READ);
		report(reader, &simple->words[simple->count - 1], STATE_CREATED);
	}
}

/* Skips the text of a heredoc; a patch in it is read. */
static void skip_heredoc(struct shell_reader *reader)
{
	struct slice rest = {reader->at, (size_t)(reader->end - reader->at)}, line;
	const char *from = reader->at;

	reader->at = reader->end;
	while (line_next(&rest, &line)) {
		if (slice_equal(line, reader->heredoc)) {
			patch_files((struct slice){from, (size_t)(line.data - from)}, reader->touch,
				reader->context);
			reader->at = line.data + line.len;
			break;
		}
	}
	reader->heredoc.len = 0;
}

void shell_files(struct slice command, file_touch_fn *touch, void *context)
{
	struct shell_reader reader = {command.data, command.data + command.len, touch, context, {NULL, 0}};
	struct simple simple;

	while (reader.at < reader.end) {
		simple.count = 0;
		struct shell_word word;

		while (next_word(&reader, &word))
			if (simple.count < WORDS_MAX)
				simple.words[simple.count++] = word;
		if (simple.count) {
			report_redirections(&reader, &simple);
			report_program(&reader, &simple);
		}
		if (reader.at < reader.end && *reader.at == '\n' && reader.heredoc.len) {
			reader.at++;
			skip_heredoc(&reader);
		} else if (reader.at < reader.end) {
			reader.at++;
		}
	}
}

struct slice shell_program(struct slice command)
{
	struct shell_reader reader = {command.data, command.data + command.len, NULL, NULL, {NULL, 0}};
	struct slice program = {NULL, 0};
	bool piped = false, first = true;
	struct shell_word word;

	while (reader.at < reader.end && *reader.at != '\n') {
		if (first && next_word(&reader, &word)) {
			struct slice name = base_name(word.text);
			bool assignment = memchr(name.data ? name.data : "", '=', name.len) != NULL;

			if (!assignment && !slice_is(name, "cd") && !slice_is(name, "sudo") &&
				!slice_is(name, "timeout") && !slice_is(name, "env") && !piped)
				program = name;
			first = assignment || slice_is(name, "sudo") || slice_is(name, "env");
			continue;
		}
		first = false;
		while (next_word(&reader, &word))
			;
		if (reader.at < reader.end) {
			piped = *reader.at == '|' && !(reader.at + 1 < reader.end && reader.at[1] == '|');
			first = *reader.at != '\n';
			reader.at++;
		}
	}
	return program;
}

static bool strip(struct slice *text, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!slice_starts_with(*text, prefix))
		return false;
	text->data += len;
	text->len -= len;
	*text = slice_trim(*text);
	return true;
}

void patch_files(struct slice patch, file_touch_fn *touch, void *context)
{
	struct slice line;

	while (line_next(&patch, &line)) {
		struct file_touch file = {line, STATE_MODIFIED};

		if (strip(&file.path, "*** Add File: "))
			file.access = STATE_CREATED;
		else if (strip(&file.path, "*** Delete File: "))
			file.access = STATE_DELETED;
		else if (!strip(&file.path, "*** Update File: ") && !strip(&file.path, "*** Move to: ") &&
			 !strip(&file.path, "+++ b/"))
			continue;
		if (file.path.len)
			touch(context, &file);
	}
}
