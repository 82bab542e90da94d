/* SPDX-License-Identifier: MIT */
/*
 * modbus-ascii - boards whose relays are coils, by Modbus ASCII: the same
 * functions as modbus-rtu, in lines of hexadecimal digits with an LRC
 * (Modbus over Serial Line V1.02, section 2.5.2).
 */
#include "relay/driver.h"

#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"

static int ascii_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	return modbus_write_coil(port, MODBUS_ASCII, outlet, 0,
				 state == RELAY_ON ? MODBUS_COIL_ON
						   : MODBUS_COIL_OFF,
				 deadline_ns, err);
}

static int ascii_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	return modbus_read_coil(port, MODBUS_ASCII, outlet, state, deadline_ns,
				err);
}

const struct relay_driver driver_modbus_ascii = {
	.name = "modbus-ascii",
	.boards = "boards with coils by Modbus ASCII",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = MODBUS_COILS_MAX,
	.keys = modbus_keys,
	.answer_ms = 1000,
	.shortest_ms = 50,
	.check = modbus_check,
	.set = ascii_set,
	.get = ascii_get,
};
