/* SPDX-License-Identifier: MIT */
/* libcurl as it is loaded: there, not there, and another library under its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include "model/curl.h"

static void test_it_is_loaded_once(void **state)
{
	struct bobbin_error error = {0};
	(void)state;
	const struct curl_functions *curl = curl_load(&error);
	if (!curl)
		fail_msg("%s", error.message);
	assert_ptr_equal(curl_load(NULL), curl);
	assert_int_equal(curl->getdate("Thu, 01 Jan 1970 00:01:40 GMT", NULL), 100);
	CURL *easy = curl->easy_init();
	assert_non_null(easy);
	assert_int_equal(curl->easy_setopt(easy, CURLOPT_URL, "http://127.0.0.1/"), CURLE_OK);
	curl->easy_cleanup(easy);
}

static void *load(void *ignored)
{
	(void)ignored;
	return (void *)(uintptr_t)curl_load(NULL);
}

static void test_threads_load_the_same(void **state)
{
	pthread_t threads[8];
	void *loaded;
	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load, NULL), 0);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(pthread_join(threads[i], &loaded), 0);
		assert_ptr_equal(loaded, curl_load(NULL));
	}
}

static void refused(const char *library, const char *reason)
{
	struct curl_functions functions, before;
	struct bobbin_error error = {0};
	memset(&functions, 7, sizeof(functions));
	before = functions;
	assert_int_equal(curl_load_from(library, &functions, &error), BOBBIN_EUNSUPPORTED);
	assert_memory_equal(&functions, &before, sizeof(functions));
	assert_non_null(strstr(error.message, library));
	assert_non_null(strstr(error.message, reason));
	assert_non_null(strstr(error.message, "apt install libcurl4"));
}

static void test_what_is_not_libcurl_is_refused(void **state)
{
	(void)state;
	refused("libbobbin-is-not-here.so.9", "cannot open shared object file");
	refused("libsqlite3.so.0", "it has no curl_easy_init");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_libcurl_is_refused),
		cmocka_unit_test(test_threads_load_the_same),
		cmocka_unit_test(test_it_is_loaded_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
