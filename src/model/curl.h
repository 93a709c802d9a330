/* SPDX-License-Identifier: MIT */
/*
 * libcurl, loaded when the first request goes over the network and not before: it and what it needs itself are some thirty
 * libraries, and linking them takes longer than most commands (4.5 of 7.5 ms of processor time, Debian 12).
 *
 * Invariants: (1) loaded once in a process, and never unloaded; (2) all functions or none; (3) any thread.
 */
#ifndef MODEL_CURL_H
#define MODEL_CURL_H

#include <curl/curl.h>
#include "base/error.h"

/* Each is described by libcurl under the name curl_<member>. */
#define CURL_FUNCTIONS(FUNCTION)                                                                             \
	FUNCTION(easy_init)                                                                                  \
	FUNCTION(easy_setopt)                                                                                \
	FUNCTION(easy_getinfo)                                                                               \
	FUNCTION(easy_cleanup)                                                                               \
	FUNCTION(multi_init)                                                                                 \
	FUNCTION(multi_add_handle)                                                                           \
	FUNCTION(multi_remove_handle)                                                                        \
	FUNCTION(multi_perform)                                                                              \
	FUNCTION(multi_info_read)                                                                            \
	FUNCTION(multi_timeout)                                                                              \
	FUNCTION(multi_poll)                                                                                 \
	FUNCTION(multi_wakeup)                                                                               \
	FUNCTION(multi_cleanup)                                                                              \
	FUNCTION(slist_append)                                                                               \
	FUNCTION(slist_free_all)                                                                             \
	FUNCTION(getdate)

struct curl_functions {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* The functions, the process's own. NULL and BOBBIN_EUNSUPPORTED, which names the library and the package, if it is not
 * installed or too old; it is looked for again at the next call. */
const struct curl_functions *curl_load(struct bobbin_error *error);

/* The same from a library of another name, into what is the caller's, for tests. */
int curl_load_from(const char *library, struct curl_functions *ret_functions, struct bobbin_error *error);

#endif
