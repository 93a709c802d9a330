/* SPDX-License-Identifier: MIT */
/* Forks: what is inherited, what is not, and what happens when an ancestor is not what it was. */
#include "store_test.h"
#include "base/hash.h"
#include <sys/stat.h>
#include <unistd.h>

#define CALLS(ids) "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" ids "]}"
#define CALL(id) "{\"id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define RESULT(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define MARKED(id)                                                                                           \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id                                                          \
	"\",\"content\":\"interrupted\",\"marker\":\"interrupted\"}"

static struct log *fork_with(struct world *world, struct log *parent, const struct log_fork_options *how,
	const char *id, struct log_fork *ret_fork)
{
	struct log_fork_options options = *how;
	struct log_fork fork;
	struct log *child = NULL;

	options.create.id = slice_of(id);
	int rc = log_fork(parent, &options, &fork, &child, &world->error);
	if (rc)
		print_message("%s\n", world->error.message);
	assert_int_equal(rc, 0);
	assert_string_equal(fork.id, id);
	if (ret_fork)
		*ret_fork = fork;
	return child;
}

static struct log *fork_at(
	struct world *world, struct log *parent, uint64_t count, const char *id, struct log_fork *ret_fork)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	options.by_count = true;
	options.count = count;
	return fork_with(world, parent, &options, id, ret_fork);
}

static struct log *fork_through(
	struct world *world, struct log *parent, const char *at, const char *id, struct log_fork *ret_fork)
{
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	options.at = slice_of(at);
	return fork_with(world, parent, &options, id, ret_fork);
}

static void digest(const struct world *world, const char *name, char ret_text[SHA256_HEX_BYTES])
{
	uint8_t bytes[SHA256_BYTES];
	size_t len;
	char *text = scratch_read(world->dir, name, &len);
	assert_int_equal(sha256_of(text, len, bytes), 0);
	hex_encode(bytes, sizeof(bytes), ret_text);
	free(text);
}

static struct log *six_messages(struct world *world)
{
	struct log *log = world_create(world, "main");
	for (int i = 0; i < 3; i++) {
		say(log, "user", "question");
		say(log, "assistant", "answer");
	}
	return log;
}

static void d1_fork__parent_is_untouched_and_its_later_words_invisible(void **state)
{
	(void)state;
	struct world world;
	struct log_fork fork;
	char before[SHA256_HEX_BYTES], after[SHA256_HEX_BYTES];
	world_open(&world, STORE_SYNC_FULL);
	struct log *parent = six_messages(&world);
	digest(&world, "main.jsonl", before);
	struct log *f = fork_at(&world, parent, 4, "f", &fork);
	assert_int_equal(fork.kept, 4);
	assert_int_equal(fork.walked_back, 0);
	assert_string_equal(fork.through, "m4");
	assert_false(fork.gap);
	size_t len;
	free(scratch_read(world.dir, "f.jsonl", &len));
	assert_true(len < 1024);
	assert_string_equal(line_of(f), "m1 m2 m3 m4");
	assert_int_equal(say(f, "user", "in f").seq, 5);
	say(f, "assistant", "also in f");
	/* Late events of a run that began before the fork. */
	add(f, "{\"type\":\"usage\",\"for\":\"m4\",\"input\":3}");
	assert_int_equal(log_set_title(f, slice_of("the fork"), NULL), 0);
	struct log *g = fork_at(&world, f, 6, "g", &fork);
	say(g, "user", "in g");
	digest(&world, "main.jsonl", after);
	assert_string_equal(before, after);
	say(parent, "user", "after the fork");
	assert_string_equal(line_of(parent), "m1 m2 m3 m4 m5 m6 m7");
	assert_int_equal(log_refresh(f, NULL), 0);
	assert_string_equal(line_of(f), "m1 m2 m3 m4 m5 m6");
	assert_string_equal(text_of(f, node_of(f, "m5")), "in f");
	assert_string_equal(text_of(parent, node_of(parent, "m5")), "question");
	assert_string_equal(line_of(g), "m1 m2 m3 m4 m5 m6 m7");
	assert_string_equal(log_info(g)->parent_id, "f");
	assert_string_equal(log_info(f)->title, "the fork");
	assert_string_equal(log_info(parent)->title, "");
	uint32_t node;
	assert_int_equal(log_find(f, slice_of("m7"), &node, NULL), BOBBIN_ENOTFOUND);
	log_close(f);
	log_close(g);
	f = world_log(&world, "f", LOG_READ);
	assert_string_equal(line_of(f), "m1 m2 m3 m4 m5 m6");
	assert_string_equal(log_info(f)->title, "the fork");
	assert_string_equal(log_info(f)->owner, "ana");
	assert_int_equal(log_info(f)->forked_at, 4);
	g = world_log(&world, "g", LOG_READ);
	assert_string_equal(line_of(g), "m1 m2 m3 m4 m5 m6 m7");
	log_close(f);
	log_close(g);
	log_close(parent);
	world_close(&world);
}

