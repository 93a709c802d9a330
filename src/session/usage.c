/* SPDX-License-Identifier: MIT */
/* Usage records and prices, see usage.h. */
#include "session/usage.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tokens/usage.h"

#define NANOUSD_MAX 9e18
#define PRICES_MAX 10000

static bool figure(const struct json *record, const char *key, uint64_t *ret_figure)
{
	struct json value;
	int64_t number;

	if (!json_get(record, key, &value) || !json_int64(&value, &number) || number < 0)
		return false;
	*ret_figure = (uint64_t)number;
	return true;
}

static void add_count(uint64_t *sum, uint64_t more)
{
	*sum = more > UINT64_MAX - *sum ? UINT64_MAX : *sum + more;
}

static void add_money(int64_t *sum, int64_t more)
{
	*sum = more > INT64_MAX - *sum ? INT64_MAX : *sum + more;
}

void usage_add(struct bobbin_usage *usage, const struct bobbin_usage *more)
{
	add_count(&usage->requests, more->requests);
	add_count(&usage->input, more->input);
	add_count(&usage->cached, more->cached);
	add_count(&usage->cache_write, more->cache_write);
	add_count(&usage->output, more->output);
	add_count(&usage->reasoning, more->reasoning);
	add_count(&usage->unreported, more->unreported);
	add_count(&usage->unpriced, more->unpriced);
	add_money(&usage->nanousd, more->nanousd);
}

/* ---- Prices ---- */

static double share(const struct json *object, const char *key)
{
	struct json value;
	double number;

	return json_get(object, key, &value) && json_double(&value, &number) && number >= 0 ? number : 1.0;
}

static int read_price(const struct json *key, const struct json *value, struct arena *arena,
	struct price_table *table, struct bobbin_error *error)
{
	struct json input;
	double dollars;

	if (value->type != JSON_OBJECT || !json_get(value, "input", &input))
		return 0;
	struct slice name = json_string_content(key, arena);
	if (!name.data)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	if (!json_double(&input, &dollars) || !(dollars >= 0) || dollars > 1e9)
		return error_set(error, BOBBIN_EINPUT,
			"the price table: \"input\" of %.*s is not a number of dollars a million tokens",
			name.len > 80 ? 80 : (int)name.len, name.data);
	table->prices[table->count++] = (struct model_price){.model = arena_copy(arena, name.data, name.len),
		.input = dollars * 1000,
		.cache_read = share(value, "cache_read"),
		.cache_write = share(value, "cache_write"),
		.output = share(value, "output")};
	return table->prices[table->count - 1].model ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory");
}

int price_table_read(const char *text, size_t len, struct arena *arena, struct price_table *ret_table,
	struct bobbin_error *error)
{
	struct price_table table = {NULL, 0};
	struct json object, key, value;
	struct json_iter iter;
	size_t count = 0;

	*ret_table = table;
	if (!text)
		return 0;
	int rc = json_parse(text, len, &object, error);
	if (rc < 0) {
		error_prefix(error, "the price table");
		return rc;
	}
	if (object.type != JSON_OBJECT)
		return error_set(error, BOBBIN_EINPUT, "the price table must be an object of objects: %s",
			"{\"MODEL\":{\"input\":1.25,\"cache_read\":0.1,\"output\":8}}");
	for (json_iter_init(&iter, &object); json_iter_next(&iter, &key, &value);)
		count++;
	if (count > PRICES_MAX)
		return error_set(error, BOBBIN_ELIMIT, "the price table has more than %d entries", PRICES_MAX);
	table.prices = arena_alloc(arena, (count + 1) * sizeof(*table.prices));
	if (!table.prices)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	for (json_iter_init(&iter, &object); !rc && json_iter_next(&iter, &key, &value);)
		rc = read_price(&key, &value, arena, &table, error);
	if (!rc)
		*ret_table = table;
	return rc;
}

static const struct model_price *find_price(const struct price_table *table, struct slice model)
{
	for (size_t i = 0; model.data && i < table->count; i++)
		if (slice_equal(slice_of(table->prices[i].model), model))
			return &table->prices[i];
	return NULL;
}

static int64_t price_of(const struct token_usage *tokens, const struct model_price *price)
{
	double units = (double)(tokens->input - tokens->cached - tokens->cache_written) +
		       (double)tokens->cached * price->cache_read +
		       (double)tokens->cache_written * price->cache_write + (double)tokens->output * price->output;
	double nanousd = units * price->input + 0.5;

	return nanousd < NANOUSD_MAX ? (int64_t)nanousd : INT64_MAX;
}

