/* SPDX-License-Identifier: MIT */
#include "relay/modbus.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define READ_COILS       0x01
#define WRITE_COIL       0x05
#define EXCEPTION        0x80
#define EXCEPTION_BYTES  2 /* of its PDU */
#define RTU_EXTRA_BYTES  3 /* unit and CRC */
#define ASCII_END        '\n'
#define ASCII_EDGE_BYTES 3 /* ':' and CR LF */

static void put16(uint8_t *to, unsigned int value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

uint16_t modbus_crc(const uint8_t *bytes, size_t count)
{
	unsigned int crc = 0xffff;

	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xa001 : crc >> 1;
	}
	return (uint16_t)crc;
}

uint8_t modbus_lrc(const uint8_t *bytes, size_t count)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += bytes[i];
	return (uint8_t)-sum;
}

/* ---- frames ---- */

static size_t frame_ascii(const uint8_t *bytes, size_t count, uint8_t *frame)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t used = 0;

	frame[used++] = ':';
	for (size_t i = 0; i < count; i++) {
		frame[used++] = (uint8_t)digits[bytes[i] >> 4];
		frame[used++] = (uint8_t)digits[bytes[i] & 15];
	}
	frame[used++] = '\r';
	frame[used++] = ASCII_END;
	return used;
}

size_t modbus_frame(enum modbus_framing framing, uint8_t unit,
		    const uint8_t *pdu, size_t count,
		    uint8_t frame[MODBUS_FRAME_BYTES])
{
	uint8_t bytes[MODBUS_PDU_BYTES + RTU_EXTRA_BYTES] = {unit};
	unsigned int crc;

	assert(count >= 1 && count <= MODBUS_PDU_BYTES);

	memcpy(bytes + 1, pdu, count);
	if (framing == MODBUS_ASCII) {
		bytes[count + 1] = modbus_lrc(bytes, count + 1);
		return frame_ascii(bytes, count + 2, frame);
	}
	crc = modbus_crc(bytes, count + 1);
	memcpy(frame, bytes, count + 1);
	frame[count + 1] = (uint8_t)crc;
	frame[count + 2] = (uint8_t)(crc >> 8);
	return count + RTU_EXTRA_BYTES;
}

