/* SPDX-License-Identifier: MIT */
/* All facts of an owner, the newest first. */
#include "memory/row.h"
#include <string.h>

static int add_to_list(struct memory *memory, struct arena *arena, const struct fact_row *row, struct fact **facts,
	size_t *count, size_t *cap, struct bobbin_error *error)
{
	if (*count == *cap) {
		size_t more = *cap ? *cap * 2 : 64;
		struct fact *grown = arena_alloc(arena, more * sizeof *grown);
		if (!grown)
			return error_set(error, BOBBIN_ENOMEM, "listing facts: out of memory");
		if (*count)
			memcpy(grown, *facts, *count * sizeof *grown);
		*facts = grown;
		*cap = more;
	}
	int code = row_fact(memory, row, arena, &(*facts)[*count], error);
	*count += code == 0;
	return code;
}

int memory_list(struct memory *memory, const struct fact_list_options *options, struct arena *arena,
	struct fact **ret_facts, size_t *ret_count, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(memory->store);
	struct fact *facts = NULL;
	size_t count = 0, cap = 0;
	sqlite3_stmt *statement;
	struct fact_row row;
	int code = memory_statement(memory, SQL_LIST, &statement, error);

	if (code < 0)
		return code;
	sqlite3_bind_int(statement, 2, options->past);
	sqlite3_bind_int(statement, 3, options->candidates);
	sqlite3_bind_int64(statement, 4, platform->realtime_ns(platform->context));
	sqlite3_bind_int64(statement, 5, options->limit && options->limit < INT64_MAX ? (int64_t)options->limit : -1);
	while (code >= 0 && (code = database_step(statement, error)) == 1) {
		code = row_read(statement, arena, &row, error);
		if (code == 0)
			code = add_to_list(memory, arena, &row, &facts, &count, &cap, error);
	}
	sqlite3_reset(statement);
	if (code < 0)
		return code;
	*ret_facts = facts;
	*ret_count = count;
	return 0;
}
