/* SPDX-License-Identifier: MIT */
/* The journal of actions, for hosts: what actions/actions.h does, behind the handles of bobbin.h. */
#include "actions/actions.h"
#include "base/alloc.h"
#include "session/handles.h"

struct bobbin_action {
	pid_t process;
	struct action *action;
	struct bobbin_action_info info;
};

struct bobbin_actions {
	struct arena arena;
	struct action_record *records;
	size_t count, next;
	struct bobbin_action_info info;
};

static int check_store(bobbin_store *store, const char *key, bool write, struct bobbin_error *error)
{
	int code = STORE_CHECK(store, error);

	if (code < 0)
		return code;
	if (!key)
		return error_set(error, BOBBIN_EINVAL, "an action needs a key");
	if (write && store->read_only)
		return error_set(error, BOBBIN_EREADONLY, "the store was opened for reading only");
	return 0;
}

static void fill_info(const struct action_record *record, struct bobbin_action_info *ret_info)
{
	*ret_info = (struct bobbin_action_info){
		.key = record->key,
		.state = (int)record->state,
		.attempts = record->attempts,
		.begun_ns = record->begun_ns,
		.ended_ns = record->ended_ns,
		.result = record->result.data,
		.result_len = record->result.len,
		.reference = record->reference,
		.note = record->note,
		.arguments = record->arguments,
	};
}

static struct slice bytes(const void *data, size_t len)
{
	return (struct slice){len ? data : "", len};
}

static struct slice text(const char *data)
{
	return slice_of(data ? data : "");
}

int bobbin_action_begin(bobbin_store *store, const char *key, const char *arguments, size_t len,
	const struct bobbin_action_options *options, bobbin_action **ret_action, struct bobbin_error *error)
{
	struct bobbin_action_options all = BOBBIN_ACTION_OPTIONS_INIT;
	int code = check_store(store, key, true, error);

	if (code < 0)
		return code;
	if (options)
		memcpy(&all, options, options->size < sizeof all ? options->size : sizeof all);
	struct action_options inner = {
		.retry_safe = all.retry_safe,
		.wait_ms = all.wait_ms < 0 ? ACTION_WAIT_FOREVER_MS : all.wait_ms,
	};
	bobbin_action *action = mem_alloc_zero(sizeof *action);
	if (!action)
		return error_set(error, BOBBIN_ENOMEM, "an action: out of memory");
	code = action_begin(
		store->store, slice_of(key), bytes(arguments, len), &inner, &action->action, error);
	if (code < 0) {
		mem_free(action);
		return code;
	}
	action->process = store->process;
	*ret_action = action;
	return code;
}

const struct bobbin_action_info *bobbin_action_info(bobbin_action *action)
{
	fill_info(action_record(action->action), &action->info);
	return &action->info;
}

int bobbin_action_fd(const bobbin_action *action)
{
	return action_lock(action->action);
}

int bobbin_action_end(bobbin_action *action, int state, const void *result, size_t len, const char *reference,
	const char *note, struct bobbin_error *error)
{
	int code = handle_check(action, action ? action->process : 0, error);

	return code < 0 ? code
			: action_end(action->action, (enum action_state)state, bytes(result, len),
				  text(reference), text(note), error);
}

int bobbin_action_again(bobbin_action *action, struct bobbin_error *error)
{
	int code = handle_check(action, action ? action->process : 0, error);

	return code < 0 ? code : action_again(action->action, error);
}

void bobbin_action_close(bobbin_action *action)
{
	if (!action)
		return;
	action_close(action->action);
	mem_free(action);
}

int bobbin_action_settle(bobbin_store *store, const char *key, int happened, const void *result, size_t len,
	const char *reference, const char *note, struct bobbin_error *error)
{
	int code = check_store(store, key, true, error);

	return code < 0 ? code
			: action_settle(store->store, slice_of(key), happened, bytes(result, len),
				  text(reference), text(note), error);
}

static int open_list(bobbin_actions **ret_actions, struct bobbin_error *error)
{
	*ret_actions = mem_alloc_zero(sizeof **ret_actions);
	return *ret_actions ? 0 : error_set(error, BOBBIN_ENOMEM, "listing actions: out of memory");
}

int bobbin_actions_open(bobbin_store *store, const char *prefix, int state, bobbin_actions **ret_actions,
	struct bobbin_error *error)
{
	bobbin_actions *actions;
	int code = check_store(store, "", false, error);

	if (code < 0 || (code = open_list(&actions, error)) < 0)
		return code;
	code = action_list(store->store, text(prefix), (enum action_state)state, &actions->arena,
		&actions->records, &actions->count, error);
	if (code < 0) {
		bobbin_actions_close(actions);
		return code;
	}
	*ret_actions = actions;
	return 0;
}

int bobbin_actions_find(
	bobbin_store *store, const char *key, bobbin_actions **ret_actions, struct bobbin_error *error)
{
	bobbin_actions *actions;
	int code = check_store(store, key, false, error);

	if (code < 0 || (code = open_list(&actions, error)) < 0)
		return code;
	actions->records = arena_alloc(&actions->arena, sizeof *actions->records);
	code = actions->records
		       ? action_find(store->store, slice_of(key), &actions->arena, actions->records, error)
		       : error_set(error, BOBBIN_ENOMEM, "finding an action: out of memory");
	if (code < 0) {
		bobbin_actions_close(actions);
		return code;
	}
	actions->count = 1;
	*ret_actions = actions;
	return 0;
}

const struct bobbin_action_info *bobbin_actions_next(bobbin_actions *actions)
{
	if (actions->next == actions->count)
		return NULL;
	fill_info(&actions->records[actions->next++], &actions->info);
	return &actions->info;
}

void bobbin_actions_close(bobbin_actions *actions)
{
	if (!actions)
		return;
	arena_release(&actions->arena);
	mem_free(actions);
}

const char *bobbin_action_state_name(int state)
{
	return state < ACTION_BEGUN || state > ACTION_UNDONE ? ""
							     : action_state_text((enum action_state)state);
}
