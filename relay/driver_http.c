/* SPDX-License-Identifier: MIT */
/*
 * http - any box that is switched by HTTP requests.
 *
 * on, off and status are "METHOD PATH [BODY]", where {channel} stands for the
 * channel. The states are told by what the answer to status contains: exactly
 * one of reply_on and reply_off, or it tells nothing. on and off must say where
 * to go and not "toggle": they are repeated where an answer is lost.
 *
 * Requests as this driver makes them are documented for NETIO, Tasmota, Shelly
 * and Devantech boxes (labgrid-project/labgrid, labgrid/driver/power), and for
 * home automation servers, which take a token in a header.
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/http.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

static const struct driver_key keys[] = {
	{"on", "\"METHOD PATH [BODY]\", {channel} in it", NULL, false},
	{"off", "the same", NULL, false},
	{"status", "the same; \"\": the box cannot tell", "", false},
	{"reply_on", "what its answer contains where it is on", "", false},
	{"reply_off", "what its answer contains where it is off", "", false},
	{"expect", "HTTP status of on and off", "200", false},
	{"expect_status", "HTTP status of status", "200", false},
	{"content_type", "of the bodies", "application/json", false},
	{"header", "one more header line, with a token", "", true},
	{"auth", "basic, digest, or any of the two", "basic", false},
	{"user", "who the box is told that we are", "", false},
	{"password", "of that user", "", true},
	{"ca", "file of the CA of the box's certificate", "", false},
	{"proxy", "http://HOST:PORT, or \"environment\"", "", false},
	{"timeout", "how long to wait for an answer", "5s", false},
	{0},
};

static int take_auth(const struct outlet *outlet, enum http_auth *auth,
		     struct err *err)
{
	static const char *const words[] = {
		[HTTP_AUTH_BASIC] = "basic",
		[HTTP_AUTH_DIGEST] = "digest",
		[HTTP_AUTH_ANY] = "any",
	};
	const char *word = outlet_option(outlet, "auth");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i], word) == 0) {
			*auth = (enum http_auth)i;
			return 0;
		}
	}
	return err_set(err, "auth: it is basic, digest or any");
}

static int make(const struct outlet *outlet, const char *key,
		const char *status_key, struct httptext_made *made,
		struct http_request *request, struct err *err)
{
	uint64_t status = 0;

	if (httptext_make(outlet_option(outlet, key), outlet->channel, made,
			  err) < 0)
		return err_prefix(err, "%s", key);
	if (outlet_number(outlet, status_key, 100, 599, &status, err) < 0)
		return -1;
	*request = (struct http_request){
		.method = made->method,
		.path = made->path,
		.body = made->body[0] == '\0' ? NULL : made->body,
		.type = outlet_option(outlet, "content_type"),
		.status = (long)status,
	};
	return 0;
}

/* Where one is within the other, an answer with the longer one tells both. */
static int check_replies(const struct outlet *outlet, struct err *err)
{
	const char *on = outlet_option(outlet, "reply_on");
	const char *off = outlet_option(outlet, "reply_off");

	if (*outlet_option(outlet, "status") == '\0') {
		if (*on != '\0' || *off != '\0')
			return err_set(err, "reply_on and reply_off are of "
					    "status, and it is missing");
		return 0;
	}
	if (*on == '\0' || *off == '\0')
		return err_set(err, "status: reply_on and reply_off say what "
				    "its answer means, and are missing");
	if (strstr(on, off) != NULL || strstr(off, on) != NULL)
		return err_set(err, "reply_on and reply_off: one contains the "
				    "other");
	return 0;
}

static int box_check(const struct outlet *outlet, struct err *err)
{
	struct httptext_made made;
	struct http_request request;
	enum http_auth auth = HTTP_AUTH_BASIC;

	if (http_check(outlet, err) < 0 || take_auth(outlet, &auth, err) < 0 ||
	    check_replies(outlet, err) < 0 ||
	    make(outlet, "on", "expect", &made, &request, err) < 0 ||
	    make(outlet, "off", "expect", &made, &request, err) < 0)
		return -1;
	for (const char *at = request.type; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			return err_set(err, "content_type: it is not ASCII");
	}
	if (*outlet_option(outlet, "status") == '\0')
		return 0;
	return make(outlet, "status", "expect_status", &made, &request, err);
}

static struct port *box_open(const struct outlet *outlet, uint64_t deadline_ns,
			     struct err *err)
{
	char header[OUTLET_SECRET_BYTES];
	enum http_auth auth = HTTP_AUTH_BASIC;
	struct port *port = NULL;

	(void)deadline_ns; /* nothing is sent yet */
	if (take_auth(outlet, &auth, err) < 0 ||
	    outlet_secret(outlet, "header", header, err) < 0)
		return NULL;
	if (*header != '\0' && strchr(header, ':') == NULL)
		(void)err_set(err, "header: its file does not hold \"NAME: "
				   "VALUE\"");
	else
		port = http_open(outlet, auth, *header == '\0' ? NULL : header,
				 err);
	explicit_bzero(header, sizeof(header));
	return port;
}

static int box_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	struct httptext_made made;
	struct http_request request;
	struct http_reply reply;

	if (make(outlet, state == RELAY_ON ? "on" : "off", "expect", &made,
		 &request, err) < 0)
		return -1;
	return http_tell(port, outlet, &request, &reply, deadline_ns, err);
}

static bool contains(const struct http_reply *reply, const char *text)
{
	return memmem(reply->text, reply->count, text, strlen(text)) != NULL;
}

static int box_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	struct httptext_made made;
	struct http_request request;
	struct http_reply reply;
	bool is_on = false, is_off = false;
	int rc = 0;

	if (*outlet_option(outlet, "status") == '\0')
		return 0;
	rc = make(outlet, "status", "expect_status", &made, &request, err);
	if (rc == 0)
		rc = http_ask(port, outlet, &request, &reply, deadline_ns, err);
	if (rc <= 0)
		return rc;
	is_on = contains(&reply, outlet_option(outlet, "reply_on"));
	is_off = contains(&reply, outlet_option(outlet, "reply_off"));
	if (is_on == is_off)
		return httptext_refuse(
			outlet, &request, &reply,
			is_on ? "the answer contains reply_on and reply_off"
			      : "the answer contains neither reply_on nor "
				"reply_off",
			err);
	*state = is_on ? RELAY_ON : RELAY_OFF;
	return 1;
}

const struct relay_driver driver_http = {
	.name = "http",
	.boards = "any box that is switched by HTTP requests",
	.link = DRIVER_LINK_URL,
	.channel_first = 0,
	.channel_last = 255,
	.keys = keys,
	.answer_ms = HTTP_ANSWER_MS,
	.shortest_ms = 50,
	.check = box_check,
	.open = box_open,
	.set = box_set,
	.get = box_get,
};
