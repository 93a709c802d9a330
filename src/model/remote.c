/* SPDX-License-Identifier: MIT */
/* See remote.h. The stream of a request: pieces of the wire go to the reader while it is a stream of events,
 * else into `refusal`, which is read when it is complete. */
#include "model/remote.h"

#include "base/alloc.h"
#include "base/limits.h"
#include "model/address.h"
#include "model/failure.h"
#include "model/http.h"
#include "model/known.h"
#include "model/protocol.h"
#include "model/tape.h"

#define REFUSAL_BYTES_MAX (64u << 10)	  /* of the body of an error; the rest is not read */
#define PIECES_AT_ONCE 64		  /* handled in one call, so that a cancel is seen in a flood */
#define WHOLE_WAIT_NS INT64_C(1000000000) /* for what may follow a whole answer: usage, the end mark */

struct remote {
	struct address address;
	const struct protocol *protocol;
	const struct wire *wire;
	void *wire_context; /* NULL: none */
	struct tape *tape;  /* the same, if it is one */
};

struct remote_stream {
	const struct remote *remote;
	const struct platform *platform;
	void *exchange;
	struct buffer body;
	struct reader reader;
	struct slice pending;	 /* bytes of the wire's last piece that the reader has not taken */
	struct wire_head head;	 /* status 0: it has not come */
	bool gathering, decided; /* not a stream of events; it is known which */
	struct buffer refusal, words;
	int64_t whole_ns; /* when the answer was seen to be whole; 0: it is not yet */
	bool settled;	  /* it was, and the caller's time is up */
};

static void release_stream(void *state)
{
	struct remote_stream *stream = state;
	if (stream->exchange)
		stream->remote->wire->end(stream->exchange);
	reader_release(&stream->reader);
	buffer_release(&stream->body);
	buffer_release(&stream->refusal);
	buffer_release(&stream->words);
	mem_free(stream);
}

/* Puts a member into the body, if `missing` says that it is needed. */
static int set_member(struct buffer *body, const char *key, const char *value)
{
	struct json object;
	struct buffer out = BUFFER_INIT(LIMIT_REQUEST_BYTES);
	int rc = json_parse(body->data, body->len, &object, NULL);
	if (rc == 0) {
		json_splice(&out, &object, key, slice_of(value));
		rc = buffer_error(&out);
	}
	if (rc == 0) {
		struct buffer old = *body;
		*body = out;
		out = old;
	}
	buffer_release(&out);
	return rc;
}

/* The answer must be a stream and must end with the usage, whoever rendered the body. */
static int complete_body(struct model *model, struct buffer *body, struct bobbin_error *error)
{
	const struct remote *remote = model->state;
	enum model_dialect dialect = remote->protocol->dialect;
	struct json object, member;
	bool streams = false;
	int rc = json_parse(body->data, body->len, &object, error);
	if (rc < 0 || object.type != JSON_OBJECT)
		return error_set(error, rc == BOBBIN_ENOMEM ? rc : BOBBIN_EINPUT,
			"the body of the request is not a JSON object");
	bool named = json_get(&object, "model", &member);
	bool counted = dialect != MODEL_OPENAI_CHAT || json_get(&object, "stream_options", &member);
	bool bounded = dialect != MODEL_ANTHROPIC || json_get(&object, "max_tokens", &member);
	if (json_get(&object, "stream", &member))
		json_bool(&member, &streams);
	struct buffer value = BUFFER_INIT(SIZE_MAX / 2);
	struct json_writer writer;
	json_writer_init(&writer, &value);
	json_add_text(&writer, model->properties.name);
	rc = buffer_error(&value);
	if (rc == 0 && !named)
		rc = set_member(body, "model", value.data);
	if (rc == 0 && !bounded) {
		buffer_clear(&value);
		buffer_add_u64(&value, model->properties.output_tokens_max);
		rc = buffer_error(&value) ? buffer_error(&value) : set_member(body, "max_tokens", value.data);
	}
	if (rc == 0 && !streams)
		rc = set_member(body, "stream", "true");
	if (rc == 0 && !counted)
		rc = set_member(body, "stream_options", "{\"include_usage\":true}");
	buffer_release(&value);
	return rc < 0 ? error_set(error, rc, "the request cannot be completed") : 0;
}

