/* SPDX-License-Identifier: MIT */
#include "tokens/usage.h"
#include <string.h>

#define FIGURE_MAX (UINT64_MAX / 8) /* so that no sum below overflows */

static uint64_t bounded(uint64_t figure)
{
	return figure < FIGURE_MAX ? figure : FIGURE_MAX;
}

static uint64_t at_most(uint64_t part, uint64_t whole)
{
	return part < whole ? part : whole;
}

struct token_usage token_usage_of(enum usage_dialect dialect, const struct usage_figures *figures)
{
	struct token_usage usage = {
		.input = bounded(figures->input),
		.output = bounded(figures->output),
		.cached = bounded(figures->cached),
		.reasoning = bounded(figures->reasoning),
	};
	switch (dialect) {
	case USAGE_ANTHROPIC:
		usage.cache_written = bounded(figures->cache_written);
		usage.input += usage.cached + usage.cache_written;
		break;
	case USAGE_GEMINI:
		usage.output += usage.reasoning;
		break;
	case USAGE_OPENAI_CHAT:
	case USAGE_OPENAI_RESPONSES:
		break;
	}
	usage.cached = at_most(usage.cached, usage.input);
	usage.reasoning = at_most(usage.reasoning, usage.output);
	usage.has_input = usage.input > 0;
	return usage;
}

uint64_t token_usage_context(const struct token_usage *usage)
{
	return usage->input + usage->output;
}

static bool read_figure(const struct json *object, const char *key, uint64_t *ret_figure)
{
	struct json value;
	int64_t number;
	if (!json_get(object, key, &value) || !json_int64(&value, &number) || number < 0)
		return false;
	*ret_figure = (uint64_t)number;
	return true;
}

static void read_detail(const struct json *object, const char *key, const char *inner, uint64_t *ret_figure)
{
	struct json details;
	if (json_get(object, key, &details) && details.type == JSON_OBJECT)
		read_figure(&details, inner, ret_figure);
}

static bool read_openai_chat(const struct json *usage, struct usage_figures *figures)
{
	bool found = read_figure(usage, "prompt_tokens", &figures->input);
	found |= read_figure(usage, "completion_tokens", &figures->output);
	read_detail(usage, "prompt_tokens_details", "cached_tokens", &figures->cached);
	read_detail(usage, "completion_tokens_details", "reasoning_tokens", &figures->reasoning);
	return found;
}

static bool read_gemini(const struct json *usage, struct usage_figures *figures)
{
	bool found = read_figure(usage, "promptTokenCount", &figures->input);
	found |= read_figure(usage, "candidatesTokenCount", &figures->output);
	read_figure(usage, "cachedContentTokenCount", &figures->cached);
	read_figure(usage, "thoughtsTokenCount", &figures->reasoning);
	return found;
}

/* Anthropic and OpenAI's responses share two names; the former's cache figures stand beside them. */
static bool read_input_output(
	const struct json *usage, struct usage_figures *figures, enum usage_dialect *ret_dialect)
{
	bool found = read_figure(usage, "input_tokens", &figures->input);
	found |= read_figure(usage, "output_tokens", &figures->output);
	bool beside = read_figure(usage, "cache_read_input_tokens", &figures->cached);
	beside |= read_figure(usage, "cache_creation_input_tokens", &figures->cache_written);
	*ret_dialect = beside ? USAGE_ANTHROPIC : USAGE_OPENAI_RESPONSES;
	if (!beside)
		read_detail(usage, "input_tokens_details", "cached_tokens", &figures->cached);
	read_detail(usage, "output_tokens_details", "reasoning_tokens", &figures->reasoning);
	return found || beside;
}

bool token_usage_read(const struct json *usage, struct token_usage *ret_usage)
{
	struct usage_figures figures = {0};
	enum usage_dialect dialect = USAGE_OPENAI_CHAT;
	if (usage->type != JSON_OBJECT)
		return false;
	if (!read_openai_chat(usage, &figures) && !read_input_output(usage, &figures, &dialect)) {
		dialect = USAGE_GEMINI;
		if (!read_gemini(usage, &figures))
			return false;
	}
	*ret_usage = token_usage_of(dialect, &figures);
	return true;
}
