/* SPDX-License-Identifier: MIT */
/* Index files: with one, without one, with a damaged, foreign or outdated one, and while one is taken away,
 * every answer is the same. */
#include "store/index_file.h"
#include "store/log_internal.h"
#include "store/store_internal.h"
#include "store_test.h"
#include "tokens/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CALL(id) "{\"id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define MAIN_INDEX ".cache/main.index"

/* ---- Everything a log says, as one text ---- */

static void dump_nodes(struct log *log, uint32_t node, struct arena *arena, struct buffer *out)
{
	uint32_t *nodes, count;

	assert_int_equal(log_children(log, node, arena, &nodes, &count), 0);
	for (uint32_t i = 0; i < count; i++)
		buffer_addf(out, " %u", nodes[i]);
	buffer_add_text(out, "\n");
}

static void dump_node(struct log *log, uint32_t node, struct arena *arena, struct buffer *out)
{
	struct log_node entry;
	struct message message;
	char id[PATH_ID_BYTES], number[32];
	uint32_t by_id = NODE_NONE, by_number = NODE_NONE;

	assert_int_equal(log_node(log, node, &entry), 0);
	assert_int_equal(log_node_id(log, node, id, NULL), 0);
	snprintf(number, sizeof(number), "m%llu", (unsigned long long)entry.seq);
	log_find(log, slice_of(id), &by_id, NULL);
	log_find(log, slice_of(number), &by_number, NULL);
	buffer_addf(out, "node %u: %u %u %llu %d%d%d %u %u %u %llu %u %llx %s %u %u has %d line %d gap %d",
		node, entry.parent, entry.depth, (unsigned long long)entry.seq, entry.role, entry.origin,
		entry.marker, entry.flags, entry.calls, entry.level, (unsigned long long)entry.offset,
		entry.length, (unsigned long long)entry.chain, id, by_id, by_number, log_has_node(log, node),
		log_on_line(log, node, log_head(log)), log_gap(log, NODE_NONE, node));
	assert_int_equal(log_message(log, node, arena, &message, NULL), 0);
	buffer_addf(out, " %.*s children", (int)message.record.len, message.record.text);
	dump_nodes(log, node, arena, out);
}

static void dump_path(struct log *log, uint32_t head, struct token_counter *counter, struct buffer *out)
{
	struct log_path *path;

	assert_int_equal(log_path_new(log, head, counter, &path, NULL), 0);
	const struct path *items = log_path_path(path);
	buffer_addf(out, "path to %u: %zu %llu %llu\n", head, items->count, (unsigned long long)items->tokens,
		(unsigned long long)items->bytes);
	for (size_t i = 0; i < items->count; i++) {
		struct path_item item;
		char id[PATH_ID_BYTES];
		assert_int_equal(path_item(items, i, &item, NULL), 0);
		assert_int_equal(path_id(items, i, id, NULL), 0);
		buffer_addf(out, "%s %llu %llu %u %llu %zu %zu %d %u %u\n", id,
			(unsigned long long)item.tokens_before, (unsigned long long)item.bytes_before,
			item.tokens, (unsigned long long)item.bytes, item.turn, item.round, item.role,
			item.calls, log_path_node(path, i, true));
	}
	log_path_free(path);
}

static void dump_records(struct log *log, struct buffer *out)
{
	size_t count;
	const struct log_fault *faults = log_faults(log, &count);

	for (uint32_t i = 0; i < log_record_count(log); i++) {
		struct log_record record;
		assert_int_equal(log_record(log, i, &record), 0);
		buffer_addf(out, "record %u: %d %llu %llu %u %u %u %u\n", i, record.kind,
			(unsigned long long)record.seq, (unsigned long long)record.offset, record.length,
			record.node, record.head, record.previous);
	}
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		buffer_addf(out, "newest %u\n", log_newest(log, (enum record_kind)kind));
	for (size_t i = 0; i < count; i++)
		buffer_addf(out, "fault %d %llu %llu %llu\n", faults[i].kind,
			(unsigned long long)faults[i].line, (unsigned long long)faults[i].offset,
			(unsigned long long)faults[i].length);
	buffer_addf(out, "%llu faults\n", (unsigned long long)log_fault_total(log));
}

/* For the caller to free. */
static char *dump(struct log *log)
{
	const struct log_info *info = log_info(log);
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);
	struct arena arena = ARENA_INIT;
	struct token_counter counter;

	token_counter_for_model("claude-x", &counter);
	buffer_addf(&out, "%s %s %s %s %llu %s %s %s %llu %llu head %u of %u\n", info->id, info->owner,
		info->title, info->created, (unsigned long long)info->version, info->parent_id, info->base_id,
		info->through, (unsigned long long)info->forked_at, (unsigned long long)info->parent_end,
		log_head(log), log_node_count(log));
	for (uint32_t node = 0; node < log_node_count(log); node++)
		dump_node(log, node, &arena, &out);
	dump_nodes(log, NODE_NONE, &arena, &out);
	dump_records(log, &out);
	dump_path(log, log_head(log), NULL, &out);
	dump_path(log, log_head(log), &counter, &out);
	token_counter_release(&counter);
	arena_release(&arena);
	char *text = strdup(buffer_slice(&out).data);
	buffer_release(&out);
	assert_non_null(text);
	return text;
}

