/* SPDX-License-Identifier: MIT */
/* The table of commands, help, and main. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUDGET                                                                                               \
	"model window output-reserve margin system tools trigger trigger-tokens target tail keep-recent "    \
	"keep-first byte-limit no-facts"

const struct command commands[] = {
	{"chat", "chat [TEXT] [--session ID]", "say something, stream the answer; without TEXT a prompt",
		"The session is made if it is not there. Every message is on disk before the next step. When "
		"it is "
		"resumed, calls left without a result are answered: with what the journal of actions has recorded, "
		"else with a marked one. The model is offered recall, list_files, read_file, write_file, check_off, "
		"once, memory_search, memory_add (what you typed is kept as you typed it; what the model words itself waits "
		"for bobbin memory keep) and note, and the tools of --tools. One of those is a command if its definition says "
		"\"bobbin\":{\"command\":[\"./send.sh\"],\"effect\":true}: arguments on stdin, result on stdout, the session's "
		"files in $BOBBIN_WORKSPACE; with an effect it happens once for each call of the turn, whatever is killed (key "
		"SESSION/TURN/TOOL#N).",
		"session owner title segment-bytes redact-on-write run routine deriver deriver-model no-compaction "
		"idle-timeout " BUDGET,
		0, 1, command_chat},
	{"append", "append SESSION [--expect HEAD] < MESSAGES", "append JSONL messages from stdin",
		"Each line is acknowledged with its seq and id once it is durable. The first that fails ends "
		"it. A line is one message: {\"role\":\"user\",\"content\":\"…\"}, {\"role\":\"assistant\",\"content\":\"…\","
		"\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"}]}, {\"role\":\"tool\",\"tool_call_id\":\"c1\","
		"\"content\":\"…\"}; \"id\" may be given, other members are kept as they are.",
		"expect owner title segment-bytes redact-on-write", 1, 1, command_append},
	{"manufacture", "manufacture SESSION [--rounds 30] [--seed 1]",
		"append a made-up conversation, to try things on",
		"Rounds of a question, tool calls with results, and an answer; the same numbers give the "
		"same messages.",
		"rounds seed message-tokens owner title segment-bytes redact-on-write", 1, 1, command_manufacture},
	{"show", "show [SESSION] [--from ID] [--to ID] [--mask]", "the conversation in full",
		"With --json the log's own records, one a line: `bobbin import --format bobbin` reads them "
		"back. With --mask keys, tokens, passwords, private keys and authorization headers are "
		"replaced by what they are; the log is left as it is.",
		"session from to all-branches follow mask", 0, 1, command_show},
	{"list", "list [TITLE] [--owner O] [--parent ID] [--limit N]", "sessions, newest first",
		"From heads and caches only, whatever the size of the logs.", "owner parent limit", 0, 1,
		command_list},
	{"window", "window [SESSION] [--at ID] [budget options]",
		"the next request: what is in it, what is not, and why",
		"Shows the budget as a bar, each part with its tokens and reason, and what is left out with "
		"a pointer "
		"to it. Nothing is sent and nothing is written.",
		"session at " BUDGET, 0, 1, command_window},
	{"request", "request SESSION [--dialect D] [--at ID]", "the exact body that would be sent",
		"Always acceptable to a strict provider of that dialect (bobbin check).",
		"session at dialect " BUDGET, 0, 1, command_request},
	{"check", "check --dialect D FILE", "is this request acceptable to a strict provider?",
		"One fault an entry, with its place in the body. Exit code 1 if there are any.", "dialect", 1,
		1, command_check},
	{"compact", "compact [SESSION] [budget options]", "make the view smaller now, whatever the trigger",
		"What is no longer shown word for word goes into a record, derived from the raw messages and "
		"verified against "
		"them. The log keeps everything; the user's rules stay word for word. Nothing to do is no "
		"error.",
		"session deriver deriver-model dry-run " BUDGET, 0, 1, command_compact},
	{"record", "record [SESSION] [--at ID]", "what the view holds of what is no longer shown",
		"Each item with the messages it comes from. Exit code 1 if there is no record.",
		"session at segments", 0, 1, command_record},
	{"verify", "verify [SESSION] [--record FILE]",
		"is what a record says in the raw messages, and all it must say?",
		"Finds what is invented, misattributed or left out, also in a summary somebody else wrote. "
		"Exit code 1 if it "
		"finds anything.",
		"session record", 0, 1, command_verify},
	{"search", "search TEXT [--session ID] [--limit N]", "find text in all sessions, exactly as it is",
		"Every message with these characters in what was said, in calls or in results, however the log "
		"escapes them. Newest session first; other branches too, and say so. For words in any order "
		"use recall. Exit code 1 if nothing matches.",
		"session owner limit ignore-case line-only count", 1, -1, command_search},
	{"recall", "recall SESSION QUERY [--limit 5]", "find originals, shown or not",
		"QUERY is a message id, a range of ids as pointers give it (m12–m40), or words: exact hits "
		"come first.",
		"limit", 2, -1, command_recall},
	{"files", "files SESSION ls|cat|put|rm|log [PATH]", "the files a session works on, and their versions",
		"ls; cat PATH [--at MESSAGE or VERSION]; put PATH [FILE], or from stdin; rm PATH; log [PATH]: every version, "
		"with who wrote it (tool: the model, host: this command or a program, outside: found in the folder). They lie in "
		"STORE/SESSION/ and may be worked on there. Versions follow the line: after a rewind the files are as of then, and "
		"a fork begins with those of its cut. ls and log record what others changed.",
		"at", 2, 4, command_files},
	{"once", "once KEY [--check CMD] [--retry-safe] -- CMD…", "run a command whose effect must happen once",
		"Its output and exit code are recorded; whoever comes again with the same KEY and CMD gets them "
		"and nothing is run. A second caller waits for the first. If it was killed in between, the "
		"outcome is unknown and it is not run again (exit code 4), unless --check CMD can tell whether "
		"it happened, or --retry-safe says that twice does no harm (then a failure is tried again too). "
		"The exit code is that of CMD; if CMD can end with 4 itself, `bobbin actions show KEY` tells: its state is "
		"unknown, or failed. A failure is recorded, too: only --retry-safe or another KEY tries again. Of the output "
		"60 MiB are recorded. Records are kept for ever. KEY is yours: run_42:send_digest.",
		"check retry-safe", 2, -1, command_once},
	{"occurrence", "occurrence ROUTINE --daily HH:MM --zone ZONE", "whether a daily routine is due, and its key",
		"Prints ROUTINE:DATE, the same for all who ask until the next one is due; with `bobbin once` one of them "
		"does it. Call it from cron every few minutes: k=$(bobbin occurrence digest --daily 01:30 --zone "
		"Europe/Berlin) && bobbin once $k -- CMD. Each date has one occurrence: a time that the clocks leave out "
		"is due when they change, of one that they show twice the first counts. Exit code 1: not due, that is "
		"more than --grace minutes late; with --missed once the newest is due however late.",
		"daily zone missed grace now", 1, 1, command_occurrence},
	{"actions", "actions [list [PREFIX] | show KEY | settle KEY]", "what was done once, and what is unknown",
		"settle says how an unknown one was: --happened (with --reference ID and --result FILE to answer "
		"later calls) or --not-happened, and the next call does it.",
		"limit happened not-happened reference result", 0, 2, command_actions},
	{"memory", "memory [add TEXT | search WORDS | list | correct ID TEXT | keep ID | forget ID | learn SESSION]",
		"what is known about a person, in all sessions",
		"add stores a fact; --why says what would become of it if it had been said in a session. A newer fact of the "
		"same subject and relation takes the place of the older one, which is kept with its dates. search finds at "
		"most 5, none if none fits (exit code 1). list --candidates has what waits too: said in one session only, or "
		"proposed by a model; keep keeps it. forget removes one from everywhere, and nothing said before brings "
		"it back (exit code 1 if there is none). learn reads what its owner typed in a session, as each turn does.",
		"owner why subject relation session message said expires past candidates limit", 0, -1, command_memory},
	{"work", "work [--once]", "derive the records of finished segments, in all sessions",
		"So that a compaction finds them ready and asks no model. Run it from cron, or beside your "
		"agent.",
		"deriver deriver-model once model", 0, 0, command_work},
	{"simulate", "simulate [SESSION] [--prices FILE]",
		"what this session would have cost under several policies",
		"In units of one uncached input token: no compaction, a sliding window, compaction at 0.7, "
		"auto, and the best "
		"fixed trigger a sweep finds. A price table is "
		"{\"NAME\":{\"cache_write\":1.25,\"cache_read\":0.1,"
		"\"output\":5}}, in the same unit.",
		"session prices " BUDGET, 0, 1, command_simulate},
	{"resume-test", "resume-test [SESSION] [--at 0.25,0.5,0.75]",
		"can a fresh conversation finish the task from files and actions alone?",
		"At each place a new conversation is told the goal and the record of what was done so far, with the files "
		"and the journal of actions as they were, on copies; nothing of the session is touched. Tools of bobbin's run, and "
		"commands of --tools without an effect; no effect is ever made. Other calls are answered with what was recorded. "
		"It is finished when the checklist has no open item (--checklist, or the file in which the session checked off), "
		"when --done says so, or, without both, when the model ends. redone: calls made before the cut already; twice: "
		"effects. --without tells what it needs. Exit code 1 if it does not finish or makes an effect twice.",
		"session at without checklist done limit idle-timeout " BUDGET,
		0, 1, command_resume_test},
	{"tokens", "tokens [--encoding E | --model M] FILE…", "count tokens of files",
		"Exact for o200k_base and cl100k_base and the models that use them; estimated for others, "
		"and said so.",
		"encoding model", 1, -1, command_tokens},
	{"fork", "fork [SESSION] AT", "a new session that begins with the first messages of another",
		"AT is a number of messages from the start, or a message id (inclusive). Nothing is copied "
		"and the parent "
		"is never changed. The new id is the last word printed.",
		"session id owner title", 1, 2, command_fork},
	{"rewind", "rewind [SESSION] TO", "move the head to another message",
		"Backwards, forwards again, or to another branch; nothing is lost. TO \"\" goes before the "
		"first message.",
		"session", 1, 2, command_rewind},
	{"edit", "edit SESSION ID TEXT", "another version of a user message, as a new branch",
		"The old one stays in the log.", "", 3, 3, command_edit},
	{"regenerate", "regenerate [SESSION]", "another reply to the last user message, as a new branch", "",
		"session " BUDGET, 0, 1, command_regenerate},
	{"ab", "ab SESSION AT --system FILE --system FILE", "the same history under two prompts, side by side",
		"AT as for fork. Each side is a new session, a fork at AT in which the last user message is answered; "
		"their ids come last, so that either can be taken further. A tool the model asks for is shown, not run.",
		"owner " BUDGET, 2, 2, command_ab},
	{"cost", "cost [SESSION] [--prices FILE]", "what sessions cost: own, inherited, and the whole tree",
		"Usage belongs to the session that paid it. What a fork inherits is shown apart and in no sum, so a tree "
		"costs the sum of what its sessions paid. Without SESSION: a line for each tree, and the total. Requests "
		"that say no price need a table: {\"MODEL\":{\"input\":1.25,\"cache_read\":0.1,\"cache_write\":1.25,"
		"\"output\":8}}, input in dollars a million tokens, the others in units of it. What has no price is said.",
		"session prices", 0, 1, command_cost},
	{"tree", "tree [SESSION]", "sessions and their forks as a tree",
		"With what each paid itself; bobbin cost says more.", "", 0, 1, command_tree},
	{"delete", "delete SESSION [--materialize]", "delete a session; refused while forks refer to it",
		"With --materialize each fork first gets a copy of what it inherits, and nothing else, beside its own "
		"log, which is not touched.",
		"materialize", 1, 1,
		command_delete},
	{"import", "import [--format F] [--id ID] FILE…", "other products' sessions in; prints the new ids",
		"FILE may be - for stdin. A file with several conversations makes several sessions. If "
		"anything in a file fails, none of its sessions is left behind. With --repair what a provider would refuse is "
		"put right on the way (bobbin doctor FILE says what), so that an export of the session can be resumed.",
		"format id owner redact-on-write repair", 1, -1, command_import},
	{"export", "export SESSION --format F", "a session in another product's format, to stdout",
		"The line to the head, or --to a message. What the format has no place for is said on stderr. "
		"`bobbin import` reads all of them back, except markdown. openai-chat, openai-responses and anthropic are the "
		"messages alone; a whole body to send is what bobbin request gives.",
		"format to mask", 1, 1, command_export},
	{"doctor", "doctor [SESSION | FILE …] [--repair]",
		"what is wrong with sessions, the store or a transcript, and what it means",
		"Without a name: every session of the store, and the store itself. FILE may be - for stdin; one that is named like a "
		"session is ./NAME. Each fault with its place, what it means, "
		"and what --repair would do. Without --repair nothing is changed. A log is never rewritten: --repair makes a new "
		"session of what can be read, and says its id (repaired as ID); doing it again changes nothing. Wrong "
		"caches and what crashes left are removed. What a repair leaves is named. Exit code 1 if there are faults, or some are "
		"left. A damaged session whose repaired copy is there is told and counts no more, unless it is asked for by name.",
		"format repair", 0, -1, command_doctor},
	{"backup", "backup DIR", "a consistent copy of the store, also while others write",
		"DIR must not exist, or be an earlier backup: then only what came since is copied, and what was deleted since "
		"is taken out. A backup belongs to the store folder it was made of, wherever that is moved. Another one (restored, "
		"copied) goes on with it if it has all of it: each log there is the beginning of its own of that name. Else, and "
		"if the store has lost messages that the backup has, or has no session any more, it is refused (4) and nothing is changed. What cannot be "
		"copied (no file, a damaged database) is named, and the answer is no (1). A backup is a store: bobbin --store DIR reads it, and a copy of it is how to go back.",
		"", 1, 1, command_backup},
	{"help", "help [COMMAND]", "this, or a command explained", "", "", 0, 1, command_help},
	{"version", "version", "the version of the library", "", "", 0, 0, command_version},
	{NULL, NULL, NULL, NULL, NULL, 0, 0, NULL},
};

const struct command *command_find(const char *name)
{
	for (const struct command *command = commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

static const char *const VARIABLES[][2] = {
	{"BOBBIN_STORE", "the store, unless --store names one"},
	{"BOBBIN_MODEL", "the model, unless --model names one; MOCK=1 is BOBBIN_MODEL=mock"},
	{"OPENAI_API_KEY", "the key for openai:NAME and openai-responses:NAME"},
	{"ANTHROPIC_API_KEY", "the key for anthropic:NAME"},
	{"BOBBIN_BASE_URL", "another base address for all of them; so does NAME@URL for one"},
	{"HTTPS_PROXY, NO_PROXY", "a proxy for requests over https, and what goes without it"},
	{"SSL_CERT_FILE", "the certificates to trust"},
	{"NO_COLOR, COLUMNS", "no colour; how wide the screen is"},
};

static void print_overview(void)
{
	puts("bobbin: durable sessions and honest windows for LLM agents\n");
	puts("  bobbin [--store DIR] [--json] [--quiet] COMMAND …\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("  %-11s ", command->name);
		print_hanging(command->summary, strlen(command->summary), 14);
	}
	puts("\nOptions that stand anywhere:");
	arguments_print_options(NULL);
	puts("\nThe environment:");
	for (size_t i = 0; i < sizeof(VARIABLES) / sizeof(VARIABLES[0]); i++) {
		printf("  %-22s ", VARIABLES[i][0]);
		print_hanging(VARIABLES[i][1], strlen(VARIABLES[i][1]), 25);
	}
	puts("\nExit codes: 0 done · 1 the answer is no · 2 wrong usage · 3 failed · 4 conflict");
	puts("Try it offline:  MOCK=1 bobbin chat \"I live in Shanghai, please note that\"");
}

static void print_help(const struct command *command)
{
	size_t last = strlen(command->summary) - 1;
	fputs("bobbin ", stdout);
	print_hanging(command->synopsis, strlen(command->synopsis), 7);
	printf("\n%s%s\n", command->summary,
		command->summary[last] == '?' ? "" : ".");
	print_wrapped(command->help, strlen(command->help), 0);
	if (strcmp(command->name, "import") == 0) {
		puts("\nFormats:");
		for (const char *const *format = bobbin_import_formats(); *format; format++) {
			const char *about = bobbin_import_format_about(*format);
			printf("  %-18s ", *format);
			print_hanging(about, strlen(about), 21);
		}
	}
	if (strcmp(command->name, "export") == 0)
		print_export_formats();
	if (*command->options) {
		puts("\nOptions:");
		arguments_print_options(command);
	}
}

int command_help(const struct arguments *arguments)
{
	if (!arguments->word_count) {
		print_overview();
		return EXIT_DONE;
	}
	const struct command *command = command_find(arguments->words[0]);
	if (!command)
		return fail_usage("there is no command '%s'; see: bobbin help", arguments->words[0]);
	print_help(command);
	return EXIT_DONE;
}

int command_version(const struct arguments *arguments)
{
	if (arguments->json)
		printf("{\"version\":\"%s\"}\n", bobbin_version());
	else
		printf("bobbin %s\n", bobbin_version());
	return EXIT_DONE;
}

/* Characters are measured for wrapping; the locale of the environment may not know UTF-8. */
static void set_locale(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		setlocale(LC_CTYPE, "");
}

