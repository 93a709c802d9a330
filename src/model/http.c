/* SPDX-License-Identifier: MIT */
/* See http.h. One multi handle holds one transfer, so that curl_multi_poll can be woken for it alone. */
#include "model/http.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include "base/alloc.h"
#include "base/json.h"
#include "base/limits.h"
#include "model/curl.h"
#include "model/pollable.h"

#define NS_PER_MS 1000000
#define MS_PER_S 1000
#define CONNECT_SECONDS 30
#define HEADER_BYTES_MAX (256u << 10)
#define RETRY_AFTER_MAX_MS INT64_C(86400000) /* a day; nobody waits longer */

struct exchange {
	const struct platform *platform;
	const struct curl_functions *curl;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	struct buffer received; /* body bytes that came */
	bool given;		/* `received` was handed out and is cleared at the next call */
	struct wire_head head;
	bool has_head, head_given, finished;
	CURLcode result; /* once finished */
	size_t header_bytes, request_bytes;
	curl_off_t sent;
	int64_t moved_ns;
	const char *host;
	struct pollable pollable;
	struct bobbin_error words;
};

static void moved(struct exchange *exchange)
{
	exchange->moved_ns = exchange->platform->monotonic_ns(exchange->platform->context);
}

/* A number of seconds, or of milliseconds, with or without a fraction. */
static int64_t milliseconds_of(struct slice value, double scale)
{
	struct json number;
	double amount;
	if (json_parse(value.data, value.len, &number, NULL) < 0 || !json_double(&number, &amount) ||
		!(amount >= 0))
		return -1;
	amount *= scale;
	return amount > (double)RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : (int64_t)amount;
}

int64_t http_retry_after_ms(struct slice value, int64_t realtime_ns)
{
	char text[64];
	int64_t delay = milliseconds_of(value, MS_PER_S);
	if (delay >= 0 || value.len >= sizeof(text))
		return delay;
	memcpy(text, value.data, value.len);
	text[value.len] = '\0';
	const struct curl_functions *curl = curl_load(NULL); /* there already, but in a test */
	time_t date = curl ? curl->getdate(text, NULL) : -1;
	if (date < 0)
		return -1;
	int64_t until_ms = (int64_t)date * MS_PER_S - realtime_ns / NS_PER_MS;
	if (until_ms < 0)
		return 0;
	return until_ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : until_ms;
}

static bool header_is(struct slice name, const char *text)
{
	return name.len == strlen(text) && strncasecmp(name.data, text, name.len) == 0;
}

static void take_header(struct exchange *exchange, struct slice name, struct slice value)
{
	struct wire_head *head = &exchange->head;
	const struct platform *platform = exchange->platform;
	if (header_is(name, "content-type"))
		head->is_event_stream = value.len >= 17 && !strncasecmp(value.data, "text/event-stream", 17);
	else if (header_is(name, "retry-after-ms"))
		head->retry_after_ms = milliseconds_of(value, 1);
	else if (header_is(name, "retry-after") && head->retry_after_ms < 0)
		head->retry_after_ms = http_retry_after_ms(value, platform->realtime_ns(platform->context));
	else if (header_is(name, "x-should-retry"))
		head->should_retry = header_is(value, "true") ? 1 : header_is(value, "false") ? 0 : -1;
}

static struct slice trim(struct slice text)
{
	while (text.len > 0 && strchr(" \t\r\n", text.data[text.len - 1]))
		text.len--;
	while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
		text = (struct slice){text.data + 1, text.len - 1};
	return text;
}

