/* SPDX-License-Identifier: MIT */
/*
 * The readers of foreign transcripts on any bytes: each format by name, and recognition. What comes out must
 * be records that a store would take: well-formed messages, ids once, parents before children, counts that
 * are true, and the head where replaying the store's rules puts it, or, in a format that can take messages back, where
 * its reader says. With BOBBIN_FUZZ_FORMAT in the environment only that format is read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/id.h"
#include "transcript/import.h"
#include "transcript/import_tree.h"
#include "transcript/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			fprintf(stderr, "fuzz_import.c:%d: not so: %s\n", __LINE__, #condition);             \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

/* Appends a message to drafts by the store's rules, as a store would conclude from the record alone. */
static void append(struct drafts *store, struct id_table *ids, const struct message *message, size_t *head)
{
	struct draft draft = {
		.role = message->role, .call_id = message->tool_call_id, .parent_kind = DRAFT_AT};
	bool moves = true;
	size_t ignored;

	if (message->parent_kind == PARENT_HEAD) {
		drafts_place(store, &draft, *head, &draft.parent, &moves);
	} else {
		draft.parent = DRAFT_NONE;
		if (message->parent_kind == PARENT_ID)
			CHECK(id_table_get(ids, message->parent, &draft.parent));
		moves = message->branch || draft.parent == *head;
	}
	CHECK(drafts_add(store, &draft) == 0 && drafts_add_calls(store, message) == 0);
	if (message->id.data) {
		CHECK(id_is_message(message->id) && !id_is_reserved(message->id));
		CHECK(!id_table_get(ids, message->id, &ignored));
		CHECK(id_table_put(ids, message->id, store->count - 1) == 0);
	}
	if (moves)
		*head = store->count - 1;
}

/* Formats in which the last word may be that messages are taken back. */
static bool may_rewind(const char *format)
{
	static const char *const FORMATS[] = {"bobbin", "codex", "copilot-cli", "gemini-cli", "opencode", "pi", NULL};

	for (size_t i = 0; FORMATS[i]; i++) {
		if (strcmp(FORMATS[i], format) == 0)
			return true;
	}
	return false;
}

static void check_conversation(const struct import_conversation *conversation, bool rewinds)
{
	struct import scratch = {.arena = ARENA_INIT};
	struct drafts store = {.import = &scratch};
	struct id_table ids = {0};
	struct array_path *path = NULL;
	size_t head = DRAFT_NONE;
	uint64_t calls = 0, results = 0;

	for (size_t i = 0; i < conversation->record_count; i++) {
		struct json record;
		struct message message;
		CHECK(json_parse(conversation->records[i].data, conversation->records[i].len, &record,
			      NULL) == 0);
		CHECK(message_parse(&record, &scratch.arena, &message, NULL) == 0);
		append(&store, &ids, &message, &head);
		calls += message_call_count(&message);
		results += message.role == ROLE_TOOL;
	}
	CHECK(head == conversation->head ||
		(rewinds && (conversation->head == DRAFT_NONE || conversation->head < conversation->record_count)));
	CHECK(conversation->messages == conversation->record_count);
	CHECK(conversation->calls == calls && conversation->results == results);
	CHECK(array_path_new(conversation->records, conversation->record_count, NULL, &path, NULL) == 0);
	array_path_free(path);
	drafts_release(&store);
	id_table_release(&ids);
	import_release(&scratch);
}

static void check_format(const char *format, const char *data, size_t len)
{
	struct bobbin_error error = {0};
	struct import import;
	int rc = import_read(format, data, len, &import, &error);

	CHECK(rc == 0 || rc == BOBBIN_EINPUT || rc == BOBBIN_EUNSUPPORTED || rc == BOBBIN_ELIMIT);
	CHECK(rc == 0 || (error.code == rc && error.message[0] && error.offset <= len));
	CHECK(rc != 0 || import.conversation_count > 0);
	for (size_t i = 0; rc == 0 && i < import.conversation_count; i++)
		check_conversation(&import.conversations[i], may_rewind(import.format));
	for (size_t i = 0; i < import.warning_count; i++)
		CHECK(import.warnings[i].offset <= len);
	import_release(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *const *formats = import_formats();
	const char *only = getenv("BOBBIN_FUZZ_FORMAT");

	if (only) {
		check_format(only, (const char *)data, len);
		return 0;
	}
	check_format(NULL, (const char *)data, len);
	for (size_t i = 0; formats[i]; i++)
		check_format(formats[i], (const char *)data, len);
	return 0;
}
