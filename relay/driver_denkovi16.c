/* SPDX-License-Identifier: MIT */
/*
 * denkovi16 - Denkovi's USB board with 16 relays behind a serial converter.
 *
 * "01+//" switches relay 1 on, "16-//" relay 16 off; the board repeats the
 * five bytes. "ask//" tells the states in two raw bytes, the highest bit of the
 * first is relay 1. A board that slept may miss its first command: that is one
 * without an answer, and is repeated as any other. The boards with four and
 * eight relays are no serial devices.
 *
 * Sources: oasdflkjo/denkovi denkovi_16_relay.py; logreposit/denkovi-relay-api
 * DenkoviSerialClientImpl.java.
 */
#include "relay/driver.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define CHANNELS_MAX  16U
#define COMMAND_BYTES 5U
#define STATE_BYTES   2

static int denkovi_set(struct port *port, const struct outlet *outlet,
		       enum relay_state state, uint64_t deadline_ns,
		       struct err *err)
{
	char command[16];

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	(void)snprintf(command, sizeof(command), "%02u%c//", outlet->channel,
		       state == RELAY_ON ? '+' : '-');
	return answer_want(port, command, COMMAND_BYTES, command, COMMAND_BYTES,
			   state == RELAY_ON ? "\"on\"" : "\"off\"",
			   deadline_ns, err);
}

static int denkovi_get(struct port *port, const struct outlet *outlet,
		       enum relay_state *state, uint64_t deadline_ns,
		       struct err *err)
{
	static const char request[] = "ask//";
	uint8_t answer[16];
	ssize_t count = answer_ask(port, request, COMMAND_BYTES, answer,
				   sizeof(answer), deadline_ns, err);
	unsigned int states = 0;

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	if (count <= 0)
		return (int)count;
	if (count != STATE_BYTES)
		return answer_refuse(answer, (size_t)count, "\"states\"", err);
	states = (unsigned int)answer[0] << 8 | answer[1];
	*state = states >> (CHANNELS_MAX - outlet->channel) & 1 ? RELAY_ON
								: RELAY_OFF;
	return 1;
}

const struct relay_driver driver_denkovi16 = {
	.name = "denkovi16",
	.boards = "Denkovi USB 16 relay board, virtual COM port (FTDI)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.settle_ms = 10, /* 5 ms at least between two commands */
	.answer_ms = 500,
	.shortest_ms = 50,
	.set = denkovi_set,
	.get = denkovi_get,
};
