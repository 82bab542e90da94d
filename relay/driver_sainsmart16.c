/* SPDX-License-Identifier: MIT */
/*
 * sainsmart16 - SainSmart's board with 16 relays on a CH340: lines of Modbus
 * ASCII to unit 254, coil n - 1.
 *
 * In both lists of its vendor the checksums of three lines are wrong (relay 15
 * off, relay 16 on and off); whether the board looks at them nobody knows, so
 * they are sent as they stand there. What it answers to a question for its
 * states nobody could decode: it cannot be read back. The boards with 4 and 8
 * relays are no serial devices.
 *
 * Sources: haf-decent/usbrelay lib/RelayBoard.js, and the vendor's list in
 * another public program (both in tests/vectors/relay.tsv).
 */
#include "relay/driver.h"

#include <assert.h>

#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define CHANNELS_MAX 16U
#define UNIT         0xfe
#define WRITE_COIL   0x05
#define LRC_AT       13 /* of its two digits */

/* What the vendor has in the checksum's place; NULL: the right one. */
static const char *wrong_lrc(unsigned int channel, enum relay_state state)
{
	if (channel == 16)
		return state == RELAY_ON ? "FF" : "FE";
	return channel == 15 && state == RELAY_OFF ? "FF" : NULL;
}

static int sainsmart_set(struct port *port, const struct outlet *outlet,
			 enum relay_state state, uint64_t deadline_ns,
			 struct err *err)
{
	const uint8_t pdu[5] = {WRITE_COIL, 0, (uint8_t)(outlet->channel - 1),
				state == RELAY_ON ? 0xff : 0, 0};
	const char *lrc = wrong_lrc(outlet->channel, state);
	uint8_t frame[MODBUS_FRAME_BYTES];
	const size_t length =
		modbus_frame(MODBUS_ASCII, UNIT, pdu, sizeof(pdu), frame);

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	if (lrc != NULL) {
		frame[LRC_AT] = (uint8_t)lrc[0];
		frame[LRC_AT + 1] = (uint8_t)lrc[1];
	}
	return port_write(port, frame, length, deadline_ns, err);
}

const struct relay_driver driver_sainsmart16 = {
	.name = "sainsmart16",
	.boards = "SainSmart 16-channel USB relay board (CH340)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.settle_ms = 50,
	.answer_ms = 500,
	.shortest_ms = 50,
	.set = sainsmart_set,
};
