/* SPDX-License-Identifier: MIT */
/*
 * What is said of a session beside its log, of any bytes: its meta file, the catalogue, a session line. A log
 * with a header says the same whatever its meta says; every session is listed whatever a cache says; a session
 * line that is understood is written and understood again as the same.
 *
 *	first byte: what it is │ its bytes, or (SPOILT) changes to a true catalogue: three bytes each, where
 * and which
 */
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/header.h"
#include "store_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CATALOGUE SIM_IN_CACHE "catalogue"
#define CATALOGUE_HEAD_BYTES 16 /* its last four are a CRC-32C of what follows */

enum what { META, META_ALONE, RAW, SPOILT, LINE, WHATS };

#define HEADER                                                                                               \
	"{\"type\":\"session\",\"id\":\"s\",\"owner\":\"ana\",\"title\":\"one\",\"v\":1,\"ts\":\"2026-09-"   \
	"04T10:00:00Z\"}\n"
#define PARENT                                                                                               \
	"{\"type\":\"session\",\"id\":\"main\",\"owner\":\"ana\",\"v\":1,\"ts\":\"2026-09-04T10:00:00Z\"}\n"
#define TALK "{\"role\":\"user\",\"content\":\"?\"}\n{\"role\":\"assistant\",\"content\":\"!\"}\n"

static void check_listed(struct fuzz_store *store)
{
	char *list = fuzz_dump_list(store);

	CHECK(strncmp(list, "s owner ", 8) == 0 || strstr(list, "\ns owner "));
	CHECK(strncmp(list, "main owner ", 11) == 0 || strstr(list, "\nmain owner "));
	free(list);
}

/* Of a log with a header, nothing follows from it. */
static void check_meta(const uint8_t *data, size_t len)
{
	struct fuzz_store store;
	struct log *log;
	size_t log_len;

	fuzz_store_open(&store, 0, 0);
	fuzz_store_put(&store, "main.jsonl", PARENT TALK, sizeof(PARENT TALK) - 1);
	fuzz_store_put(&store, "s.jsonl", HEADER TALK, sizeof(HEADER TALK) - 1);
	CHECK((log = fuzz_store_log(&store, "s", LOG_READ)));
	char *said = fuzz_dump(log);
	log_close(log);
	fuzz_store_put(&store, "s.meta.json", data, len);
	CHECK((log = fuzz_store_log(&store, "s", LOG_WRITE)));
	char *also = fuzz_dump(log);
	CHECK(strcmp(said, also) == 0);
	free(said);
	free(also);
	check_listed(&store);
	/* Nor does it get into the log. */
	struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"x\"}");
	CHECK(log_append(log, &record, 1, NULL, NULL, NULL) == 0);
	const char *bytes = fuzz_store_get(&store, "s.jsonl", &log_len);
	const char *added = bytes + sizeof(HEADER TALK) - 1;
	CHECK(log_len > sizeof(HEADER TALK) - 1);
	/* One that tells of a longer log: that it was longer is noted first. */
	if (memcmp(added, "{\"type\":\"session\",", 18) == 0) {
		const char *end = memchr(added, '\n', (size_t)(bytes + log_len - added));
		CHECK(end && memmem(added, (size_t)(end - added), "\"wasBytes\":", 11));
		CHECK(!memmem(added, (size_t)(end - added), "\"title\"", 7) && !memmem(added, (size_t)(end - added), "\"owner\"", 7));
		added = end + 1;
	}
	CHECK(memcmp(added, "{\"seq\":3,\"role\"", 15) == 0);
	log_close(log);
	fuzz_store_close(&store);
}

/* Of a log that somebody typed, it is believed as far as it goes. */
static void check_meta_alone(const uint8_t *data, size_t len)
{
	struct slice record = SLICE_LITERAL("{\"role\":\"user\",\"content\":\"x\"}");
	struct fuzz_store store;
	char *said, *also;

	fuzz_store_open(&store, 0, 0);
	fuzz_store_put(&store, "main.jsonl", PARENT TALK, sizeof(PARENT TALK) - 1);
	fuzz_store_put(&store, "s.jsonl", TALK, sizeof(TALK) - 1);
	fuzz_store_put(&store, "s.meta.json", data, len);
	struct log *log = fuzz_store_log(&store, "s", LOG_READ);
	if (log)
		free(fuzz_dump(log));
	log_close(log);
	check_listed(&store);
	log = fuzz_store_log(&store, "s", LOG_WRITE);
	if (log && log_append(log, &record, 1, NULL, NULL, NULL) == 0) {
		/* By then the log says it itself. */
		said = fuzz_dump(log);
		log_close(log);
		sim_disk_forget(store.disk, "s.meta.json");
		CHECK((log = fuzz_store_log(&store, "s", LOG_READ)));
		also = fuzz_dump(log);
		CHECK(strcmp(said, also) == 0);
		free(said);
		free(also);
	}
	log_close(log);
	fuzz_store_close(&store);
}

