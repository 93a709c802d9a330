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

/* An image of unknown size: Anthropic's price of one at its largest side, above OpenAI's usual one. */
#define IMAGE_TOKENS_USUAL 1600

struct measure {
	struct message_size size;
	struct buffer scratch; /* for strings with escapes */
	int error;
};

static void add_bytes(struct measure *measure, const char *data, size_t len)
{
	token_classes_add(&measure->size.classes, data, len);
	measure->size.visible_bytes += len;
}

static void add_string(struct measure *measure, const struct json *string)
{
	struct slice plain;

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

static void add_image(struct measure *measure, const struct json *block)
{
	struct json data = image_data(block);

	measure->size.images++;
	measure->size.image_tokens += IMAGE_TOKENS_USUAL;
	if (data.type == JSON_STRING)
		measure->size.image_bytes += data.len - 2;
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

int message_measure(const struct message *message, struct arena *arena, struct message_size *ret_size)
{
	struct measure measure = {.scratch = BUFFER_INIT(LIMIT_LINE_BYTES)};
	struct block_iter iter;
	struct block block;

	block_iter_init(&iter, message, arena);
	while (!measure.error && block_iter_next(&iter, &block))
		add_block(&measure, &block);
	buffer_release(&measure.scratch);
	if (measure.error || iter.error)
		return measure.error ? measure.error : iter.error;
	*ret_size = measure.size;
	return 0;
}
