/* SPDX-License-Identifier: MIT */
/* Exact counts along lines, and the file that keeps them: whatever becomes of it, sums are those that a look at
 * every message gives. */
#include "store/check.h"
#include "store/log_internal.h"
#include "store/token_sums.h"
#include "store_test.h"
#include "tokens/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* An exact counter of that name that needs no rank file: what it counts is a function of the text all the same. */
static struct token_counter counter_named(const char *name, const char *model)
{
	struct token_counter counter;

	assert_true(token_counter_for_encoding("estimate", &counter));
	counter.name = name;
	counter.exact = true;
	counter.facts = model_facts(model);
	return counter;
}

#define SUMS(id) ".cache/" id ".o200k_base.tokens"
#define CALL(id) "{\"id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define MANY 40 /* as many messages are written at once; fewer are counted again */
/* A picture of 1 x 1, whose price depends on the model. */
#define IMAGE                                                                                                \
	"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":"          \
	"\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=\"}}"

/* The line as a path, or the error. */
static int try_line(struct log *log, uint32_t head, const char *name, const char *model, uint64_t *ret_tokens)
{
	struct token_counter counter = counter_named(name, model);
	struct log_path *path;
	int rc = log_path_new(log, head, &counter, &path, NULL);

	if (!rc) {
		assert_true(log_path_path(path)->exact);
		*ret_tokens = log_path_path(path)->tokens;
		log_path_free(path);
	}
	token_counter_release(&counter);
	return rc;
}

static uint64_t tokens_of_line(struct log *log, uint32_t head)
{
	uint64_t tokens;
	assert_int_equal(try_line(log, head, "o200k_base", "gpt-4o", &tokens), 0);
	return tokens;
}

/* Each item of the line by a look at its message, and nothing else. */
static void assert_line(struct log *log, uint32_t head, const char *name, const char *model)
{
	struct token_counter counter = counter_named(name, model);
	struct arena arena = ARENA_INIT;
	struct log_path *path;
	uint64_t sum = 0;

	assert_int_equal(log_path_new(log, head, &counter, &path, NULL), 0);
	const struct path *items = log_path_path(path);
	/* Backwards first: what is asked for need not have been asked for in order. */
	for (size_t i = items->count; i-- > 0;) {
		struct path_item item;
		assert_int_equal(path_item(items, i, &item, NULL), 0);
	}
	for (size_t i = 0; i < items->count; i++) {
		struct path_item item;
		struct message message;
		uint64_t tokens;
		assert_int_equal(path_item(items, i, &item, NULL), 0);
		assert_int_equal(log_message(log, log_path_node(path, i, true), &arena, &message, NULL), 0);
		assert_int_equal(message_count_tokens(&message, &arena, &counter, &tokens, NULL), 0);
		assert_int_equal(item.tokens, tokens);
		assert_int_equal(item.tokens_before, sum);
		sum += tokens;
		arena_reset(&arena);
	}
	assert_int_equal(items->tokens, sum);
	log_path_free(path);
	arena_release(&arena);
	token_counter_release(&counter);
}

static void assert_head(struct log *log)
{
	assert_line(log, log_head(log), "o200k_base", "gpt-4o");
}

/* A new file, as some file systems write what replaces an old one's content to the disk at once. */
static void write_sums(struct world *world, const char *sums, size_t len)
{
	unlink(scratch_path(world->dir, SUMS("main")));
	scratch_write(world->dir, SUMS("main"), sums, len);
	chmod(scratch_path(world->dir, SUMS("main")), 0600);
}

static void assert_session(struct world *world, const char *id)
{
	struct log *log = world_log(world, id, LOG_READ);
	assert_head(log);
	log_close(log);
}

static void say_much(struct log *log, unsigned count)
{
	char text[64];

	for (unsigned i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "message %u of %u, and %.*s", i, count, (int)(i % 23),
			"abcdefghijklmnopqrstuvwxyz");
		say(log, i % 2 ? "assistant" : "user", text);
	}
}

