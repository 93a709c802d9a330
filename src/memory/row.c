/* SPDX-License-Identifier: MIT */
#include "memory/row.h"
#include <string.h>
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/utf8.h"

#define FACT_COLUMNS                                                                                                  \
	"f.id, f.number, f.state, f.said_ns, f.valid_ns, f.expires_ns, f.ended_ns, f.superseded_by, f.sessions, f.text, "     \
	"f.subject, f.relation, f.context, f.key"

/* The terms of a column, "move berlin ", with the owner's number before each, "12xmove 12xberlin". */
#define OWNED(column)                                                                                                 \
	" CASE i." column " WHEN '' THEN '' ELSE o.id || 'x' || replace(rtrim(i." column "), ' ', ' ' || o.id || 'x') END"

static const char *const TABLES[] = {
	"CREATE TABLE fact_owners ("
	" id INTEGER PRIMARY KEY,"
	" owner TEXT NOT NULL UNIQUE," /* BINARY: case and accents count */
	" next INTEGER NOT NULL,"	/* numbers are given out once */
	" facts INTEGER NOT NULL,"	/* in the index, and their terms */
	" terms INTEGER NOT NULL,"
	" contexts INTEGER NOT NULL);"
	"CREATE TABLE facts ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT," /* the row of the index: not used again either */
	" owner TEXT NOT NULL,"
	" number INTEGER NOT NULL,"
	" state INTEGER NOT NULL," /* enum fact_state */
	" said_ns INTEGER NOT NULL,"
	" valid_ns INTEGER NOT NULL,"
	" expires_ns INTEGER NOT NULL,"
	" ended_ns INTEGER NOT NULL,"
	" superseded_by INTEGER NOT NULL,"
	" sessions INTEGER NOT NULL,"
	" size INTEGER NOT NULL," /* in terms */
	" text TEXT NOT NULL,"
	" subject TEXT NOT NULL,"
	" relation TEXT NOT NULL,"
	" context TEXT NOT NULL,"
	" key BLOB NOT NULL,"
	" UNIQUE (owner, number));"
	"CREATE UNIQUE INDEX facts_that_hold ON facts (owner, key) WHERE ended_ns = 0;"
	"CREATE INDEX facts_by_key ON facts (owner, key);"
	"CREATE INDEX facts_by_relation ON facts (owner, subject, relation) WHERE relation <> '';"
	"CREATE INDEX facts_candidates ON facts (owner, id) WHERE state = 2;"
	"CREATE TABLE fact_sources ("
	" fact INTEGER NOT NULL REFERENCES facts (id) ON DELETE CASCADE,"
	" session TEXT NOT NULL,"
	" message TEXT NOT NULL,"
	" said_ns INTEGER NOT NULL,"
	" PRIMARY KEY (fact, session, message)) WITHOUT ROWID;"
	"CREATE TABLE fact_tombstones ("
	" owner TEXT NOT NULL,"
	" key BLOB NOT NULL," /* the digest: the text is gone */
	" session TEXT NOT NULL,"
	" message TEXT NOT NULL,"
	" forgotten_ns INTEGER NOT NULL,"
	" PRIMARY KEY (owner, key, session, message)) WITHOUT ROWID;"
	"CREATE INDEX fact_tombstones_by_message ON fact_tombstones (owner, session, message);"
	"CREATE TABLE fact_terms ("
	" owner INTEGER NOT NULL," /* of fact_owners */
	" term TEXT NOT NULL,"
	" facts INTEGER NOT NULL," /* of this owner that have it */
	" PRIMARY KEY (owner, term)) WITHOUT ROWID;"
	"CREATE VIRTUAL TABLE fact_index USING fts5 (owner, now, past, near, tokenize = 'ascii', detail = 'column')",
	/* The owner stands in each term instead of beside it: what others have is not stepped over. */
	"ALTER TABLE fact_index RENAME TO fact_index_1;"
	"CREATE VIRTUAL TABLE fact_index USING fts5 (now, past, near, tokenize = 'ascii', detail = 'column');"
	"INSERT INTO fact_index (rowid, now, past, near) SELECT i.rowid," OWNED("now") "," OWNED("past") "," OWNED("near")
	" FROM fact_index_1 i CROSS JOIN facts f ON f.id = i.rowid JOIN fact_owners o ON o.owner = f.owner;"
	"DROP TABLE fact_index_1;"
	"CREATE INDEX facts_that_expire ON facts (owner, expires_ns) WHERE expires_ns > 0",
};

