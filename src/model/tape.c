/* SPDX-License-Identifier: MIT */
/* Writing a recording (tape.h): a wire around another one. */
#include "model/tape.h"

#include <fcntl.h>
#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "model/failure.h"
#include "model/tape_file.h"

struct recording {
	struct tape *tape;
	void *inner; /* the exchange that is recorded */
	struct slice secret;
	struct buffer clean; /* a body without the secret */
	struct bobbin_error words;
};

int tape_digest(struct slice body, char ret_text[TAPE_DIGEST_BYTES])
{
	uint8_t digest[SHA256_BYTES];
	int rc = sha256_of(body.data, body.len, digest);
	if (rc < 0)
		return rc;
	memcpy(ret_text, "sha256:", 7);
	hex_encode(digest, sizeof(digest), ret_text + 7);
	return 0;
}

/* Ends the line that was begun in tape->line and writes it. */
static int write_line(struct tape *tape, struct bobbin_error *error)
{
	buffer_add_char(&tape->line, '\n');
	if (buffer_error(&tape->line))
		return error_set(error, buffer_error(&tape->line), "out of memory recording");
	ssize_t written =
		tape->platform->write(tape->platform->context, tape->file, tape->line.data, tape->line.len);
	if (written < 0)
		return error_set_os(error, (int)-written, "%s", tape->name);
	if ((size_t)written < tape->line.len)
		return error_set(
			error, BOBBIN_ENOSPC, "%s: only part of a line could be written", tape->name);
	return 0;
}

static struct json_writer begin_line(struct tape *tape, const char *type)
{
	struct json_writer writer;
	buffer_clear(&tape->line);
	json_writer_init(&writer, &tape->line);
	json_begin_object(&writer);
	json_member_text(&writer, "type", type);
	return writer;
}

static int end_line(struct tape *tape, struct json_writer *writer, struct bobbin_error *error)
{
	json_end_object(writer);
	return write_line(tape, error);
}

static int write_start(
	struct tape *tape, const struct model_properties *properties, struct bobbin_error *error)
{
	struct json_writer writer = begin_line(tape, "tape");
	json_member_int(&writer, "v", 1);
	json_member_text(&writer, "name", properties->name);
	json_member_text(&writer, "provider", properties->provider);
	json_member_text(&writer, "dialect", model_dialect_text(properties->dialect));
	json_member_uint(&writer, "window", properties->window_tokens);
	json_member_uint(&writer, "output", properties->output_tokens_max);
	return end_line(tape, &writer, error);
}

