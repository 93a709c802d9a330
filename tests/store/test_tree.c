/* SPDX-License-Identifier: MIT */
/* The message tree: whose child a message is, where the head goes, which result belongs to which call; paths
 * over it. */
#include "store_test.h"
#include "tokens/counter.h"

#define CALLS(ids) "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[" ids "]}"
#define CALL(id) "{\"id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define RESULT(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define MARKED(id)                                                                                           \
	"{\"role\":\"tool\",\"tool_call_id\":\"" id                                                          \
	"\",\"content\":\"interrupted\",\"marker\":\"interrupted\"}"

static struct log *reopen(struct world *world, struct log *log)
{
	log_close(log);
	return world_log(world, "main", LOG_WRITE);
}

/* Rule 7: edits, retries, rewinds back and forth. The same after reopening, from the bytes alone. */
static void tree__head_moves_by_the_rule(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	for (int round = 0; round < 2; round++) {
		if (round == 0) {
			say(log, "user", "u1");	     /* m1 */
			say(log, "assistant", "a1"); /* m2 */
			say(log, "user", "u2");	     /* m3 */
			add(log,
				"{\"role\":\"assistant\",\"content\":\"beside\",\"parent\":\"m1\"}"); /* m4 */
			assert_string_equal(line_of(log), "m1 m2 m3");
			add(log, "{\"role\":\"user\",\"content\":\"edit\",\"parent\":\"m2\",\"branch\":"
				 "true}"); /* m5 */
			assert_string_equal(line_of(log), "m1 m2 m5");
			add(log, "{\"role\":\"assistant\",\"content\":\"follows\",\"parent\":\"m5\"}"); /* m6
													 */
			assert_string_equal(line_of(log), "m1 m2 m5 m6");
			add(log, "{\"type\":\"rewind\",\"to\":\"m3\"}"); /* 7 */
			say(log, "assistant", "a2");			 /* m8 */
			assert_string_equal(line_of(log), "m1 m2 m3 m8");
			add(log, "{\"type\":\"rewind\",\"to\":null}"); /* 9 */
			assert_string_equal(line_of(log), "");
			say(log, "user", "anew"); /* m10 */
			assert_string_equal(line_of(log), "m10");
			add(log, "{\"role\":\"user\",\"content\":\"root\",\"parent\":null}"); /* m11 */
			assert_string_equal(line_of(log), "m10");
			add(log, "{\"type\":\"rewind\",\"to\":\"m6\"}");
		}
		assert_string_equal(line_of(log), "m1 m2 m5 m6");
		assert_true(log_on_line(log, node_of(log, "m2"), node_of(log, "m8")));
		assert_false(log_on_line(log, node_of(log, "m5"), node_of(log, "m8")));
		struct arena arena = ARENA_INIT;
		uint32_t *nodes, count;
		assert_int_equal(log_children(log, node_of(log, "m2"), &arena, &nodes, &count), 0);
		assert_int_equal(count, 2);
		assert_int_equal(nodes[0], node_of(log, "m3"));
		assert_int_equal(nodes[1], node_of(log, "m5"));
		assert_int_equal(log_children(log, NODE_NONE, &arena, &nodes, &count), 0);
		assert_int_equal(count, 3);
		arena_release(&arena);
		struct log_record record;
		uint32_t rewind = log_newest(log, RECORD_REWIND);
		assert_int_equal(log_record(log, rewind, &record), 0);
		assert_int_equal(record.head, node_of(log, "m6"));
		assert_int_equal(log_record(log, record.previous, &record), 0);
		assert_int_equal(record.head, NODE_NONE);
		log = reopen(&world, log);
	}
	log_close(log);
	world_close(&world);
}