/* ---- Records ---- */

static enum usage_dialect dialect_of(const struct json *record)
{
	struct json value;

	if (!json_get(record, "dialect", &value))
		return USAGE_OPENAI_CHAT; /* parts lie inside of the whole */
	if (json_string_is(&value, "anthropic"))
		return USAGE_ANTHROPIC;
	return json_string_is(&value, "gemini") ? USAGE_GEMINI : USAGE_OPENAI_CHAT;
}

static struct token_usage tokens_of(const struct json *record, bool *ret_reported)
{
	struct usage_figures figures = {0};
	enum usage_dialect dialect = dialect_of(record);
	bool input = figure(record, "input", &figures.input), output = figure(record, "output", &figures.output);

	figure(record, "cached", &figures.cached);
	figure(record, "cache_write", &figures.cache_written);
	figure(record, "reasoning", &figures.reasoning);
	*ret_reported = input && output;
	struct token_usage tokens = token_usage_of(dialect, &figures);
	if (dialect != USAGE_ANTHROPIC) {
		uint64_t rest = tokens.input - tokens.cached;
		tokens.cache_written = figures.cache_written < rest ? figures.cache_written : rest;
	}
	return tokens;
}

static int note_unpriced(struct unpriced *unpriced, struct slice model)
{
	void *models = unpriced->models;

	if (!model.data)
		model = SLICE_LITERAL("(no model named)");
	for (size_t i = 0; i < unpriced->count; i++)
		if (slice_equal(slice_of(unpriced->models[i]), model))
			return 0;
	if (mem_grow(&models, &unpriced->cap, unpriced->count + 1, sizeof(*unpriced->models)) < 0)
		return BOBBIN_ENOMEM;
	unpriced->models = models;
	unpriced->models[unpriced->count] = arena_copy(&unpriced->arena, model.data, model.len);
	if (!unpriced->models[unpriced->count])
		return BOBBIN_ENOMEM;
	unpriced->count++;
	return 0;
}

int usage_add_record(struct bobbin_usage *usage, const struct json *record, const struct price_table *table,
	struct arena *scratch, struct unpriced *unpriced)
{
	struct bobbin_usage more = {.requests = 1};
	struct json value;
	struct slice model = {NULL, 0};
	uint64_t nanousd;
	bool reported;
	struct token_usage tokens = tokens_of(record, &reported);
	int rc = 0;

	more.input = tokens.input;
	more.cached = tokens.cached;
	more.cache_write = tokens.cache_written;
	more.output = tokens.output;
	more.reasoning = tokens.reasoning;
	more.unreported = !reported;
	if (json_get(record, "model", &value) && value.type == JSON_STRING) {
		model = json_string_content(&value, scratch);
		if (!model.data)
			return BOBBIN_ENOMEM;
	}
	const struct model_price *price = find_price(table, model);
	if (figure(record, "nanousd", &nanousd)) {
		more.nanousd = (int64_t)nanousd;
		more.unreported = 0;
	} else if (json_get(record, "provider", &value) && json_string_is(&value, "mock")) {
		more.nanousd = 0; /* nobody is paid for it */
	} else if (price && reported) {
		more.nanousd = price_of(&tokens, price);
	} else {
		more.unpriced = 1;
		rc = note_unpriced(unpriced, model);
	}
	usage_add(usage, &more);
	return rc;
}

int usage_check(const struct json *record, struct bobbin_error *error)
{
	static const char *const figures[] = {
		"input", "cached", "cache_write", "output", "reasoning", "nanousd"};
	static const char *const texts[] = {"id", "for", "kind", "model", "provider", "dialect"};
	struct json value;
	uint64_t ignored;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (json_get(record, figures[i], &value) && !figure(record, figures[i], &ignored))
			return error_set(error, BOBBIN_EINPUT, "usage: \"%s\" is a whole number from 0 on", figures[i]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (json_get(record, texts[i], &value) && value.type != JSON_STRING)
			return error_set(error, BOBBIN_EINPUT, "usage: \"%s\" is a text", texts[i]);
	if (record->len > USAGE_BYTES_MAX)
		return error_set(error, BOBBIN_EINPUT, "usage: more than %d bytes", USAGE_BYTES_MAX);
	return 0;
}
