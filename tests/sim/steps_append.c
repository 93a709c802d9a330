/* SPDX-License-Identifier: MIT */
/* Steps that append: what is written, what must be answered, and what must stand in the log afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "sim/world.h"

#define RECORDS_MAX 4
#define TEXT_BYTES_MAX 6000

/* One call of log_append on its way. */
struct append {
	struct sim_world *world;
	struct sim_writer *writer;
	struct sim_handle *handle;
	int number;
	struct sim_view *view; /* before */
	size_t size;	       /* of the file, before */
	int entries[RECORDS_MAX];
	size_t count;
	struct log_append_options options;
	char expected_head[SIM_ID_BYTES];
	uint32_t allowed; /* codes that are right */
	uint32_t wanted;  /* if not 0: one of these must come */
	bool again;	  /* an entry that was sent before */
	int repeats;	  /* node of the view that is the same message, or -1 */
};

static struct sim_entry *entry_of(struct append *append, size_t at)
{
	return &append->world->ledger.entries[append->entries[at]];
}

/* ---- Records */

/* Mostly short, sometimes over several sectors; with letters of one to four bytes. */
static size_t text_length(uint32_t choice)
{
	uint32_t size = choice >> 8;
	return choice % 20 < 14 ? size % 80 : choice % 20 < 19 ? 200 + size % 700 : 1500 + size % 3500;
}

static void add_text(struct buffer *members, uint32_t choice)
{
	static const char *const LETTERS[] = {
		"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\n", "{\\\"seq\\\":1}"};
	size_t length = text_length(choice), start = members->len;

	buffer_add_text(members, ",\"content\":\"");
	for (uint32_t i = choice; members->len - start < length; i = i * 1664525u + 1013904223u)
		buffer_add_text(members, LETTERS[(i >> 24) % 9 < 6 ? (i >> 24) % 9 : 0]);
	buffer_add_char(members, '"');
}

static void add_calls(struct buffer *members, int number, unsigned count)
{
	buffer_add_text(members, ",\"tool_calls\":[");
	for (unsigned i = 0; i < count; i++)
		buffer_addf(members, "%s{\"id\":\"c%dx%u\",\"name\":\"look\",\"arguments\":\"{}\"}",
			i ? "," : "", number, i);
	buffer_add_char(members, ']');
}

static void add_parent(struct buffer *members, const struct sim_entry *entry)
{
	if (entry->parent_kind == SIM_AT_ROOT)
		buffer_add_text(members, ",\"parent\":null");
	else if (entry->parent_kind == SIM_AT_ID)
		buffer_addf(members, ",\"parent\":\"%s\"", entry->parent);
	if (entry->branch)
		buffer_add_text(members, ",\"branch\":true");
}

/* What a message's members are, once everything about it is chosen. */
static void write_message(struct append *append, size_t at, uint32_t choice)
{
	static const char *const ROLES[] = {"user", "assistant", "tool"};
	struct sim_entry *entry = entry_of(append, at);
	struct buffer members = BUFFER_INIT(2 * TEXT_BYTES_MAX);

	buffer_addf(&members, "\"tok\":%d,\"role\":\"%s\"", append->entries[at], ROLES[entry->kind]);
	if (entry->id[0])
		buffer_addf(&members, ",\"id\":\"%s\"", entry->id);
	add_parent(&members, entry);
	if (entry->call[0])
		buffer_addf(&members, ",\"tool_call_id\":\"%s\"", entry->call);
	add_text(&members, choice);
	if (entry->calls)
		add_calls(&members, append->entries[at], entry->calls);
	entry->members = sim_room(members.len + 1);
	memcpy(entry->members, members.data, members.len + 1);
	buffer_release(&members);
}

static struct sim_entry *add_entry(struct append *append, enum sim_kind kind)
{
	struct sim_ledger *ledger = &append->world->ledger;
	struct sim_entry *entry = sim_ledger_add(ledger, append->number, kind);
	append->entries[append->count++] = ledger->entry_count - 1;
	return entry;
}

static struct sim_entry *add_message(struct append *append, enum sim_kind kind, uint32_t choice)
{
	struct sim_entry *entry = add_entry(append, kind);
	if (choice % 5 < 2)
		snprintf(entry->id, sizeof(entry->id), "k%d", append->entries[append->count - 1]);
	return entry;
}

static void plan_message(struct append *append, const struct sim_step *step)
{
	bool user = step->a % 3 == 0;
	struct sim_entry *entry = add_message(append, user ? SIM_USER : SIM_ASSISTANT, step->b);
	if (!user && step->a % 3 == 2)
		entry->calls = 1 + step->b % 3;
	write_message(append, 0, step->c);
}