static const char *const SQL[SQL_COUNT] = {
	[SQL_OWNER_FIND] = "SELECT id, facts, terms, contexts FROM fact_owners WHERE owner = ?1",
	[SQL_OWNER_MAKE] = "INSERT OR IGNORE INTO fact_owners VALUES (NULL, ?1, 1, 0, 0, 0)",
	[SQL_OWNER_NUMBER] = "UPDATE fact_owners SET next = next + 1 WHERE owner = ?1 RETURNING next - 1",
	[SQL_OWNER_COUNT] = "UPDATE fact_owners SET facts = facts + ?2, terms = terms + ?3, contexts = contexts + ?4"
			    " WHERE owner = ?1",
	[SQL_FACT_INSERT] = "INSERT INTO facts VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11, ?12, ?13, ?14)",
	[SQL_FACT_BY_NUMBER] = "SELECT " FACT_COLUMNS " FROM facts f WHERE f.owner = ?1 AND f.number = ?2",
	[SQL_FACT_BY_ID] = "SELECT " FACT_COLUMNS " FROM facts f WHERE f.owner = ?1 AND f.id = ?2",
	[SQL_FACT_BY_KEY] = "SELECT " FACT_COLUMNS " FROM facts f WHERE f.owner = ?1 AND f.key = ?2 AND f.ended_ns = 0",
	[SQL_FACT_BY_SOURCE] = "SELECT " FACT_COLUMNS " FROM facts f JOIN fact_sources s ON s.fact = f.id"
			       " WHERE f.owner = ?1 AND f.key = ?2 AND s.session = ?3 AND s.message = ?4",
	[SQL_FACT_BY_RELATION] = "SELECT " FACT_COLUMNS " FROM facts f WHERE f.owner = ?1 AND f.subject = ?2"
				 " AND f.relation = ?3 AND f.relation <> '' AND f.ended_ns = 0 AND f.state = 1",
	[SQL_FACT_CANDIDATES] = "SELECT " FACT_COLUMNS " FROM facts f WHERE f.owner = ?1 AND f.state = 2"
				" ORDER BY f.id DESC LIMIT 200",
	/* How many of the newest: a bounded look, whatever is known. */
	[SQL_FACT_PROPOSED] = "SELECT count(*) FROM (SELECT state FROM facts WHERE owner = ?1 ORDER BY number DESC LIMIT 1000)"
			      " WHERE state = 3",
	[SQL_FACT_UPDATE] = "UPDATE facts SET state = ?3, said_ns = ?4, valid_ns = ?5, expires_ns = ?6, ended_ns = ?7,"
			    " superseded_by = ?8, sessions = ?9, text = ?10, subject = ?11, relation = ?12, context = ?13,"
			    " key = ?14 WHERE owner = ?1 AND number = ?2",
	[SQL_FACT_DELETE] = "DELETE FROM facts WHERE owner = ?1 AND number = ?2",
	[SQL_SOURCE_ADD] = "INSERT OR IGNORE INTO fact_sources SELECT id, ?3, ?4, ?5 FROM facts"
			   " WHERE owner = ?1 AND id = ?2",
	[SQL_SOURCE_LIST] = "SELECT s.session, s.message, s.said_ns FROM fact_sources s JOIN facts f ON f.id = s.fact"
			    " WHERE f.owner = ?1 AND s.fact = ?2 ORDER BY s.said_ns DESC, s.session, s.message LIMIT ?3",
	[SQL_SOURCE_COUNT] = "SELECT count(*), count(DISTINCT s.session) FROM fact_sources s JOIN facts f ON f.id = s.fact"
			     " WHERE f.owner = ?1 AND s.fact = ?2",
	[SQL_SOURCE_DELETE] = "DELETE FROM fact_sources WHERE fact = (SELECT id FROM facts WHERE owner = ?1 AND id = ?2)",
	[SQL_TOMB_ADD] = "INSERT OR REPLACE INTO fact_tombstones VALUES (?1, ?2, ?3, ?4, ?5)",
	[SQL_TOMB_FIND] = "SELECT 1 FROM fact_tombstones WHERE owner = ?1 AND ((key = ?2 AND forgotten_ns >= ?5)"
			  " OR (session = ?3 AND message = ?4 AND session <> '')) LIMIT 1",
	[SQL_INDEX_ADD] = "INSERT INTO fact_index (rowid, now, past, near) VALUES (?2, ?3, ?4, ?5)",
	[SQL_INDEX_DELETE] = "DELETE FROM fact_index WHERE rowid = (SELECT id FROM facts WHERE owner = ?1 AND id = ?2)",
	[SQL_TERM_ADD] = "INSERT INTO fact_terms VALUES (?2, ?3, 1) ON CONFLICT DO UPDATE SET facts = facts + 1",
	[SQL_TERM_DROP] = "UPDATE fact_terms SET facts = facts - 1 WHERE owner = ?2 AND term = ?3",
	[SQL_TERM_CLEAN] = "DELETE FROM fact_terms WHERE owner = ?2 AND term = ?3 AND facts < 1",
	[SQL_TERM_FIND] = "SELECT facts FROM fact_terms WHERE owner = ?2 AND term = ?3",
	[SQL_SEARCH] = "SELECT rowid FROM fact_index WHERE fact_index MATCH ?2 AND rowid >= ?3 ORDER BY rowid DESC LIMIT ?4",
	[SQL_EXPIRED] = "SELECT count(*) FROM (SELECT 1 FROM facts WHERE owner = ?1 AND expires_ns > 0 AND expires_ns <= ?2 LIMIT ?3)",
	[SQL_EXPIRY_NEXT] = "SELECT min(expires_ns) FROM facts WHERE owner = ?1 AND expires_ns > 0 AND expires_ns > ?2",
	[SQL_VERSION] = "PRAGMA data_version",
	[SQL_FACT_RANK] = "SELECT said_ns, sessions, size FROM facts WHERE owner = ?1 AND id = ?2"
			  " AND (expires_ns = 0 OR expires_ns > ?3)",
	[SQL_LIST] = "SELECT " FACT_COLUMNS " FROM facts f WHERE f.owner = ?1"
		     " AND (?2 OR (f.ended_ns = 0 AND (f.expires_ns = 0 OR f.expires_ns > ?4))) AND (?3 OR f.state = 1)"
		     " ORDER BY f.said_ns DESC, f.id DESC LIMIT ?5",
};

