/* SPDX-License-Identifier: MIT */
/*
 * Shapes of documents; the contracts are in import_mend_shape.h. A shape is written like the document, with the names
 * of the members on the way to the messages and to their blocks: {"agents":[{"messages":[{… is {agents[{messages[{.
 */
#include "transcript/import_mend_shape.h"

#include "transcript/import_mend_scan.h"

/* Of shapes that fit alike the first is taken. A shape that ends with a * goes on with its last two brackets. */
static const struct {
	const char *format, *shape;
} SHAPES[] = {
	{"anthropic-messages", "{messages[{content[{content[{"},
	{"anthropic-messages", "[{content[{content[{"},
	{"anthropic-messages", "{interactions[{request{messages[{content[{"},
	{"anthropic-messages", "[{request{messages[{content[{"},
	{"gemini-cli", "{messages[{toolCalls[{result[{"},
	{"gemini-cli", "{messages[{content[{"},
	{"gemini-cli", "[{parts[{"},
	{"gemini-cli", "{contents[{parts[{"},
	{"langchain", "[[[{kwargs{content[{"},
	{"langchain", "[[{messages[{kwargs{content[{"},
	{"langchain", "{messages[{kwargs{content[{"},
	{"letta", "{agents[{messages[{content[{"},
	{"letta", "{messages[{content[{"},
	{"locomo", "[{qa[{"},
	{"locomo", "[{conversation{session_1[{"},
	{"longmemeval", "[{haystack_sessions[[{"},
	{"mini-swe-agent", "{messages[{tool_calls[{"},
	{"mini-swe-agent", "[{tool_calls[{"},
	{"openai-chat", "{prompts[{logs[{requestMessages{messages[{content[{"},
	{"openai-chat", "{messages[{content[{"},
	{"openai-chat", "[{traj[{content[{"},
	{"openai-chat", "{interactions[{request{messages[{content[{"},
	{"openai-responses", "{input[{content[{"},
	{"openai-responses", "[{request{input[{content[{"},
	{"openai-responses", "[{content[{"},
	{"openai-responses", "{interactions[{request{input[{content[{"},
	{"opencode", "{messages[{parts[{"},
	{"openhands", "{history[{"},
	{"openhands", "[{history[{"},
	{"sharegpt", "[{conversations[{"},
	{"sharegpt", "{conversations[{"},
	{"swe-agent", "{trajectory[{messages[{"},
	{"swe-agent", "{history[{tool_calls[{"},
	{"tree", "{tree{tree{children[{children[{*"},
	{"tree", "{prompt{replies[{replies[{*"},
};

/* A key that the elements of a list have, by the list's name: of lists that may be it, that one. */
static const struct {
	const char *list, *key;
} ELEMENTS[] = {
	{"agents", "messages"},
	{"content", "text"},
	{"contents", "parts"},
	{"conversations", "from"},
	{"history", "role"},
	{"interactions", "request"},
	{"logs", "kind"},
	{"prompts", "logs"},
	{"qa", "question"},
	{"session_1", "dia_id"},
	{"trajectory", "observation"},
};

/* Where a bracket stands in the shape and the name in front of it. */
struct step {
	char kind; /* '\0': the shape ends before */
	struct slice name;
};

static bool is_bracket(char c)
{
	return c == '[' || c == '{';
}

static struct step step_of(const char *shape, size_t depth)
{
	size_t count = 0;
	bool repeats = shape[strlen(shape) - 1] == '*';

	for (const char *c = shape; *c; c++)
		count += is_bracket(*c);
	if (depth >= count && repeats)
		depth = count - 2 + (depth - count) % 2;
	for (const char *name = shape, *c = shape; *c; c++) {
		if (!is_bracket(*c))
			continue;
		if (depth-- == 0)
			return (struct step){*c, {name, (size_t)(c - name)}};
		name = c + 1;
	}
	return (struct step){'\0', {NULL, 0}};
}

/* How many brackets of the place are like the shape's. */
static size_t fitting(const char *shape, const struct mend_place *place)
{
	size_t depth = 0;

	while (depth < place->count && step_of(shape, depth).kind == place->kinds[depth])
		depth++;
	return depth;
}

bool mend_key_follows(struct slice rest, struct slice key)
{
	struct scan scan = {.text = rest.data, .end = rest.len};
	size_t depth = 2; /* in the list, in the object */

	while (scan.at < rest.len && depth) {
		char c = rest.data[scan.at];
		size_t from = scan.at;
		if (c == '"') {
			if (!mend_skip_string(&scan))
				return false;
			if (depth == 1 && scan.at - from == key.len + 2 && memcmp(rest.data + from + 1, key.data, key.len) == 0 &&
				mend_behind(rest.data, scan.at, rest.len) == ':')
				return true;
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		scan.at++;
	}
	return false;
}

/* 4: the element is one of that list's, 0: it is not, 1: nobody knows. */
static size_t suits(const struct json *element, struct slice list)
{
	struct json value;

	for (size_t i = 0; i < sizeof(ELEMENTS) / sizeof(ELEMENTS[0]); i++) {
		if (slice_is(list, ELEMENTS[i].list))
			return json_get(element, ELEMENTS[i].key, &value) ? 4 : 0;
	}
	return 1;
}

/* How well: by the brackets first, then by what comes next. */
static size_t rate(const char *shape, const struct mend_place *place)
{
	size_t fits = fitting(shape, place);
	struct step next = step_of(shape, fits);

	if (fits < place->count)
		return fits * 8;
	struct slice list = fits ? step_of(shape, fits - 1).name : (struct slice){NULL, 0};
	if (!place->element)
		return fits * 8 + (next.kind && slice_equal(next.name, place->key) ? 4 : 1);
	if (list.len && mend_key_follows(place->rest, list))
		return fits * 8 + 3; /* it is another list of an object that has such a one */
	return fits * 8 + suits(place->element, list);
}

const char *mend_shape(const char *format, const struct mend_place *place)
{
	const char *shape = "{messages[{content[{";
	size_t best = 0;

	for (size_t i = 0; format && i < sizeof(SHAPES) / sizeof(SHAPES[0]); i++) {
		if (strcmp(SHAPES[i].format, format) != 0)
			continue;
		size_t score = rate(SHAPES[i].shape, place);
		if (score > best) {
			best = score;
			shape = SHAPES[i].shape;
		}
	}
	return shape;
}

struct slice mend_shape_name(const char *shape, const struct mend_place *place, size_t depth)
{
	return depth < fitting(shape, place) ? step_of(shape, depth).name : (struct slice){NULL, 0};
}

bool mend_is_document(const char *format, const struct json *value)
{
	char key[64];
	struct json member;

	for (size_t i = 0; format && i < sizeof(SHAPES) / sizeof(SHAPES[0]); i++) {
		struct slice name = step_of(SHAPES[i].shape, 1).name;
		if (strcmp(SHAPES[i].format, format) != 0 || SHAPES[i].shape[0] != '{' || name.len >= sizeof(key))
			continue;
		memcpy(key, name.data, name.len);
		key[name.len] = '\0';
		if (json_get(value, key, &member))
			return true;
	}
	return false;
}
