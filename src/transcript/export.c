/* SPDX-License-Identifier: MIT */
/* The front door of the writers, and what they share. */
#include "transcript/export.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/platform.h"
#include "transcript/export_writer.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static const struct export_writer *const writers[] = {
	&export_bobbin,
	&export_openai_chat,
	&export_openai_responses,
	&export_anthropic,
	&export_claude_code,
	&export_codex,
	&export_pi,
	&export_markdown,
};
#define WRITERS (sizeof writers / sizeof *writers)

const struct export_format *export_formats(void)
{
	static struct export_format formats[WRITERS + 1];

	/* Written once with what never changes, so that threads which do it at the same time write the same.
	 */
	for (size_t i = 0; i < WRITERS; i++)
		formats[i] = writers[i]->format;
	return formats;
}

static const struct export_writer *writer_of(const char *format)
{
	for (size_t i = 0; i < WRITERS; i++)
		if (slice_is(slice_of(format), writers[i]->format.name))
			return writers[i];
	return NULL;
}

static int failure(struct export *export, int code, struct bobbin_error *error)
{
	if (!code)
		code = buffer_error(export->out);
	if (!code)
		code = buffer_error(&export->text);
	if (!code)
		code = buffer_error(&export->pending);
	if (code == BOBBIN_ELIMIT)
		return error_set(error, code, "a message is too large to export");
	return code ? error_set(error, code, "exporting: out of memory") : 0;
}

int export_open(const char *format, const struct export_options *options, struct buffer *out,
	struct export **ret_export, struct bobbin_error *error)
{
	const struct export_writer *writer = writer_of(format);

	if (!writer)
		return error_set(error, BOBBIN_EUNSUPPORTED,
			"there is no export to %s; `bobbin help export` lists the formats", format);
	struct export *export = mem_alloc_zero(sizeof *export);
	if (!export)
		return error_set(error, BOBBIN_ENOMEM, "exporting: out of memory");
	export->writer = writer;
	export->options = *options;
	export->out = out;
	buffer_init(&export->text, LIMIT_LINE_BYTES * 2);
	buffer_init(&export->pending, LIMIT_LINE_BYTES * 2);
	json_writer_init(&export->json, out);
	int code = failure(export, writer->begin ? writer->begin(export) : 0, error);
	if (code < 0) {
		export_close(export);
		return code;
	}
	*ret_export = export;
	return 0;
}

int export_message(struct export *export, const struct export_item *item, struct bobbin_error *error)
{
	int code = export->writer->message(export, item);

	arena_reset(&export->arena);
	return failure(export, code, error);
}

int export_end(struct export *export, struct bobbin_error *error)
{
	return failure(export, export->writer->end ? export->writer->end(export) : 0, error);
}

void export_close(struct export *export)
{
	if (!export)
		return;
	buffer_release(&export->text);
	buffer_release(&export->pending);
	arena_release(&export->arena);
	mem_free(export->state);
	mem_free(export);
}

const struct export_loss *export_losses(const struct export *export, size_t *ret_count)
{
	*ret_count = export->loss_count;
	return export->losses;
}

void export_lose(struct export *export, const char *what)
{
	for (size_t i = 0; i < export->loss_count; i++)
		if (slice_is(slice_of(what), export->losses[i].what)) {
			export->losses[i].count++;
			return;
		}
	if (export->loss_count < EXPORT_LOSSES_MAX)
		export->losses[export->loss_count++] = (struct export_loss){what, 1};
}

void export_lose_origin(struct export *export, const struct message *message)
{
	if (message->origin != ORIGIN_PERSON)
		export_lose(export, "marks that no person typed it");
}

bool export_is_item(const struct json *block)
{
	struct json type;
	struct slice name;

	if (!json_get(block, "type", &type) || !json_string_plain(&type, &name))
		return false;
	return slice_is(name, "compaction") || slice_is(name, "context_compaction") ||
	       (name.len > 5 && memcmp(name.data + name.len - 5, "_call", 5) == 0 &&
		       !slice_is(name, "tool_call"));
}

/* Text that json_string_decode has cleaned of surrogates, without its NULs. */
static void add_without_nuls(struct export *export, struct slice text)
{
	const char *nul;

	buffer_add_char(export->out, '"');
	while (text.len && (nul = memchr(text.data, '\0', text.len))) {
		size_t len = (size_t)(nul - text.data);
		json_escape(export->out, (struct slice){text.data, len});
		buffer_add_text(export->out, REPLACEMENT);
		text.data += len + 1;
		text.len -= len + 1;
	}
	json_escape(export->out, text);
	buffer_add_char(export->out, '"');
}

static void add_value(struct export *export, const struct json *string)
{
	/* Only an escape can stand for what is not accepted. */
	if (!memmem(string->text, string->len, "\\u", 2)) {
		buffer_add(export->out, string->text, string->len);
		return;
	}
	buffer_clear(&export->text);
	json_string_decode(string, JSON_SURROGATES_REPLACE, &export->text);
	add_without_nuls(export, buffer_slice(&export->text));
}