static void d1_fork__costs_the_same_for_any_parent(void **state)
{
	(void)state;
	struct world world;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log_fork fork;
	uint64_t calls[2], bytes[2];
	world_open(&world, STORE_SYNC_FULL);
	world.platform.skip_sync = true;
	for (int i = 0; i < 2; i++) {
		char id[16];
		snprintf(id, sizeof(id), "p%d", i);
		struct log *log = world_create(&world, id);
		struct slice one = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"x\"}");
		for (int n = 0; n < (i ? 3000 : 3); n++)
			assert_int_equal(log_append(log, &one, 1, NULL, NULL, NULL), 0);
		options.at = SLICE_LITERAL("m2");
		fail_platform_plan(&world.platform, CALL_NONE, 0, 0);
		assert_int_equal(log_fork(log, &options, &fork, NULL, NULL), 0);
		calls[i] = world.platform.calls[CALL_ANY];
		bytes[i] = world.platform.bytes_written;
		log_close(log);
	}
	assert_int_equal(calls[0], calls[1]);
	assert_true(bytes[1] < 1500);
	assert_in_range(bytes[0], bytes[1] - 16, bytes[1] + 16);
	world_close(&world);
}

static void fork__never_parts_a_call_from_its_results(void **state)
{
	(void)state;
	static const struct {
		const char *through;
		uint64_t asked, kept;
	} cases[] = {{"", 0, 0}, {"m1", 1, 1}, {"m1", 2, 1}, {"m1", 3, 1}, {"m4", 4, 4}, {"m5", 5, 5},
		{"m5", 6, 5}, {"m7", 7, 7}};
	struct world world;
	struct log_fork fork;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");
	add(log, CALLS(CALL("c1") "," CALL("c2")));
	add(log, RESULT("c2", "2"));
	add(log, RESULT("c1", "1"));
	say(log, "user", "u2");
	add(log, CALLS(CALL("c3")));
	add(log, RESULT("c3", "3"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char id[16];
		snprintf(id, sizeof(id), "f%zu", i);
		struct log *child = fork_at(&world, log, cases[i].asked, id, &fork);
		assert_int_equal(fork.kept, cases[i].kept);
		assert_int_equal(fork.walked_back, cases[i].asked - cases[i].kept);
		assert_string_equal(fork.through, cases[i].through);
		struct log_ack ack = say(child, "user", "go on");
		uint32_t *nodes, count;
		struct arena arena = ARENA_INIT;
		log_line(child, ack.node, &arena, &nodes, &count);
		assert_int_equal(count, cases[i].kept + 1);
		arena_release(&arena);
		log_close(child);
	}
	/* A whole line that ends with open calls is a line. */
	say(log, "user", "u3");
	add(log, CALLS(CALL("c4")));
	struct log *child = fork_at(&world, log, 9, "open", &fork);
	assert_int_equal(fork.kept, 9);
	add(child, RESULT("c4", "4"));
	assert_string_equal(line_of(child), "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10");
	log_close(child);
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	options.by_count = true;
	options.count = 10;
	assert_int_equal(log_fork(log, &options, &fork, NULL, NULL), BOBBIN_EINVAL);
	options.by_count = false;
	options.at = SLICE_LITERAL("m99");
	assert_int_equal(log_fork(log, &options, &fork, NULL, NULL), BOBBIN_ENOTFOUND);
	options.at = SLICE_LITERAL("m1");
	options.create.id = SLICE_LITERAL("main");
	assert_int_equal(log_fork(log, &options, &fork, NULL, NULL), BOBBIN_EEXIST);
	log_close(log);
	world_close(&world);
}

/* A late result that the parent got after the cut has the number of a message of the fork's own. */
static void fork__late_results_behind_the_cut_are_nobodys(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");	       /* node 0 */
	add(log, CALLS(CALL("c1")));   /* 1 */
	add(log, MARKED("c1"));	       /* 2 */
	say(log, "user", "u2");	       /* 3 */
	add(log, RESULT("c1", "late")); /* 4 */
	struct log *f = fork_through(&world, log, "m1", "f", NULL);
	say(f, "assistant", "a1");	/* 1: m2 */
	say(f, "user", "u2");		/* 2: m3 */
	add(f, CALLS(CALL("c1")));	/* 3: m4 */
	add(f, RESULT("c1", "in time")); /* 4: m5 */
	assert_int_equal(node_of(f, "m5"), 4);
	assert_int_equal(log_rewind(f, slice_of("m4"), NULL, NULL), 0);
	add(f, MARKED("c1"));
	struct log_path *path;
	assert_int_equal(log_path_new(f, log_head(f), NULL, &path, NULL), 0);
	assert_int_equal(log_path_path(path)->count, 5);
	assert_string_equal(text_of(f, log_path_node(path, 4, true)), "interrupted");
	log_path_free(path);
	log_close(f);
	log_close(log);
	world_close(&world);
}

static void fork__inherits_the_line_and_its_late_results_only(void **state)
{
	(void)state;
	struct world world;
	uint32_t node;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");									  /* m1 */
	add(log, CALLS(CALL("c1")));								  /* m2 */
	add(log, MARKED("c1"));									  /* m3 */
	add(log, "{\"role\":\"user\",\"content\":\"beside\",\"parent\":\"m1\",\"id\":\"side\"}"); /* 4 */
	say(log, "user", "u2");									  /* m5 */
	add(log, RESULT("c1", "late"));								  /* m6 */
	say(log, "assistant", "a2");								  /* m7 */
	add(log, RESULT("c1", "later"));							  /* m8 */
	struct log *f = fork_through(&world, log, "m7", "f", NULL);
	assert_string_equal(line_of(f), "m1 m2 m3 m5 m7");
	assert_int_equal(log_find(f, slice_of("side"), &node, NULL), BOBBIN_ENOTFOUND);
	assert_int_equal(log_find(f, slice_of("m6"), &node, NULL), 0);
	assert_int_equal(log_find(f, slice_of("m8"), &node, NULL), BOBBIN_ENOTFOUND);
	/* The id is free here. */
	add(f, "{\"role\":\"user\",\"content\":\"mine\",\"id\":\"side\"}");
	struct log_path *path;
	assert_int_equal(log_path_new(f, log_head(f), NULL, &path, NULL), 0);
	assert_string_equal(text_of(f, log_path_node(path, 2, true)), "late");
	log_path_free(path);
	/* The cut before the late result: the marker stands. */
	struct log *g = fork_through(&world, log, "m5", "g", NULL);
	assert_int_equal(log_find(g, slice_of("m6"), &node, NULL), BOBBIN_ENOTFOUND);
	assert_int_equal(log_path_new(g, log_head(g), NULL, &path, NULL), 0);
	assert_string_equal(text_of(g, log_path_node(path, 2, true)), "interrupted");
	log_path_free(path);
	/* One that comes to the fork itself. */
	add(g, RESULT("c1", "to g"));
	assert_string_equal(line_of(g), "m1 m2 m3 m5");
	assert_int_equal(log_path_new(g, log_head(g), NULL, &path, NULL), 0);
	assert_string_equal(text_of(g, log_path_node(path, 2, true)), "to g");
	log_path_free(path);
	/* A fork of a branch beside the line. */
	struct log *h = fork_through(&world, log, "side", "h", NULL);
	assert_string_equal(line_of(h), "m1 side");
	struct arena arena = ARENA_INIT;
	uint32_t *nodes, count;
	log_children(h, node_of(h, "m1"), &arena, &nodes, &count);
	assert_int_equal(count, 1);
	arena_release(&arena);
	/* Late results that stand before the cut, of a call that is not on the line to it. */
	add(log, "{\"role\":\"user\",\"content\":\"again\",\"parent\":\"m1\",\"branch\":true,\"id\":\"again\"}");
	struct log *i = fork_through(&world, log, "again", "i", NULL);
	assert_string_equal(line_of(i), "m1 again");
	assert_int_equal(log_find(i, slice_of("m6"), &node, NULL), BOBBIN_ENOTFOUND);
	assert_int_equal(log_find(i, slice_of("m8"), &node, NULL), BOBBIN_ENOTFOUND);
	log_close(f);
	log_close(g);
	log_close(h);
	log_close(i);
	log_close(log);
	world_close(&world);
}

static void x27_forks__twenty_deep_and_three_of_each(void **state)
{
	(void)state;
	struct world world;
	char id[16], expected[1024] = "m1 m2";
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "d0");
	say(log, "user", "level 0");
	say(log, "assistant", "answer 0");
	for (int level = 1; level <= 20; level++) {
		char text[32];
		struct log *siblings[3];
		for (int s = 2; s >= 0; s--) {
			snprintf(id, sizeof(id), "d%d%s", level, s == 0 ? "" : s == 1 ? "b" : "c");
			siblings[s] = fork_at(&world, log, (uint64_t)level + 1, id, NULL);
			assert_string_equal(line_of(siblings[s]), expected);
			snprintf(text, sizeof(text), "level %d %c", level, 'a' + s);
			say(siblings[s], "user", text);
		}
		snprintf(expected + strlen(expected), 16, " m%d", level + 2);
		for (int s = 0; s < 3; s++)
			assert_string_equal(line_of(siblings[s]), expected);
		log_close(log);
		log_close(siblings[1]);
		log_close(siblings[2]);
		log = siblings[0];
	}
	assert_string_equal(log_info(log)->parent_id, "d19");
	assert_string_equal(text_of(log, node_of(log, "m12")), "level 10 a");
	/* A cut in what is inherited names the log that holds it, and does not need those between. */
	struct log_fork fork;
	struct log *short_cut = fork_through(&world, log, "m5", "cut", &fork);
	assert_string_equal(log_info(short_cut)->parent_id, "d20");
	assert_string_equal(log_info(short_cut)->base_id, "d3");
	assert_string_equal(line_of(short_cut), "m1 m2 m3 m4 m5");
	log_close(short_cut);
	log_close(log);
	log = world_log(&world, "d20c", LOG_READ);
	assert_string_equal(line_of(log), expected);
	assert_string_equal(text_of(log, log_head(log)), "level 20 c");
	assert_string_equal(text_of(log, node_of(log, "m21")), "level 19 a");
	log_close(log);

	/* A middle one is moved away: an error, not an empty session. Put back, all is well. */
	assert_int_equal(
		rename(scratch_path(world.dir, "d10.jsonl"), scratch_path(world.dir, "elsewhere.jsonl")), 0);
	assert_int_equal(
		log_open(world.store, slice_of("d20"), LOG_READ, &log, &world.error), BOBBIN_ECORRUPT);
	assert_non_null(strstr(world.error.message, "d10"));
	assert_int_equal(log_open(world.store, slice_of("d11"), LOG_WRITE, &log, NULL), BOBBIN_ECORRUPT);
	assert_int_equal(log_open(world.store, slice_of("d9"), LOG_READ, &log, NULL), 0);
	log_close(log);
	assert_int_equal(
		rename(scratch_path(world.dir, "elsewhere.jsonl"), scratch_path(world.dir, "d10.jsonl")), 0);
	/* Deleting it is refused while forks refer to it. */
	assert_int_equal(store_delete(world.store, slice_of("d10"), &world.error), BOBBIN_EREFUSED);
	assert_non_null(strstr(world.error.message, "d11"));
	assert_int_equal(
		store_delete(world.store, slice_of("d20"), NULL), BOBBIN_EREFUSED); /* "cut" names it */
	assert_int_equal(store_delete(world.store, slice_of("d20c"), NULL), 0);
	assert_int_equal(store_delete(world.store, slice_of("cut"), NULL), 0);
	assert_int_equal(store_delete(world.store, slice_of("d20"), NULL), 0);
	log = world_log(&world, "d20b", LOG_READ);
	assert_string_equal(line_of(log), expected);
	log_close(log);
	world_close(&world);
}

