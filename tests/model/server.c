/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX (64u << 20)
#define POLL_MS 5
#define STEPS_MAX 32

struct server {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards everything below */
	int listener, port;
	bool stopping;
	const struct server_step *steps;
	size_t connections;
	char *request;
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

static bool is_stopping(struct server *server)
{
	pthread_mutex_lock(&server->mutex);
	bool stopping = server->stopping;
	pthread_mutex_unlock(&server->mutex);
	return stopping;
}

/* The whole length of the request, once its head is there; 0 before. */
static size_t request_length(const char *text)
{
	const char *end = strstr(text, "\r\n\r\n");
	const char *length = strcasestr(text, "\r\nContent-Length:");
	if (!end)
		return 0;
	return (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
}

static void keep_request(struct server *server, char *text)
{
	pthread_mutex_lock(&server->mutex);
	free(server->request);
	server->request = text;
	pthread_mutex_unlock(&server->mutex);
}

static void read_request(struct server *server, int connection)
{
	size_t len = 0, room = 1u << 16;
	char *text = calloc(1, room + 1);
	must(text, "calloc");
	while (len < REQUEST_BYTES_MAX && !is_stopping(server)) {
		if (len == room) {
			room *= 2;
			text = realloc(text, room + 1);
			must(text, "realloc");
		}
		ssize_t got = recv(connection, text + len, room - len, 0);
		if (got <= 0)
			break;
		len += (size_t)got;
		text[len] = '\0';
		size_t whole = request_length(text);
		if (whole && len >= whole)
			break;
	}
	keep_request(server, text);
}

static bool send_all(struct server *server, int connection, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(connection, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EAGAIN && !is_stopping(server)) {
			poll(&(struct pollfd){.fd = connection, .events = POLLOUT}, 1, POLL_MS);
			continue;
		}
		if (sent < 0)
			return false;
		text += sent;
		len -= (size_t)sent;
	}
	return true;
}

static void hold(struct server *server, int connection)
{
	char byte;
	while (!is_stopping(server)) {
		struct pollfd entry = {.fd = connection, .events = POLLIN};
		if (poll(&entry, 1, POLL_MS) > 0 && recv(connection, &byte, 1, 0) <= 0)
			return;
	}
}

static bool play_step(struct server *server, int connection, const struct server_step *step)
{
	size_t len = step->len ? step->len : step->text ? strlen(step->text) : 0;
	switch (step->kind) {
	case SERVER_SEND:
		return send_all(server, connection, step->text, len);
	case SERVER_EACH:
		for (size_t i = 0; i < len; i++) {
			if (!send_all(server, connection, step->text + i, 1))
				return false;
		}
		return true;
	case SERVER_WAIT:
		nanosleep(&(struct timespec){step->ms / 1000, step->ms % 1000 * 1000000L}, NULL);
		return true;
	case SERVER_RESET:
		setsockopt(connection, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
		return false;
	case SERVER_HOLD:
		hold(server, connection);
		return false;
	case SERVER_FLOOD:
		while (send_all(server, connection, step->text, len) && !is_stopping(server))
			;
		return false;
	case SERVER_CLOSE:
		break;
	}
	return false;
}

static bool goes_on(const struct server_step *step)
{
	return step->kind == SERVER_SEND || step->kind == SERVER_EACH || step->kind == SERVER_WAIT;
}

static void serve(struct server *server, int connection)
{
	int yes = 1;
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	struct server_step steps[STEPS_MAX] = {{.kind = SERVER_CLOSE}};
	pthread_mutex_lock(&server->mutex);
	size_t count = 0;
	do
		steps[count] = server->steps[count];
	while (goes_on(&steps[count]) && ++count < STEPS_MAX);
	server->connections++;
	pthread_mutex_unlock(&server->mutex);
	if (!steps[0].unread)
		read_request(server, connection);
	for (const struct server_step *step = steps; play_step(server, connection, step);)
		step++;
	close(connection);
}

static void *run(void *context)
{
	struct server *server = context;
	while (!is_stopping(server)) {
		struct pollfd entry = {.fd = server->listener, .events = POLLIN};
		if (poll(&entry, 1, POLL_MS) <= 0)
			continue;
		int connection = accept(server->listener, NULL, NULL);
		if (connection >= 0)
			serve(server, connection);
	}
	return NULL;
}

struct server *server_start(void)
{
	struct server *server = calloc(1, sizeof(*server));
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	must(server, "calloc");
	pthread_mutex_init(&server->mutex, NULL);
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(server->listener >= 0, "socket");
	must(bind(server->listener, (struct sockaddr *)&address, len) == 0, "bind");
	must(listen(server->listener, 16) == 0, "listen");
	must(getsockname(server->listener, (struct sockaddr *)&address, &len) == 0, "getsockname");
	server->port = ntohs(address.sin_port);
	must(pthread_create(&server->thread, NULL, run, server) == 0, "pthread_create");
	return server;
}

void server_stop(struct server *server)
{
	pthread_mutex_lock(&server->mutex);
	server->stopping = true;
	pthread_mutex_unlock(&server->mutex);
	pthread_join(server->thread, NULL);
	close(server->listener);
	pthread_mutex_destroy(&server->mutex);
	free(server->request);
	free(server);
}

int server_port(const struct server *server)
{
	return server->port;
}

void server_play(struct server *server, const struct server_step *steps)
{
	pthread_mutex_lock(&server->mutex);
	server->steps = steps;
	pthread_mutex_unlock(&server->mutex);
}

size_t server_connections(struct server *server)
{
	pthread_mutex_lock(&server->mutex);
	size_t connections = server->connections;
	pthread_mutex_unlock(&server->mutex);
	return connections;
}

char *server_request(struct server *server)
{
	pthread_mutex_lock(&server->mutex);
	char *copy = strdup(server->request ? server->request : "");
	pthread_mutex_unlock(&server->mutex);
	return copy;
}
