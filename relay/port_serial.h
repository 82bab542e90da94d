/* SPDX-License-Identifier: MIT */
/*
 * port_serial - ports over serial devices, opened and set up by libserialport.
 *
 * libserialport 0.1.1 leaves things undone that a power switch cannot do
 * without; this file does them: it follows symbolic links
 * (/dev/serial/by-path), takes the device for itself alone, does not leak it to
 * children, clears all flow control, and leaves DTR and RTS as they are when it
 * closes, so that the end of this program never switches anything. Reading and
 * writing go through port_fd.h, with deadlines on the monotonic clock and a
 * lost board noticed.
 */
#ifndef RELAY_PORT_SERIAL_H
#define RELAY_PORT_SERIAL_H

struct err;
struct port;

struct port *port_serial_open(const char *path, unsigned int baud,
			      struct err *err);

#endif
