/* SPDX-License-Identifier: MIT */
/*
 * A query is looked for twice: a part of it in the raw bytes of a log, and where that is found the whole of
 * it in the decoded texts of the message that stands there.
 *
 *	say "größe 12"      the part: größe 12      raw: größe 12, or \u0067, \u00f6, …
 *
 * The part has no character that JSON must escape, or may in a way other than \uXXXX (the slash), and it has
 * those that are rarest in logs.
 */
#include "session/search_text.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/json_scan.h"
#include "base/utf8.h"

#define PART_BYTES_MAX 48
#define ESCAPE_BYTES 6 /* \uXXXX */
#define REPLACEMENT "\xef\xbf\xbd" /* stands for lone surrogates, too */

/* ---- The query
 * --------------------------------------------------------------------------------------------- */

/* Whether a character stands in JSON as itself or as \uXXXX, and in no other way. */
static bool is_plain(const char *at, size_t used)
{
	unsigned char c = (unsigned char)*at;
	return !(c < 0x20 || c == '"' || c == '\\' || c == '/' ||
		 (used == 3 && memcmp(at, REPLACEMENT, 3) == 0));
}

/* The lower, the rarer are the two rarest bytes; a single byte is no good. */
static unsigned cost_of(struct slice part)
{
	unsigned first = 256, second = 256;

	for (size_t i = 0; i < part.len; i++) {
		unsigned rank = find_byte_rank((unsigned char)part.data[i]);
		if (rank < first) {
			second = first;
			first = rank;
		} else if (rank < second) {
			second = rank;
		}
	}
	return first + second;
}

static void choose_part(struct slice text, struct slice *ret_part)
{
	struct slice part = {text.data, 0};

	*ret_part = (struct slice){NULL, 0};
	for (size_t i = 0; i <= text.len;) {
		uint32_t code_point;
		unsigned used = i < text.len ? utf8_decode(text.data + i, text.len - i, &code_point) : 1;
		bool goes_on =
			i < text.len && is_plain(text.data + i, used) && part.len + used <= PART_BYTES_MAX;
		if (goes_on)
			part.len += used;
		else if (part.len && (!ret_part->len || cost_of(part) < cost_of(*ret_part)))
			*ret_part = part;
		if (!goes_on) {
			bool full = i < text.len && is_plain(text.data + i, used);
			part = (struct slice){text.data + i + (full ? 0 : used), full ? used : 0};
		}
		i += used;
	}
}

int search_query_init(struct search_query *query, struct slice text, bool folded, struct bobbin_error *error)
{
	struct slice part;

	if (!text.len)
		return error_set(error, BOBBIN_EINVAL, "search needs something to look for");
	if (utf8_valid_prefix(text.data, text.len) != text.len)
		return error_set(error, BOBBIN_EINVAL, "what is looked for is not UTF-8");
	*query = (struct search_query){.text = mem_copy_text(text.data, text.len)};
	if (!query->text)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (size_t i = 0; folded && i < text.len; i++)
		if (query->text[i] >= 'A' && query->text[i] <= 'Z')
			query->text[i] |= 0x20;
	text.data = query->text;
	find_init(&query->whole, text, folded);
	choose_part(text, &part);
	if (part.len) {
		find_init(&query->raw, part, folded);
		/* In JSON within JSON an escape may itself be escaped: \u005cu00e9. Nobody writes that, but
		 * it may be. */
		query->plain = part.len == text.len;
		query->has_raw = find_add_escapes(&query->raw, part) &&
				 find_add_escapes(&query->raw, slice_of("\\u0123456789abcdefABCDEF"));
	}
	return 0;
}

void search_query_release(struct search_query *query)
{
	mem_free(query->text);
	query->text = NULL;
}

/* ---- A record's bytes
 * --------------------------------------------------------------------------------------------- */

/* Behind the value of a member that ends before `end`; NULL if it does not. */
static const char *skip_value(const struct json_scan *scan, const char *at, const char *end)
{
	if (*at == '"')
		at = scan->skip_string(at + 1, end);
	else if (*at == '{' || *at == '[')
		at = scan->skip_container(at, end);
	else
		while (at < end && *at != ',' && *at != '}')
			at++;
	return at < end ? at : NULL;
}

/* Whether `at` is within an escape that begins before it. Something that is no backslash stands at `record`. */
static bool is_within_escape(const char *record, const char *at)
{
	const char *last = at - 1, *first;

	while (last > record && at - last < ESCAPE_BYTES && *last != '\\')
		last--;
	if (*last != '\\')
		return false;
	for (first = last; first[-1] == '\\'; first--)
		continue;
	if ((last - first) % 2) /* pairs, each a backslash */
		return false;
	return at - last < (last[1] == 'u' ? ESCAPE_BYTES : 2);
}