int tape_record(const char *file, const struct model_properties *properties, const struct platform *platform,
	const struct wire *wire, void *wire_context, struct tape **ret_tape, struct bobbin_error *error)
{
	struct tape *tape = tape_new(file, platform, error);
	if (!tape)
		return BOBBIN_ENOMEM;
	tape->wire = wire;
	tape->file = platform->open_at(
		platform->context, PLATFORM_CWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	int rc = tape->file < 0 ? error_set_os(error, -tape->file, "%s", file)
				: write_start(tape, properties, error);
	if (rc < 0) {
		tape_free(tape);
		return rc;
	}
	tape->wire_context = wire_context;
	*ret_tape = tape;
	return 0;
}

static void record_end(void *state)
{
	struct recording *recording = state;
	if (recording->inner)
		recording->tape->wire->end(recording->inner);
	buffer_release(&recording->clean);
	mem_free(recording);
}

static int record_begin(
	void *context, const struct wire_request *request, void **ret_exchange, struct bobbin_error *error)
{
	struct tape *tape = context;
	char digest[TAPE_DIGEST_BYTES];
	struct recording *recording = mem_alloc_zero(sizeof(*recording));
	if (!recording)
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	recording->tape = tape;
	recording->secret = request->secret;
	buffer_init(&recording->clean, SIZE_MAX / 2);
	int rc = tape_digest(request->body, digest);
	if (rc < 0)
		error_set(error, rc, "out of memory sending a request");
	if (rc == 0) {
		struct json_writer writer = begin_line(tape, "request");
		json_member_text(&writer, "digest", digest);
		rc = end_line(tape, &writer, error);
	}
	if (rc == 0)
		rc = tape->wire->begin(tape->wire_context, request, &recording->inner, error);
	if (rc < 0)
		record_end(recording);
	else
		*ret_exchange = recording;
	return rc;
}

static void write_head(struct json_writer *writer, const struct wire_head *head)
{
	json_member_int(writer, "status", head->status);
	json_member_bool(writer, "stream", head->is_event_stream);
	if (head->retry_after_ms >= 0)
		json_member_int(writer, "retry_after_ms", head->retry_after_ms);
	if (head->should_retry >= 0)
		json_member_bool(writer, "should_retry", head->should_retry);
}

static void write_body(struct json_writer *writer, struct slice body)
{
	if (utf8_valid_prefix(body.data, body.len) == body.len) {
		json_member_string(writer, "text", body);
		return;
	}
	json_key(writer, "hex");
	buffer_add_char(writer->out, '"');
	for (size_t i = 0; i < body.len; i++) {
		char digits[3];
		hex_encode((const uint8_t *)body.data + i, 1, digits);
		buffer_add_text(writer->out, digits);
	}
	buffer_add_char(writer->out, '"');
}

static int write_piece(struct tape *tape, const struct wire_piece *piece, struct bobbin_error *error)
{
	static const char *const types[] = {"head", "body", "end", "failed"};
	struct json_writer writer = begin_line(tape, types[piece->type]);
	if (piece->type == WIRE_HEAD)
		write_head(&writer, &piece->head);
	if (piece->type == WIRE_BODY)
		write_body(&writer, piece->body);
	if (piece->type == WIRE_FAILED) {
		json_member_text(&writer, "failure", model_failure_text(piece->failure));
		json_member_bool(&writer, "retry", piece->retry);
		json_member_text(&writer, "words", piece->words);
	}
	return end_line(tape, &writer, error);
}

static struct slice without_secret(struct recording *recording, struct slice body)
{
	if (recording->secret.len == 0 ||
		!memmem(body.data, body.len, recording->secret.data, recording->secret.len))
		return body;
	buffer_clear(&recording->clean);
	failure_add_without(&recording->clean, body, recording->secret);
	return buffer_slice(&recording->clean);
}

/* A recording with a hole would be worse than none: what cannot be written ends the answer. */
static int record_next(void *state, int64_t wait_ns, struct wire_piece *ret_piece)
{
	struct recording *recording = state;
	int rc = recording->tape->wire->next(recording->inner, wait_ns, ret_piece);
	if (rc < 0)
		return rc;
	struct wire_piece clean = *ret_piece;
	if (clean.type == WIRE_BODY)
		clean.body = without_secret(recording, clean.body);
	rc = buffer_error(&recording->clean) ? BOBBIN_ENOMEM
					     : write_piece(recording->tape, &clean, &recording->words);
	if (rc == BOBBIN_ENOMEM)
		return rc;
	if (rc < 0) {
		error_prefix(&recording->words, "the answer cannot be recorded");
		*ret_piece = (struct wire_piece){.type = WIRE_FAILED};
		ret_piece->failure = MODEL_FAILURE_PROTOCOL;
		ret_piece->words = recording->words.message;
	}
	return 0;
}

static int64_t record_moved_ns(const void *state)
{
	const struct recording *recording = state;
	return recording->tape->wire->moved_ns(recording->inner);
}

static void record_wake(void *state)
{
	struct recording *recording = state;
	recording->tape->wire->wake(recording->inner);
}

static int record_fd(const void *state)
{
	const struct recording *recording = state;
	return recording->tape->wire->fd(recording->inner);
}

static void tape_close(void *context)
{
	tape_free(context);
}

const struct wire wire_record = {
	record_begin, record_next, record_moved_ns, record_wake, record_fd, record_end, tape_close};