static int check_owner(struct slice owner, struct bobbin_error *error)
{
	if (!owner.data || owner.len == 0)
		return error_set(error, BOBBIN_EINVAL, "facts belong to somebody: name the owner");
	if (owner.len > LIMIT_OWNER_BYTES || memchr(owner.data, 0, owner.len) ||
		utf8_valid_prefix(owner.data, owner.len) != owner.len)
		return error_set(
			error, BOBBIN_EINVAL, "an owner is UTF-8 of 1 to %d bytes", LIMIT_OWNER_BYTES);
	return 0;
}

int memory_open(struct store *store, struct slice owner, bool create, struct memory **ret_memory,
	struct bobbin_error *error)
{
	int code = check_owner(owner, error);

	if (code < 0)
		return code;
	struct memory *memory = mem_alloc_zero(sizeof *memory);
	if (!memory)
		return error_set(error, BOBBIN_ENOMEM, "opening the facts: out of memory");
	memory->store = store;
	memory->owner = mem_copy_text(owner.data, owner.len);
	memory->owner_len = owner.len;
	if (!memory->owner)
		code = error_set(error, BOBBIN_ENOMEM, "opening the facts: out of memory");
	if (code == 0)
		code = database_open(store, create, &memory->database, error);
	if (code == 0) /* what is removed is overwritten */
		code = database_run(memory->database, "PRAGMA secure_delete = ON", error);
	if (code == 0)
		code = database_tables(memory->database, "memory", TABLES, sizeof TABLES / sizeof *TABLES, error);
	if (code < 0) {
		memory_close(memory);
		return code;
	}
	*ret_memory = memory;
	return 0;
}

