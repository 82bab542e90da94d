/* SPDX-License-Identifier: MIT */
#include "relay/port_serial.h"

#ifdef HAVE_LIBSERIALPORT

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <libserialport.h>
#include <sys/file.h>
#include <sys/ioctl.h>

#include "common/base/err.h"
#include "relay/port_fd.h"

struct port_serial {
	struct port_fd base;
	struct sp_port *device;
};

/* No flow control is left on, so the drain cannot be held up for ever; it
 * fails with EIO where the board was unplugged. */
static int serial_write(struct port *port, const uint8_t *bytes, size_t count,
			uint64_t deadline_ns, struct err *err)
{
	struct port_serial *self = (struct port_serial *)(void *)port;
	int rc = 0;

	if (port_fd_write(port, bytes, count, deadline_ns, err) < 0)
		return -1;
	do
		rc = tcdrain(self->base.fd);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return err_sys(err, errno, "cannot write to %s",
			       self->base.name);
	return 0;
}

static void serial_close(struct port *port)
{
	struct port_serial *self = (struct port_serial *)(void *)port;

	(void)sp_close(self->device); /* every write was drained */
	sp_free_port(self->device);
	free(self);
}

static const struct port_ops serial_ops = {
	.write = serial_write,
	.read = port_fd_read,
	.discard_input = port_fd_discard_input,
	.close = serial_close,
};

static int sp_trouble(enum sp_return rc, const char *path, struct err *err)
{
	int reason = errno; /* libserialport leaves it as it was */

	switch (rc) {
	case SP_ERR_ARG:
		return err_set(err, "cannot open %s: it is no serial device",
			       path);
	case SP_ERR_MEM:
		return err_set(err, "cannot open %s: no memory", path);
	case SP_ERR_SUPP:
		return err_set(err,
			       "cannot set up %s: the device does not "
			       "support it",
			       path);
	case SP_ERR_FAIL:
	case SP_OK:
	default:
		return err_sys(err, reason, "cannot open %s", path);
	}
}

static enum sp_return set_up_line(struct sp_port *device, unsigned int baud)
{
	enum sp_return rc = sp_set_baudrate(device, (int)baud);

	if (rc == SP_OK)
		rc = sp_set_bits(device, 8);
	if (rc == SP_OK)
		rc = sp_set_parity(device, SP_PARITY_NONE);
	if (rc == SP_OK)
		rc = sp_set_stopbits(device, 1);
	if (rc == SP_OK)
		rc = sp_set_flowcontrol(device, SP_FLOWCONTROL_NONE);
	return rc;
}

/* What libserialport leaves undone. */
static int take_device(struct port_fd *base, struct err *err)
{
	struct termios line;

	if (flock(base->fd, LOCK_EX | LOCK_NB) < 0 ||
	    ioctl(base->fd, TIOCEXCL) < 0)
		return err_sys(err, errno,
			       "cannot have %s alone; another program uses it",
			       base->name);
	if (fcntl(base->fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    tcgetattr(base->fd, &line) < 0)
		return err_sys(err, errno, "cannot set up %s", base->name);
	line.c_iflag &= ~(tcflag_t)(IXON | IXOFF | IXANY);
	line.c_cflag &= ~(tcflag_t)(CRTSCTS | HUPCL);
	line.c_cflag |= CLOCAL;
	if (tcsetattr(base->fd, TCSANOW, &line) < 0)
		return err_sys(err, errno, "cannot set up %s", base->name);
	return 0;
}

static int open_device(struct port_serial *self, const char *path,
		       unsigned int baud, struct err *err)
{
	char *real = realpath(path, NULL);
	enum sp_return rc = SP_OK;

	if (real == NULL)
		return err_sys(err, errno, "cannot open %s", path);
	rc = sp_get_port_by_name(real, &self->device);
	free(real);
	if (rc != SP_OK)
		return sp_trouble(rc, path, err);
	rc = sp_open(self->device, SP_MODE_READ_WRITE);
	if (rc != SP_OK)
		return sp_trouble(rc, path, err);
	rc = sp_get_port_handle(self->device, &self->base.fd);
	if (rc != SP_OK) {
		(void)sp_trouble(rc, path, err);
		goto fail;
	}
	if (take_device(&self->base, err) < 0)
		goto fail;
	rc = set_up_line(self->device, baud);
	if (rc != SP_OK) {
		(void)sp_trouble(rc, path, err);
		goto fail;
	}
	/* Once more: libserialport writes the whole line discipline anew. */
	if (take_device(&self->base, err) < 0)
		goto fail;
	return 0;
fail:
	(void)sp_close(self->device); /* nothing was written */
	return -1;
}

struct port *port_serial_open(const char *path, unsigned int baud,
			      struct err *err)
{
	struct port_serial *self = calloc(1, sizeof(*self));

	if (self == NULL) {
		(void)err_set(err, "cannot open %s: no memory", path);
		return NULL;
	}
	self->base.port.ops = &serial_ops;
	(void)snprintf(self->base.name, sizeof(self->base.name), "%s", path);
	if (open_device(self, path, baud, err) < 0) {
		sp_free_port(self->device);
		free(self);
		return NULL;
	}
	return &self->base.port;
}

#endif
