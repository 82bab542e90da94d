/* SPDX-License-Identifier: MIT */
/*
 * k8090 - Velleman K8090 and VM8090, eight relays (CDC-ACM, 19200 baud).
 *
 * Seven bytes: 04, command, mask, two parameters, a checksum (the two's
 * complement of the sum of the first five) and 0F. 11 switches the relays of
 * the mask on, 12 off, 18 asks. The board answers a command only where a relay
 * moves, and tells every change unasked, also one by its buttons: 04 51, the
 * states before, the states now, its timers. So a command is not waited for,
 * and the newest of the states that a question brings counts.
 *
 * Source: pymeasure/pymeasure instruments/velleman/velleman_k8090.py and its
 * tests, made from the vendor's manual.
 */
#include "relay/driver.h"

#include <assert.h>
#include <stdbool.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define CHANNELS_MAX 8U
#define FRAME_BYTES  7
#define FRAMES_MAX   16 /* behind one question */
#define START        0x04
#define END          0x0f
#define SWITCH_ON    0x11
#define SWITCH_OFF   0x12
#define ASK          0x18
#define STATES       0x51

static uint8_t checksum(const uint8_t *frame)
{
	unsigned int sum = 0;

	for (int i = 0; i < 5; i++)
		sum += frame[i];
	return (uint8_t)-sum;
}

static void make_frame(uint8_t command, uint8_t mask,
		       uint8_t frame[FRAME_BYTES])
{
	frame[0] = START;
	frame[1] = command;
	frame[2] = mask;
	frame[3] = frame[4] = 0;
	frame[5] = checksum(frame);
	frame[6] = END;
}

static int k8090_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	uint8_t frame[FRAME_BYTES];

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	make_frame(state == RELAY_ON ? SWITCH_ON : SWITCH_OFF,
		   (uint8_t)(1U << (outlet->channel - 1)), frame);
	return port_write(port, frame, sizeof(frame), deadline_ns, err);
}

static bool tells_states(const uint8_t *frame)
{
	return frame[0] == START && frame[1] == STATES && frame[6] == END &&
	       frame[5] == checksum(frame);
}

static int k8090_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	uint8_t request[FRAME_BYTES], answer[FRAMES_MAX * FRAME_BYTES];
	ssize_t count;

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	make_frame(ASK, 0, request);
	count = answer_ask(port, request, sizeof(request), answer,
			   sizeof(answer), deadline_ns, err);
	if (count <= 0)
		return (int)count;
	for (ssize_t i = 0; i < count; i += FRAME_BYTES) {
		if (count - i < FRAME_BYTES || !tells_states(answer + i))
			return answer_refuse(answer, (size_t)count,
					     "\"states\"", err);
		*state = answer[i + 3] >> (outlet->channel - 1) & 1 ? RELAY_ON
								    : RELAY_OFF;
	}
	return 1;
}

const struct relay_driver driver_k8090 = {
	.name = "k8090",
	.boards = "Velleman K8090, VM8090 (USB)",
	.link = DRIVER_LINK_LINE,
	.baud = 19200,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.settle_ms = 20,
	.answer_ms = 500,
	.shortest_ms = 50,
	.set = k8090_set,
	.get = k8090_get,
};
