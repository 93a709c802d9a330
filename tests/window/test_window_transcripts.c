/* SPDX-License-Identifier: MIT */
/*
 * Real transcripts, planned at budgets from the floor to the whole line, rendered in each dialect: within the
 * budget, and the check finds nothing. They are looked for in $BOBBIN_TRANSCRIPTS. With BOBBIN_SOAK the
 * budgets are such that the ideal cut falls on each message once; otherwise a spread of 12.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <dirent.h>

#include "base/limits.h"
#include "support/scratch.h"
#include "transcript/import.h"
#include "window/scene.h"

#define SPREAD 12
/* Conversations of one file: recorded request logs hold hundreds that hardly differ. */
#define CONVERSATIONS_MAX 3

struct node {
	struct message message;
	size_t parent; /* SIZE_MAX: a root */
};

static size_t find_id(const struct node *nodes, size_t count, struct slice id)
{
	while (count-- > 0)
		if (slice_equal(nodes[count].message.id, id))
			return count;
	return SIZE_MAX;
}

/* The line that the records make, by the store's rules: into the scene. */
static void add_line_of(struct scene *scene, const struct import_conversation *conversation)
{
	struct arena arena = ARENA_INIT;
	struct node *nodes = calloc(conversation->record_count + 1, sizeof(*nodes));
	size_t head = SIZE_MAX, length = 0;

	assert_non_null(nodes);
	for (size_t i = 0; i < conversation->record_count; i++) {
		struct slice text = conversation->records[i];
		struct json record;
		assert_int_equal(json_parse(text.data, text.len, &record, NULL), 0);
		assert_int_equal(message_parse(&record, &arena, &nodes[i].message, NULL), 0);
		nodes[i].parent = head;
		if (nodes[i].message.parent_kind == PARENT_ROOT)
			nodes[i].parent = SIZE_MAX;
		if (nodes[i].message.parent_kind == PARENT_ID)
			nodes[i].parent = find_id(nodes, i, nodes[i].message.parent);
		if (nodes[i].parent == head || nodes[i].message.branch)
			head = i;
	}
	for (size_t at = head; at != SIZE_MAX; at = nodes[at].parent)
		length++;
	size_t *line = calloc(length + 1, sizeof(*line));
	assert_non_null(line);
	for (size_t at = head, i = length; at != SIZE_MAX; at = nodes[at].parent)
		line[--i] = at;
	for (size_t i = 0; i < length; i++)
		scene_line(scene, "%.*s", (int)conversation->records[line[i]].len,
			conversation->records[line[i]].data);
	free(line);
	free(nodes);
	arena_release(&arena);
}

static struct window_options history_of(uint64_t tokens)
{
	struct window_options options = WINDOW_OPTIONS_INIT;

	options.margin = (int64_t)(tokens / 50 + 64);
	options.window = tokens + (uint64_t)options.margin;
	options.output_reserve = 0;
	return options;
}

static size_t planned, refused;

static void try_budget(struct scene *scene, const char *name, uint64_t history, enum dialect dialect)
{
	struct window_options options = history_of(history);
	struct bobbin_error error = {0};

	options.no_clear = history % 3 == 0;
	if (scene_try(scene, &options, &error)) {
		assert_int_equal(error.code, BOBBIN_EBUDGET);
		refused++;
		return;
	}
	planned++;
	assert_true(plan_covers_line(scene));
	const char *body = scene_render(scene, dialect);
	uint64_t tokens = body_tokens(body, scene->body.len);
	if (tokens > options.window)
		fail_msg("%s: %llu tokens in a window of %llu, planned %llu", name,
			(unsigned long long)tokens, (unsigned long long)options.window,
			(unsigned long long)scene->plan.view_tokens);
}

/* Every tail that begins with a message is once the largest that fits: the tail is a quarter of the history.
 */
static void try_every_cut(struct scene *scene, const char *name)
{
	for (size_t position = 0; position < scene->path.count; position++) {
		struct path_item item;
		assert_int_equal(path_item(&scene->path, position, &item, NULL), 0);
		uint64_t tail = scene->path.tokens - item.tokens_before;
		try_budget(scene, name, tail * 4, (enum dialect)(position % 3));
		try_budget(scene, name, tail, (enum dialect)((position + 1) % 3));
	}
}

static void try_spread(struct scene *scene, const char *name)
{
	for (uint64_t i = 1; i <= SPREAD; i++)
		try_budget(scene, name, scene->path.tokens * i * i / (SPREAD * SPREAD) + 1,
			(enum dialect)(i % 3));
}

static void try_file(const char *folder, const char *name)
{
	size_t len;
	char *data = scratch_read(folder, name, &len);
	struct import import;
	struct bobbin_error error = {0};

	assert_non_null(data);
	if (import_read(NULL, data, len, &import, &error) < 0) {
		print_message("%s: %s\n", name, error.message);
		free(data);
		import_release(&import);
		return;
	}
	for (size_t i = 0; i < import.conversation_count && i < CONVERSATIONS_MAX; i++) {
		struct scene scene = SCENE_INIT;
		add_line_of(&scene, &import.conversations[i]);
		struct window_options whole = history_of(100000000);
		scene_plan(&scene, &whole);
		for (enum dialect dialect = DIALECT_OPENAI_CHAT; dialect <= DIALECT_ANTHROPIC; dialect++)
			try_budget(&scene, name, scene.path.tokens + 1, dialect);
		if (getenv("BOBBIN_SOAK"))
			try_every_cut(&scene, name);
		else
			try_spread(&scene, name);
		scene_end(&scene);
	}
	import_release(&import);
	free(data);
}

static void real_transcripts__fit_and_pass_at_every_budget(void **state)
{
	static const char *const formats[] = {"claude-code", "openai-chat", "pi"};
	const char *root = getenv("BOBBIN_TRANSCRIPTS");
	char folder[SCRATCH_PATH_BYTES];
	size_t files = 0;
	(void)state;

	if (!root || !*root) {
		print_message("no BOBBIN_TRANSCRIPTS\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		snprintf(folder, sizeof(folder), "%s/%s", root, formats[i]);
		DIR *directory = opendir(folder);
		const struct dirent *entry;
		while (directory && (entry = readdir(directory))) {
			if (entry->d_name[0] == '.')
				continue;
			try_file(folder, entry->d_name);
			files++;
		}
		if (directory)
			closedir(directory);
	}
	print_message("# %zu files, %zu plans, %zu below their floor\n", files, planned, refused);
	assert_true(files > 0 && planned > refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_transcripts__fit_and_pass_at_every_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