static void plan_control(struct append *append, const struct sim_step *step)
{
	static const char *const MEMBERS[] = {
		"\"type\":\"usage\",\"for\":\"m1\",\"kind\":\"chat\",\"input\":812,\"cached\":700,\"output\":"
		"31",
		"\"type\":\"run\",\"run\":\"run_42\",\"routine\":\"digest\"",
		"\"type\":\"segment\",\"key\":\"sha256:00\",\"covers\":[\"m1\",\"m2\"],\"record\":{\"facts\":"
		"[]}",
		"\"type\":\"compaction\",\"cut\":\"m3\",\"source\":\"sha256:00\",\"inner\":null,\"record\":{"
		"}",
		"\"type\":\"clear\",\"through\":\"m2\"",
		"\"type\":\"tomorrow\",\"x\":1e400,\"y\":[1.10,-0]",
	};
	struct sim_entry *entry = add_entry(append, SIM_CONTROL);
	struct buffer members = BUFFER_INIT(2 * TEXT_BYTES_MAX);

	buffer_addf(&members, "\"tok\":%d,%s", append->entries[0], MEMBERS[step->a % 6]);
	add_text(&members, step->c);
	entry->members = sim_room(members.len + 1);
	memcpy(entry->members, members.data, members.len + 1);
	buffer_release(&members);
}

/* A result for some call of the session: in its batch, late, or given twice. */
static void plan_result(struct append *append, const struct sim_step *step)
{
	const struct sim_view *view = append->view;
	int found = -1;

	for (int i = 0; i < view->count; i++)
		if (append->world->ledger.entries[view->nodes[i].entry].calls &&
			(found < 0 || (step->a >> (unsigned)i % 32) % 2 ||
				sim_view_on_line(view, i, view->head)))
			found = i;
	if (found < 0) {
		plan_message(append, step);
		return;
	}
	struct sim_entry *entry = add_message(append, SIM_TOOL, step->b);
	int call = view->nodes[found].entry;
	snprintf(entry->call, sizeof(entry->call), "c%dx%u", call,
		step->b % append->world->ledger.entries[call].calls);
	write_message(append, 0, step->c);
}

/* An edit, or a message beside the line. */
static void plan_edit(struct append *append, const struct sim_step *step)
{
	struct sim_entry *entry = add_message(append, step->a % 2 ? SIM_USER : SIM_ASSISTANT, step->b);

	entry->branch = step->a % 4 != 3;
	entry->parent_kind = SIM_AT_ROOT;
	if (append->view->count && step->b % 9) {
		entry->parent_kind = SIM_AT_ID;
		sim_view_name(append->view, (int)(step->b % (uint32_t)append->view->count), step->a >> 8,
			entry->parent);
	}
	write_message(append, 0, step->c);
}

/* A message with an id of its own once more, or another one under that id. */
static void plan_repeat(struct append *append, const struct sim_step *step)
{
	struct sim_ledger *ledger = &append->world->ledger;
	int found = -1;

	for (int i = 0; i < ledger->entry_count; i++) {
		const struct sim_entry *entry = &ledger->entries[i];
		bool inherited = sim_view_find(append->view, entry->id) >= 0;
		/* Rather one whose writer was not told. */
		bool better = found < 0 || (step->b >> (unsigned)i % 32) % 2 ||
			      (step->a % 4 > 1 && ledger->entries[found].promise > SIM_NOTHING);
		if (found >= 0 && step->a % 4 > 1 && entry->promise > SIM_NOTHING &&
			ledger->entries[found].promise == SIM_NOTHING)
			better = false;
		if (entry->id[0] && !entry->refused && (entry->log == append->number || inherited) && better)
			found = i;
	}
	if (found < 0) {
		plan_message(append, step);
		return;
	}
	struct sim_entry *entry = &ledger->entries[found];
	int node = sim_view_find(append->view, entry->id);
	if (step->a % 4 == 0 && node >= 0) {
		struct sim_entry *other = add_entry(append, SIM_USER);
		snprintf(other->id, sizeof(other->id), "%s", entry->id);
		write_message(append, 0, step->c);
		other->refused = true;
		append->wanted = SIM_CODE(BOBBIN_EEXIST);
		return;
	}
	append->entries[append->count++] = found;
	append->again = true;
	append->repeats = node;
	if (node < 0) { /* lost, or never there: it is written anew, and what rested on it stays broken */
		ledger->logs[entry->log].doubtful |= entry->doubtful;
		entry->lost = entry->doubtful = false;
	}
	if (entry->parent_kind == SIM_AT_ID && sim_view_find(append->view, entry->parent) < 0)
		append->allowed |= SIM_CODE(BOBBIN_EINPUT);
}

