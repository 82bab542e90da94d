/* SPDX-License-Identifier: MIT */
/*
 * devantech-eth - Devantech's Ethernet and Wi-Fi boards: ETH002, ETH008,
 * ETH484, ETH8020, by TCP on port 17494.
 *
 * 20 (hexadecimal), channel, time is on; 21 off; the answer is 00, or 01 where
 * the board refuses. A time of 1 to 255 is a pulse in steps of 100 ms after
 * which the relay goes back by itself, 0 is for good. 10 tells the model, and
 * two versions; 24 tells the states in as many bytes as the model needs, the
 * lowest bit of the first is relay 1. A board with a password wants 79 and the
 * password in front of a command, on the same connection, and answers 01, or 02
 * for a wrong one; it forgets it after 30 s. There is no framing: each command
 * is one write, and its answer is awaited before the next.
 *
 * The password crosses the network as it is.
 *
 * Sources: the vendor's manuals of ETH008 and ETH8020 (sections "TCP access and
 * commands", "TCP/IP Password"); sigrokproject/libsigrok
 * src/hardware/devantech-eth008/ (models, order of the bytes).
 */
#include "relay/driver.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define CHANNELS_MAX     20U
#define COMMAND_MODEL    0x10
#define COMMAND_ON       0x20
#define COMMAND_OFF      0x21
#define COMMAND_STATES   0x24
#define COMMAND_PASSWORD 0x79
#define PASSWORD_RIGHT   1
#define PASSWORD_WRONG   2
#define MODEL_BYTES      3
#define STEP_MS          100U
#define STEPS_MAX        255U

static const struct driver_key keys[] = {
	{"password", "what the board wants before it switches", "", true},
	{NULL, NULL, NULL, false},
};

static const struct model {
	uint8_t code;
	size_t states_bytes;
	uint32_t relays; /* one bit each, the lowest is relay 1 */
} models[] = {
	{18, 1, 0x3},
	{19, 1, 0xFF},
	{20, 2, 0xFF0F}, /* relays 1-4; 9-16 are its inputs and outputs */
	{21, 3, 0xFFFFF},
};

/* SECRET is not empty. */
static int show_password(struct port *port, const char *secret,
			 uint64_t deadline_ns, struct err *err)
{
	uint8_t frame[1 + OUTLET_SECRET_BYTES] = {COMMAND_PASSWORD};
	const size_t length = strlen(secret);
	uint8_t answer[1];
	ssize_t count = 0;

	memcpy(frame + 1, secret, length);
	count = answer_ask_bytes(port, frame, 1 + length, answer,
				 sizeof(answer), deadline_ns, err);
	explicit_bzero(frame, sizeof(frame));
	if (count < 0)
		return -1;
	if (count == 0)
		return err_set(err, "the board does not answer the password in "
				    "time");
	if (answer[0] == PASSWORD_WRONG)
		return err_set(err, "the board does not take the password");
	return answer[0] == PASSWORD_RIGHT
		       ? 0
		       : answer_refuse(answer, 1, "the password", err);
}

static int unlock(struct port *port, const struct outlet *outlet,
		  uint64_t deadline_ns, struct err *err)
{
	char secret[OUTLET_SECRET_BYTES] = "";
	int rc = outlet_secret(outlet, "password", secret, err);

	if (rc == 0 && *secret != '\0')
		rc = show_password(port, secret, deadline_ns, err);
	explicit_bzero(secret, sizeof(secret));
	return rc;
}

/* STEPS: 0 for good. */
static int command(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint32_t steps, uint64_t deadline_ns,
		   struct err *err)
{
	const uint8_t frame[] = {state == RELAY_ON ? COMMAND_ON : COMMAND_OFF,
				 (uint8_t)outlet->channel, (uint8_t)steps};
	const char *what = state == RELAY_ON ? "\"on\"" : "\"off\"";
	uint8_t answer[1];
	ssize_t count = 0;

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);
	assert(steps <= STEPS_MAX);

	if (unlock(port, outlet, deadline_ns, err) < 0)
		return -1;
	count = answer_ask_bytes(port, frame, sizeof(frame), answer,
				 sizeof(answer), deadline_ns, err);
	if (count < 0)
		return -1;
	if (count == 0)
		return err_set(err, "the board does not answer %s in time",
			       what);
	if (answer[0] == 1)
		return err_set(err,
			       "the board refuses %s of relay %u: it has none "
			       "of this number, or wants its password",
			       what, outlet->channel);
	return answer[0] == 0 ? 0 : answer_refuse(answer, 1, what, err);
}

static int eth_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	return command(port, outlet, state, 0, deadline_ns, err);
}

static int eth_pulse_for(struct port *port, const struct outlet *outlet,
			 enum relay_state state, uint32_t ms,
			 uint64_t deadline_ns, struct err *err)
{
	assert(ms >= STEP_MS && ms % STEP_MS == 0);

	return command(port, outlet, state, ms / STEP_MS, deadline_ns, err);
}

/* As get(); FOUND is the board's, and has the channel. */
static int ask_model(struct port *port, const struct outlet *outlet,
		     const struct model **found, uint64_t deadline_ns,
		     struct err *err)
{
	static const uint8_t request[] = {COMMAND_MODEL};
	uint8_t answer[16];
	ssize_t count = answer_ask(port, request, sizeof(request), answer,
				   sizeof(answer), deadline_ns, err);

	if (count <= 0)
		return (int)count;
	*found = NULL;
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (answer[0] == models[i].code)
			*found = &models[i];
	if (count != MODEL_BYTES || *found == NULL)
		return answer_refuse(answer, (size_t)count, "\"model\"", err);
	if (((*found)->relays >> (outlet->channel - 1) & 1) == 0)
		return err_set(err, "this model (%u) has no relay %u",
			       answer[0], outlet->channel);
	return 1;
}

static int eth_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	static const uint8_t request[] = {COMMAND_STATES};
	const unsigned int bit = outlet->channel - 1;
	const struct model *model = NULL;
	uint8_t answer[16];
	ssize_t count = 0;
	int rc = 0;

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	rc = ask_model(port, outlet, &model, deadline_ns, err);
	if (rc <= 0)
		return rc;
	count = answer_ask(port, request, sizeof(request), answer,
			   sizeof(answer), deadline_ns, err);
	if (count <= 0)
		return (int)count;
	if ((size_t)count != model->states_bytes)
		return answer_refuse(answer, (size_t)count, "\"states\"", err);
	*state = answer[bit / 8] >> bit % 8 & 1 ? RELAY_ON : RELAY_OFF;
	return 1;
}

const struct relay_driver driver_devantech_eth = {
	.name = "devantech-eth",
	.boards = "Devantech ETH002, ETH008, ETH484, ETH8020 (TCP)",
	.link = DRIVER_LINK_TCP,
	.tcp_port = 17494,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.keys = keys,
	.settle_ms = 10,
	.answer_ms = 1000,
	.shortest_ms = 50,
	.pulse = {.has_off = true,
		  .has_on = true,
		  .min_ms = STEP_MS,
		  .max_ms = STEP_MS * STEPS_MAX,
		  .step_ms = STEP_MS},
	.set = eth_set,
	.get = eth_get,
	.pulse_for = eth_pulse_for,
};