/* Counted and written. */
static struct log *make_counted(struct world *world, const char *id)
{
	struct log *log = world_create(world, id);
	char name[64];

	say_much(log, MANY);
	tokens_of_line(log, log_head(log));
	snprintf(name, sizeof(name), ".cache/%s.o200k_base.tokens", id);
	assert_true(scratch_exists(world->dir, name));
	return log;
}

/* Whether a fresh handle knows the sum of the line to its head without reading a message: of small sessions it reads at
 * most the files of sums, once. */
static bool knows_head(struct world *world, const char *id)
{
	struct log *log = world_log(world, id, LOG_READ);
	uint64_t most = 0;

	for (uint32_t node = 0; node < log_node_count(log); node++) {
		struct log_node entry; /* so that the index has been read */
		assert_int_equal(log_node(log, node, &entry), 0);
	}
	for (struct log *level = log; level; level = level->base) {
		struct stat info = {0};
		char name[128];
		snprintf(name, sizeof(name), ".cache/%s.o200k_base.tokens", level->id);
		stat(scratch_path(world->dir, name), &info);
		most += (uint64_t)info.st_size;
	}
	uint64_t before = world->platform.bytes_read;
	tokens_of_line(log, log_head(log));
	log_close(log);
	return world->platform.bytes_read - before <= most;
}

/* What stood on an unfinished line was counted, its writer took it back, and another message has its number. */
static void sums__of_a_message_that_was_taken_back(void **state)
{
	(void)state;
	static const char TORN[] =
		"{\"role\":\"user\",\"content\":\"a text of many more words than the other one has\"}{\"to";
	static const char OTHER[] = "{\"role\":\"user\",\"content\":\"short\"}\n";
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *writer = world_create(&world, "main");
	say(writer, "user", "hello");
	const char *path = scratch_path(world.dir, "main.jsonl");
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	scratch_append(world.dir, "main.jsonl", TORN, sizeof(TORN) - 1);
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_int_equal(log_node_count(log), 2);
	uint64_t torn = tokens_of_line(log, log_head(log));
	assert_int_equal(truncate(path, info.st_size), 0);
	scratch_append(world.dir, "main.jsonl", OTHER, sizeof(OTHER) - 1);
	assert_int_equal(log_refresh(log, NULL), 0);
	assert_int_equal(log_node_count(log), 2);
	assert_string_equal(text_of(log, 1), "short");
	assert_true(tokens_of_line(log, log_head(log)) < torn);
	assert_head(log);
	log_close(log);
	log_close(writer);
	world_close(&world);
}

/* ---- The file ---- */

static void file__is_used_by_the_next_handle(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	log_close(make_counted(&world, "main"));
	world_stop_indexing(&world);
	struct log *log = world_log(&world, "main", LOG_WRITE);
	assert_true(knows_head(&world, "main"));
	assert_head(log);
	/* A few more are counted by each; when they are as many as before, they are written, too. */
	say_much(log, 5);
	assert_false(knows_head(&world, "main"));
	assert_false(knows_head(&world, "main"));
	assert_session(&world, "main");
	say_much(log, MANY);
	assert_false(knows_head(&world, "main"));
	assert_true(knows_head(&world, "main"));
	log_close(log);
	assert_session(&world, "main");
	world_close(&world);
}

/* One long message is much, too. */
static void file__has_what_is_dear_to_count(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	char *text = malloc(70001);
	assert_non_null(text);
	memset(text, 'x', 70000);
	text[70000] = '\0';
	memcpy(text, "{\"role\":\"user\",\"content\":\"", 26);
	memcpy(text + 69998, "\"}", 2);
	add(log, text);
	free(text);
	log_close(log);
	world_stop_indexing(&world);
	assert_false(knows_head(&world, "main"));
	assert_true(knows_head(&world, "main"));
	world_close(&world);
}

