/* SPDX-License-Identifier: MIT */
/* See reply.h. Blocks and calls are written as JSON the moment they are whole, so nothing is walked
 * twice. */
#include "model/reply.h"

#include "base/json.h"
#include "base/limits.h"

void reply_init(struct reply *reply)
{
	*reply = (struct reply){.usage = {MODEL_OPENAI_CHAT, -1, -1, -1, -1}};
	buffer_init(&reply->text, LIMIT_LINE_BYTES);
	buffer_init(&reply->blocks, LIMIT_LINE_BYTES);
	buffer_init(&reply->calls, LIMIT_LINE_BYTES);
	buffer_init(&reply->pending, LIMIT_LINE_BYTES);
	buffer_init(&reply->ids, LIMIT_LINE_BYTES);
}

void reply_release(struct reply *reply)
{
	buffer_release(&reply->text);
	buffer_release(&reply->blocks);
	buffer_release(&reply->calls);
	buffer_release(&reply->pending);
	buffer_release(&reply->ids);
}

/* Text that has been waiting becomes a block. */
static void end_text(struct reply *reply)
{
	if (reply->pending.len == 0)
		return;
	struct json_writer writer;
	json_writer_init(&writer, &reply->blocks);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "text");
	json_member_string(&writer, "text", buffer_slice(&reply->pending));
	json_end_object(&writer);
	buffer_add_char(&reply->blocks, ',');
	buffer_clear(&reply->pending);
}

/* Some servers give every call of an answer the same id, or none; theirs stays as it came if it can. Writes
 * it as a JSON string between commas. */
static int add_id(struct reply *reply, struct slice id)
{
	struct buffer name = BUFFER_INIT(LIMIT_LINE_BYTES), quoted = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json_writer writer;
	buffer_add_slice(&name, id);
	for (size_t number = reply->call_count + 1;; number++) {
		buffer_clear(&quoted);
		buffer_add_char(&quoted, ',');
		json_writer_init(&writer, &quoted);
		json_add_string(&writer, buffer_slice(&name));
		buffer_add_char(&quoted, ',');
		if (buffer_error(&name) || buffer_error(&quoted))
			break;
		bool taken = reply->ids.len > 0 &&
			     memmem(reply->ids.data, reply->ids.len, quoted.data, quoted.len);
		if (name.len > 0 && !taken)
			break;
		buffer_clear(&name);
		buffer_add_slice(&name, id.len ? id : SLICE_LITERAL("call"));
		buffer_addf(&name, "-%zu", number);
	}
	buffer_add_slice(&reply->ids, buffer_slice(&quoted));
	int rc = buffer_error(&name) ? buffer_error(&name) : buffer_error(&quoted);
	buffer_release(&name);
	buffer_release(&quoted);
	return rc;
}

static void add_call(struct buffer *out, const struct model_event *event, struct slice id, const char *type)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	if (type)
		json_member_text(&writer, "type", type);
	json_key(&writer, "id");
	json_add_raw(&writer, id);
	json_member_string(&writer, "name", event->call.name);
	json_member_string(&writer, "arguments", event->call.arguments);
	json_end_object(&writer);
	buffer_add_char(out, ',');
}

/* Both ways of writing it: which one is needed is known at the end. */
static int take_call(struct reply *reply, const struct model_event *event)
{
	size_t before = reply->ids.len;
	int rc = add_id(reply, event->call.id);
	if (rc < 0 || (rc = buffer_error(&reply->ids)) < 0)
		return rc;
	struct slice id = {reply->ids.data + before + 1, reply->ids.len - before - 2};
	reply->call_count++;
	end_text(reply);
	add_call(&reply->blocks, event, id, "tool_call");
	add_call(&reply->calls, event, id, NULL);
	return 0;
}

static bool is_thinking(struct slice block)
{
	struct json value, type;
	return json_parse(block.data, block.len, &value, NULL) == 0 && json_get(&value, "type", &type) &&
	       (json_string_is(&type, "thinking") || json_string_is(&type, "redacted_thinking") ||
		       json_string_is(&type, "reasoning"));
}

static int sticky_error(const struct reply *reply)
{
	const struct buffer *buffers[] = {
		&reply->text, &reply->pending, &reply->blocks, &reply->calls, &reply->ids};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		if (buffer_error(buffers[i]))
			return buffer_error(buffers[i]);
	}
	return 0;
}

int reply_add(struct reply *reply, const struct model_event *event)
{
	int rc = 0;
	switch (event->type) {
	case MODEL_EVENT_TEXT:
		reply->ordered |= reply->call_count > 0;
		buffer_add_slice(&reply->text, event->text);
		buffer_add_slice(&reply->pending, event->text);
		break;
	case MODEL_EVENT_SEALED:
		reply->ordered = true;
		reply->kept_count += !is_thinking(event->sealed);
		end_text(reply);
		buffer_add_slice(&reply->blocks, event->sealed);
		buffer_add_char(&reply->blocks, ',');
		break;
	case MODEL_EVENT_CALL:
		if (reply->call_count == LIMIT_CALLS_PER_MESSAGE)
			return BOBBIN_ELIMIT;
		rc = take_call(reply, event);
		break;
	case MODEL_EVENT_USAGE:
		reply->has_usage = true;
		reply->usage = event->usage;
		break;
	case MODEL_EVENT_DONE:
		reply->done = true;
		reply->stop = event->stop;
		break;
	case MODEL_EVENT_THINKING:
	case MODEL_EVENT_ERROR:
		break;
	}
	return rc ? rc : sticky_error(reply);
}

static bool is_blank(const struct buffer *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (!memchr(" \t\r\n", text->data[i], 4))
			return false;
	return true;
}

bool reply_is_empty(const struct reply *reply)
{
	return is_blank(&reply->text) && reply->call_count == 0 && reply->kept_count == 0;
}

static void member_list(struct json_writer *writer, const char *key, const struct buffer *items)
{
	json_key(writer, key);
	json_begin_array(writer);
	if (items->len > 0)
		json_add_raw(
			writer, (struct slice){items->data, items->len - 1}); /* without the last comma */
	json_end_array(writer);
}

int reply_add_record(struct reply *reply, struct buffer *out)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	json_member_text(&writer, "role", "assistant");
	if (reply->ordered) {
		end_text(reply);
		member_list(&writer, "content", &reply->blocks);
	} else {
		json_member_string(&writer, "content", buffer_slice(&reply->text));
		if (reply->call_count > 0)
			member_list(&writer, "tool_calls", &reply->calls);
	}
	json_end_object(&writer);
	int rc = sticky_error(reply);
	return rc ? rc : buffer_error(out);
}