static void a4_late_result__replaces_its_marker(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");					   /* m1 */
	add(log, CALLS(CALL("c1") "," CALL("c2") "," CALL("c3"))); /* m2 */
	add(log, RESULT("c1", "r1"));				   /* m3 */
	add(log, RESULT("c2", "r2"));				   /* m4 */
	add(log, MARKED("c3"));					   /* m5 */
	say(log, "user", "do something else");			   /* m6 */
	add(log, RESULT("c3", "the real one, which is longer"));   /* m7 */
	add(log, RESULT("c3", "a second real one"));		   /* m8 */
	for (int round = 0; round < 2; round++) {
		assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
		struct log_node node;
		assert_int_equal(log_node(log, node_of(log, "m7"), &node), 0);
		assert_true(node.flags & NODE_LATE);
		assert_int_equal(node.parent, node_of(log, "m2"));
		struct arena arena = ARENA_INIT;
		uint32_t *nodes, count;
		assert_int_equal(log_late_results(log, node_of(log, "m2"), &arena, &nodes, &count), 0);
		assert_int_equal(count, 2);
		assert_int_equal(nodes[0], node_of(log, "m7"));

		struct log_path *path;
		assert_int_equal(log_path_new(log, log_head(log), NULL, &path, NULL), 0);
		const struct path *items = log_path_path(path);
		assert_int_equal(items->count, 6);
		struct message message;
		char id[PATH_ID_BYTES];
		assert_int_equal(path_message(items, 4, &arena, &message, NULL), 0);
		assert_int_equal(message.marker, MARKER_NONE);
		assert_string_equal(
			text_of(log, log_path_node(path, 4, true)), "the real one, which is longer");
		assert_string_equal(text_of(log, log_path_node(path, 4, false)), "interrupted");
		assert_int_equal(path_id(items, 4, id, NULL), 0);
		assert_string_equal(id, "m7");
		uint64_t tokens = 0, bytes = 0;
		for (size_t i = 0; i < items->count; i++) {
			struct path_item item;
			assert_int_equal(path_item(items, i, &item, NULL), 0);
			assert_int_equal(item.tokens_before, tokens);
			assert_int_equal(item.bytes_before, bytes);
			assert_int_equal(item.turn, i < 5 ? 0 : 5);
			assert_int_equal(item.round, i == 0 ? 0 : i < 5 ? 1 : 5);
			tokens += item.tokens;
			bytes += item.bytes;
		}
		assert_int_equal(items->tokens, tokens);
		assert_int_equal(items->bytes, bytes);
		assert_int_equal(path_message(items, 6, &arena, &message, NULL), BOBBIN_EINVAL);
		log_path_free(path);
		arena_release(&arena);
		log = reopen(&world, log);
	}
	log_close(log);
	world_close(&world);
}

/* A marker that comes late is no answer, whatever comes after it. */
static void late_marker__replaces_nothing(void **state)
{
	(void)state;
	struct world world;
	struct log_path *path;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");
	add(log, CALLS(CALL("c1")));
	add(log, MARKED("c1"));
	say(log, "user", "u2");
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"still\",\"marker\":\"interrupted\"}");
	assert_int_equal(log_path_new(log, log_head(log), NULL, &path, NULL), 0);
	assert_string_equal(text_of(log, log_path_node(path, 2, true)), "interrupted");
	log_path_free(path);
	add(log, RESULT("c1", "real"));
	assert_int_equal(log_path_new(log, log_head(log), NULL, &path, NULL), 0);
	assert_string_equal(text_of(log, log_path_node(path, 2, true)), "real");
	log_path_free(path);
	log_close(log);
	world_close(&world);
}

/* Results that say themselves where they belong: beside the line, unless they say that the line is to follow them. */
static void results__with_a_parent_or_a_branch_of_their_own(void **state)
{
	(void)state;
	struct world world;
	struct log_node node;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");						  /* m1 */
	add(log, CALLS(CALL("c1") "," CALL("c2")));			  /* m2 */
	add(log, RESULT("c1", "r1"));					  /* m3 */
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"r2\",\"parent\":\"m2\"}"); /* m4 */
	assert_string_equal(line_of(log), "m1 m2 m3");
	assert_int_equal(log_node(log, node_of(log, "m4"), &node), 0);
	assert_true(node.flags & NODE_LATE);
	assert_int_equal(node.parent, node_of(log, "m2"));
	add(log, RESULT("c2", "r2 again")); /* m5: in the batch, which is open on this line */
	assert_string_equal(line_of(log), "m1 m2 m3 m5");
	say(log, "user", "u2"); /* m6 */
	add(log, "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"another\",\"branch\":true}"); /* m7 */
	assert_string_equal(line_of(log), "m1 m2 m7");
	assert_int_equal(log_node(log, node_of(log, "m7"), &node), 0);
	assert_int_equal(node.flags, NODE_BRANCH);
	log_close(log);
	world_close(&world);
}