/* What a handle that has just been opened reads does not grow with the session. */
static void file__is_read_where_it_is_asked(void **state)
{
	(void)state;
	uint64_t calls[2], bytes[2];
	for (unsigned i = 0; i < 2; i++) {
		unsigned count = i ? 6400 : 800;
		struct world world;
		world_open_indexed(&world);
		struct log *log = world_create(&world, "main");
		char (*texts)[64] = calloc(count, sizeof(*texts));
		struct slice *records = calloc(count, sizeof(*records));
		assert_true(texts && records);
		for (unsigned n = 0; n < count; n++)
			records[n] = (struct slice){texts[n], (size_t)snprintf(texts[n], sizeof(*texts),
								      "{\"role\":\"user\",\"content\":\"%u\"}", n)};
		assert_int_equal(log_append(log, records, count, NULL, NULL, NULL), 0);
		free(records);
		free(texts);
		tokens_of_line(log, log_head(log));
		log_close(log);
		fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
		world.platform.bytes_read = 0;
		log = world_log(&world, "main", LOG_READ);
		struct token_counter counter = counter_named("o200k_base", "gpt-4o");
		struct log_path *path;
		assert_int_equal(log_path_new(log, log_head(log), &counter, &path, NULL), 0);
		/* As a cut is looked for: by halving. */
		for (size_t low = 0, high = count; low < high;) {
			struct path_item item;
			size_t middle = low + (high - low) / 2;
			assert_int_equal(path_item(log_path_path(path), middle, &item, NULL), 0);
			low = middle + 1;
		}
		log_path_free(path);
		log_close(log);
		calls[i] = world.platform.calls[CALL_READ];
		bytes[i] = world.platform.bytes_read;
		world_close(&world);
	}
	/* Three halvings more: a block of the index and a page of the sums for each at most. */
	assert_true(calls[1] <= calls[0] + 8);
	assert_true(bytes[1] <= bytes[0] + UINT64_C(4) * (4096 + 128 * TOKEN_SUMS_ENTRY_BYTES));
}

static void file__truncated_at_every_byte(void **state)
{
	(void)state;
	struct world world;
	size_t size;
	world_open_indexed(&world);
	log_close(make_counted(&world, "main"));
	char *sums = scratch_read(world.dir, SUMS("main"), &size);
	assert_int_equal(size, TOKEN_SUMS_HEADER_BYTES + MANY * TOKEN_SUMS_ENTRY_BYTES);
	for (size_t len = 0; len <= size; len++) {
		write_sums(&world, sums, len);
		assert_session(&world, "main");
	}
	free(sums);
	world_close(&world);
}

/* Whatever a byte says, also together with others: nothing is believed but what was counted. */
static void file__any_bit_flipped(void **state)
{
	(void)state;
	struct world world;
	size_t size;
	world_open_indexed(&world);
	log_close(make_counted(&world, "main"));
	char *sums = scratch_read(world.dir, SUMS("main"), &size);
	for (size_t at = 0; at < size; at++) {
		sums[at] ^= (char)(1 << at % 8);
		write_sums(&world, sums, size);
		sums[at] ^= (char)(1 << at % 8);
		assert_session(&world, "main");
	}
	/* Entries in each other's places. */
	char entry[TOKEN_SUMS_ENTRY_BYTES], *first = sums + TOKEN_SUMS_HEADER_BYTES;
	memcpy(entry, first, sizeof(entry));
	memmove(first, first + sizeof(entry), (MANY - 1) * sizeof(entry));
	memcpy(first + (MANY - 1) * sizeof(entry), entry, sizeof(entry));
	write_sums(&world, sums, size);
	assert_session(&world, "main");
	free(sums);
	world_close(&world);
}

