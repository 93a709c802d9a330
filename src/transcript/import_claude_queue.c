/* SPDX-License-Identifier: MIT */
/*
 * What a person types into Claude Code while the model works. The client keeps a queue, and its file says of each:
 *
 *	enqueue  with the words
 *	dequeue  they begin the next turn: a user's line follows, and has them
 *	remove   they were given to the model in the middle of its turn, with the results of its calls. Newer clients
 *	         write an "attachment" of the type "queued_command" for them; older ones nothing else, so that the
 *	         words stand only in the queue
 *
 * Words of the last kind are a message behind the results that are there when the model is called again, the person speaks, or the file
 * ends. What still waits at the end was given to nobody: a remark has its beginning.
 */
#include "transcript/import_claude.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

#define SHOWN_BYTES 120

static int tell(struct claude *claude, const struct queued *queued)
{
	struct json content = {queued->content.data, queued->content.len, JSON_STRING};
	struct slice words = json_string_content(&content, import_scratch(claude->import));
	struct buffer shown = BUFFER_INIT(4 * SHOWN_BYTES);

	if (!words.data)
		return BOBBIN_ENOMEM;
	utf8_add_line(&shown, words.data, words.len, SHOWN_BYTES);
	int rc = import_remark(claude->import, queued->place, "typed while the model worked and still queued at the end, so no message: \"%.*s\"",
		(int)shown.len, buffer_slice(&shown).data);
	buffer_release(&shown);
	return rc;
}

static int enqueue(struct claude *claude, const struct json *record, struct place place)
{
	struct queued queued = {.place = place};
	struct json content;

	if (!json_get(record, "content", &content) || content.type != JSON_STRING)
		content = (struct json){"\"\"", 2, JSON_STRING};
	queued.content = import_keep(claude->import, (struct slice){content.text, content.len});
	if (!queued.content.data ||
		mem_grow((void **)&claude->queue, &claude->queue_cap, claude->queue_count + 1, sizeof(*claude->queue)) < 0)
		return BOBBIN_ENOMEM;
	claude->queue[claude->queue_count++] = queued;
	return 0;
}

/* The first of those that wait joins those that the model was given, or is done with. */
static int take_first(struct claude *claude, const struct json *record, bool given)
{
	struct json time;

	if (claude->queue_given == claude->queue_count)
		return 0;
	struct queued *first = &claude->queue[claude->queue_given];
	if (!given) {
		memmove(first, first + 1, (--claude->queue_count - claude->queue_given) * sizeof(*first));
		return 0;
	}
	claude->queue_given++;
	first->time = (struct slice){NULL, 0};
	if (!json_get(record, "timestamp", &time) || time.type != JSON_STRING)
		return 0;
	first->time = import_keep(claude->import, (struct slice){time.text, time.len});
	return first->time.data ? 0 : BOBBIN_ENOMEM;
}

int claude_read_queue(struct claude *claude, const struct json *record, struct place place)
{
	struct json operation;

	json_get(record, "operation", &operation);
	if (json_string_is(&operation, "enqueue"))
		return enqueue(claude, record, place);
	return take_first(claude, record, json_string_is(&operation, "remove"));
}

static void forget_given(struct claude *claude, size_t at, size_t count)
{
	struct queued *first = &claude->queue[at];

	claude->queue_given -= count;
	claude->queue_count -= count;
	memmove(first, first + count, (claude->queue_count - at) * sizeof(*first));
}

/* The text of a user's line, read as one; *unit, its parent before, becomes the last of its messages. */
static int read_line(
	struct claude *claude, const struct buffer *text, struct slice uuid, bool side, struct place place, size_t *unit)
{
	struct json record, message;
	size_t before = claude->unit_count;
	int rc = buffer_error(text);

	if (!rc && (json_parse(text->data, text->len, &record, NULL) < 0 || !json_get(&record, "message", &message)))
		rc = BOBBIN_ENOMEM;
	if (!rc)
		rc = claude_read_user(claude, &record, &message, uuid, side, place, *unit, unit);
	for (size_t i = before; i < claude->unit_count; i++)
		claude->units[i].queued = 1;
	return rc;
}

