/* SPDX-License-Identifier: MIT */
/*
 * tasmota - plugs and relay boards with the Tasmota firmware.
 *
 *   GET /cm?cmnd=Power1%20Off    {"POWER1":"OFF"}
 *   GET /cm?cmnd=Power1          {"POWER1":"ON"}
 *
 * A device with one relay calls it POWER (tasmota/docs, docs/Commands.md). A
 * password goes into a header; firmware that knows it only in the query answers
 * with a warning instead (arendst/Tasmota, xdrv_01_9_webserver.ino,
 * HandleHttpCommand()).
 *
 * No time is left to the device: PulseTime counts from "on", is a setting that
 * stays and that also ends what nobody wanted to end; counted from "off" it
 * works only together with PowerOnState 5, a setting as well. What they were
 * before could not be given back by a controller that has died.
 */
#include "relay/driver.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/http.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

#define PATH_BYTES 64

/* NULL where the answer does not tell this relay. */
static const char *find_word(json_t *json, unsigned int channel)
{
	char key[16];
	const char *word = NULL;

	(void)snprintf(key, sizeof(key), "POWER%u", channel);
	word = json_string_value(json_object_get(json, key));
	if (word == NULL && channel == 1)
		word = json_string_value(json_object_get(json, "POWER"));
	return word;
}

static int parse(const struct outlet *outlet,
		 const struct http_request *request,
		 const struct http_reply *reply, enum relay_state *state,
		 struct err *err)
{
	json_t *json = httptext_json(outlet, request, reply, err);
	const char *word = NULL;
	int rc = 0;

	if (json == NULL)
		return -1;
	word = find_word(json, outlet->channel);
	if (word != NULL && strcmp(word, "ON") == 0)
		*state = RELAY_ON;
	else if (word != NULL && strcmp(word, "OFF") == 0)
		*state = RELAY_OFF;
	else if (json_object_get(json, "WARNING") != NULL)
		rc = httptext_refuse(outlet, request, reply,
				     "the device wants a password, or has no "
				     "such command",
				     err);
	else
		rc = httptext_refuse(outlet, request, reply,
				     "the answer does not tell this relay",
				     err);
	json_decref(json);
	return rc;
}

static int tasmota_set(struct port *port, const struct outlet *outlet,
		       enum relay_state state, uint64_t deadline_ns,
		       struct err *err)
{
	char path[PATH_BYTES];
	const struct http_request request = {.method = "GET", .path = path};
	enum relay_state told = state;
	struct http_reply reply;

	(void)snprintf(path, sizeof(path), "/cm?cmnd=Power%u%%20%s",
		       outlet->channel, state == RELAY_ON ? "On" : "Off");
	if (http_tell(port, outlet, &request, &reply, deadline_ns, err) < 0 ||
	    parse(outlet, &request, &reply, &told, err) < 0)
		return -1;
	if (told != state)
		return err_set(err, "the device answers that it stays %s",
			       told == RELAY_ON ? "on" : "off");
	return 0;
}

static int tasmota_get(struct port *port, const struct outlet *outlet,
		       enum relay_state *state, uint64_t deadline_ns,
		       struct err *err)
{
	char path[PATH_BYTES];
	const struct http_request request = {.method = "GET", .path = path};
	struct http_reply reply;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "/cm?cmnd=Power%u", outlet->channel);
	rc = http_ask(port, outlet, &request, &reply, deadline_ns, err);
	if (rc <= 0)
		return rc;
	return parse(outlet, &request, &reply, state, err) < 0 ? -1 : 1;
}

static struct port *tasmota_open(const struct outlet *outlet,
				 uint64_t deadline_ns, struct err *err)
{
	(void)deadline_ns; /* nothing is sent yet */
	return http_open(outlet, HTTP_AUTH_BASIC, NULL, err);
}

const struct relay_driver driver_tasmota = {
	.name = "tasmota",
	.boards = "plugs and relay boards with the Tasmota firmware",
	.link = DRIVER_LINK_URL,
	.channel_first = 1,
	.channel_last = 32,
	.keys = http_keys,
	.answer_ms = HTTP_ANSWER_MS,
	.shortest_ms = 50,
	.check = http_check,
	.open = tasmota_open,
	.set = tasmota_set,
	.get = tasmota_get,
};
