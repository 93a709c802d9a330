/* SPDX-License-Identifier: MIT */
/* Reading the tables of texts beside the tests: fields between tabs, texts in hex, # begins a comment line.
 */
#ifndef TESTS_TOKEN_FILES_H
#define TESTS_TOKEN_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder; meson gives it. */
#ifndef TOKEN_TEST_FILES
#define TOKEN_TEST_FILES "tests/tokens"
#endif

/* The whole of TOKEN_TEST_FILES/name, NUL-terminated, or NULL. The caller frees it. */
static inline char *token_file_read(const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", TOKEN_TEST_FILES, name);
	FILE *file = fopen(path, "rb");
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	char *text = size < 0 ? NULL : malloc((size_t)size + 1);
	if (text)
		text[fread(text, 1, (size_t)size, file)] = 0;
	fclose(file);
	return text;
}

/* The next field of a line: cuts it off at the tab and moves on. */
static inline char *token_field(char **line)
{
	char *field = *line, *tab = strchr(field, '\t');
	if (tab)
		*tab = 0;
	*line = tab ? tab + 1 : field + strlen(field);
	return field;
}

/* The next line that is no comment, or NULL. */
static inline char *token_line(char **at)
{
	while (*at && **at) {
		char *line = *at, *end = strchr(line, '\n');
		if (end)
			*end = 0;
		*at = end ? end + 1 : line + strlen(line);
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

/* Decodes hex into exactly as many bytes as it has (malloc, the caller frees them). */
static inline char *token_text(const char *hex, size_t *ret_len)
{
	size_t len = strlen(hex) / 2;
	char *text = malloc(len ? len : 1);
	for (size_t i = 0; text && i < len; i++) {
		unsigned byte = 0;
		sscanf(hex + 2 * i, "%2x", &byte);
		text[i] = (char)byte;
	}
	*ret_len = len;
	return text;
}

#endif