static void x27_forks__too_deep_and_in_a_circle_are_errors(void **state)
{
	(void)state;
	struct world world;
	struct log *log, *child;
	char id[16];
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "a.jsonl",
		"{\"type\":\"session\",\"parentId\":\"b\",\"forkedAt\":1}\n{\"role\":\"user\",\"content\":"
		"\"x\"}\n");
	world_write(&world, "b.jsonl",
		"{\"type\":\"session\",\"parentId\":\"a\",\"forkedAt\":1}\n{\"role\":\"user\",\"content\":"
		"\"x\"}\n");
	world_write(&world, "s.jsonl",
		"{\"type\":\"session\",\"parentId\":\"s\",\"forkedAt\":1}\n{\"role\":\"user\",\"content\":"
		"\"x\"}\n");
	assert_int_equal(log_open(world.store, slice_of("a"), LOG_READ, &log, &world.error), BOBBIN_ECORRUPT);
	assert_non_null(strstr(world.error.message, "circle"));
	assert_int_equal(log_open(world.store, slice_of("s"), LOG_READ, &log, NULL), BOBBIN_ECORRUPT);
	log = world_create(&world, "d0");
	say(log, "user", "0");
	int depth = 0;
	for (;; depth++) {
		struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
		snprintf(id, sizeof(id), "d%d", depth + 1);
		options.create.id = slice_of(id);
		options.by_count = true;
		options.count = (uint64_t)depth + 1;
		int rc = log_fork(log, &options, NULL, &child, NULL);
		if (rc) {
			assert_int_equal(rc, BOBBIN_ELIMIT);
			break;
		}
		say(child, "user", "x");
		log_close(log);
		log = child;
	}
	assert_int_equal(depth, LIMIT_FORK_DEPTH);
	log_close(log);
	world_close(&world);
}