/* Called for each line: the status line, the headers, the empty line. An answer 1xx comes before another. */
static size_t on_header(char *data, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	size_t len = size * count;
	struct slice line = trim((struct slice){data, len});
	long status = 0;
	moved(exchange);
	exchange->header_bytes += len;
	if (exchange->header_bytes > HEADER_BYTES_MAX)
		return 0;
	if (slice_starts_with(line, "HTTP/")) {
		exchange->head = (struct wire_head){.retry_after_ms = -1, .should_retry = -1};
		return len;
	}
	if (line.len == 0) {
		exchange->curl->easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
		exchange->head.status = (int)status;
		exchange->has_head = status >= 200;
		return len;
	}
	const char *colon = memchr(line.data, ':', line.len);
	if (colon) {
		size_t at = (size_t)(colon - line.data);
		take_header(exchange, (struct slice){line.data, at},
			trim((struct slice){colon + 1, line.len - at - 1}));
	}
	return len;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	moved(exchange);
	buffer_add(&exchange->received, data, size * count);
	return buffer_error(&exchange->received) ? 0 : size * count;
}

/* A large body that is slowly sent is not silence. */
static int on_progress(void *context, curl_off_t all_in, curl_off_t in, curl_off_t all_out, curl_off_t out)
{
	struct exchange *exchange = context;
	(void)all_in;
	(void)in;
	(void)all_out;
	if (out > exchange->sent)
		moved(exchange);
	exchange->sent = out;
	return 0;
}

/* Sockets are opened here only to be watched; libcurl closes them. */
static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	const struct exchange *exchange = context;
	(void)purpose;
	int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	if (descriptor < 0)
		return CURL_SOCKET_BAD;
	pollable_add(&exchange->pollable, descriptor);
	return descriptor;
}

#define SET(option, value)                                                                                   \
	if (exchange->curl->easy_setopt(exchange->easy, option, value) != CURLE_OK)                          \
	return false

static bool set_manners(const struct exchange *exchange, const char *url)
{
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_FRESH_CONNECT, 1L);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_QUICK_EXIT, 1L); /* a cancelled look-up of a name is not waited for */
	SET(CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_USERAGENT, "bobbin/" BOBBIN_VERSION);
	if (strncmp(url, "https:", 6) != 0)
		SET(CURLOPT_PROXY, "");
	const char *authorities =
		getenv("SSL_CERT_FILE"); /* OpenSSL's variable, which libcurl does not read */
	if (authorities && *authorities)
		SET(CURLOPT_CAINFO, authorities);
	return true;
}

static bool set_request(struct exchange *exchange, const struct wire_request *request)
{
	SET(CURLOPT_URL, request->url);
	SET(CURLOPT_HTTPHEADER, exchange->headers);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
	SET(CURLOPT_POSTFIELDS, request->body.data);
	SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
	SET(CURLOPT_OPENSOCKETDATA, exchange);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, exchange);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, exchange);
	SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(CURLOPT_XFERINFODATA, exchange);
	SET(CURLOPT_NOPROGRESS, 0L);
	return true;
}

static bool add_header(struct exchange *exchange, const char *line)
{
	struct curl_slist *longer = exchange->curl->slist_append(exchange->headers, line);
	if (longer)
		exchange->headers = longer;
	return longer;
}

static bool set_up(struct exchange *exchange, const struct wire_request *request)
{
	exchange->multi = exchange->curl->multi_init();
	exchange->easy = exchange->curl->easy_init();
	if (!exchange->multi || !exchange->easy)
		return false;
	if (!add_header(exchange, "Content-Type: application/json") ||
		!add_header(exchange, "Accept: text/event-stream") || !add_header(exchange, "Expect:"))
		return false;
	for (const char *const *line = request->headers; *line; line++) {
		if (!add_header(exchange, *line))
			return false;
	}
	return set_manners(exchange, request->url) && set_request(exchange, request) &&
	       exchange->curl->multi_add_handle(exchange->multi, exchange->easy) == CURLM_OK;
}

static void http_end(void *state)
{
	struct exchange *exchange = state;
	if (exchange->multi && exchange->easy)
		exchange->curl->multi_remove_handle(exchange->multi, exchange->easy);
	exchange->curl->easy_cleanup(exchange->easy);
	exchange->curl->multi_cleanup(exchange->multi);
	exchange->curl->slist_free_all(exchange->headers);
	buffer_release(&exchange->received);
	pollable_release(&exchange->pollable);
	mem_free(exchange);
}