/* The same sums as a path over the records themselves, for each of its heads, with three counters. */
static void path__agrees_with_a_path_over_the_records(void **state)
{
	(void)state;
	struct world world;
	struct arena arena = ARENA_INIT;
	struct slice records[64];
	size_t count = 0;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	for (int i = 0; i < 12; i++) {
		say(log, "user", i % 2 ? "a question about ships" : "\xe4\xbd\xa0\xe5\xa5\xbd");
		if (i % 3 == 0) {
			add(log, CALLS(CALL("x") "," CALL("y")));
			add(log, RESULT("y", "12345"));
			add(log, RESULT("x", "67890 and some words"));
		}
		say(log, "assistant", "an answer, at length: 0.0375");
		if (i == 5)
			add(log, "{\"role\":\"user\",\"origin\":\"injected\",\"content\":\"reminder\"}");
	}
	uint32_t *nodes, line;
	assert_int_equal(log_line(log, log_head(log), &arena, &nodes, &line), 0);
	for (uint32_t i = 0; i < line; i++) {
		struct log_node node;
		struct json record;
		assert_int_equal(log_node(log, nodes[i], &node), 0);
		for (uint32_t r = 0; r < log_record_count(log); r++) {
			struct log_record entry;
			log_record(log, r, &entry);
			if (entry.node == nodes[i]) {
				assert_int_equal(log_record_read(log, r, &arena, &record, NULL), 0);
				records[count++] = (struct slice){record.text, record.len};
			}
		}
	}
	assert_int_equal(count, line);
	struct token_counter estimate, exact;
	assert_true(token_counter_for_encoding("estimate", &estimate));
	bool have_exact = token_counter_for_encoding("o200k_base", &exact);
	struct token_counter *counters[3] = {NULL, &estimate, have_exact ? &exact : NULL};
	for (size_t c = 0; c < 3; c++) {
		struct array_path *array;
		assert_int_equal(array_path_new(records, count, counters[c], &array, NULL), 0);
		for (uint32_t head = 0; head < line; head += 5) {
			struct log_path *path;
			assert_int_equal(log_path_new(log, nodes[head], counters[c], &path, NULL), 0);
			assert_int_equal(log_path_path(path)->count, head + 1);
			assert_int_equal(log_path_path(path)->exact, c == 2 && have_exact);
			for (size_t i = 0; i <= head; i++) {
				struct path_item want, have;
				assert_int_equal(path_item(array_path_path(array), i, &want, NULL), 0);
				assert_int_equal(path_item(log_path_path(path), i, &have, NULL), 0);
				assert_int_equal(have.tokens, want.tokens);
				assert_int_equal(have.tokens_before, want.tokens_before);
				assert_int_equal(have.bytes_before, want.bytes_before);
				assert_int_equal(have.turn, want.turn);
				assert_int_equal(have.round, want.round);
				assert_int_equal(have.calls, want.calls);
			}
			log_path_free(path);
		}
		array_path_free(array);
	}
	if (have_exact)
		token_counter_release(&exact);
	token_counter_release(&estimate);
	log_close(log);
	arena_release(&arena);
	world_close(&world);
}