/* Strings that do not go through the writer, which has to know that a value came. */
static void after_comma(struct export *export)
{
	if (export->json.comma)
		buffer_add_char(export->out, ',');
	export->json.comma = true;
}

void export_string(struct export *export, const struct json *string)
{
	after_comma(export);
	if (string->type == JSON_STRING)
		add_value(export, string);
	else
		buffer_add_text(export->out, "\"\"");
}

void export_text(struct export *export, struct slice text)
{
	after_comma(export);
	add_without_nuls(export, text);
}

bool export_is_blank(const struct json *string)
{
	for (size_t i = 1; i + 1 < string->len; i++)
		if (string->text[i] != ' ' &&
			!(string->text[i] == '\\' && strchr("nrt", string->text[i + 1]) && ++i))
			return false;
	return true;
}

bool export_is_empty(struct export *export, const struct message *message, bool others)
{
	struct block_iter iter;
	struct block block;
	struct export_image image;
	bool empty = true;

	block_iter_init(&iter, message, &export->arena);
	while (empty && block_iter_next(&iter, &block)) {
		if (block.type == BLOCK_TEXT)
			empty = export_is_blank(&block.text);
		else if (block.type == BLOCK_IMAGE)
			empty = !export_image(export, &block, &image);
		else
			empty = block.type != BLOCK_CALL && (!others || block.type != BLOCK_UNKNOWN || export_is_item(&block.value));
	}
	if (empty && !iter.error)
		export_lose(export, "messages of which nothing would go out");
	return empty && !iter.error;
}

bool export_join_texts(struct export *export, const struct message *message, bool images_taken)
{
	struct buffer joined;
	struct block_iter iter;
	struct block block;
	bool any = false;

	buffer_init(&joined, LIMIT_LINE_BYTES * 2);
	block_iter_init(&iter, message, &export->arena);
	while (block_iter_next(&iter, &block)) {
		if (block.type != BLOCK_TEXT) {
			if (block.type == BLOCK_IMAGE && !images_taken)
				export_lose(export, "images");
			else if (block.type != BLOCK_IMAGE)
				export_lose(export, "parts of a kind that the format has not");
			continue;
		}
		if (any)
			buffer_add_char(&joined, '\n');
		json_string_decode(&block.text, JSON_SURROGATES_REPLACE, &joined);
		any = true;
	}
	buffer_clear(&export->text);
	buffer_add_slice(&export->text, buffer_slice(&joined));
	buffer_release(&joined);
	return any;
}

static struct slice member(struct export *export, const struct json *object, const char *key)
{
	struct json value;

	return json_get(object, key, &value) && value.type == JSON_STRING
		       ? json_string_content(&value, &export->arena)
		       : (struct slice){NULL, 0};
}

/* data:image/png;base64,… is a picture that is here. */
static void read_address(struct slice url, struct export_image *image)
{
	const char *mark = memmem(url.data, url.len, ";base64,", 8);

	image->url = url;
	if (!slice_starts_with(url, "data:") || !mark)
		return;
	image->media_type = (struct slice){url.data + 5, (size_t)(mark - url.data) - 5};
	image->data = (struct slice){mark + 8, url.len - (size_t)(mark - url.data) - 8};
	image->url.len = 0;
}

bool export_image(struct export *export, const struct block *block, struct export_image *ret_image)
{
	struct export_image image = {{"", 0}, {"", 0}, {"", 0}};
	struct json source;
	struct slice url = {NULL, 0};

	if (json_get(&block->value, "source", &source)) {
		url = member(export, &source, "url");
		image.media_type = member(export, &source, "media_type");
		image.data = member(export, &source, "data");
	} else if (json_get(&block->value, "image_url", &source)) {
		url = source.type == JSON_STRING ? json_string_content(&source, &export->arena)
						 : member(export, &source, "url");
	}
	if (url.data)
		read_address(url, &image);
	*ret_image = image;
	return image.url.len || (image.data.len && image.media_type.len);
}

void export_image_url(struct export *export, const struct export_image *image)
{
	if (image->url.len) {
		export_text(export, image->url);
		return;
	}
	after_comma(export);
	buffer_add_text(export->out, "\"data:");
	json_escape(export->out, image->media_type);
	buffer_add_text(export->out, ";base64,");
	json_escape(export->out, image->data);
	buffer_add_char(export->out, '"');
}

struct slice export_time(struct export *export, const struct message *message)
{
	struct slice time = member(export, &message->record, "ts");
	char text[TIME_TEXT_BYTES];

	if (time.len)
		return time;
	time_text(export->options.created_ns, text);
	return (struct slice){arena_copy(&export->arena, text, strlen(text)), strlen(text)};
}

bool export_model(const struct message *message, struct json *ret_value)
{
	return json_get(&message->record, "model", ret_value) && ret_value->type == JSON_STRING;
}

bool export_source(const struct message *message, const char *key, struct json *ret_value)
{
	struct json source;

	return json_get(&message->record, "src", &source) && json_get(&source, key, ret_value);
}
