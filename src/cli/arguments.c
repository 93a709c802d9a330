/* SPDX-License-Identifier: MIT */
/*
 * Reading the command line: options may stand anywhere, as --name VALUE or --name=VALUE; "--" ends them.
 * Every option is one row of a table; a command names the rows it accepts, so that a misplaced option is an
 * error and not ignored.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_COUNT,
	OPTION_NUMBER, /* a count of which there is at least one */
	OPTION_SIGNED,
	OPTION_SHARE,
	OPTION_RANGE,
	OPTION_SYNC
};

struct option {
	const char *name;
	enum option_kind kind;
	size_t offset;
	const char *value; /* how its value is called in help */
	const char *help;
};

#define AT(member) offsetof(struct arguments, member)

static const struct option options[] = {
	{"store", OPTION_TEXT, AT(store), "DIR", "the store (default: $BOBBIN_STORE or ./.sessions)"},
	{"json", OPTION_FLAG, AT(json), NULL, "one JSON object on stdout; lists: one a line"},
	{"quiet", OPTION_FLAG, AT(quiet), NULL, "no notes on stderr"},
	{"help", OPTION_FLAG, AT(help), NULL, "explain the command"},
	{"version", OPTION_FLAG, AT(version), NULL, "the version, as the command of that name"},
	{"session", OPTION_TEXT, AT(session), "ID", "the session (default: main)"},
	{"model", OPTION_TEXT, AT(model), "M",
		"openai:NAME, openai-responses:NAME, anthropic:NAME (NAME@URL: elsewhere), mock, mock:FILE, replay:FILE (default: "
		"$BOBBIN_MODEL)"},
	{"system", OPTION_TEXT, AT(system_file), "FILE",
		"the system prompt; sent fresh each time, never stored"},
	{"tools", OPTION_TEXT, AT(tools_file), "FILE", "tool definitions, a JSON array"},
	{"run", OPTION_TEXT, AT(run), "ID", "this message starts run ID of a routine"},
	{"routine", OPTION_TEXT, AT(routine), "NAME", "the routine that --run belongs to"},
	{"owner", OPTION_TEXT, AT(owner), "O", "the owner (default: your login name)"},
	{"title", OPTION_TEXT, AT(title), "TEXT", "a title for the new session"},
	{"from", OPTION_TEXT, AT(from), "ID", "first message"},
	{"to", OPTION_TEXT, AT(to), "ID", "last message"},
	{"at", OPTION_TEXT, AT(at), "ID", "as of this message instead of the head"},
	{"expect", OPTION_TEXT, AT(expect), "HEAD",
		"append only if HEAD is still the head (\"\": the session is empty)"},
	{"format", OPTION_TEXT, AT(format), "F", "the format of the input (default: recognised)"},
	{"id", OPTION_TEXT, AT(id), "ID", "the id of the new session"},
	{"dialect", OPTION_TEXT, AT(dialect), "D", "openai-chat, openai-responses or anthropic"},
	{"encoding", OPTION_TEXT, AT(encoding), "E", "o200k_base, cl100k_base or estimate"},
	{"deriver", OPTION_TEXT, AT(deriver), "rules|model", "who writes records (default: rules, offline)"},
	{"deriver-model", OPTION_TEXT, AT(deriver_model), "M",
		"the model that writes them; it may be a cheaper one"},
	{"record", OPTION_TEXT, AT(record_file), "FILE",
		"verify this record instead: JSON, or text under headings"},
	{"idle-timeout", OPTION_NUMBER, AT(idle_timeout), "SECONDS",
		"the model's longest silence, also before its first word (default 120)"},
	{"no-compaction", OPTION_FLAG, AT(no_compaction), NULL,
		"leave out what does not fit instead of compacting"},
	{"prices", OPTION_TEXT, AT(prices_file), "FILE", "a price table, JSON (as shown above)"},
	{"repair", OPTION_FLAG, AT(repair), NULL, "mend what can be mended; what is read is not changed"},
	{"dry-run", OPTION_FLAG, AT(dry_run), NULL, "report, write nothing"},
	{"materialize", OPTION_FLAG, AT(materialize), NULL,
		"give its forks a copy of what they inherit, instead of refusing"},
	{"parent", OPTION_TEXT, AT(parent), "ID", "only direct forks of this session"},
	{"segments", OPTION_FLAG, AT(segments), NULL, "the record of each segment"},
	{"once", OPTION_FLAG, AT(once), NULL, "stop after the segment at hand"},
	{"all-branches", OPTION_FLAG, AT(all_branches), NULL, "every message of the log, not only the line"},
	{"ignore-case", OPTION_FLAG, AT(ignore_case), NULL, "a and A are the same (ASCII letters)"},
	{"line-only", OPTION_FLAG, AT(line_only), NULL, "only the line, no other branches"},
	{"count", OPTION_FLAG, AT(count), NULL, "only how many messages match"},
	{"mask", OPTION_FLAG, AT(mask), NULL, "replace keys, tokens and passwords by what they are"},
	{"redact-on-write", OPTION_FLAG, AT(redact_on_write), NULL,
		"of a new session: mask secrets before they are written, for good"},
	{"follow", OPTION_FLAG, AT(follow), NULL, "keep waiting for new messages"},
	{"force-file-system", OPTION_FLAG, AT(force_file_system), NULL,
		"accept a file system that may not lock or sync"},
	{"sync", OPTION_SYNC, AT(sync_none), "full|none",
		"when an append is acknowledged (default: full, on disk)"},
	{"check", OPTION_TEXT, AT(check), "CMD",
		"a shell command that tells whether it happened: exit code 0 yes, 1 no"},
	{"retry-safe", OPTION_FLAG, AT(retry_safe), NULL, "running it twice does no harm"},
	{"happened", OPTION_FLAG, AT(happened), NULL, "the effect took place"},
	{"not-happened", OPTION_FLAG, AT(not_happened), NULL, "it did not: the next call may do it"},
	{"without", OPTION_TEXT, AT(without), "WHAT", "of record, files, actions: what it does not get"},
	{"checklist", OPTION_TEXT, AT(checklist), "PATH", "the file whose items tell that all is done"},
	{"done", OPTION_TEXT, AT(done), "CMD", "a shell command, run among the files: exit code 0 says that all is done"},
	{"reference", OPTION_TEXT, AT(reference), "ID", "what the other side calls it"},
	{"result", OPTION_TEXT, AT(result_file), "FILE", "what to answer those who ask again"},
	{"why", OPTION_FLAG, AT(why), NULL, "what the three questions say of it, and why"},
	{"past", OPTION_FLAG, AT(past), NULL, "what does not hold any more too"},
	{"candidates", OPTION_FLAG, AT(candidates), NULL, "what was said once and is not kept yet, too"},
	{"subject", OPTION_TEXT, AT(subject), "S", "whom it is about (default: user)"},
	{"relation", OPTION_TEXT, AT(relation), "R", "what it says of the subject: home, employer, …"},
	{"message", OPTION_TEXT, AT(message), "ID", "the message it was said in"},
	{"said", OPTION_TEXT, AT(said), "DATE", "when it was said (default: now)"},
	{"expires", OPTION_TEXT, AT(expires), "DATE", "when it ends; never (default: as it says)"},
	{"no-facts", OPTION_FLAG, AT(no_facts), NULL, "neither use what is known about the owner nor learn"},
	{"daily", OPTION_TEXT, AT(daily), "HH:MM", "the time of day, as the clocks of --zone show it"},
	{"zone", OPTION_TEXT, AT(zone), "ZONE", "the time zone: Europe/Berlin, UTC"},
	{"missed", OPTION_TEXT, AT(missed), "skip|once", "one that was missed (default: skip it)"},
	{"grace", OPTION_SIGNED, AT(grace), "MINUTES", "so late it is still no missed one (default 15)"},
	{"now", OPTION_TEXT, AT(now), "TIME", "at this time instead: 2026-03-29T01:00:00Z"},
	{"rounds", OPTION_NUMBER, AT(rounds), "N", "how many rounds (default 30)"},
	{"seed", OPTION_NUMBER, AT(seed), "N", "another seed, another conversation (default 1)"},
	{"message-tokens", OPTION_NUMBER, AT(message_tokens), "N", "about as many in each text (default 250)"},
	{"limit", OPTION_NUMBER, AT(limit), "N", "at most N"},
	{"segment-bytes", OPTION_NUMBER, AT(segment_bytes), "N",
		"of a new session: the unit of compaction (default 16384)"},
	{"window", OPTION_NUMBER, AT(window), "N", "the model's window in tokens (default: as its name says, else 128000)"},
	{"output-reserve", OPTION_SIGNED, AT(output_reserve), "N", "tokens kept for the answer"},
	{"margin", OPTION_SIGNED, AT(margin), "N", "tokens kept free (default 2 %)"},
	{"trigger", OPTION_SHARE, AT(trigger), "SHARE",
		"of the history budget that is too full (default 0.7)"},
	{"trigger-tokens", OPTION_NUMBER, AT(trigger_tokens), "N", "the same in tokens"},
	{"target", OPTION_SHARE, AT(target), "SHARE", "to come down to (default 0.4)"},
	{"tail", OPTION_RANGE, AT(tail_min), "MIN:MAX", "tokens of the newest messages kept verbatim"},
	{"keep-recent", OPTION_COUNT, AT(keep_recent), "N",
		"instead: the last N messages, back to a turn start"},
	{"keep-first", OPTION_COUNT, AT(keep_first), "N", "messages at the start that always stay"},
	{"byte-limit", OPTION_NUMBER, AT(byte_limit), "N", "bytes the request may have"},
};
#define OPTION_TOTAL (sizeof(options) / sizeof(options[0]))