/*
 * Where a standard stream was closed before us, the next file that is opened would take its place, and an
 * error message would go into a log. Each gets /dev/null in the direction that fails, so that nobody takes it
 * for a stream that works.
 */
static void occupy_standard_streams(void)
{
	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
		bool closed = fcntl(stream, F_GETFD) < 0 && errno == EBADF;
		if (closed && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
			_exit(EXIT_FAILED);
	}
}

int main(int count, char **values)
{
	struct arguments arguments;
	const struct command *command;
	occupy_standard_streams();
	set_locale();
	int rc = arguments_parse(count, values, &arguments, &command);
	if (!rc && arguments.version && !arguments.help) {
		rc = command_version(&arguments);
	} else if (!rc && !command && !arguments.help && arguments.json) {
		rc = fail_usage("a command is missing; see: bobbin help");
	} else if (!rc && !command && !arguments.help) {
		print_overview();
		rc = EXIT_USAGE;
	} else if (!rc && !command) {
		print_overview();
	} else if (!rc && arguments.help) {
		print_help(command);
	} else if (!rc) {
		rc = command->run(&arguments);
	}
	arguments_release(&arguments);
	if ((fflush(stdout) != 0 || ferror(stdout)) && !rc) {
		fputs("bobbin: standard output could not be written\n", stderr);
		rc = EXIT_FAILED;
	}
	return rc;
}
