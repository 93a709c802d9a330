/* SPDX-License-Identifier: MIT */
/*
 * An index file of any bytes beside a log that is in order: what the log says does not depend on it, whether
 * it was there from the start or came about while the log was open, and an append goes on as if nothing were.
 * A trailer of any content whose checksum is right, as no accident makes one, leads nowhere outside of the
 * file.
 *
 *	first byte: how │ the file itself, or changes to a true one: four bytes each, where (16 bits), which
 * value, how often
 */
#include "base/limits.h"
#include "store/index_file.h"
#include "store_world.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define INDEX SIM_IN_CACHE "s.index"
#define STEPS 6 /* chunks of the true file */

enum how { REPLACED, CHANGED, CUT, TRAILER, HOWS };

/* ---- The log, and what is true of it ---- */

static struct {
	char *log, *said, *index;
	size_t log_len, index_len;
} truth;

static void add_talk(struct buffer *log, int step)
{
	for (int i = 0; i < 4; i++) {
		int n = 4 * step + i;
		buffer_addf(
			log, "{\"role\":\"user\",\"id\":\"question-number-%d\",\"content\":\"%d?\"}\n", n, n);
		buffer_addf(log,
			"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c%d\",\"name\":"
			"\"f\","
			"\"arguments\":\"{}\"}]}\n",
			n);
		if (n % 3)
			buffer_addf(
				log, "{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"x\"}\n", n);
		buffer_addf(log, "{\"type\":\"usage\",\"for\":\"question-number-%d\"}\n", n);
	}
	buffer_addf(log, "{\"type\":\"rewind\",\"to\":\"question-number-%d\"}\n", step);
	buffer_addf(log, "{\"type\":\"session\",\"title\":\"after %d\"}\n", step);
	buffer_addf(log,
		"{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"late\"}\n{\"role\":\"us\n",
		3 * step);
}

static char *copy(const char *data, size_t len)
{
	char *text = sim_room(len + 1);
	memcpy(text, data, len);
	return text;
}

/* Whenever it is put into a new store, the file of the log has the same inode, and a time of its own. */
static void put_log(struct fuzz_store *store, size_t len)
{
	fuzz_store_put(store, "s.jsonl", truth.log, len);
	store->disk->files[sim_disk_find(store->disk, "s.jsonl")].modified_ns = 1;
}

static void make_truth(void)
{
	struct buffer log = BUFFER_INIT(SIZE_MAX - 1);
	struct fuzz_store store;
	size_t ends[STEPS];
	struct log *reader;

	for (int step = 0; step < STEPS; step++) {
		add_talk(&log, step);
		ends[step] = log.len;
	}
	truth.log = copy(log.data, log.len);
	truth.log_len = log.len;
	buffer_release(&log);
	fuzz_store_open(&store, 1, 0);
	for (int step = 0; step < STEPS; step++) { /* a chunk each */
		put_log(&store, ends[step]);
		log_close(fuzz_store_log(&store, "s", LOG_READ));
	}
	const char *index = fuzz_store_get(&store, INDEX, &truth.index_len);
	CHECK(index && truth.index_len <= UINT16_MAX);
	truth.index = copy(index, truth.index_len);
	sim_disk_forget(store.disk, INDEX);
	fuzz_store_reopen(&store, 0, 0);
	CHECK((reader = fuzz_store_log(&store, "s", LOG_READ)));
	truth.said = fuzz_dump(reader);
	log_close(reader);
	fuzz_store_close(&store);
}

/* ---- What becomes of the file ---- */

static void change(char *bytes, size_t bytes_len, const uint8_t *changes, size_t len)
{
	for (; len >= 4 && bytes_len; changes += 4, len -= 4) {
		size_t at = ((size_t)changes[0] << 8 | changes[1]) % bytes_len;
		for (size_t i = at; i < at + 1 + changes[3] % 16 && i < bytes_len; i++)
			bytes[i] = (char)changes[2];
	}
}

static void put_index(struct fuzz_store *store, enum how how, const uint8_t *data, size_t len)
{
	size_t bytes_len = how == REPLACED ? len : truth.index_len;
	char *bytes = how == REPLACED ? copy((const char *)data, len) : copy(truth.index, truth.index_len);

	if (how == CUT && len >= 2)
		bytes_len = ((size_t)data[0] << 8 | data[1]) % (bytes_len + 1);
	if (how == CHANGED || how == CUT)
		change(bytes, bytes_len, data, len);
	fuzz_store_put(store, INDEX, bytes, bytes_len);
	free(bytes);
}