static int begin(struct remote_stream *stream, struct model *model, const struct model_request *request,
	struct bobbin_error *error)
{
	const struct remote *remote = stream->remote;
	buffer_add_slice(&stream->body, request->body);
	if (reader_init(&stream->reader, remote->protocol) < 0 || buffer_error(&stream->body))
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	stream->reader.sink.host = remote->address.host;
	if (remote->address.key)
		stream->reader.sink.secret = slice_of(remote->address.key);
	int rc = complete_body(model, &stream->body, error);
	if (rc < 0)
		return rc;
	struct wire_request wire_request = {
		.url = remote->address.url,
		.host = remote->address.host,
		.headers = (const char *const *)remote->address.headers,
		.body = buffer_slice(&stream->body),
		.secret = stream->reader.sink.secret,
		.platform = model->platform,
	};
	return remote->wire->begin(remote->wire_context, &wire_request, &stream->exchange, error);
}

static int send_request(struct model *model, const struct model_request *request, void **ret_state,
	struct bobbin_error *error)
{
	struct remote_stream *stream = mem_alloc_zero(sizeof(*stream));
	if (!stream)
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	stream->remote = model->state;
	stream->platform = model->platform;
	buffer_init(&stream->body, LIMIT_REQUEST_BYTES);
	buffer_init(&stream->refusal, REFUSAL_BYTES_MAX);
	buffer_init(&stream->words, SIZE_MAX / 2);
	int rc = begin(stream, model, request, error);
	if (rc < 0) {
		release_stream(stream);
		return rc;
	}
	*ret_state = stream;
	return 0;
}

static void fail(struct remote_stream *stream, enum model_failure failure, bool retry, const char *words)
{
	struct model_event event;
	model_event_failure(&event, failure, stream->head.status, words);
	event.error.retry = retry;
	sink_error(&stream->reader.sink, &event);
}

static void fail_here(struct remote_stream *stream, enum model_failure failure, const char *words)
{
	buffer_clear(&stream->words);
	const char *host = stream->remote->address.host;
	buffer_addf(&stream->words, "%s %s", host ? host : "the provider", words);
	sink_check(&stream->reader.sink, &stream->words);
	if (!stream->reader.sink.error)
		fail(stream, failure, false, stream->words.data);
}

/* What a person should know who sees that the key was refused. */
static void add_key_words(struct remote_stream *stream)
{
	const struct address *address = &stream->remote->address;
	if (address->withheld)
		buffer_addf(&stream->words, " (%s was not sent, because the connection is not encrypted)",
			address->key_name);
	else if (!address->key && address->key_name)
		buffer_addf(&stream->words, " (%s is not set)", address->key_name);
}

static void give_refusal(struct remote_stream *stream)
{
	const struct address *address = &stream->remote->address;
	struct refusal refusal = {address->host, stream->head.status, stream->head.retry_after_ms,
		stream->head.should_retry, address->key ? slice_of(address->key) : SLICE_LITERAL("")};
	struct model_event event;
	if (failure_of_body(&refusal, buffer_slice(&stream->refusal), &stream->words, &event) < 0) {
		stream->reader.sink.error = BOBBIN_ENOMEM;
		return;
	}
	if (event.error.failure == MODEL_FAILURE_AUTH)
		add_key_words(stream);
	sink_check(&stream->reader.sink, &stream->words);
	event.error.message = buffer_slice(&stream->words);
	sink_error(&stream->reader.sink, &event);
}

