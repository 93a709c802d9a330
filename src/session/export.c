/* SPDX-License-Identifier: MIT */
/* A session's line in another product's format, message by message. */
#include "base/alloc.h"
#include "session/handles.h"
#include "transcript/export.h"
#include "transcript/mask.h"

struct bobbin_export {
	bobbin_session *session;
	struct log_path *path;
	size_t next;
	uint32_t late; /* of what came late for the call before `next`: the next one */
	bool mask, ended;
	struct export *export;
	struct buffer out, masked;
	struct arena arena; /* for one message */
	struct bobbin_export_loss loss;
};

const char *const *bobbin_export_formats(void)
{
	static const char *names[32];
	size_t count = 0;

	/* Written once with what never changes, so that threads which do it at the same time write the same.
	 */
	for (const struct export_format *format = export_formats(); format->name && count < 31; format++)
		names[count++] = format->name;
	return names;
}

const char *bobbin_export_summary(const char *format)
{
	for (const struct export_format *known = export_formats(); format && known->name; known++)
		if (slice_is(slice_of(format), known->name))
			return known->summary;
	return "";
}

/* The line as it is at `to`, or at the head. */
static int open_path(
	bobbin_session *session, const char *to, struct log_path **ret_path, struct bobbin_error *error)
{
	uint32_t head = log_head(session->log);

	if (to && *to) {
		int code = log_find(session->log, slice_of(to), &head, error);
		if (code < 0)
			return code;
	}
	return log_path_new(session->log, head, NULL, ret_path, error);
}

int bobbin_export_open(bobbin_session *session, const struct bobbin_export_options *options,
	bobbin_export **ret_export, struct bobbin_error *error)
{
	struct bobbin_export_options all = BOBBIN_EXPORT_OPTIONS_INIT;
	int code = SESSION_CHECK(session, error);

	if (code < 0)
		return code;
	if (options)
		memcpy(&all, options, options->size < sizeof all ? options->size : sizeof all);
	const struct bobbin_session_info *info = bobbin_session_info(session);
	struct export_options inner = {
		.id = slice_of(info->id),
		.title = slice_of(info->title ? info->title : ""),
		.folder = slice_of(all.folder ? all.folder : ""),
		.created_ns = info->updated_ns,
	};
	bobbin_export *export = mem_alloc_zero(sizeof *export);
	if (!export)
		return error_set(error, BOBBIN_ENOMEM, "exporting: out of memory");
	export->session = session;
	export->mask = all.mask;
	buffer_init(&export->out, LIMIT_LINE_BYTES * 4);
	buffer_init(&export->masked, LIMIT_LINE_BYTES * 2);
	code = open_path(session, all.to, &export->path, error);
	if (code == 0)
		code = export_open(
			all.format ? all.format : "", &inner, &export->out, &export->export, error);
	if (code < 0) {
		bobbin_export_close(export);
		return code;
	}
	*ret_export = export;
	return 0;
}

/* The same message with its secrets replaced. */
static int mask_message(bobbin_export *export, struct message *message, struct bobbin_error *error)
{
	struct json record;
	size_t count;

	buffer_clear(&export->masked);
	int code = mask_record(&message->record, &export->masked, &count);
	if (code == 0 && count) {
		code = json_parse(export->masked.data, export->masked.len, &record, error);
		if (code == 0)
			code = message_parse(&record, &export->arena, message, error);
	}
	return code < 0 ? error_set(error, code, "masking a message: out of memory") : 0;
}

/* What came late for a call goes out right behind it. */
static bool is_late_next(const bobbin_export *export)
{
	return export->next && log_path_late(export->path, export->next - 1, export->late) != NODE_NONE;
}

static int export_one(bobbin_export *export, struct bobbin_error *error)
{
	const struct path *path = log_path_path(export->path);
	bool late = is_late_next(export);
	char id[PATH_ID_BYTES];
	struct message message;
	uint32_t tokens;
	int code = late ? 0 : path_id(path, export->next, id, error);

	if (late)
		code = path_late(path, export->next - 1, export->late, &export->arena, id, &tokens, &message, error);
	else if (code == 0)
		code = path_message(path, export->next, &export->arena, &message, error);
	if (code == 0 && export->mask)
		code = mask_message(export, &message, error);
	if (code < 0)
		return code;
	export->late = late ? export->late + 1 : 0;
	export->next += !late;
	return export_message(export->export, &(struct export_item){slice_of(id), &message}, error);
}

int bobbin_export_next(
	bobbin_export *export, const char **ret_data, size_t *ret_len, struct bobbin_error *error)
{
	int code = SESSION_CHECK(export->session, error);

	if (code < 0)
		return code;
	/* What begins the file was written when it was opened, and comes with the first message. */
	if (export->next)
		buffer_clear(&export->out);
	while (!export->ended && (export->out.len == 0 || export->next == 0)) {
		arena_reset(&export->arena);
		if (export->next < log_path_path(export->path)->count || is_late_next(export)) {
			code = export_one(export, error);
		} else {
			code = export_end(export->export, error);
			export->ended = true;
			export->next += export->next == 0;
		}
		if (code < 0)
			return code;
	}
	*ret_data = export->out.data;
	*ret_len = export->out.len;
	return export->out.len > 0;
}

const struct bobbin_export_loss *bobbin_export_loss(bobbin_export *export, size_t index)
{
	size_t count;
	const struct export_loss *losses = export_losses(export->export, &count);

	if (index >= count)
		return NULL;
	export->loss = (struct bobbin_export_loss){losses[index].what, losses[index].count};
	return &export->loss;
}

void bobbin_export_close(bobbin_export *export)
{
	if (!export)
		return;
	export_close(export->export);
	if (export->path)
		log_path_free(export->path);
	buffer_release(&export->out);
	buffer_release(&export->masked);
	arena_release(&export->arena);
	mem_free(export);
}