static void x04_parallel_results__none_is_merged_or_lost(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "go");
	add(log, CALLS(CALL("c1") "," CALL("c2") "," CALL("c3") "," CALL("c4") "," CALL("c5") "," CALL(
			 "c6") "," CALL("c7") "," CALL("c8")));
	add(log, RESULT("c7", "same"));
	add(log, RESULT("c2", "same"));
	add(log, RESULT("c8", "8"));
	add(log, RESULT("c1", "1"));
	add(log, RESULT("c5", "5"));
	log = reopen(&world, log); /* killed between the 5th and the 6th */
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7");
	assert_string_equal(text_of(log, node_of(log, "m3")), "same");
	assert_string_equal(text_of(log, node_of(log, "m4")), "same");
	add(log, MARKED("c3"));
	add(log, MARKED("c4"));
	add(log, MARKED("c6"));
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10");
	/* A second result for a call that has one hangs beside the line. */
	add(log, RESULT("c1", "again"));
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10");
	struct log_node node;
	log_node(log, node_of(log, "m11"), &node);
	assert_true(node.flags & NODE_LATE);
	log_close(log);
	world_close(&world);
}

static void a3_dangling_call__is_answered_by_appending_only(void **state)
{
	(void)state;
	struct world world;
	size_t before, after;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "u1");
	add(log, CALLS(CALL("c1")));
	log = reopen(&world, log); /* killed before the result */
	char *text = scratch_read(world.dir, "main.jsonl", &before);
	struct slice marker = SLICE_LITERAL(
		"{\"role\":\"tool\",\"id\":\"r-c1\",\"tool_call_id\":\"c1\",\"content\":\"interrupted\","
		"\"marker\":\"interrupted\"}");
	for (int twice = 0; twice < 2; twice++) { /* recovering again adds nothing */
		struct log_ack ack;
		assert_int_equal(log_append(log, &marker, 1, NULL, &ack, NULL), 0);
		assert_int_equal(ack.repeated, twice);
		assert_string_equal(line_of(log), "m1 m2 r-c1");
		log = reopen(&world, log);
	}
	say(log, "user", "go on");
	assert_string_equal(line_of(log), "m1 m2 r-c1 m4");
	char *now = scratch_read(world.dir, "main.jsonl", &after);
	assert_true(after > before);
	assert_memory_equal(now, text, before);
	free(now);
	free(text);
	log_close(log);
	world_close(&world);
}

static void tree__results_find_their_call(void **state)
{
	(void)state;
	struct world world;
	struct log_node node;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "1");		 /* m1 */
	add(log, CALLS(CALL("c")));	 /* m2 */
	add(log, RESULT("c", "first"));	 /* m3 */
	say(log, "user", "2");		 /* m4 */
	add(log, CALLS(CALL("c")));	 /* m5: the same id in a later turn */
	add(log, RESULT("c", "second")); /* m6 */
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
	add(log, RESULT("nobody", "orphan")); /* m7: kept, in its place */
	log_node(log, node_of(log, "m7"), &node);
	assert_true(node.flags & NODE_ORPHAN);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7");
	/* From an old branch: does not move the head. */
	log_rewind(log, slice_of("m1"), NULL, NULL);
	add(log, CALLS(CALL("old"))); /* m9 */
	log_rewind(log, slice_of("m7"), NULL, NULL);
	add(log, RESULT("old", "late")); /* m11 */
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6 m7");
	log_node(log, node_of(log, "m11"), &node);
	assert_int_equal(node.parent, node_of(log, "m9"));
	/* Re-answered in another branch, then back: each line has one answer. */
	log_rewind(log, slice_of("m5"), NULL, NULL);
	add(log, RESULT("c", "other")); /* m13 */
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m13");
	log_rewind(log, slice_of("m6"), NULL, NULL);
	add(log, RESULT("c", "third")); /* m15: m6 stands on this line already */
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
	log = reopen(&world, log);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m6");
	log_close(log);
	world_close(&world);
}

