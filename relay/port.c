/* SPDX-License-Identifier: MIT */
#include "relay/port.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/port_serial.h"
#include "relay/port_tcp.h"

#define TCP_MARK "tcp://"

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