/* A user's line that says what the queue says. */
static int hand_over(struct claude *claude, const struct queued *queued, size_t *parent)
{
	struct buffer text = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	struct json_writer writer;

	json_writer_init(&writer, &text);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "user");
	if (queued->time.data) {
		json_key(&writer, "timestamp");
		json_add_raw(&writer, queued->time);
	}
	json_member_bool(&writer, "queued", true);
	json_key(&writer, "message");
	json_begin_object(&writer);
	json_member_text(&writer, "role", "user");
	json_key(&writer, "content");
	json_add_raw(&writer, queued->content);
	json_end_object(&writer);
	json_end_object(&writer);
	int rc = read_line(claude, &text, (struct slice){NULL, 0}, false, queued->place, parent);
	buffer_release(&text);
	return rc;
}

/* Whether a record that hangs from `parent` goes on from the latest message of the main line. */
static bool goes_on(const struct claude *claude, size_t parent, size_t tip)
{
	size_t batch = claude_batch(claude, parent);

	return parent == tip || (batch != UNIT_NONE && batch == claude_batch(claude, tip));
}

int claude_hand_over(struct claude *claude, size_t *parent)
{
	size_t tip = claude->last[0];
	/* Of a file without a single message there is no session either. */
	size_t given = claude->session_count ? claude->queue_given : 0;
	bool moves = parent && goes_on(claude, *parent, tip);
	int rc = 0;

	for (size_t i = 0; !rc && i < given; i++)
		rc = hand_over(claude, &claude->queue[i], &tip);
	if (given)
		forget_given(claude, 0, given);
	if (!rc && moves)
		*parent = tip;
	return rc;
}

int claude_tell_queued(struct claude *claude)
{
	int rc = claude_hand_over(claude, NULL);

	for (size_t i = 0; !rc && i < claude->queue_count; i++)
		rc = tell(claude, &claude->queue[i]);
	return rc;
}

size_t claude_asked_from(const struct claude *claude, size_t parent)
{
	while (parent != UNIT_NONE && claude->units[parent].queued)
		parent = claude->units[parent].parent;
	return parent;
}

bool claude_queued_command(const struct json *record, struct json *ret_attachment)
{
	struct json type;

	return json_get(record, "attachment", ret_attachment) && ret_attachment->type == JSON_OBJECT &&
	       json_get(ret_attachment, "type", &type) && json_string_is(&type, "queued_command");
}

/* Such an attachment as the user's line it stands for. */
int claude_read_queued(struct claude *claude, const struct json *record, const struct json *attachment, struct slice uuid,
	bool side, struct place place, size_t *unit)
{
	static const char *const TAKEN[] = {"type", "attachment", NULL};
	static const char *const PROMPT[] = {"type", "prompt", NULL};
	struct buffer text = BUFFER_INIT(LIMIT_IMPORT_BYTES);
	struct json_writer writer;
	struct json prompt;

	if (!json_get(attachment, "prompt", &prompt) || (prompt.type != JSON_STRING && prompt.type != JSON_ARRAY))
		return import_warn(claude->import, place, "queued words without their text: left out");
	for (size_t i = 0; i < claude->queue_given; i++)
		if (slice_equal(claude->queue[i].content, (struct slice){prompt.text, prompt.len})) {
			forget_given(claude, i, 1);
			break;
		}
	json_writer_init(&writer, &text);
	json_begin_object(&writer);
	json_member_text(&writer, "type", "user");
	write_members_except(&writer, record, TAKEN);
	json_key(&writer, "message");
	json_begin_object(&writer);
	json_member_text(&writer, "role", "user");
	json_key(&writer, "content");
	json_add_value(&writer, &prompt);
	write_members_except(&writer, attachment, PROMPT);
	json_end_object(&writer);
	json_end_object(&writer);
	int rc = read_line(claude, &text, uuid, side, place, unit);
	buffer_release(&text);
	return rc;
}