/* Compare and swap on the head as this writer knows it, which may be old. */
static void plan_expect(struct append *append, const struct sim_step *step)
{
	uint32_t head = log_head(append->handle->log);
	char id[PATH_ID_BYTES] = "";

	if (head != NODE_NONE && log_node_id(append->handle->log, head, id, NULL) == 0)
		snprintf(append->expected_head, sizeof(append->expected_head), "%.39s", id);
	append->options.check_head = true;
	append->options.expected_head = id[0] ? slice_of(append->expected_head) : (struct slice){NULL, 0};
	append->options.on_conflict = step->b % 2 ? LOG_CONFLICT_REFUSE : LOG_CONFLICT_ASIDE;
	add_message(append, step->a % 2 ? SIM_USER : SIM_ASSISTANT, step->b);
	write_message(append, 0, step->c);
	const char *now = append->view->head < 0 ? "" : append->view->nodes[append->view->head].id;
	bool gone = append->expected_head[0] && sim_view_find(append->view, append->expected_head) < 0;
	if (strcmp(now, append->expected_head) != 0 &&
		(gone || append->options.on_conflict == LOG_CONFLICT_REFUSE))
		append->wanted = SIM_CODE(BOBBIN_ECONFLICT);
}

static void plan_several(struct append *append, const struct sim_step *step)
{
	add_message(append, SIM_USER, step->b);
	write_message(append, 0, step->c);
	add_message(append, SIM_ASSISTANT, step->b >> 3)->calls = 1;
	write_message(append, 1, step->c >> 5);
	struct sim_entry *result = add_message(append, SIM_TOOL, step->b >> 6);
	snprintf(result->call, sizeof(result->call), "c%dx0", append->entries[1]);
	write_message(append, 2, step->c >> 10);
}

/* What must be refused, and leave no trace. */
static void plan_wrong(struct append *append, const struct sim_step *step)
{
	struct sim_entry *entry;

	if (step->a % 2) {
		add_message(append, SIM_USER, 4);
		write_message(append, 0, step->c);
		entry_of(append, 0)->refused = true;
	}
	entry = add_message(append, SIM_USER, 4);
	entry->refused = true;
	if (step->a % 3 == 0) {
		entry->parent_kind = SIM_AT_ID;
		snprintf(entry->parent, sizeof(entry->parent), "nobody");
	} else
		snprintf(entry->id, sizeof(entry->id), "m%u", 1 + step->b % 90);
	write_message(append, append->count - 1, step->c);
	append->wanted = SIM_CODE(BOBBIN_EINPUT);
}

static void plan(struct append *append, const struct sim_step *step)
{
	switch (step->kind) {
	case SIM_DO_CONTROL:
		plan_control(append, step);
		break;
	case SIM_DO_RESULT:
		plan_result(append, step);
		break;
	case SIM_DO_EDIT:
		plan_edit(append, step);
		break;
	case SIM_DO_REPEAT:
		plan_repeat(append, step);
		break;
	case SIM_DO_EXPECT:
		plan_expect(append, step);
		break;
	case SIM_DO_SEVERAL:
		plan_several(append, step);
		break;
	case SIM_DO_WRONG:
		plan_wrong(append, step);
		break;
	default:
		plan_message(append, step);
	}
}

/* ---- Answers */

static void promise(struct append *append, struct sim_entry *entry, uint64_t seq)
{
	struct sim_log *log = &append->world->ledger.logs[entry->log];
	enum sim_promise promised =
		log->durable_mode && !entry->doubtful ? SIM_SURVIVES_POWER : SIM_SURVIVES_PROCESS;

	if (entry->seq && entry->seq != seq)
		sim_fail(append->world, "entry acknowledged with seq %llu, and now with %llu",
			(unsigned long long)entry->seq, (unsigned long long)seq);
	if (entry->promise < promised)
		entry->promise = promised;
	entry->seq = seq;
	log->checked = 0;
	append->world->acknowledged++;
}

/* After the promise: what stands in the file follows from what was asked. */
static void check_placed(struct append *append, const struct log_ack *acks)
{
	struct sim_world *world = append->world;
	const char *head = append->expected_head;
	bool checked = append->options.check_head && !acks[0].repeated;

	if (!sim_view(&world->ledger, append->number, append->view))
		return;
	int node = sim_view_find(append->view, acks[0].id);
	if (entry_of(append, 0)->kind > SIM_TOOL)
		return;
	if (node < 0 || append->view->nodes[node].entry != append->entries[0])
		sim_fail(world, "%s was acknowledged and is not in the tree", acks[0].id);
	else if (checked) {
		int parent = append->view->nodes[node].parent;
		if (strcmp(parent < 0 ? "" : append->view->nodes[parent].id, head) != 0)
			sim_fail(world, "%s does not follow the head that was expected, '%s'", acks[0].id,
				head);
	}
}