static void tree__foreign_logs_with_faults_of_the_tree(void **state)
{
	(void)state;
	struct world world;
	struct log_node node;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl",
		"{\"id\":\"a\",\"role\":\"user\",\"content\":\"1\"}\n"
		"{\"id\":\"b\",\"parent\":\"lost\",\"role\":\"assistant\",\"content\":\"2\"}\n"
		"{\"id\":\"a\",\"role\":\"user\",\"content\":\"3\"}\n"
		"{\"type\":\"rewind\",\"to\":\"nowhere\"}\n"
		"{\"id\":\"c\",\"parent\":\"c\",\"role\":\"user\",\"content\":\"4\"}\n"
		"{\"type\":\"weather\",\"sun\":true}\n"
		"{\"role\":\"assistant\",\"content\":\"5\"}\n");
	struct log *log = world_log(&world, "main", LOG_WRITE);
	assert_string_equal(line_of(log), "a b a c m7");
	assert_int_equal(count_faults(log, FAULT_PARENT), 2);
	assert_int_equal(count_faults(log, FAULT_DUPLICATE_ID), 1);
	assert_int_equal(count_faults(log, FAULT_REWIND), 1);
	assert_int_equal(log_fault_total(log), 4);
	assert_string_equal(text_of(log, node_of(log, "a")), "1");
	log_node(log, node_of(log, "b"), &node);
	assert_true(node.flags & NODE_GAP);
	struct log_record record;
	assert_int_equal(log_record(log, log_newest(log, RECORD_OTHER), &record), 0);
	assert_int_equal(record.seq, 6);
	assert_int_equal(say(log, "user", "6").seq, 8);
	log_close(log);
	world_close(&world);
}

/* `ts` orders nothing: clocks go back. */
static void x24_time__orders_nothing(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	add(log, "{\"role\":\"user\",\"content\":\"1\",\"ts\":\"2030-01-01T00:00:00Z\"}");
	fail_platform_set_time(&world.platform, -INT64_C(5000000000), 0);
	say(log, "user", "2");
	add(log, "{\"role\":\"user\",\"content\":\"3\",\"ts\":\"0001-01-01T00:00:00Z\"}");
	log = reopen(&world, log);
	assert_string_equal(line_of(log), "m1 m2 m3");
	assert_string_equal(text_of(log, log_head(log)), "3");
	log_close(log);
	world_close(&world);
}

/* Ancestors by jump pointers against parents one by one, in a bushy tree of 2,000. */
static void tree__ancestors_at_every_depth(void **state)
{
	(void)state;
	struct world world;
	uint32_t random = 12345;
	world_open(&world, STORE_SYNC_NONE);
	FILE *file = fopen(scratch_path(world.dir, "main.jsonl"), "w");
	assert_non_null(file);
	for (int i = 1; i <= 2000; i++) {
		random = random * 1664525 + 1013904223;
		int back = random >> 28 ? 1 : 1 + (int)(random >> 20 & 31);
		int parent = i > back ? i - back : 0;
		fprintf(file,
			parent ? "{\"seq\":%d,\"role\":\"user\",\"content\":\"\",\"parent\":\"m%d\","
				 "\"branch\":true}\n"
			       : "{\"seq\":%d,\"role\":\"user\",\"content\":\"\"}\n",
			i, parent);
	}
	fclose(file);
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_int_equal(log_node_count(log), 2000);
	for (uint32_t from = 0; from < 2000; from += 37) {
		struct log_node node;
		uint32_t at = from;
		assert_int_equal(log_node(log, from, &node), 0);
		uint32_t depth = node.depth;
		assert_int_equal(log_ancestor(log, from, depth + 1), NODE_NONE);
		for (;; depth--) {
			assert_int_equal(log_ancestor(log, from, depth), at);
			assert_true(log_on_line(log, at, from));
			log_node(log, at, &node);
			at = node.parent;
			if (depth == 0)
				break;
		}
		assert_int_equal(at, NODE_NONE);
	}
	log_close(log);
	world_close(&world);
}

#define LONG_ID "msg_0123456789abcdef"

/* Every message has a short name, whatever its client calls it; what a model reads uses it when the id is
 * long.
 */
