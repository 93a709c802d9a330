/* SPDX-License-Identifier: MIT */
/* Over TLS nothing is said to a server whose certificate cannot be trusted. The server is in a thread, its
 * certificate is made anew for each run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "model/model.h"
#include "stream.h"
#include "support/scratch.h"

#define ANSWER                                                                                               \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"                                         \
	"data: {\"choices\":[{\"delta\":{\"content\":\"safe\"},\"finish_reason\":\"stop\"}]}\n\ndata: "      \
	"[DONE]\n\n"

struct scene {
	char dir[SCRATCH_PATH_BYTES];
	SSL_CTX *context;
	int listener, port;
	char heard[4096]; /* by the server, after the handshake */
};

/* A certificate for `name`, signed by its own key; also written to dir/ca.pem. */
static void make_certificate(struct scene *scene, const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = X509_new();
	X509V3_CTX extension_context;
	assert_non_null(key);
	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_set_pubkey(certificate, key);
	X509_NAME *subject = X509_get_subject_name(certificate);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
	X509_set_issuer_name(certificate, subject);
	X509V3_set_ctx(&extension_context, certificate, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &extension_context, NID_subject_alt_name, name);
	assert_non_null(extension);
	X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	FILE *file = fopen(scratch_path(scene->dir, "ca.pem"), "w");
	assert_non_null(file);
	PEM_write_X509(file, certificate);
	fclose(file);
	scene->context = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(scene->context, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(scene->context, key), 1);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static void *serve_one(void *context)
{
	struct scene *scene = context;
	int connection = accept(scene->listener, NULL, NULL);
	SSL *ssl = SSL_new(scene->context);
	SSL_set_fd(ssl, connection);
	if (SSL_accept(ssl) == 1) {
		int got = SSL_read(ssl, scene->heard, sizeof(scene->heard) - 1);
		if (got > 0)
			SSL_write(ssl, ANSWER, (int)strlen(ANSWER));
		SSL_shutdown(ssl);
	}
	SSL_free(ssl);
	close(connection);
	return NULL;
}

static void open_listener(struct scene *scene)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	scene->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(scene->listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(scene->listener, 4), 0);
	assert_int_equal(getsockname(scene->listener, (struct sockaddr *)&address, &len), 0);
	scene->port = ntohs(address.sin_port);
}

/* The events of one request to a server with a certificate for `name`, which is trusted or not. */
static void ask_over_tls(struct scene *scene, const char *name, bool trusted, struct buffer *out)
{
	char specification[100];
	pthread_t thread;
	struct model *model;
	struct model_stream *stream;
	struct model_event event;
	struct model_request request = MODEL_REQUEST_INIT;
	*scene = (struct scene){.port = 0};
	scratch_make(scene->dir);
	make_certificate(scene, name);
	open_listener(scene);
	setenv("OPENAI_API_KEY", "sk-tls", 1);
	setenv("SSL_CERT_FILE", scratch_path(scene->dir, "ca.pem"), 1);
	if (!trusted)
		unsetenv("SSL_CERT_FILE");
	assert_int_equal(pthread_create(&thread, NULL, serve_one, scene), 0);
	snprintf(specification, sizeof(specification), "openai:m@https://127.0.0.1:%d", scene->port);
	assert_int_equal(model_open(specification, NULL, &model, NULL), 0);
	request.body = slice_of("{}");
	assert_int_equal(model_send(model, &request, &stream, NULL), 0);
	do {
		assert_int_equal(model_stream_next(stream, -1, &event), 0);
		stream_add_event(out, &event);
	} while (!model_event_is_terminal(&event));
	model_stream_free(stream);
	model_free(model);
	pthread_join(thread, NULL);
	SSL_CTX_free(scene->context);
	close(scene->listener);
	scratch_remove(scene->dir);
}

static void trusted__the_answer_comes(void **state)
{
	(void)state;
	struct scene scene;
	struct buffer out = BUFFER_INIT(1u << 20);
	ask_over_tls(&scene, "IP:127.0.0.1", true, &out);
	assert_string_equal(out.data, "text safe\ndone stop stop\n");
	assert_non_null(strstr(scene.heard, "Authorization: Bearer sk-tls\r\n"));
	buffer_release(&out);
}

static void assert_nothing_said(const char *name, bool trusted)
{
	struct scene scene;
	struct buffer out = BUFFER_INIT(1u << 20);
	ask_over_tls(&scene, name, trusted, &out);
	assert_non_null(strstr(out.data, "error server 0 once the certificate of 127.0.0.1:"));
	assert_non_null(strstr(out.data, "cannot be trusted; nothing was sent\n"));
	assert_string_equal(scene.heard, "");
	buffer_release(&out);
}

static void unknown_authority__nothing_is_said(void **state)
{
	(void)state;
	assert_nothing_said("IP:127.0.0.1", false);
}

static void other_name__nothing_is_said(void **state)
{
	(void)state;
	assert_nothing_said("DNS:other.example", true);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN); /* the server's: its client may be gone */
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(trusted__the_answer_comes),
		cmocka_unit_test(unknown_authority__nothing_is_said),
		cmocka_unit_test(other_name__nothing_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
