/* SPDX-License-Identifier: MIT */
/* The journal as it was at an instant, in another store; see actions_copy. */
#include "actions/row.h"

#define NOT_ENDED "it had not ended by then"
#define BEGUN_AGAIN "it was begun again since: how it stood then is not recorded"

struct copying {
	sqlite3 *to;
	const struct actions_as_of *as_of;
	uint64_t copied;
};

/* What the row said then; false: it was not there. */
static bool as_it_was(const struct actions_as_of *as_of, struct action_record *record)
{
	int place = as_of->place ? as_of->place(as_of->data, record) : -1;

	if (place == 0 || (place < 0 && record->begun_ns > as_of->until_ns && record->attempts < 2))
		return false;
	bool ended = record->state == ACTION_DONE || record->state == ACTION_FAILED;
	if (place < 0 && record->begun_ns > as_of->until_ns)
		record->note = BEGUN_AGAIN;
	else if (record->state == ACTION_BEGUN || (place < 0 && ended && record->ended_ns > as_of->until_ns))
		record->note = NOT_ENDED;
	else
		return true;
	record->state = ACTION_UNKNOWN;
	record->ended_ns = 0;
	record->result = (struct slice){"", 0};
	record->reference = "";
	return true;
}

static int copy_one(void *data, const struct action_record *record, struct bobbin_error *error)
{
	struct copying *copying = data;
	struct action_record then = *record;

	if (!as_it_was(copying->as_of, &then))
		return 0;
	copying->copied++;
	if (!copying->to)
		return 0;
	return row_write(copying->to, &then, error);
}

int actions_copy(struct store *from, struct store *to, const struct actions_as_of *as_of, uint64_t *ret_copied,
	struct bobbin_error *error)
{
	struct copying copying = {.as_of = as_of};
	sqlite3 *database;
	int code = database_open(from, false, &database, error);

	*ret_copied = 0;
	if (code == BOBBIN_ENOTFOUND)
		return 0;
	if (code < 0)
		return code;
	code = to ? actions_open(to, true, &copying.to, error) : 0;
	if (code == 0 && to)
		code = database_run(copying.to, "BEGIN", error);
	if (code == 0)
		code = row_each(database, copy_one, &copying, error);
	if (code == 0 && to)
		code = database_run(copying.to, "COMMIT", error);
	if (copying.to)
		database_close(copying.to);
	database_close(database);
	if (code == 0)
		*ret_copied = copying.copied;
	return code;
}
