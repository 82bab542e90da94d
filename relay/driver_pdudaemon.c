/* SPDX-License-Identifier: MIT */
/*
 * pdudaemon - outlets behind a PDUDaemon, which knows a hundred kinds of PDU.
 *
 *   GET /power/control/off?hostname=PDU&port=N    OK - accepted request
 *   GET /power/control/off?alias=NAME             OK - accepted request
 *
 * The answer comes when the job has been done, or has failed for good: both are
 * "OK", and only a request that makes no sense is not (pdudaemon/pdudaemon,
 * httplistener.py, listener.py, pdurunner.py, 0.0.8.58). So it proves nothing,
 * and there is no read-back. Its PDU must say "retries": 1. As it comes the
 * daemon tries a job five times with 5 s between, and an "off" that is late is
 * a second cut; with 0 no job is done at all, and the answer is "OK".
 *
 * "reboot" is not used: how long it keeps power away is only roughly known.
 */
#include "relay/driver.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/http.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

static const struct driver_key keys[] = {
	{"hostname", "the PDU, as the daemon's file calls it", "", false},
	{"port", "of the PDU; otherwise the channel", "", false},
	{"alias", "in place of the two", "", false},
	{"user", "who a server before the daemon is told", "", false},
	{"password", "of that user", "", true},
	{"ca", "file of the CA of that server", "", false},
	{"proxy", "http://HOST:PORT, or \"environment\"", "", false},
	{"timeout", "how long the daemon's job may take", "30s", false},
	{0},
};

static int make_path(const struct outlet *outlet, enum relay_state state,
		     char path[HTTPTEXT_BYTES], struct err *err)
{
	const char *alias = outlet_option(outlet, "alias");
	const char *port = outlet_option(outlet, "port");
	char channel[12];
	size_t used = 0;

	(void)snprintf(path, HTTPTEXT_BYTES, "/power/control/%s?%s=",
		       state == RELAY_ON ? "on" : "off",
		       *alias == '\0' ? "hostname" : "alias");
	if (*alias != '\0')
		return httptext_encode(alias, path, HTTPTEXT_BYTES, err);
	(void)snprintf(channel, sizeof(channel), "%u", outlet->channel);
	if (httptext_encode(outlet_option(outlet, "hostname"), path,
			    HTTPTEXT_BYTES, err) < 0)
		return -1;
	used = strlen(path);
	(void)snprintf(path + used, HTTPTEXT_BYTES - used, "&port=");
	return httptext_encode(*port == '\0' ? channel : port, path,
			       HTTPTEXT_BYTES, err);
}

static int pdu_check(const struct outlet *outlet, struct err *err)
{
	const bool has_alias = *outlet_option(outlet, "alias") != '\0';
	const bool has_host = *outlet_option(outlet, "hostname") != '\0';
	char path[HTTPTEXT_BYTES];

	if (has_alias == has_host)
		return err_set(err, "hostname: either it or alias must be "
				    "given");
	if (has_alias && *outlet_option(outlet, "port") != '\0')
		return err_set(err, "port: alias has its own");
	if (make_path(outlet, RELAY_OFF, path, err) < 0)
		return -1;
	return http_check(outlet, err);
}

static int pdu_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	char path[HTTPTEXT_BYTES];
	const struct http_request request = {.method = "GET", .path = path};
	struct http_reply reply;

	if (make_path(outlet, state, path, err) < 0 ||
	    http_tell(port, outlet, &request, &reply, deadline_ns, err) < 0)
		return -1;
	if (reply.count < 2 || memcmp(reply.text, "OK", 2) != 0)
		return httptext_refuse(outlet, &request, &reply,
				       "the answer does not begin with OK",
				       err);
	return 0;
}

static struct port *pdu_open(const struct outlet *outlet, uint64_t deadline_ns,
			     struct err *err)
{
	(void)deadline_ns; /* nothing is sent yet */
	return http_open(outlet, HTTP_AUTH_BASIC, NULL, err);
}

const struct relay_driver driver_pdudaemon = {
	.name = "pdudaemon",
	.boards = "PDUs behind a PDUDaemon (its HTTP listener)",
	.link = DRIVER_LINK_URL,
	.channel_first = 1,
	.channel_last = 255,
	.keys = keys,
	.answer_ms = 120000, /* "timeout" says how much of it */
	.shortest_ms = 50,
	.check = pdu_check,
	.open = pdu_open,
	.set = pdu_set,
};
