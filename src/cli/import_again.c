/* SPDX-License-Identifier: MIT */
/*
 * Whether the messages of an imported session stand in an older one already, as after a second import of the same file. Only
 * sessions of the same title and owner are looked into, each only up to the first message that differs. The store is listed once for
 * all files of a command.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
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

/* By title; among those of one title as they were added, the newest first. */
static int compare_known(const void *a, const void *b)
{
	const struct known_session *left = a, *right = b;
	int order = strcmp(left->title, right->title);
	return order ? order : (left->order > right->order) - (left->order < right->order);
}

static void add_known(struct known_sessions *known, const char *id, const char *title, uint64_t messages)
{
	char *copy = strdup(title);
	if (copy && known->count == known->cap) {
		size_t cap = known->cap ? 2 * known->cap : 64;
		struct known_session *grown = realloc(known->items, cap * sizeof(*grown));
		known->items = grown ? grown : known->items;
		known->cap = grown ? cap : known->cap;
	}
	if (!copy || known->count == known->cap) {
		free(copy); /* a remark less */
		return;
	}
	struct known_session *one = &known->items[known->count];
	*one = (struct known_session){.title = copy, .messages = messages, .order = known->count++};
	snprintf(one->id, sizeof(one->id), "%s", id);
}

void known_sessions_list(struct known_sessions *known, bobbin_store *store, const char *owner)
{
	struct bobbin_list_options options = BOBBIN_LIST_OPTIONS_INIT;
	const struct bobbin_session_info *info;
	bobbin_list *list;
	options.owner = owner;
	if (bobbin_list_open(store, &options, &list, NULL) < 0)
		return;
	while ((info = bobbin_list_next(list)))
		if (*info->title && !*info->parent_id && !info->damaged && info->messages_known)
			add_known(known, info->id, info->title, info->messages);
	bobbin_list_close(list);
	if (known->count) /* qsort takes no NULL */
		qsort(known->items, known->count, sizeof(*known->items), compare_known);
	known->sorted = known->count;
}

void known_sessions_add(struct known_sessions *known, const bobbin_import *import)
{
	const struct bobbin_imported *one;
	for (size_t i = 0; i < SESSIONS_LOOKED_FOR && (one = bobbin_import_get(import, i)); i++)
		if (*one->title)
			add_known(known, one->id, one->title, one->messages_on_line);
}

void known_sessions_free(struct known_sessions *known)
{
	for (size_t i = 0; i < known->count; i++)
		free(known->items[i].title);
	free(known->items);
}

/* The first of those that are sorted whose title is not below. */
static size_t first_of(const struct known_sessions *known, const char *title)
{
	size_t low = 0, high = known->sorted;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(known->items[middle].title, title) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *imported_before(
	const struct known_sessions *known, bobbin_store *store, const bobbin_import *import, size_t index)
{
	const struct bobbin_imported *one = bobbin_import_get(import, index);
	if (index >= SESSIONS_LOOKED_FOR || !one || !one->messages_on_line || !*one->title)
		return NULL;
	size_t at = first_of(known, one->title);
	for (int looked = 0; at < known->count && looked < SESSIONS_LOOKED_INTO; at++) {
		const struct known_session *older = &known->items[at];
		if (strcmp(older->title, one->title) != 0) {
			at = at < known->sorted ? known->sorted - 1 : at; /* those of this command are not sorted */
			continue;
		}
		if (older->messages < one->messages_on_line)
			continue;
		looked++;
		if (begins_with(store, older->id, one->id))
			return older->id;
	}
	return NULL;
}