static void open_listed(struct fuzz_store *store)
{
	fuzz_store_open(store, 0, 1);
	fuzz_store_put(store, "main.jsonl", PARENT TALK, sizeof(PARENT TALK) - 1);
	fuzz_store_put(store, "s.jsonl", HEADER TALK, sizeof(HEADER TALK) - 1);
	struct log *log = fuzz_store_log(store, "s", LOG_READ);
	CHECK(log && log_write_meta(log, NULL) == 0);
	log_close(log);
}

static void check_raw_catalogue(const uint8_t *data, size_t len)
{
	struct fuzz_store store;

	open_listed(&store);
	char *said = fuzz_dump_list(&store);
	fuzz_store_put(&store, CATALOGUE, data, len);
	char *also = fuzz_dump_list(&store);
	CHECK(strcmp(said, also) == 0);
	free(said);
	free(also);
	fuzz_store_close(&store);
}

/* With the checksum made right, as no accident makes it: numbers may be wrong, but no session is hidden or
 * invented. */
static void check_spoilt_catalogue(const uint8_t *data, size_t len)
{
	struct fuzz_store store;
	size_t bytes_len;

	open_listed(&store);
	free(fuzz_dump_list(&store));
	const char *found = fuzz_store_get(&store, CATALOGUE, &bytes_len);
	CHECK(found && bytes_len > CATALOGUE_HEAD_BYTES);
	char *bytes = sim_room(bytes_len);
	memcpy(bytes, found, bytes_len);
	for (; len >= 3; data += 3, len -= 3)
		bytes[((size_t)data[0] << 8 | data[1]) % bytes_len] = (char)data[2];
	uint32_t crc = crc32c(0, bytes + CATALOGUE_HEAD_BYTES, bytes_len - CATALOGUE_HEAD_BYTES);
	memcpy(bytes + CATALOGUE_HEAD_BYTES - sizeof(crc), &crc, sizeof(crc));
	fuzz_store_put(&store, CATALOGUE, bytes, bytes_len);
	free(bytes);
	check_listed(&store);
	fuzz_store_close(&store);
}

static void check_line(const char *data, size_t len)
{
	struct buffer text = BUFFER_INIT(8 * LIMIT_META_BYTES);
	struct session_line line, again;
	struct json record;
	struct bobbin_error error = {0};

	if (json_parse(data, len, &record, NULL) < 0)
		return;
	int rc = session_line_parse(&record, &line, &error);
	CHECK(rc == 0 || (rc == BOBBIN_ECORRUPT && error.message[0]));
	if (rc)
		return;
	CHECK(strlen(line.owner) <= LIMIT_OWNER_BYTES && strlen(line.title) <= LIMIT_TITLE_BYTES);
	CHECK(!line.pinned || line.has_parent);
	session_line_add(&text, &line, line.created[0] ? line.created : "2026-09-04T10:00:00Z");
	CHECK(buffer_error(&text) == 0);
	CHECK(json_parse(text.data, text.len, &record, NULL) == 0);
	CHECK(session_line_parse(&record, &again, &error) == 0);
	memcpy(line.created, again.created, sizeof(line.created)); /* written with some ts in any case */
	CHECK(!session_line_subtract(&line, &again, &(struct session_line){0}));
	CHECK(!session_line_subtract(&again, &line, &(struct session_line){0}));
	buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	switch ((enum what)(data[0] % WHATS)) {
	case META:
		check_meta(data + 1, len - 1);
		break;
	case META_ALONE:
		check_meta_alone(data + 1, len - 1);
		break;
	case RAW:
		check_raw_catalogue(data + 1, len - 1);
		break;
	case SPOILT:
		check_spoilt_catalogue(data + 1, len - 1);
		break;
	default:
		check_line((const char *)data + 1, len - 1);
	}
	return 0;
}
