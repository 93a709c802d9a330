/* SPDX-License-Identifier: MIT */
/* Logs damaged at random: they open or say why not, an append to them is found again, nothing crashes.
 * SEED repeats a run, N sets how long it is. */
#include "store_test.h"
#include "support/soak.h"

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((random_state >> 33) % limit);
}

static char *make_log(struct world *world, size_t *ret_len)
{
	static const char *const records[] = {
		"{\"role\":\"user\",\"content\":\"first \xe4\xbd\xa0\"}",
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c1\",\"name\":\"f\","
		"\"arguments\":\"{}\"},{\"id\":\"c2\",\"name\":\"g\",\"arguments\":\"{\\\"a\\\":1}\"}]}",
		"{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"two\"}",
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"interrupted\",\"marker\":"
		"\"interrupted\"}",
		"{\"role\":\"user\",\"id\":\"own\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":"
		"\"odd\",\"y\":[1,2,{}]}]}",
		"{\"type\":\"usage\",\"for\":\"own\",\"input\":3}",
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"late\"}",
		"{\"role\":\"assistant\",\"content\":\"beside\",\"parent\":\"m1\"}",
		"{\"type\":\"rewind\",\"to\":\"own\"}",
		"{\"role\":\"user\",\"content\":\"edit\",\"parent\":\"m4\",\"branch\":true}",
		"{\"type\":\"compaction\",\"cut\":\"own\",\"record\":{}}",
	};
	struct log *log = world_create(world, "main");
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		add(log, records[i]);
	log_close(log);
	return scratch_read(world->dir, "main.jsonl", ret_len);
}

static size_t damage(char *text, size_t len, size_t cap)
{
	for (uint32_t times = 1 + random_below(4); times > 0 && len > 0; times--) {
		size_t at = random_below((uint32_t)len), run = 1 + random_below(64);
		if (run > len - at)
			run = len - at;
		switch (random_below(6)) {
		case 0:
			text[at] ^= (char)(1 << random_below(8));
			break;
		case 1:
			memset(text + at, 0, run);
			break;
		case 2:
			text[at] = "\n{}\",\\:[]"[random_below(9)];
			break;
		case 3:
			len = at;
			break;
		case 4:
			memmove(text + at, text + at + run, len - at - run);
			len -= run;
			break;
		default:
			if (len + run <= cap) {
				memmove(text + at + run, text + at, len - at);
				len += run;
			}
			break;
		}
	}
	return len;
}

static void check_damaged(struct world *world)
{
	struct arena arena = ARENA_INIT;
	struct bobbin_error error = {0};
	struct log *log;
	uint32_t *nodes, count;

	int rc = log_open(world->store, slice_of("main"), LOG_WRITE, &log, &error);
	if (rc) {
		assert_true(rc == BOBBIN_ECORRUPT || rc == BOBBIN_EREADONLY);
		assert_true(error.message[0] != '\0');
		return;
	}
	for (uint32_t node = 0; node < log_node_count(log); node++) {
		struct message message;
		struct log_node entry;
		assert_int_equal(log_node(log, node, &entry), 0);
		assert_true(entry.parent == NODE_NONE || entry.parent < node);
		assert_int_equal(log_message(log, node, &arena, &message, NULL), 0);
		assert_int_equal(log_line(log, node, &arena, &nodes, &count), 0);
		assert_int_equal(count, entry.depth + 1);
	}
	for (uint32_t i = 0; i < log_record_count(log); i++) {
		struct json record;
		assert_int_equal(log_record_read(log, i, &arena, &record, NULL), 0);
	}
	struct log_path *path;
	assert_int_equal(log_path_new(log, log_head(log), NULL, &path, NULL), 0);
	const struct path *items = log_path_path(path);
	uint64_t tokens = 0;
	for (size_t i = 0; i < items->count; i++) {
		struct path_item item;
		assert_int_equal(path_item(items, i, &item, NULL), 0);
		assert_int_equal(item.tokens_before, tokens);
		assert_true(item.turn <= i && item.round <= i);
		tokens += item.tokens;
	}
	assert_int_equal(items->tokens, tokens);
	log_path_free(path);
	struct log_ack ack = say(log, "user", "still here");
	char line[4096];
	snprintf(line, sizeof(line), "%s", line_of(log));
	uint32_t all = log_node_count(log);
	log_close(log);
	log = world_log(world, "main", LOG_READ);
	assert_string_equal(line_of(log), line);
	assert_int_equal(log_node_count(log), all);
	assert_string_equal(text_of(log, node_of(log, ack.id)), "still here");
	log_close(log);
	arena_release(&arena);
}