static void assert_dump(struct log *log, const char *expected)
{
	char *found = dump(log);
	if (strcmp(found, expected) != 0) {
		size_t at = 0;
		while (found[at] == expected[at])
			at++;
		while (at > 0 && found[at - 1] != '\n')
			at--;
		print_message("is      %.200s\nmust be %.200s\n", found + at, expected + at);
	}
	assert_string_equal(found, expected);
	free(found);
}

/* ---- Sessions to ask ---- */

/* One of everything. */
static void talk(struct log *log, const char *name)
{
	char record[256];

	say(log, "user", "hello");
	snprintf(record, sizeof(record),
		"{\"role\":\"assistant\",\"content\":\"a\",\"id\":\"%s-long-enough-id\"}", name);
	add(log, record);
	say(log, "user", "a\\nquestion");
	add(log, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" CALL("c1") "," CALL("c2") "]}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"gone\",\"marker\":"
		 "\"interrupted\"}");
	add(log, "{\"type\":\"usage\",\"for\":\"m1\",\"kind\":\"chat\"}");
	say(log, "assistant", "an answer");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"late\"}");
	log_set_title(log, slice_of(name), NULL);
	log_rewind(log, slice_of("m1"), NULL, NULL);
	say(log, "user", "otherwise");
	add(log, "{\"type\":\"run\",\"run\":\"r\"}");
	add(log, "{\"role\":\"user\",\"content\":\"root\",\"parent\":null,\"branch\":true}");
	say(log, "assistant", "leaf");
}

static void damage_end(struct world *world, const char *name)
{
	static const char LINE[] =
		"{\"role\":\"user\",\"cont\n{\"role\":\"user\",\"content\":\"x\",\"parent\":\"no\"}\n";
	scratch_append(world->dir, name, LINE, sizeof(LINE) - 1);
}

static struct log *fork_of(struct log *log, const char *id, const char *at)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *child;
	options.at = slice_of(at);
	options.create.id = slice_of(id);
	assert_int_equal(log_fork(log, &options, NULL, &child, NULL), 0);
	return child;
}

/* main, a fork of it and one of that, all with index files. */
static void make_family(struct world *world)
{
	struct log *log = world_create(world, "main");
	talk(log, "main");
	damage_end(world, "main.jsonl");
	for (int i = 0; i < 3; i++)
		talk(log, i == 0 ? "x" : i == 1 ? "y" : "z");
	struct log *child = fork_of(log, "child", "y-long-enough-id");
	talk(child, "child");
	struct log *grandchild = fork_of(child, "grandchild", "child-long-enough-id");
	talk(grandchild, "grandchild");
	say(log, "user", "after the fork");
	log_close(grandchild);
	log_close(child);
	log_close(log);
	world_stop_indexing(world);
}

static const char *const FAMILY[] = {"main", "child", "grandchild"};

static void remove_indexes(struct world *world)
{
	for (size_t i = 0; i < 3; i++) {
		char name[64];
		snprintf(name, sizeof(name), ".cache/%s.index", FAMILY[i]);
		unlink(scratch_path(world->dir, name));
	}
}

static bool has_index(const struct log *log)
{
	return log->index.prefix != NULL;
}

/* ---- Tests ---- */

static void index__answers_as_the_log_does(void **state)
{
	(void)state;
	struct world world;
	char *with[3];
	world_open_indexed(&world);
	make_family(&world);
	for (size_t i = 0; i < 3; i++) {
		struct log *log = world_log(&world, FAMILY[i], LOG_READ);
		assert_true(has_index(log));
		assert_int_equal(log->index.state.node_count, log->index.first_node);
		assert_true(i == 0 || has_index(log->base));
		with[i] = dump(log);
		log_close(log);
	}
	remove_indexes(&world);
	for (size_t i = 0; i < 3; i++) {
		struct log *log = world_log(&world, FAMILY[i], LOG_READ);
		assert_false(has_index(log));
		assert_dump(log, with[i]);
		log_close(log);
		free(with[i]);
	}
	world_close(&world);
}

/* A handle goes on from an index as from the log: what it appends and what others append. */
static void index__is_gone_on_from(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	make_family(&world);
	struct log *log = world_log(&world, "main", LOG_WRITE), *reader = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	add(log, "{\"role\":\"user\",\"content\":\"edit\",\"parent\":\"m3\",\"branch\":true}");
	talk(log, "more");
	struct bobbin_error error = {0};
	assert_int_equal(
		try_add(log, "{\"role\":\"user\",\"content\":\"other\",\"id\":\"main-long-enough-id\"}",
			&error),
		BOBBIN_EEXIST);
	assert_int_equal(log_refresh(reader, NULL), 0);
	char *expected = dump(log);
	assert_dump(reader, expected);
	log_close(reader);
	log_close(log);
	remove_indexes(&world);
	log = world_log(&world, "main", LOG_READ);
	assert_dump(log, expected);
	log_close(log);
	free(expected);
	world_close(&world);
}

