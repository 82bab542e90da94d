/* SPDX-License-Identifier: MIT */
/*
 * port - the seam between a driver and the wire: bytes out, bytes in until a
 * deadline. Serial devices, TCP and Unix sockets stand behind it, and in the
 * tests a script (tests/fake/port_fake.h).
 *
 * Deadlines are on the monotonic clock. Nothing here knows a board.
 */
#ifndef RELAY_PORT_H
#define RELAY_PORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct port;

struct port_ops {
	/* All COUNT bytes are on the wire, or -1. */
	int (*write)(struct port *port, const uint8_t *bytes, size_t count,
		     uint64_t deadline_ns, struct err *err);
	/* At least one byte, at most ROOM; 0 where none came until the
	 * deadline; -1 where none can come any more. */
	ssize_t (*read)(struct port *port, uint8_t *bytes, size_t room,
			uint64_t deadline_ns, struct err *err);
	/* Drops what has arrived and was not read. */
	int (*discard_input)(struct port *port, struct err *err);
	void (*close)(struct port *port); /* frees it too */
};

struct port { /* first member of every back end's own struct */
	const struct port_ops *ops;
};

int port_write(struct port *port, const void *bytes, size_t count,
	       uint64_t deadline_ns, struct err *err);
ssize_t port_read(struct port *port, uint8_t *bytes, size_t room,
		  uint64_t deadline_ns, struct err *err);
int port_discard_input(struct port *port, struct err *err);
void port_close(struct port *port); /* takes NULL */

/* tcp://HOST or tcp://HOST:PORT; TCP_PORT where none is given. */
struct port *port_open_tcp(const char *address, unsigned int tcp_port,
			   struct err *err);

/* tcp://HOST:PORT or the path of a serial device, at BAUD 8N1. */
struct port *port_open_line(const char *address, unsigned int baud,
			    struct err *err);

#endif
