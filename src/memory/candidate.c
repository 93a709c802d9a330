/* SPDX-License-Identifier: MIT */
/* People do not repeat themselves word for word, so a candidate recurs when most of what it says does. */
#include "memory/candidate.h"

#define SHARED 0.6 /* of the terms of both together */

static size_t count_shared(const struct terms *a, const struct terms *b)
{
	size_t shared = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			if (slice_equal(a->items[i].text, b->items[j].text)) {
				shared++;
				break;
			}
	return shared;
}

static double likeness(const struct terms *a, const struct terms *b)
{
	size_t shared = count_shared(a, b), all = a->count + b->count - shared;

	return all ? (double)shared / (double)all : 0;
}

int candidate_find(struct memory *memory, struct slice text, struct arena *arena, struct fact_row *ret_row,
	struct bobbin_error *error)
{
	struct terms sought, terms;
	sqlite3_stmt *statement;
	double best = SHARED;
	int found = 0, code = memory_statement(memory, SQL_FACT_CANDIDATES, &statement, error);

	if (code < 0)
		return code;
	code = terms_read(text, TERMS_QUERY, arena, &sought);
	while (code >= 0 && (code = database_step(statement, error)) == 1) {
		struct fact_row row;
		code = row_read(statement, arena, &row, error);
		if (code == 0)
			code = terms_read(row.text, TERMS_QUERY, arena, &terms);
		if (code == 0 && likeness(&sought, &terms) >= best) {
			best = likeness(&sought, &terms);
			*ret_row = row;
			found = 1;
		}
	}
	sqlite3_reset(statement);
	if (code == BOBBIN_ENOMEM)
		return error_set(error, code, "looking for a candidate: out of memory");
	return code < 0 ? code : found;
}
