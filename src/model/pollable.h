/* SPDX-License-Identifier: MIT */
/*
 * One descriptor that becomes readable when libcurl may have something to do: a socket moved, its timer is
 * due, or another thread wants attention.
 *
 * Invariants: (1) sockets are watched for changes (edges), so one that can always be written keeps nobody
 * awake; what was reported is forgotten at pollable_clear, after which everything must be looked at;
 * (2) without descriptors left it is -1, and nothing else fails.
 */
#ifndef MODEL_POLLABLE_H
#define MODEL_POLLABLE_H

struct pollable {
	int epoll, timer, wake; /* all -1 if there is none */
};

void pollable_init(struct pollable *pollable);
void pollable_release(struct pollable *pollable);

/* Watches a socket until it is closed. */
void pollable_add(const struct pollable *pollable, int socket);
/* Readable in so many milliseconds; negative: by the timer never. */
void pollable_set_timer(const struct pollable *pollable, long milliseconds);
/* From any thread: readable now. */
void pollable_wake(const struct pollable *pollable);
void pollable_clear(const struct pollable *pollable);

#endif