static void file__swapped_between_sessions(void **state)
{
	(void)state;
	struct world world;
	char one[SCRATCH_PATH_BYTES], other[SCRATCH_PATH_BYTES], third[SCRATCH_PATH_BYTES];
	world_open_indexed(&world);
	struct log *main = make_counted(&world, "main");
	struct log *rest = world_create(&world, "other");
	say(rest, "user", "first");
	say_much(rest, MANY);
	tokens_of_line(rest, log_head(rest));
	struct log *open = world_log(&world, "main", LOG_READ);
	strcpy(one, scratch_path(world.dir, SUMS("main")));
	strcpy(other, scratch_path(world.dir, SUMS("other")));
	strcpy(third, scratch_path(world.dir, ".cache/x"));
	assert_int_equal(rename(one, third) | rename(other, one) | rename(third, other), 0);
	assert_head(open);
	log_close(open);
	assert_session(&world, "main");
	assert_session(&world, "other");
	assert_head(main);
	assert_head(rest);
	/* The same content under another name is another log's, too: the header says which. */
	log_close(main);
	log_close(rest);
	assert_true(knows_head(&world, "main"));
	assert_true(knows_head(&world, "other"));
	world_close(&world);
}

/* The same name, the same inode even, and other messages. */
static void file__of_a_log_that_was_written_anew(void **state)
{
	(void)state;
	struct world world;
	size_t len;
	world_open_indexed(&world);
	log_close(make_counted(&world, "main"));
	char *text = scratch_read(world.dir, "main.jsonl", &len);
	for (char *at = text; (at = strstr(at, "message")); at++)
		memcpy(at, "m\\tsa,.", 7); /* as long, and not as many tokens */
	for (char *at = text; (at = strstr(at, ",\"crc\":\"")); at++)
		memset(at, ' ', 17);
	int file = open(scratch_path(world.dir, "main.jsonl"), O_WRONLY | O_TRUNC);
	assert_int_equal(write(file, text, len), (ssize_t)len);
	close(file);
	free(text);
	unlink(scratch_path(world.dir, ".cache/main.index"));
	assert_true(scratch_exists(world.dir, SUMS("main")));
	assert_session(&world, "main");
	world_close(&world);
}

static void file__of_another_version_is_put_aside(void **state)
{
	(void)state;
	struct world world;
	size_t size, now;
	world_open_indexed(&world);
	struct log *log = make_counted(&world, "main");
	char *sums = scratch_read(world.dir, SUMS("main"), &size);
	sums[8] ^= 1; /* the release */
	write_sums(&world, sums, size);
	assert_false(knows_head(&world, "main"));
	char *found = scratch_read(world.dir, SUMS("main"), &now);
	assert_int_equal(now, size);
	sums[8] ^= 1;
	assert_memory_equal(found, sums, size);
	free(found);
	free(sums);
	/* Who had the old one open goes on. */
	say_much(log, MANY);
	assert_head(log);
	log_close(log);
	assert_session(&world, "main");
	world_close(&world);
}

static void file__of_each_encoding(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = make_counted(&world, "main");
	assert_line(log, log_head(log), "cl100k_base", "gpt-4");
	assert_true(scratch_exists(world.dir, ".cache/main.cl100k_base.tokens"));
	log_close(log);
	/* One in the place of the other. */
	rename(scratch_path(world.dir, ".cache/main.cl100k_base.tokens"), scratch_path(world.dir, SUMS("main")));
	assert_session(&world, "main");
	world_close(&world);
}

/* Models of one encoding share what is text; a picture costs each its own. */
static void file__pictures_by_each_models_rule(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = make_counted(&world, "main");
	uint64_t low, high;
	add(log, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"look\"}," IMAGE "]}");
	say_much(log, MANY);
	for (int round = 0; round < 2; round++) {
		uint32_t head = log_head(log);
		assert_int_equal(try_line(log, head, "o200k_base", "gpt-4o", &low), 0);
		assert_int_equal(try_line(log, head, "o200k_base", "gpt-4o-mini", &high), 0);
		assert_true(high > low + 2000);
		assert_line(log, head, "o200k_base", "gpt-4o");
		assert_line(log, head, "o200k_base", "gpt-4o-mini");
		log_close(log);
		log = world_log(&world, "main", LOG_WRITE);
	}
	/* What stands before it is nobody's rule. */
	uint64_t before = world.platform.bytes_read;
	assert_int_equal(try_line(log, MANY - 1, "o200k_base", "o1", &low), 0);
	assert_true(world.platform.bytes_read - before < 6000);
	log_close(log);
	world_close(&world);
}

