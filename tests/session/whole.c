/* SPDX-License-Identifier: MIT */
#include "whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <bobbin.h>
#include "base/buffer.h"

static void add_session(bobbin_store *store, const char *id, struct buffer *out)
{
	static const char *const KNOWN[] = {"main", "child", "bad", "files", "imported"};
	const struct bobbin_message *message;
	struct bobbin_error error = {0};
	bobbin_session *session;
	bobbin_messages *messages;
	bool known = false;
	char *data;
	size_t len;
	int rc = bobbin_session_open(store, id, NULL, &session, &error);

	if (rc)
		print_message("%s: %s\n", id, error.message);
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++)
		known = known || strcmp(KNOWN[i], id) == 0;
	buffer_addf(out, "%s, from %s:\n", known ? id : "a new one", bobbin_session_info(session)->parent_id);
	assert_int_equal(bobbin_messages_open(session, NULL, &messages, NULL), 0);
	while ((rc = bobbin_messages_next(messages, &message, NULL)) > 0)
		buffer_addf(out, "%llu %s %s\n", (unsigned long long)message->seq, message->role, message->text);
	assert_int_equal(rc, 0);
	bobbin_messages_close(messages);
	if (bobbin_file_read(session, "a.txt", NULL, &data, &len, NULL) == 0) {
		buffer_addf(out, "a.txt: %.*s\n", (int)len, data);
		bobbin_free(data);
	}
	bobbin_session_close(session);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *whole_store(const char *path)
{
	const struct bobbin_session_info *info;
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);
	char *texts[16];
	size_t count = 0;
	bobbin_store *store;
	bobbin_list *list;

	assert_int_equal(bobbin_store_open(path, NULL, &store, NULL), 0);
	assert_int_equal(bobbin_list_open(store, NULL, &list, NULL), 0);
	while ((info = bobbin_list_next(list)) != NULL) {
		struct buffer one = BUFFER_INIT(SIZE_MAX - 1);
		add_session(store, info->id, &one);
		texts[count++] = strdup(buffer_slice(&one).data);
		buffer_release(&one);
	}
	bobbin_list_close(list);
	bobbin_store_close(store);
	qsort(texts, count, sizeof(*texts), by_text);
	for (size_t i = 0; i < count; i++) {
		buffer_add_text(&out, texts[i]);
		free(texts[i]);
	}
	char *text = strdup(buffer_slice(&out).data);
	buffer_release(&out);
	return text;
}