/* Hundreds of chunks: lists of chunks that are full, runs that were merged. */
static void index__of_many_chunks(void **state)
{
	(void)state;
	struct world world;
	char record[256];
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	for (int i = 0; i < 450; i++) {
		snprintf(record, sizeof(record),
			"{\"role\":\"user\",\"content\":\"%d\",\"id\":\"client-%d\"%s}", i, i,
			i % 7 == 3 ? ",\"parent\":\"client-2\"" : "");
		add(log, record);
		if (i % 50 == 0)
			add(log, "{\"type\":\"usage\",\"for\":\"m1\"}");
	}
	log_close(log);
	world_stop_indexing(&world);
	log = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	const struct index_trailer *trailer = index_file_trailer(log->index.prefix->file);
	assert_true(trailer->leaf_count >= 3);
	assert_true(trailer->run_count < 16);
	char *with = dump(log);
	log_close(log);
	remove_indexes(&world);
	log = world_log(&world, "main", LOG_READ);
	assert_dump(log, with);
	log_close(log);
	free(with);
	world_close(&world);
}

/* A small one, for what is tried at every byte. */
static char *make_small(struct world *world, char **ret_index, size_t *ret_len)
{
	world_open_indexed(world);
	struct log *log = world_create(world, "main");
	say(log, "user", "hello");
	add(log,
		"{\"role\":\"assistant\",\"content\":\"\",\"id\":\"an-id\",\"tool_calls\":[" CALL("c1") "]}");
	log_rewind(log, slice_of("m1"), NULL, NULL);
	damage_end(world, "main.jsonl");
	say(log, "assistant", "end");
	char *expected = dump(log);
	log_close(log);
	world_stop_indexing(world);
	*ret_index = scratch_read(world->dir, MAIN_INDEX, ret_len);
	assert_non_null(*ret_index);
	return expected;
}

static void index__truncated_at_every_byte(void **state)
{
	(void)state;
	struct world world;
	size_t size, used = 0;
	char *index, *expected = make_small(&world, &index, &size);
	for (size_t len = 0; len <= size; len += len % 512 < 40 || len % 512 > 480 ? 1 : 7) {
		scratch_write(world.dir, MAIN_INDEX, index, len);
		struct log *log = world_log(&world, "main", LOG_READ);
		used += has_index(log);
		assert_dump(log, expected);
		log_close(log);
	}
	assert_true(used > 0);
	/* What a writer that was killed left behind the newest trailer is passed over. */
	char *torn = calloc(1, size + 5000);
	assert_non_null(torn);
	memcpy(torn, index, size);
	memcpy(torn + size, index, size < 5000 ? size / 2 : 2500);
	scratch_write(world.dir, MAIN_INDEX, torn, size + 5000);
	free(torn);
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	assert_dump(log, expected);
	log_close(log);
	free(index);
	free(expected);
	world_close(&world);
}

static void index__any_bit_flipped(void **state)
{
	(void)state;
	struct world world;
	size_t size;
	char *index, *expected = make_small(&world, &index, &size);
	for (size_t at = 0; at < size; at++) {
		char *copy = malloc(size);
		assert_non_null(copy);
		memcpy(copy, index, size);
		copy[at] ^= (char)(1 << at % 8);
		scratch_write(world.dir, MAIN_INDEX, copy, size);
		free(copy);
		struct log *log = world_log(&world, "main", LOG_READ);
		assert_dump(log, expected);
		log_close(log);
	}
	free(index);
	free(expected);
	world_close(&world);
}

enum { TRUNCATED, FLIPPED, DELETED, SWAPPED, EMPTIED, HARMS };

static void harm(struct world *world, const char *index, size_t len, int how)
{
	int file = open(scratch_path(world->dir, MAIN_INDEX), O_RDWR);
	char *copy = malloc(len);
	assert_true(file >= 0);
	assert_non_null(copy);
	for (size_t i = 0; i < len; i++)
		copy[i] = (char)~index[i];
	switch (how) {
	case TRUNCATED:
		assert_int_equal(ftruncate(file, (off_t)len / 3), 0);
		break;
	case FLIPPED:
		assert_int_equal(pwrite(file, copy, len, 0), (ssize_t)len);
		break;
	case DELETED:
		unlink(scratch_path(world->dir, MAIN_INDEX));
		break;
	case SWAPPED:
		rename(scratch_path(world->dir, ".cache/child.index"), scratch_path(world->dir, MAIN_INDEX));
		break;
	default:
		assert_int_equal(ftruncate(file, 0), 0);
	}
	free(copy);
	close(file);
}

/* Nothing of the file was looked at but its trailer when it goes. */
static void index__taken_away_while_it_is_used(void **state)
{
	(void)state;
	for (int how = 0; how < HARMS; how++) {
		struct world world;
		size_t len;
		char *expected[3];
		world_open_indexed(&world);
		make_family(&world);
		char *index = scratch_read(world.dir, MAIN_INDEX, &len);
		for (size_t i = 0; i < 3; i++) {
			struct log *log = world_log(&world, FAMILY[i], LOG_READ);
			expected[i] = dump(log);
			log_close(log);
		}
		struct log *logs[3];
		for (size_t i = 0; i < 3; i++)
			logs[i] = world_log(&world, FAMILY[i], i == 0 ? LOG_WRITE : LOG_READ);
		harm(&world, index, len, how);
		for (size_t i = 0; i < 3; i++)
			assert_dump(logs[i], expected[i]);
		/* Appending goes on, and opening anew sees the same. */
		say(logs[0], "user", "on");
		for (size_t i = 0; i < 3; i++) {
			struct log *log = world_log(&world, FAMILY[i], LOG_READ);
			char *found = dump(logs[i]);
			assert_dump(log, found);
			free(found);
			log_close(log);
			log_close(logs[i]);
			free(expected[i]);
		}
		free(index);
		world_close(&world);
	}
}

