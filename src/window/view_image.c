/* SPDX-License-Identifier: MIT */
/*
 * Images from whichever form the log has them in. Only what every strict provider takes comes through: the
 * four media types, base64 that decodes, addresses that are https or http.
 */
#include "window/view.h"

static bool get_string(struct view *view, const struct json *object, const char *key, struct slice *ret_text)
{
	struct json value;

	*ret_text = (struct slice){"", 0};
	if (!json_get(object, key, &value) || value.type != JSON_STRING)
		return false;
	*ret_text = json_string_content(&value, &view->arena);
	if (!ret_text->data) {
		*ret_text = (struct slice){"", 0};
		view_fail(view, BOBBIN_ENOMEM);
		return false;
	}
	return true;
}

static bool is_known_type(struct slice type)
{
	return slice_is(type, "image/png") || slice_is(type, "image/jpeg") || slice_is(type, "image/gif") ||
	       slice_is(type, "image/webp");
}

static bool is_base64(struct slice data)
{
	size_t padding = 0;

	if (data.len == 0 || data.len % 4)
		return false;
	while (padding < 2 && data.data[data.len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < data.len - padding; i++) {
		char c = data.data[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '+' || c == '/'))
			return false;
	}
	return true;
}

static bool is_printable(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] <= ' ' || text.data[i] == 0x7f)
			return false;
	return true;
}

/* data:image/png;base64,… or an address. */
static bool read_url(struct slice url, struct view_image *image)
{
	static const char MARK[] = ";base64,";

	if (slice_starts_with(url, "https://") || slice_starts_with(url, "http://")) {
		image->url = url;
		return is_printable(url);
	}
	if (!slice_starts_with(url, "data:"))
		return false;
	const char *mark = memmem(url.data, url.len < 128 ? url.len : 128, MARK, sizeof(MARK) - 1);
	if (!mark)
		return false;
	image->media_type = (struct slice){url.data + 5, (size_t)(mark - url.data) - 5};
	image->data.data = mark + sizeof(MARK) - 1;
	image->data.len = url.len - (size_t)(image->data.data - url.data);
	return true;
}

/* OpenAI's: image_url is a string or {url, detail}. */
static bool read_openai(struct view *view, const struct json *value, struct view_image *image)
{
	struct json url;
	struct slice text;

	if (!json_get(value, "image_url", &url))
		return false;
	if (url.type == JSON_OBJECT) {
		get_string(view, &url, "detail", &image->detail);
		return get_string(view, &url, "url", &text) && read_url(text, image);
	}
	get_string(view, value, "detail", &image->detail);
	return get_string(view, value, "image_url", &text) && read_url(text, image);
}

/* Anthropic's: a source of type base64 or url. */
static bool read_source(struct view *view, const struct json *source, struct view_image *image)
{
	struct json type;
	struct slice url;

	if (json_get(source, "type", &type) && json_string_is(&type, "url"))
		return get_string(view, source, "url", &url) && read_url(url, image);
	return get_string(view, source, "media_type", &image->media_type) &&
	       get_string(view, source, "data", &image->data);
}

bool view_image_read(struct view *view, const struct block *block, struct view_image *ret_image)
{
	struct view_image image = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
	struct json source;
	bool read = json_get(&block->value, "source", &source) ? read_source(view, &source, &image)
							       : read_openai(view, &block->value, &image);

	if (!read || (!image.url.len && (!is_known_type(image.media_type) || !is_base64(image.data))))
		return false;
	if (!slice_is(image.detail, "low") && !slice_is(image.detail, "high") &&
		!slice_is(image.detail, "auto"))
		image.detail.len = 0;
	*ret_image = image;
	return true;
}
