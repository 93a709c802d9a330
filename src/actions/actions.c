/* SPDX-License-Identifier: MIT */
/*
 * One action's way through the journal. Whoever wants an effect takes the key's lock, looks at the row under
 * it, and writes what is to be before it lets anybody act. The row tells what happened; the lock tells
 * whether somebody lives who can still say. Both must be asked, and in this order: a row that is ended needs
 * no lock.
 */
#include "actions/actions.h"
#include <string.h>
#include "actions/row.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/database.h"

#define NS_PER_MS INT64_C(1000000)
#define NAP_NS (20 * NS_PER_MS)	   /* between two looks at what another holder does */
#define GRACE_NS (100 * NS_PER_MS) /* a list looks whether somebody holds a key by taking it for a moment */
#define SHOWN_BYTES 4096

struct action {
	struct store *store;
	sqlite3 *database;
	struct action_lock_file lock;
	bool open; /* begun by us and not ended */
	struct arena arena;
	struct action_record record;
	char key[ACTION_KEY_BYTES + 1];
	uint8_t digest[SHA256_BYTES];
	char *shown;
};

const char *action_state_text(enum action_state state)
{
	static const char *const names[] = {"", "begun", "done", "failed", "unknown", "undone"};

	return names[state];
}

static int check_key(struct slice key, struct bobbin_error *error)
{
	if (key.len == 0 || key.len > ACTION_KEY_BYTES)
		return error_set(error, BOBBIN_EINVAL, "an action's key has 1 to %d bytes", ACTION_KEY_BYTES);
	if (utf8_valid_prefix(key.data, key.len) != key.len)
		return error_set(error, BOBBIN_EINVAL, "an action's key must be UTF-8");
	for (size_t i = 0; i < key.len; i++)
		if ((unsigned char)key.data[i] < 0x20 || key.data[i] == 0x7f)
			return error_set(error, BOBBIN_EINVAL, "an action's key has no control characters");
	return 0;
}

/* JSON in any spelling has one digest. */
static int digest_of(struct slice arguments, uint8_t ret_digest[SHA256_BYTES])
{
	struct json value;
	struct buffer canonical;
	int code;

	if (json_parse(arguments.data, arguments.len, &value, NULL) < 0)
		return sha256_of(arguments.data, arguments.len, ret_digest);
	buffer_init(&canonical, LIMIT_REQUEST_BYTES);
	code = json_canonical(&value, &canonical);
	if (code == 0)
		code = sha256_of(canonical.data, canonical.len, ret_digest);
	buffer_release(&canonical);
	return code;
}

static int fill(struct action *action, struct slice key, struct slice arguments)
{
	memcpy(action->key, key.data, key.len);
	action->shown =
		mem_copy_text(arguments.data, utf8_truncate(arguments.data, arguments.len, SHOWN_BYTES));
	return action->shown ? digest_of(arguments, action->digest) : BOBBIN_ENOMEM;
}

static int open_action(struct store *store, struct slice key, struct slice arguments,
	struct action **ret_action, struct bobbin_error *error)
{
	struct action *action;
	int code = check_key(key, error);

	if (code < 0)
		return code;
	action = mem_alloc_zero(sizeof *action);
	if (!action || fill(action, key, arguments) < 0) {
		action_close(action);
		return error_set(error, BOBBIN_ENOMEM, "an action: out of memory");
	}
	action->store = store;
	action->lock.file = -1;
	code = actions_open(store, true, &action->database, error);
	if (code < 0) {
		action_close(action);
		return code;
	}
	*ret_action = action;
	return 0;
}

/* The row as it is now. 1: there is one, 0: there is none. */
static int look(struct action *action, struct bobbin_error *error)
{
	arena_reset(&action->arena);
	return row_find(action->database, slice_of(action->key), &action->arena, &action->record, error);
}

static bool is_ended(const struct action *action)
{
	return action->record.state == ACTION_DONE || action->record.state == ACTION_FAILED;
}

static int check_arguments(const struct action *action, struct bobbin_error *error)
{
	const struct action_record *record = &action->record;

	if (record->state == ACTION_UNDONE || memcmp(record->digest, action->digest, SHA256_BYTES) == 0)
		return 0;
	return error_set(error, BOBBIN_ECONFLICT,
		"action %s was begun with other arguments (%.100s); another effect needs another key",
		action->key, record->arguments);
}

