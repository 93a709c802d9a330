/* SPDX-License-Identifier: MIT */
/* Reading a recording and playing it (tape.h). The file is read whole and checked when it is opened, so that
 * playing meets no faults. */
#include <fcntl.h>
#include "base/alloc.h"
#include "base/limits.h"
#include "model/tape_file.h"

struct playing {
	struct tape *tape;
	size_t next, end; /* lines of the tape */
	bool ended;
	bool missing; /* the tape has no answer left */
	struct buffer bytes;
	struct bobbin_error words;
};

struct tape *tape_new(const char *name, const struct platform *platform, struct bobbin_error *error)
{
	struct tape *tape = mem_alloc_zero(sizeof(*tape));
	char *copy = mem_copy_text(name, strlen(name));
	if (!tape || !copy) {
		mem_free(tape);
		mem_free(copy);
		error_set(error, BOBBIN_ENOMEM, "out of memory opening a recording");
		return NULL;
	}
	tape->platform = platform;
	tape->name = copy;
	tape->file = -1;
	buffer_init(&tape->line, LIMIT_LINE_BYTES);
	buffer_init(&tape->text, LIMIT_IMPORT_BYTES);
	return tape;
}

void tape_free(struct tape *tape)
{
	if (!tape)
		return;
	if (tape->file >= 0)
		tape->platform->close(tape->platform->context, tape->file);
	if (tape->wire && tape->wire->close && tape->wire_context)
		tape->wire->close(tape->wire_context);
	mem_free(tape->name);
	buffer_release(&tape->line);
	buffer_release(&tape->text);
	arena_release(&tape->arena);
	mem_free(tape->lines);
	mem_free(tape->exchanges);
	mem_free(tape);
}

static int read_file(struct tape *tape, struct bobbin_error *error)
{
	const struct platform *platform = tape->platform;
	struct file_info info;
	int rc = platform->info(platform->context, tape->file, &info);
	if (rc < 0)
		return error_set_os(error, -rc, "%s", tape->name);
	if (info.size > LIMIT_IMPORT_BYTES)
		return error_set(error, BOBBIN_ELIMIT, "%s: a recording may have %u bytes", tape->name,
			LIMIT_IMPORT_BYTES);
	char *room = buffer_reserve(&tape->text, (size_t)info.size);
	if (!room)
		return error_set(error, BOBBIN_ENOMEM, "out of memory reading %s", tape->name);
	ssize_t got = platform_read_full(platform, tape->file, room, (size_t)info.size, 0);
	if (got < 0)
		return error_set_os(error, (int)-got, "%s", tape->name);
	tape->text.len += (size_t)got;
	return 0;
}

static const char *member_text(struct tape *tape, const struct json *line, const char *key)
{
	struct json member;
	if (!json_get(line, key, &member) || member.type != JSON_STRING)
		return "";
	struct slice content = json_string_content(&member, &tape->arena);
	const char *copy = content.data ? arena_copy(&tape->arena, content.data, content.len) : NULL;
	tape->out_of_memory |= !copy;
	return copy ? copy : "";
}

static uint64_t member_count(const struct json *line, const char *key)
{
	struct json member;
	int64_t value;
	return json_get(line, key, &member) && json_int64(&member, &value) && value > 0 ? (uint64_t)value : 0;
}

static bool read_start(struct tape *tape, const struct json *line, struct model_properties *properties)
{
	if (properties->name)
		return true; /* another run appended to the same file */
	properties->name = member_text(tape, line, "name");
	properties->provider = member_text(tape, line, "provider");
	properties->window_tokens = member_count(line, "window");
	properties->output_tokens_max = member_count(line, "output");
	return member_count(line, "v") == 1 && properties->window_tokens > 0 &&
	       model_dialect_of(slice_of(member_text(tape, line, "dialect")), &properties->dialect);
}

static int add_exchange(struct tape *tape, const struct json *line)
{
	if (mem_grow((void **)&tape->exchanges, &tape->exchange_capacity, tape->exchange_count + 1,
		    sizeof(*tape->exchanges)) < 0)
		return BOBBIN_ENOMEM;
	tape->exchanges[tape->exchange_count++] = (struct tape_exchange){
		.digest = slice_of(member_text(tape, line, "digest")), .first = tape->line_count};
	return 0;
}

static int add_line(struct tape *tape, const struct json *line)
{
	if (mem_grow((void **)&tape->lines, &tape->line_capacity, tape->line_count + 1,
		    sizeof(*tape->lines)) < 0)
		return BOBBIN_ENOMEM;
	tape->lines[tape->line_count++] = *line;
	tape->exchanges[tape->exchange_count - 1].count++;
	return 0;
}

