/* SPDX-License-Identifier: MIT */
/* A modem line moves as told, on a pseudo terminal whose lines are played; what
 * becomes of it when its program is killed follows from the outlet. */
#include "relay/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/modem.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "tests/unit/cmocka_all.h"

static struct outlet outlet;
static struct err err;
static int lines, other; /* of the port; the pseudo terminal's other side */
static bool has_lines;

static int played(int fd, unsigned long request, int *bits)
{
	assert_true(fd >= 0);
	if (!has_lines) {
		errno = ENOTTY;
		return -1;
	}
	if (request == TIOCMGET)
		*bits = lines;
	else if (request == TIOCMBIS)
		lines |= *bits;
	else if (request == TIOCMBIC)
		lines &= ~*bits;
	else
		fail();
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&err, 0, sizeof(err));
	other = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (other == -1 || grantpt(other) == -1 || unlockpt(other) == -1)
		return -1;
	outlet = (struct outlet){.driver = &driver_line, .channel = 1};
	(void)snprintf(outlet.address, sizeof(outlet.address), "%s",
		       ptsname(other));
	lines = TIOCM_DTR | TIOCM_RTS; /* as the kernel's open leaves them */
	has_lines = true;
	modem_control = played;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return close(other);
}

static struct port *open_it(void)
{
	struct port *port = driver_line.open(&outlet, 0, &err);

	if (port == NULL)
		fail_msg("%s", err.text);
	return port;
}

static void expect(struct port *port, enum relay_state wanted)
{
	enum relay_state told = !wanted;

	assert_int_equal(driver_line.get(port, &outlet, &told, 0, &err), 1);
	assert_int_equal(told, wanted);
}

static void a_line_moves_alone(void **state)
{
	struct port *port = open_it();

	(void)state;
	expect(port, RELAY_ON);
	assert_int_equal(driver_line.set(port, &outlet, RELAY_OFF, 0, &err), 0);
	assert_int_equal(lines, TIOCM_RTS);
	expect(port, RELAY_OFF);
	assert_int_equal(driver_line.set(port, &outlet, RELAY_ON, 0, &err), 0);
	assert_int_equal(lines, TIOCM_RTS | TIOCM_DTR);
	port_close(port);
}

static void the_other_line_by_its_key(void **state)
{
	struct port *port;

	(void)state;
	assert_int_equal(outlet_take_option(&outlet, "signal", "rts", &err), 0);
	port = open_it();
	assert_int_equal(driver_line.set(port, &outlet, RELAY_OFF, 0, &err), 0);
	assert_int_equal(lines, TIOCM_DTR);
	port_close(port);
	(void)snprintf(outlet.options[0].value, 8, "cts");
	assert_int_equal(driver_line.check(&outlet, &err), -1);
	assert_non_null(strstr(err.text, "neither dtr nor rts"));
}

/* HUPCL: the kernel drops the line when the last one that has it is gone. */
static void what_becomes_of_it_follows_from_the_outlet(void **state)
{
	static const struct {
		enum outlet_lost when_lost;
		bool is_inverted, has_hupcl;
	} rows[] = {
		{OUTLET_LOST_KEEP, false, false},
		{OUTLET_LOST_KEEP, true, false},
		{OUTLET_LOST_OFF, false, true},
		{OUTLET_LOST_ON, false, false},
		{OUTLET_LOST_ON, true, true},
		{OUTLET_LOST_OFF, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct termios settings;
		struct port *port;

		outlet.when_lost = rows[i].when_lost;
		outlet.is_inverted = rows[i].is_inverted;
		port = open_it();
		assert_int_equal(tcgetattr(other, &settings), 0);
		assert_int_equal((settings.c_cflag & HUPCL) != 0,
				 rows[i].has_hupcl);
		port_close(port);
	}
}

static void a_port_without_lines_is_refused(void **state)
{
	(void)state;
	has_lines = false;
	assert_null(driver_line.open(&outlet, 0, &err));
	assert_non_null(strstr(err.text, "has no modem lines"));
	(void)snprintf(outlet.address, sizeof(outlet.address), "/dev/null");
	assert_null(driver_line.open(&outlet, 0, &err));
	(void)snprintf(outlet.address, sizeof(outlet.address), "/no/such");
	assert_null(driver_line.open(&outlet, 0, &err));
	assert_non_null(strstr(err.text, "cannot open"));
}

static void a_port_that_goes_is_an_error(void **state)
{
	struct port *port = open_it();
	enum relay_state told = RELAY_ON;

	(void)state;
	has_lines = false; /* any error will do */
	assert_int_equal(driver_line.set(port, &outlet, RELAY_OFF, 0, &err),
			 -1);
	assert_int_equal(driver_line.get(port, &outlet, &told, 0, &err), -1);
	port_close(port);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_line_moves_alone),
		ROW(the_other_line_by_its_key),
		ROW(what_becomes_of_it_follows_from_the_outlet),
		ROW(a_port_without_lines_is_refused),
		ROW(a_port_that_goes_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
