/* SPDX-License-Identifier: MIT */
/*
 * A log of any bytes, with a meta file and an ancestor of any bytes: it opens or says why not, and what it
 * then says holds together (store_world.c). The same is said by a log that was read in two steps, by one that
 * was read from an index file, and before what is appended. A message that is appended is there, and nothing
 * that was there is gone.
 *
 *	first byte: where the first step ends │ s.jsonl │ a line "---" │ p.jsonl │ a line "---" │ s.meta.json
 */
#include "store_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define SEPARATOR "\n---\n"

struct input {
	struct slice log, parent, meta;
	size_t step; /* of the log's bytes that are there at first */
};

/* Up to and with the line break before the separator; `rest` becomes what is behind it. */
static struct slice take_part(struct slice *rest)
{
	const char *stop = rest->len ? memmem(rest->data, rest->len, SEPARATOR, strlen(SEPARATOR)) : NULL;
	struct slice part = {rest->data, stop ? (size_t)(stop - rest->data) + 1 : rest->len};
	size_t used = stop ? part.len - 1 + strlen(SEPARATOR) : part.len;

	*rest = (struct slice){rest->data + used, rest->len - used};
	return part;
}

static struct input split(const uint8_t *data, size_t len)
{
	struct slice rest = {(const char *)data + 1, len - 1};
	struct input input = {.log = take_part(&rest)};

	input.parent = take_part(&rest);
	input.meta = take_part(&rest);
	input.step = input.log.len * data[0] / (UINT8_MAX + 1);
	return input;
}

static void put_all(struct fuzz_store *store, const struct input *input, size_t log_bytes)
{
	fuzz_store_put(store, "s.jsonl", input->log.data, log_bytes);
	if (input->parent.len)
		fuzz_store_put(store, "p.jsonl", input->parent.data, input->parent.len);
	if (input->meta.len)
		fuzz_store_put(store, "s.meta.json", input->meta.data, input->meta.len);
}

static void check_same(struct log *log, const char *expected)
{
	char *said = fuzz_dump(log);

	CHECK(strcmp(said, expected) == 0);
	free(said);
}

/* Whether the bytes that are there at first may be all that their last writer wrote: a tail that is whole counts, and
 * whoever writes next begins a new line. */
static bool may_end_there(const struct input *input)
{
	const char *at = input->step ? memrchr(input->log.data, '\n', input->step) : NULL;
	const char *tail = at ? at + 1 : input->log.data;
	size_t len = input->step - (size_t)(tail - input->log.data);
	struct json value;

	return len == 0 || input->log.data[input->step] == '\n' || json_parse(tail, len, &value, NULL) < 0;
}

/* Begun when only a part of it was there. */
static void check_steps(const struct input *input, const char *expected)
{
	struct fuzz_store store;

	fuzz_store_open(&store, 0, 0);
	put_all(&store, input, input->step);
	struct log *log = fuzz_store_log(&store, "s", LOG_READ);
	if (log && may_end_there(input)) {
		free(fuzz_dump(log));
		fuzz_store_add(
			&store, "s.jsonl", input->log.data + input->step, input->log.len - input->step);
		int rc = log_refresh(log, NULL);
		/* What it inherits may not change, nor may a header become damaged. */
		CHECK(rc == 0 || rc == BOBBIN_ECORRUPT);
		if (rc == 0 && expected)
			check_same(log, expected);
	}
	log_close(log);
	fuzz_store_close(&store);
}

/* The first opening writes the index file (and what is behind it is read), the second one uses it. */
static void check_index(struct fuzz_store *store, const char *expected)
{
	fuzz_store_reopen(store, 1, 0);
	for (int i = 0; i < 2; i++) {
		struct log *log = fuzz_store_log(store, "s", LOG_READ);
		CHECK((log != NULL) == (expected != NULL));
		if (log)
			check_same(log, expected);
		log_close(log);
	}
}

static void check_append(struct fuzz_store *store, const struct input *input)
{
	struct log *log = fuzz_store_log(store, "s", LOG_WRITE);
	struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"appended\"}");
	struct bobbin_error error = {0};
	struct log_ack ack;
	size_t len;

	if (!log)
		return;
	uint32_t before = log_node_count(log);
	int rc = log_append(log, &record, 1, NULL, &ack, &error);
	CHECK(rc == 0 || rc == BOBBIN_EINPUT || rc == BOBBIN_ELIMIT);
	const char *bytes = fuzz_store_get(store, "s.jsonl", &len);
	CHECK(len >= input->log.len &&
		(!input->log.len || memcmp(bytes, input->log.data, input->log.len) == 0));
	CHECK((rc == 0) == (len > input->log.len));
	char *said = fuzz_dump(log);
	CHECK(log_node_count(log) >= before + (rc == 0));
	CHECK(rc || (ack.seq > 0 && log_head(log) == ack.node));
	log_close(log);
	/* After sealing, and after the session line that may have gone first, a log means the same to a
	 * reader. */
	log = fuzz_store_log(store, "s", LOG_READ);
	CHECK(log);
	check_same(log, said);
	log_close(log);
	free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_store store;
	char *said = NULL;

	if (len == 0)
		return 0;
	struct input input = split(data, len);
	fuzz_store_open(&store, 0, 0);
	put_all(&store, &input, input.log.len);
	struct log *log = fuzz_store_log(&store, "s", LOG_READ);
	if (log)
		said = fuzz_dump(log);
	log_close(log);
	char *list = fuzz_dump_list(&store);
	CHECK(strstr(list, "s owner ")); /* whatever is in it, it is listed */
	free(list);
	check_index(&store, said);
	check_steps(&input, said);
	fuzz_store_reopen(&store, 0, 0);
	check_append(&store, &input);
	fuzz_store_close(&store);
	free(said);
	return 0;
}