/* Of another session, of an older log of that name, of a copy, of a log that was touched or cut. */
static void index__of_another_log_is_not_used(void **state)
{
	(void)state;
	struct world world;
	size_t len, log_len;
	char *index, *expected = make_small(&world, &index, &len);
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	log_close(log);
	/* Another inode, as cp and rsync make it. */
	char *text = scratch_read(world.dir, "main.jsonl", &log_len);
	unlink(scratch_path(world.dir, "main.jsonl"));
	scratch_write(world.dir, "copy", text, log_len); /* takes the inode */
	scratch_write(world.dir, "main.jsonl", text, log_len);
	chmod(scratch_path(world.dir, "main.jsonl"), 0600);
	log = world_log(&world, "main", LOG_READ);
	assert_false(has_index(log));
	assert_dump(log, expected);
	log_close(log);
	/* Another session's. */
	scratch_write(world.dir, ".cache/other.index", index, len);
	scratch_write(world.dir, "other.jsonl", text, log_len);
	chmod(scratch_path(world.dir, "other.jsonl"), 0600);
	log = world_log(&world, "other", LOG_READ);
	assert_false(has_index(log));
	log_close(log);
	free(text);
	free(index);
	free(expected);
	world_close(&world);
}

static void index__of_a_log_that_was_changed_in_place(void **state)
{
	(void)state;
	struct world world;
	size_t len;
	char *index, *expected = make_small(&world, &index, &len);
	const char *path = scratch_path(world.dir, "main.jsonl");
	struct timespec times[2] = {{0, UTIME_OMIT}, {1000, 0}};
	/* The same length, the same end: its time tells. */
	int file = open(path, O_RDWR);
	assert_true(file >= 0);
	char *text = scratch_read(world.dir, "main.jsonl", NULL);
	assert_int_equal(pwrite(file, "HELLO", 5, strstr(text, "hello") - text), 5);
	free(text);
	assert_int_equal(futimens(file, times), 0);
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_false(has_index(log));
	assert_int_equal(count_faults(log, FAULT_CRC), 1);
	assert_string_equal(text_of(log, node_of(log, "m1")), "HELLO");
	log_close(log);
	/* Cut to what it covers less one record: there is less than the index says. */
	assert_int_equal(ftruncate(file, 200), 0);
	close(file);
	log = world_log(&world, "main", LOG_READ);
	assert_false(has_index(log));
	log_close(log);
	free(index);
	free(expected);
	world_close(&world);
}

/* Changed in the middle, then grown: only reading the record shows it. It is an error once, and then right.
 */
static void index__is_given_up_when_a_record_is_not_what_it_says(void **state)
{
	(void)state;
	struct world world;
	struct arena arena = ARENA_INIT;
	struct message message;
	size_t len, log_len;
	char *index, *expected = make_small(&world, &index, &len);
	char *text = scratch_read(world.dir, "main.jsonl", &log_len);
	/* Beyond the edges that are compared. */
	struct log *log = world_log(&world, "main", LOG_WRITE);
	char *filler = malloc(20001);
	assert_non_null(filler);
	memset(filler, 'x', 20000);
	memcpy(filler, "{\"role\":\"user\",\"content\":\"", 26);
	memcpy(filler + 19998, "\"}", 3);
	for (int i = 0; i < 30; i++)
		add(log, filler);
	log_close(log);
	free(filler);
	log = world_log(&world, "main", LOG_READ);
	assert_true(log->index.first_node > 10);
	uint64_t offset = log->index.prefix ? index_node(&log->index, 5).offset : 0;
	log_close(log);
	int file = open(scratch_path(world.dir, "main.jsonl"), O_RDWR);
	assert_int_equal(pwrite(file, "yyyy", 4, (off_t)offset + 1000), 4);
	close(file);
	static const char LINE[] = "{\"role\":\"user\",\"content\":\"grown\"}\n";
	scratch_append(world.dir, "main.jsonl", LINE, sizeof(LINE) - 1);
	log = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	assert_int_equal(log_message(log, 5, &arena, &message, NULL), BOBBIN_ECORRUPT);
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_int_equal(log_message(log, 5, &arena, &message, NULL), 0);
	assert_int_equal(count_faults(log, FAULT_CRC), 1);
	log_close(log);
	arena_release(&arena);
	free(text);
	free(index);
	free(expected);
	world_close(&world);
}

/* The log itself is cut under a handle that has yet to read its index: an error, never a crash. */
static void index__log_cut_and_index_gone(void **state)
{
	(void)state;
	struct world world;
	size_t len;
	char *index, *expected = make_small(&world, &index, &len);
	struct log *log = world_log(&world, "main", LOG_WRITE);
	struct log_node node;
	uint32_t found;
	assert_int_equal(truncate(scratch_path(world.dir, MAIN_INDEX), 0), 0);
	assert_int_equal(truncate(scratch_path(world.dir, "main.jsonl"), 250), 0);
	assert_int_equal(log_node(log, 0, &node), BOBBIN_ECORRUPT);
	assert_int_equal(log_find(log, slice_of("an-id"), &found, NULL), BOBBIN_ECORRUPT);
	assert_int_equal(log_refresh(log, NULL), BOBBIN_ECORRUPT);
	struct bobbin_error error = {0};
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"x\"}", &error), BOBBIN_ECORRUPT);
	log_close(log);
	free(index);
	free(expected);
	world_close(&world);
}

