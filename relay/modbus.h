/* SPDX-License-Identifier: MIT */
/*
 * modbus - requests to one unit on a serial line, as RTU or ASCII frames
 * (Modbus over Serial Line V1.02, Modbus Application Protocol V1.1b3), and
 * coils by them. Modbus TCP is libmodbus' (driver_modbus_tcp.c).
 *
 * A PDU is a function code and its data, at most MODBUS_PDU_BYTES. An answer is
 * taken only from the unit that was asked, with the function that was asked
 * for, of the length that it must have, with a right checksum.
 */
#ifndef RELAY_MODBUS_H
#define RELAY_MODBUS_H

#include <stddef.h>
#include <stdint.h>

#include "relay/driver.h"

struct err;
struct outlet;
struct port;

#define MODBUS_PDU_BYTES 64
#define MODBUS_FRAME_BYTES                                \
	(2 * MODBUS_PDU_BYTES + 8) /* ASCII is the longer \
				    */
#define MODBUS_UNIT_MAX  254 /* many boards answer to 254, whatever theirs */
#define MODBUS_COILS_MAX 32

enum modbus_framing { MODBUS_RTU, MODBUS_ASCII };

/* CRC-16 of the RTU framing, low byte first on the line. */
uint16_t modbus_crc(const uint8_t *bytes, size_t count);
/* LRC of the ASCII framing. */
uint8_t modbus_lrc(const uint8_t *bytes, size_t count);

/* The whole frame; returns its length. COUNT is 1 ... MODBUS_PDU_BYTES. */
size_t modbus_frame(enum modbus_framing framing, uint8_t unit,
		    const uint8_t *pdu, size_t count,
		    uint8_t frame[MODBUS_FRAME_BYTES]);

/*
 * Sends PDU and takes the answer, whose PDU has exactly WANTED bytes. 0; -1
 * where none or another came, and err names an exception (9.1 of the protocol).
 */
int modbus_ask(struct port *port, enum modbus_framing framing, uint8_t unit,
	       const uint8_t *pdu, size_t count, uint8_t *answer, size_t wanted,
	       uint64_t deadline_ns, struct err *err);

/* In words, what exception CODE says. */
const char *modbus_exception(unsigned int code);

/* ---- coils: the channel's is channel - 1; "unit" and "relays" are keys */

extern const struct driver_key modbus_keys[]; /* "unit", "relays" */
int modbus_check(const struct outlet *outlet, struct err *err);

/* Writes VALUE (FF00h on, 0000h off, or what a board has besides) to the coil
 * of OUTLET's channel, BASE added, and wants it repeated. */
int modbus_write_coil(struct port *port, enum modbus_framing framing,
		      const struct outlet *outlet, uint16_t base,
		      uint16_t value, uint64_t deadline_ns, struct err *err);
/* As a driver's get(), but silence is an error: such boards answer always. */
int modbus_read_coil(struct port *port, enum modbus_framing framing,
		     const struct outlet *outlet, enum relay_state *state,
		     uint64_t deadline_ns, struct err *err);

#define MODBUS_COIL_ON  0xff00
#define MODBUS_COIL_OFF 0x0000

#endif
