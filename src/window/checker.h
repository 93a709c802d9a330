/* SPDX-License-Identifier: MIT */
/*
 * What the checks of the three dialects share. Nothing of it comes from the renderers.
 */
#ifndef WINDOW_CHECKER_H
#define WINDOW_CHECKER_H

#include "base/json.h"
#include "window/check.h"

/* A call that waits for its result. */
struct check_call {
	struct slice id;
	struct json at;
	size_t message; /* index of its message or item */
	bool answered;
};

struct check_id_set {
	struct slice *slots; /* data NULL: free */
	size_t count, cap;
};

struct checker {
	struct check_faults *faults;
	const char *body;
	struct buffer where;  /* the place at hand, as a path */
	struct arena scratch; /* decoded strings; lives as long as the check */
	size_t image_bytes_max, faults_max;
	int rc; /* BOBBIN_ENOMEM ends the check */

	struct check_id_set ids;  /* of all calls in the body */
	struct check_call *calls; /* of the last batch */
	size_t call_count, call_cap;
	bool answering; /* a result of the batch has come */
	size_t users;	/* user messages seen */
};

/* Adds a fault at the place at hand. `rule` and `advice` are static. */
void check_fault(struct checker *checker, const struct json *at, const char *rule, const char *advice,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Steps into a part of the body; check_leave takes the value back. */
size_t check_enter(struct checker *checker, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check_leave(struct checker *checker, size_t mark);

/* A string member's decoded content; false (and empty) if it is not a string or absent. */
bool check_get_string(
	struct checker *checker, const struct json *object, const char *key, struct slice *ret_text);
/* The "type" member, "" without one. */
struct slice check_type(struct checker *checker, const struct json *object);

/* Checks of parts. Each adds its faults at the place at hand. */
void check_text(struct checker *checker, const struct json *text); /* a string that is not blank */
void check_name(struct checker *checker, const struct json *object, size_t bytes_max);
void check_arguments(struct checker *checker, const struct json *object); /* a string that holds an object */
void check_schema(struct checker *checker, const struct json *schema);	  /* of a tool: that of an object */
void check_image_data(
	struct checker *checker, const struct json *at, struct slice media_type, struct slice data);
void check_image_url(struct checker *checker, const struct json *at, struct slice url); /* also data: */
void check_duplicate_keys(struct checker *checker, const struct json *object);
/* Of the assistant message that a body ends with, which stands in "list": its last text ends with no white space. */
void check_last_text(struct checker *checker, const struct json *message, const char *list, size_t index);
/* Hands each of the body's "tools" to `check_tool`, with its place entered; no list is a fault. */
void check_each_tool(struct checker *checker, const struct json *body,
	void (*check_tool)(struct checker *checker, const struct json *tool));
void check_tool_names(struct checker *checker, const struct json *body, bool nested);

/* The batch: a call opens it, results close it, anything else may only come when all are answered. */
void check_call_seen(struct checker *checker, const struct json *call, struct slice id, size_t message);
void check_result_seen(struct checker *checker, const struct json *result, struct slice id);
void check_batch_end(struct checker *checker);
/* Adds an id that must be unique in the body; false if it was there. */
bool check_id_add(struct checker *checker, struct slice id);

/* The dialects, given the body's object. */
void check_openai_chat(struct checker *checker, const struct json *body);
void check_openai_responses(struct checker *checker, const struct json *body);
void check_anthropic(struct checker *checker, const struct json *body);

#endif
