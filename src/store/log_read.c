/* SPDX-License-Identifier: MIT */
/* Questions to a log: its tree, its records, its faults. Bytes are read again when they are asked for, and
 * checked. */
#include "base/hash.h"
#include "store/log_internal.h"
#include "store/store_internal.h"

static int no_such_node(struct bobbin_error *error)
{
	return error_set(error, BOBBIN_EINVAL, "no such node");
}

uint32_t log_node_count(const struct log *log)
{
	return index_count(&log->index);
}

void log_node_of(const struct index_node *entry, uint32_t level, struct log_node *ret_node)
{
	*ret_node = (struct log_node){
		.parent = entry->parent,
		.depth = entry->depth,
		.seq = entry->seq,
		.role = (enum message_role)entry->role,
		.origin = (enum message_origin)entry->origin,
		.marker = (enum message_marker)entry->marker,
		.flags = entry->flags,
		.calls = entry->calls,
		.level = level,
		.offset = entry->offset,
		.length = entry->length,
		.chain = entry->chain,
	};
}

int log_node(const struct log *log, uint32_t node, struct log_node *ret_node)
{
	if (node >= index_count(&log->index))
		return BOBBIN_EINVAL;
	uint32_t level;
	index_of(&log->index, node, &level);
	struct index_node entry = index_node(&log->index, node);
	int rc = log_checked(log, 0, NULL);
	if (!rc)
		log_node_of(&entry, level, ret_node);
	return rc;
}

uint32_t log_head(const struct log *log)
{
	return log->index.state.head;
}

bool log_has_node(const struct log *log, uint32_t node)
{
	return index_has(&log->index, node);
}

bool log_record_on_line(const struct log *log, const struct log *at, const struct log_record *record, uint32_t head)
{
	uint64_t end = 0; /* 0: no bound */

	for (const struct log *above = log; above != at; above = log_base(above)) {
		if (record->head != NODE_NONE && record->head >= above->index.base_count)
			return false;
		end = log_info(above)->parent_size;
	}
	if (end && record->offset >= end)
		return false;
	return record->head == NODE_NONE ||
	       (log_has_node(log, record->head) && log_on_line(log, record->head, head));
}

bool log_run_on_line(const struct log *log, const struct log *at, const struct log_record *record, uint32_t head)
{
	struct log_node node = {.depth = UINT32_MAX}; /* and one: the first of the line */
	uint32_t level = 0, next;

	if (!log_record_on_line(log, at, record, head))
		return false;
	if (at == log)
		return true;
	for (const struct log *above = log; above != at; above = log_base(above))
		level++;
	if (record->head != NODE_NONE && log_node(log, record->head, &node) < 0)
		return false;
	next = head == NODE_NONE ? NODE_NONE : log_ancestor(log, head, node.depth + 1);
	return next != NODE_NONE && log_node(log, next, &node) == 0 && node.level == level;
}

int log_find(struct log *log, struct slice id, uint32_t *ret_node, struct bobbin_error *error)
{
	uint32_t node = id.len ? index_find(&log->index, id) : NODE_NONE;
	int rc = log_checked(log, 0, error);

	if (rc)
		return rc;
	if (node == NODE_NONE)
		return error_set(error, BOBBIN_ENOTFOUND, "there is no message %.*s in session %s",
			id.len > 64 ? 64 : (int)id.len, id.data ? id.data : "", log->id);
	*ret_node = node;
	return 0;
}

static int reserved_id(
	const struct log *log, uint32_t node, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	struct buffer text = BUFFER_INIT(PATH_ID_BYTES);
	buffer_add_char(&text, 'm');
	buffer_add_u64(&text, index_node(&log->index, node).seq);
	if (buffer_error(&text))
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	memcpy(ret_id, text.data, text.len + 1);
	buffer_release(&text);
	return 0;
}

