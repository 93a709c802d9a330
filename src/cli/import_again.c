/* SPDX-License-Identifier: MIT */
/*
 * Whether the messages of an imported session stand in an older one already, as after a second import of the same file. Only
 * sessions of the same title and owner are looked into, each only up to the first message that differs: a reader of one more file
 * does not pay for the store.
 */
#include "cli/cli.h"

#include <string.h>

#define SESSIONS_LOOKED_FOR 10 /* of one file */
#define SESSIONS_LOOKED_INTO 20

static bobbin_session *open_read_only(bobbin_store *store, const char *id)
{
	struct bobbin_session_options options = BOBBIN_SESSION_OPTIONS_INIT;
	bobbin_session *session;
	options.must_exist = 1;
	options.read_only = 1;
	return bobbin_session_open(store, id, &options, &session, NULL) == 0 ? session : NULL;
}

static bobbin_messages *read_line(bobbin_session *session)
{
	bobbin_messages *messages;
	return session && bobbin_messages_open(session, NULL, &messages, NULL) == 0 ? messages : NULL;
}

static bool are_equal(const struct bobbin_message *a, const struct bobbin_message *b)
{
	return strcmp(a->role, b->role) == 0 && strcmp(a->origin, b->origin) == 0 && a->text_len == b->text_len &&
	       memcmp(a->text, b->text, a->text_len) == 0;
}

/* Whether the line of the one begins with all messages of the other's: it may have gone on. */
static bool begins_with(bobbin_store *store, const char *older, const char *newer)
{
	bobbin_session *sessions[2] = {open_read_only(store, older), open_read_only(store, newer)};
	bobbin_messages *lines[2] = {read_line(sessions[0]), read_line(sessions[1])};
	const struct bobbin_message *a, *b;
	bool same = lines[0] && lines[1];
	int got = 0;
	while (same && (got = bobbin_messages_next(lines[1], &b, NULL)) > 0)
		same = bobbin_messages_next(lines[0], &a, NULL) > 0 && are_equal(a, b);
	for (int i = 0; i < 2; i++) {
		bobbin_messages_close(lines[i]);
		bobbin_session_close(sessions[i]);
	}
	return same && got == 0;
}

static bool is_of(const bobbin_import *import, const char *id)
{
	const struct bobbin_imported *one;
	for (size_t i = 0; (one = bobbin_import_get(import, i)); i++)
		if (strcmp(one->id, id) == 0)
			return true;
	return false;
}

bool imported_before(bobbin_store *store, const char *owner, const bobbin_import *import, size_t index,
	char ret_id[BOBBIN_SESSION_ID_BYTES])
{
	struct bobbin_list_options options = BOBBIN_LIST_OPTIONS_INIT;
	const struct bobbin_imported *one = bobbin_import_get(import, index);
	const struct bobbin_session_info *info;
	bobbin_list *list;
	bool found = false;
	if (index >= SESSIONS_LOOKED_FOR || !one || !one->messages_on_line || !*one->title)
		return false;
	options.owner = owner;
	options.title = one->title;
	if (bobbin_list_open(store, &options, &list, NULL) < 0)
		return false; /* a remark less */
	for (int looked = 0; !found && looked < SESSIONS_LOOKED_INTO && (info = bobbin_list_next(list));) {
		if (strcmp(info->title, one->title) != 0 || *info->parent_id || info->damaged || !info->messages_known ||
			info->messages < one->messages_on_line || is_of(import, info->id))
			continue;
		looked++;
		if ((found = begins_with(store, info->id, one->id)))
			memcpy(ret_id, info->id, BOBBIN_SESSION_ID_BYTES);
	}
	bobbin_list_close(list);
	return found;
}