/* Writes the row as begun by us. */
static int write_begun(struct action *action, bool found, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(action->store);
	struct action_record begun = {
		.key = action->key,
		.state = ACTION_BEGUN,
		.attempts = found ? action->record.attempts + 1 : 1,
		.begun_ns = platform->realtime_ns(platform->context),
		.reference = "",
		.note = "",
		.arguments = action->shown,
	};
	int code;

	memcpy(begun.digest, action->digest, SHA256_BYTES);
	code = row_write(action->database, &begun, error);
	if (code < 0)
		return code;
	action->open = true;
	action->record = begun;
	return ACTION_RUN;
}

static int write_unknown(struct action *action, const char *note, struct bobbin_error *error)
{
	int code;

	action->record.state = ACTION_UNKNOWN;
	action->record.note = note;
	code = row_write(action->database, &action->record, error);
	return code < 0 ? code : ACTION_UNSETTLED;
}

/* With the key's lock: nobody else can change this row until we let go. */
static int decide(struct action *action, const struct action_options *options, struct bobbin_error *error)
{
	int found = look(action, error);
	int code;

	if (found < 0)
		return found;
	if (found == 0 || action->record.state == ACTION_UNDONE)
		return write_begun(action, found == 1, error);
	code = check_arguments(action, error);
	if (code < 0)
		return code;
	if (action->record.state != ACTION_DONE && options->retry_safe)
		return write_begun(action, true, error);
	if (is_ended(action))
		return ACTION_REPLAY;
	if (action->record.state == ACTION_UNKNOWN)
		return ACTION_UNSETTLED;
	return write_unknown(action, "whoever began it ended without saying how it went", error);
}

/* An answer that needs no lock: what is recorded is recorded. 0: there is none yet. */
static int decide_without_lock(
	struct action *action, const struct action_options *options, struct bobbin_error *error)
{
	int found = look(action, error);

	if (found <= 0)
		return found;
	int code = check_arguments(action, error);
	if (code < 0)
		return code;
	return is_ended(action) && (action->record.state == ACTION_DONE || !options->retry_safe)
		       ? ACTION_REPLAY
		       : 0;
}

static int begin(struct action *action, const struct action_options *options, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(action->store);
	int64_t until = platform->monotonic_ns(platform->context) + GRACE_NS + options->wait_ms * NS_PER_MS;

	for (;;) {
		int code = decide_without_lock(action, options, error);
		if (code)
			return code;
		code = action_lock_take(action->store, action->key, &action->lock, error);
		if (code == 0)
			return decide(action, options, error);
		if (code != BOBBIN_EBUSY)
			return code;
		if (platform->monotonic_ns(platform->context) >= until)
			return error_set(error, BOBBIN_EBUSY, "action %s is being done by another process",
				action->key);
		platform->sleep_ns(platform->context, NAP_NS);
	}
}

bool action_has_arguments(const struct action_record *record, struct slice arguments)
{
	uint8_t digest[SHA256_BYTES];

	return digest_of(arguments, digest) == 0 && memcmp(digest, record->digest, SHA256_BYTES) == 0;
}

int action_begin(struct store *store, struct slice key, struct slice arguments,
	const struct action_options *options, struct action **ret_action, struct bobbin_error *error)
{
	static const struct action_options defaults = {0};
	struct action *action;
	int code = open_action(store, key, arguments, &action, error);

	if (code < 0)
		return code;
	code = begin(action, options ? options : &defaults, error);
	if (code < 0) {
		action_close(action);
		return code;
	}
	if (code == ACTION_REPLAY)
		action_lock_drop(store, &action->lock, true);
	*ret_action = action;
	return code;
}

const struct action_record *action_record(const struct action *action)
{
	return &action->record;
}

int action_lock(const struct action *action)
{
	return action->lock.file;
}

