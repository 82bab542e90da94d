/* SPDX-License-Identifier: MIT */
#include "relay/port_tcp.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/port_fd.h"

#define CONNECT_MS 5000U
#define LINGER_MS  200U
#define HOST_BYTES 200

/*
 * A socket that is closed over unread bytes resets the connection, and the
 * last command could die in the serial server. So: say that no more will come,
 * then read until the other end closes, but not for long.
 */
static void close_socket(struct port *port)
{
	struct port_fd *self = (struct port_fd *)(void *)port;
	uint64_t deadline_ns =
		clock_monotonic_ns() + LINGER_MS * CLOCK_NS_PER_MS;
	uint8_t bytes[256];
	struct err err;

	if (shutdown(self->fd, SHUT_WR) == 0) {
		while (clock_until_ms(deadline_ns) > 0 &&
		       port_fd_read(port, bytes, sizeof(bytes), deadline_ns,
				    &err) > 0)
			;
	}
	(void)close(self->fd); /* all that was written is out already */
	free(self);
}

static const struct port_ops socket_ops = {
	.write = port_fd_write,
	.read = port_fd_read,
	.discard_input = port_fd_discard_input,
	.close = close_socket,
};

static int finish_connect(int fd, uint64_t deadline_ns, struct err *err)
{
	int failure = 0;
	socklen_t length = sizeof(failure);
	int ready = port_fd_wait(fd, POLLOUT, deadline_ns, err);

	if (ready < 0)
		return -1;
	if (ready == 0)
		return err_set(err, "no answer within %u ms", CONNECT_MS);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) < 0)
		failure = errno;
	return failure == 0 ? 0 : err_set(err, "%s", strerror(failure));
}

/* A connected, non-blocking socket, or -1 with the bare reason in err. */
static int connect_to(const struct sockaddr *address, socklen_t length,
		      uint64_t deadline_ns, struct err *err)
{
	int fd = socket(address->sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return err_set(err, "%s", strerror(errno));
	if (connect(fd, address, length) < 0 && errno != EINPROGRESS) {
		(void)err_set(err, "%s", strerror(errno));
		goto fail;
	}
	if (finish_connect(fd, deadline_ns, err) < 0)
		goto fail;
	/* Four bytes must not wait for more; a Unix socket never does. */
	if (address->sa_family != AF_UNIX &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0) {
		(void)err_set(err, "%s", strerror(errno));
		goto fail;
	}
	return fd;
fail:
	(void)close(fd); /* nothing was written */
	return -1;
}

static struct port *port_over(int fd, const char *name, struct err *err)
{
	struct port_fd *self = calloc(1, sizeof(*self));

	if (self == NULL) {
		(void)close(fd); /* nothing was written */
		(void)err_set(err, "cannot open %s: no memory", name);
		return NULL;
	}
	self->port.ops = &socket_ops;
	self->fd = fd;
	(void)snprintf(self->name, sizeof(self->name), "%s", name);
	return &self->port;
}

static int split(const char *address, char host[HOST_BYTES], const char **port,
		 struct err *err)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon == NULL ? 0 : (size_t)(colon - address);

	if (length > 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (length == 0 || length >= HOST_BYTES || colon[1] == '\0')
		return err_set(err, "\"%.80s\" is not HOST:PORT", address);
	memcpy(host, address, length);
	host[length] = '\0';
	*port = colon + 1;
	return 0;
}

struct port *port_tcp_open(const char *address, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	uint64_t deadline_ns =
		clock_monotonic_ns() + CONNECT_MS * CLOCK_NS_PER_MS;
	struct addrinfo *found = NULL;
	char host[HOST_BYTES];
	const char *service = NULL;
	int fd = -1;
	int rc = 0;

	if (split(address, host, &service, err) < 0)
		return NULL;
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc != 0) {
		(void)err_set(err, "cannot find %s: %s", address,
			      gai_strerror(rc));
		return NULL;
	}
	for (struct addrinfo *at = found; at != NULL && fd < 0;
	     at = at->ai_next)
		fd = connect_to(at->ai_addr, at->ai_addrlen, deadline_ns, err);
	freeaddrinfo(found);
	if (fd < 0) {
		(void)err_prefix(err, "cannot connect to %s", address);
		return NULL;
	}
	return port_over(fd, address, err);
}

struct port *port_tcp_open_unix(const char *path, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t deadline_ns =
		clock_monotonic_ns() + CONNECT_MS * CLOCK_NS_PER_MS;
	int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path)) {
		(void)err_set(err,
			      "cannot connect to %s: the path is longer than "
			      "%zu bytes",
			      path, sizeof(address.sun_path) - 1);
		return NULL;
	}
	strcpy(address.sun_path, path);
	fd = connect_to((const struct sockaddr *)(const void *)&address,
			sizeof(address), deadline_ns, err);
	if (fd < 0) {
		(void)err_prefix(err, "cannot connect to %s", path);
		return NULL;
	}
	return port_over(fd, path, err);
}
