/* SPDX-License-Identifier: MIT */
/*
 * Conversations out of nothing (mock.h): an operator and an assistant who look after orders and files.
 * Each round has an order number, a date, an amount and a path of its own; the rest is chosen from a
 * small stock of sentences.
 *
 * Invariant: everything is drawn from one generator seeded by the options, in the order of the text, so
 * the same options give the same bytes on every machine.
 */
#include "model/mock.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"

#define MESSAGE_TOKENS 250
#define BYTES_PER_TOKEN 4
#define ROUNDS_PER_PARALLEL 4

struct writer {
	const struct mock_conversation_options *options;
	struct arena *arena;
	uint64_t random;
	struct slice *records;
	size_t count, cap;
	struct buffer text, record;
	int error;
	/* the facts of this round */
	unsigned round;
	uint64_t order, amount, day;
	const char *customer, *file;
};

/* splitmix64 */
static uint64_t draw(struct writer *writer, uint64_t below)
{
	uint64_t z = (writer->random += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

#define PICK(writer, list) ((list)[draw((writer), sizeof(list) / sizeof((list)[0]))])

static void begin_round(struct writer *writer, unsigned round)
{
	static const char *const customers[] = {"the bakery in Porto", "the clinic", "the school library",
		"the harbour office", "the print shop", "the film club", "the bicycle repair", "the theatre"};
	static const char *const files[] = {
		"invoices", "stock", "shipments", "returns", "prices", "contacts"};
	writer->round = round;
	writer->order = 100000 + (uint64_t)round * 97 + draw(writer, 90);
	writer->amount = 1000 + draw(writer, 900000);
	writer->day = 1 + draw(writer, 28);
	writer->customer = PICK(writer, customers);
	writer->file = PICK(writer, files);
}

static void add_date(struct writer *writer)
{
	buffer_addf(&writer->text, "2026-%02u-%02u", 1 + writer->round % 12, (unsigned)writer->day);
}

static void add_path(struct writer *writer)
{
	buffer_addf(&writer->text, "/srv/shop/%s-%u.csv", writer->file, writer->round);
}

static void add_amount(struct writer *writer)
{
	buffer_addf(&writer->text, "%u.%02u EUR", (unsigned)(writer->amount / 100),
		(unsigned)(writer->amount % 100));
}

static void add_filler(struct writer *writer)
{
	static const char *const subjects[] = {"The warehouse", "The carrier", "Accounting",
		"The night shift", "The customs form", "The label printer", "Our supplier",
		"The second parcel"};
	static const char *const verbs[] = {"confirmed", "postponed", "could not explain",
		"has already checked", "asked twice about", "wants to keep", "rejected",
		"will look again at"};
	static const char *const objects[] = {"the delivery window", "the missing pallet",
		"the discount for early payment", "the change of address", "the broken seal",
		"the second reminder", "the refund", "the packing list"};
	static const char *const endings[] = {"since Monday", "without giving a reason", "before the weekend",
		"because the scanner was down", "and left a note", "as agreed last month",
		"after the stocktaking", "to be on the safe side"};
	buffer_addf(&writer->text, " %s %s %s %s.", PICK(writer, subjects), PICK(writer, verbs),
		PICK(writer, objects), PICK(writer, endings));
}

/* Filler sentences until the text has its size. */
static void fill(struct writer *writer)
{
	uint32_t tokens = writer->options->message_tokens ? writer->options->message_tokens : MESSAGE_TOKENS;
	while (writer->text.len < (size_t)tokens * BYTES_PER_TOKEN && !buffer_error(&writer->text))
		add_filler(writer);
}

static void begin_record(struct writer *writer, struct json_writer *json, const char *role)
{
	buffer_clear(&writer->record);
	json_writer_init(json, &writer->record);
	json_begin_object(json);
	if (writer->options->ids) {
		struct buffer id = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
		buffer_addf(&id, "c%llu-%zu", (unsigned long long)writer->options->seed, writer->count + 1);
		json_member_string(json, "id", buffer_slice(&id));
		writer->error |= buffer_error(&id);
		buffer_release(&id);
	}
	json_member_text(json, "role", role);
}

/* Ends the record with the gathered text as content, unless it has been written already. */
static void end_record(struct writer *writer, struct json_writer *json)
{
	json_end_object(json);
	char *copy =
		arena_copy(writer->arena, writer->record.data ? writer->record.data : "", writer->record.len);
	if (buffer_error(&writer->text) || buffer_error(&writer->record) || !copy ||
		mem_grow((void **)&writer->records, &writer->cap, writer->count + 1,
			sizeof(*writer->records)) < 0) {
		writer->error = BOBBIN_ENOMEM;
		return;
	}
	writer->records[writer->count++] = (struct slice){copy, writer->record.len};
	buffer_clear(&writer->text);
}

static void add_user(struct writer *writer)
{
	struct json_writer json;
	buffer_addf(&writer->text, "Order ORD-%llu of %s is due on ", (unsigned long long)writer->order,
		writer->customer);
	add_date(writer);
	buffer_add_text(&writer->text, " and should come to ");
	add_amount(writer);
	buffer_add_text(&writer->text, ". Please compare it with ");
	add_path(writer);
	buffer_add_text(&writer->text, " and tell me what differs.");
	fill(writer);
	begin_record(writer, &json, "user");
	json_member_string(&json, "content", buffer_slice(&writer->text));
	end_record(writer, &json);
}

static unsigned calls_of(const struct writer *writer)
{
	return writer->round % ROUNDS_PER_PARALLEL == 0 ? 2 : 1;
}

static void add_call_id(struct writer *writer, struct buffer *out, unsigned call)
{
	buffer_addf(out, "call_%llu_%u_%u", (unsigned long long)writer->options->seed, writer->round, call);
}

static void add_one_call(struct writer *writer, struct json_writer *json, unsigned call)
{
	struct buffer id = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	add_call_id(writer, &id, call);
	buffer_clear(&writer->text);
	if (call == 1)
		buffer_addf(&writer->text, "{\"order\":\"ORD-%llu\"}", (unsigned long long)writer->order);
	else
		buffer_addf(&writer->text, "{\"path\":\"/srv/shop/%s-%u.csv\"}", writer->file, writer->round);
	json_begin_object(json);
	json_member_string(json, "id", buffer_slice(&id));
	json_member_text(json, "name", call == 1 ? "query_order" : "read_file");
	json_member_string(json, "arguments", buffer_slice(&writer->text));
	json_end_object(json);
	writer->error |= buffer_error(&id) | buffer_error(&writer->text); /* the next call clears the text */
	buffer_release(&id);
}

static void add_asking(struct writer *writer)
{
	struct json_writer json;
	begin_record(writer, &json, "assistant");
	json_member_text(
		&json, "content", calls_of(writer) > 1 ? "I will look at both." : "Let me look that up.");
	json_key(&json, "tool_calls");
	json_begin_array(&json);
	for (unsigned call = 1; call <= calls_of(writer); call++)
		add_one_call(writer, &json, call);
	json_end_array(&json);
	end_record(writer, &json);
}

static void add_result(struct writer *writer, unsigned call)
{
	struct json_writer json;
	struct buffer id = BUFFER_INIT(LIMIT_MESSAGE_ID_BYTES);
	add_call_id(writer, &id, call);
	buffer_addf(&writer->text, "order;ORD-%llu\ntotal;", (unsigned long long)writer->order);
	add_amount(writer);
	buffer_add_text(&writer->text, "\nsource;");
	add_path(writer);
	buffer_addf(&writer->text, "\ntracking;TRK%012llu\nnotes;",
		(unsigned long long)draw(writer, 1000000000000u));
	fill(writer);
	begin_record(writer, &json, "tool");
	json_member_string(&json, "tool_call_id", buffer_slice(&id));
	json_member_string(&json, "content", buffer_slice(&writer->text));
	end_record(writer, &json);
	writer->error |= buffer_error(&id);
	buffer_release(&id);
}

static void add_reply(struct writer *writer)
{
	struct json_writer json;
	buffer_addf(&writer->text, "ORD-%llu agrees with ", (unsigned long long)writer->order);
	add_path(writer);
	buffer_add_text(&writer->text, " in every line but the date; the total is ");
	add_amount(writer);
	buffer_add_char(&writer->text, '.');
	fill(writer);
	begin_record(writer, &json, "assistant");
	json_member_string(&json, "content", buffer_slice(&writer->text));
	end_record(writer, &json);
}

static void add_round(struct writer *writer, unsigned round)
{
	begin_round(writer, round);
	add_user(writer);
	add_asking(writer);
	for (unsigned call = 1; call <= calls_of(writer); call++)
		add_result(writer, call);
	add_reply(writer);
}

int mock_conversation(const struct mock_conversation_options *options, struct arena *arena,
	struct slice **ret_records, size_t *ret_count)
{
	struct writer writer = {
		.options = options, .arena = arena, .random = options->seed ^ (uint64_t)options->rounds_before << 32};
	buffer_init(&writer.text, LIMIT_LINE_BYTES);
	buffer_init(&writer.record, LIMIT_LINE_BYTES);
	for (unsigned round = 1; round <= options->rounds && !writer.error; round++)
		add_round(&writer, options->rounds_before + round);
	struct slice *records = arena_alloc(arena, (writer.count ? writer.count : 1) * sizeof(*records));
	if (records && writer.count > 0)
		memcpy(records, writer.records, writer.count * sizeof(*records));
	buffer_release(&writer.text);
	buffer_release(&writer.record);
	mem_free(writer.records);
	if (writer.error || !records)
		return BOBBIN_ENOMEM;
	*ret_records = records;
	*ret_count = writer.count;
	return 0;
}
