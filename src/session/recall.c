/* SPDX-License-Identifier: MIT */
/*
 * Recall: originals found again, whether the window shows them or not. A query
 * that is a message id or a range of ids gives those messages; otherwise
 * messages that hold the words as they are come first, then those that hold
 * most of them.
 */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include <ctype.h>
#include <stdlib.h>

#define RECALL_DEFAULT 5
#define RECALL_MAX 200
#define RECALL_RANGE_MAX 10000 /* a pointer of a record is answered in full */
#define EXCERPT_BYTES 600
#define QUERY_WORDS_MAX 16

struct bobbin_recall {
	struct arena arena;
	struct bobbin_hit *hits;
	size_t count, cap;
};

const struct bobbin_hit *bobbin_recall_get(const bobbin_recall *recall, size_t index)
{
	return index < recall->count ? &recall->hits[index] : NULL;
}

void bobbin_recall_free(bobbin_recall *recall)
{
	if (!recall)
		return;
	arena_release(&recall->arena);
	mem_free(recall->hits);
	mem_free(recall);
}

/* The query, taken apart. */
struct query {
	struct slice whole;
	struct slice words[QUERY_WORDS_MAX];
	size_t count;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void query_read(const char *text, struct query *query)
{
	struct slice rest = slice_of(text);
	while (rest.len && is_space(rest.data[0]))
		rest.data++, rest.len--;
	while (rest.len && is_space(rest.data[rest.len - 1]))
		rest.len--;
	*query = (struct query){.whole = rest};
	while (rest.len && query->count < QUERY_WORDS_MAX) {
		size_t len = 0;
		while (len < rest.len && !is_space(rest.data[len]))
			len++;
		query->words[query->count++] = (struct slice){rest.data, len};
		while (len < rest.len && is_space(rest.data[len]))
			len++;
		rest.data += len;
		rest.len -= len;
	}
}

/* Where `part` stands in `text`, ASCII case folded; SIZE_MAX if nowhere. */
static size_t find_folded(struct slice text, struct slice part)
{
	if (!part.len || part.len > text.len)
		return SIZE_MAX;
	int low = tolower((unsigned char)part.data[0]), high = toupper((unsigned char)part.data[0]);
	for (size_t i = 0; i + part.len <= text.len; i++) {
		if (text.data[i] != low && text.data[i] != high)
			continue;
		size_t j = 1;
		while (j < part.len &&
			tolower((unsigned char)text.data[i + j]) == tolower((unsigned char)part.data[j]))
			j++;
		if (j == part.len)
			return i;
	}
	return SIZE_MAX;
}

/* 1 and above: the whole query stands in it; below 1: the share of its words.
 * *ret_at: the first match. */
static double score(const struct query *query, struct slice text, size_t *ret_at)
{
	size_t found = 0, at = find_folded(text, query->whole);
	if (at != SIZE_MAX) {
		*ret_at = at;
		return 1.0 +
		       1.0 / (1.0 + (double)text.len / 1000.0); /* of exact hits, short messages say more */
	}
	*ret_at = SIZE_MAX;
	for (size_t i = 0; i < query->count; i++) {
		at = find_folded(text, query->words[i]);
		if (at == SIZE_MAX)
			continue;
		found++;
		if (at < *ret_at)
			*ret_at = at;
	}
	return query->count > 1 && found * 2 >= query->count ? (double)found / (double)(query->count + 1)
							     : 0.0;
}

/* A stretch of the text around `at`, cut at whole characters. */
static struct slice excerpt_of(struct slice text, size_t at)
{
	size_t start = at > EXCERPT_BYTES / 4 ? at - EXCERPT_BYTES / 4 : 0;
	while (start && ((unsigned char)text.data[start] & 0xc0) == 0x80)
		start--;
	struct slice rest = {text.data + start, text.len - start};
	rest.len = utf8_truncate(rest.data, rest.len, EXCERPT_BYTES);
	return rest;
}

static int add_hit(bobbin_recall *recall, const struct bobbin_message *message, double points, size_t at)
{
	void *hits = recall->hits;
	if (mem_grow(&hits, &recall->cap, recall->count + 1, sizeof(*recall->hits)) < 0)
		return BOBBIN_ENOMEM;
	recall->hits = hits;
	struct buffer excerpt = BUFFER_INIT(EXCERPT_BYTES + 16);
	struct slice part = excerpt_of((struct slice){message->text, message->text_len}, at);
	buffer_add_text(&excerpt, part.data > message->text ? "…" : "");
	buffer_add_slice(&excerpt, part);
	buffer_add_text(&excerpt, part.data + part.len < message->text + message->text_len ? "…" : "");
	struct slice text = buffer_slice(&excerpt);
	const struct bobbin_hit hit = {arena_copy(&recall->arena, message->id, strlen(message->id)),
		message->role, points, arena_copy(&recall->arena, text.data ? text.data : "", text.len),
		text.len, NULL};
	bool bad = buffer_error(&excerpt) || !hit.id || !hit.excerpt;
	buffer_release(&excerpt);
	if (bad)
		return BOBBIN_ENOMEM;
	recall->hits[recall->count++] = hit;
	return 0;
}

/* Only what is given away is named: of many hits that is few. */
static int name_hits(bobbin_session *session, bobbin_recall *recall, struct bobbin_error *error)
{
	for (size_t i = 0; i < recall->count; i++) {
		struct bobbin_hit *hit = &recall->hits[i];
		char name[PATH_ID_BYTES];
		int rc = bobbin_short_id(session, hit->id, name, error);
		if (rc < 0)
			return rc;
		hit->name = arena_copy(&recall->arena, name, strlen(name));
		if (!hit->name)
			return error_set(error, BOBBIN_ENOMEM, "out of memory");
	}
	return 0;
}

/* Best first; of equals the newest first, which was added last. */
static int compare_hits(const void *a, const void *b)
{
	double x = ((const struct bobbin_hit *)a)->score, y = ((const struct bobbin_hit *)b)->score;
	return x > y ? -1 : x < y;
}

static void keep_best(bobbin_recall *recall, size_t limit)
{
	for (size_t i = 0, j = recall->count; i + 1 < j;
		i++) { /* newest first, so that the stable order is that */
		struct bobbin_hit swapped = recall->hits[i];
		recall->hits[i] = recall->hits[--j];
		recall->hits[j] = swapped;
	}
	for (size_t i = 1; i < recall->count; i++) { /* stable, and the list is short or nearly sorted */
		struct bobbin_hit hit = recall->hits[i];
		size_t j = i;
		while (j && compare_hits(&recall->hits[j - 1], &hit) > 0) {
			recall->hits[j] = recall->hits[j - 1];
			j--;
		}
		recall->hits[j] = hit;
	}
	if (recall->count > limit)
		recall->count = limit;
}

/* "m12", "m12–m40" or "m12-m40", maybe with "recall " before it as pointers
 * print it. */
static bool read_range(bobbin_session *session, struct slice text, char *ret_from, char *ret_to)
{
	static const char dash[] = "–";
	uint32_t node;
	size_t split = text.len, after = text.len;
	if (slice_starts_with(text, "recall "))
		text.data += 7, text.len -= 7, split = after = text.len;
	char *at = memmem(text.data, text.len, dash, sizeof(dash) - 1);
	if (at) {
		split = (size_t)(at - text.data);
		after = split + sizeof(dash) - 1;
	} else if (log_find(session->log, text, &node, NULL) < 0 && (at = memchr(text.data, '-', text.len))) {
		split = (size_t)(at - text.data);
		after = split + 1;
	}
	struct slice from = {text.data, split}, to = {text.data + after, text.len - after};
	if (!to.len)
		to = from;
	if (!from.len || from.len >= PATH_ID_BYTES || to.len >= PATH_ID_BYTES ||
		log_find(session->log, from, &node, NULL) < 0 || log_find(session->log, to, &node, NULL) < 0)
		return false;
	memcpy(ret_from, from.data, from.len);
	ret_from[from.len] = 0;
	memcpy(ret_to, to.data, to.len);
	ret_to[to.len] = 0;
	return true;
}

/* Up to the message at `last` on the line. */
static int recall_range(bobbin_session *session, const char *from, const char *to, uint64_t last,
	bobbin_recall *recall, struct bobbin_error *error)
{
	struct bobbin_messages_options options = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct bobbin_message *message;
	bobbin_messages *messages;
	options.from = from;
	options.to = to;
	int rc = bobbin_messages_open(session, &options, &messages, error);
	if (rc < 0)
		return rc;
	while (recall->count < RECALL_RANGE_MAX && (rc = bobbin_messages_next(messages, &message, error)) > 0 &&
		message->position <= last)
		if ((rc = add_hit(recall, message, 2.0, 0)) < 0) {
			error_set(error, rc, "out of memory");
			break;
		}
	bobbin_messages_close(messages);
	return rc < 0 ? rc : 0;
}

static int recall_words(bobbin_session *session, const struct query *query, size_t limit, const char *until,
	bobbin_recall *recall, struct bobbin_error *error)
{
	struct bobbin_messages_options options = BOBBIN_MESSAGES_OPTIONS_INIT;
	const struct bobbin_message *message;
	bobbin_messages *messages;
	size_t at;
	options.to = until;
	int rc = bobbin_messages_open(session, &options, &messages, error);
	if (rc < 0)
		return rc;
	while ((rc = bobbin_messages_next(messages, &message, error)) > 0) {
		double points = score(query, (struct slice){message->text, message->text_len}, &at);
		if (points > 0 && add_hit(recall, message, points, at) < 0) {
			rc = error_set(error, BOBBIN_ENOMEM, "out of memory");
			break;
		}
		if (recall->count > 4 * limit + 64)
			keep_best(recall, limit);
	}
	bobbin_messages_close(messages);
	keep_best(recall, limit);
	return rc < 0 ? rc : 0;
}

/* Where a message stands on the line; NULL: behind its end. */
static int position_of(bobbin_session *session, const char *id, uint64_t *ret_position, struct bobbin_error *error)
{
	struct log_node node;
	uint32_t number;
	*ret_position = UINT64_MAX - 1;
	if (!id)
		return 0;
	int rc = log_find(session->log, slice_of(id), &number, error);
	if (!rc && (rc = log_node(session->log, number, &node)) < 0)
		error_set(error, rc, "message %.60s cannot be read", id);
	if (!rc)
		*ret_position = node.depth;
	return rc;
}

int recall_until(bobbin_session *session, const char *query, size_t limit, const char *until,
	bobbin_recall **ret_recall, struct bobbin_error *error)
{
	char from[PATH_ID_BYTES], to[PATH_ID_BYTES];
	struct query parts;
	uint64_t last;
	int rc = SESSION_CHECK(session, error);
	if (rc < 0)
		return rc;
	if (!query || !*query)
		return error_set(error, BOBBIN_EINVAL, "recall needs words, a message id or a range of ids");
	rc = position_of(session, until, &last, error);
	if (rc < 0)
		return rc;
	bobbin_recall *recall = mem_alloc_zero(sizeof(*recall));
	if (!recall)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	query_read(query, &parts);
	limit = !limit ? RECALL_DEFAULT : limit > RECALL_MAX ? RECALL_MAX : limit;
	if (read_range(session, parts.whole, from, to))
		rc = recall_range(session, from, to, last, recall, error);
	else
		rc = recall_words(session, &parts, limit, until, recall, error);
	if (!rc)
		rc = name_hits(session, recall, error);
	if (rc < 0)
		bobbin_recall_free(recall);
	else
		*ret_recall = recall;
	return rc;
}

int bobbin_session_recall(bobbin_session *session, const char *query, size_t limit,
	bobbin_recall **ret_recall, struct bobbin_error *error)
{
	return recall_until(session, query, limit, NULL, ret_recall, error);
}
