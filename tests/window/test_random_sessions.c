/* SPDX-License-Identifier: MIT */
/*
 * 2,000 random sessions: parallel calls, missing, late, doubled and orphan results, thinking, reasoning,
 * images, empty texts, injected messages, repeated and malformed ids, one-turn monsters. Whatever the budget,
 * a plan that is given out is within it, covers the line, and its body passes the check.
 *
 * SEED sets the first seed and N the number of sessions; BOBBIN_SOAK tries many budgets. With
 * BOBBIN_WINDOW_DUMP=FILE the bodies, and damaged ones, are written there with their verdicts, for
 * check_independent.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/limits.h"
#include "support/soak.h"
#include "window/scene.h"

#define SESSIONS 2000
#define DUMPED_SESSIONS 300

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

static bool one_in(uint64_t n)
{
	return draw(n) == 0;
}

static const char *const WORDS[] = {"alpha ", "beta ", "gamma-7 ", "0x1f ", "\\n", "\\t", "{\\\"k\\\":1} ",
	"\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80", "\\ud83d\\ude00 ", "\\ud83d ", "\\u0000",
	"\\/path/to ", "\xd0\xbf\xd1\x80\xd0\xb8 ", "\\\"quoted\\\" ", "longer-word-with-dashes "};

/* The inside of a JSON string. */
static void add_words(struct buffer *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_add_text(out, WORDS[draw(sizeof(WORDS) / sizeof(WORDS[0]))]);
}

static size_t some_words(bool monster)
{
	if (one_in(12))
		return 0;
	if (monster && one_in(3))
		return 200 + draw(900);
	return one_in(20) ? draw(400) : draw(24);
}

static void add_image(struct buffer *out)
{
	static const char *const images[] = {
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"png\",\"data\":\"iVBORw0KGgo=\"}}",
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"jpeg;base64,AAAA\",\"detail\":\"high\"}}",
		"{\"type\":\"input_image\",\"image_url\":\"https://example.org/x.png\"}",
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"png\",\"data\":\"REDACTED\\u0000\"}}",
		"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
		"tiff\",\"data\":\"AAAA\"}}",
	};
	buffer_add_text(out, images[draw(sizeof(images) / sizeof(images[0]))]);
}

/* A content: a string, or blocks. */
static void add_content(struct buffer *out, bool monster, bool images)
{
	if (!one_in(3)) {
		buffer_add_char(out, '"');
		add_words(out, some_words(monster));
		buffer_add_char(out, '"');
		return;
	}
	buffer_add_char(out, '[');
	for (size_t i = 0, count = draw(4); i < count; i++) {
		buffer_add_text(out, i ? "," : "");
		if (images && one_in(4)) {
			add_image(out);
		} else if (one_in(15)) {
			buffer_add_text(out, "{\"type\":\"hologram\",\"beam\":[1,2]}");
		} else {
			buffer_add_text(out, "{\"type\":\"text\",\"text\":\"");
			add_words(out, some_words(monster));
			buffer_add_text(out, "\"}");
		}
	}
	buffer_add_char(out, ']');
}

struct batch {
	char ids[6][64];
	size_t count;
};

static void draw_id(char id[64], size_t *number)
{
	switch (draw(12)) {
	case 0:
		snprintf(id, 64, "call_same");
		break;
	case 1:
		snprintf(id, 64, "functions.run:%zu", ++*number);
		break;
	case 2:
		snprintf(id, 64, "toolu_very_long_identifier_that_goes_on_and_on_%zu", ++*number % 3);
		break;
	case 3:
		id[0] = '\0';
		break;
	default:
		snprintf(id, 64, "c%zu", ++*number);
	}
}

static void add_sealed(struct buffer *out, size_t number)
{
	switch (draw(5)) {
	case 0:
		buffer_addf(out, "{\"type\":\"thinking\",\"thinking\":\"hm %zu\",\"signature\":\"c2ln\"},",
			number);
		break;
	case 1:
		buffer_add_text(out, "{\"type\":\"thinking\",\"thinking\":\"unsigned\"},");
		break;
	case 2:
		buffer_add_text(out, "{\"type\":\"redacted_thinking\",\"data\":\"zzz\"},");
		break;
	case 3:
		buffer_addf(out,
			"{\"type\":\"reasoning\",\"id\":\"rs_%zu\",\"summary\":[],\"encrypted_content\":"
			"\"gA\"},",
			number % 7);
		break;
	default:
		buffer_add_text(
			out, "{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"\\ud83d\"},");
	}
}

