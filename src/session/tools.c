/* SPDX-License-Identifier: MIT */
/*
 * The tools of bobbin.h that a model may use: they answer from the session itself. One table; a tool is a definition and a
 * function of its arguments. What goes wrong is said to the model, as an error result.
 */
#include "actions/actions.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "session/checklist.h"
#include "session/tools.h"
#include "session/workspace.h"

#define RECALL_EXCERPTS 5
#define READ_BYTES ((size_t)64 << 10) /* of a file in one result; the rest is read on */
#define ACTIONS_LISTED 20

struct slice tool_text(struct call *call, const char *name)
{
	struct json value;

	if (!json_get(&call->arguments, name, &value) || value.type != JSON_STRING)
		return (struct slice){NULL, 0};
	/* Those that take it want a NUL behind it, which a text that stands in the arguments has not. */
	struct slice text = json_string_content(&value, &call->arena);
	char *copy = text.data ? arena_copy(&call->arena, text.data, text.len) : NULL;
	return (struct slice){copy, copy ? text.len : 0};
}

int tool_need(struct call *call, const char *name, struct slice *ret_text)
{
	*ret_text = tool_text(call, name);
	return ret_text->data ? 0 : error_set(call->error, BOBBIN_EINPUT, "\"%s\" is missing: a text", name);
}

static int run_recall(struct call *call)
{
	const struct bobbin_hit *hit;
	bobbin_recall *found;
	struct slice query;
	size_t count = 0;
	int rc = tool_need(call, "query", &query);

	if (!rc)
		rc = bobbin_session_recall(call->session, query.data, RECALL_EXCERPTS, &found, call->error);
	if (rc < 0)
		return rc;
	for (; (hit = bobbin_recall_get(found, count)); count++) {
		buffer_addf(&call->out, "[%s, %s] ", hit->name, hit->role);
		buffer_add(&call->out, hit->excerpt, hit->excerpt_len);
		buffer_add_char(&call->out, '\n');
	}
	bobbin_recall_free(found);
	if (!count)
		buffer_addf(&call->out, "nothing in this session matches \"%s\"", query.data);
	return 0;
}

static int run_list(struct call *call)
{
	const struct bobbin_file *file;
	bobbin_files *files;
	size_t count = 0;
	int rc = bobbin_files_open(call->session, NULL, &files, call->error);

	if (rc < 0)
		return rc;
	for (; (file = bobbin_files_next(files)); count++)
		buffer_addf(&call->out, "%s  %llu bytes\n", file->path, (unsigned long long)file->size);
	bobbin_files_close(files);
	if (!count)
		buffer_add_text(&call->out, "the workspace has no files");
	return 0;
}

static int run_read(struct call *call)
{
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 2);
	struct json value;
	struct slice path;
	int64_t offset = 0;
	int rc = tool_need(call, "path", &path);

	if (!rc && json_get(&call->arguments, "offset", &value) && (!json_int64(&value, &offset) || offset < 0))
		rc = error_set(call->error, BOBBIN_EINPUT, "\"offset\" is a number of bytes");
	if (!rc)
		rc = workspace_read(call->session, path, &content, call->error);
	if (!rc && utf8_valid_prefix(buffer_slice(&content).data, content.len) != content.len)
		rc = error_set(call->error, BOBBIN_EINPUT, "%s is no text (%zu bytes)", path.data, content.len);
	if (!rc && content.len && (uint64_t)offset >= content.len)
		rc = error_set(call->error, BOBBIN_EINPUT, "%s has %zu bytes", path.data, content.len);
	if (!rc) {
		const char *data = buffer_slice(&content).data + offset;
		size_t rest = content.len - (size_t)offset, shown = utf8_truncate(data, rest, READ_BYTES);
		utf8_add_clean(&call->out, data, shown);
		if (shown < rest)
			buffer_addf(&call->out, "\n[%zu more bytes; read on with \"offset\":%zu]", rest - shown,
				(size_t)offset + shown);
	}
	buffer_release(&content);
	return rc;
}

static int run_write(struct call *call)
{
	struct slice path, content;
	int rc = tool_need(call, "path", &path);

	if (!rc)
		rc = tool_need(call, "content", &content);
	if (!rc)
		rc = workspace_put(call->session, path, content, "tool", call->error);
	if (!rc)
		buffer_addf(&call->out, "written: %s, %zu bytes", path.data, content.len);
	return rc;
}

