/* SPDX-License-Identifier: MIT */
/* Causes, verdicts and words, see doctor_words.h. */
#include "session/doctor_words.h"

#define TAKES VERDICT_TAKES
#define STRICT VERDICT_STRICT
#define REFUSES VERDICT_REFUSES

#define ALL_REFUSE {REFUSES, REFUSES, REFUSES}

static const char RESULT_KEPT[] = "It is put behind its call, or becomes a text that says what it was.";
static const char RENAMED[] = "It is renamed, with its result.";
static const char LEFT_OUT[] = "It is left out.";
static const char BLOCK_LEFT_OUT[] = "The block is left out.";

static const struct cause_about ABOUT[CAUSES] = {
	[CAUSE_NONE] = {"", "", "", false, false},
	[CAUSE_DANGLING] = {"dangling_call", "", "A result that is marked as interrupted.", false, false},
	[CAUSE_ORPHAN] = {"orphan_result", "This result has no call before it.", RESULT_KEPT, false, false},
	[CAUSE_LATE] = {"orphan_result", "Other messages part this result from its call.", RESULT_KEPT, false, false},
	[CAUSE_SECOND_RESULT] = {"duplicate_result", "The call of this result has one already.",
		"One of each is kept; one that says something else becomes a text.", false, false},
	[CAUSE_REPEATED_ID] = {"repeated_call_id", "A call id of this message was used before on this line.",
		"The later one is renamed, with its result.", false, false},
	[CAUSE_REPEATED_ITEM] = {"repeated_item", "An item of this message stands twice on this line.", "", false, false},
	[CAUSE_EMPTY_USER] = {"empty_message", "This message holds no text, call or image.", LEFT_OUT, false, false},
	[CAUSE_EMPTY_ASSISTANT] = {"empty_message", "This message holds no text, call or image.", LEFT_OUT, false, false},
	[CAUSE_EMPTY_ALONE] = {"empty_message", "The text of this message is empty.", LEFT_OUT, false, false},
	[CAUSE_BLANK_ALONE] = {"empty_message", "This message holds white space only.", LEFT_OUT, false, false},
	[CAUSE_EMPTY_TEXT] = {"empty_text", "An empty text stands beside what this message says.", BLOCK_LEFT_OUT, true, false},
	[CAUSE_BLANK_TEXT] = {"empty_text", "A text of white space stands beside what this message says.", BLOCK_LEFT_OUT, true,
		false},
	[CAUSE_NO_USER_FIRST] = {"no_user_first", "The line does not begin with a user message.",
		"[conversation continues] is put before it.", false, false},
	[CAUSE_SEAL_MISSING] = {"sealed", "A sealed block (thinking) without its seal: cut, or never kept.", BLOCK_LEFT_OUT, true,
		false},
	[CAUSE_SEAL_WRONG] = {"sealed", "A sealed block (thinking) whose seal can be none: changed or cut.", BLOCK_LEFT_OUT, true,
		false},
	[CAUSE_SEAL_LAST] = {"sealed_last", "Thinking that was interrupted before anything was said.", BLOCK_LEFT_OUT, false, false},
	[CAUSE_ARGUMENTS] = {"bad_arguments", "The arguments of a call are no JSON object.", "They become a text in an object.",
		false, false},
	[CAUSE_NAME_PATTERN] = {"bad_name", "A tool's name has characters that are not allowed.", "It is renamed.", false, true},
	[CAUSE_NAME_LONG] = {"bad_name", "A tool's name is too long.", "It is cut.", false, true},
	[CAUSE_NAME_VERY_LONG] = {"bad_name", "A tool's name is too long.", "It is cut.", false, true},
	[CAUSE_ID_PATTERN] = {"bad_call_id", "A call's id has characters that are not allowed.", RENAMED, false, true},
	[CAUSE_ID_LONG] = {"bad_call_id", "A call's id is too long.", RENAMED, false, true},
	[CAUSE_ID_MISSING] = {"bad_call_id", "A call has no id.", RENAMED, false, false},
	[CAUSE_SURROGATE] = {"unsendable_text", "It has half a character (a lone surrogate) in it.", "U+FFFD stands in its place.",
		false, false},
	[CAUSE_NUL] = {"unsendable_text", "It has a NUL in it, at which clients cut the request off.",
		"U+FFFD stands in its place.", false, false},
	[CAUSE_SERVER_PAIR] = {"server_pair", "A call that the provider ran has no result in its message, or the other way round.", "",
		false, false},
	[CAUSE_IMAGE] = {"image", "An image that cannot be read, or is too large.", "", false, false},
	[CAUSE_SHAPE] = {"unreadable", "The request cannot be read from here on.", "", false, false},
};

