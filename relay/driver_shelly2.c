/* SPDX-License-Identifier: MIT */
/*
 * shelly2 - Shelly devices of the second generation and later (Plus, Pro, Gen3,
 * Gen4): JSON-RPC by POST to /rpc.
 *
 *   Switch.Set {"id":0,"on":false}                    {"was_on":true}
 *   Switch.Set {"id":0,"on":false,"toggle_after":5}   {"was_on":true}
 *   Switch.GetStatus {"id":0} {"id":0,"output":true,...}
 *
 * Switches are counted from 0. With toggle_after, in seconds, the switch goes
 * back by itself, also where we have died; while it counts, the status has
 * timer_duration, and that is looked at before it is believed. A password makes
 * it Digest with SHA-256, the user is "admin" always
 * (shelly-api-docs.shelly.cloud/gen2: Switch, RPC Protocol, Authentication; the
 * request also in labgrid-project/labgrid, shelly_gen2.py).
 */
#include "relay/driver.h"

#include <jansson.h>
#include <stdio.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/http.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

#define BODY_BYTES 160
#define RPC_ID     1 /* one question, one answer: it never changes */

struct status {
	enum relay_state state;
	double timer_s; /* 0: none runs */
};

/* The answer's "result", an object; it lives as long as JSON. */
static json_t *find_result(json_t *json)
{
	json_t *result = json_object_get(json, "result");
	const json_t *id = json_object_get(json, "id");

	if (!json_is_integer(id) || json_integer_value(id) != RPC_ID)
		return NULL;
	return json_is_object(result) ? result : NULL;
}

/* As http_ask(); JSON is the whole answer, and the caller's. */
static int call(struct port *port, const struct outlet *outlet,
		const char *body, bool is_once, json_t **json,
		uint64_t deadline_ns, struct err *err)
{
	const struct http_request request = {.method = "POST",
					     .path = "/rpc",
					     .body = body,
					     .is_once = is_once};
	struct http_reply reply;
	int rc = http_ask(port, outlet, &request, &reply, deadline_ns, err);

	if (rc <= 0)
		return rc;
	*json = httptext_json(outlet, &request, &reply, err);
	if (*json == NULL)
		return -1;
	if (find_result(*json) != NULL)
		return 1;
	json_decref(*json);
	return httptext_refuse(outlet, &request, &reply,
			       "the device has no result for us", err);
}

static int call_set(struct port *port, const struct outlet *outlet,
		    const char *body, bool is_once, uint64_t deadline_ns,
		    struct err *err)
{
	json_t *json = NULL;
	int rc = call(port, outlet, body, is_once, &json, deadline_ns, err);

	if (rc == 0)
		return err_set(err, "the device does not answer in time");
	if (rc < 0)
		return -1;
	rc = 0;
	if (!json_is_boolean(json_object_get(find_result(json), "was_on")))
		rc = err_set(err, "the answer to Switch.Set tells no was_on");
	json_decref(json);
	return rc;
}

/* 1, 0 or -1 as get(). */
static int call_status(struct port *port, const struct outlet *outlet,
		       struct status *status, uint64_t deadline_ns,
		       struct err *err)
{
	char body[BODY_BYTES];
	json_t *json = NULL;
	const json_t *id = NULL, *output = NULL;
	int rc = 0;

	(void)snprintf(body, sizeof(body),
		       "{\"id\":%d,\"method\":\"Switch.GetStatus\",\"params\":{"
		       "\"id\":%u}}",
		       RPC_ID, outlet->channel);
	rc = call(port, outlet, body, false, &json, deadline_ns, err);
	if (rc <= 0)
		return rc;
	id = json_object_get(find_result(json), "id");
	output = json_object_get(find_result(json), "output");
	if (!json_is_integer(id) || json_integer_value(id) != outlet->channel ||
	    !json_is_boolean(output)) {
		rc = err_set(err,
			     "the answer to Switch.GetStatus does not tell "
			     "switch %u",
			     outlet->channel);
	} else {
		status->state = json_is_true(output) ? RELAY_ON : RELAY_OFF;
		status->timer_s = json_number_value(
			json_object_get(find_result(json), "timer_duration"));
	}
	json_decref(json);
	return rc;
}

static int shelly_set(struct port *port, const struct outlet *outlet,
		      enum relay_state state, uint64_t deadline_ns,
		      struct err *err)
{
	char body[BODY_BYTES];

	(void)snprintf(body, sizeof(body),
		       "{\"id\":%d,\"method\":\"Switch.Set\",\"params\":{"
		       "\"id\":%u,\"on\":%s}}",
		       RPC_ID, outlet->channel,
		       state == RELAY_ON ? "true" : "false");
	return call_set(port, outlet, body, false, deadline_ns, err);
}

static int shelly_get(struct port *port, const struct outlet *outlet,
		      enum relay_state *state, uint64_t deadline_ns,
		      struct err *err)
{
	struct status status = {.state = RELAY_OFF};
	int rc = call_status(port, outlet, &status, deadline_ns, err);

	if (rc == 1)
		*state = status.state;
	return rc;
}

static int shelly_pulse_for(struct port *port, const struct outlet *outlet,
			    enum relay_state state, uint32_t ms,
			    uint64_t deadline_ns, struct err *err)
{
	struct status status = {.state = state};
	char body[BODY_BYTES];
	int rc = 0;

	(void)snprintf(body, sizeof(body),
		       "{\"id\":%d,\"method\":\"Switch.Set\",\"params\":{"
		       "\"id\":%u,\"on\":%s,\"toggle_after\":%u}}",
		       RPC_ID, outlet->channel,
		       state == RELAY_ON ? "true" : "false", ms / 1000);
	if (call_set(port, outlet, body, true, deadline_ns, err) < 0)
		return -1;
	rc = call_status(port, outlet, &status, deadline_ns, err);
	if (rc < 0)
		return -1;
	if (rc == 0 || status.state != state ||
	    status.timer_s < ms / 1000.0 - 0.5 ||
	    status.timer_s > ms / 1000.0 + 0.5)
		return err_set(err, "the device has switched and does not say "
				    "that its timer runs");
	return 0;
}

static struct port *shelly_open(const struct outlet *outlet,
				uint64_t deadline_ns, struct err *err)
{
	(void)deadline_ns; /* nothing is sent yet */
	return http_open(outlet, HTTP_AUTH_DIGEST, NULL, err);
}

const struct relay_driver driver_shelly2 = {
	.name = "shelly2",
	.boards = "Shelly Plus, Pro, Gen3, Gen4",
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