static void random__damaged_logs_open_or_say_why(void **state)
{
	(void)state;
	struct world world;
	size_t len;
	random_state = soak_seed(20260904);
	print_message("SEED=%llu\n", (unsigned long long)random_state);
	world_open(&world, STORE_SYNC_NONE);
	char *text = make_log(&world, &len);
	char *copy = malloc(2 * len);
	assert_non_null(copy);
	uint64_t rounds = soak_count(1500, 60000);
	for (uint64_t left = rounds; left > 0; left--) {
		memcpy(copy, text, len);
		size_t damaged = damage(copy, len, 2 * len);
		scratch_write(world.dir, "main.jsonl", copy, damaged);
		check_damaged(&world);
	}
	print_message("# %llu damaged logs\n", (unsigned long long)rounds);
	free(copy);
	free(text);
	world_close(&world);
}

/* A reader that looks after each byte ends where one that reads all at once does. */
static void random__reading_on_is_reading_at_once(void **state)
{
	(void)state;
	struct world world;
	size_t len;
	world_open(&world, STORE_SYNC_NONE);
	char *text = make_log(&world, &len);
	char *whole = malloc(len + 1024);
	assert_non_null(whole);
	size_t first = (size_t)(strchr(text, '\n') + 1 - text);
	memcpy(whole, text, len);
	len += (size_t)sprintf(whole + len, "{\"torn\n\n  "
					    "\n[1]\n{\"role\":\"user\",\"content\":\"\xff\"}\n{\"role\":"
					    "\"user\",\"content\":\"last\"}\n{\"half");
	scratch_write(world.dir, "main.jsonl", whole, first);
	struct log *log = world_log(&world, "main", LOG_READ);
	for (size_t at = first; at < len; at++) {
		scratch_append(world.dir, "main.jsonl", whole + at, 1);
		assert_int_equal(log_refresh(log, NULL), 0);
		assert_true(log_fault_total(log) <= 4);
	}
	struct log *fresh = world_log(&world, "main", LOG_READ);
	char line[4096];
	snprintf(line, sizeof(line), "%s", line_of(fresh));
	assert_string_equal(line_of(log), line);
	assert_int_equal(log_record_count(log), log_record_count(fresh));
	size_t count, count_fresh;
	const struct log_fault *faults = log_faults(log, &count),
			       *faults_fresh = log_faults(fresh, &count_fresh);
	assert_int_equal(count, 4);
	assert_int_equal(count_fresh, 4);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(faults[i].kind, faults_fresh[i].kind);
		assert_int_equal(faults[i].line, faults_fresh[i].line);
		assert_int_equal(faults[i].offset, faults_fresh[i].offset);
	}
	for (uint32_t node = 0; node < log_node_count(log); node++) {
		struct log_node one, other;
		log_node(log, node, &one);
		log_node(fresh, node, &other);
		assert_int_equal(one.chain, other.chain);
		assert_int_equal(one.offset, other.offset);
		assert_int_equal(one.flags, other.flags);
	}
	log_close(fresh);
	log_close(log);
	free(whole);
	free(text);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random__damaged_logs_open_or_say_why),
		cmocka_unit_test(random__reading_on_is_reading_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