void memory_close(struct memory *memory)
{
	if (!memory)
		return;
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(memory->statements[i]);
	database_close(memory->database);
	mem_free(memory->owner);
	mem_free(memory);
}

void bind_slice(sqlite3_stmt *statement, int place, struct slice text)
{
	sqlite3_bind_text(statement, place, text.len ? text.data : "", (int)text.len, SQLITE_STATIC);
}

int memory_statement(struct memory *memory, enum statement_name name, sqlite3_stmt **ret_statement,
	struct bobbin_error *error)
{
	sqlite3_stmt **statement = &memory->statements[name];

	if (!*statement) {
		int code = database_prepare(memory->database, SQL[name], statement, error);
		if (code < 0)
			return code;
	}
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
	/* Those that go by the owner's row have no ?1. */
	if (sqlite3_bind_parameter_index(*statement, "?1") == 1)
		bind_slice(*statement, 1, (struct slice){memory->owner, memory->owner_len});
	*ret_statement = *statement;
	return 0;
}

static struct slice column(sqlite3_stmt *statement, int place, struct arena *arena)
{
	const char *text = (const char *)sqlite3_column_text(statement, place);
	size_t len = (size_t)sqlite3_column_bytes(statement, place);

	return (struct slice){text ? arena_copy(arena, text, len) : NULL, len};
}

int row_read(sqlite3_stmt *statement, struct arena *arena, struct fact_row *ret_row, struct bobbin_error *error)
{
	struct fact_row row = {
		.id = sqlite3_column_int64(statement, 0),
		.number = (uint64_t)sqlite3_column_int64(statement, 1),
		.state = sqlite3_column_int(statement, 2),
		.said_ns = sqlite3_column_int64(statement, 3),
		.valid_ns = sqlite3_column_int64(statement, 4),
		.expires_ns = sqlite3_column_int64(statement, 5),
		.ended_ns = sqlite3_column_int64(statement, 6),
		.superseded_by = (uint64_t)sqlite3_column_int64(statement, 7),
		.sessions = (uint64_t)sqlite3_column_int64(statement, 8),
		.text = column(statement, 9, arena),
		.subject = column(statement, 10, arena),
		.relation = column(statement, 11, arena),
		.context = column(statement, 12, arena),
	};
	const void *key = sqlite3_column_blob(statement, 13);

	if (!row.text.data || !row.subject.data || !row.relation.data || !row.context.data)
		return error_set(error, BOBBIN_ENOMEM, "reading a fact: out of memory");
	if (!key || sqlite3_column_bytes(statement, 13) != SHA256_BYTES || row.state < FACT_KEPT ||
		row.state > FACT_PROPOSED)
		return error_set(error, BOBBIN_ECORRUPT, "fact f%llu has a row that makes no sense",
			(unsigned long long)row.number);
	memcpy(row.key, key, SHA256_BYTES);
	*ret_row = row;
	return 0;
}

int row_take(sqlite3_stmt *statement, struct arena *arena, struct fact_row *ret_row, struct bobbin_error *error)
{
	int code = database_step(statement, error);

	if (code == 1) {
		code = row_read(statement, arena, ret_row, error);
		code = code < 0 ? code : 1;
	}
	sqlite3_reset(statement);
	return code;
}