/*
 * In the order of enum dialect: openai-chat, openai-responses, anthropic. In the words: %w the place as OpenAI writes it, %d as
 * Anthropic does (messages.1.content.0), %m Anthropic's message alone, %i the calls, %n a length.
 */
static const struct {
	enum verdict verdict[3];
	const char *words[3];
} SAYS[CAUSES] = {
	[CAUSE_DANGLING] = {ALL_REFUSE,
		{"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
		 "following tool_call_ids did not have response messages: %i",
			"No tool output found for function call %i.",
			"%m: `tool_use` ids were found without `tool_result` blocks immediately after: %i. Each `tool_use` block must "
			"have a corresponding `tool_result` block in the next message."}},
	[CAUSE_ORPHAN] = {ALL_REFUSE,
		{"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
			"No tool call found for function call output with call_id %i.",
			"%d: unexpected `tool_use_id` found in `tool_result` blocks: %i. Each `tool_result` block must have a "
			"corresponding `tool_use` block in the previous message."}},
	[CAUSE_LATE] = {{REFUSES, STRICT, REFUSES},
		{"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "",
			"`tool_use` ids were found without `tool_result` blocks immediately after: %i. Each `tool_use` block must have a "
			"corresponding `tool_result` block in the next message."}},
	[CAUSE_SECOND_RESULT] = {{REFUSES, STRICT, REFUSES},
		{"Invalid parameter: Duplicate value for 'tool_call_id' of '%i'", "",
			"%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %i"}},
	[CAUSE_REPEATED_ID] = {{STRICT, STRICT, REFUSES}, {"", "", "%d: `tool_use` ids must be unique"}},
	[CAUSE_REPEATED_ITEM] = {{TAKES, REFUSES, TAKES},
		{"", "Duplicate item found with id %i. Remove duplicate items from your input and try again.", ""}},
	[CAUSE_EMPTY_USER] = {{REFUSES, STRICT, REFUSES},
		{"Invalid value for 'content': expected a string, got null.", "", "%m: user messages must have non-empty content"}},
	[CAUSE_EMPTY_ASSISTANT] = {{REFUSES, STRICT, REFUSES},
		{"Invalid value for 'content': expected a string, got null.", "",
			"%m: all messages must have non-empty content except for the optional final assistant message"}},
	[CAUSE_EMPTY_ALONE] = {{STRICT, STRICT, REFUSES}, {"", "", "messages: text content blocks must be non-empty"}},
	[CAUSE_BLANK_ALONE] = {{STRICT, STRICT, REFUSES}, {"", "", "messages: text content blocks must contain non-whitespace text"}},
	[CAUSE_EMPTY_TEXT] = {{STRICT, STRICT, REFUSES}, {"", "", "messages: text content blocks must be non-empty"}},
	[CAUSE_BLANK_TEXT] = {{STRICT, STRICT, STRICT}, {"", "", ""}},
	[CAUSE_NO_USER_FIRST] = {{STRICT, STRICT, REFUSES}, {"", "", "messages: first message must use the \"user\" role"}},
	[CAUSE_SEAL_MISSING] = {{TAKES, REFUSES, REFUSES}, {"", "", "%d.thinking.signature: Field required"}},
	[CAUSE_SEAL_WRONG] = {{TAKES, REFUSES, REFUSES},
		{"", "The encrypted content could not be verified.", "%d: Invalid `signature` in `thinking` block"}},
	[CAUSE_SEAL_LAST] = {{TAKES, TAKES, REFUSES},
		{"", "", "%m: The final block in an assistant message cannot be `thinking`."}},
	[CAUSE_ARGUMENTS] = {{STRICT, STRICT, REFUSES}, {"", "", "%d.tool_use.input: Input should be a valid dictionary"}},
	[CAUSE_NAME_PATTERN] = {{REFUSES, REFUSES, STRICT},
		{"Invalid '%w.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
			"Invalid '%w.name': string does not match pattern. Expected a string that matches the pattern "
			"'^[a-zA-Z0-9_-]+$'.",
			""}},
	[CAUSE_NAME_LONG] = {{REFUSES, REFUSES, STRICT},
		{"Invalid '%w.name': string too long. Expected a string with maximum length 64, but got a string with length %n "
		 "instead.",
			"Invalid '%w.name': string too long. Expected a string with maximum length 64, but got a string with length %n "
			"instead.",
			""}},
	[CAUSE_NAME_VERY_LONG] = {ALL_REFUSE,
		{"Invalid '%w.name': string too long. Expected a string with maximum length 64, but got a string with length %n "
		 "instead.",
			"Invalid '%w.name': string too long. Expected a string with maximum length 64, but got a string with length %n "
			"instead.",
			"%d.tool_use.name: String should have at most 200 characters"}},
	[CAUSE_ID_PATTERN] = {{TAKES, TAKES, REFUSES}, {"", "", "%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"}},
	[CAUSE_ID_LONG] = {{REFUSES, REFUSES, STRICT},
		{"Invalid '%w.id': string too long. Expected a string with maximum length 40, but got a string with length %n instead.",
			"Invalid '%w.call_id': string too long. Expected a string with maximum length 64, but got a string with length "
			"%n instead.",
			""}},
	[CAUSE_ID_MISSING] = {ALL_REFUSE, {"", "", "%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"}},
	[CAUSE_SURROGATE] = {ALL_REFUSE, {"", "", "The request body is not valid JSON: no low surrogate in string"}},
	[CAUSE_NUL] = {{STRICT, STRICT, REFUSES}, {"", "", "The request body is not valid JSON: unexpected end of data"}},
	[CAUSE_SERVER_PAIR] = {{TAKES, TAKES, REFUSES}, {"", "", ""}},
	[CAUSE_IMAGE] = {ALL_REFUSE, {"", "", ""}},
	[CAUSE_SHAPE] = {ALL_REFUSE, {"", "", ""}},
};

