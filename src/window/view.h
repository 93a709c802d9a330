/* SPDX-License-Identifier: MIT */
/*
 * The shown messages, mended, one run at a time: neighbours of the user's, or assistant messages with the
 * results of their calls. A run is a flat list of blocks in the order in which they are sent; spans point into
 * the messages.
 *
 *	u1 u2 | a1 a2[c1 c2] t(c2) t(c1) t(c9) | u3      three runs
 *	         assistant: a1 a2 c1 c2   results: c1 c2   user: the text of c9, marked
 *
 * Invariants: (1) every call of a run has exactly one result in it, in the order of the calls; (2) ids are
 * unique over the whole view; (3) no text is blank; (4) raw blocks are the log's own bytes.
 */
#ifndef WINDOW_VIEW_H
#define WINDOW_VIEW_H

#include "window/render.h"

enum view_kind {
	VIEW_TEXT,
	VIEW_IMAGE,
	VIEW_RAW, /* sealed, or run by the provider: sent byte for byte */
	VIEW_CALL,
	VIEW_RESULT,
};

/* An image in neutral form: data of a type, or an address. All decoded. */
struct view_image {
	struct slice media_type, data; /* base64 */
	struct slice url;	       /* set: data is not */
	struct slice detail;	       /* OpenAI's; may be empty */
};

struct view_block {
	enum view_kind kind;
	bool joined;	      /* belongs to the same message as the block before it */
	bool is_error;	      /* results */
	struct json text;     /* VIEW_TEXT as the log has it, VIEW_RAW: the whole block */
	struct slice literal; /* VIEW_TEXT with text JSON_ABSENT: decoded */
	struct view_image image;
	struct slice id, name;	  /* calls and results, as they are sent */
	struct slice arguments;	  /* calls: a JSON object */
	struct view_block *parts; /* results: texts and images, never empty */
	size_t part_count;
};

struct view_list {
	struct view_block *items;
	size_t count, cap;
};

struct view_run {
	struct view_list assistant, results, user;
	bool last; /* no run follows */
};

struct view_id_entry;
struct view_ids {
	struct view_id_entry *entries;
	size_t count, cap;
	struct arena arena;
};

struct view {
	const struct window_plan *plan;
	const struct path *path;
	const struct render_options *options;
	struct render_report *report; /* never NULL */
	struct bobbin_error *error;
	int rc; /* sticky */

	struct arena arena; /* of the run at hand */
	struct view_ids ids;
	size_t part, position; /* the next message to read */
	bool injected;	       /* the injected text has been placed */
};

void view_init(struct view *view, const struct window_plan *plan, const struct path *path,
	const struct render_options *options, struct render_report *report, struct bobbin_error *error);
void view_release(struct view *view);

/* The next run; false at the end or after a failure (view->rc). Its memory lives until the next call. */
bool view_next(struct view *view, struct view_run *ret_run);

/* Sets rc, and the error's text for memory. */
void view_fail(struct view *view, int code);
void view_lose(struct view *view, size_t position, const char *what);
struct view_block *view_add(struct view *view, struct view_list *list);
void view_add_literal(struct view *view, struct view_list *list, struct slice text, bool joined);

/* A message of a run. */
struct view_message {
	struct message message;
	struct path_item item;
	size_t position;
	enum window_shape shape;
	const char *late_id; /* of a result that came late and has no position: `position` is its call's; else NULL */
};

/* view_mend.c */
void view_mend_user(
	struct view *view, const struct view_message *messages, size_t count, struct view_run *run);
void view_mend_assistant(
	struct view *view, const struct view_message *messages, size_t count, struct view_run *run);
/* view_result.c: the parts of a result; `lead` (may be empty) stands before them as a text. */
void view_result_parts(
	struct view *view, const struct view_message *message, struct slice lead, struct view_list *list);
/* The image, or a pointer in its place. */
void view_add_image(struct view *view, const struct view_message *message, const struct block *block,
	struct view_list *list);
/* "[image; recall m7]" and the like, in the arena. */
struct slice view_pointer(struct view *view, const struct view_message *message, const char *before);

/* view_image.c: false if no provider takes it. */
bool view_image_read(struct view *view, const struct block *block, struct view_image *ret_image);

/* view_id.c: the id as it is sent: allowed in the dialect, not used before. Empty when memory is out. */
struct slice view_id(struct view *view, struct slice id);
/* True if this id was not used before; it is from now on. */
bool view_claim(struct view *view, struct slice id);
struct slice view_name(struct view *view, struct slice name);
void view_ids_release(struct view_ids *ids);

/* view_text.c */
/* Copies the inside of a JSON string, or any JSON value, replacing lone surrogates and NUL. */
void text_copy_clean(struct buffer *out, const char *json, size_t len);
/* True if it holds no lone surrogate: it may be sent byte for byte. */
bool text_is_strict(const char *json, size_t len);
/* The same for decoded text, escaped. */
void text_escape_clean(struct buffer *out, struct slice text);
bool text_is_blank(const struct json *string);
bool text_is_blank_literal(struct slice text);
/* Without trailing white space. */
struct slice text_trim_end(struct slice text);
/* Nesting of a valid JSON value. */
size_t text_depth(const char *json, size_t len);
/* The arguments of a call as a JSON object in the arena. */
struct slice view_arguments(struct view *view, const struct json *arguments);

#endif
