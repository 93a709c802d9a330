/* SPDX-License-Identifier: MIT */
/* What the three dialects share: where the writing stands, and the few things that are written alike. */
#ifndef WINDOW_RENDERER_H
#define WINDOW_RENDERER_H

#include "window/view.h"

/* The side that wrote last. Results count as the user's side where the dialect puts them there. */
enum side { SIDE_NONE, SIDE_USER, SIDE_ASSISTANT, SIDE_RESULTS };

struct renderer {
	struct view *view;
	const struct render_options *options;
	struct buffer *out;
	enum side side;
	bool comma;	   /* a message was written */
	bool open;	   /* the user's message is not closed yet */
	size_t user_end; /* where the last user message ended in `out` */
	bool array;	   /* openai-chat: its content has become an array */
	bool sealed;	   /* openai-responses: a reasoning item was sent */
	size_t content_at; /* where its content begins */
	size_t parts;	   /* in it */
};

struct dialect_ops {
	void (*begin)(struct renderer *renderer);
	/* Blocks of the user's side; goes on with an open user message. */
	void (*user)(struct renderer *renderer, const struct view_block *blocks, size_t count);
	/* A whole assistant message; never directly after another one. */
	void (*assistant)(struct renderer *renderer, const struct view_block *blocks, size_t count);
	/* The results of the calls just written. */
	void (*results)(struct renderer *renderer, const struct view_block *blocks, size_t count);
	void (*close)(struct renderer *renderer); /* an open user message */
	void (*end)(struct renderer *renderer);
};

extern const struct dialect_ops render_openai_chat, render_openai_responses, render_anthropic;

/* The next message: closes an open one and puts the comma. */
void render_message(struct renderer *renderer);
/* The inside of a JSON string. */
void render_text(struct renderer *renderer, const struct view_block *block);
/* A slice as a whole JSON string. */
void render_string(struct renderer *renderer, struct slice text);
/* The texts of a list as one JSON string: blocks of a message on lines of their own, messages a blank line
 * apart. */
void render_joined(
	struct renderer *renderer, const struct view_block *blocks, size_t count, const char *prefix);
size_t render_count(const struct view_block *blocks, size_t count, enum view_kind kind);
/* "data:image/png;base64,…", or the address. */
void render_image_url(struct renderer *renderer, const struct view_image *image);
/* ,"tools":[…] in the dialect's form; nothing if there are none. */
void render_tools(struct renderer *renderer);
void render_add(struct renderer *renderer, const char *text);
void render_tail(struct renderer *renderer, const char *text);

#endif