enum { DELETED, EMPTIED, CUT, NO_FOLDER, HARMS };

static void file__taken_away_while_it_is_used(void **state)
{
	(void)state;
	for (int how = 0; how < HARMS; how++) {
		struct world world;
		world_open_indexed(&world);
		struct log *log = make_counted(&world, "main");
		struct log *reader = world_log(&world, "main", LOG_READ), *late = world_log(&world, "main", LOG_READ);
		tokens_of_line(reader, log_head(reader));
		const char *path = scratch_path(world.dir, SUMS("main"));
		if (how == DELETED)
			unlink(path);
		else if (how == NO_FOLDER)
			assert_int_equal(rename(scratch_path(world.dir, ".cache"), scratch_path(world.dir, "x")), 0);
		else
			assert_int_equal(truncate(path, how == CUT ? 700 : 0), 0);
		assert_head(reader);
		assert_head(late);
		say_much(log, 2 * MANY);
		assert_head(log);
		assert_int_equal(log_refresh(reader, NULL) | log_refresh(late, NULL), 0);
		assert_head(reader);
		assert_head(late);
		log_close(reader);
		log_close(late);
		log_close(log);
		assert_session(&world, "main");
		assert_true(knows_head(&world, "main"));
		world_close(&world);
	}
}

/* ---- The tree ---- */

static void sums__along_branches_and_back(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = make_counted(&world, "main");
	for (int i = 0; i < 6; i++) {
		char to[16];
		snprintf(to, sizeof(to), "m%d", 3 + 7 * i % 30);
		assert_int_equal(log_rewind(log, slice_of(to), NULL, NULL), 0);
		assert_head(log);
		say_much(log, i % 2 ? MANY : 3);
		assert_head(log);
		assert_session(&world, "main");
	}
	/* Every message as a head, by handles that know other parts. */
	struct log *reader = world_log(&world, "main", LOG_READ);
	for (uint32_t node = 0; node < log_node_count(reader); node += 13)
		assert_line(reader, node, "o200k_base", "gpt-4o");
	log_close(reader);
	log_close(log);
	world_close(&world);
}

static void sums__with_late_results(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = make_counted(&world, "main");
	add(log, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" CALL("c1") "," CALL("c2") "]}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"}");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"gone\",\"marker\":\"interrupted\"}");
	say_much(log, MANY);
	assert_head(log);
	uint64_t marked = tokens_of_line(log, log_head(log));
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"it came late, and is long: very, very long\"}");
	assert_true(tokens_of_line(log, log_head(log)) > marked);
	assert_head(log);
	assert_session(&world, "main");
	say_much(log, MANY);
	assert_session(&world, "main");
	assert_session(&world, "main");
	log_close(log);
	world_close(&world);
}

/* A fork has a file for its own messages, and uses its ancestors' for theirs. */
static void sums__of_forks(void **state)
{
	(void)state;
	static const char *const IDS[] = {"main", "child", "grandchild"};
	struct world world;
	size_t size;
	world_open_indexed(&world);
	struct log *logs[3] = {make_counted(&world, "main")};
	for (int i = 1; i < 3; i++) {
		struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
		options.by_count = true;
		options.count = i == 1 ? MANY / 2 : MANY;
		options.create.id = slice_of(IDS[i]);
		assert_int_equal(log_fork(logs[i - 1], &options, NULL, &logs[i], NULL), 0);
		assert_head(logs[i]);
		say_much(logs[i], MANY);
		assert_head(logs[i]);
	}
	free(scratch_read(world.dir, SUMS("grandchild"), &size));
	assert_int_equal(size, TOKEN_SUMS_HEADER_BYTES + MANY * TOKEN_SUMS_ENTRY_BYTES);
	for (int i = 0; i < 3; i++) {
		log_close(logs[i]);
		assert_session(&world, IDS[i]);
		assert_true(knows_head(&world, IDS[i]));
	}
	/* The middle one's is gone, and is made by who is opened below it. */
	unlink(scratch_path(world.dir, SUMS("child")));
	assert_session(&world, "grandchild");
	/* The parent is deleted: what was inherited is another file's. */
	assert_int_equal(store_delete_materialized(world.store, slice_of("main"), NULL), 0);
	assert_false(scratch_exists(world.dir, SUMS("main")));
	assert_session(&world, "child");
	assert_session(&world, "grandchild");
	assert_int_equal(store_delete(world.store, slice_of("grandchild"), NULL), 0);
	assert_int_equal(store_delete(world.store, slice_of("child"), NULL), 0);
	assert_false(scratch_exists(world.dir, SUMS("child")));
	assert_false(scratch_exists(world.dir, SUMS("child.base")));
	world_close(&world);
}