/* Both statements that write a row have its members at the same places, 2 to 14. */
static int write_row(struct memory *memory, enum statement_name name, const struct fact_row *row,
	struct bobbin_error *error)
{
	sqlite3_stmt *statement;
	int code = memory_statement(memory, name, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int64(statement, 2, (int64_t)row->number);
	sqlite3_bind_int(statement, 3, row->state);
	sqlite3_bind_int64(statement, 4, row->said_ns);
	sqlite3_bind_int64(statement, 5, row->valid_ns);
	sqlite3_bind_int64(statement, 6, row->expires_ns);
	sqlite3_bind_int64(statement, 7, row->ended_ns);
	sqlite3_bind_int64(statement, 8, (int64_t)row->superseded_by);
	sqlite3_bind_int64(statement, 9, (int64_t)row->sessions);
	bind_slice(statement, 10, row->text);
	bind_slice(statement, 11, row->subject);
	bind_slice(statement, 12, row->relation);
	bind_slice(statement, 13, row->context);
	sqlite3_bind_blob(statement, 14, row->key, SHA256_BYTES, SQLITE_STATIC);
	code = database_step(statement, error);
	sqlite3_reset(statement);
	return code;
}

int row_insert(struct memory *memory, struct fact_row *row, struct bobbin_error *error)
{
	int code = write_row(memory, SQL_FACT_INSERT, row, error);

	if (code == 0)
		row->id = sqlite3_last_insert_rowid(memory->database);
	return code;
}

int row_update(struct memory *memory, const struct fact_row *row, struct bobbin_error *error)
{
	return write_row(memory, SQL_FACT_UPDATE, row, error);
}

static int read_sources(struct memory *memory, int64_t id, struct arena *arena, struct fact *fact,
	struct bobbin_error *error)
{
	struct fact_source *sources = arena_alloc(arena, FACT_SOURCES_SHOWN * sizeof *sources);
	sqlite3_stmt *statement;
	size_t count = 0;
	int code = memory_statement(memory, SQL_SOURCE_LIST, &statement, error);

	if (code < 0)
		return code;
	if (!sources)
		return error_set(error, BOBBIN_ENOMEM, "reading a fact: out of memory");
	sqlite3_bind_int64(statement, 2, id);
	sqlite3_bind_int(statement, 3, FACT_SOURCES_SHOWN);
	while ((code = database_step(statement, error)) == 1 && count < FACT_SOURCES_SHOWN) {
		sources[count].session = column(statement, 0, arena).data;
		sources[count].message = column(statement, 1, arena).data;
		sources[count].said_ns = sqlite3_column_int64(statement, 2);
		if (!sources[count].session || !sources[count].message) {
			code = error_set(error, BOBBIN_ENOMEM, "reading a fact: out of memory");
			break;
		}
		count++;
	}
	sqlite3_reset(statement);
	fact->sources = sources;
	fact->source_count = count;
	return code < 0 ? code : 0;
}

int row_fact(struct memory *memory, const struct fact_row *row, struct arena *arena, struct fact *ret_fact,
	struct bobbin_error *error)
{
	*ret_fact = (struct fact){
		.number = row->number,
		.state = (enum fact_state)row->state,
		.text = row->text.data,
		.subject = row->subject.data,
		.relation = row->relation.data,
		.said_ns = row->said_ns,
		.valid_ns = row->valid_ns,
		.expires_ns = row->expires_ns,
		.ended_ns = row->ended_ns,
		.superseded_by = row->superseded_by,
		.sessions = row->sessions,
	};
	return read_sources(memory, row->id, arena, ret_fact, error);
}

int row_key(struct slice text, uint8_t ret_key[SHA256_BYTES])
{
	struct buffer folded;

	buffer_init(&folded, text.len * 8 + 64);
	terms_fold(text, &folded);
	int code = buffer_error(&folded) ? BOBBIN_ENOMEM : sha256_of(folded.data, folded.len, ret_key);
	buffer_release(&folded);
	return code;
}
