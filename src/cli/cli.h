/* SPDX-License-Identifier: MIT */
/*
 * The command line: what its files share. It stands on include/bobbin.h alone, so whatever it does, every
 * host can do.
 *
 * Invariants: (1) results go to stdout, everything else to stderr; (2) with --json stdout holds JSON and
 * nothing else; (3) bytes that come from a log are never sent to a terminal with control characters in them;
 * (4) exit codes are EXIT_….
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bobbin.h>

enum exit_code {
	EXIT_DONE = 0,
	EXIT_NO = 1, /* the answer is no: faults found, check failed, nothing matched */
	EXIT_USAGE = 2,
	EXIT_FAILED = 3,   /* input, I/O, provider */
	EXIT_CONFLICT = 4, /* conflict or busy */
};

/* Everything that can be said on a command line; what a command accepts is in its table entry. */
struct arguments {
	const char *program_command; /* the command's name */
	const char *store;
	bool json, quiet, help, version;
	uint64_t idle_timeout; /* seconds; 0: not given */
	bool mask, redact_on_write, materialize;
	const char *other_system_file; /* of the second --system */
	const char *parent;
	bool ignore_case, line_only, count;
	bool repair;
	bool all_branches, follow, force_file_system, sync_none, dry_run, segments, once, no_compaction;
	bool why, past, candidates, no_facts;
	const char *subject, *relation, *message, *said, *expires;
	const char *daily, *zone, *missed, *now;
	int64_t grace; /* minutes; -1: not given */
	bool retry_safe, happened, not_happened;
	const char *check, *reference, *result_file;
	const char *without, *checklist, *done;
	const char *session, *model, *system_file, *tools_file, *run, *routine;
	const char *owner, *title, *from, *to, *at, *expect, *format, *id, *dialect, *encoding, *deriver,
		*deriver_model, *record_file, *prices_file;
	uint64_t rounds, seed, message_tokens;
	uint64_t limit, window, trigger_tokens, tail_min, tail_max, keep_recent, keep_first, byte_limit,
		segment_bytes;
	int64_t output_reserve, margin; /* -1: not given */
	double trigger, target;
	char **words; /* what is no option, in order */
	int word_count;
};

struct command {
	const char *name;
	const char *synopsis;	  /* after "bobbin " */
	const char *summary;	  /* one line */
	const char *help;	  /* the rest, for `bobbin help NAME` */
	const char *options;	  /* names it accepts, blank separated; the global ones always */
	int words_min, words_max; /* words_max -1: any number */
	int (*run)(const struct arguments *arguments);
};

extern const struct command commands[]; /* ended by name NULL */
const struct command *command_find(const char *name);

/* arguments.c: 0, or EXIT_USAGE with the reason printed. `*ret_command` NULL: no command given. */
int arguments_parse(
	int count, char **values, struct arguments *ret_arguments, const struct command **ret_command);
void arguments_release(struct arguments *arguments);
/* The explanation of every option a command accepts, to stdout. */
void arguments_print_options(const struct command *command);

/* output.c */
bool output_color(int stream);	       /* a terminal, and NO_COLOR is not set */
const char *paint(const char *escape); /* the escape, or "" where stdout has no colour */
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define BLUE "\033[34m"
#define CYAN "\033[36m"
#define PLAIN "\033[0m"
int output_columns(void);			      /* of the terminal, 80 elsewhere; at least 40 */
void print_json_string(const char *text, size_t len); /* with quotes, to stdout */
void print_json_text(const char *text);
void print_json_member(const char *name, const char *text); /* "name":"text" */
/* Text for a person: control characters made visible, lines wrapped to the width and indented. */
void print_wrapped(const char *text, size_t len, int indent);
void print_hanging(
	const char *text, size_t len, int indent); /* the first line goes on where the cursor stands */
void print_clean(
	const char *text, size_t len); /* as it is, control characters other than \n and \t made visible */
/* What is for a program: its bytes as they are, but as print_clean has them where stdout is a terminal. */
void print_data(const char *data, size_t len);
/* The same for JSON of a log or of the library: on a terminal control characters are escaped, it stays the same JSON. */
void print_json_data(const char *json, size_t len);
void print_line_of(
	const char *text, size_t len, size_t columns); /* one line of at most `columns`, … at its end */
/* A name for a printf: control characters made visible, cut at about 1,000 bytes; one of eight static
 * buffers. */
