/* SPDX-License-Identifier: MIT */
#include "model/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The name that is bound to the interface the headers describe; libcurl keeps it since 2006. */
#define CURL_LIBRARY "libcurl.so.4"

static int is_missing(const char *library, const char *what, struct bobbin_error *error)
{
	return error_set(error, BOBBIN_EUNSUPPORTED,
		"a model over the network needs %s, which cannot be used: %s; install it (Debian: apt install libcurl4)", library, what);
}

int curl_load_from(const char *library, struct curl_functions *ret_functions, struct bobbin_error *error)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	struct curl_functions functions;
	__typeof__(curl_global_init) *global_init = NULL;
	const char *missing;
	void *found;

	if (!handle)
		return is_missing(library, dlerror(), error);
	/* A function is not an object, so its address is copied as bytes. */
#define TAKE(member, name)                                                                                   \
	missing = name;                                                                                      \
	if (!(found = dlsym(handle, missing)))                                                                \
		goto incomplete;                                                                             \
	memcpy(&(member), &found, sizeof(found));
#define TAKE_MEMBER(name) TAKE(functions.name, "curl_" #name)
	CURL_FUNCTIONS(TAKE_MEMBER)
	TAKE(global_init, "curl_global_init")
#undef TAKE_MEMBER
#undef TAKE
	if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return error_set(error, BOBBIN_ENOMEM, "out of memory loading %s", library);
	*ret_functions = functions;
	return 0;
incomplete:
	dlclose(handle);
	char reason[64];
	snprintf(reason, sizeof(reason), "it has no %s", missing);
	return is_missing(library, reason, error);
}

const struct curl_functions *curl_load(struct bobbin_error *error)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct curl_functions functions; /* set once, then only read */
	static bool loaded;

	pthread_mutex_lock(&lock);
	if (!loaded)
		loaded = curl_load_from(CURL_LIBRARY, &functions, error) == 0;
	bool usable = loaded;
	pthread_mutex_unlock(&lock);
	return usable ? &functions : NULL;
}