/* Every bit of a fork's header and of what it inherits: the right session, or an error; never other words,
 * never an empty one. */
static void x27_bit_flips__are_errors(void **state)
{
	(void)state;
	static const char *const names[] = {"f.jsonl", "main.jsonl"};
	struct world world;
	unsigned errors = 0, flips = 0;
	world_open(&world, STORE_SYNC_NONE);
	struct log *parent = world_create(&world, "main");
	say(parent, "user", "u1");
	say(parent, "assistant", "a1");
	say(parent, "user", "u2");
	log_close(fork_at(&world, parent, 2, "f", NULL));
	log_close(parent);
	remove(scratch_path(world.dir, "f.meta.json"));
	for (int n = 0; n < 2; n++) {
		size_t len, start = 0, end;
		char *text = scratch_read(world.dir, names[n], &len);
		end = len;
		if (n == 1) {
			start = (size_t)(strchr(text, '\n') - text) + 1;
			end = (size_t)(strstr(text, "{\"seq\":3") - text);
		}
		for (size_t bit = start * 8; bit < end * 8; bit++) {
			struct log *log;
			text[bit / 8] ^= (char)(1 << bit % 8);
			scratch_write(world.dir, names[n], text, len);
			int rc = log_open(world.store, slice_of("f"), LOG_WRITE, &log, &world.error);
			flips++;
			if (rc == 0) {
				assert_string_equal(line_of(log), "m1 m2");
				assert_string_equal(text_of(log, node_of(log, "m1")), "u1");
				assert_string_equal(text_of(log, node_of(log, "m2")), "a1");
				log_close(log);
			} else {
				assert_true(rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREADONLY);
				errors++;
			}
			text[bit / 8] ^= (char)(1 << bit % 8);
		}
		scratch_write(world.dir, names[n], text, len);
		free(text);
	}
	print_message("%u of %u flips are errors\n", errors, flips);
	assert_true(errors > flips * 9 / 10);
	world_close(&world);
}

