/* SPDX-License-Identifier: MIT */
#include "store_test.h"

#include <sys/stat.h>

/* With INDEX_STEP=1 every test of the room works with index files all the time. */
static uint64_t index_step(void)
{
	const char *step = getenv("INDEX_STEP");
	return step ? strtoull(step, NULL, 10) : 0;
}

void world_open(struct world *world, enum store_sync sync)
{
	char path[SCRATCH_PATH_BYTES + 8];

	memset(world, 0, sizeof(*world));
	scratch_make(world->dir);
	fail_platform_init(&world->platform);
	snprintf(path, sizeof(path), "%s/store", world->dir);
	struct store_options options = {
		.create = true, .force_filesystem = true, .sync = sync, .index_step = index_step()};
	assert_int_equal(store_open(&world->platform.table, path, &options, &world->store, &world->error), 0);
	memmove(world->dir, path, strlen(path) + 1);
}

void world_open_indexed(struct world *world)
{
	world_open(world, STORE_SYNC_FULL);
	store_close(world->store);
	world->platform.skip_sync = true;
	struct store_options options = {.create = true, .force_filesystem = true, .index_step = 1};
	assert_int_equal(store_open(&world->platform.table, world->dir, &options, &world->store, NULL), 0);
}

void world_stop_indexing(struct world *world)
{
	store_close(world->store);
	struct store_options options = {.force_filesystem = true, .sync = STORE_SYNC_FULL};
	assert_int_equal(store_open(&world->platform.table, world->dir, &options, &world->store, NULL), 0);
}

void world_close(struct world *world)
{
	store_close(world->store);
	assert_int_equal(world->platform.open_files, 0);
	*strrchr(world->dir, '/') = '\0';
	scratch_remove(world->dir);
}

struct log *world_create(struct world *world, const char *id)
{
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log = NULL;

	options.id = slice_of(id);
	options.owner = SLICE_LITERAL("ana");
	int rc = log_create(world->store, &options, &log, &world->error);
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	return log;
}

struct log *world_log(struct world *world, const char *id, enum log_mode mode)
{
	struct log *log = NULL;
	struct bobbin_error error = {0};
	int rc = log_open(world->store, slice_of(id), mode, &log, &error);

	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	assert_string_equal(error.message, ""); /* untouched on success */
	return log;
}

struct log *world_fork(struct world *world, const char *parent, const char *child, uint64_t count)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *log = world_log(world, parent, LOG_WRITE), *fork = NULL;

	options.create.id = slice_of(child);
	options.by_count = true;
	options.count = count;
	int rc = log_fork(log, &options, NULL, &fork, &world->error);
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	log_close(log);
	return fork;
}

void world_write(struct world *world, const char *name, const char *text)
{
	scratch_write_text(world->dir, name, text);
}

int try_add(struct log *log, const char *record, struct bobbin_error *error)
{
	struct slice slice = slice_of(record);
	return log_append(log, &slice, 1, NULL, NULL, error);
}

struct log_ack add(struct log *log, const char *record)
{
	struct slice slice = slice_of(record);
	struct bobbin_error error = {0};
	struct log_ack ack;

	int rc = log_append(log, &slice, 1, NULL, &ack, &error);
	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	assert_string_equal(error.message, "");
	return ack;
}

struct log_ack say(struct log *log, const char *role, const char *text)
{
	char record[1024];

	snprintf(record, sizeof(record), "{\"role\":\"%s\",\"content\":\"%s\"}", role, text);
	return add(log, record);
}

const char *line_to(struct log *log, uint32_t node)
{
	static char text[1 << 16];
	struct arena arena = ARENA_INIT;
	uint32_t *nodes, count;
	size_t len = 0;

	assert_int_equal(log_line(log, node, &arena, &nodes, &count), 0);
	text[0] = '\0';
	for (uint32_t i = 0; i < count; i++) {
		char id[PATH_ID_BYTES];
		assert_int_equal(log_node_id(log, nodes[i], id, NULL), 0);
		assert_true(log_has_node(log, nodes[i]));
		assert_int_equal(log_ancestor(log, node, i), nodes[i]);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "", id);
	}
	arena_release(&arena);
	return text;
}

const char *line_of(struct log *log)
{
	return line_to(log, log_head(log));
}

const char *text_of(struct log *log, uint32_t node)
{
	static char text[1 << 16];
	struct arena arena = ARENA_INIT;
	struct buffer out = BUFFER_INIT(sizeof(text));
	struct bobbin_error error = {0};
	struct message message;

	int rc = log_message(log, node, &arena, &message, &error);
	if (rc)
		print_message("%s\n", error.message);
	assert_int_equal(rc, 0);
	message_add_text(&message, &arena, &out);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data ? out.data : "");
	buffer_release(&out);
	arena_release(&arena);
	return text;
}

uint32_t node_of(struct log *log, const char *id)
{
	uint32_t node = NODE_NONE;

	assert_int_equal(log_find(log, slice_of(id), &node, NULL), 0);
	return node;
}

size_t count_faults(const struct log *log, enum fault_kind kind)
{
	size_t count, found = 0;
	const struct log_fault *faults = log_faults(log, &count);

	for (size_t i = 0; i < count; i++)
		found += faults[i].kind == kind;
	return found;
}
