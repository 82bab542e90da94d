/* SPDX-License-Identifier: MIT */
/*
 * modbus-rtu - boards whose relays are coils, by Modbus RTU: Waveshare's, and
 * most on RS-485 or with a CH340, which answer as unit 254 whatever theirs is.
 *
 * Relay n is coil n - 1: function 05h writes it and the board repeats the
 * request; 01h reads all. The value 5500h, which toggles, is not of the
 * standard and never sent. Waveshare's boards sold before September 2021 do not
 * keep to the protocol.
 *
 * Sources: waveshare.com/wiki/Modbus_RTU_Relay; huynguyen2310/IO-Box README.md.
 */
#include "relay/driver.h"

#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"

static int rtu_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	return modbus_write_coil(port, MODBUS_RTU, outlet, 0,
				 state == RELAY_ON ? MODBUS_COIL_ON
						   : MODBUS_COIL_OFF,
				 deadline_ns, err);
}

static int rtu_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	return modbus_read_coil(port, MODBUS_RTU, outlet, state, deadline_ns,
				err);
}

const struct relay_driver driver_modbus_rtu = {
	.name = "modbus-rtu",
	.boards = "boards with coils by Modbus RTU (RS-485, CH340)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = MODBUS_COILS_MAX,
	.keys = modbus_keys,
	.settle_ms = 5, /* 3.5 characters between two frames */
	.answer_ms = 500,
	.shortest_ms = 50,
	.check = modbus_check,
	.set = rtu_set,
	.get = rtu_get,
};
