/* SPDX-License-Identifier: MIT */
/*
 * lcus-ext - boards like LCUS-1 ... LCUS-8 with the newer firmware, which
 * answers.
 *
 * A command is A0, channel, operation, and the low byte of the sum of the
 * first three; operation 02 is off, 03 on, 05 asks, and to each the answer is
 * A0, channel, state 00 or 01, and the sum. Only for boards of which it is
 * known that they have this firmware: an older one may take any operation that
 * is not 00 as "on". Toggle (04) and momentary (06) are never sent: the one
 * depends on what was before, of the other the length is not stated.
 *
 * Sources: a text of the vendor, and Deadline039/lcus-hid-relay README.md.
 */
#include "relay/driver.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define START        0xA0
#define FRAME_BYTES  4U
#define CHANNELS_MAX 8U

enum operation { OPERATION_OFF = 2, OPERATION_ON = 3, OPERATION_ASK = 5 };

static void make_frame(uint8_t frame[FRAME_BYTES], unsigned int channel,
		       unsigned int third)
{
	assert(channel >= 1 && channel <= CHANNELS_MAX);

	frame[0] = START;
	frame[1] = (uint8_t)channel;
	frame[2] = (uint8_t)third;
	frame[3] = (uint8_t)(START + channel + third);
}

static int ext_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	const bool is_on = state == RELAY_ON;
	uint8_t frame[FRAME_BYTES], reply[FRAME_BYTES];

	make_frame(frame, outlet->channel,
		   is_on ? OPERATION_ON : OPERATION_OFF);
	make_frame(reply, outlet->channel, is_on);
	return answer_want(port, frame, sizeof(frame), reply, sizeof(reply),
			   is_on ? "\"on\"" : "\"off\"", deadline_ns, err);
}

static int ext_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	uint8_t frame[FRAME_BYTES], on[FRAME_BYTES], off[FRAME_BYTES];
	uint8_t answer[4 * FRAME_BYTES];
	ssize_t count = 0;

	make_frame(frame, outlet->channel, OPERATION_ASK);
	make_frame(on, outlet->channel, RELAY_ON);
	make_frame(off, outlet->channel, RELAY_OFF);
	count = answer_ask(port, frame, sizeof(frame), answer, sizeof(answer),
			   deadline_ns, err);
	if (count <= 0)
		return (int)count;
	if (count == sizeof(on) && memcmp(answer, on, sizeof(on)) == 0)
		*state = RELAY_ON;
	else if (count == sizeof(off) && memcmp(answer, off, sizeof(off)) == 0)
		*state = RELAY_OFF;
	else
		return answer_refuse(answer, (size_t)count, "\"state\"", err);
	return 1;
}

const struct relay_driver driver_lcus_ext = {
	.name = "lcus-ext",
	.boards = "LCUS boards whose firmware answers (known to, never tried)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.settle_ms = 100,
	.answer_ms = 500,
	.shortest_ms = 50,
	.set = ext_set,
	.get = ext_get,
};