/* What was not synced is not in it: a crash could take it back. */
static void index__covers_only_what_was_synced(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log_create_options options = LOG_CREATE_OPTIONS_INIT;
	struct log *log;
	options.id = slice_of("main");
	options.sync = STORE_SYNC_NONE;
	assert_int_equal(log_create(world.store, &options, &log, NULL), 0);
	unlink(scratch_path(world.dir, MAIN_INDEX));
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	talk(log, "main");
	assert_int_equal(world.platform.calls[CALL_SYNC_DATA], 0);
	assert_false(scratch_exists(world.dir, MAIN_INDEX));
	log_close(log);
	/* Who opens it syncs it first; if that fails, there is none. */
	fail_platform_plan(&world.platform, CALL_SYNC_DATA, 1, EIO);
	log = world_log(&world, "main", LOG_READ);
	assert_true(world.platform.failed);
	assert_false(scratch_exists(world.dir, MAIN_INDEX));
	log_close(log);
	fail_platform_heal(&world.platform);
	/* A later sync says nothing of what that one may have lost. */
	log = world_log(&world, "main", LOG_READ);
	assert_false(scratch_exists(world.dir, MAIN_INDEX));
	log_close(log);
	unlink(scratch_path(world.dir, ".cache/main.unsynced"));
	log = world_log(&world, "main", LOG_READ);
	assert_true(scratch_exists(world.dir, MAIN_INDEX));
	log_close(log);
	world_close(&world);
}

/* Opening, asking, appending, with every allocation and every call failing once: right, or an error. */
static void index__nth_failure(void **state)
{
	(void)state;
	for (int calls = 0; calls < 2; calls++) {
		struct world world;
		size_t len;
		char *index, *expected = make_small(&world, &index, &len);
		for (uint64_t nth = 1;; nth++) {
			struct log *log = NULL;
			uint32_t node = NODE_NONE, count = 0, *nodes;
			struct arena arena = ARENA_INIT;
			char id[PATH_ID_BYTES];
			if (calls)
				fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
			else
				fail_alloc_start(nth);
			int rc = log_open(world.store, slice_of("main"), LOG_READ, &log, NULL);
			int found = rc ? rc : log_find(log, slice_of("an-id"), &node, NULL);
			int named = rc ? rc : log_node_id(log, 1, id, NULL);
			int listed = rc ? rc : log_line(log, log_head(log), &arena, &nodes, &count);
			bool failed = calls ? world.platform.failed : fail_alloc_stop().failed;
			fail_platform_heal(&world.platform);
			if (!found)
				assert_int_equal(node, 1);
			if (!named)
				assert_string_equal(id, "an-id");
			if (!listed)
				assert_int_equal(count, 3);
			if (!rc)
				assert_dump(log, expected);
			log_close(log);
			arena_release(&arena);
			if (!failed) {
				assert_int_equal(rc | found | named | listed, 0);
				break;
			}
		}
		free(index);
		free(expected);
		world_close(&world);
	}
}

/* The same for those who write it: an append is as good without it. */
static void index__nth_failure_while_it_is_written(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	for (int i = 0; i < 20; i++)
		say(log, "user", "hello");
	for (uint64_t nth = 1;; nth++) {
		uint64_t before = log_node_count(log);
		fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
		struct slice record = slice_of("{\"role\":\"user\",\"content\":\"x\"}");
		int rc = log_append(log, &record, 1, NULL, NULL, NULL);
		bool failed = world.platform.failed;
		fail_platform_heal(&world.platform);
		if (!rc)
			assert_int_equal(log_node_count(log), before + 1);
		if (rc) {
			log_close(log);
			log = world_log(&world, "main", LOG_WRITE);
		}
		char *expected = dump(log);
		struct log *other = world_log(&world, "main", LOG_READ);
		assert_dump(other, expected);
		free(expected);
		log_close(other);
		if (!failed)
			break;
	}
	log_close(log);
	world_close(&world);
}

/* What another one wrote is taken in while neither the index file nor the log can be read any more: the depth, the sums and
 * the number of a message come from its parent's entry. Nothing of that stays once reading works again. */
static void index__read_on_while_nothing_can_be_read(void **state)
{
	(void)state;
	struct world world;
	uint64_t tried = 0;

	world_open_indexed(&world);
	struct log *first = world_create(&world, "main");
	talk(first, "main");
	log_close(first);
	for (uint64_t nth = 1;; nth++) {
		struct log *log = world_log(&world, "main", LOG_WRITE), *other = world_log(&world, "main", LOG_WRITE);
		struct slice record = slice_of("{\"role\":\"user\",\"content\":\"x\"}");
		assert_true(has_index(log));
		add(other, "{\"role\":\"assistant\",\"content\":\"under another\",\"parent\":\"m3\",\"branch\":true}");
		log_close(other);
		fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
		world.platform.fail_after = true;
		int rc = nth % 2 ? log_append(log, &record, 1, NULL, NULL, NULL) : log_refresh(log, NULL);
		bool failed = world.platform.failed;
		fail_platform_heal(&world.platform);
		tried += failed;
		if (log->sync_failed || log->broken) {
			log_close(log);
			log = world_log(&world, "main", LOG_WRITE);
		}
		assert_int_equal(log_append(log, &record, 1, NULL, NULL, NULL), 0);
		char *found = dump(log);
		log_close(log);
		unlink(scratch_path(world.dir, MAIN_INDEX));
		struct log *fresh = world_log(&world, "main", LOG_READ);
		assert_dump(fresh, found);
		log_close(fresh);
		free(found);
		if (!failed && rc == 0 && nth % 2)
			break;
	}
	assert_true(tried > 8);
	world_close(&world);
}

