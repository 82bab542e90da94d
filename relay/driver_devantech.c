/* SPDX-License-Identifier: MIT */
/*
 * devantech - Devantech's USB-RLY and USB-OPTO-RLY boards.
 *
 * One byte a command: 64 (hexadecimal) and the channel is on, 6E and the
 * channel off, neither is answered; 5B tells the states in one byte, the lowest
 * bit is relay 1; 5A tells the model and the version of the firmware, two
 * bytes. The USB-RLY16B has a clock: 5E, channel, and a time of two bytes in
 * steps of 10 ms, for which the relay is on. No other board knows 5E, and one
 * takes the bytes behind it as commands (64 is "all on"), so that it is sent
 * only where a key says that it is such a board.
 *
 * One byte of states can be any byte. Where it is the question's own it may be
 * an echo, and a second question that a board answers with two bytes decides.
 *
 * Sources: the vendor's manuals of USB-RLY16, RLY16L, RLY02, RLY08;
 * pdudaemon/pdudaemon pdudaemon/drivers/devantechusb.py; for 5E a comment in
 * sigrokproject/libsigrok src/hardware/devantech-eth008/protocol.c.
 */
#include "relay/driver.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define CHANNELS_MAX   8U
#define COMMAND_ON     0x64 /* and the channel */
#define COMMAND_OFF    0x6E /* and the channel */
#define COMMAND_STATES 0x5B
#define COMMAND_MODEL  0x5A
#define COMMAND_PULSE  0x5E
#define MODEL_BYTES    2
#define STEP_MS        10U
#define STEPS_MAX      65535U

static const struct driver_key keys[] = {
	{"timed", "yes: it is a USB-RLY16B, which has a clock", "no", false},
	{NULL, NULL, NULL, false},
};

static bool has_clock(const struct outlet *outlet)
{
	return strcmp(outlet_option(outlet, "timed"), "yes") == 0;
}

static int devantech_check(const struct outlet *outlet, struct err *err)
{
	const char *timed = outlet_option(outlet, "timed");

	if (!has_clock(outlet) && strcmp(timed, "no") != 0)
		return err_set(err, "timed: %.40s is neither yes nor no",
			       timed);
	return 0;
}

static int devantech_set(struct port *port, const struct outlet *outlet,
			 enum relay_state state, uint64_t deadline_ns,
			 struct err *err)
{
	const uint8_t command =
		(uint8_t)((state == RELAY_ON ? COMMAND_ON : COMMAND_OFF) +
			  outlet->channel);

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	return port_write(port, &command, 1, deadline_ns, err);
}

/* -1 where the line only sends back what is sent. */
static int check_echo(struct port *port, uint64_t deadline_ns, struct err *err)
{
	static const uint8_t request[] = {COMMAND_MODEL};
	uint8_t answer[16];
	ssize_t count = answer_ask(port, request, sizeof(request), answer,
				   sizeof(answer), deadline_ns, err);

	if (count < 0)
		return -1;
	if (count != MODEL_BYTES || answer[0] == COMMAND_MODEL)
		return answer_refuse(answer, (size_t)count, "\"model\"", err);
	return 0;
}

static int devantech_get(struct port *port, const struct outlet *outlet,
			 enum relay_state *state, uint64_t deadline_ns,
			 struct err *err)
{
	static const uint8_t request[] = {COMMAND_STATES};
	uint8_t answer[16];
	ssize_t count = answer_ask(port, request, sizeof(request), answer,
				   sizeof(answer), deadline_ns, err);

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	if (count <= 0)
		return (int)count;
	if (count != 1)
		return answer_refuse(answer, (size_t)count, "\"states\"", err);
	if (answer[0] == COMMAND_STATES &&
	    check_echo(port, deadline_ns, err) < 0)
		return -1;
	*state = answer[0] >> (outlet->channel - 1) & 1 ? RELAY_ON : RELAY_OFF;
	return 1;
}

static int devantech_pulse_for(struct port *port, const struct outlet *outlet,
			       enum relay_state state, uint32_t ms,
			       uint64_t deadline_ns, struct err *err)
{
	const uint32_t steps = ms / STEP_MS;
	const uint8_t frame[] = {COMMAND_PULSE, (uint8_t)outlet->channel,
				 (uint8_t)(steps >> 8), (uint8_t)steps};

	assert(has_clock(outlet) && state == RELAY_ON);
	assert(steps >= 1 && steps <= STEPS_MAX && ms % STEP_MS == 0);

	return port_write(port, frame, sizeof(frame), deadline_ns, err);
}

const struct relay_driver driver_devantech = {
	.name = "devantech",
	.boards = "Devantech USB-RLY02, 08, 16, 16L, 82, USB-OPTO-RLY88, 816",
	.link = DRIVER_LINK_LINE,
	.baud = 9600, /* USB alone: any will do */
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.keys = keys,
	.settle_ms = 10,
	.answer_ms = 500,
	.shortest_ms = 50,
	.pulse = {.has_on = true,
		  .min_ms = STEP_MS,
		  .max_ms = STEP_MS * STEPS_MAX,
		  .step_ms = STEP_MS},
	.check = devantech_check,
	.set = devantech_set,
	.get = devantech_get,
	.pulse_for = devantech_pulse_for,
	.can_pulse = has_clock,
};