static int http_begin(
	void *context, const struct wire_request *request, void **ret_exchange, struct bobbin_error *error)
{
	(void)context;
	const struct curl_functions *curl = curl_load(error);
	if (!curl)
		return BOBBIN_EUNSUPPORTED;
	struct exchange *exchange = mem_alloc_zero(sizeof(*exchange));
	if (!exchange)
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	exchange->curl = curl;
	exchange->platform = request->platform;
	exchange->host = request->host;
	exchange->request_bytes = request->body.len;
	exchange->head = (struct wire_head){.retry_after_ms = -1, .should_retry = -1};
	buffer_init(&exchange->received, LIMIT_EVENT_BYTES);
	pollable_init(&exchange->pollable);
	if (!set_up(exchange, request)) {
		http_end(exchange);
		return error_set(error, BOBBIN_ENOMEM, "out of memory sending a request");
	}
	*ret_exchange = exchange;
	return 0;
}

/* Lets libcurl do what it can without waiting. */
static int perform(struct exchange *exchange)
{
	int running, left;
	CURLMcode rc = exchange->curl->multi_perform(exchange->multi, &running);
	if (rc == CURLM_OUT_OF_MEMORY)
		return BOBBIN_ENOMEM;
	CURLMsg *message = exchange->curl->multi_info_read(exchange->multi, &left);
	if (rc != CURLM_OK || (message && message->msg == CURLMSG_DONE)) {
		exchange->finished = true;
		exchange->result = rc == CURLM_OK ? message->data.result : CURLE_FAILED_INIT;
	}
	if (buffer_error(&exchange->received) == BOBBIN_ENOMEM || exchange->result == CURLE_OUT_OF_MEMORY)
		return BOBBIN_ENOMEM;
	return 0;
}

static int wait_ms(int64_t wait_ns)
{
	int64_t wait = wait_ns / NS_PER_MS + (wait_ns % NS_PER_MS > 0);
	return wait > INT_MAX ? INT_MAX : (int)wait;
}

/* Words for what libcurl met; `retry` where nothing can have been carried out. */
static const char *words_of(const struct exchange *exchange, bool *ret_retry)
{
	long os_error = 0;
	exchange->curl->easy_getinfo(exchange->easy, CURLINFO_OS_ERRNO, &os_error);
	*ret_retry = true;
	switch (exchange->result) {
	case CURLE_COULDNT_RESOLVE_HOST:
		return "the name %s cannot be found: is the network up, and the name right?";
	case CURLE_COULDNT_RESOLVE_PROXY:
		return "the name of the proxy on the way to %s cannot be found";
	case CURLE_COULDNT_CONNECT:
		return os_error == ECONNREFUSED ? "%s refuses the connection: is the server running?"
						: "%s cannot be reached";
	case CURLE_OPERATION_TIMEDOUT:
		return "no connection with %s came about in 30 seconds";
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		*ret_retry = false;
		return "the certificate of %s cannot be trusted; nothing was sent";
	case CURLE_SSL_CONNECT_ERROR:
		*ret_retry = os_error != 0; /* broken on the way, rather than refused by what is there */
		return "no encrypted connection with %s came about: does it speak https?";
	case CURLE_URL_MALFORMAT:
		*ret_retry = false;
		return "the address of %s is not one of http or https";
	default:
		break;
	}
	*ret_retry = (size_t)exchange->sent < exchange->request_bytes;
	switch (exchange->result) {
	case CURLE_GOT_NOTHING:
		return "%s closed the connection without an answer";
	case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9: an answer without a head */
	case CURLE_WEIRD_SERVER_REPLY:
		*ret_retry = false;
		return "what answers at %s does not speak HTTP";
	case CURLE_BAD_CONTENT_ENCODING:
		*ret_retry = false;
		return "the answer of %s is compressed in a way that cannot be undone";
	case CURLE_WRITE_ERROR:
		*ret_retry = false;
		return "%s sent more at once than can be held";
	default:
		return exchange->has_head ? "the connection to %s broke in the middle of the answer"
					  : "the connection to %s broke before an answer came";
	}
}

