/* SPDX-License-Identifier: MIT */
/*
 * What all readers need: warnings with their place, the values of a file of lines, a table of ids, and the
 * writing of "src". Used only inside this room.
 */
#ifndef TRANSCRIPT_IMPORT_TOOLS_H
#define TRANSCRIPT_IMPORT_TOOLS_H

#include "base/json.h"
#include "transcript/import.h"

struct place {
	uint64_t line, offset;
};

/* Adds a warning, or counts it when there are LIMIT_FAULTS_REPORTED already. 0 or BOBBIN_ENOMEM. */
int import_warn(struct import *import, struct place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for what is no fault of the file. */
int import_remark(struct import *import, struct place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for damage, which is counted by its kind. */
int import_damaged(struct import *import, struct place place, enum import_damage damage, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Counts what a reader leaves out, by kind: told once for each kind, with the number and the first place, when the
 * reader is done. `what` lives for ever and has both numbers: "file {snapshot|snapshots}". import_left_out is for what
 * never was part of the conversation, import_not_understood for what may have been: `name` (a type, a role; may be
 * {NULL, 0}) is shown with it, so each name is a kind of its own. 0 or BOBBIN_ENOMEM.
 */
int import_left_out(struct import *import, struct place place, const char *what);
int import_not_understood(struct import *import, struct place place, const char *what, struct slice name);
/* So many at once, the first of them at `place`. */
int import_left_out_many(struct import *import, struct place place, const char *what, uint64_t count, bool remark);
/* Makes the counts warnings, and all that was counted tallies; import.c calls it at the end. */
int import_tell_all(struct import *import);
/* What the damage is in data[start, end), where at `offset` it stops being JSON: a record that is torn, if not something else. */
enum import_damage import_damage_at(const char *data, size_t start, size_t end, size_t offset);
/* `what` in the number that suits the count. */
void import_add_counted(struct buffer *out, const char *what, uint64_t count);

/* Adds an empty conversation; the pointer holds until the next one is added. NULL when memory is out. */
struct import_conversation *import_conversation_add(struct import *import);

/* The text in the import's arena; {NULL, 0} when memory is out. */
struct slice import_keep(struct import *import, struct slice text);
/* The same, unless it lives as long anyway because it is a part of the file, which is in memory. */
struct slice import_hold(struct import *import, struct slice text);
/* For what is needed no longer than the record being read. */
struct arena *import_scratch(struct import *import);

/* import_once.c: a record written so that it has each key once, as deep as a store looks, and counted. 0 or BOBBIN_ENOMEM. */
int import_keys_once(struct import *import, const struct json *record, struct buffer *out);

/*
 * Walks the JSON values of a file of lines. A line may hold several values (records glued by a lost newline):
 * each is given, with a warning. What cannot be read is a warning, and reading goes on with the next line;
 * from a line whose first record is torn, a later whole record that reaches the end of the line is still
 * given. A value lives until the next is asked for if the file is read piece by piece.
 */
#define LINES_OPENINGS 8
#define LINES_OPENING_BYTES 48
struct import_lines {
	struct import *import;
	const char *data;
	size_t len, at;		 /* `at`: the next unread byte */
	size_t line_end;	 /* of the current line, without its newline */
	uint64_t base;		 /* of the file: where `data` begins */
	bool open, whole;	 /* a line is being read; nothing of the file comes after `data` */
	uint64_t line;		 /* current, 1-based */
	uint64_t in_line;	 /* values given of it */
	uint64_t values, faults; /* over the file so far */
	/* How records begin, up to behind the first key: what a torn line goes on with must begin so, too. */
	char openings[LINES_OPENINGS][LINES_OPENING_BYTES];
	size_t opening_lens[LINES_OPENINGS], opening_count;
	struct bobbin_error first_fault;
};
void import_lines_init(struct import_lines *lines, struct import *import, const char *data, size_t len);
/* 1 with a value, 0 at the end, BOBBIN_ENOMEM, or what the source says. Read piece by piece, a line beyond LIMIT_LINE_BYTES is told and
 * passed over. */
int import_lines_next(struct import_lines *lines, struct json *ret_value, struct place *ret_place);
/* BOBBIN_EINPUT with the place of the first fault, for a file of which nothing was of use. */
int import_lines_fail(const struct import_lines *lines, const char *format, struct bobbin_error *error);

/* The end of a reader: says what a code without a message means. */
int import_end(int rc, struct bobbin_error *error);

/* A value that is read a second time: where it is in memory, or where it stands in the file that is read piece by piece. */
struct kept_value {
	const char *text; /* NULL: in the file */
	uint64_t offset;
	uint32_t len;
	enum json_type type;
};
/* `place` is that of `whole`, in which the value stands. */
struct kept_value import_keep_value(
	const struct import *import, const struct json *value, const struct json *whole, struct place place);
/* The value once more, for as long as the buffer holds its bytes. 0, BOBBIN_ENOMEM, BOBBIN_EINPUT if the file has changed, or what the
 * source says. */
int import_value_again(
	struct import *import, const struct kept_value *kept, struct buffer *into, struct json *ret_value);
/* Bytes of the source. Errors as above. */
int import_bytes_again(struct import *import, uint64_t offset, size_t len, struct buffer *into, struct slice *ret_bytes);

/* Text to number; putting a key again replaces its number. Keys must outlive the table. Numbers are below UINT32_MAX, or
 * SIZE_MAX. */
struct id_entry {
	const char *key;
	uint32_t len, value;
};
struct id_table {
	struct id_entry *entries;
	uint32_t *slots; /* entry + 1; 0: free */
	size_t cap;	 /* of the slots, a power of two */
	size_t count, entry_cap;
};
int id_table_put(struct id_table *table, struct slice key, size_t value); /* 0 or BOBBIN_ENOMEM */
bool id_table_get(const struct id_table *table, struct slice key, size_t *ret_value);
/* The table's own copy of a key; {NULL, 0}: it is not there. */
struct slice id_table_key(const struct id_table *table, struct slice key);
void id_table_release(struct id_table *table);

/* Writes the members of `object` whose keys are not in the NULL-terminated list, byte for byte. */
void write_members_except(struct json_writer *writer, const struct json *object, const char *const *except);
/* True if such a member exists. */
bool has_members_except(const struct json *object, const char *const *except);

/*
 * Writes a value that repeats parts of the message's content without carrying them twice: a string of at
 * least SRC_REPEAT_BYTES whose exact bytes stand inside `content` becomes {"in_content":[offset,length]},
 * counted in bytes of the content's JSON text. So nothing is lost, and a picture or an output is stored once.
 */
#define SRC_REPEAT_BYTES 200
#define SRC_SEARCH_BYTES (256u << 20) /* searched for repeats in one record; what is left then goes out whole */
void write_without_repeats(struct json_writer *writer, const struct json *value, struct slice content);

/* White space between JSON values; NUL is none. */
static inline bool import_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The 1-based line in which an offset lies. */
uint64_t import_line_of(const char *data, uint64_t offset);

/* A member that is a string, decoded if it has to be; {NULL, 0} if it is not there, not a string, or memory is out. It lives as
 * long as the record being read: import_hold. */
struct slice import_string(struct import *import, const struct json *object, const char *key);

#endif