/* The kernel may have forgotten what a failed sync could not write: nobody covers it, also after syncs that
 * work. */
static void index__stops_where_a_sync_failed(void **state)
{
	(void)state;
	struct world world;
	struct bobbin_error error = {0};
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main"), *other = world_log(&world, "main", LOG_WRITE);
	say(log, "user", "synced");
	fail_platform_plan(&world.platform, CALL_SYNC_DATA, 1, EIO);
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"lost?\"}", &error), BOBBIN_EUNKNOWN);
	fail_platform_heal(&world.platform);
	say(other, "user", "after");
	char *expected = dump(other);
	log_close(other);
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	assert_int_equal(log->index.first_node, 1);
	assert_dump(log, expected);
	log_close(log);
	free(expected);
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), 0);
	assert_false(scratch_exists(world.dir, ".cache/main.unsynced"));
	world_close(&world);
}

/* A sync that fails, and somebody who opens the log before that is known to anybody but the kernel. */
static const struct world *lost_world;

static int lose_while_it_is_opened(void *context, int file)
{
	struct world other = {0};
	(void)context;
	(void)file;
	struct store_options options = {.index_step = 1};
	assert_int_equal(store_open(platform_default(), lost_world->dir, &options, &other.store, NULL), 0);
	struct log *log = world_log(&other, "main", LOG_READ);
	assert_int_equal(log_node_count(log), 2);
	log_close(log);
	store_close(other.store);
	return -EIO;
}

static void index__opened_between_a_failed_sync_and_its_mark(void **state)
{
	(void)state;
	struct world world;
	struct bobbin_error error = {0};
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	say(log, "user", "synced");
	int (*sync_data)(void *, int) = world.platform.table.sync_data;
	lost_world = &world;
	world.platform.table.sync_data = lose_while_it_is_opened;
	assert_int_equal(try_add(log, "{\"role\":\"user\",\"content\":\"lost?\"}", &error), BOBBIN_EUNKNOWN);
	world.platform.table.sync_data = sync_data;
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_true(has_index(log));
	assert_int_equal(log->index.first_node, 1);
	log_close(log);
	world_close(&world);
}

static void index__deleted_with_its_session(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	talk(log, "main");
	log_close(log);
	assert_true(scratch_exists(world.dir, MAIN_INDEX));
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), 0);
	assert_false(scratch_exists(world.dir, MAIN_INDEX));
	world_close(&world);
}

/* ---- Lists ---- */

static char *dump_list(struct world *world)
{
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	struct buffer out = BUFFER_INIT(SIZE_MAX - 1);
	size_t count;

	assert_int_equal(store_list(world->store, NULL, &arena, &entries, &count, NULL), 0);
	for (size_t i = 0; i < count; i++)
		buffer_addf(&out, "%s %s %s %s %llu %llu %d %llu %llu %d\n", entries[i].id, entries[i].owner,
			entries[i].title, entries[i].parent_id, (unsigned long long)entries[i].forked_at,
			(unsigned long long)entries[i].messages, entries[i].messages_exact,
			(unsigned long long)entries[i].last_seq, (unsigned long long)entries[i].bytes,
			entries[i].damaged);
	arena_release(&arena);
	char *text = strdup(buffer_slice(&out).data);
	buffer_release(&out);
	return text;
}

static void assert_list(struct world *world, const char *expected)
{
	char *found = dump_list(world);
	assert_string_equal(found, expected);
	free(found);
}

#define CATALOGUE ".cache/catalogue"

/* Deleted and made anew between two ticks of the clock, a log may have the inode, the size and the time of the one
 * before: what a list saw of that one must not be believed. The file system is helped a little. */
static void catalogue__does_not_keep_what_was_only_just_written(void **state)
{
	(void)state;
	struct world world;
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	struct timespec stamps[2];
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	struct log *log;
	size_t count;

	world_open(&world, STORE_SYNC_NONE);
	world.store->catalogue_step = 1;
	create.id = slice_of("main");
	for (int owner = 0; owner < 2; owner++) {
		create.owner = slice_of(owner ? "ben" : "ana");
		assert_int_equal(log_create(world.store, &create, &log, NULL), 0);
		log_close(log);
		if (owner == 0)
			clock_gettime(CLOCK_REALTIME, &stamps[0]);
		stamps[1] = stamps[0]; /* the same tick */
		assert_int_equal(utimensat(AT_FDCWD, scratch_path(world.dir, "main.jsonl"), stamps, 0), 0);
		assert_int_equal(store_list(world.store, NULL, &arena, &entries, &count, NULL), 0);
		assert_int_equal(count, 1);
		assert_string_equal(entries[0].owner, owner ? "ben" : "ana");
		if (owner == 0)
			assert_int_equal(store_delete(world.store, slice_of("main"), NULL), 0);
	}
	arena_release(&arena);
	world_close(&world);
}