/* The own id if there is one of at most `max` bytes. */
static int id_within(const struct log *log, uint32_t node, size_t max, char ret_id[PATH_ID_BYTES],
	struct bobbin_error *error)
{
	if (node >= index_count(&log->index))
		return no_such_node(error);
	struct slice id = index_own_id(&log->index, node);
	int rc = log_checked(log, 0, error);
	if (rc)
		return rc;
	if (!id.len || id.len > max)
		return reserved_id(log, node, ret_id, error);
	memcpy(ret_id, id.data, id.len);
	ret_id[id.len] = '\0';
	return 0;
}

int log_node_id(struct log *log, uint32_t node, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	return id_within(log, node, LIMIT_MESSAGE_ID_BYTES, ret_id, error);
}

int log_short_id(struct log *log, uint32_t node, char ret_id[PATH_ID_BYTES], struct bobbin_error *error)
{
	return id_within(log, node, LOG_SHORT_ID_BYTES, ret_id, error);
}

int log_look_up_node(const struct log *log, uint32_t node, struct log_node *ret_node, struct bobbin_error *error)
{
	int rc = log_node(log, node, ret_node);
	return rc ? error_set(error, rc, "%s: where its messages stand cannot be read", log->name) : 0;
}

int log_look_up_record(
	const struct log *log, uint32_t record, struct log_record *ret_record, struct bobbin_error *error)
{
	int rc = log_record(log, record, ret_record);
	return rc ? error_set(error, rc, "%s: where its records stand cannot be read", log->name) : 0;
}

int log_failure(const struct log *log, struct bobbin_error *error)
{
	return log_checked(log, 0, error);
}

uint32_t log_ancestor(const struct log *log, uint32_t node, uint32_t depth)
{
	return node < index_count(&log->index) ? index_ancestor(&log->index, node, depth) : NODE_NONE;
}

bool log_on_line(const struct log *log, uint32_t node, uint32_t head)
{
	uint32_t count = index_count(&log->index);
	return node < count && head < count && index_on_line(&log->index, node, head);
}

int log_position(const struct log *log, uint32_t node, uint32_t head, uint32_t *ret_position, struct bobbin_error *error)
{
	struct log_node info;
	bool there = log_on_line(log, node, head);
	int rc = log_failure(log, error);
	if (!rc && there)
		rc = log_look_up_node(log, node, &info, error);
	if (rc || !there)
		return rc;
	*ret_position = info.depth;
	return 1;
}

int log_line(
	const struct log *log, uint32_t node, struct arena *arena, uint32_t **ret_nodes, uint32_t *ret_count)
{
	uint32_t count = 0;

	if (node != NODE_NONE) {
		if (node >= index_count(&log->index))
			return BOBBIN_EINVAL;
		count = index_node(&log->index, node).depth + 1;
	}
	uint32_t *nodes = arena_alloc(arena, (size_t)count * sizeof(*nodes));
	if (!nodes)
		return BOBBIN_ENOMEM;
	for (uint32_t i = count; i-- > 0; node = index_node(&log->index, node).parent)
		nodes[i] = node;
	*ret_nodes = nodes;
	*ret_count = count;
	return log_checked(log, 0, NULL);
}

/* ---- Children --------------------------------------------------------------------------------------------
 */

struct gathered {
	const struct index *index;
	uint32_t *nodes;
	uint32_t count;
	bool late_only;
};

static int gather(void *data, uint32_t child)
{
	struct gathered *gathered = data;

	if (gathered->late_only && !(index_node(gathered->index, child).flags & NODE_LATE))
		return 0;
	if (gathered->nodes)
		gathered->nodes[gathered->count] = child;
	gathered->count++;
	return 0;
}