static void add_assistant(struct scene *scene, bool monster, struct batch *batch, size_t *number)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);

	buffer_add_text(&line, "{\"role\":\"assistant\",\"content\":[");
	while (one_in(4))
		add_sealed(&line, ++*number);
	if (one_in(20)) {
		buffer_addf(&line,
			"{\"type\":\"server_tool_use\",\"id\":\"srv%zu\",\"name\":\"web\",\"input\":{}},",
			*number % 5);
		if (!one_in(4))
			buffer_addf(&line,
				"{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srv%zu\",\"content\":"
				"[]},",
				*number % 5);
	}
	buffer_add_text(&line, "{\"type\":\"text\",\"text\":\"");
	add_words(&line, one_in(3) ? 0 : some_words(monster));
	buffer_add_text(&line, one_in(4) ? " \\n\"}" : "\"}");
	if (one_in(25))
		buffer_add_text(
			&line, ",{\"type\":\"thinking\",\"thinking\":\"cut off\",\"signature\":\"s\"}");
	buffer_add_text(&line, "],\"tool_calls\":[");
	batch->count = one_in(3) ? 0 : 1 + draw(one_in(4) ? 6 : 1);
	for (size_t i = 0; i < batch->count; i++) {
		static const char *const arguments[] = {
			"\"{}\"", "\"{\\\"path\\\":\\\"a\\\"}\"", "\"\"", "\"{cut\"", "{\"n\":1.10}", "null"};
		draw_id(batch->ids[i], number);
		buffer_addf(&line, "%s{\"id\":\"%s\",\"name\":\"%s\",\"arguments\":%s}", i ? "," : "",
			batch->ids[i], one_in(9) ? "mcp.read file" : "run", arguments[draw(6)]);
	}
	buffer_add_text(&line, "]}");
	assert_int_equal(buffer_error(&line), 0);
	scene_line(scene, "%s", line.data);
	buffer_release(&line);
}

static void add_result(struct scene *scene, const char *id, bool monster)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);

	buffer_addf(&line, "{\"role\":\"tool\",\"tool_call_id\":\"%s\",%s\"content\":", id,
		one_in(8)    ? "\"is_error\":true,"
		: one_in(15) ? "\"marker\":\"interrupted\","
			     : "");
	add_content(&line, monster, true);
	buffer_add_char(&line, '}');
	assert_int_equal(buffer_error(&line), 0);
	scene_line(scene, "%s", line.data);
	buffer_release(&line);
}

static void add_user(struct scene *scene, bool injected)
{
	struct buffer line = BUFFER_INIT(LIMIT_LINE_BYTES);

	buffer_addf(&line, "{\"role\":\"user\",%s\"content\":", injected ? "\"origin\":\"injected\"," : "");
	add_content(&line, false, true);
	buffer_add_char(&line, '}');
	scene_line(scene, "%s", line.data);
	buffer_release(&line);
}

/* The results of a batch: shuffled, some missing, some twice; now and then those of another batch. */
static void add_results(struct scene *scene, const struct batch *batch, bool monster)
{
	size_t start = batch->count ? draw(batch->count) : 0;

	for (size_t i = 0; i < batch->count; i++) {
		const char *id = batch->ids[(start + i) % batch->count];
		if (one_in(10))
			continue;
		add_result(scene, id, monster);
		if (one_in(25))
			add_result(scene, id, monster);
	}
	if (one_in(30))
		add_result(scene, "c1", monster);
}

static void make_session(struct scene *scene, uint64_t seed)
{
	struct batch batch = {.count = 0};
	size_t number = 0;

	random_state = seed * 0x9e3779b97f4a7c15ull + 1;
	bool monster = one_in(4);
	size_t steps = 1 + draw(monster ? 40 : 30);
	if (!one_in(10))
		add_user(scene, false);
	for (size_t i = 0; i < steps; i++) {
		if (one_in(monster ? 60 : 3))
			add_user(scene, one_in(5));
		if (one_in(12))
			continue;
		add_assistant(scene, monster, &batch, &number);
		if (!one_in(15))
			add_results(scene, &batch, monster);
	}
	if (!one_in(3))
		add_user(scene, false);
}

static struct window_options options_for(uint64_t history)
{
	struct window_options options = WINDOW_OPTIONS_INIT;

	/* The margin is there for what mending adds: a made-up result, a heading, a marker. */
	options.margin = (int64_t)(history / 50 + 64);
	options.window = history + (uint64_t)options.margin;
	options.output_reserve = 0;
	options.no_clear = one_in(3);
	options.keep_first = one_in(6) ? draw(5) : 0;
	options.keep_recent = one_in(5) ? 1 + draw(12) : 0;
	options.tail_min = one_in(2) ? 1 : 0;
	return options;
}

