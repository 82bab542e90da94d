/* SPDX-License-Identifier: MIT */
/*
 * port_fd - what all ports over a file descriptor share: reading and writing
 * until a deadline, and noticing at once that the other end is gone.
 *
 * The descriptor is non-blocking and closed on exec.
 */
#ifndef RELAY_PORT_FD_H
#define RELAY_PORT_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "relay/port.h"

#define PORT_FD_NAME_BYTES 256

struct port_fd {
	struct port port;
	int fd;
	char name[PORT_FD_NAME_BYTES]; /* for messages */
};

int port_fd_write(struct port *port, const uint8_t *bytes, size_t count,
		  uint64_t deadline_ns, struct err *err);
ssize_t port_fd_read(struct port *port, uint8_t *bytes, size_t room,
		     uint64_t deadline_ns, struct err *err);
int port_fd_discard_input(struct port *port, struct err *err);

/* 1 ready, 0 the deadline has passed, -1 with err. EVENTS as in poll(). */
int port_fd_wait(int fd, short events, uint64_t deadline_ns, struct err *err);

#endif
