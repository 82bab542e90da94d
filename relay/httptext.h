/* SPDX-License-Identifier: MIT */
/*
 * httptext - what goes into a request and what an answer says: templates,
 * encoding, statuses, JSON. Pure.
 */
#ifndef RELAY_HTTPTEXT_H
#define RELAY_HTTPTEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "relay/http.h"

struct err;
struct outlet;

#define HTTPTEXT_BYTES 2048 /* of a path or a body, with its end */

/* http://HOST[:PORT][/PATH], without user, query or fragment. */
int httptext_check_address(const char *address, struct err *err);

/* Printable ASCII without a space: what may stand in a request line. */
bool httptext_is_plain(const char *text);

/* Appends TEXT with all but letters, digits and "-._~" as %XX. -1 where it does
 * not fit into ROOM bytes. */
int httptext_encode(const char *text, char *to, size_t room, struct err *err);

/* "METHOD PATH [BODY]", in which {channel} stands for the channel. */
struct httptext_made {
	char method[8];
	char path[HTTPTEXT_BYTES];
	char body[HTTPTEXT_BYTES]; /* "": none */
};
int httptext_make(const char *template, unsigned int channel,
		  struct httptext_made *made, struct err *err);

/* 0 where REPLY has the status that REQUEST expects. */
int httptext_check_status(const struct http_request *request,
			  const struct http_reply *reply, struct err *err);

/*
 * The answer, which must be one JSON object and nothing else; json_decref() is
 * the caller's. What came instead is quoted only where no secret went to the
 * box, for it may have sent it back.
 */
json_t *httptext_json(const struct outlet *outlet,
		      const struct http_request *request,
		      const struct http_reply *reply, struct err *err);
/* -1: the answer is JSON, but not what it should be. */
int httptext_refuse(const struct outlet *outlet,
		    const struct http_request *request,
		    const struct http_reply *reply, const char *why,
		    struct err *err);

/* "GET /cm": without the query, which may hold anything. */
void httptext_name(const struct http_request *request, char *text, size_t room);

#endif
