/* SPDX-License-Identifier: MIT */
/* See pollable.h. These are no files, and no test wants them to fail: they are closed and written through the
 * real platform, whatever table the model was given. */
#include "model/pollable.h"

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include "base/platform.h"

#define EVENTS_AT_ONCE 8

static void close_one(int descriptor)
{
	const struct platform *platform = platform_default();
	if (descriptor >= 0)
		platform->close(platform->context, descriptor);
}

void pollable_release(struct pollable *pollable)
{
	close_one(pollable->epoll);
	close_one(pollable->timer);
	close_one(pollable->wake);
	*pollable = (struct pollable){-1, -1, -1};
}

void pollable_init(struct pollable *pollable)
{
	pollable->epoll = epoll_create1(EPOLL_CLOEXEC);
	pollable->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	pollable->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pollable->epoll < 0 || pollable->timer < 0 || pollable->wake < 0) {
		pollable_release(pollable);
		return;
	}
	pollable_add(pollable, pollable->timer);
	pollable_add(pollable, pollable->wake);
}

void pollable_add(const struct pollable *pollable, int socket)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
	if (pollable->epoll >= 0)
		epoll_ctl(pollable->epoll, EPOLL_CTL_ADD, socket, &event);
}

void pollable_set_timer(const struct pollable *pollable, long milliseconds)
{
	struct itimerspec due = {.it_value = {0, 0}};
	if (milliseconds >= 0) {
		due.it_value.tv_sec = milliseconds / 1000;
		due.it_value.tv_nsec = milliseconds % 1000 * 1000000 + 1; /* 0 would stop it */
	}
	if (pollable->timer >= 0)
		timerfd_settime(pollable->timer, 0, &due, NULL);
}

void pollable_wake(const struct pollable *pollable)
{
	const struct platform *platform = platform_default();
	uint64_t one = 1;
	if (pollable->wake >= 0)
		platform->write(platform->context, pollable->wake, &one, sizeof(one));
}

void pollable_clear(const struct pollable *pollable)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	if (pollable->epoll >= 0)
		while (epoll_wait(pollable->epoll, events, EVENTS_AT_ONCE, 0) == EVENTS_AT_ONCE)
			;
}
