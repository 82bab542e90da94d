/* SPDX-License-Identifier: MIT */
#include "relay/port.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/port_serial.h"
#include "relay/port_tcp.h"

#define TCP_MARK           "tcp://"
#define PORT_ADDRESS_BYTES 288

int port_write(struct port *port, const void *bytes, size_t count,
	       uint64_t deadline_ns, struct err *err)
{
	return port->ops->write(port, bytes, count, deadline_ns, err);
}

ssize_t port_read(struct port *port, uint8_t *bytes, size_t room,
		  uint64_t deadline_ns, struct err *err)
{
	return port->ops->read(port, bytes, room, deadline_ns, err);
}

int port_discard_input(struct port *port, struct err *err)
{
	return port->ops->discard_input(port, err);
}

void port_close(struct port *port)
{
	if (port != NULL)
		port->ops->close(port);
}

/* In "[::1]" a colon is no port. */
static bool has_tcp_port(const char *host)
{
	const char *end = strrchr(host, ']');

	return strchr(end == NULL ? host : end, ':') != NULL;
}

struct port *port_open_tcp(const char *address, unsigned int tcp_port,
			   struct err *err)
{
	const char *host = address + strlen(TCP_MARK);
	char whole[PORT_ADDRESS_BYTES];

	if (has_tcp_port(host))
		return port_tcp_open(host, err);
	(void)snprintf(whole, sizeof(whole), "%.256s:%u", host, tcp_port);
	return port_tcp_open(whole, err);
}

struct port *port_open_line(const char *address, unsigned int baud,
			    struct err *err)
{
	size_t length = strlen(TCP_MARK);

	if (strncmp(address, TCP_MARK, length) == 0)
		return port_tcp_open(address + length, err);
#ifdef HAVE_LIBSERIALPORT
	return port_serial_open(address, baud, err);
#else
	(void)baud; /* only a serial device has one */
	(void)err_set(err,
		      "cannot open %s: this plugpull-relay was built without "
		      "libserialport and reaches boards over tcp:// only",
		      address);
	return NULL;
#endif
}