/* A record at one of the turn starts, now and then with an inner cut; NULL if the line has no turn. */
static const struct window_record *draw_record(struct scene *scene, struct window_record *record)
{
	size_t position = draw(scene->path.count + 1);
	struct path_item item = {.turn = 0};

	if (position == scene->path.count || path_item(scene->inner, position, &item, NULL))
		return NULL;
	*record = (struct window_record){.cut = item.turn,
		.inner_cut = WINDOW_NONE,
		.text = SLICE_LITERAL("TASK: carry on\nFACTS: order 4417, \xed\xa0\xbd"),
		.tokens = 40};
	if (one_in(2) && item.round > item.turn)
		record->inner_cut = item.round;
	return record;
}

static FILE *dump;

static void dump_body(const char *dialect, const char *body, size_t len)
{
	fprintf(dump, "%s %zu %s\n", dialect, len, faults_of(dialect, body, len));
	fwrite(body, 1, len, dump);
	fputc('\n', dump);
}

/* The same body without one of its messages or items, which is seldom acceptable. */
static void dump_damaged(const char *dialect, const char *body, size_t len)
{
	struct json value, messages, item;
	struct json_iter iter;
	struct buffer damaged = BUFFER_INIT(LIMIT_REQUEST_BYTES);

	assert_int_equal(json_parse(body, len, &value, NULL), 0);
	if (!json_get(&value, "messages", &messages))
		json_get(&value, "input", &messages);
	size_t gone = draw(json_count(&messages));
	json_iter_init(&iter, &messages);
	for (size_t i = 0; json_iter_next(&iter, NULL, &item) && i < gone; i++)
		;
	size_t from = (size_t)(item.text - body), to = from + item.len;
	if (body[to] == ',')
		to++;
	else if (body[from - 1] == ',')
		from--;
	buffer_add(&damaged, body, from);
	buffer_add(&damaged, body + to, len - to);
	dump_body(dialect, damaged.data, damaged.len);
	buffer_release(&damaged);
}

/* Plans and renders at one budget; false if the floor does not fit. */
static bool try_budget(struct scene *scene, uint64_t history, enum dialect dialect)
{
	struct window_options options = options_for(history);
	struct bobbin_error error = {0};
	int rc = scene_try(scene, &options, &error);

	if (rc) {
		assert_int_equal(rc, BOBBIN_EBUDGET);
		assert_non_null(strstr(error.message, "too big"));
		return false;
	}
	assert_true(scene->plan.view_tokens <= scene->budget.history);
	assert_true(plan_covers_line(scene));
	const char *body = scene_render(scene, dialect);
	bool shown = scene->plan.record_at != WINDOW_NONE;
	assert_int_equal(shown, scene->record && !scene->plan.summary_stale);
	assert_int_equal(occurrences(body, WINDOW_RECORD_HEADING "\\nTASK: carry on"), shown);
	uint64_t tokens = body_tokens(body, scene->body.len);
	if (tokens > options.window)
		fail_msg("%s\n%llu tokens in a window of %llu, planned %llu", body,
			(unsigned long long)tokens, (unsigned long long)options.window,
			(unsigned long long)scene->plan.view_tokens);
	if (dump) {
		dump_body(dialect_text(dialect), body, scene->body.len);
		dump_damaged(dialect_text(dialect), body, scene->body.len);
	}
	return true;
}

static void random_sessions__fit_and_pass_whatever_the_budget(void **state)
{
	uint64_t first = soak_seed(1), count = soak_count(SESSIONS, SESSIONS);
	size_t tries = soak_is_on() ? 30 : 2, planned = 0, refused = 0;
	(void)state;

	if (getenv("BOBBIN_WINDOW_DUMP"))
		assert_non_null(dump = fopen(getenv("BOBBIN_WINDOW_DUMP"), "wb"));
	print_message("# seeds from %llu on\n", (unsigned long long)first);
	for (uint64_t seed = first; seed < first + (dump ? DUMPED_SESSIONS : count); seed++) {
		struct scene scene = SCENE_INIT;
		struct window_record record;
		make_session(&scene, seed);
		struct window_options whole = options_for(1000000);
		scene_plan(&scene, &whole);
		uint64_t line = scene.plan.line_tokens;
		for (size_t i = 0; i < tries; i++) {
			/* Small budgets are the interesting ones. */
			uint64_t history = 1 + draw(one_in(2) ? line + line / 5 + 1 : line / 6 + 1);
			enum dialect dialect = (enum dialect)((seed + i) % 3);
			scene.record = one_in(3) ? draw_record(&scene, &record) : NULL;
			*(try_budget(&scene, history, dialect) ? &planned : &refused) += 1;
		}
		scene.record = NULL;
		assert_true(try_budget(&scene, line + 1, (enum dialect)(seed % 3)));
		scene_end(&scene);
	}
	if (dump)
		fclose(dump);
	print_message("# %zu planned, %zu below their floor\n", planned, refused);
	assert_true(planned > refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sessions__fit_and_pass_whatever_the_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