const struct cause_about *cause_about(enum cause cause)
{
	return &ABOUT[cause];
}

enum verdict cause_verdict(enum cause cause, enum dialect dialect)
{
	return SAYS[cause].verdict[dialect];
}

/* messages[1].content[0] -> messages.1.content.0; `parts` counts the names that are wanted. */
static void add_dotted(struct slice at, int parts, struct buffer *out)
{
	for (size_t i = 0; i < at.len; i++) {
		if (at.data[i] == '.' && --parts == 0)
			return;
		if (at.data[i] == '[')
			buffer_add_char(out, '.');
		else if (at.data[i] != ']')
			buffer_add_char(out, at.data[i]);
	}
}

void cause_words(enum cause cause, enum dialect dialect, struct slice at, struct slice names, size_t len, struct buffer *out)
{
	const char *words = SAYS[cause].words[dialect];
	for (; words && *words; words++) {
		if (*words != '%') {
			buffer_add_char(out, *words);
			continue;
		}
		switch (*++words) {
		case 'w':
			buffer_add_slice(out, at);
			break;
		case 'd':
			add_dotted(at, 100, out);
			break;
		case 'm':
			add_dotted(at, 1, out);
			break;
		case 'i':
			buffer_add_slice(out, names);
			break;
		default:
			buffer_add_u64(out, len);
		}
	}
}