static void short_name__finds_messages_with_ids_of_their_own(void **state)
{
	(void)state;
	struct world world;
	char id[PATH_ID_BYTES];
	struct log_path *path;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	add(log, "{\"role\":\"user\",\"content\":\"a\",\"id\":\"" LONG_ID "\"}");	/* m1 */
	add(log, "{\"role\":\"assistant\",\"content\":\"b\",\"id\":\"twelve-bytes\"}"); /* m2 */
	say(log, "user", "c");								/* m3 */
	add(log, "{\"type\":\"run\"}");							/* 4 */
	add(log, "{\"role\":\"assistant\",\"content\":\"d\",\"id\":\"d\"}");		/* m5 */
	for (int round = 0; round < 2; round++) {
		assert_int_equal(node_of(log, "m1"), 0);
		assert_int_equal(node_of(log, LONG_ID), 0);
		assert_int_equal(node_of(log, "m2"), 1);
		assert_int_equal(node_of(log, "m3"), 2);
		assert_int_equal(node_of(log, "m5"), 3);
		uint32_t node;
		assert_int_equal(log_find(log, slice_of("m4"), &node, NULL), BOBBIN_ENOTFOUND);
		assert_int_equal(log_find(log, slice_of("m6"), &node, NULL), BOBBIN_ENOTFOUND);
		assert_int_equal(log_find(log, slice_of("m01"), &node, NULL), BOBBIN_ENOTFOUND);
		assert_int_equal(log_path_new(log, log_head(log), NULL, &path, NULL), 0);
		static const char *const SHORT[] = {"m1", "twelve-bytes", "m3", "d"};
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(path_id(log_path_path(path), i, id, NULL), 0);
			assert_string_equal(id, SHORT[i]);
		}
		log_path_free(path);
		assert_int_equal(log_node_id(log, 0, id, NULL), 0);
		assert_string_equal(id, LONG_ID);
		log = reopen(&world, log);
	}
	/* Records may name them so, too. */
	add(log, "{\"role\":\"user\",\"content\":\"e\",\"parent\":\"m2\",\"branch\":true}"); /* m6 */
	assert_string_equal(line_of(log), LONG_ID " twelve-bytes m6");
	assert_int_equal(log_rewind(log, slice_of("m1"), NULL, NULL), 0);
	assert_int_equal(log_head(log), 0);
	log_close(log);
	world_close(&world);
}

/* An id that has the form of a number (which only foreign logs have) goes before the number. */
static void short_name__an_id_that_says_so_goes_first(void **state)
{
	(void)state;
	struct world world;
	world_open(&world, STORE_SYNC_NONE);
	world_write(&world, "main.jsonl",
		"{\"seq\":1,\"role\":\"user\",\"content\":\"a\",\"id\":\"m7\"}\n"
		"{\"seq\":7,\"role\":\"user\",\"content\":\"b\",\"id\":\"x\"}\n"
		"{\"seq\":3,\"role\":\"user\",\"content\":\"c\",\"id\":\"y\"}\n" /* out of order */
		"{\"seq\":9,\"role\":\"user\",\"content\":\"d\"}\n"
		"{\"seq\":3,\"role\":\"user\",\"content\":\"e\",\"id\":\"z\"}\n");
	struct log *log = world_log(&world, "main", LOG_READ);
	assert_int_equal(node_of(log, "m7"), 0);
	assert_int_equal(node_of(log, "m1"), 0);
	assert_int_equal(node_of(log, "m3"), 2); /* the older one */
	assert_int_equal(node_of(log, "m9"), 3);
	assert_int_equal(count_faults(log, FAULT_DUPLICATE_ID), 0);
	log_close(log);
	/* A message whose name it is came before: the id is taken. */
	world_write(&world, "other.jsonl",
		"{\"seq\":9,\"role\":\"user\",\"content\":\"a\"}\n"
		"{\"seq\":10,\"role\":\"user\",\"content\":\"b\",\"id\":\"m9\"}\n");
	log = world_log(&world, "other", LOG_READ);
	assert_int_equal(node_of(log, "m9"), 0);
	assert_int_equal(count_faults(log, FAULT_DUPLICATE_ID), 1);
	log_close(log);
	world_close(&world);
}