/* The walk gives each file's nodes newest first, the newest file first: turned round, they are in order. */
static int children(const struct log *log, uint32_t node, bool late_only, struct arena *arena,
	uint32_t **ret_nodes, uint32_t *ret_count)
{
	struct gathered gathered = {.index = &log->index, .late_only = late_only};

	if (node != NODE_NONE && node >= index_count(&log->index))
		return BOBBIN_EINVAL;
	index_each_child(&log->index, node, gather, &gathered);
	gathered.nodes = arena_alloc(arena, (size_t)gathered.count * sizeof(*gathered.nodes));
	if (!gathered.nodes)
		return BOBBIN_ENOMEM;
	gathered.count = 0;
	index_each_child(&log->index, node, gather, &gathered);
	for (uint32_t i = 0, j = gathered.count; i + 1 < j; i++) {
		uint32_t other = gathered.nodes[--j];
		gathered.nodes[j] = gathered.nodes[i];
		gathered.nodes[i] = other;
	}
	*ret_nodes = gathered.nodes;
	*ret_count = gathered.count;
	return log_checked(log, 0, NULL);
}

int log_children(
	const struct log *log, uint32_t node, struct arena *arena, uint32_t **ret_nodes, uint32_t *ret_count)
{
	return children(log, node, false, arena, ret_nodes, ret_count);
}

int log_late_results(
	const struct log *log, uint32_t node, struct arena *arena, uint32_t **ret_nodes, uint32_t *ret_count)
{
	if (node >= index_count(&log->index))
		return BOBBIN_EINVAL;
	return children(log, node, true, arena, ret_nodes, ret_count);
}

/* ---- Gaps ------------------------------------------------------------------------------------------------
 */

/* Lines lost in the files up to a node, those of all levels it is stitched from. */
static uint64_t damage_before(const struct log *log, uint32_t node)
{
	uint64_t damage = 0;

	if (node == NODE_NONE)
		return 0;
	damage = index_node(&log->index, node).damage;
	for (const struct index *index = index_of(&log->index, node, NULL); index->base; index = index->base)
		damage += index_node(index->base, index->base_through).damage;
	return damage;
}

bool log_gap(const struct log *log, uint32_t ancestor, uint32_t node)
{
	uint32_t count = index_count(&log->index);

	if ((ancestor != NODE_NONE && ancestor >= count) || (node != NODE_NONE && node >= count))
		return true;
	return damage_before(log, ancestor) != damage_before(log, node);
}

/* ---- Bytes -----------------------------------------------------------------------------------------------
 */

int log_read_bytes(struct log *log, uint64_t offset, uint32_t length, uint32_t crc, struct arena *arena,
	const char **ret_bytes, struct bobbin_error *error)
{
	char *bytes = arena_alloc(arena, (size_t)length + 1);

	if (!bytes)
		return error_set(error, BOBBIN_ENOMEM, "out of memory");
	ssize_t got = platform_read_full(log->platform, log->file, bytes, length, offset);
	if (got < 0)
		return error_set_os(error, (int)-got, "cannot read %s", log->name);
	if ((size_t)got != length || crc32c(0, bytes, length) != crc) {
		/* Should it be the index that is wrong: opened anew, the log is read. */
		if (log->index.prefix)
			store_discard_index(log->store, log->stem);
		return error_set_at(error, BOBBIN_ECORRUPT, 0, offset,
			"%s: the record at byte %llu is not what it was when the log was opened", log->name,
			(unsigned long long)offset);
	}
	bytes[length] = '\0';
	*ret_bytes = bytes;
	return 0;
}

struct log *log_of(struct log *log, uint32_t node)
{
	while (node < log->index.base_count)
		log = log->base;
	return log;
}

int log_message(struct log *log, uint32_t node, struct arena *arena, struct message *ret_message,
	struct bobbin_error *error)
{
	struct json record;
	const char *bytes;

	if (node >= index_count(&log->index))
		return no_such_node(error);
	struct index_node entry = index_node(&log->index, node);
	int rc = log_checked(log, 0, error);
	if (rc)
		return rc;
	rc = log_read_bytes(log_of(log, node), entry.offset, entry.length, entry.crc, arena, &bytes, error);
	if (rc || (rc = json_parse(bytes, entry.length, &record, error)) < 0 ||
		(rc = message_parse(&record, arena, ret_message, error)) < 0)
		return rc;
	ret_message->seq = entry.seq;
	return 0;
}