static void x27_fork__swapped_parent_is_an_error(void **state)
{
	(void)state;
	struct world world;
	struct log *log;
	world_open(&world, STORE_SYNC_NONE);
	struct log *parent = six_messages(&world);
	log_close(fork_at(&world, parent, 4, "f", NULL));
	log_close(parent);
	struct log *other = world_create(&world, "other");
	for (int i = 0; i < 6; i++)
		say(other, "user", "question");
	log_close(other);
	assert_int_equal(
		rename(scratch_path(world.dir, "other.jsonl"), scratch_path(world.dir, "main.jsonl")), 0);
	assert_int_equal(log_open(world.store, slice_of("f"), LOG_READ, &log, NULL), BOBBIN_ECORRUPT);
	world_close(&world);
}

static void fork__settings_are_inherited(void **state)
{
	(void)state;
	struct world world;
	struct log_create_options create = LOG_CREATE_OPTIONS_INIT;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *log, *child;
	world_open(&world, STORE_SYNC_FULL);
	create.segment_bytes = 4096;
	create.redact_on_write = true;
	create.owner = SLICE_LITERAL("ana");
	assert_int_equal(log_create(world.store, &create, &log, NULL), 0);
	options.by_count = true;
	options.create.owner = SLICE_LITERAL("ben");
	options.create.sync = STORE_SYNC_NONE;
	assert_int_equal(log_fork(log, &options, NULL, &child, NULL), 0);
	assert_int_equal(log_info(child)->segment_bytes, 4096);
	assert_true(log_info(child)->redact_on_write);
	assert_string_equal(log_info(child)->owner, "ben");
	assert_string_equal(log_info(child)->parent_id, log_info(log)->id);
	assert_int_equal(log_info(child)->sync, STORE_SYNC_NONE);
	assert_int_equal(log_info(log)->sync, STORE_SYNC_FULL);
	assert_int_equal(log_info(child)->forked_at, 0);
	assert_string_equal(line_of(child), "");
	assert_int_equal(say(child, "user", "x").seq, 1);
	log_close(child);
	log_close(log);
	world_close(&world);
}