/* A success that is not a stream of events: an error in disguise, or something else altogether. */
static void give_stranger(struct remote_stream *stream)
{
	struct json body, member;
	struct slice text = buffer_slice(&stream->refusal);
	if (json_parse(text.data, text.len, &body, NULL) == 0 && json_get(&body, "error", &member)) {
		failure_into(&stream->reader.sink, &body);
		return;
	}
	fail_here(stream, MODEL_FAILURE_PROTOCOL, "answered with something else than a stream of events");
}

/* The bytes have ended, well or not (`words` NULL: well). */
static void give_end(struct remote_stream *stream, const char *words)
{
	int status = stream->head.status;
	if (status >= 400)
		give_refusal(stream);
	else if (status >= 300)
		fail_here(stream, MODEL_FAILURE_REQUEST,
			"answered with a redirect, and those are not followed: the base address must be the "
			"final one");
	else if (stream->gathering)
		give_stranger(stream);
	else if (words)
		reader_end(&stream->reader, words);
	else if (sse_is_unfinished(&stream->reader.sse))
		reader_end(&stream->reader, "the answer was cut off in the middle of an event");
	else
		reader_end(&stream->reader, "the connection ended before the answer was finished");
}

/* Most servers say that it is a stream of events; of the others its first byte tells. */
static void decide(struct remote_stream *stream, struct slice bytes)
{
	if (stream->decided)
		return;
	stream->decided = true;
	stream->gathering = stream->head.status >= 300 ||
			    (!stream->head.is_event_stream && memchr("{[<", bytes.data[0], 3));
}

static void take_body(struct remote_stream *stream, struct slice bytes)
{
	decide(stream, bytes);
	if (!stream->gathering) {
		stream->pending = bytes;
		return;
	}
	size_t room = REFUSAL_BYTES_MAX - stream->refusal.len;
	buffer_add(&stream->refusal, bytes.data, bytes.len < room ? bytes.len : room);
	sink_check(&stream->reader.sink, &stream->refusal);
	if (bytes.len >= room)
		give_end(stream, NULL);
}

static void take_piece(struct remote_stream *stream, const struct wire_piece *piece)
{
	switch (piece->type) {
	case WIRE_HEAD:
		stream->head = piece->head;
		stream->reader.sink.http_status = piece->head.status;
		break;
	case WIRE_BODY:
		take_body(stream, piece->body);
		break;
	case WIRE_END:
		give_end(stream, NULL);
		break;
	case WIRE_FAILED:
		if (stream->head.status == 0 || piece->failure != MODEL_FAILURE_CUT_OFF)
			fail(stream, piece->failure, piece->retry, piece->words);
		else
			give_end(stream, piece->words);
		break;
	}
}

/* The answer is whole; what may follow it is not waited for long. */
static int64_t wait_of(struct remote_stream *stream, int64_t wait_ns)
{
	if (!reader_is_whole(&stream->reader))
		return wait_ns;
	int64_t now = stream->platform->monotonic_ns(stream->platform->context);
	if (stream->whole_ns == 0)
		stream->whole_ns = now;
	int64_t left = stream->whole_ns + WHOLE_WAIT_NS - now;
	if (left <= 0 || stream->settled)
		give_end(stream, NULL);
	return left < wait_ns ? (left > 0 ? left : 0) : wait_ns;
}

static int next_event(void *state, int64_t wait_ns, struct model_event *ret_event)
{
	struct remote_stream *stream = state;
	struct sink *sink = &stream->reader.sink;
	struct wire_piece piece;
	for (int handled = 0; handled < PIECES_AT_ONCE;) {
		if (sink->error)
			return sink->error;
		if (sink_next(sink, ret_event))
			return 0;
		if (stream->pending.len > 0) {
			int rc = reader_take(&stream->reader, &stream->pending);
			if (rc < 0)
				return rc;
			continue;
		}
		int64_t wait = wait_of(stream, handled > 0 ? 0 : wait_ns);
		if (sink->ended)
			continue;
		int rc = stream->remote->wire->next(stream->exchange, wait, &piece);
		if (rc < 0)
			return rc;
		take_piece(stream, &piece);
		handled++;
	}
	return BOBBIN_ETIMEOUT;
}

