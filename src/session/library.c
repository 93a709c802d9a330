/* SPDX-License-Identifier: MIT */
/* The library as a whole: version, memory, counting, checking. */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/json.h"
#include "tokens/counter.h"
#include "window/render.h"

const char *bobbin_version(void)
{
	return BOBBIN_VERSION;
}

void bobbin_set_allocator(const struct bobbin_allocator *allocator)
{
	if (!allocator) {
		alloc_set(NULL);
		return;
	}
	const struct allocator copy = {
		allocator->allocate, allocator->reallocate, allocator->release, allocator->context};
	alloc_set(&copy);
}

void bobbin_free(void *memory)
{
	mem_free(memory);
}

int handle_check(const void *handle, pid_t process, struct bobbin_error *error)
{
	if (!handle)
		return error_set(error, BOBBIN_EINVAL, "the handle is NULL");
	if (platform_process() != process)
		return error_set(error, BOBBIN_EINVAL,
			"this handle was opened by the parent process; open it again here");
	return 0;
}

const char *const *bobbin_dialects(void)
{
	return dialect_names();
}

int bobbin_check(const char *dialect, const char *body, size_t len, bobbin_faults **ret_faults,
	struct bobbin_error *error)
{
	struct check_faults found;
	bobbin_faults *faults;
	if (!dialect || (!body && len))
		return error_set(error, BOBBIN_EINVAL, "check needs a dialect and a body");
	int rc = check_request(dialect, (struct slice){body, len}, NULL, &found, error);
	if (rc < 0)
		return rc;
	faults = faults_new();
	rc = faults ? 0 : BOBBIN_ENOMEM;
	for (size_t i = 0; !rc && i < found.count; i++)
		rc = faults_add(faults, found.items[i].rule, found.items[i].where, 0, found.items[i].offset,
			found.items[i].message, found.items[i].advice);
	check_faults_release(&found);
	if (rc < 0) {
		bobbin_faults_free(faults);
		return error_set(error, rc, "out of memory");
	}
	*ret_faults = faults;
	return 0;
}

static int counter_for(const char *encoding, const char *model, struct token_counter *ret_counter,
	struct bobbin_error *error)
{
	if (!encoding) { /* also "openai:NAME", as models are opened */
		const char *colon = model ? strchr(model, ':') : NULL;
		token_counter_for_model(colon ? colon + 1 : model ? model : "", ret_counter);
		return 0;
	}
	if (token_counter_for_encoding(encoding, ret_counter))
		return 0;
	return error_set(error, BOBBIN_EUNSUPPORTED,
		"there is no encoding '%s' in this build; there may be "
		"o200k_base and cl100k_base, and there "
		"is estimate",
		encoding);
}

int bobbin_count_tokens(const char *encoding, const char *model, const char *text, size_t len,
	uint64_t *ret_tokens, int *ret_exact, struct bobbin_error *error)
{
	struct token_counter counter;
	uint64_t tokens;
	if (!text && len)
		return error_set(error, BOBBIN_EINVAL, "there is no text to count");
	int rc = counter_for(encoding, model, &counter, error);
	if (rc < 0)
		return rc;
	rc = token_counter_count(&counter, text ? text : "", len, &tokens);
	if (rc < 0) {
		error_set(error, rc, "the text is too large to be counted");
	} else {
		*ret_tokens = tokens;
		if (ret_exact)
			*ret_exact = counter.exact;
	}
	token_counter_release(&counter);
	return rc;
}

int bobbin_json_member(
	const char *json, size_t len, const char *name, char **ret_text, struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json object, value;
	if (!json || !name)
		return error_set(error, BOBBIN_EINVAL, "a JSON text and the name of a member are needed");
	int rc = json_parse(json, len, &object, error);
	if (rc < 0)
		return rc;
	if (object.type != JSON_OBJECT)
		return error_set(error, BOBBIN_EINPUT, "this is no JSON object");
	if (!json_get(&object, name, &value) || value.type != JSON_STRING)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no string \"%s\" in it", name);
	buffer_reserve(&text, 1); /* memory also for an empty string */
	json_string_decode(&value, JSON_SURROGATES_REPLACE, &text);
	rc = buffer_error(&text);
	char *copy = rc < 0 ? NULL : mem_copy_text(text.data, text.len);
	buffer_release(&text);
	if (!copy)
		return error_set(error, rc < 0 ? rc : BOBBIN_ENOMEM, "the string is too large");
	*ret_text = copy;
	return 0;
}
