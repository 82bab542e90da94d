/* SPDX-License-Identifier: MIT */
/*
 * netio - NETIO 4, PowerPDU, PowerBOX, PowerDIN and their kin, JSON over HTTP.
 *
 *   POST /netio.json   {"Outputs":[{"ID":1,"Action":0}]}   0 off, 1 on
 *   GET /netio.json    {"Agent":{...},"Outputs":[{"ID":1,"State":1,...},...]}
 *
 * The protocol is off in the box as delivered, and it has a user for reading
 * and one for writing: give the one that writes (NETIO application note AN21;
 * netioproducts/PyNetio, Netio/Device.py; labgrid-project/labgrid,
 * netio_json.py).
 *
 * Action 2, "short off", is not used: the box's own setting says how long it
 * takes. The vendor's manuals say that a command can bring the time along, but
 * nothing in the answer proves that this box has taken it.
 */
#include "relay/driver.h"

#include <jansson.h>
#include <stdio.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/http.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

#define PATH       "/netio.json"
#define BODY_BYTES 64

/* NULL where the answer has no such output. */
static json_t *find_output(json_t *json, unsigned int channel)
{
	json_t *outputs = json_object_get(json, "Outputs");
	json_t *output = NULL;
	size_t i = 0;

	json_array_foreach(outputs, i, output)
	{
		const json_t *id = json_object_get(output, "ID");

		if (json_is_integer(id) && json_integer_value(id) == channel)
			return output;
	}
	return NULL;
}

static int parse(const struct outlet *outlet,
		 const struct http_request *request,
		 const struct http_reply *reply, enum relay_state *state,
		 struct err *err)
{
	json_t *json = httptext_json(outlet, request, reply, err);
	const json_t *told = NULL;
	int rc = 0;

	if (json == NULL)
		return -1;
	told = json_object_get(find_output(json, outlet->channel), "State");
	if (json_is_integer(told) && json_integer_value(told) == 1)
		*state = RELAY_ON;
	else if (json_is_integer(told) && json_integer_value(told) == 0)
		*state = RELAY_OFF;
	else
		rc = httptext_refuse(outlet, request, reply,
				     "the answer does not tell this output",
				     err);
	json_decref(json);
	return rc;
}

/* What the answer says of the outputs may be older than the command; get() is
 * asked for that. */
static int netio_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	char body[BODY_BYTES];
	const struct http_request request = {
		.method = "POST", .path = PATH, .body = body};
	struct http_reply reply;
	json_t *json = NULL;

	(void)snprintf(body, sizeof(body),
		       "{\"Outputs\":[{\"ID\":%u,\"Action\":%d}]}",
		       outlet->channel, state == RELAY_ON);
	if (http_tell(port, outlet, &request, &reply, deadline_ns, err) < 0)
		return -1;
	json = httptext_json(outlet, &request, &reply, err);
	json_decref(json);
	return json == NULL ? -1 : 0;
}

static int netio_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	const struct http_request request = {.method = "GET", .path = PATH};
	struct http_reply reply;
	int rc = http_ask(port, outlet, &request, &reply, deadline_ns, err);

	if (rc <= 0)
		return rc;
	return parse(outlet, &request, &reply, state, err) < 0 ? -1 : 1;
}

static struct port *netio_open(const struct outlet *outlet,
			       uint64_t deadline_ns, struct err *err)
{
	(void)deadline_ns; /* nothing is sent yet */
	return http_open(outlet, HTTP_AUTH_BASIC, NULL, err);
}

const struct relay_driver driver_netio = {
	.name = "netio",
	.boards = "NETIO 4, 4All, PowerPDU, PowerBOX, PowerDIN (JSON)",
	.link = DRIVER_LINK_URL,
	.channel_first = 1,
	.channel_last = 16,
	.keys = http_keys,
	.answer_ms = HTTP_ANSWER_MS,
	.shortest_ms = 50,
	.check = http_check,
	.open = netio_open,
	.set = netio_set,
	.get = netio_get,
};