/* With a catalogue, without, with a damaged one, and after a log has changed: the same list. */
static void catalogue__lists_what_the_logs_say(void **state)
{
	(void)state;
	struct world world;
	char id[32];
	size_t len;
	world_open(&world, STORE_SYNC_NONE);
	for (int i = 0; i < 80; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		struct log *log = world_create(&world, id);
		for (int j = 0; j <= i % 3; j++)
			say(log, "user", "hello");
		log_set_title(log, slice_of(id), NULL);
		log_close(log);
	}
	world_write(&world, "by-hand.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
	usleep(STORE_STAMP_TICK_NS / 1000 + 10000); /* what was only just written is not kept */
	char *expected = dump_list(&world);
	char *catalogue = scratch_read(world.dir, CATALOGUE, &len);
	assert_non_null(catalogue);
	fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
	assert_list(&world, expected);
	assert_true(world.platform.calls[CALL_OPEN] < 20); /* the logs were not opened */
	for (size_t cut = 0; cut < len; cut += 97) {
		scratch_write(world.dir, CATALOGUE, catalogue, cut);
		assert_list(&world, expected);
	}
	for (size_t at = 0; at < len; at += 31) {
		catalogue[at] ^= 4;
		scratch_write(world.dir, CATALOGUE, catalogue, len);
		catalogue[at] ^= 4;
		assert_list(&world, expected);
	}
	scratch_write(world.dir, CATALOGUE, catalogue, len);
	free(expected);
	/* One grows, one goes, one is new, one is another of the same name. */
	struct log *log = world_log(&world, "s1", LOG_WRITE);
	say(log, "assistant", "more");
	log_close(log);
	assert_int_equal(store_delete(world.store, slice_of("s2"), NULL), 0);
	assert_int_equal(store_delete(world.store, slice_of("s3"), NULL), 0);
	log_close(world_create(&world, "s3"));
	log_close(world_create(&world, "new"));
	char *with = dump_list(&world);
	unlink(scratch_path(world.dir, CATALOGUE));
	assert_list(&world, with);
	assert_non_null(strstr(with, "new ana"));
	assert_null(strstr(with, "\ns2 "));
	free(with);
	free(catalogue);
	world_close(&world);
}

static void make_owned(struct world *world, const char *owner)
{
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	struct log *log;

	create.id = slice_of("main");
	create.owner = slice_of(owner);
	assert_int_equal(log_create(world->store, &create, &log, NULL), 0);
	say(log, "user", "hello");
	log_close(log);
}

static void assert_owner(struct world *world, const char *owner)
{
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count;

	assert_int_equal(store_list(world->store, NULL, &arena, &entries, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_string_equal(entries[0].owner, owner);
	arena_release(&arena);
}

/* Another log of the same length in the place of one that the catalogue has: with another time where that was, or as another
 * file that has its time. */
static void catalogue__is_not_believed_of_another_log(void **state)
{
	(void)state;

	for (int another_file = 0; another_file < 2; another_file++) {
		struct timespec long_ago[2] = {{1000000000, 0}, {1000000000, 0}};
		struct world world;
		size_t ben_len, ana_len;
		world_open(&world, STORE_SYNC_NONE);
		world.store->catalogue_step = 1;
		fail_platform_set_time(&world.platform, INT64_C(2000000000000000000), 0);
		make_owned(&world, "ben");
		char *ben = scratch_read(world.dir, "main.jsonl", &ben_len);
		assert_int_equal(store_delete(world.store, slice_of("main"), NULL), 0);
		make_owned(&world, "ana");
		free(scratch_read(world.dir, "main.jsonl", &ana_len));
		assert_int_equal(ana_len, ben_len);
		assert_int_equal(utimensat(AT_FDCWD, scratch_path(world.dir, "main.jsonl"), long_ago, 0), 0);
		assert_owner(&world, "ana");
		assert_true(scratch_exists(world.dir, CATALOGUE));
		assert_owner(&world, "ana");
		scratch_write(world.dir, another_file ? "other" : "main.jsonl", ben, ben_len);
		if (another_file)
			assert_int_equal(rename(scratch_path(world.dir, "other"), scratch_path(world.dir, "main.jsonl")), 0);
		long_ago[1].tv_sec += !another_file;
		assert_int_equal(utimensat(AT_FDCWD, scratch_path(world.dir, "main.jsonl"), long_ago, 0), 0);
		assert_owner(&world, "ben");
		free(ben);
		world_close(&world);
	}
}

/* ---- Logs that somebody changed --------------------------------------------------------------------------- */

/* Overwrites the first `from` in a log by as many bytes; at another time than anything before. */
static void overwrite(struct world *world, const char *name, const char *from, const char *to)
{
	const char *path = scratch_path(world->dir, name);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1893456000}};
	static char bytes[1 << 17];
	int file = open(path, O_RDWR);
	ssize_t size = pread(file, bytes, sizeof(bytes), 0);

	assert_true(size > 0 && size < (ssize_t)sizeof(bytes) && strlen(from) == strlen(to));
	const char *at = memmem(bytes, (size_t)size, from, strlen(from));
	assert_non_null(at);
	assert_int_equal(pwrite(file, to, strlen(to), at - bytes), (ssize_t)strlen(to));
	assert_int_equal(futimens(file, times), 0);
	close(file);
}

static void fill(struct log *log)
{
	char text[700];

	for (int i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "number %02d %0600d", i, 0);
		say(log, i % 2 ? "assistant" : "user", text);
	}
}