/* ---- Failures ---- */

/* Every allocation and every call fails once: the right sum, or an error, and the right sum afterwards. */
static void sums__nth_failure(void **state)
{
	(void)state;
	for (int calls = 0; calls < 2; calls++) {
		struct world world;
		world_open_indexed(&world);
		struct log *log = make_counted(&world, "main");
		say_much(log, MANY);
		uint64_t expected = tokens_of_line(log, log_head(log)), tokens = 0;
		size_t size;
		log_close(log);
		unlink(scratch_path(world.dir, SUMS("main")));
		struct log *half = world_log(&world, "main", LOG_READ);
		tokens_of_line(half, MANY);
		log_close(half);
		/* Half is known, half is counted and written. */
		char *sums = scratch_read(world.dir, SUMS("main"), &size);
		for (uint64_t nth = 1;; nth++) {
			write_sums(&world, sums, size);
			log = world_log(&world, "main", LOG_READ);
			if (calls)
				fail_platform_plan(&world.platform, CALL_ANY, nth, EIO);
			else
				fail_alloc_start(nth);
			int rc = try_line(log, log_head(log), "o200k_base", "gpt-4o", &tokens);
			bool failed = calls ? world.platform.failed : fail_alloc_stop().failed;
			fail_platform_heal(&world.platform);
			if (!rc)
				assert_int_equal(tokens, expected);
			assert_head(log);
			log_close(log);
			assert_session(&world, "main");
			if (!failed) {
				assert_int_equal(rc, 0);
				break;
			}
			if (!calls)
				assert_int_equal(rc, BOBBIN_ENOMEM);
		}
		free(sums);
		world_close(&world);
	}
}

/* A write that comes half way, or finds no room. */
static void sums__short_writes(void **state)
{
	(void)state;
	struct world world;
	world_open_indexed(&world);
	struct log *log = world_create(&world, "main");
	say_much(log, MANY);
	for (size_t bytes = 0; bytes < TOKEN_SUMS_HEADER_BYTES + MANY * TOKEN_SUMS_ENTRY_BYTES; bytes += 11) {
		bool header = bytes < TOKEN_SUMS_HEADER_BYTES;
		unlink(scratch_path(world.dir, SUMS("main")));
		struct log *reader = world_log(&world, "main", LOG_READ);
		fail_platform_plan_short(&world.platform, header ? 1 : 2,
			header ? bytes : bytes - TOKEN_SUMS_HEADER_BYTES, ENOSPC);
		assert_head(reader);
		assert_true(world.platform.failed);
		fail_platform_heal(&world.platform);
		log_close(reader);
		assert_session(&world, "main");
		assert_session(&world, "main");
	}
	log_close(log);
	world_close(&world);
}

/* ---- With the rest of the store ---- */

static int note_finding(void *data, const struct store_finding *finding)
{
	struct buffer *text = data;
	buffer_addf(text, "%s %s\n", finding->kind, finding->file);
	return 0;
}

