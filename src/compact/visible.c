/* SPDX-License-Identifier: MIT */
#include "compact/visible.h"

#include "base/hash.h"

void visible_iter_init(struct visible_iter *iter, const struct message *message, struct arena *arena)
{
	iter->arena = arena;
	iter->error = 0;
	block_iter_init(&iter->blocks, message, arena);
}

/* A string's content, or the bytes of any other value. */
static struct slice content_of(struct visible_iter *iter, const struct json *value)
{
	struct slice content = {value->text, value->len};

	if (value->type == JSON_ABSENT)
		return (struct slice){NULL, 0};
	if (value->type == JSON_STRING && value->len > 2) {
		content = json_string_content(value, iter->arena);
		if (!content.data)
			iter->error = BOBBIN_ENOMEM;
	} else if (value->type == JSON_STRING) {
		content.len = 0;
	}
	return content;
}

static void read_call(struct visible_iter *iter, const struct block *block, struct visible *piece)
{
	piece->kind = VISIBLE_CALL;
	piece->call_id = block->call_id;
	piece->call_name = block->call_name;
	piece->arguments = block->arguments;
	piece->text = content_of(iter, &block->arguments);
}

bool visible_next(struct visible_iter *iter, struct visible *ret_piece)
{
	struct visible piece = {.kind = VISIBLE_OTHER};
	struct block block;

	do {
		if (iter->error || !block_iter_next(&iter->blocks, &block)) {
			if (!iter->error)
				iter->error = iter->blocks.error;
			return false;
		}
	} while (block.type == BLOCK_SEALED);
	switch (block.type) {
	case BLOCK_TEXT:
		piece.kind = VISIBLE_TEXT;
		piece.text = content_of(iter, &block.text);
		break;
	case BLOCK_CALL:
	case BLOCK_SERVER_CALL:
		read_call(iter, &block, &piece);
		break;
	case BLOCK_IMAGE:
		piece.kind = VISIBLE_IMAGE;
		/* fall through */
	default:
		piece.text = (struct slice){block.value.text, block.value.len};
		break;
	}
	if (iter->error)
		return false;
	*ret_piece = piece;
	return true;
}

int visible_bytes(const struct message *message, struct arena *arena, uint64_t *ret_bytes)
{
	struct visible_iter iter;
	struct visible piece;
	uint64_t bytes = 0;

	visible_iter_init(&iter, message, arena);
	while (visible_next(&iter, &piece))
		bytes += piece.kind == VISIBLE_IMAGE ? SHA256_BYTES : piece.text.len + piece.call_name.len;
	if (!iter.error)
		*ret_bytes = bytes;
	return iter.error;
}
