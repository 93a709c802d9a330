/* SPDX-License-Identifier: MIT */
/*
 * LongMemEval's haystacks: a question and the many chats its answer is hidden in; one item or a list of them.
 *
 *	{"question_id","question","answer","haystack_dates":["2023/05/20 (Sat) 02:21",…],
 *	 "haystack_session_ids":["…",…],"haystack_sessions":[[{"role","content","has_answer"?},…],…]}
 *
 * The three lists belong together by position. Each chat is a conversation, with its id, and the question's
 * id as its title; they stand in the order of the file, which is not always that of the dates. All messages of
 * a chat have its date: "ts" without a zone, because the file has none. A chat may begin with the assistant.
 * Question and answer are left out.
 */
#include "transcript/import_parts.h"
#include "transcript/import_readers.h"

struct haystack {
	struct builder builder;
	struct place place;
	struct json date;
};

/* "2023/05/20 (Sat) 02:21" as "2023-05-20T02:21:00"; nothing if it is written otherwise. */
static void write_date(struct json_writer *writer, const struct json *date)
{
	static const char SHAPE[] = "\"0000/00/00 (***) 00:00\"";
	char text[] = "0000-00-00T00:00:00";

	if (date->type != JSON_STRING || date->len != sizeof(SHAPE) - 1)
		return;
	for (size_t i = 0; i < date->len; i++) {
		bool fits = SHAPE[i] == '0' ? date->text[i] >= '0' && date->text[i] <= '9'
					    : SHAPE[i] == '*' || SHAPE[i] == date->text[i];
		if (!fits)
			return;
	}
	memcpy(text, date->text + 1, 4);
	memcpy(text + 5, date->text + 6, 2);
	memcpy(text + 8, date->text + 9, 2);
	memcpy(text + 11, date->text + 18, 5);
	json_member_text(writer, "ts", text);
}

static int read_message(struct haystack *haystack, const struct json *message)
{
	static const char *const OWN[] = {"role", "content", NULL};
	struct import *import = haystack->builder.import;
	struct json content;
	enum message_role role;

	if (part_is(message, "role", "system"))
		return import_left_out(import, haystack->place, "system {message|messages}");
	if (part_is(message, "role", "user"))
		role = ROLE_USER;
	else if (part_is(message, "role", "assistant"))
		role = ROLE_ASSISTANT;
	else
		return import_not_understood(import, haystack->place, "{message|messages} of the role",
			import_string(import, message, "role"));
	struct json_writer *writer = builder_begin(&haystack->builder, role);
	json_get(message, "content", &content);
	write_content_of(writer, &content);
	write_date(writer, &haystack->date);
	write_source_except(writer, message, OWN);
	return builder_end_next(&haystack->builder, (struct slice){NULL, 0});
}

static int read_chat(
	struct haystack *haystack, const struct json *chat, const struct json *id, struct slice title)
{
	struct import *import = haystack->builder.import;
	struct slice foreign_id = {NULL, 0};
	struct json_iter iter;
	struct json message;
	int rc = 0;

	json_iter_init(&iter, chat);
	while (!rc && chat->type == JSON_ARRAY && json_iter_next(&iter, NULL, &message))
		rc = read_message(haystack, &message);
	if (!rc && !haystack->builder.drafts.count)
		rc = import_left_out(import, haystack->place, "{chat|chats} without a message");
	if (id->type == JSON_STRING)
		foreign_id = json_string_content(id, &import->arena);
	return rc ? rc : builder_conversation(&haystack->builder, foreign_id, title);
}

static int read_item(struct haystack *haystack, const struct json *item)
{
	static const struct json NONE = {NULL, 0, JSON_ABSENT};
	struct import *import = haystack->builder.import;
	struct json chats, dates, ids, chat, id;
	struct json_iter chat_iter, date_iter, id_iter;
	int rc = 0;

	if (!part_list(item, "haystack_sessions", &chats))
		return import_not_understood(
			import, haystack->place, "{record|records} without sessions", (struct slice){NULL, 0});
	part_list(item, "haystack_dates", &dates);
	part_list(item, "haystack_session_ids", &ids);
	struct slice title = import_string(import, item, "question_id");
	json_iter_init(&chat_iter, &chats);
	json_iter_init(&date_iter, &dates);
	json_iter_init(&id_iter, &ids);
	while (!rc && json_iter_next(&chat_iter, NULL, &chat)) {
		if (!json_iter_next(&date_iter, NULL, &haystack->date))
			haystack->date = NONE;
		if (!json_iter_next(&id_iter, NULL, &id))
			id = NONE;
		rc = read_chat(haystack, &chat, &id, title);
	}
	return rc ? rc : import_left_out(import, haystack->place, "{question with its answer|questions with their answers}");
}

static int read_all(struct haystack *haystack, const struct json *document)
{
	struct json_iter iter;
	struct json item;
	int rc = 0;

	if (document->type != JSON_ARRAY)
		return read_item(haystack, document);
	json_iter_init(&iter, document);
	while (!rc && json_iter_next(&iter, NULL, &item))
		rc = read_item(haystack, &item);
	return rc;
}

bool import_is_longmemeval(const struct import_probe *probe)
{
	struct json chats;
	return part_list(&probe->first, "haystack_sessions", &chats);
}

int import_longmemeval(struct import *import, const char *data, size_t len, struct bobbin_error *error)
{
	struct haystack haystack = {.date = {NULL, 0, JSON_ABSENT}};
	struct json document;
	int rc = import_document(import, data, len, &document, error);

	builder_init(&haystack.builder, import);
	if (!rc)
		rc = read_all(&haystack, &document);
	return import_finish(&haystack.builder, rc, "longmemeval", error);
}