/* What the parent wrote after it was forked is not the fork's; and so not of what is forked from the fork, in what it inherits. */
static void fork__of_what_is_inherited_counts_what_stood_there_then(void **state)
{
	(void)state;
	struct world world;
	struct log_record record;
	size_t then;

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "question");
	free(scratch_read(world.dir, "main.jsonl", &then));
	log_close(fork_through(&world, log, "m1", "kid", NULL));
	add(log, "{\"type\":\"run\",\"run\":\"r1\",\"routine\":\"digest\"}"); /* of m1, too, but later */
	log_close(log);
	struct log *kid = world_log(&world, "kid", LOG_WRITE);
	for (int i = 0; i < 8; i++) /* longer than main is */
		say(kid, "user", "of the kid alone, which says much more than its parent ever did");
	struct log *grandchild = fork_through(&world, kid, "m1", "grandchild", NULL);
	assert_string_equal(log_info(grandchild)->parent_id, "kid");
	assert_string_equal(log_info(grandchild)->base_id, "main");
	assert_int_equal(log_info(kid)->parent_size, then);
	assert_int_equal(log_info(grandchild)->parent_size, then);
	log_close(kid);
	log_close(grandchild);
	for (int i = 0; i < 2; i++) {
		struct log *fork = world_log(&world, i ? "grandchild" : "kid", LOG_READ);
		uint32_t run = log_newest(log_base(fork), RECORD_RUN);
		assert_int_not_equal(run, RECORD_NONE);
		assert_int_equal(log_record(log_base(fork), run, &record), 0);
		assert_false(log_record_on_line(fork, log_base(fork), &record, log_head(fork)));
		log_close(fork);
	}
	world_close(&world);
}

