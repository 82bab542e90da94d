/* SPDX-License-Identifier: MIT */
/*
 * hw667 - one relay with a USB plug, HW-667, also sold as E-3.
 *
 * One byte a command and never an answer: AA on, BB off, CC on for one second
 * and off again by the board's own clock.
 *
 * Source: a seller's text alone, jumia.co.ke listing 315717830.
 */
#include "relay/driver.h"

#include <assert.h>

#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define COMMAND_ON    0xAA
#define COMMAND_OFF   0xBB
#define COMMAND_PULSE 0xCC
#define PULSE_MS      1000U

static int send_byte(struct port *port, uint8_t byte, uint64_t deadline_ns,
		     struct err *err)
{
	return port_write(port, &byte, 1, deadline_ns, err);
}

static int hw667_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	(void)outlet; /* there is one relay on a board */
	return send_byte(port, state == RELAY_ON ? COMMAND_ON : COMMAND_OFF,
			 deadline_ns, err);
}

static int hw667_pulse_for(struct port *port, const struct outlet *outlet,
			   enum relay_state state, uint32_t ms,
			   uint64_t deadline_ns, struct err *err)
{
	(void)outlet; /* there is one relay on a board */
	assert(state == RELAY_ON && ms == PULSE_MS);

	return send_byte(port, COMMAND_PULSE, deadline_ns, err);
}

const struct relay_driver driver_hw667 = {
	.name = "hw667",
	.boards = "HW-667, E-3: one relay with a USB plug (9600 baud)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = 1,
	.settle_ms = 100,
	.answer_ms = 500,
	.shortest_ms = 50,
	.pulse = {.has_on = true,
		  .min_ms = PULSE_MS,
		  .max_ms = PULSE_MS,
		  .step_ms = PULSE_MS},
	.set = hw667_set,
	.pulse_for = hw667_pulse_for,
};
