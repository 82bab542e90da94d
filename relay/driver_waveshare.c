/* SPDX-License-Identifier: MIT */
/*
 * waveshare - Waveshare's Modbus RTU relay boards, as modbus-rtu, with their
 * own clock besides: coil 0200h + n closes relay n for so many times 100 ms,
 * 0400h + n opens it for as long. The second is a cut that ends by itself on a
 * drive that hangs on the contact which is closed while the relay is on.
 *
 * Boards sold before September 2021 (V1) do not keep to the protocol.
 *
 * Source: waveshare.com/wiki/Modbus_RTU_Relay.
 */
#include "relay/driver.h"

#include <assert.h>

#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"

#define FLASH_ON_COIL  0x0200
#define FLASH_OFF_COIL 0x0400
#define STEP_MS        100U
#define STEPS_MAX      0x7fffU

static int waveshare_set(struct port *port, const struct outlet *outlet,
			 enum relay_state state, uint64_t deadline_ns,
			 struct err *err)
{
	return driver_modbus_rtu.set(port, outlet, state, deadline_ns, err);
}

static int waveshare_get(struct port *port, const struct outlet *outlet,
			 enum relay_state *state, uint64_t deadline_ns,
			 struct err *err)
{
	return driver_modbus_rtu.get(port, outlet, state, deadline_ns, err);
}

static int waveshare_pulse(struct port *port, const struct outlet *outlet,
			   enum relay_state state, uint32_t ms,
			   uint64_t deadline_ns, struct err *err)
{
	assert(ms % STEP_MS == 0 && ms / STEP_MS <= STEPS_MAX);

	return modbus_write_coil(port, MODBUS_RTU, outlet,
				 state == RELAY_ON ? FLASH_ON_COIL
						   : FLASH_OFF_COIL,
				 (uint16_t)(ms / STEP_MS), deadline_ns, err);
}

const struct relay_driver driver_waveshare = {
	.name = "waveshare",
	.boards = "Waveshare Modbus RTU Relay, V2 and later",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = MODBUS_COILS_MAX,
	.keys = modbus_keys,
	.settle_ms = 5,
	.answer_ms = 500,
	.shortest_ms = 50,
	.pulse = {.has_off = true,
		  .has_on = true,
		  .min_ms = STEP_MS,
		  .max_ms = STEPS_MAX * STEP_MS,
		  .step_ms = STEP_MS},
	.check = modbus_check,
	.set = waveshare_set,
	.get = waveshare_get,
	.pulse_for = waveshare_pulse,
};
