/* SPDX-License-Identifier: MIT */
/*
 * http - one request to a box in the network, and its answer, through libcurl.
 *
 * What a request can cost is known: it ends at a monotonic deadline, its answer
 * has a limit, and no redirect is followed, to whatever host, since a command
 * that goes on elsewhere may be carried out twice. Connections are kept from
 * one request to the next for as long as the port is open. Proxies of the
 * environment are not used, .netrc is not read, certificates are verified. A
 * password goes into a header and never into a URL.
 *
 * It does not know what a box means by its answer: httptext.h and the drivers
 * do.
 */
#ifndef RELAY_HTTP_H
#define RELAY_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/driver.h"
#include "relay/port.h"

struct err;
struct outlet;

#define HTTP_REPLY_BYTES_MAX 65536U /* of a body, and of all headers */
/* What "timeout" can be; the most is the driver's answer_ms, which is this
 * where a box does no more than to switch. */
#define HTTP_TIMEOUT_MS_MIN 100U
#define HTTP_ANSWER_MS      10000U

struct http_request {
	const char *method;
	const char *path; /* encoded; behind the outlet's address */
	const char *body; /* NULL: none */
	const char *type; /* of the body; NULL: application/json */
	long status;      /* that is expected; 0: 200 */
	/* Never sent again by libcurl, which does so where a kept connection
	 * turns out to be dead: it gets one of its own. */
	bool is_once;
};

struct http_reply {
	long status;
	const char *text; /* ends with 0; until the next request */
	size_t count;     /* in bytes */
};

/* First member of what stands behind the port: libcurl, or a script. ask() is
 * as http_ask(), whatever the status. */
struct http {
	struct port port;
	int (*ask)(struct http *http, const struct http_request *request,
		   struct http_reply *reply, uint64_t deadline_ns,
		   struct err *err);
};

enum http_auth { HTTP_AUTH_BASIC, HTTP_AUTH_DIGEST, HTTP_AUTH_ANY };

/* "user", "password", "ca", "proxy", "timeout", for a driver that has no other
 * keys. A driver with other keys has these, too. */
extern const struct driver_key http_keys[];

/* A driver's check(): the address and those five keys. */
int http_check(const struct outlet *outlet, struct err *err);

/*
 * Nothing is sent yet: what is wrong with the box shows with the first command.
 * The secrets are read here, and not kept by us. HEADER is one more header line
 * for each request or NULL; it may be a secret. NULL with err filled.
 */
struct port *http_open(const struct outlet *outlet, enum http_auth auth,
		       const char *header, struct err *err);

/*
 * 1: the box has answered with the status that is expected; 0: it took the
 * request and said nothing at all until the deadline, which is DEADLINE_NS or
 * the outlet's "timeout" from now on, what comes first; -1: anything else.
 */
int http_ask(struct port *port, const struct outlet *outlet,
	     const struct http_request *request, struct http_reply *reply,
	     uint64_t deadline_ns, struct err *err);
/* The same for a command: 0, or -1 also where the box said nothing. */
int http_tell(struct port *port, const struct outlet *outlet,
	      const struct http_request *request, struct http_reply *reply,
	      uint64_t deadline_ns, struct err *err);

#endif