static void file__goes_with_its_session(void **state)
{
	(void)state;
	struct world world;
	struct buffer text = BUFFER_INIT(4096);
	struct store_check check = {.found = note_finding, .data = &text};
	world_open_indexed(&world);
	struct log *log = make_counted(&world, "main");
	log_close(make_counted(&world, "other"));
	assert_int_equal(store_check_folder(world.store, &check, NULL), 0);
	assert_int_equal(text.len, 0);
	assert_int_equal(store_delete(world.store, slice_of("main"), NULL), 0);
	assert_false(scratch_exists(world.dir, SUMS("main")));
	/* A handle of a deleted session counts on, and leaves nothing behind. */
	struct log_node entry;
	assert_int_equal(log_node(log, 0, &entry), 0);
	uint64_t tokens;
	assert_int_equal(try_line(log, log_head(log), "cl100k_base", "gpt-4", &tokens), 0);
	assert_false(scratch_exists(world.dir, ".cache/main.cl100k_base.tokens"));
	log_close(log);
	/* By hand, the log is gone and its caches are not: the doctor finds them, those of a copy, too. */
	unlink(scratch_path(world.dir, "other.jsonl"));
	scratch_write_text(world.dir, ".cache/other.base.cl100k_base.tokens", "");
	scratch_write_text(world.dir, ".cache/other.base.index", "");
	chmod(scratch_path(world.dir, ".cache/other.base.cl100k_base.tokens"), 0600);
	assert_int_equal(store_check_folder(world.store, &check, NULL), 0);
	assert_non_null(strstr(buffer_slice(&text).data, "leftover " SUMS("other") "\n"));
	assert_non_null(strstr(buffer_slice(&text).data, "leftover .cache/other.base.cl100k_base.tokens\n"));
	assert_non_null(strstr(buffer_slice(&text).data, "leftover .cache/other.base.index\n"));
	check.mend = true;
	assert_int_equal(store_check_folder(world.store, &check, NULL), 0);
	buffer_clear(&text);
	assert_int_equal(store_check_folder(world.store, &check, NULL), 0);
	assert_int_equal(text.len, 0);
	assert_false(scratch_exists(world.dir, SUMS("other")));
	assert_false(scratch_exists(world.dir, ".cache/other.base.index"));
	buffer_release(&text);
	world_close(&world);
}

/* The doctor's way of opening reads and writes none. */
static void file__is_not_of_raw_handles(void **state)
{
	(void)state;
	struct world world;
	struct log *raw;
	world_open_indexed(&world);
	log_close(make_counted(&world, "main"));
	unlink(scratch_path(world.dir, SUMS("main")));
	assert_int_equal(log_open_raw(world.store, slice_of("main"), false, &raw, NULL), 0);
	assert_head(raw);
	log_close(raw);
	assert_false(scratch_exists(world.dir, SUMS("main")));
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums__of_a_message_that_was_taken_back),
		cmocka_unit_test(file__is_used_by_the_next_handle),
		cmocka_unit_test(file__has_what_is_dear_to_count),
		cmocka_unit_test(file__is_read_where_it_is_asked),
		cmocka_unit_test(file__truncated_at_every_byte),
		cmocka_unit_test(file__any_bit_flipped),
		cmocka_unit_test(file__swapped_between_sessions),
		cmocka_unit_test(file__of_a_log_that_was_written_anew),
		cmocka_unit_test(file__of_another_version_is_put_aside),
		cmocka_unit_test(file__of_each_encoding),
		cmocka_unit_test(file__pictures_by_each_models_rule),
		cmocka_unit_test(file__taken_away_while_it_is_used),
		cmocka_unit_test(sums__along_branches_and_back),
		cmocka_unit_test(sums__with_late_results),
		cmocka_unit_test(sums__of_forks),
		cmocka_unit_test(sums__nth_failure),
		cmocka_unit_test(sums__short_writes),
		cmocka_unit_test(file__goes_with_its_session),
		cmocka_unit_test(file__is_not_of_raw_handles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
