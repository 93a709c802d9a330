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
}

void reply_release(struct reply *reply)
{
	buffer_release(&reply->text);
	buffer_release(&reply->blocks);
	buffer_release(&reply->calls);
	buffer_release(&reply->pending);
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

static void add_call(struct buffer *out, const struct model_event *event, const char *type)
{
	struct json_writer writer;
	json_writer_init(&writer, out);
	json_begin_object(&writer);
	if (type)
		json_member_text(&writer, "type", type);
	json_member_string(&writer, "id", event->call.id);
	json_member_string(&writer, "name", event->call.name);
	json_member_string(&writer, "arguments", event->call.arguments);
	json_end_object(&writer);
	buffer_add_char(out, ',');
}

static int sticky_error(const struct reply *reply)
{
	const struct buffer *buffers[] = {&reply->text, &reply->pending, &reply->blocks, &reply->calls};
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
		if (buffer_error(buffers[i]))
			return buffer_error(buffers[i]);
	}
	return 0;
}

int reply_add(struct reply *reply, const struct model_event *event)
{
	switch (event->type) {
	case MODEL_EVENT_TEXT:
		reply->ordered |= reply->call_count > 0;
		buffer_add_slice(&reply->text, event->text);
		buffer_add_slice(&reply->pending, event->text);
		break;
	case MODEL_EVENT_SEALED:
		reply->ordered = true;
		reply->sealed_count++;
		end_text(reply);
		buffer_add_slice(&reply->blocks, event->sealed);
		buffer_add_char(&reply->blocks, ',');
		break;
	case MODEL_EVENT_CALL:
		if (reply->call_count == LIMIT_CALLS_PER_MESSAGE)
			return BOBBIN_ELIMIT;
		reply->call_count++;
		end_text(reply);
		add_call(&reply->blocks, event, "tool_call");
		add_call(&reply->calls, event, NULL);
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
	return sticky_error(reply);
}

bool reply_is_empty(const struct reply *reply)
{
	return reply->text.len == 0 && reply->call_count == 0 && reply->sealed_count == 0;
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