bool search_is_plain_text(const struct search_query *query, const char *record, const char *at)
{
	const struct json_scan *scan = json_scan_best();
	const char *place = record;

	if (!query->plain || at == record || *record != '{' || *at == '\\' || is_within_escape(record, at))
		return false;
	while (place && *place == (place == record ? '{' : ',')) {
		const char *key = place + 1;
		if (key >= at || *key != '"' || (place = scan->skip_string(key + 1, at)) >= at || *place != ':')
			return false;
		bool content = place - key == sizeof "\"content\"" - 1 && memcmp(key, "\"content\"", sizeof "\"content\"" - 1) == 0;
		if (++place >= at)
			return false;
		if (content)
			return *place == '"' && scan->skip_string(place + 1, at) > at;
		place = skip_value(scan, place, at);
	}
	return false;
}

/* ---- A message
 * --------------------------------------------------------------------------------------------- */

struct seeker {
	const struct search_query *query;
	struct arena *arena;
	struct search_hit *hit;
	int error;
};

static void seek_text(struct seeker *seeker, struct slice text)
{
	const char *at = text.data, *end = text.data + text.len;

	while (at && (at = find_next(&seeker->query->whole, at, end))) {
		if (seeker->hit->count++ == 0) {
			seeker->hit->text = text;
			seeker->hit->at = (size_t)(at - text.data);
		}
		at += seeker->query->whole.len;
	}
}

static void seek_string(struct seeker *seeker, const struct json *string)
{
	struct slice text;

	if (string->type != JSON_STRING || string->len < seeker->query->whole.len + 2)
		return; /* decoded it is no longer */
	if (!json_string_plain(string, &text)) {
		struct buffer decoded;
		buffer_init(&decoded, SIZE_MAX - 1);
		json_string_decode(string, JSON_SURROGATES_REPLACE, &decoded);
		text.len = decoded.len;
		text.data = buffer_error(&decoded) ? NULL
						   : arena_copy(seeker->arena,
							     decoded.data ? decoded.data : "", decoded.len);
		buffer_release(&decoded);
		if (!text.data) {
			seeker->error = BOBBIN_ENOMEM;
			return;
		}
	}
	seek_text(seeker, text);
}

/* Every string in it, keys too, but for what only programs read. */
static void seek_strings(struct seeker *seeker, const struct json *value)
{
	static const char *const NOT[] = {"type", "id", "tool_use_id", "tool_call_id", "signature",
		"encrypted_content", "data", "media_type"};
	struct json_iter iter;
	struct json key, item;

	if (value->type == JSON_STRING)
		seek_string(seeker, value);
	json_iter_init(&iter, value);
	while (!seeker->error && json_iter_next(&iter, &key, &item)) {
		bool skip = false;
		for (size_t i = 0; value->type == JSON_OBJECT && i < sizeof(NOT) / sizeof(NOT[0]); i++)
			skip = skip || json_string_is(&key, NOT[i]);
		if (!skip)
			seek_strings(seeker, &item);
	}
}

/* Arguments are searched as the JSON they are, and, if the query is not in that, in the strings of it: what a
 * person reads as say "hi" stands as say \"hi\" in the first. */
static void seek_arguments(struct seeker *seeker, const struct json *arguments)
{
	uint64_t before = seeker->hit->count;
	struct json value = *arguments;
	struct slice text = {arguments->text, arguments->len};

	if (arguments->type == JSON_ABSENT)
		return;
	if (arguments->type == JSON_STRING) {
		text = json_string_content(arguments, seeker->arena);
		if (!text.data) {
			seeker->error = BOBBIN_ENOMEM;
			return;
		}
	}
	seek_text(seeker, text);
	if (seeker->hit->count > before ||
		(arguments->type == JSON_STRING && json_parse(text.data, text.len, &value, NULL) < 0))
		return;
	if (value.type == JSON_OBJECT || value.type == JSON_ARRAY)
		seek_strings(seeker, &value);
}

static void seek_block(struct seeker *seeker, const struct block *block)
{
	switch (block->type) {
	case BLOCK_TEXT:
	case BLOCK_SEALED:
		seek_string(seeker, &block->text);
		break;
	case BLOCK_CALL:
	case BLOCK_SERVER_CALL:
		seek_text(seeker, block->call_name);
		seek_arguments(seeker, &block->arguments);
		break;
	case BLOCK_IMAGE:
		break;
	default:
		seek_strings(seeker, &block->value);
	}
}

int search_message(const struct search_query *query, const struct message *message, struct arena *arena,
	struct search_hit *ret_hit)
{
	struct search_hit hit = {{NULL, 0}, 0, 0};
	struct seeker seeker = {.query = query, .arena = arena, .hit = &hit};
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, message, arena);
	while (!seeker.error && block_iter_next(&iter, &block))
		seek_block(&seeker, &block);
	if (seeker.error || iter.error)
		return BOBBIN_ENOMEM;
	*ret_hit = hit;
	return hit.count > 0;
}