static const char global_options[] = "store json quiet help version force-file-system sync";

static bool list_has(const char *list, const char *name, size_t len)
{
	for (const char *at = list; at && *at;) {
		size_t word = strcspn(at, " ");
		if (word == len && memcmp(at, name, len) == 0)
			return true;
		at += word;
		at += strspn(at, " ");
	}
	return false;
}

static const struct option *option_find(const char *name, size_t len)
{
	for (size_t i = 0; i < OPTION_TOTAL; i++)
		if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0)
			return &options[i];
	return NULL;
}

static bool parse_count(const char *text, uint64_t *ret_value)
{
	char *end;
	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*ret_value = value;
	return true;
}

static bool parse_share(const char *text, double *ret_value)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !(value > 0 && value <= 1))
		return false;
	*ret_value = value;
	return true;
}

static bool parse_range(const char *text, uint64_t *ret_pair)
{
	const char *colon = strchr(text, ':');
	char first[32];
	uint64_t pair[2];
	if (!colon || (size_t)(colon - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = 0;
	if (!parse_count(first, &pair[0]) || !parse_count(colon + 1, &pair[1]) || pair[0] > pair[1])
		return false;
	memcpy(ret_pair, pair, sizeof(pair));
	return true;
}

static bool parse_signed(const char *text, int64_t *ret_value)
{
	uint64_t value;
	if (!parse_count(text, &value) || value > INT64_MAX)
		return false;
	*ret_value = (int64_t)value;
	return true;
}

static int option_set(struct arguments *arguments, const struct option *option, const char *value)
{
	char *member = (char *)arguments + option->offset;
	bool good = true;
	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		break;
	case OPTION_TEXT:
		*(const char **)member = value;
		break;
	case OPTION_COUNT:
		good = parse_count(value, (uint64_t *)member);
		break;
	case OPTION_NUMBER:
		good = parse_count(value, (uint64_t *)member) && *(uint64_t *)member > 0;
		break;
	case OPTION_SIGNED:
		good = parse_signed(value, (int64_t *)member);
		break;
	case OPTION_SHARE:
		good = parse_share(value, (double *)member);
		break;
	case OPTION_RANGE:
		good = parse_range(value, (uint64_t *)member);
		break;
	case OPTION_SYNC:
		good = strcmp(value, "full") == 0 || strcmp(value, "none") == 0;
		*(bool *)member = strcmp(value, "none") == 0;
		break;
	}
	if (!good)
		return fail_usage("--%s takes %s%s, not '%s'", option->name, option->value,
			strcmp(option->value, "SHARE") == 0	? " (above 0, up to 1)"
			: option->kind == OPTION_NUMBER ? " (1 or more)"
							: "",
			value);
	return 0;
}

/* One argument that begins with "--"; *index moves on when the value is the next argument. */
static int take_option(int count, char **values, int *index, struct arguments *arguments, const char **used,
	size_t *used_count)
{
	const char *name = values[*index] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option *option = option_find(name, len);
	if (!option)
		return fail_usage("there is no option --%.*s; see: bobbin help", (int)len, name);
	const char *value = equals ? equals + 1 : NULL;
	if (option->kind == OPTION_FLAG && value)
		return fail_usage("--%s takes no value", option->name);
	if (option->kind != OPTION_FLAG && !value) {
		if (*index + 1 >= count)
			return fail_usage("--%s needs a value: %s", option->name, option->value);
		value = values[++*index];
	}
	used[(*used_count)++] = option->name;
	if (option->offset == AT(system_file) && arguments->system_file) {
		if (arguments->other_system_file)
			return fail_usage("--system is given three times");
		arguments->other_system_file = value;
		return 0;
	}
	return option_set(arguments, option, value);
}

static int check_options(const struct command *command, const char **used, size_t used_count)
{
	for (size_t i = 0; i < used_count; i++) {
		size_t len = strlen(used[i]);
		if (!list_has(global_options, used[i], len) && !list_has(command->options, used[i], len))
			return fail_usage("'%s' takes no --%s; see: bobbin help %s", command->name, used[i],
				command->name);
	}
	return 0;
}

static int check_words(const struct command *command, int words)
{
	if (words < command->words_min)
		return fail_usage("something is missing: bobbin %s", command->synopsis);
	if (command->words_max >= 0 && words > command->words_max)
		return fail_usage(
			"too many words (text with blanks needs quotes): bobbin %s", command->synopsis);
	return 0;
}

static int choose_command(
	struct arguments *arguments, const char **used, size_t used_count, const struct command **ret_command)
{
	*ret_command = NULL;
	if (arguments->word_count == 0)
		return 0;
	const char *name = arguments->words[0];
	const struct command *command = command_find(name);
	if (!command)
		return fail_usage("there is no command '%s'; see: bobbin help", name);
	arguments->program_command = command->name;
	arguments->words++;
	arguments->word_count--;
	bool asks = arguments->help || arguments->version; /* about the program; the command is not run */
	int rc = asks ? 0 : check_options(command, used, used_count);
	if (!rc && arguments->other_system_file && strcmp(command->name, "ab") != 0)
		rc = fail_usage("'%s' takes one --system", command->name);
	if (!rc && !asks)
		rc = check_words(command, arguments->word_count);
	*ret_command = command;
	return rc;
}

int arguments_parse(
	int count, char **values, struct arguments *ret_arguments, const struct command **ret_command)
{
	struct arguments *arguments = ret_arguments;
	memset(arguments, 0, sizeof(*arguments));
	arguments->output_reserve = arguments->margin = arguments->grace = -1;
	arguments->words = calloc((size_t)count + 1, sizeof(char *));
	const char **used = calloc((size_t)count + 1, sizeof(char *));
	size_t used_count = 0;
	bool only_words = false;
	int rc = arguments->words && used ? 0 : fail_usage("out of memory");
	for (int i = 1; i < count && !rc; i++) {
		const char *value = values[i];
		if (!only_words && strcmp(value, "--") == 0)
			only_words = true;
		else if (!only_words && strcmp(value, "-h") == 0)
			arguments->help = true;
		else if (!only_words && strncmp(value, "--", 2) == 0)
			rc = take_option(count, values, &i, arguments, used, &used_count);
		else if (!only_words && value[0] == '-' && value[1])
			rc = fail_usage("there is no option %s; long options begin with --", value);
		else
			arguments->words[arguments->word_count++] = values[i];
	}
	if (!rc)
		rc = choose_command(arguments, used, used_count, ret_command);
	free(used);
	return rc;
}

void arguments_release(struct arguments *arguments)
{
	/* choose_command may have moved `words` on by one: the block begins before it then. */
	if (arguments->words)
		free(arguments->program_command ? arguments->words - 1 : arguments->words);
	arguments->words = NULL;
}

/* What an option means to one command, where that is not what it means to the others. */
static const struct {
	const char *command, *option, *help;
} MEANINGS[] = {
	{"export", "format", "the format to write, one of these"},
	{"ab", "owner", "the owner of both (default: the session's)"},
	{"cost", "session", "the session (default: all)"},
	{"search", "session", "only this session, with what it inherits"},
	{"memory", "session", "of --message: the session it was said in"},
	{"fork", "owner", "the owner (default: the parent's)"},
	{"list", "owner", "only sessions of this owner"},
	{"search", "owner", "only sessions of this owner"},
	{"files", "at", "cat: as of this message, or this version"},
	{"resume-test", "at", "shares of the task at which it is taken up again: 0.25,0.5,0.75"},
	{"request", "dialect", "openai-chat (the default), openai-responses or anthropic"},
};

static const char *help_of(const struct option *option, const struct command *command)
{
	for (size_t i = 0; command && i < sizeof(MEANINGS) / sizeof(MEANINGS[0]); i++)
		if (strcmp(MEANINGS[i].command, command->name) == 0 && strcmp(MEANINGS[i].option, option->name) == 0)
			return MEANINGS[i].help;
	return option->help;
}

static void print_option(const struct option *option, const struct command *command)
{
	char left[40];
	snprintf(left, sizeof(left), "--%s%s%s", option->name, option->value ? " " : "",
		option->value ? option->value : "");
	printf("  %-22s ", left);
	const char *help = help_of(option, command);
	print_hanging(help, strlen(help), 25);
}

void arguments_print_options(const struct command *command)
{
	for (size_t i = 0; i < OPTION_TOTAL; i++)
		if (list_has(command ? command->options : global_options, options[i].name,
			    strlen(options[i].name)))
			print_option(&options[i], command);
}