/* ---- Checking off ---- */

struct search {
	struct checklist_item found, next; /* next: the first open one that is not it */
	size_t equal, holding, open, all;
	bool has_next;
};

static void find_item(struct slice content, struct slice wanted, struct search *search)
{
	struct checklist_item item, holding = {0};

	*search = (struct search){0};
	for (size_t at = 0; at < content.len;) {
		if (!checklist_item_at(content, at, &at, &item))
			continue;
		search->all++;
		search->open += !item.done;
		if (slice_equal(item.text, wanted)) {
			if (!search->equal || !item.done)
				search->found = item;
			search->equal++;
		} else if (memmem(item.text.data, item.text.len, wanted.data, wanted.len)) {
			holding = item;
			search->holding++;
		}
	}
	if (!search->equal && search->holding == 1)
		search->found = holding;
	for (size_t at = 0; at < content.len && !search->has_next;)
		if (checklist_item_at(content, at, &at, &item) && !item.done && item.box != search->found.box) {
			search->next = item;
			search->has_next = true;
		}
}

static int check_item(struct call *call, struct slice path, struct slice wanted, struct buffer *content)
{
	struct search search;

	find_item(buffer_slice(content), wanted, &search);
	if (!search.equal && search.holding != 1)
		return error_set(call->error, BOBBIN_EINPUT, search.holding ? "%zu items of %s hold \"%.200s\": say all of one"
									  : "none of the %zu items of %s holds \"%.200s\"",
			search.holding ? search.holding : search.all, path.data, wanted.data);
	if (!search.found.done) {
		content->data[search.found.box] = 'x';
		search.open--;
	}
	int rc = search.found.done ? 0
				   : workspace_put(call->session, path, buffer_slice(content), "tool", call->error);
	if (rc < 0)
		return rc;
	buffer_addf(&call->out, "%s: ", search.found.done ? "was checked off already" : "checked off");
	buffer_add_slice(&call->out, search.found.text);
	buffer_addf(&call->out, "\n%zu of %zu left", search.open, search.all);
	if (search.has_next) {
		buffer_add_text(&call->out, "; next: ");
		buffer_add_slice(&call->out, search.next.text);
	}
	return 0;
}

static int run_check_off(struct call *call)
{
	struct buffer content = BUFFER_INIT((size_t)LIMIT_FILE_BYTES + 2);
	struct slice path, item;
	int rc = tool_need(call, "path", &path);

	if (!rc)
		rc = tool_need(call, "item", &item);
	if (!rc && !(item = checklist_trim(item)).len)
		rc = error_set(call->error, BOBBIN_EINPUT, "which item?");
	if (!rc)
		rc = workspace_read(call->session, path, &content, call->error);
	if (!rc)
		rc = check_item(call, path, item, &content);
	buffer_release(&content);
	return rc;
}

/* ---- The journal ---- */

static void add_action(struct call *call, const struct action_record *record)
{
	buffer_addf(&call->out, "%s: %s%s%s", record->key, action_state_text(record->state),
		*record->reference ? ", known there as " : "", record->reference);
	if (record->state == ACTION_UNKNOWN || record->state == ACTION_BEGUN)
		buffer_add_text(&call->out, " (it may have happened: check before doing it again)");
	buffer_add_char(&call->out, '\n');
}

static int run_once(struct call *call)
{
	struct store *store = call->session->store->store;
	struct slice key = tool_text(call, "key");
	struct action_record record, *records;
	size_t count;

	if (key.len) {
		int rc = action_find(store, key, &call->arena, &record, call->error);
		if (rc == BOBBIN_ENOTFOUND)
			buffer_addf(&call->out, "%s: never begun\n", key.data);
		if (rc < 0)
			return rc == BOBBIN_ENOTFOUND ? 0 : rc;
		add_action(call, &record);
		utf8_add_clean(&call->out, record.result.data, record.result.len < READ_BYTES ? record.result.len : READ_BYTES);
		return 0;
	}
	int rc = action_list(
		store, SLICE_LITERAL(""), (enum action_state)0, &call->arena, &records, &count, call->error);
	if (rc < 0 && rc != BOBBIN_ENOTFOUND)
		return rc;
	for (size_t i = 0; !rc && i < count && i < ACTIONS_LISTED; i++)
		add_action(call, &records[i]);
	if (rc || !count)
		buffer_add_text(&call->out, "nothing was begun yet");
	return 0;
}

