/* SPDX-License-Identifier: MIT */
/* Storing what a reader made of a foreign transcript: a session a conversation,
 * all of them or none. */
#include "session/handles.h"

#include "base/alloc.h"
#include "base/id.h"
#include "base/utf8.h"
#include "session/import_repair.h"
#include "session/import_store.h"
#include "transcript/import_tools.h"
#include <stdio.h>

const char *bobbin_import_format(const bobbin_import *import)
{
	return import->read.format;
}

size_t bobbin_import_count(const bobbin_import *import)
{
	return import->count;
}

const struct bobbin_imported *bobbin_import_get(const bobbin_import *import, size_t index)
{
	return index < import->count ? &import->sessions[index] : NULL;
}

const bobbin_faults *bobbin_import_warnings(const bobbin_import *import)
{
	return import->warnings;
}

const struct bobbin_import_tally *bobbin_import_tally(const bobbin_import *import, size_t index)
{
	return index < import->tally_count ? &import->tallies[index] : NULL;
}

const char *const *bobbin_import_formats(void)
{
	return import_formats();
}

const char *bobbin_import_format_about(const char *format)
{
	return import_format_about(format);
}

void bobbin_import_free(bobbin_import *import)
{
	if (!import)
		return;
	bobbin_faults_free(import->warnings);
	mem_free(import->sessions);
	import_release(&import->read);
	mem_free(import);
}

static int keep_warnings(bobbin_import *import, const char *name)
{
	import->warnings = faults_new();
	int rc = import->warnings ? 0 : BOBBIN_ENOMEM;
	for (size_t i = 0; !rc && i < import->read.warning_count; i++)
		rc = faults_add(import->warnings, "import", name, import->read.warnings[i].line,
			import->read.warnings[i].offset, import->read.warnings[i].message, "");
	uint64_t more = import->read.warnings_total - import->read.warning_count;
	if (!rc && more)
		rc = faults_addf(import->warnings, "import", name, 0, 0, "", "and %llu more remark%s", (unsigned long long)more,
			more == 1 ? "" : "s");
	return rc;
}

static int keep_tallies(bobbin_import *import)
{
	const struct import *read = &import->read;
	import->tallies = arena_alloc(&import->read.arena, (read->tally_count + 1) * sizeof(*import->tallies));
	if (!import->tallies)
		return BOBBIN_ENOMEM;
	for (size_t i = 0; i < read->tally_count; i++)
		import->tallies[i] = (struct bobbin_import_tally){
			read->tallies[i].kind, read->tallies[i].what, read->tallies[i].count};
	import->tally_count = read->tally_count;
	return 0;
}

/* What was done, said with the name that the message has in what was read; `number`: of its conversation if there are several. */
static int tell_repairs(struct import *read, const struct import_repairs *repairs, size_t number)
{
	static const char *const of[REPAIRS] = {
		"call", "result", "result", "result", "call id", "sealed block", "message", "message", "text", "call", "call", "call", "line"};
	char conversation[48] = "";
	struct buffer text = BUFFER_INIT(512);
	int rc = 0;
	if (number)
		snprintf(conversation, sizeof(conversation), "conversation %zu, ", number);
	for (int i = 0; !rc && i < REPAIRS; i++) {
		uint64_t count = repairs->counts[i];
		if (!count)
			continue;
		buffer_clear(&text);
		import_add_counted(&text, import_repair_text((enum import_repair)i), count);
		rc = buffer_error(&text);
		if (!rc)
			rc = import_warn(read, (struct place){0, 0}, "repaired: %llu %s%s %.*s (first: %smessage %zu)",
				(unsigned long long)count, of[i], count == 1 ? "" : "s", (int)text.len, text.data, conversation,
				repairs->first[i] + 1);
	}
	buffer_release(&text);
	return rc;
}

static int repair_all(struct import *read, struct bobbin_error *error)
{
	size_t count = read->conversation_count;
	for (size_t i = 0; i < count; i++) {
		struct import_repairs repairs;
		int rc = import_repair(read, &read->conversations[i], &repairs, error);
		if (!rc && (rc = tell_repairs(read, &repairs, count > 1 ? i + 1 : 0)) < 0)
			error_set(error, rc, "out of memory");
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* What was read whole, because it was repaired. */
static int store_all(struct storing *storing, const struct import *read, struct bobbin_error *error)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < read->conversation_count; i++) {
		const struct import_conversation *conversation = &read->conversations[i];
		rc = storing_begin(storing, conversation, error);
		for (size_t k = 0; !rc && k < conversation->record_count; k++)
			rc = storing_record(storing, conversation->records[k], error);
		if (!rc)
			rc = storing_end(storing, conversation, error);
	}
	return rc;
}

static int read_and_store(bobbin_import *import, struct storing *storing, const struct import_input *input,
	struct bobbin_error *error)
{
	const struct bobbin_import_options *options = storing->options;
	const struct import_sink sink = {storing, storing_begin, storing_record, storing_end};
	const struct import_sink *to = options->repair ? NULL : &sink;
	int rc = input->source ? import_read_from(options->format, input->source, to, input->spill, &import->read, error)
			       : import_read_to(options->format, input->data, input->len, to, &import->read, error);
	if (!rc && options->repair && !(rc = repair_all(&import->read, error)))
		rc = store_all(storing, &import->read, error);
	if (!rc && ((rc = keep_warnings(import, options->name ? options->name : "")) < 0 || (rc = keep_tallies(import)) < 0))
		error_set(error, rc, "out of memory");
	return rc;
}

int import_input(bobbin_store *store, const struct import_input *input, const struct bobbin_import_options *options,
	bobbin_import **ret_import, struct bobbin_error *error)
{
	struct bobbin_import_options all = BOBBIN_IMPORT_OPTIONS_INIT;
	if (options)
		memcpy(&all, options, options->size < sizeof(all) ? options->size : sizeof(all));
	if (!all.name)
		all.name = input->name;
	if (store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	if (all.id && !id_is_session(slice_of(all.id)))
		return error_set(error, BOBBIN_EINVAL, "that is not a session id");
	bobbin_import *import = mem_alloc_zero(sizeof(*import));
	if (!import)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	struct storing storing;
	storing_init(&storing, store, import, &all);
	int rc = read_and_store(import, &storing, input, error);
	storing_release(&storing, rc == 0);
	if (rc < 0 && all.name)
		error_prefix(error, "%s", all.name);
	if (rc < 0)
		bobbin_import_free(import);
	else
		*ret_import = import;
	return rc;
}

int bobbin_import_data(bobbin_store *store, const char *data, size_t len,
	const struct bobbin_import_options *options, bobbin_import **ret_import, struct bobbin_error *error)
{
	const struct import_input input = {.data = data ? data : "", .len = data ? len : 0};
	int rc = STORE_CHECK(store, error);
	return rc < 0 ? rc : import_input(store, &input, options, ret_import, error);
}
