/* SPDX-License-Identifier: MIT */
/* See address.h. */
#include "model/address.h"

#include <stdlib.h>
#include <strings.h>
#include "base/alloc.h"
#include "base/buffer.h"

#define ADDRESS_BYTES_MAX 4096

static const struct place {
	const char *prefix, *provider, *key_name, *base, *endpoint;
	enum model_dialect dialect;
} places[] = {
	{"openai:", "openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "/chat/completions",
		MODEL_OPENAI_CHAT},
	{"openai-responses:", "openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "/responses",
		MODEL_OPENAI_RESPONSES},
	{"anthropic:", "anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1", "/messages",
		MODEL_ANTHROPIC},
};

static const struct place *place_of(const char *specification)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (slice_starts_with(slice_of(specification), places[i].prefix))
			return &places[i];
	}
	return NULL;
}

bool address_is(const char *specification)
{
	return place_of(specification) != NULL;
}

static bool ends_with(struct slice text, const char *end)
{
	size_t len = strlen(end);
	return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

/* The last "@http://" or "@https://": a model's name may have an @ of its own. */
static const char *find_base(const char *specification)
{
	const char *found = NULL;
	for (const char *at = specification; (at = strchr(at, '@')); at++) {
		if (strncmp(at, "@http://", 8) == 0 || strncmp(at, "@https://", 9) == 0)
			found = at;
	}
	return found;
}

/* The parts of a base address; false if it is not one that can be used. */
static bool read_base(struct slice base, struct slice *ret_host, struct slice *ret_path)
{
	size_t scheme = slice_starts_with(base, "https://") ? 8 : slice_starts_with(base, "http://") ? 7 : 0;
	if (scheme == 0 || base.len > ADDRESS_BYTES_MAX)
		return false;
	for (size_t i = 0; i < base.len; i++) {
		unsigned char c = (unsigned char)base.data[i];
		if (c <= 0x20 || c >= 0x7F || strchr("?#@\\\"", c))
			return false;
	}
	struct slice rest = {base.data + scheme, base.len - scheme};
	const char *slash = memchr(rest.data, '/', rest.len);
	size_t len = slash ? (size_t)(slash - rest.data) : rest.len;
	*ret_host = (struct slice){rest.data, len};
	*ret_path = (struct slice){rest.data + len, rest.len - len};
	return len > 0;
}

static bool is_this_machine(struct slice host)
{
	const char *colon = host.data[0] == '[' ? NULL : memrchr(host.data, ':', host.len);
	size_t len = colon ? (size_t)(colon - host.data) : host.len;
	struct slice name = {host.data, len};
	return (len == 9 && strncasecmp(name.data, "localhost", 9) == 0) ||
	       slice_starts_with(name, "[::1]") ||
	       (slice_starts_with(name, "127.") && strspn(name.data, "0123456789.") >= len);
}

static int set_url(struct address *address, const struct place *place, struct slice base, struct slice path)
{
	struct buffer url = BUFFER_INIT(2 * ADDRESS_BYTES_MAX);
	buffer_add_slice(&url, base);
	bool whole = ends_with(path, place->endpoint);
	bool versioned = path.len > 0 && (place->dialect != MODEL_ANTHROPIC || ends_with(path, "/v1"));
	if (!whole && !versioned)
		buffer_add_text(&url, "/v1");
	if (!whole)
		buffer_add_text(&url, place->endpoint);
	address->url = buffer_take(&url, NULL);
	return address->url ? 0 : BOBBIN_ENOMEM;
}

/* The key goes into a header, so it is what a header may hold. */
static bool key_is_good(const char *key)
{
	for (; *key; key++) {
		if ((unsigned char)*key <= 0x20 || (unsigned char)*key >= 0x7F)
			return false;
	}
	return true;
}

static int read_key(struct address *address, bool needed, bool safe, struct bobbin_error *error)
{
	const char *key = getenv(address->key_name);
	if (!key || !*key) {
		if (needed)
			return error_set(error, BOBBIN_EINVAL, "%s is not set: %s asks for a key",
				address->key_name, address->host);
		return 0;
	}
	if (!key_is_good(key))
		return error_set(error, BOBBIN_EINVAL,
			"%s holds a space, a line end or another character that no key has",
			address->key_name);
	address->withheld = !safe;
	if (!safe)
		return 0;
	address->key = mem_copy_text(key, strlen(key));
	return address->key ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
}

static int set_headers(struct address *address)
{
	size_t count = 0;
	bool anthropic = address->dialect == MODEL_ANTHROPIC;
	struct buffer line = BUFFER_INIT(SIZE_MAX / 2);
	if (address->key) {
		buffer_addf(&line, anthropic ? "x-api-key: %s" : "Authorization: Bearer %s", address->key);
		if (!(address->headers[count++] = buffer_take(&line, NULL)))
			return BOBBIN_ENOMEM;
	}
	if (anthropic) {
		buffer_add_text(&line, "anthropic-version: 2023-06-01");
		if (!(address->headers[count++] = buffer_take(&line, NULL)))
			return BOBBIN_ENOMEM;
	}
	return 0;
}

/* The model's name, which may hold an @ and a colon ("llama3:8b"), and the base after it. */
static int read_name(
	struct address *address, const char *text, struct slice *ret_base, struct bobbin_error *error)
{
	const char *at = find_base(text), *variable = getenv("BOBBIN_BASE_URL");
	size_t len = at ? (size_t)(at - text) : strlen(text);
	if (len == 0)
		return error_set(error, BOBBIN_EINVAL, "%s: needs the name of a model after the colon",
			address->provider);
	if (at)
		*ret_base = slice_of(at + 1);
	else if (variable && *variable)
		*ret_base = slice_of(variable);
	address->name = mem_copy_text(text, len);
	return address->name ? 0 : error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
}

int address_read(const char *specification, struct address *ret_address, struct bobbin_error *error)
{
	const struct place *place = place_of(specification);
	struct address *address = ret_address;
	struct slice base = slice_of(place->base), host, path;
	*address = (struct address){
		.dialect = place->dialect, .provider = place->provider, .key_name = place->key_name};
	int rc = read_name(address, specification + strlen(place->prefix), &base, error);
	if (rc < 0)
		return rc;
	bool own = slice_is(base, place->base);
	while (base.len > 0 && base.data[base.len - 1] == '/')
		base.len--;
	if (!read_base(base, &host, &path))
		return error_set(error, BOBBIN_EINVAL,
			"the base address must be http:// or https://, a host, and maybe a port and a path; "
			"no user, no query");
	address->host = mem_copy_text(host.data, host.len);
	if (!address->host || set_url(address, place, base, path) < 0)
		return error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
	rc = read_key(address, own, slice_starts_with(base, "https:") || is_this_machine(host), error);
	if (rc == 0 && (rc = set_headers(address)) < 0)
		error_set(error, rc, "out of memory opening a model");
	return rc;
}

void address_release(struct address *address)
{
	mem_free(address->name);
	mem_free(address->url);
	mem_free(address->host);
	mem_free(address->key);
	for (size_t i = 0; i < ADDRESS_HEADERS; i++)
		mem_free(address->headers[i]);
}