const char *visible(const char *text);
const char *visible_beginning(const char *text); /* the same of its first 40 columns, "…" if there is more */
size_t text_columns(const char *text, size_t len); /* the columns it takes on a terminal */
const char *number_text(uint64_t value);	   /* 12,345; one of eight static buffers */
const char *time_ago(int64_t realtime_ns);	   /* "3 min ago"; likewise */
/* "bobbin: …" on stderr; returns the exit code for the error. */
int fail(const struct bobbin_error *error);
int fail_about(const char *name, const struct bobbin_error *error); /* the same, with whose error it is */
int fail_file(const char *name, int error_number); /* "bobbin: NAME: why" on stderr; EXIT_FAILED */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2))); /* "bobbin: …" on stderr */
int fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 0, or the exit code after an unknown format of `import` or `export` was told. */
int check_format(const char *format, const char *command);
void note(const struct arguments *arguments, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A table of faults, or a JSON object {"faults":[…]}. */
void print_faults(const struct arguments *arguments, const bobbin_faults *faults);
void print_faults_json(const bobbin_faults *faults);

/* read.c: what a list says of a session; `end` closes the object or goes on with it. */
void note_damage(const struct arguments *arguments, bobbin_session *session);

/* import_again.c: sessions of an owner by their titles. Fill with zeros first; what there is no memory for is not in it. */
struct known_session {
	char id[BOBBIN_SESSION_ID_BYTES], *title;
	uint64_t messages;
	size_t order;
};
struct known_sessions {
	struct known_session *items;
	size_t count, cap, sorted; /* `sorted`: those that were in the store; then those of this command */
};
void known_sessions_list(struct known_sessions *known, bobbin_store *store, const char *owner);
void known_sessions_add(struct known_sessions *known, const bobbin_import *import);
void known_sessions_free(struct known_sessions *known);
/* The id of one that begins with all messages of the imported one's line, or NULL. */
const char *imported_before(
	const struct known_sessions *known, bobbin_store *store, const bobbin_import *import, size_t index);
void print_info_json(const struct bobbin_session_info *info, const char *end);
/* "3 messages", or "? messages" where nobody knows. */
const char *messages_text(const struct bobbin_session_info *info);

/* common.c: reads all of a file ("-": stdin) into memory of malloc; 0, or an exit code with the reason
 * printed. */
int read_input(const char *name, char **ret_data, size_t *ret_len);
/* Says on stderr that stdin is read, if that is a terminal. */
void tell_terminal(void);

/* --store, BOBBIN_STORE, or .sessions. */
const char *store_path(const struct arguments *arguments);
int open_store(const struct arguments *arguments, bool create, bobbin_store **ret_store);
/* Opens store and session; both are closed again on failure. */
int open_session(const struct arguments *arguments, const char *id, bool create, bool read_only,
	bobbin_store **ret_store, bobbin_session **ret_session);
/* A message's id as a person can type it; static memory, two at a time. */
const char *short_id(bobbin_session *session, const char *id);
/* "1 message", "2 messages"; one of eight static buffers. */
const char *counted(uint64_t count, const char *noun);
void close_session(bobbin_store *store, bobbin_session *session);
/* Window options from the command line; reads --system and --tools. Release with window_options_release. */
struct window_request {
	struct bobbin_window_options options;
	char *system, *tools;
};
int window_options_read(const struct arguments *arguments, struct window_request *ret_request);
void window_options_release(struct window_request *request);
const char *model_spec(
	const struct arguments *arguments); /* --model, BOBBIN_MODEL, MOCK=1; NULL if none is named */
const char *owner_name(const struct arguments *arguments);

/* window.c: the next request of an open session, for a person. */
int show_window(bobbin_session *session, const struct bobbin_window_options *options);

/* compact.c: --deriver and --deriver-model; NULL: rules. */
int open_deriver(const struct arguments *arguments, bobbin_model **ret_model);

/* doctor.c: how far long calls on a store are, on a terminal; wiped before anything else is printed. */
void progress_begin(const struct arguments *arguments, bobbin_store *store);
void progress_wipe(void);

/* commands */
int command_chat(const struct arguments *arguments);
int command_regenerate(const struct arguments *arguments);
int command_append(const struct arguments *arguments);
int command_manufacture(const struct arguments *arguments);
int command_show(const struct arguments *arguments);
int command_list(const struct arguments *arguments);
int command_cost(const struct arguments *arguments);
int command_ab(const struct arguments *arguments);
int command_tree(const struct arguments *arguments);
int command_fork(const struct arguments *arguments);
int command_rewind(const struct arguments *arguments);
int command_edit(const struct arguments *arguments);
int command_delete(const struct arguments *arguments);
int command_window(const struct arguments *arguments);
int command_request(const struct arguments *arguments);
int command_check(const struct arguments *arguments);
int command_tokens(const struct arguments *arguments);
int command_compact(const struct arguments *arguments);
int command_record(const struct arguments *arguments);
int command_verify(const struct arguments *arguments);
int command_search(const struct arguments *arguments);
int command_recall(const struct arguments *arguments);
int command_work(const struct arguments *arguments);
int command_resume_test(const struct arguments *arguments);
int command_simulate(const struct arguments *arguments);
int command_import(const struct arguments *arguments);
int command_doctor(const struct arguments *arguments);
int command_backup(const struct arguments *arguments);
int command_export(const struct arguments *arguments);
void print_export_formats(void);
int command_files(const struct arguments *arguments);
int command_once(const struct arguments *arguments);
int command_actions(const struct arguments *arguments);
int command_memory(const struct arguments *arguments);
int command_occurrence(const struct arguments *arguments);
int command_help(const struct arguments *arguments);
int command_version(const struct arguments *arguments);

#endif
