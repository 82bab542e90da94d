/* SPDX-License-Identifier: MIT */
/*
 * line - a modem line of a serial port, DTR or RTS, that drives a transistor or
 * a relay module. No bytes are sent.
 *
 * Linux raises both lines at every first open of a port, before a program can
 * say anything (drivers/tty/tty_port.c), and drops them at the last close where
 * HUPCL is set. So: wire "asserted" as "powered" where that can be, for the
 * opening to be the normal state; and use a session, for the port to stay open.
 * HUPCL is set where a dropped line is what the outlet's when_lost asks for,
 * and cleared elsewhere: then a session that is killed leaves the line as it
 * is. With the other polarity the opening itself is a cut.
 *
 * Source of the idea: labgrid's SerialPortDigitalOutputDriver.
 */
#include "relay/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/modem.h"
#include "relay/outlet.h"
#include "relay/port.h"

static const struct driver_key line_keys[] = {
	{"signal", "dtr or rts", "dtr", false},
	{0},
};

struct line {
	struct port port;
	int fd;
	int bit; /* TIOCM_DTR, TIOCM_RTS */
};

static int signal_bit(const struct outlet *outlet)
{
	const char *signal = outlet_option(outlet, "signal");

	if (strcmp(signal, "dtr") == 0)
		return TIOCM_DTR;
	return strcmp(signal, "rts") == 0 ? TIOCM_RTS : 0;
}

static int line_check(const struct outlet *outlet, struct err *err)
{
	if (signal_bit(outlet) == 0)
		return err_set(err, "signal: %s is neither dtr nor rts",
			       outlet_option(outlet, "signal"));
	return 0;
}

static void line_close(struct port *port)
{
	struct line *line = (struct line *)(void *)port; /* its first member */

	(void)close(line->fd); /* no bytes were written */
	free(line);
}

/* A line that has dropped is a contact that is off. */
static bool drops_when_lost(const struct outlet *outlet)
{
	switch (outlet->when_lost) {
	case OUTLET_LOST_KEEP:
		return false;
	case OUTLET_LOST_ON:
		return outlet_contact(outlet, RELAY_ON) == RELAY_OFF;
	case OUTLET_LOST_OFF:
		return outlet_contact(outlet, RELAY_OFF) == RELAY_OFF;
	}
	abort();
}

static int set_up(const struct line *line, const struct outlet *outlet,
		  struct err *err)
{
	struct termios settings;
	int lines = 0;

	if (flock(line->fd, LOCK_EX | LOCK_NB) == -1 ||
	    ioctl(line->fd, TIOCEXCL) == -1)
		return err_sys(err, errno,
			       "cannot have %s alone; another program uses it",
			       outlet->address);
	if (tcgetattr(line->fd, &settings) == -1)
		return err_sys(err, errno, "%s is no serial device",
			       outlet->address);
	settings.c_cflag &= ~(tcflag_t)(CRTSCTS | HUPCL);
	settings.c_cflag |= CLOCAL;
	if (drops_when_lost(outlet))
		settings.c_cflag |= HUPCL;
	if (tcsetattr(line->fd, TCSANOW, &settings) == -1)
		return err_sys(err, errno, "cannot set up %s", outlet->address);
	if (modem_control(line->fd, TIOCMGET, &lines) == -1)
		return err_sys(err, errno, "%s has no modem lines",
			       outlet->address);
	return 0;
}

static struct port *line_open(const struct outlet *outlet, uint64_t deadline_ns,
			      struct err *err)
{
	static const struct port_ops ops = {.close = line_close};
	struct line *line = calloc(1, sizeof(*line));

	(void)deadline_ns; /* O_NONBLOCK: nobody is waited for */
	if (line == NULL) {
		(void)err_set(err, "no memory for %s", outlet->address);
		return NULL;
	}
	line->port.ops = &ops;
	line->bit = signal_bit(outlet);
	line->fd = open(outlet->address,
			O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (line->fd == -1) {
		(void)err_sys(err, errno, "cannot open %s", outlet->address);
		free(line);
		return NULL;
	}
	if (set_up(line, outlet, err) == 0)
		return &line->port;
	line_close(&line->port);
	return NULL;
}

static int line_set(struct port *port, const struct outlet *outlet,
		    enum relay_state state, uint64_t deadline_ns,
		    struct err *err)
{
	struct line *line = (struct line *)(void *)port;

	(void)deadline_ns;
	if (modem_control(line->fd, state == RELAY_ON ? TIOCMBIS : TIOCMBIC,
			  &line->bit) == -1)
		return err_sys(err, errno, "cannot switch %s of %s",
			       outlet_option(outlet, "signal"),
			       outlet->address);
	return 0;
}

static int line_get(struct port *port, const struct outlet *outlet,
		    enum relay_state *state, uint64_t deadline_ns,
		    struct err *err)
{
	struct line *line = (struct line *)(void *)port;
	int lines = 0;

	(void)deadline_ns;
	if (modem_control(line->fd, TIOCMGET, &lines) == -1)
		return err_sys(err, errno, "cannot read the lines of %s",
			       outlet->address);
	*state = (lines & line->bit) != 0 ? RELAY_ON : RELAY_OFF;
	return 1;
}

const struct relay_driver driver_line = {
	.name = "line",
	.boards = "DTR or RTS of a serial port, driving a transistor",
	.link = DRIVER_LINK_PATH,
	.channel_first = 1,
	.channel_last = 1,
	.keys = line_keys,
	.is_held = true,
	.answer_ms = 1000,
	.check = line_check,
	.open = line_open,
	.set = line_set,
	.get = line_get,
};