static int nibble(uint8_t letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

/* Returns how many bytes the frame holds; 0 where it is none. */
static size_t unframe_ascii(const uint8_t *frame, size_t count, uint8_t *bytes)
{
	const size_t held =
		count > ASCII_EDGE_BYTES ? (count - ASCII_EDGE_BYTES) / 2 : 0;

	if (held == 0 || count != 2 * held + ASCII_EDGE_BYTES ||
	    frame[0] != ':' || frame[count - 2] != '\r' ||
	    frame[count - 1] != ASCII_END)
		return 0;
	for (size_t i = 0; i < held; i++) {
		int high = nibble(frame[1 + 2 * i]);
		int low = nibble(frame[2 + 2 * i]);

		if (high < 0 || low < 0)
			return 0;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return held;
}

/* The PDU of a sound frame of UNIT, and its length; 0: it is none. */
static size_t unframe(enum modbus_framing framing, uint8_t unit,
		      const uint8_t *frame, size_t count, uint8_t *pdu)
{
	uint8_t bytes[MODBUS_FRAME_BYTES];
	size_t held = count;

	if (framing == MODBUS_ASCII)
		held = unframe_ascii(frame, count, bytes);
	else
		memcpy(bytes, frame, count);
	if (held < RTU_EXTRA_BYTES || bytes[0] != unit)
		return 0;
	if (framing == MODBUS_ASCII) {
		if (modbus_lrc(bytes, held - 1) != bytes[held - 1])
			return 0;
		held -= 2;
	} else {
		unsigned int crc = modbus_crc(bytes, held - 2);

		if (bytes[held - 2] != (crc & 255) ||
		    bytes[held - 1] != crc >> 8)
			return 0;
		held -= RTU_EXTRA_BYTES;
	}
	memcpy(pdu, bytes + 1, held);
	return held;
}

/* ---- asking ---- */

const char *modbus_exception(unsigned int code)
{
	static const char *const words[] = {
		[1] = "the board does not know this function",
		[2] = "the board has no such relay",
		[3] = "the board does not take this value",
		[4] = "the board has failed",
		[5] = "the board has not done it yet",
		[6] = "the board is busy",
	};

	if (code >= sizeof(words) / sizeof(words[0]) || words[code] == NULL)
		return "the board refuses";
	return words[code];
}

/* States must be all that the board says; a command's echo is taken at once. */
static ssize_t exchange(struct port *port, enum modbus_framing framing,
			const uint8_t *frame, size_t count, uint8_t *answer,
			size_t wanted, uint64_t deadline_ns, struct err *err)
{
	const bool is_read = frame[1] < WRITE_COIL;

	if (framing == MODBUS_ASCII)
		return answer_ask_until(port, frame, count, answer,
					MODBUS_FRAME_BYTES, ASCII_END,
					deadline_ns, err);
	if (is_read)
		return answer_ask(port, frame, count, answer,
				  MODBUS_FRAME_BYTES, deadline_ns, err);
	return answer_ask_bytes(port, frame, count, answer,
				wanted + RTU_EXTRA_BYTES, deadline_ns, err);
}

int modbus_ask(struct port *port, enum modbus_framing framing, uint8_t unit,
	       const uint8_t *pdu, size_t count, uint8_t *answer, size_t wanted,
	       uint64_t deadline_ns, struct err *err)
{
	uint8_t frame[MODBUS_FRAME_BYTES], said[MODBUS_FRAME_BYTES];
	uint8_t taken[MODBUS_FRAME_BYTES];
	const size_t length = modbus_frame(framing, unit, pdu, count, frame);
	const ssize_t got = exchange(port, framing, frame, length, said, wanted,
				     deadline_ns, err);
	size_t held = 0;

	assert(wanted >= EXCEPTION_BYTES && wanted <= MODBUS_PDU_BYTES);

	if (got < 0)
		return -1;
	if (got == 0)
		return err_set(err,
			       "unit %u did not answer; is it another unit, or "
			       "a board without coils (driver r421a08)?",
			       unit);
	held = unframe(framing, unit, said, (size_t)got, taken);
	if (held == EXCEPTION_BYTES && taken[0] == (pdu[0] | EXCEPTION))
		return err_set(err, "%s (exception %u of unit %u)",
			       modbus_exception(taken[1]), taken[1], unit);
	if (held != wanted || taken[0] != pdu[0])
		return answer_refuse(said, (size_t)got, "a Modbus request",
				     err);
	memcpy(answer, taken, wanted);
	return 0;
}

/* ---- coils ---- */

const struct driver_key modbus_keys[] = {
	{"unit", "address of the board, 1 to 254; many answer to 254 only", "1",
	 false},
	{"relays", "how many it has, 1 to 32; so many states are asked for",
	 "8", false},
	{0},
};

int modbus_check(const struct outlet *outlet, struct err *err)
{
	uint64_t unit = 0, relays = 0;

	if (outlet_number(outlet, "unit", 1, MODBUS_UNIT_MAX, &unit, err) < 0 ||
	    outlet_number(outlet, "relays", 1, MODBUS_COILS_MAX, &relays, err) <
		    0)
		return -1;
	if (outlet->channel > relays)
		return err_set(err,
			       "channel %u: the board has %llu relays, by its "
			       "key \"relays\"",
			       outlet->channel, (unsigned long long)relays);
	return 0;
}

/* Both were checked. */
static uint8_t number_of(const struct outlet *outlet, const char *key)
{
	uint64_t value = 0;
	struct err unused;

	(void)outlet_number(outlet, key, 1, MODBUS_UNIT_MAX, &value, &unused);
	return (uint8_t)value;
}

int modbus_write_coil(struct port *port, enum modbus_framing framing,
		      const struct outlet *outlet, uint16_t base,
		      uint16_t value, uint64_t deadline_ns, struct err *err)
{
	uint8_t pdu[5] = {WRITE_COIL}, answer[sizeof(pdu)];

	put16(pdu + 1, base + outlet->channel - 1);
	put16(pdu + 3, value);
	if (modbus_ask(port, framing, number_of(outlet, "unit"), pdu,
		       sizeof(pdu), answer, sizeof(answer), deadline_ns,
		       err) < 0)
		return -1;
	if (memcmp(answer, pdu, sizeof(pdu)) != 0)
		return answer_refuse(answer, sizeof(answer), "\"write coil\"",
				     err);
	return 0;
}

int modbus_read_coil(struct port *port, enum modbus_framing framing,
		     const struct outlet *outlet, enum relay_state *state,
		     uint64_t deadline_ns, struct err *err)
{
	const unsigned int relays = number_of(outlet, "relays");
	const unsigned int bytes = (relays + 7) / 8;
	const unsigned int at = outlet->channel - 1;
	uint8_t pdu[5] = {READ_COILS}, answer[MODBUS_PDU_BYTES];

	put16(pdu + 1, 0);
	put16(pdu + 3, relays);
	if (modbus_ask(port, framing, number_of(outlet, "unit"), pdu,
		       sizeof(pdu), answer, 2 + bytes, deadline_ns, err) < 0)
		return -1;
	if (answer[1] != bytes)
		return answer_refuse(answer, 2 + bytes, "\"read coils\"", err);
	*state = answer[2 + at / 8] >> at % 8 & 1 ? RELAY_ON : RELAY_OFF;
	return 1;
}
