/* SPDX-License-Identifier: MIT */
#include "simdrive/control.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define BACKLOG 16

static int set_address(struct sockaddr_un *address, const char *path,
		       struct err *err)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path))
		return err_set(err, "the path of socket %s is too long", path);
	memcpy(address->sun_path, path, strlen(path));
	return 0;
}

/* A connected descriptor or -errno. */
static int connect_to(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int errnum = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) ==
	    0)
		return fd;
	errnum = errno;
	(void)close(fd); /* nothing was sent */
	return -errnum;
}

int control_listen(const char *path, struct err *err)
{
	struct sockaddr_un address;
	int fd = 0;

	if (set_address(&address, path, err) != 0)
		return -1;
	fd = connect_to(&address);
	if (fd >= 0) {
		(void)close(fd); /* nothing was sent */
		return err_set(err, "another simulated drive listens on %s",
			       path);
	}
	if (fd == -ECONNREFUSED && unlink(path) != 0)
		return err_sys(err, errno, "cannot remove %s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, errno, "cannot make a socket");
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	(void)err_sys(err, errno, "cannot listen on %s", path); /* -1 below */
	(void)close(fd);
	return -1;
}

int control_read_line(int fd, char *line, size_t size, uint64_t deadline_ns)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	for (size_t used = 0; used < size; used++) {
		ssize_t moved = 0;
		int ready = poll(&wait, 1, clock_until_ms(deadline_ns));

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0)
			return -ETIMEDOUT;
		moved = ready < 0 ? -1 : read(fd, line + used, 1);
		if (moved == 0)
			return -ECONNRESET;
		if (moved < 0 && errno != EINTR)
			return -errno;
		if (moved < 0)
			used--;
		else if (line[used] == '\n') {
			line[used] = '\0';
			return 0;
		}
	}
	return -EMSGSIZE;
}

int control_write_line(int fd, const char *line)
{
	char text[CONTROL_LINE_BYTES + 2];
	size_t length = 0;

	(void)snprintf(text, sizeof(text), "%s\n", line);
	length = strlen(text);
	for (size_t at = 0; at < length;) {
		ssize_t moved = send(fd, text + at, length - at, MSG_NOSIGNAL);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return -errno;
		at += (size_t)moved;
	}
	return 0;
}

int control_ask(const char *path, const char *command, char *answer,
		uint64_t timeout_ms, struct err *err)
{
	uint64_t deadline = clock_monotonic_ns() + timeout_ms * CLOCK_NS_PER_MS;
	struct sockaddr_un address;
	int fd = -1;
	int rc = 0;

	if (set_address(&address, path, err) != 0)
		return -1;
	fd = connect_to(&address);
	if (fd < 0)
		return err_sys(err, -fd, "cannot reach a simulated drive at %s",
			       path);
	rc = control_write_line(fd, command);
	if (rc == 0)
		rc = control_read_line(fd, answer, CONTROL_LINE_BYTES,
				       deadline);
	(void)close(fd); /* everything was said */
	if (rc != 0)
		return err_sys(err, -rc, "no answer to %s from %s", command,
			       path);
	if (strncmp(answer, "error", strlen("error")) == 0)
		return err_set(err, "cannot %s the drive at %s: %s", command,
			       path, answer + strlen("error "));
	return 0;
}