static bool hex_value(char digit, unsigned *ret_value)
{
	if (digit >= '0' && digit <= '9')
		*ret_value = (unsigned)(digit - '0');
	else if (digit >= 'a' && digit <= 'f')
		*ret_value = (unsigned)(digit - 'a') + 10;
	else
		return false;
	return true;
}

static bool add_hex(struct buffer *out, struct slice digits)
{
	unsigned high, low;
	for (size_t i = 0; i + 1 < digits.len; i += 2) {
		if (!hex_value(digits.data[i], &high) || !hex_value(digits.data[i + 1], &low))
			return false;
		buffer_add_char(out, (char)(high << 4 | low));
	}
	return digits.len % 2 == 0;
}

/* The bytes of a body line; false if it has none. */
static bool body_bytes(const struct json *line, struct buffer *out)
{
	struct json member;
	struct slice digits;
	buffer_clear(out);
	if (json_get(line, "text", &member) && member.type == JSON_STRING)
		json_string_decode(&member, JSON_SURROGATES_KEEP, out);
	else if (!json_get(line, "hex", &member) || !json_string_plain(&member, &digits) ||
		 !add_hex(out, digits))
		return false;
	return out->len > 0 || buffer_error(out);
}

static bool failure_named(struct slice name, enum model_failure *ret_failure)
{
	for (int i = MODEL_FAILURE_REQUEST; i <= MODEL_FAILURE_AUTH; i++) {
		if (slice_is(name, model_failure_text((enum model_failure)i))) {
			*ret_failure = (enum model_failure)i;
			return true;
		}
	}
	return false;
}

static bool line_is_good(struct tape *tape, const struct json *line, const struct json *type)
{
	enum model_failure failure;
	if (json_string_is(type, "head"))
		return member_count(line, "status") > 0;
	if (json_string_is(type, "body"))
		return body_bytes(line, &tape->line);
	if (json_string_is(type, "failed"))
		return failure_named(slice_of(member_text(tape, line, "failure")), &failure);
	return json_string_is(type, "end");
}

static int read_line(struct tape *tape, struct slice text, uint64_t number,
	struct model_properties *properties, struct bobbin_error *error)
{
	struct json line, type;
	bool last = text.data + text.len == tape->text.data + tape->text.len; /* without a newline */
	bool good = json_parse(text.data, text.len, &line, NULL) == 0;
	if (!good && last)
		return 0; /* the recording stopped in the middle of it */
	int rc = 0;
	if (good)
		good = json_get(&line, "type", &type);
	if (good && json_string_is(&type, "tape"))
		good = read_start(tape, &line, properties);
	else if (good && properties->name && json_string_is(&type, "request"))
		rc = add_exchange(tape, &line);
	else if (good && tape->exchange_count > 0 && line_is_good(tape, &line, &type))
		rc = add_line(tape, &line);
	else
		good = false;
	if (rc < 0 || tape->out_of_memory || buffer_error(&tape->line) == BOBBIN_ENOMEM)
		return error_set(error, BOBBIN_ENOMEM, "out of memory reading %s", tape->name);
	if (!good)
		return error_set_at(error, BOBBIN_EINPUT, number, (uint64_t)(text.data - tape->text.data),
			"%s: not a line of a recording", tape->name);
	return 0;
}

static int read_lines(struct tape *tape, struct model_properties *properties, struct bobbin_error *error)
{
	struct slice rest = buffer_slice(&tape->text);
	int rc = 0;
	for (uint64_t number = 1; rest.len > 0 && rc == 0; number++) {
		const char *end = memchr(rest.data, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.data) : rest.len;
		if (len > 0)
			rc = read_line(tape, (struct slice){rest.data, len}, number, properties, error);
		rest.data += len + (end != NULL);
		rest.len -= len + (end != NULL);
	}
	if (rc == 0 && !properties->name)
		rc = error_set_at(
			error, BOBBIN_EINPUT, 1, 0, "%s: a recording begins with its tape line", tape->name);
	return rc;
}

int tape_open(const char *file, const struct platform *platform, struct tape **ret_tape,
	struct model_properties *ret_properties, struct bobbin_error *error)
{
	struct model_properties properties = {.name = NULL};
	struct tape *tape = tape_new(file, platform, error);
	if (!tape)
		return BOBBIN_ENOMEM;
	tape->file = platform->open_at(platform->context, PLATFORM_CWD, file, O_RDONLY | O_CLOEXEC, 0);
	int rc = tape->file < 0 ? error_set_os(error, -tape->file, "%s", file) : read_file(tape, error);
	if (rc == 0)
		rc = read_lines(tape, &properties, error);
	if (rc < 0) {
		tape_free(tape);
		return rc;
	}
	*ret_tape = tape;
	*ret_properties = properties;
	return 0;
}

