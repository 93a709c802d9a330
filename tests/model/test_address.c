/* SPDX-License-Identifier: MIT */
/* Where a model is reached, what is known of it by its name, and how long a provider asks to wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "model/address.h"
#include "model/http.h"
#include "model/known.h"
#include "support/failure.h"

#define KEY "sk-test-0123456789abcdef"

static int start(void **state)
{
	(void)state;
	setenv("OPENAI_API_KEY", KEY, 1);
	setenv("ANTHROPIC_API_KEY", KEY "-2", 1);
	unsetenv("BOBBIN_BASE_URL");
	return 0;
}

static void urls__from_specifications(void **state)
{
	(void)state;
	static const struct {
		const char *specification, *name, *url, *host;
	} cases[] = {
		{"openai:gpt-5", "gpt-5", "https://api.openai.com/v1/chat/completions", "api.openai.com"},
		{"openai-responses:gpt-5", "gpt-5", "https://api.openai.com/v1/responses", "api.openai.com"},
		{"anthropic:claude", "claude", "https://api.anthropic.com/v1/messages", "api.anthropic.com"},
		{"openai:llama3:8b@http://localhost:11434/v1", "llama3:8b",
			"http://localhost:11434/v1/chat/completions", "localhost:11434"},
		{"openai:m@http://localhost:80", "m", "http://localhost:80/v1/chat/completions",
			"localhost:80"},
		{"openai:m@http://h/", "m", "http://h/v1/chat/completions", "h"},
		{"openai:a/b@2024@https://h.example/api/v1/", "a/b@2024",
			"https://h.example/api/v1/chat/completions", "h.example"},
		{"openai:m@https://h/openai", "m", "https://h/openai/chat/completions", "h"},
		{"openai:m@https://h/v1/chat/completions", "m", "https://h/v1/chat/completions", "h"},
		{"anthropic:m@https://h/proxy", "m", "https://h/proxy/v1/messages", "h"},
		{"anthropic:m@https://h/proxy/v1", "m", "https://h/proxy/v1/messages", "h"},
		{"openai:m@https://[::1]:8080/v1", "m", "https://[::1]:8080/v1/chat/completions",
			"[::1]:8080"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct address address;
		struct bobbin_error error;
		assert_true(address_is(cases[i].specification));
		assert_int_equal(address_read(cases[i].specification, &address, &error), 0);
		assert_string_equal(address.name, cases[i].name);
		assert_string_equal(address.url, cases[i].url);
		assert_string_equal(address.host, cases[i].host);
		address_release(&address);
	}
	assert_false(address_is("mock"));
	assert_false(address_is("openai"));
}

static void base__of_the_environment_gives_way_to_the_specification(void **state)
{
	(void)state;
	struct address address;
	setenv("BOBBIN_BASE_URL", "https://proxy.example/v1", 1);
	assert_int_equal(address_read("openai:m", &address, NULL), 0);
	assert_string_equal(address.url, "https://proxy.example/v1/chat/completions");
	address_release(&address);
	assert_int_equal(address_read("openai:m@http://localhost/v1", &address, NULL), 0);
	assert_string_equal(address.url, "http://localhost/v1/chat/completions");
	address_release(&address);
	setenv("BOBBIN_BASE_URL", "", 1);
	assert_int_equal(address_read("openai:m", &address, NULL), 0);
	assert_string_equal(address.url, "https://api.openai.com/v1/chat/completions");
	address_release(&address);
}

static void bases__that_are_refused(void **state)
{
	(void)state;
	static const char *const bases[] = {"ftp://h", "h", "https://", "https:///v1", "https://user:pw@h/v1",
		"https://h/v1?x=1", "https://h/v1#x", "https://h /v1", "https://h/v1\r\nX: y",
		"https://h\\v1", "file:///etc/passwd"};
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		struct address address;
		struct bobbin_error error;
		setenv("BOBBIN_BASE_URL", bases[i], 1);
		assert_int_equal(address_read("openai:m", &address, &error), BOBBIN_EINVAL);
		assert_non_null(strstr(error.message, "base address"));
		assert_null(strstr(error.message, "pw"));
		address_release(&address);
	}
	unsetenv("BOBBIN_BASE_URL");
	struct address address;
	assert_int_equal(address_read("openai:", &address, NULL), BOBBIN_EINVAL);
	address_release(&address);
	assert_int_equal(address_read("openai:@https://h", &address, NULL), BOBBIN_EINVAL);
	address_release(&address);
}

static void assert_key(const char *specification, const char *first_header, bool withheld)
{
	struct address address;
	assert_int_equal(address_read(specification, &address, NULL), 0);
	assert_int_equal(address.withheld, withheld);
	if (first_header)
		assert_string_equal(address.headers[0], first_header);
	else
		assert_null(address.headers[0]);
	address_release(&address);
}

static void key__travels_encrypted_or_to_this_machine(void **state)
{
	(void)state;
	assert_key("openai:m", "Authorization: Bearer " KEY, false);
	assert_key("anthropic:m", "x-api-key: " KEY "-2", false);
	assert_key("openai:m@https://h.example", "Authorization: Bearer " KEY, false);
	assert_key("openai:m@http://localhost:8080", "Authorization: Bearer " KEY, false);
	assert_key("openai:m@http://LOCALHOST", "Authorization: Bearer " KEY, false);
	assert_key("openai:m@http://127.0.0.2:1", "Authorization: Bearer " KEY, false);
	assert_key("openai:m@http://[::1]:1", "Authorization: Bearer " KEY, false);
	assert_key("openai:m@http://h.example", NULL, true);
	assert_key("openai:m@http://localhost.evil.example", NULL, true);
	assert_key("openai:m@http://127.0.0.1.evil.example", NULL, true);
	assert_key("openai:m@http://10.0.0.5:8000", NULL, true);
	assert_key("anthropic:m@http://h.example", "anthropic-version: 2023-06-01", true);
}

static void key__missing_or_malformed(void **state)
{
	(void)state;
	struct address address;
	struct bobbin_error error;
	unsetenv("OPENAI_API_KEY");
	assert_int_equal(address_read("openai:m", &address, &error), BOBBIN_EINVAL);
	assert_string_equal(error.message, "OPENAI_API_KEY is not set: api.openai.com asks for a key");
	address_release(&address);
	assert_key("openai:m@http://localhost", NULL, false);
	setenv("OPENAI_API_KEY", KEY "\r\nX-Injected: 1", 1);
	assert_int_equal(address_read("openai:m", &address, &error), BOBBIN_EINVAL);
	assert_null(strstr(error.message, "sk-test"));
	address_release(&address);
}

static void memory__every_allocation_failing(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct address address;
		fail_alloc_start(nth);
		int rc = address_read("anthropic:m@https://h/v1", &address, NULL);
		address_release(&address);
		if (failure_were_all_tried(rc))
			break;
	}
}

static void known__by_the_longest_beginning(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint64_t window, output;
	} cases[] = {
		{"gpt-4", 8192, 8192},
		{"gpt-4o-mini", 128000, 16384},
		{"gpt-4.1-nano", 1047576, 32768},
		{"gpt-5.1", 400000, 128000},
		{"o1-mini-2024-09-12", 128000, 65536},
		{"o3-mini", 200000, 100000},
		{"claude-3-5-sonnet-20241022", 200000, 8192},
		{"claude-opus-4-1", 200000, 32000},
		{"claude-opus-4-5-20251101", 200000, 64000},
		{"anthropic/claude-sonnet-4", 200000, 64000},
		{"qwen3:8b", 128000, 8192},
		{"", 128000, 8192},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct known_model known = known_model(slice_of(cases[i].name));
		assert_int_equal(known.window_tokens, cases[i].window);
		assert_int_equal(known.output_tokens_max, cases[i].output);
	}
}

static void retry_after__seconds_or_a_date(void **state)
{
	(void)state;
	const int64_t ten = INT64_C(1788516000) * 1000000000; /* 2026-09-04T10:00:00Z */
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{"0", 0},
		{"2", 2000},
		{"1.5", 1500},
		{"Fri, 04 Sep 2026 10:00:05 GMT", 5000},
		{"Friday, 04-Sep-26 10:01:00 GMT", 60000},
		{"Fri, 04 Sep 2026 09:00:00 GMT", 0},
		{"999999999999", 86400000},
		{"Fri, 04 Sep 2126 09:00:00 GMT", 86400000},
		{"-5", -1},
		{"", -1},
		{"soon", -1},
		{"a value that is far longer than any date of a header could ever be, and then some", -1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(http_retry_after_ms(slice_of(cases[i].text), ten), cases[i].ms);
}

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(urls__from_specifications),
		TEST(base__of_the_environment_gives_way_to_the_specification),
		TEST(bases__that_are_refused),
		TEST(key__travels_encrypted_or_to_this_machine),
		TEST(key__missing_or_malformed),
		TEST(memory__every_allocation_failing),
		TEST(known__by_the_longest_beginning),
		TEST(retry_after__seconds_or_a_date),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
