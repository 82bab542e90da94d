/* SPDX-License-Identifier: MIT */
/*
 * r421a08 - R421A08 (8 relays), R421B16 (16) and their clones: relays as
 * holding registers, not coils.
 *
 * Function 06h writes register n: 0100h closes relay n, 0200h opens it, and the
 * board repeats the request; 03h reads it. "Latch", which opens all others,
 * and "toggle" are never sent. The address is set by switches; all relays are
 * off when the board gets power.
 *
 * Source: Erriez/R421A08-rs485-8ch-relay-board relay_boards/R421A08.py.
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"

#define READ_REGISTERS 0x03
#define WRITE_REGISTER 0x06
#define CLOSE          0x01
#define OPEN           0x02
#define ADDRESS_MAX    63 /* six switches */

static const struct driver_key r421_keys[] = {
	{"unit", "address by the board's switches, 0 to 63", "1", false},
	{0},
};

static int r421_unit(const struct outlet *outlet, uint8_t *unit,
		     struct err *err)
{
	uint64_t value = 0;

	if (outlet_number(outlet, "unit", 0, ADDRESS_MAX, &value, err) < 0)
		return -1;
	*unit = (uint8_t)value;
	return 0;
}

static int r421_check(const struct outlet *outlet, struct err *err)
{
	uint8_t unused;

	return r421_unit(outlet, &unused, err);
}

static int r421_set(struct port *port, const struct outlet *outlet,
		    enum relay_state state, uint64_t deadline_ns,
		    struct err *err)
{
	const uint8_t pdu[5] = {WRITE_REGISTER, 0, (uint8_t)outlet->channel,
				state == RELAY_ON ? CLOSE : OPEN, 0};
	uint8_t answer[sizeof(pdu)], unit = 0;

	if (r421_unit(outlet, &unit, err) < 0 ||
	    modbus_ask(port, MODBUS_RTU, unit, pdu, sizeof(pdu), answer,
		       sizeof(answer), deadline_ns, err) < 0)
		return -1;
	if (memcmp(answer, pdu, sizeof(pdu)) != 0)
		return answer_refuse(answer, sizeof(answer),
				     "\"write register\"", err);
	return 0;
}

static int r421_get(struct port *port, const struct outlet *outlet,
		    enum relay_state *state, uint64_t deadline_ns,
		    struct err *err)
{
	const uint8_t pdu[5] = {READ_REGISTERS, 0, (uint8_t)outlet->channel, 0,
				1};
	uint8_t answer[4], unit = 0;

	if (r421_unit(outlet, &unit, err) < 0 ||
	    modbus_ask(port, MODBUS_RTU, unit, pdu, sizeof(pdu), answer,
		       sizeof(answer), deadline_ns, err) < 0)
		return -1;
	if (answer[1] != 2 || answer[2] != 0 || answer[3] > 1)
		return answer_refuse(answer, sizeof(answer),
				     "\"read register\"", err);
	*state = answer[3] == 1 ? RELAY_ON : RELAY_OFF;
	return 1;
}

const struct relay_driver driver_r421a08 = {
	.name = "r421a08",
	.boards = "R421A08, R421B16 and clones (RS-485, holding registers)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = 16,
	.keys = r421_keys,
	.settle_ms = 5,
	.answer_ms = 500,
	.shortest_ms = 50,
	.check = r421_check,
	.set = r421_set,
	.get = r421_get,
};