static bool settle(void *state)
{
	struct remote_stream *stream = state;
	stream->settled = reader_is_whole(&stream->reader);
	return stream->settled;
}

static int64_t moved_ns(const void *state)
{
	const struct remote_stream *stream = state;
	return stream->remote->wire->moved_ns(stream->exchange);
}

static void wake(void *state)
{
	struct remote_stream *stream = state;
	stream->remote->wire->wake(stream->exchange);
}

static int fd(void *state)
{
	const struct remote_stream *stream = state;
	return stream->remote->wire->fd(stream->exchange);
}

static void release_remote(struct model *model)
{
	struct remote *remote = model->state;
	if (!remote)
		return;
	if (remote->wire && remote->wire->close && remote->wire_context)
		remote->wire->close(remote->wire_context);
	address_release(&remote->address);
	mem_free(remote);
}

static const struct provider remote_provider = {
	.send = send_request,
	.next = next_event,
	.fd = fd,
	.release_stream = release_stream,
	.release = release_remote,
	.moved_ns = moved_ns,
	.wake = wake,
	.settle = settle,
};

bool remote_is(const char *specification)
{
	return address_is(specification) || slice_starts_with(slice_of(specification), "record:") ||
	       slice_starts_with(slice_of(specification), "replay:");
}

static int open_network(struct model *model, const char *specification, struct bobbin_error *error)
{
	struct remote *remote = model->state;
	int rc = address_read(specification, &remote->address, error);
	if (rc < 0)
		return rc;
	struct known_model known = known_model(slice_of(remote->address.name));
	model->properties = (struct model_properties){
		.name = remote->address.name,
		.provider = remote->address.provider,
		.dialect = remote->address.dialect,
		.window_tokens = known.window_tokens,
		.output_tokens_max = known.output_tokens_max,
	};
	remote->wire = &wire_http;
	return 0;
}

static int open_recording(struct model *model, const char *text, struct bobbin_error *error)
{
	struct remote *remote = model->state;
	const char *colon = strchr(text, ':');
	if (!colon || colon == text || !address_is(colon + 1))
		return error_set(error, BOBBIN_EINVAL,
			"record:FILE:MODEL needs a file and a model of openai, openai-responses or "
			"anthropic");
	int rc = open_network(model, colon + 1, error);
	char *file = rc < 0 ? NULL : mem_copy_text(text, (size_t)(colon - text));
	if (rc < 0)
		return rc;
	if (!file)
		return error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
	rc = tape_record(file, &model->properties, model->platform, remote->wire, NULL, &remote->tape, error);
	mem_free(file);
	if (rc < 0)
		return rc;
	remote->wire_context = remote->tape;
	remote->wire = &wire_record;
	return 0;
}

static int open_replay(struct model *model, const char *file, struct bobbin_error *error)
{
	struct remote *remote = model->state;
	if (!*file)
		return error_set(
			error, BOBBIN_EINVAL, "replay: needs the name of a recording after the colon");
	int rc = tape_open(file, model->platform, &remote->tape, &model->properties, error);
	if (rc < 0)
		return rc;
	remote->wire_context = remote->tape;
	remote->wire = &wire_replay;
	return 0;
}

int remote_open(struct model *model, const char *specification, struct bobbin_error *error)
{
	int rc;
	struct remote *remote = mem_alloc_zero(sizeof(*remote));
	if (!remote)
		return error_set(error, BOBBIN_ENOMEM, "out of memory opening a model");
	model->provider = &remote_provider;
	model->state = remote;
	if (address_is(specification))
		rc = open_network(model, specification, error);
	else if (slice_starts_with(slice_of(specification), "record:"))
		rc = open_recording(model, specification + 7, error);
	else
		rc = open_replay(model, specification + 7, error);
	if (rc < 0)
		return rc;
	remote->protocol = protocol_of(model->properties.dialect);
	model->dialects[model->properties.dialect] = true;
	return 0;
}