/* What is said with the index that is there must be what the log says. */
static void assert_index_is_not_believed(struct world *world, const char *id)
{
	struct log *log = world_log(world, id, LOG_READ);
	char *said = dump(log);

	log_close(log);
	store_forget_caches(world->store, id);
	log = world_log(world, id, LOG_READ);
	assert_dump(log, said);
	log_close(log);
	free(said);
}

static void index__a_log_changed_in_its_middle_is_read_again(void **state)
{
	(void)state;
	struct world world;

	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	fill(log);
	log_close(log);
	world_stop_indexing(&world);
	overwrite(&world, "main.jsonl", "number 30", "number 99");
	assert_index_is_not_believed(&world, "main");
	world_close(&world);
}

static void index__a_log_changed_at_either_end_and_grown_is_read_again(void **state)
{
	(void)state;
	static const char *const places[] = {"number 01", "number 59"};

	for (size_t i = 0; i < 2; i++) {
		struct world world;
		world_open_indexed(&world);
		struct log *log = world_create(&world, "main");
		fill(log);
		log_close(log);
		world_stop_indexing(&world);
		overwrite(&world, "main.jsonl", places[i], "number 99");
		scratch_append(world.dir, "main.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n", 31);
		assert_index_is_not_believed(&world, "main");
		world_close(&world);
	}
}

/* A fork that only says of how many messages it began with: those of another parent of the same length are others. */
static void index__a_fork_whose_unpinned_parent_is_another_is_read_again(void **state)
{
	(void)state;
	struct world world;

	world_open_indexed(&world);
	world_write(&world, "parent.jsonl", "{\"role\":\"user\",\"content\":\"one\"}\n{\"role\":\"assistant\",\"content\":\"two\"}\n");
	world_write(&world, "child.meta.json", "{\"id\":\"child\",\"parentId\":\"parent\",\"forkedAt\":2}");
	world_write(&world, "child.jsonl", "{\"role\":\"user\",\"content\":\"three\"}\n");
	log_close(world_log(&world, "child", LOG_READ));
	struct file_info info;
	assert_int_equal(world.platform.table.info_at(world.platform.table.context, store_dir(world.store),
				 ".cache/child.index", &info), 0);
	world_stop_indexing(&world);
	overwrite(&world, "parent.jsonl", "two", "TWO");
	assert_index_is_not_believed(&world, "child");
	world_close(&world);
}

/* A copy that keeps the times, as a restored one does, is another file. */
static void index__a_changed_copy_with_the_time_of_the_log_is_read_again(void **state)
{
	(void)state;
	struct world world;
	struct stat was;
	size_t len;

	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	fill(log);
	log_close(log);
	world_stop_indexing(&world);
	assert_int_equal(stat(scratch_path(world.dir, "main.jsonl"), &was), 0);
	char *bytes = scratch_read(world.dir, "main.jsonl", &len);
	memcpy(memmem(bytes, len, "number 30", 9), "number 99", 9);
	scratch_write(world.dir, "other", bytes, len);
	free(bytes);
	struct timespec times[2] = {was.st_atim, was.st_mtim};
	int dir = open(world.dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(utimensat(dir, "other", times, 0), 0);
	assert_int_equal(renameat(dir, "other", dir, "main.jsonl"), 0);
	close(dir);
	assert_index_is_not_believed(&world, "main");
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index__answers_as_the_log_does),
		cmocka_unit_test(index__is_gone_on_from),
		cmocka_unit_test(index__of_many_chunks),
		cmocka_unit_test(index__truncated_at_every_byte),
		cmocka_unit_test(index__any_bit_flipped),
		cmocka_unit_test(index__taken_away_while_it_is_used),
		cmocka_unit_test(index__a_log_changed_in_its_middle_is_read_again),
		cmocka_unit_test(index__a_log_changed_at_either_end_and_grown_is_read_again),
		cmocka_unit_test(index__a_changed_copy_with_the_time_of_the_log_is_read_again),
		cmocka_unit_test(index__a_fork_whose_unpinned_parent_is_another_is_read_again),
		cmocka_unit_test(index__of_another_log_is_not_used),
		cmocka_unit_test(index__of_a_log_that_was_changed_in_place),
		cmocka_unit_test(index__is_given_up_when_a_record_is_not_what_it_says),
		cmocka_unit_test(index__log_cut_and_index_gone),
		cmocka_unit_test(index__covers_only_what_was_synced),
		cmocka_unit_test(index__nth_failure),
		cmocka_unit_test(index__nth_failure_while_it_is_written),
		cmocka_unit_test(index__read_on_while_nothing_can_be_read),
		cmocka_unit_test(index__stops_where_a_sync_failed),
		cmocka_unit_test(index__opened_between_a_failed_sync_and_its_mark),
		cmocka_unit_test(index__deleted_with_its_session),
		cmocka_unit_test(catalogue__lists_what_the_logs_say),
		cmocka_unit_test(catalogue__is_not_believed_of_another_log),
		cmocka_unit_test(catalogue__does_not_keep_what_was_only_just_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
