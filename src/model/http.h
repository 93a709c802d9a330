/* SPDX-License-Identifier: MIT */
/*
 * Requests over the network, by libcurl, pulled: nothing moves but in wire->next.
 *
 * Invariants:
 * (1) HTTP/1.1 over http or https, no redirects, no cookies, no .netrc; certificates and host names are
 *     checked against the system's authorities or those of SSL_CERT_FILE, TLS 1.2 at least. A proxy of the environment is used for https alone, so that a server on
 *     this machine is never asked through one.
 * (2) Nothing is sent twice: each exchange has a connection of its own, because libcurl repeats a request
 *     by itself when a kept connection turns out to be dead.
 * (3) No threads, except that of libcurl's resolver while a name is looked up, and no signals.
 * (4) What has come and was not pulled is at most LIMIT_EVENT_BYTES; the rest waits in the network.
 * (5) No word for a person holds a header of the request.
 */
#ifndef MODEL_HTTP_H
#define MODEL_HTTP_H

#include "model/wire.h"

extern const struct wire wire_http; /* its context is not used */

/* Retry-After: seconds or an HTTP date; -1 if it is neither. */
int64_t http_retry_after_ms(struct slice value, int64_t realtime_ns);

#endif