/* ---- The table ---- */

#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"
#define TOOL(name, about, properties, required)                                                              \
	"{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"description\":\"" about                        \
	"\",\"parameters\":{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}}}"

static const char definitions[] =
	"[" TOOL("recall",
		"Find earlier messages of this conversation, also those no longer shown. Give a message id, a range of "
		"ids, or words that occur in it.",
		TEXT("query"), "\"query\"") ","
	TOOL("list_files", "The files of this conversation's workspace, with their sizes.", "", "") ","
	TOOL("read_file", "Read a text file of the workspace.", TEXT("path") ",\"offset\":{\"type\":\"integer\"}", "\"path\"") ","
	TOOL("write_file", "Write a text file of the workspace, whole. Earlier versions are kept.",
		TEXT("path") "," TEXT("content"), "\"path\",\"content\"") ","
	TOOL("check_off", "Mark an item of a list in a file as done: '- [ ] item' becomes '- [x] item'.",
		TEXT("path") "," TEXT("item"), "\"path\",\"item\"") ","
	TOOL("once", "Whether something with an effect outside was done already, and its recorded result. Without a key: the newest.",
		TEXT("key"), "") ","
	TOOL("memory_search", "What is known about the user from all their conversations. past: also what does not hold any more.",
		TEXT("query") ",\"past\":{\"type\":\"boolean\"}", "\"query\"") ","
	TOOL("memory_add",
		"Keep something about the user for later conversations, one sentence. If they said it in these words (in the "
		"newest message, or in the one with that id) it is kept; anything else waits until they agree.",
		TEXT("text") "," TEXT("message"), "\"text\"") "]";

static const struct {
	const char *name;
	int (*run)(struct call *call);
} tools[] = {
	{"recall", run_recall},
	{"list_files", run_list},
	{"read_file", run_read},
	{"write_file", run_write},
	{"check_off", run_check_off},
	{"once", run_once},
	{"memory_search", tool_memory_search},
	{"memory_add", tool_memory_add},
};

const char *bobbin_tools(void)
{
	return definitions;
}

static int run(struct call *call, int (*tool)(struct call *call), const char *arguments, size_t len)
{
	static const char none[] = "{}";

	if (!len) {
		arguments = none;
		len = sizeof(none) - 1;
	}
	int rc = json_parse(arguments, len, &call->arguments, call->error);
	if (!rc && call->arguments.type != JSON_OBJECT)
		rc = error_set(call->error, BOBBIN_EINPUT, "the arguments are no JSON object");
	if (!rc)
		rc = tool(call);
	return rc ? rc : buffer_error(&call->out);
}

int bobbin_tool_run(bobbin_session *session, const char *name, const char *arguments, size_t len, char **ret_text,
	int *ret_is_error, struct bobbin_error *error)
{
	struct bobbin_error why = {0};
	struct call call = {.session = session, .arena = ARENA_INIT, .out = BUFFER_INIT(LIMIT_LINE_BYTES), .error = &why};
	size_t at = 0;
	int rc = SESSION_CHECK(session, error);

	if (rc < 0)
		return rc;
	if (!name || (!arguments && len))
		return error_set(error, BOBBIN_EINVAL, "a tool needs a name and arguments");
	while (at < sizeof(tools) / sizeof(tools[0]) && strcmp(tools[at].name, name) != 0)
		at++;
	if (at == sizeof(tools) / sizeof(tools[0]))
		return error_set(error, BOBBIN_ENOTFOUND, "there is no tool %.60s", name);
	rc = run(&call, tools[at].run, arguments, len);
	if (rc < 0) {
		buffer_release(&call.out);
		call.out = (struct buffer)BUFFER_INIT(4096);
		buffer_add_text(&call.out, *why.message ? why.message : error_code_text(rc));
	}
	buffer_add(&call.out, "", 0);
	char *text = rc == BOBBIN_ENOMEM ? NULL : buffer_take(&call.out, NULL);
	buffer_release(&call.out);
	arena_release(&call.arena);
	if (!text)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	*ret_text = text;
	*ret_is_error = rc < 0;
	return 0;
}