uint32_t log_record_count(const struct log *log)
{
	return index_record_count(&log->index);
}

int log_record(const struct log *log, uint32_t record, struct log_record *ret_record)
{
	struct index_control entry;
	uint32_t node;

	if (record >= index_record_count(&log->index))
		return BOBBIN_EINVAL;
	if (index_record(&log->index, record, &entry, &node)) {
		*ret_record = (struct log_record){
			.kind = (enum record_kind)entry.kind,
			.seq = entry.seq,
			.offset = entry.offset,
			.length = entry.length,
			.node = NODE_NONE,
			.head = entry.head,
			.previous = entry.previous,
		};
		return log_checked(log, 0, NULL);
	}
	struct index_node message = index_node(&log->index, node);
	bool first = node == log->index.base_count;
	*ret_record = (struct log_record){
		.kind = RECORD_MESSAGE,
		.seq = message.seq,
		.offset = message.offset,
		.length = message.length,
		.node = node,
		.head = message.head,
		.previous = first ? RECORD_NONE : index_record_of(&log->index, node - 1),
	};
	return log_checked(log, 0, NULL);
}

uint32_t log_newest(const struct log *log, enum record_kind kind)
{
	return (unsigned)kind < RECORD_KINDS ? log->index.state.newest[kind] : RECORD_NONE;
}

int log_record_read(struct log *log, uint32_t record, struct arena *arena, struct json *ret_record,
	struct bobbin_error *error)
{
	struct index_control entry;
	const char *bytes;
	uint32_t node;

	if (record >= index_record_count(&log->index))
		return error_set(error, BOBBIN_EINVAL, "no such record");
	if (!index_record(&log->index, record, &entry, &node)) {
		struct index_node message = index_node(&log->index, node);
		entry = (struct index_control){
			.offset = message.offset, .length = message.length, .crc = message.crc};
	}
	int rc = log_checked(log, 0, error);
	if (!rc)
		rc = log_read_bytes(log, entry.offset, entry.length, entry.crc, arena, &bytes, error);
	return rc ? rc : json_parse(bytes, entry.length, ret_record, error);
}

/* ---- Faults ----------------------------------------------------------------------------------------------
 */

const struct log_fault *log_faults(const struct log *log, size_t *ret_count)
{
	*ret_count = log->index.state.fault_count;
	return log->index.faults;
}

uint64_t log_fault_total(const struct log *log)
{
	return log->index.state.fault_total;
}

const char *log_fault_text(enum fault_kind kind)
{
	static const char *const TEXTS[] = {
		[FAULT_TORN] = "torn record, set aside: its writer was interrupted",
		[FAULT_NULS] = "NUL bytes: the file system lost what was here",
		[FAULT_UTF8] = "invalid UTF-8, set aside",
		[FAULT_JSON] = "not JSON, set aside",
		[FAULT_GLUED] = "several records on one line: the whole ones are read",
		[FAULT_SHAPE] = "JSON, but not a record, set aside",
		[FAULT_CRC] = "the checksum does not match: read, but it may have been changed",
		[FAULT_DUPLICATE_KEY] = "a key stands twice: the last one counts",
		[FAULT_DUPLICATE_ID] = "the id is taken by an earlier message",
		[FAULT_PARENT] = "the parent is not in the log: read as if it followed the head",
		[FAULT_REWIND] = "rewinds to a message that is not in the log: ignored",
		[FAULT_SYSTEM] = "system prompt of an old log: ignored",
		[FAULT_TOO_LONG] = "longer than a line may be, skipped",
		[FAULT_HEADER] = "a session line that does not fit this log",
		[FAULT_SEQUENCE] = "the number of a message is not above those before it: read in the order "
				   "of the lines",
		[FAULT_CUT] = "the log was longer once: what stood from here on is lost",
		[FAULT_MISSING] =
			"the first message does not have the first number: records before it are missing",
	};
	return (unsigned)kind < sizeof(TEXTS) / sizeof(TEXTS[0]) ? TEXTS[kind] : "damaged";
}
