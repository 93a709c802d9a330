/* SPDX-License-Identifier: MIT */
/*
 * Other JSON libraries, each behind its own file because their headers claim the same names. Both return the
 * number of values in the document (members of equal key counted once), or 1 if `count` is false; 0 if it is
 * refused.
 */
#ifndef BENCH_PEERS_JSON_H
#define BENCH_PEERS_JSON_H

#include <stdbool.h>
#include <stddef.h>

size_t peer_jansson(const char *text, size_t len, bool count);
size_t peer_json_c(const char *text, size_t len, bool count);
const char *peer_jansson_version(void);
const char *peer_json_c_version(void);

#endif
