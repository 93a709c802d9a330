/* SPDX-License-Identifier: MIT */
/* What `bobbin once` records, for those who show it. */
#ifndef CLI_ONCE_H
#define CLI_ONCE_H

#include <stdbool.h>
#include <stddef.h>
#include <bobbin.h>

struct once_pieces {
	const char *at, *end;
};

/* False if it is not such a result. */
bool once_result_read(const void *result, size_t len, int *ret_exit, struct once_pieces *ret_pieces);
/* What the command printed, in its order; false at the end. */
bool once_pieces_next(struct once_pieces *pieces, bool *ret_error, const char **ret_data, size_t *ret_len);

/* One line of JSON; replayed 0 or 1, -1: not said. */
void print_action_json(const struct bobbin_action_info *info, int replayed);

#endif