/* Of the parent's messages only those that are part of the fork have a name in it. */
static void short_name__in_forks(void **state)
{
	(void)state;
	struct world world;
	struct log_fork_options options = LOG_FORK_OPTIONS_INIT;
	struct log *fork;
	uint32_t node;
	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	add(log, "{\"role\":\"user\",\"content\":\"a\",\"id\":\"" LONG_ID "\"}"); /* m1 */
	add(log, "{\"role\":\"assistant\",\"content\":\"b\",\"id\":\"beside\"}"); /* m2 */
	add(log, "{\"role\":\"assistant\",\"content\":\"c\",\"id\":\"kept\","
		 "\"parent\":\"m1\",\"branch\":true}");			    /* m3 */
	add(log, "{\"role\":\"user\",\"content\":\"d\",\"id\":\"after\"}"); /* m4 */
	options.by_count = true;
	options.count = 2;
	options.create.id = slice_of("fork");
	assert_int_equal(log_fork(log, &options, NULL, &fork, NULL), 0);
	add(fork, "{\"role\":\"user\",\"content\":\"own\",\"id\":\"of-the-fork\"}"); /* m4 */
	assert_int_equal(node_of(fork, "m1"), 0);
	assert_int_equal(node_of(fork, "m3"), 2);
	assert_string_equal(text_of(fork, node_of(fork, "m4")), "own");
	assert_int_equal(log_find(fork, slice_of("m2"), &node, NULL), BOBBIN_ENOTFOUND);
	assert_int_equal(log_find(fork, slice_of("after"), &node, NULL), BOBBIN_ENOTFOUND);
	log_close(fork);
	log_close(log);
	world_close(&world);
}

/* Models do repeat ids: a batch takes as many results of an id as it has calls of it, further ones are spare.
 */
static void same_id_twice_in_a_batch__takes_two_results(void **state)
{
	(void)state;
	struct world world;
	struct log_node node;

	world_open(&world, STORE_SYNC_NONE);
	struct log *log = world_create(&world, "main");
	say(log, "user", "look twice");
	add(log, CALLS(CALL("c") "," CALL("d") "," CALL("c")));
	add(log, RESULT("c", "first"));
	add(log, RESULT("c", "second"));
	assert_string_equal(line_of(log), "m1 m2 m3 m4");
	add(log, RESULT("d", "other"));
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5");
	add(log, RESULT("c", "spare"));
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5");
	assert_int_equal(log_node(log, node_of(log, "m6"), &node), 0);
	assert_true(node.flags & NODE_LATE);
	say(log, "assistant", "seen");
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m7");
	log_close(log);
	log = world_log(&world, "main", LOG_READ);
	assert_string_equal(line_of(log), "m1 m2 m3 m4 m5 m7");
	log_close(log);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree__head_moves_by_the_rule),
		cmocka_unit_test(a4_late_result__replaces_its_marker),
		cmocka_unit_test(late_marker__replaces_nothing),
		cmocka_unit_test(results__with_a_parent_or_a_branch_of_their_own),
		cmocka_unit_test(path__agrees_with_a_path_over_the_records),
		cmocka_unit_test(x04_parallel_results__none_is_merged_or_lost),
		cmocka_unit_test(a3_dangling_call__is_answered_by_appending_only),
		cmocka_unit_test(tree__results_find_their_call),
		cmocka_unit_test(tree__foreign_logs_with_faults_of_the_tree),
		cmocka_unit_test(x24_time__orders_nothing),
		cmocka_unit_test(tree__ancestors_at_every_depth),
		cmocka_unit_test(short_name__finds_messages_with_ids_of_their_own),
		cmocka_unit_test(short_name__an_id_that_says_so_goes_first),
		cmocka_unit_test(short_name__in_forks),
		cmocka_unit_test(same_id_twice_in_a_batch__takes_two_results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