static void give_failed(struct exchange *exchange, struct wire_piece *ret_piece)
{
	bool retry;
	const char *format = words_of(exchange, &retry);
	bool protocol = exchange->result == CURLE_WEIRD_SERVER_REPLY ||
			exchange->result == CURLE_UNSUPPORTED_PROTOCOL ||
			exchange->result == CURLE_BAD_CONTENT_ENCODING ||
			exchange->result == CURLE_WRITE_ERROR;
	enum model_failure failure = exchange->has_head ? MODEL_FAILURE_CUT_OFF : MODEL_FAILURE_SERVER;
	const char *place = strstr(format, "%s");
	error_set(&exchange->words, BOBBIN_EPROVIDER, "%.*s%s%s", (int)(place - format), format,
		exchange->host, place + 2);
	*ret_piece = (struct wire_piece){.type = WIRE_FAILED};
	ret_piece->failure = protocol ? MODEL_FAILURE_PROTOCOL : failure;
	ret_piece->retry = retry && !exchange->has_head;
	ret_piece->words = exchange->words.message;
}

/* What is there to give, without waiting. */
static bool give(struct exchange *exchange, struct wire_piece *ret_piece)
{
	*ret_piece = (struct wire_piece){.type = WIRE_END};
	if (exchange->has_head && !exchange->head_given) {
		exchange->head_given = true;
		ret_piece->type = WIRE_HEAD;
		ret_piece->head = exchange->head;
		return true;
	}
	if (exchange->received.len > 0) {
		exchange->given = true;
		ret_piece->type = WIRE_BODY;
		ret_piece->body = buffer_slice(&exchange->received);
		return true;
	}
	if (!exchange->finished)
		return false;
	if (exchange->result != CURLE_OK || !exchange->has_head)
		give_failed(exchange, ret_piece);
	return true;
}

/* Nothing is there: the descriptor must tell when that may have changed. */
static int give_nothing(const struct exchange *exchange)
{
	long due = -1;
	exchange->curl->multi_timeout(exchange->multi, &due);
	pollable_set_timer(&exchange->pollable, due);
	return BOBBIN_ETIMEOUT;
}

static int http_next(void *state, int64_t wait_ns, struct wire_piece *ret_piece)
{
	struct exchange *exchange = state;
	pollable_clear(&exchange->pollable);
	if (exchange->given) {
		exchange->given = false;
		if (buffer_error(&exchange->received))
			exchange->received.len = 0; /* the error stays: too much came */
		else
			buffer_clear(&exchange->received);
	}
	if (give(exchange, ret_piece))
		return 0;
	int rc = perform(exchange);
	if (rc < 0)
		return rc;
	if (give(exchange, ret_piece))
		return 0;
	if (wait_ns <= 0 || exchange->curl->multi_poll(exchange->multi, NULL, 0, wait_ms(wait_ns), NULL) != CURLM_OK)
		return give_nothing(exchange);
	rc = perform(exchange);
	if (rc < 0)
		return rc;
	return give(exchange, ret_piece) ? 0 : give_nothing(exchange);
}

static int64_t http_moved_ns(const void *state)
{
	return ((const struct exchange *)state)->moved_ns;
}

static void http_wake(void *state)
{
	const struct exchange *exchange = state;
	exchange->curl->multi_wakeup(exchange->multi);
	pollable_wake(&exchange->pollable);
}

static int http_fd(const void *state)
{
	return ((const struct exchange *)state)->pollable.epoll;
}

const struct wire wire_http = {http_begin, http_next, http_moved_ns, http_wake, http_fd, http_end, NULL};