/* A write that failed is cut off again: the file ends with a whole record. */
static void check_end(struct append *append)
{
	const struct sim_process *process = &append->writer->process;
	const struct sim_log *log = &append->world->ledger.logs[append->number];

	if (append->world->disturbed || process->dead || log->file < 0 ||
		(process->fail_calls & SIM_TRUNCATE))
		return;
	struct sim_scan *scan = sim_room(sizeof(*scan));
	sim_scan(&append->world->ledger, append->number, scan);
	const struct sim_line *last = scan->count ? &scan->lines[scan->count - 1] : NULL;
	if (scan->size > append->size && (!last || last->offset + last->len + 1 < scan->size))
		sim_fail(append->world, "a part of what could not be written was left in %s", log->id);
	free(scan);
}

static void settle(struct append *append, int rc, const struct log_ack *acks)
{
	struct sim_world *world = append->world;
	bool unknown = rc == BOBBIN_EUNKNOWN || append->writer->process.sync_failures ||
		       append->writer->process.dead;

	for (size_t i = 0; i < append->count; i++) {
		struct sim_entry *entry = entry_of(append, i);
		if (acks[i].seq)
			promise(append, entry, acks[i].seq);
		else if (rc == 0)
			sim_fail(world, "acknowledged without a seq");
		else if (!unknown && !append->again && append->writer->process.failures < 2)
			entry->refused = true;
	}
	if (rc == 0 && append->repeats >= 0 && !world->disturbed &&
		(!acks[0].repeated || acks[0].seq != append->view->nodes[append->repeats].seq))
		sim_fail(world, "a message sent again was not acknowledged again");
	if (rc == 0 && append->repeats < 0 && acks[0].repeated && !world->disturbed)
		sim_fail(world, "a message that was not there was acknowledged as one that was");
	if (rc == 0)
		check_placed(append, acks);
	else
		check_end(append);
}

static void describe(struct append *append, const struct sim_step *step)
{
	static const char *const NAMES[] = {
		"append", "control", "result", "edit", "repeat", "expect", "several", "wrong"};
	const struct sim_log *log = &append->world->ledger.logs[append->number];
	const struct sim_entry *entry = entry_of(append, 0);

	sim_tell(append->world, " %s to %s (i%d): entry %d%s%s%s%s", NAMES[step->kind], log->id,
		append->number, append->entries[0], entry->id[0] ? " id " : "", entry->id,
		entry->parent[0] ? " parent " : "", entry->parent);
	if (append->options.check_head)
		sim_tell(append->world, " head '%s'%s", append->expected_head,
			append->options.on_conflict == LOG_CONFLICT_ASIDE ? " or aside" : "");
}

static void send(struct append *append, const struct sim_step *step)
{
	struct sim_world *world = append->world;
	struct slice records[RECORDS_MAX];
	struct buffer texts[RECORDS_MAX];
	struct log_ack acks[RECORDS_MAX] = {0};
	struct bobbin_error error = {0};
	bool gone =
		sim_ledger_find_log(&world->ledger, world->ledger.logs[append->number].id) != append->number;

	for (size_t i = 0; i < append->count; i++) {
		buffer_init(&texts[i], 4 * TEXT_BYTES_MAX);
		buffer_addf(&texts[i], "{%s}", entry_of(append, i)->members);
		records[i] = buffer_slice(&texts[i]);
	}
	if (world->ledger.logs[append->number].file >= 0)
		append->size = world->disk.files[world->ledger.logs[append->number].file].size;
	describe(append, step);
	/* That opening could not sync for an index closes nothing. */
	uint32_t before = append->writer->process.sync_failures;
	int rc = log_append(append->handle->log, records, append->count, &append->options, acks, &error);
	for (size_t i = 0; i < append->count; i++)
		buffer_release(&texts[i]);
	if (append->handle->closed_to_writing)
		append->wanted = SIM_CODE(BOBBIN_EREADONLY);
	append->allowed |= append->wanted;
	if (gone || world->disturbed)
		append->allowed |= SIM_CODE(BOBBIN_ENOTFOUND) | SIM_CODE(BOBBIN_ECORRUPT);
	if (world->disturbed)
		append->allowed |=
			SIM_CODE(BOBBIN_ECONFLICT) | SIM_CODE(BOBBIN_EEXIST) | SIM_CODE(BOBBIN_EINPUT);
	sim_judge(world, append->writer, "append", rc, &error, append->allowed);
	if (rc == 0 && append->wanted && !world->disturbed)
		sim_fail(world, "an append that had to be refused was acknowledged");
	settle(append, rc, acks);
	append->handle->closed_to_writing |= append->writer->process.sync_failures > before;
	if (rc && rc != BOBBIN_ECONFLICT && rc != BOBBIN_EUNKNOWN && step->c % 2)
		sim_handle_close(append->handle);
}

