/* SPDX-License-Identifier: MIT */
/*
 * What a message weighs: bytes by class of script for the estimate, images apart.
 *
 * Invariants: (1) the figures are a pure function of the record's bytes, so an index may keep them; (2) the
 * data of an image never counts as text; (3) sealed data that only the provider can read (signatures,
 * encrypted reasoning) does not count as text.
 */
#include "transcript/message.h"

#include "base/limits.h"
#include "tokens/counter.h"
#include "tokens/image.h"
#include "tokens/overhead.h"

struct measure {
	struct message_size size;
	struct buffer scratch;	       /* for strings with escapes that are counted exactly */
	struct token_counter *counter; /* NULL: estimate only */
	uint64_t exact_tokens;	       /* of the texts, with an exact counter */
	int error;
};

static void add_bytes(struct measure *measure, const char *data, size_t len)
{
	uint64_t tokens;

	token_classes_add(&measure->size.classes, data, len);
	measure->size.visible_bytes += len;
	if (len == 0 || measure->error || !measure->counter || !measure->counter->exact)
		return;
	measure->error = token_counter_count(measure->counter, data, len, &tokens);
	if (!measure->error)
		measure->exact_tokens += tokens;
}

static void add_string(struct measure *measure, const struct json *string)
{
	struct slice plain;

	if (!measure->counter || !measure->counter->exact) {
		measure->size.visible_bytes +=
			token_classes_add_json(&measure->size.classes, string->text + 1, string->len - 2);
		return;
	}
	if (json_string_plain(string, &plain)) {
		add_bytes(measure, plain.data, plain.len);
		return;
	}
	buffer_clear(&measure->scratch);
	json_string_decode(string, JSON_SURROGATES_REPLACE, &measure->scratch);
	if (buffer_error(&measure->scratch))
		measure->error = buffer_error(&measure->scratch);
	else
		add_bytes(measure, measure->scratch.data, measure->scratch.len);
}

/* A value the model sees as JSON; a string that holds JSON is seen without its quotes. */
static void add_value(struct measure *measure, const struct json *value)
{
	if (value->type == JSON_STRING)
		add_string(measure, value);
	else if (value->type != JSON_ABSENT)
		add_bytes(measure, value->text, value->len);
}

/* The string in which a block carries its picture: Anthropic's source.data, OpenAI's image_url.url or
 * image_url, or a bare "data". Absent when the picture stands elsewhere (a file id). */
static struct json image_data(const struct json *block)
{
	struct json holder, data;

	if (json_get(block, "source", &holder) &&
		(json_get(&holder, "data", &data) || json_get(&holder, "url", &data)))
		return data;
	if (json_get(block, "image_url", &holder)) {
		if (holder.type == JSON_STRING)
			return holder;
		if (json_get(&holder, "url", &data))
			return data;
	}
	json_get(block, "data", &data);
	return data;
}

/* OpenAI's "detail" stands beside the address of the picture, in either of its two forms. */
static enum image_detail image_detail(const struct json *block)
{
	struct json holder = *block, detail;

	if (json_get(block, "image_url", &holder) && holder.type != JSON_OBJECT)
		holder = *block;
	if (!json_get(&holder, "detail", &detail))
		return IMAGE_DETAIL_AUTO;
	if (json_string_is(&detail, "low"))
		return IMAGE_DETAIL_LOW;
	return json_string_is(&detail, "high") ? IMAGE_DETAIL_HIGH : IMAGE_DETAIL_AUTO;
}

static void add_image(struct measure *measure, const struct json *block)
{
	static const struct model_facts ANY = {.images = IMAGES_UNKNOWN};
	const struct model_facts *facts = measure->counter ? &measure->counter->facts : &ANY;
	struct json data = image_data(block);
	struct image_size size = {0, 0};

	if (data.type == JSON_STRING) {
		struct slice plain;
		measure->size.image_bytes += data.len - 2;
		if (json_string_plain(&data, &plain))
			size = image_size_of_base64(plain.data, plain.len);
	}
	uint64_t tokens = measure->size.image_tokens + image_tokens(facts, size, image_detail(block));
	measure->size.image_tokens = tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)tokens;
	measure->size.images++;
}

static void add_block(struct measure *measure, const struct block *block)
{
	switch (block->type) {
	case BLOCK_TEXT:
		add_string(measure, &block->text);
		break;
	case BLOCK_IMAGE:
		add_image(measure, &block->value);
		break;
	case BLOCK_SEALED:
		if (block->text.type == JSON_STRING)
			add_string(measure, &block->text);
		break;
	case BLOCK_CALL:
		measure->size.calls++;
		/* fall through */
	case BLOCK_SERVER_CALL:
		add_bytes(measure, block->call_name.data, block->call_name.len);
		add_value(measure, &block->arguments);
		break;
	case BLOCK_SERVER_RESULT:
	case BLOCK_UNKNOWN:
		add_value(measure, &block->value);
		break;
	}
}

static uint32_t frame_tokens(const struct message *message, uint32_t calls)
{
	uint64_t tokens = OVERHEAD_MESSAGE + (uint64_t)calls * OVERHEAD_CALL;

	if (message->role == ROLE_TOOL)
		tokens += OVERHEAD_RESULT;
	return tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)tokens;
}

static int measure_blocks(const struct message *message, struct arena *arena, struct measure *measure)
{
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, message, arena);
	while (!measure->error && block_iter_next(&iter, &block))
		add_block(measure, &block);
	buffer_release(&measure->scratch);
	measure->size.frame_tokens = frame_tokens(message, measure->size.calls);
	return measure->error ? measure->error : iter.error;
}

int message_measure(const struct message *message, struct arena *arena, struct message_size *ret_size)
{
	struct measure measure = {.scratch = BUFFER_INIT(LIMIT_LINE_BYTES)};
	int rc = measure_blocks(message, arena, &measure);

	if (!rc)
		*ret_size = measure.size;
	return rc;
}

uint64_t message_size_tokens(const struct message_size *size)
{
	return token_classes_estimate(&size->classes) + size->image_tokens + size->frame_tokens;
}

int message_count_tokens(const struct message *message, struct arena *arena, struct token_counter *counter,
	uint64_t *ret_tokens, bool *ret_images)
{
	struct measure measure = {.scratch = BUFFER_INIT(LIMIT_LINE_BYTES), .counter = counter};
	int rc = measure_blocks(message, arena, &measure);

	if (rc)
		return rc;
	*ret_tokens = (counter->exact ? measure.exact_tokens
				      : token_counter_estimate(counter, &measure.size.classes)) +
		      measure.size.image_tokens + measure.size.frame_tokens;
	if (ret_images)
		*ret_images = measure.size.images > 0;
	return 0;
}
