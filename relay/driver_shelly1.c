/* SPDX-License-Identifier: MIT */
/*
 * shelly1 - Shelly devices of the first generation.
 *
 *   GET /relay/0?turn=off            {"ison":false,"has_timer":false,...}
 *   GET /relay/0?turn=off&timer=5    {"ison":false,"has_timer":true,...}
 *   GET /relay/0                     {"ison":true,...}
 *
 * Relays are counted from 0. With a timer, in seconds, the relay goes back by
 * itself, also where we have died (shelly-api-docs.shelly.cloud/gen1; the
 * requests also in labgrid-project/labgrid, shelly_gen1.py, and Power::Outlet
 * of CPAN, the two together on michaelsage.co.uk, "Shelly HTTP Commands").
 * A device that does not say that it has a timer is not believed to have one.
 */
#include "relay/driver.h"

#include <jansson.h>
#include <stdio.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/http.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

#define PATH_BYTES 64

static int parse(const struct outlet *outlet,
		 const struct http_request *request,
		 const struct http_reply *reply, enum relay_state *state,
		 bool *has_timer, struct err *err)
{
	json_t *json = httptext_json(outlet, request, reply, err);
	const json_t *is_on = NULL;
	int rc = 0;

	if (json == NULL)
		return -1;
	is_on = json_object_get(json, "ison");
	*has_timer = json_is_true(json_object_get(json, "has_timer"));
	if (json_is_boolean(is_on))
		*state = json_is_true(is_on) ? RELAY_ON : RELAY_OFF;
	else
		rc = httptext_refuse(outlet, request, reply,
				     "the answer does not tell the relay's "
				     "state",
				     err);
	json_decref(json);
	return rc;
}

static int turn(struct port *port, const struct outlet *outlet,
		enum relay_state state, const char *path, bool wants_timer,
		uint64_t deadline_ns, struct err *err)
{
	const struct http_request request = {
		.method = "GET", .path = path, .is_once = wants_timer};
	enum relay_state told = state;
	struct http_reply reply;
	bool has_timer = false;

	if (http_tell(port, outlet, &request, &reply, deadline_ns, err) < 0 ||
	    parse(outlet, &request, &reply, &told, &has_timer, err) < 0)
		return -1;
	if (told != state)
		return err_set(err, "the device answers that it stays %s",
			       told == RELAY_ON ? "on" : "off");
	if (wants_timer && !has_timer)
		return err_set(err, "the device has switched and does not say "
				    "that its timer runs");
	return 0;
}

static int shelly_set(struct port *port, const struct outlet *outlet,
		      enum relay_state state, uint64_t deadline_ns,
		      struct err *err)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/relay/%u?turn=%s", outlet->channel,
		       state == RELAY_ON ? "on" : "off");
	return turn(port, outlet, state, path, false, deadline_ns, err);
}

static int shelly_pulse_for(struct port *port, const struct outlet *outlet,
			    enum relay_state state, uint32_t ms,
			    uint64_t deadline_ns, struct err *err)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/relay/%u?turn=%s&timer=%u",
		       outlet->channel, state == RELAY_ON ? "on" : "off",
		       ms / 1000);
	return turn(port, outlet, state, path, true, deadline_ns, err);
}

static int shelly_get(struct port *port, const struct outlet *outlet,
		      enum relay_state *state, uint64_t deadline_ns,
		      struct err *err)
{
	char path[PATH_BYTES];
	const struct http_request request = {.method = "GET", .path = path};
	struct http_reply reply;
	bool has_timer = false;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "/relay/%u", outlet->channel);
	rc = http_ask(port, outlet, &request, &reply, deadline_ns, err);
	if (rc <= 0)
		return rc;
	return parse(outlet, &request, &reply, state, &has_timer, err) < 0 ? -1
									   : 1;
}

static struct port *shelly_open(const struct outlet *outlet,
				uint64_t deadline_ns, struct err *err)
{
	(void)deadline_ns; /* nothing is sent yet */
	return http_open(outlet, HTTP_AUTH_BASIC, NULL, err);
}

const struct relay_driver driver_shelly1 = {
	.name = "shelly1",
	.boards = "Shelly 1, 1L, 1PM, 2.5, 4Pro, Plug and others of Gen1",
	.link = DRIVER_LINK_URL,
	.channel_first = 0,
	.channel_last = 3,
	.keys = http_keys,
	.answer_ms = HTTP_ANSWER_MS,
	.shortest_ms = 50,
	.pulse = {.has_off = true,
		  .has_on = true,
		  .min_ms = 1000,
		  .max_ms = 86400000,
		  .step_ms = 1000},
	.check = http_check,
	.open = shelly_open,
	.set = shelly_set,
	.get = shelly_get,
	.pulse_for = shelly_pulse_for,
};