static int check_result(
	enum action_state state, struct slice result, struct slice reference, struct bobbin_error *error)
{
	if (state <= ACTION_BEGUN || state > ACTION_UNDONE)
		return error_set(error, BOBBIN_EINVAL, "an action ends done, failed, unknown or undone");
	if (result.len > ACTION_RESULT_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "a result has at most %u bytes", ACTION_RESULT_BYTES);
	if (reference.len > ACTION_KEY_BYTES ||
		utf8_valid_prefix(reference.data, reference.len) != reference.len)
		return error_set(
			error, BOBBIN_EINVAL, "a reference is UTF-8 of at most %d bytes", ACTION_KEY_BYTES);
	return 0;
}

int action_end(struct action *action, enum action_state state, struct slice result, struct slice reference,
	struct slice note, struct bobbin_error *error)
{
	const struct platform *platform = store_platform(action->store);
	int code = check_result(state, result, reference, error);

	if (code < 0)
		return code;
	if (action->lock.file < 0)
		return error_set(error, BOBBIN_EINVAL, "action %s is not ours to end", action->key);
	/* The arguments of this call may be texts of the record, which lie in the arena: it is not reset
	 * here. */
	action->record.result = result;
	action->record.reference = arena_copy(&action->arena, reference.data, reference.len);
	action->record.note = arena_copy(&action->arena, note.data, note.len);
	if (!action->record.reference || !action->record.note)
		return error_set(error, BOBBIN_ENOMEM, "ending action %s: out of memory", action->key);
	action->record.state = state;
	action->record.ended_ns = platform->realtime_ns(platform->context);
	code = row_write(action->database, &action->record, error);
	if (code < 0)
		return code;
	action->open = false;
	/* An effect of unknown outcome may still be going on in a process that inherited the lock. */
	action_lock_drop(action->store, &action->lock, state != ACTION_UNKNOWN);
	code = look(action, error); /* the record's bytes are now our own */
	return code < 0 ? code : 0;
}

int action_again(struct action *action, struct bobbin_error *error)
{
	if (action->lock.file < 0 || action->open || action->record.state != ACTION_UNKNOWN)
		return error_set(error, BOBBIN_EINVAL, "action %s is not one to begin again", action->key);
	int code = write_begun(action, true, error);
	return code < 0 ? code : 0;
}

void action_close(struct action *action)
{
	if (!action)
		return;
	if (action->store)
		action_lock_drop(action->store, &action->lock, false);
	if (action->database)
		database_close(action->database);
	arena_release(&action->arena);
	mem_free(action->shown);
	mem_free(action);
}

static int settle(struct action *action, bool happened, struct slice result, struct slice reference,
	struct slice note, struct bobbin_error *error)
{
	enum action_state wanted = happened ? ACTION_DONE : ACTION_UNDONE;
	int found = look(action, error);

	if (found < 0)
		return found;
	if (found == 0)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no action %s", action->key);
	if (action->record.state == wanted)
		return 0;
	/* A recorded failure may be overruled: whoever settles has looked at the other side. */
	if (action->record.state == ACTION_DONE || action->record.state == ACTION_UNDONE)
		return error_set(error, BOBBIN_ECONFLICT, "action %s is settled: it is %s", action->key,
			action_state_text(action->record.state));
	if (happened)
		return action_end(action, ACTION_DONE, result, reference, note, error);
	action->record.state = ACTION_UNDONE;
	action->record.note = arena_copy(&action->arena, note.data, note.len);
	if (!action->record.note)
		return error_set(error, BOBBIN_ENOMEM, "settling an action: out of memory");
	found = row_write(action->database, &action->record, error);
	if (found == 0)
		action_lock_drop(action->store, &action->lock, true);
	return found;
}

int action_settle(struct store *store, struct slice key, bool happened, struct slice result,
	struct slice reference, struct slice note, struct bobbin_error *error)
{
	struct action *action;
	int code = check_result(ACTION_DONE, result, reference, error);

	if (code == 0)
		code = open_action(store, key, (struct slice){"", 0}, &action, error);
	if (code < 0)
		return code;
	code = action_lock_take(store, action->key, &action->lock, error);
	if (code == BOBBIN_EBUSY)
		error_set(error, code, "action %s is being done right now; settle it when that has ended",
			action->key);
	if (code == 0)
		code = settle(action, happened, result, reference, note, error);
	action_close(action);
	return code;
}
