/* SPDX-License-Identifier: MIT */
#include "relay/port_fd.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define DISCARD_BYTES_MAX 65536U /* more is no left-over but a wrong board */

static struct port_fd *port_fd_of(struct port *port)
{
	return (struct port_fd *)(void *)port; /* its first member */
}

int port_fd_wait(int fd, short events, uint64_t deadline_ns, struct err *err)
{
	struct pollfd item = {.fd = fd, .events = events};

	for (;;) {
		int ready = poll(&item, 1, clock_until_ms(deadline_ns));

		if (ready > 0)
			return 1;
		if (ready == 0 && clock_until_ms(deadline_ns) == 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return err_sys(err, errno, "cannot wait for a port");
		if (ready < 0 && clock_until_ms(deadline_ns) == 0)
			return 0;
	}
}

int port_fd_write(struct port *port, const uint8_t *bytes, size_t count,
		  uint64_t deadline_ns, struct err *err)
{
	struct port_fd *self = port_fd_of(port);

	while (count > 0) {
		ssize_t done = write(self->fd, bytes, count);
		int ready = 1;

		if (done >= 0) {
			bytes += done;
			count -= (size_t)done;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return err_sys(err, errno, "cannot write to %s",
				       self->name);
		ready = port_fd_wait(self->fd, POLLOUT, deadline_ns, err);
		if (ready < 0)
			return -1;
		if (ready == 0)
			return err_set(err,
				       "cannot write to %s: it took no more "
				       "bytes in time",
				       self->name);
	}
	return 0;
}

/*
 * A read of nothing from a descriptor that had called itself readable is the
 * end: the socket's other side has closed, or the serial device was unplugged.
 */
ssize_t port_fd_read(struct port *port, uint8_t *bytes, size_t room,
		     uint64_t deadline_ns, struct err *err)
{
	struct port_fd *self = port_fd_of(port);

	for (;;) {
		int ready = port_fd_wait(self->fd, POLLIN, deadline_ns, err);
		ssize_t count = 0;

		if (ready <= 0)
			return ready;
		count = read(self->fd, bytes, room);
		if (count > 0)
			return count;
		if (count == 0)
			return err_set(err,
				       "cannot read from %s: the other end "
				       "is gone",
				       self->name);
		if (errno != EINTR && errno != EAGAIN)
			return err_sys(err, errno, "cannot read from %s",
				       self->name);
	}
}

int port_fd_discard_input(struct port *port, struct err *err)
{
	uint8_t bytes[256];
	size_t total = 0;

	while (total <= DISCARD_BYTES_MAX) {
		ssize_t count =
			port_fd_read(port, bytes, sizeof(bytes), 0, err);

		if (count <= 0)
			return (int)count;
		total += (size_t)count;
	}
	return err_set(err, "cannot use %s: it never stops talking",
		       port_fd_of(port)->name);
}
