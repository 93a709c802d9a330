/* SPDX-License-Identifier: MIT */
/*
 * A server on the loopback interface that does to each connection what a script says: it reads one whole
 * request, then plays the steps. It runs in a thread of its own and uses no allocator of the library.
 */
#ifndef TESTS_MODEL_SERVER_H
#define TESTS_MODEL_SERVER_H

#include <stddef.h>

enum server_step_kind {
	SERVER_CLOSE, /* ends the connection in order; also what follows the last step */
	SERVER_SEND,  /* the text */
	SERVER_EACH,  /* the text, every byte in a packet of its own */
	SERVER_WAIT,  /* milliseconds */
	SERVER_RESET, /* ends the connection with a reset */
	SERVER_HOLD,  /* stays silent until the client is gone */
	SERVER_FLOOD, /* the text, again and again, until the client is gone */
};

struct server_step {
	enum server_step_kind kind;
	const char *text;
	size_t len; /* 0: strlen */
	int ms;
	int unread; /* of the first step: do not read the request at all */
};

struct server;

struct server *server_start(void);
void server_stop(struct server *server);
int server_port(const struct server *server);

/* The script of the connections from now on; the last one ends the connection. The steps live until the next
 * call or the end of the server, their texts until they are sent. */
void server_play(struct server *server, const struct server_step *steps);

size_t server_connections(struct server *server); /* accepted so far */
/* The newest request, NUL-terminated, to be freed with free(). */
char *server_request(struct server *server);

#endif