/* A header in another's hand: number, depth and name of the last inherited message must be those of one message. */
static void fork__header_that_contradicts_itself_is_an_error(void **state)
{
	(void)state;
	static const char *const changes[][2] = {{"", ""}, {"\"forkedAt\":2", "\"forkedAt\":1"},
		{"\"through\":\"m2\"", "\"through\":\"m9\""}, {"\"parentSeq\":2", "\"parentSeq\":1"}};
	struct world world;
	struct log *log;
	char changed[1024];

	world_open(&world, STORE_SYNC_NONE);
	struct log *parent = six_messages(&world);
	log_close(fork_at(&world, parent, 2, "f", NULL));
	log_close(parent);
	remove(scratch_path(world.dir, "f.meta.json"));
	char *text = scratch_read(world.dir, "f.jsonl", NULL);
	/* Without its checksum, which would tell. */
	char *crc = strstr(text, ",\"crc\":");
	assert_non_null(crc);
	memcpy(crc, "}\n", sizeof("}\n"));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *at = strstr(text, changes[i][0]);
		assert_non_null(at);
		snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, changes[i][1], at + strlen(changes[i][0]));
		world_write(&world, "f.jsonl", changed);
		int rc = log_open(world.store, slice_of("f"), LOG_READ, &log, &world.error);
		assert_int_equal(rc, i ? BOBBIN_ECORRUPT : 0);
		if (!rc) {
			assert_string_equal(line_of(log), "m1 m2");
			log_close(log);
		}
	}
	free(text);
	world_close(&world);
}

/* Somebody appends to a fork between its making and its meta: the list must not say that the meta knows all of it. */
static const struct world *forking;
static int (*plain_close)(void *context, int file);
static bool appended;

static int append_before_it_is_closed(void *context, int file)
{
	if (!appended && scratch_exists(forking->dir, "child.jsonl")) {
		struct world other = {0};
		appended = true;
		assert_int_equal(store_open(platform_default(), forking->dir, NULL, &other.store, NULL), 0);
		struct log *log = world_log(&other, "child", LOG_WRITE);
		add(log, "{\"role\":\"user\",\"content\":\"first\"}");
		log_close(log);
		store_close(other.store);
	}
	return plain_close(context, file);
}

static void list__of_a_fork_appended_to_while_it_is_made(void **state)
{
	(void)state;
	struct world world;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct store_list_options counted = {.count = true};
	struct arena arena = ARENA_INIT;
	struct store_entry *entries;
	size_t count, found = 0;

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "hello");
	options.create.id = slice_of("child");
	options.at = slice_of("m1");
	forking = &world;
	appended = false;
	plain_close = world.platform.table.close;
	world.platform.table.close = append_before_it_is_closed;
	assert_int_equal(log_fork(log, &options, NULL, NULL, &world.error), 0);
	world.platform.table.close = plain_close;
	assert_true(appended);
	log_close(log);
	for (int counts = 0; counts < 2; counts++) {
		assert_int_equal(store_list(world.store, counts ? &counted : NULL, &arena, &entries, &count, NULL), 0);
		for (size_t i = 0; i < count; i++) {
			if (strcmp(entries[i].id, "child") != 0)
				continue;
			assert_int_equal(entries[i].messages_exact, counts);
			assert_true(!counts || entries[i].messages == 2);
			found++;
		}
	}
	assert_int_equal(found, 2);
	arena_release(&arena);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(d1_fork__parent_is_untouched_and_its_later_words_invisible),
		cmocka_unit_test(d1_fork__costs_the_same_for_any_parent),
		cmocka_unit_test(fork__never_parts_a_call_from_its_results),
		cmocka_unit_test(fork__late_results_behind_the_cut_are_nobodys),
		cmocka_unit_test(fork__inherits_the_line_and_its_late_results_only),
		cmocka_unit_test(x27_forks__twenty_deep_and_three_of_each),
		cmocka_unit_test(x27_forks__too_deep_and_in_a_circle_are_errors),
		cmocka_unit_test(x27_bit_flips__are_errors),
		cmocka_unit_test(x27_fork__swapped_parent_is_an_error),
		cmocka_unit_test(fork__of_what_is_inherited_counts_what_stood_there_then),
		cmocka_unit_test(fork__header_that_contradicts_itself_is_an_error),
		cmocka_unit_test(fork__settings_are_inherited),
		cmocka_unit_test(list__of_a_fork_appended_to_while_it_is_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