static void check_said(struct log *log)
{
	char *said = fuzz_dump(log);

	CHECK(strcmp(said, truth.said) == 0);
	free(said);
}

/* As it is opened, or when it has been; then another record, and the index again. */
static void check_answers(enum how how, bool late, const uint8_t *data, size_t len)
{
	struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"appended\"}");
	struct fuzz_store store;
	struct log *log, *other;
	struct log_ack ack;

	fuzz_store_open(&store, 1, 0);
	put_log(&store, truth.log_len);
	fuzz_store_put(&store, INDEX, truth.index, truth.index_len);
	if (!late)
		put_index(&store, how, data, len);
	CHECK((log = fuzz_store_log(&store, "s", LOG_WRITE)));
	if (late)
		put_index(&store, how, data, len);
	check_said(log);
	CHECK(log_append(log, &record, 1, NULL, &ack, NULL) == 0);
	char *said = fuzz_dump(log);
	CHECK((other = fuzz_store_log(&store, "s", LOG_READ)));
	char *also = fuzz_dump(other);
	CHECK(strcmp(said, also) == 0);
	free(also);
	free(said);
	log_close(other);
	log_close(log);
	fuzz_store_close(&store);
}

/* ---- A trailer that says anything ---- */

static int open_index(struct fuzz_store *store)
{
	struct platform *table = &store->process.table;
	int dir =
		table->open_at(table->context, store_dir(store->store), SIM_CACHE, O_RDONLY | O_DIRECTORY, 0);
	int file = table->open_at(table->context, dir, "s.index", O_RDONLY, 0);

	CHECK(file >= 0);
	return file;
}

static void probe(struct index_file *file)
{
	const struct index_trailer *trailer = index_file_trailer(file);
	const uint32_t numbers[] = {0, 1, 2, 3, 7, 100, trailer->state.node_count,
		trailer->state.control_count, trailer->state.node_count - 1, UINT32_MAX - 1, UINT32_MAX};
	struct index_control control;
	struct index_pair pair;
	struct index_node node;
	struct slice texts;
	uint32_t position;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (index_file_node(file, numbers[i], &node))
			index_file_texts(file, numbers[i], &node, &texts);
		index_file_control(file, numbers[i], &control);
		for (uint32_t run = 0; run < trailer->run_count; run++) {
			index_file_pair(file, run, numbers[i], &pair);
			index_file_search(file, run, numbers[i] * 2654435761u, &position);
		}
	}
	struct log_fault *faults = sim_room((size_t)trailer->state.fault_count * sizeof(*faults));
	index_file_faults(file, faults);
	free(faults);
	char *line = trailer->line_bytes <= LIMIT_META_BYTES ? sim_room(trailer->line_bytes) : NULL;
	if (line)
		index_file_line(file, line);
	free(line);
}

static void check_trailer(const uint8_t *data, size_t len)
{
	struct buffer bytes = BUFFER_INIT(SIZE_MAX - 1);
	struct index_trailer trailer;
	struct index_file *file;
	struct fuzz_store store;

	fuzz_store_open(&store, 0, 0);
	fuzz_store_put(&store, INDEX, truth.index, truth.index_len);
	CHECK(index_file_open(&store.process.table, open_index(&store), &file) == 0);
	trailer = *index_file_trailer(file);
	index_file_close(file);
	change((char *)&trailer, sizeof(trailer), data, len);
	/* As it can be written at all. */
	trailer.run_count %= INDEX_RUNS_MAX + 1;
	trailer.leaf_count %= INDEX_LEAVES_MAX + 1;
	trailer.chunk_count %= INDEX_LEAF_CHUNKS + 1;
	trailer.state.fault_count %= 2 * LIMIT_FAULTS_REPORTED; /* more is refused */
	index_put_trailer(&bytes, truth.index_len, &trailer);
	CHECK(buffer_error(&bytes) == 0);
	fuzz_store_add(&store, INDEX, bytes.data, bytes.len);
	buffer_release(&bytes);
	int rc = index_file_open(&store.process.table, open_index(&store), &file);
	CHECK(rc == 0 || rc == BOBBIN_ENOTFOUND);
	if (rc == 0) {
		probe(file);
		index_file_close(file);
	}
	fuzz_store_close(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!truth.log)
		make_truth();
	if (len == 0)
		return 0;
	enum how how = (enum how)(data[0] % HOWS);
	if (how == TRAILER)
		check_trailer(data + 1, len - 1);
	else
		check_answers(how, data[0] / HOWS % 2, data + 1, len - 1);
	return 0;
}