static struct tape_exchange *choose(struct tape *tape, const char *digest)
{
	struct tape_exchange *first = NULL;
	for (size_t i = 0; i < tape->exchange_count; i++) {
		struct tape_exchange *exchange = &tape->exchanges[i];
		if (exchange->given)
			continue;
		if (slice_is(exchange->digest, digest))
			return exchange;
		if (!first)
			first = exchange;
	}
	return first;
}

static int replay_begin(
	void *context, const struct wire_request *request, void **ret_exchange, struct bobbin_error *error)
{
	struct tape *tape = context;
	char digest[TAPE_DIGEST_BYTES];
	struct playing *playing = mem_alloc_zero(sizeof(*playing));
	if (!playing)
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	buffer_init(&playing->bytes, LIMIT_LINE_BYTES);
	playing->tape = tape;
	if (tape_digest(request->body, digest) < 0) {
		mem_free(playing);
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	}
	struct tape_exchange *exchange = choose(tape, digest);
	playing->missing = !exchange;
	if (exchange) {
		exchange->given = true;
		playing->next = exchange->first;
		playing->end = exchange->first + exchange->count;
	}
	*ret_exchange = playing;
	return 0;
}

static void give_failed(
	struct playing *playing, enum model_failure failure, const char *words, struct wire_piece *ret_piece)
{
	error_set(&playing->words, BOBBIN_EPROVIDER, "%s", words);
	*ret_piece = (struct wire_piece){.type = WIRE_FAILED};
	ret_piece->failure = failure;
	ret_piece->words = playing->words.message;
}

static void read_head(const struct json *line, struct wire_piece *piece)
{
	struct json member;
	bool flag;
	piece->type = WIRE_HEAD;
	piece->head = (struct wire_head){(int)member_count(line, "status"), false, -1, -1};
	if (json_get(line, "stream", &member) && json_bool(&member, &flag))
		piece->head.is_event_stream = flag;
	if (json_get(line, "should_retry", &member) && json_bool(&member, &flag))
		piece->head.should_retry = flag;
	if (json_get(line, "retry_after_ms", &member))
		json_int64(&member, &piece->head.retry_after_ms);
}

static void read_failed(struct playing *playing, const struct json *line, struct wire_piece *piece)
{
	struct json member;
	enum model_failure failure = MODEL_FAILURE_CUT_OFF;
	failure_named(slice_of(member_text(playing->tape, line, "failure")), &failure);
	give_failed(playing, failure, member_text(playing->tape, line, "words"), piece);
	if (json_get(line, "retry", &member))
		json_bool(&member, &piece->retry);
}

static int replay_next(void *state, int64_t wait_ns, struct wire_piece *ret_piece)
{
	struct playing *playing = state;
	struct json type;
	(void)wait_ns;
	if (playing->missing) {
		give_failed(playing, MODEL_FAILURE_REQUEST,
			"the recording has no answer left for this request", ret_piece);
		return 0;
	}
	if (playing->next == playing->end) {
		give_failed(playing, MODEL_FAILURE_CUT_OFF, "the recording ends in the middle of the answer",
			ret_piece);
		return 0;
	}
	const struct json *line = &playing->tape->lines[playing->next++];
	*ret_piece = (struct wire_piece){.type = WIRE_END};
	json_get(line, "type", &type);
	if (json_string_is(&type, "head")) {
		read_head(line, ret_piece);
	} else if (json_string_is(&type, "body")) {
		ret_piece->type = WIRE_BODY;
		if (!body_bytes(line, &playing->bytes) || buffer_error(&playing->bytes))
			return BOBBIN_ENOMEM;
		ret_piece->body = buffer_slice(&playing->bytes);
	} else if (json_string_is(&type, "failed")) {
		read_failed(playing, line, ret_piece);
	}
	return playing->tape->out_of_memory ? BOBBIN_ENOMEM : 0;
}

static int64_t replay_moved_ns(const void *state)
{
	(void)state;
	return 0;
}

static void replay_wake(void *state)
{
	(void)state;
}

static int replay_fd(const void *state)
{
	(void)state;
	return -1;
}

static void replay_end(void *state)
{
	struct playing *playing = state;
	buffer_release(&playing->bytes);
	mem_free(playing);
}

static void replay_close(void *context)
{
	tape_free(context);
}

const struct wire wire_replay = {
	replay_begin, replay_next, replay_moved_ns, replay_wake, replay_fd, replay_end, replay_close};
