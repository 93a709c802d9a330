/* SPDX-License-Identifier: MIT */
/*
 * How long a plan takes when the counts are known: lines of n messages whose items come from memory in
 * constant time. window.sh runs it beside a peer.
 *
 *	time_window COUNT…      one line each: messages, items asked, median, least and 99th percentile in
 * nanoseconds
 */
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"
#include "window/window.h"

#define RUNS 5001

struct line {
	struct path_item *items;
	size_t count;
	uint64_t asked;
};

static int line_item(void *context, size_t position, struct path_item *ret_item, struct bobbin_error *error)
{
	struct line *line = context;
	(void)error;
	line->asked++;
	*ret_item = line->items[position];
	return 0;
}

static int line_id(void *context, size_t position, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	(void)context, (void)error;
	snprintf(ret_id, PATH_ID_BYTES, "m%zu", position + 1);
	return 0;
}

static int line_message(void *context, size_t position, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	(void)context, (void)position, (void)arena, (void)ret_message;
	return error_set(error, BOBBIN_EINVAL, "the bench has no messages, only counts");
}

static const struct path_ops OPS = {line_item, line_id, line_message};

/* u, call, result, reply of uneven sizes, about 110 tokens a message. */
static void fill(struct line *line, struct path *path)
{
	for (size_t i = 0; i < line->count; i++) {
		struct path_item *item = &line->items[i];
		static const enum message_role roles[] = {
			ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_ASSISTANT};
		*item = (struct path_item){.tokens_before = path->tokens,
			.bytes_before = path->bytes,
			.role = roles[i % 4],
			.calls = i % 4 == 1,
			.tokens = (uint32_t)(20 + (i * 2654435761u >> 8) % 180)};
		item->bytes = item->tokens * 4ull;
		path_item_place(item, i, i ? item - 1 : NULL);
		path->tokens += item->tokens;
		path->bytes += item->bytes;
	}
}

static int measure(size_t count, uint64_t window)
{
	static uint64_t times[RUNS];
	static struct window_plan plan;
	struct line line = {calloc(count, sizeof(struct path_item)), count, 0};
	struct path path = {&OPS, &line, count, 0, 0, true};
	struct window_options options = WINDOW_OPTIONS_INIT;
	struct window_fixed fixed = {.system_tokens = 2000, .tools_tokens = 4000};
	struct window_budget budget;
	struct bobbin_error error = {0};

	if (!line.items)
		return 1;
	fill(&line, &path);
	options.window = window;
	for (int run = 0; run < RUNS; run++) {
		uint64_t start = now_ns();
		line.asked = 0;
		if (window_budget(&options, &fixed, &budget, &error) ||
			window_plan(&path, &budget, &options, NULL, NULL, &plan, &error)) {
			fprintf(stderr, "%s\n", error.message);
			return 1;
		}
		times[run] = now_ns() - start;
	}
	sort_times(times, RUNS);
	printf("%zu %llu %llu %llu %llu %zu\n", count, (unsigned long long)line.asked,
		(unsigned long long)times[RUNS / 2], (unsigned long long)times[0],
		(unsigned long long)times[RUNS * 99 / 100], count - plan.cut);
	free(line.items);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t window = 128000;

	for (int i = 1; i < argc; i++) {
		char *end;
		unsigned long long value = strtoull(argv[i], &end, 10);
		if (*end == 'w')
			window = value;
		else if (value == 0 || measure((size_t)value, window))
			return 1;
	}
	return 0;
}
