/* SPDX-License-Identifier: MIT */
/*
 * The words of records: headings, members, states, speakers.
 *
 * Invariants: (1) tables are in the order of their enums; (2) a state's word is one word, so that "word:
 * text" can be read back.
 */
#include "compact/record.h"

static const char *const HEADINGS[ITEM_KINDS] = {
	"TASK", "CONSTRAINTS", "DECISIONS", "FACTS", "TRIED", "OPEN", "FILES", "SIGNALS"};

static const char *const MEMBERS[ITEM_KINDS] = {
	"task", "constraints", "decisions", "facts", "tried", "open", "files", "signals"};

static const char *const PLURALS[ITEM_KINDS] = {
	"tasks", "constraints", "decisions", "facts", "attempts", "open points", "files", "signals"};

static const char *const STATES[ITEM_STATES] = {"", "open", "done", "dropped", "binding", "lifted",
	"overruled", "chosen", "rejected", "superseded", "failed", "worked", "answered", "read", "modified",
	"created", "deleted"};

static const char *const SPEAKERS[] = {"", "user", "assistant", "tool"};

static const char *const TAGS[ITEM_TAGS] = {
	"", "id", "path", "number", "date", "url", "host", "hash", "quote", "name", "place", "error"};

static const char *const REASONS[] = {"budget", "divided", "missing"};

/* What others call the same headings, lower case. */
static const struct {
	const char *name;
	enum item_kind kind;
} OTHER_NAMES[] = {
	{"task", ITEM_TASK},
	{"tasks", ITEM_TASK},
	{"goal", ITEM_TASK},
	{"goals", ITEM_TASK},
	{"objective", ITEM_TASK},
	{"overall goal", ITEM_TASK},
	{"primary request and intent", ITEM_TASK},
	{"high level goals", ITEM_TASK},
	{"user request", ITEM_TASK},
	{"task description", ITEM_TASK},
	{"constraints", ITEM_CONSTRAINT},
	{"rules", ITEM_CONSTRAINT},
	{"requirements", ITEM_CONSTRAINT},
	{"constraints & preferences", ITEM_CONSTRAINT},
	{"constraints and preferences", ITEM_CONSTRAINT},
	{"active constraints", ITEM_CONSTRAINT},
	{"user preferences", ITEM_CONSTRAINT},
	{"preferences", ITEM_CONSTRAINT},
	{"instructions", ITEM_CONSTRAINT},
	{"decisions", ITEM_DECISION},
	{"key decisions", ITEM_DECISION},
	{"decisions made", ITEM_DECISION},
	{"rejected", ITEM_DECISION},
	{"rejected options", ITEM_DECISION},
	{"facts", ITEM_FACT},
	{"key facts", ITEM_FACT},
	{"critical context", ITEM_FACT},
	{"context", ITEM_FACT},
	{"key knowledge", ITEM_FACT},
	{"important details", ITEM_FACT},
	{"key technical concepts", ITEM_FACT},
	{"tried", ITEM_TRIED},
	{"errors", ITEM_TRIED},
	{"errors and fixes", ITEM_TRIED},
	{"attempts", ITEM_TRIED},
	{"failed attempts", ITEM_TRIED},
	{"failed approaches", ITEM_TRIED},
	{"problem solving", ITEM_TRIED},
	{"open", ITEM_OPEN},
	{"open questions", ITEM_OPEN},
	{"next steps", ITEM_OPEN},
	{"next step", ITEM_OPEN},
	{"next", ITEM_OPEN},
	{"next move", ITEM_OPEN},
	{"pending tasks", ITEM_OPEN},
	{"remaining", ITEM_OPEN},
	{"remaining work", ITEM_OPEN},
	{"todo", ITEM_OPEN},
	{"to do", ITEM_OPEN},
	{"blocked", ITEM_OPEN},
	{"optional next step", ITEM_OPEN},
	{"in progress", ITEM_OPEN},
	{"files", ITEM_FILE},
	{"files and code sections", ITEM_FACT},
	{"modified files", ITEM_FILE},
	{"read files", ITEM_FILE},
	{"files modified", ITEM_FILE},
	{"files read", ITEM_FILE},
	{"read-files", ITEM_FILE},
	{"modified-files", ITEM_FILE},
	{"relevant files", ITEM_FILE},
};

const char *item_kind_heading(enum item_kind kind)
{
	return kind < ITEM_KINDS ? HEADINGS[kind] : "";
}

const char *item_kind_member(enum item_kind kind)
{
	return kind < ITEM_KINDS ? MEMBERS[kind] : "";
}

const char *item_kind_plural(enum item_kind kind)
{
	return kind < ITEM_KINDS ? PLURALS[kind] : "items";
}

const char *item_state_text(enum item_state state)
{
	return state < ITEM_STATES ? STATES[state] : "";
}

const char *item_by_text(enum item_by by)
{
	return SPEAKERS[by];
}

const char *item_tag_text(enum item_tag tag)
{
	return tag < ITEM_TAGS ? TAGS[tag] : "";
}

const char *pointer_reason_text(enum pointer_reason why)
{
	return REASONS[why];
}

/* Compares with a name in lower-case ASCII. */
static bool is_name(struct slice text, const char *name)
{
	if (text.len != strlen(name))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if ((c >= 'A' && c <= 'Z' ? (char)(c + 32) : c) != name[i])
			return false;
	}
	return true;
}

bool item_kind_of_heading(struct slice text, enum item_kind *ret_kind)
{
	for (size_t i = 0; i < sizeof OTHER_NAMES / sizeof *OTHER_NAMES; i++) {
		if (is_name(text, OTHER_NAMES[i].name)) {
			*ret_kind = OTHER_NAMES[i].kind;
			return true;
		}
	}
	return false;
}

bool item_state_of(struct slice text, enum item_state *ret_state)
{
	for (int state = STATE_NONE + 1; state < ITEM_STATES; state++) {
		if (slice_is(text, STATES[state])) {
			*ret_state = (enum item_state)state;
			return true;
		}
	}
	return false;
}

bool item_state_fits(enum item_kind kind, enum item_state state)
{
	switch (kind) {
	case ITEM_TASK:
		return state == STATE_OPEN || state == STATE_DONE || state == STATE_DROPPED;
	case ITEM_CONSTRAINT:
		return state == STATE_BINDING || state == STATE_LIFTED || state == STATE_OVERRULED;
	case ITEM_DECISION:
		return state == STATE_NONE || state == STATE_CHOSEN || state == STATE_REJECTED ||
		       state == STATE_OVERRULED;
	case ITEM_FACT:
		return state == STATE_NONE || state == STATE_SUPERSEDED;
	case ITEM_TRIED:
		return state == STATE_NONE || state == STATE_FAILED || state == STATE_WORKED;
	case ITEM_OPEN:
		return state == STATE_OPEN || state == STATE_ANSWERED;
	case ITEM_FILE:
		return state == STATE_NONE || (state >= STATE_READ && state <= STATE_DELETED);
	default:
		return true;
	}
}