void sim_step_append(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	struct append append = {.world = world, .writer = writer, .repeats = -1};

	append.handle = sim_world_handle(world, writer, step->slot);
	if (!append.handle)
		return;
	append.number = append.handle->number;
	append.view = sim_room(sizeof(*append.view));
	if (sim_view(&world->ledger, append.number, append.view)) {
		plan(&append, step);
		send(&append, step);
	}
	free(append.view);
}

/* ---- Rewinding, titles */

static uint32_t gone_codes(struct sim_world *world, int number)
{
	bool gone = sim_ledger_find_log(&world->ledger, world->ledger.logs[number].id) != number;
	uint32_t allowed = 0;
	if (gone || world->disturbed)
		allowed |= SIM_CODE(BOBBIN_ENOTFOUND) | SIM_CODE(BOBBIN_ECORRUPT);
	return allowed;
}

void sim_step_rewind(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	struct append append = {.world = world, .writer = writer, .repeats = -1};
	struct bobbin_error error = {0};
	struct log_rewind result;

	append.handle = sim_world_handle(world, writer, step->slot);
	if (!append.handle)
		return;
	append.number = append.handle->number;
	append.view = sim_room(sizeof(*append.view));
	if (sim_view(&world->ledger, append.number, append.view)) {
		struct sim_entry *entry = add_entry(&append, SIM_REWIND);
		if (append.view->count && step->b % 8)
			sim_view_name(append.view, (int)(step->c % (uint32_t)append.view->count),
				step->a >> 8, entry->target);
		entry->members = sim_room(1);
		entry->members[0] = '\0';
		sim_tell(world, " rewind %s (i%d) to '%s'", world->ledger.logs[append.number].id,
			append.number, entry->target);
		uint32_t before = writer->process.sync_failures;
		int rc = log_rewind(append.handle->log,
			entry->target[0] ? slice_of(entry->target) : (struct slice){NULL, 0}, &result,
			&error);
		uint32_t allowed =
			gone_codes(world, append.number) | (world->disturbed ? SIM_CODE(BOBBIN_EINPUT) : 0);
		if (append.handle->closed_to_writing)
			allowed |= SIM_CODE(BOBBIN_EREADONLY);
		sim_judge(world, writer, "rewind", rc, &error, allowed);
		if (rc == 0)
			promise(&append, entry, result.seq);
		else if (!writer->process.dead && !writer->process.sync_failures &&
			 writer->process.failures < 2)
			entry->refused = true;
		append.handle->closed_to_writing |= writer->process.sync_failures > before;
	}
	free(append.view);
}

void sim_step_title(struct sim_world *world, struct sim_writer *writer, const struct sim_step *step)
{
	struct append append = {.world = world, .writer = writer, .repeats = -1};
	struct bobbin_error error = {0};
	char title[SIM_ID_BYTES];

	append.handle = sim_world_handle(world, writer, step->slot);
	if (!append.handle)
		return;
	append.number = append.handle->number;
	struct sim_entry *entry = add_entry(&append, SIM_TITLE);
	entry->members = sim_room(1);
	entry->members[0] = '\0';
	snprintf(title, sizeof(title), "t%d", append.entries[0]);
	sim_tell(world, " title of %s (i%d): %s", world->ledger.logs[append.number].id, append.number, title);
	uint32_t before = writer->process.sync_failures;
	int rc = log_set_title(append.handle->log, slice_of(title), &error);
	uint32_t allowed = gone_codes(world, append.number);
	if (append.handle->closed_to_writing)
		allowed |= SIM_CODE(BOBBIN_EREADONLY);
	sim_judge(world, writer, "title", rc, &error, allowed);
	if (rc == 0)
		promise(&append, entry, 0);
	else if (!writer->process.dead && !writer->process.sync_failures && writer->process.failures < 2)
		entry->refused = true;
	append.handle->closed_to_writing |= writer->process.sync_failures > before;
}
