/* SPDX-License-Identifier: MIT */
/* See known.h. */
#include "model/known.h"

#include <stddef.h>

#define UNKNOWN_WINDOW 128000
#define UNKNOWN_OUTPUT 8192

static const struct {
	const char *prefix;
	uint64_t window_tokens, output_tokens_max;
} table[] = {
	{"gpt-3.5-turbo", 16385, 4096},
	{"gpt-4", 8192, 8192},
	{"gpt-4-32k", 32768, 32768},
	{"gpt-4-1106", 128000, 4096},
	{"gpt-4-0125", 128000, 4096},
	{"gpt-4-turbo", 128000, 4096},
	{"gpt-4o", 128000, 16384},
	{"gpt-4o-2024-05-13", 128000, 4096},
	{"chatgpt-4o", 128000, 16384},
	{"gpt-4.1", 1047576, 32768},
	{"gpt-4.5", 128000, 16384},
	{"gpt-5", 400000, 128000},
	{"gpt-5-chat", 128000, 16384},
	{"gpt-oss", 131072, 131072},
	{"o1", 200000, 100000},
	{"o1-mini", 128000, 65536},
	{"o1-preview", 128000, 32768},
	{"o3", 200000, 100000},
	{"o4-mini", 200000, 100000},
	{"claude", 200000, 32000},
	{"claude-2.0", 100000, 4096},
	{"claude-2.1", 200000, 4096},
	{"claude-3-", 200000, 4096},
	{"claude-3-5-", 200000, 8192},
	{"claude-3-7-", 200000, 64000},
	{"claude-3.5-", 200000, 8192},
	{"claude-3.7-", 200000, 64000},
	{"claude-sonnet-4", 200000, 64000},
	{"claude-haiku-4", 200000, 64000},
	{"claude-opus-4", 200000, 32000},
	{"claude-opus-4-5", 200000, 64000},
	{"claude-opus-4.5", 200000, 64000},
	{"deepseek", 128000, 8192},
	{"gemini-1.5", 1048576, 8192},
	{"gemini-2.0", 1048576, 8192},
	{"gemini-2.5", 1048576, 65536},
	{"gemini-3", 1048576, 65536},
};

struct known_model known_model(struct slice name)
{
	struct known_model found = {UNKNOWN_WINDOW, UNKNOWN_OUTPUT};
	size_t longest = 0;
	const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
	if (slash)
		name = (struct slice){slash + 1, name.len - (size_t)(slash + 1 - name.data)};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = strlen(table[i].prefix);
		if (len > longest && slice_starts_with(name, table[i].prefix)) {
			longest = len;
			found = (struct known_model){table[i].window_tokens, table[i].output_tokens_max};
		}
	}
	return found;
}
