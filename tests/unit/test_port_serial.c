/* SPDX-License-Identifier: MIT */
/*
 * What libserialport 0.1.1 leaves undone, port_serial must do. libserialport
 * refuses pseudo-terminals, so its functions are replaced here by ones that
 * open one and leave it as badly set up as 0.1.1 does; the linker prefers them
 * to the shared library's.
 */
#include "relay/port_serial.h"

#include <string.h>

#include "tests/unit/cmocka_all.h"

#ifdef HAVE_LIBSERIALPORT

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>
#include <libserialport.h>
#include <sys/ioctl.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/port.h"

#define PATH_BYTES 64

struct sp_port {
	int fd;
};

static struct {
	int controller; /* the board's end */
	char device[PATH_BYTES];
	char link[PATH_BYTES];
	struct sp_port port;
	int baud;
	unsigned int freed;
} bench;

enum sp_return sp_get_port_by_name(const char *name, struct sp_port **port)
{
	/* As 0.1.1: a symbolic link is no device. */
	if (strcmp(name, bench.device) != 0)
		return SP_ERR_ARG;
	*port = &bench.port;
	return SP_OK;
}

enum sp_return sp_open(struct sp_port *port, enum sp_mode flags)
{
	struct termios line;

	(void)flags;
	port->fd = open(bench.device, O_RDWR | O_NONBLOCK | O_NOCTTY);
	if (port->fd < 0 || tcgetattr(port->fd, &line) < 0)
		return SP_ERR_FAIL;
	cfmakeraw(&line);
	line.c_iflag |= IXON | IXANY;
	line.c_cflag |= HUPCL | CRTSCTS;
	line.c_cc[VMIN] = 0;
	line.c_cc[VTIME] = 0;
	return tcsetattr(port->fd, TCSANOW, &line) < 0 ? SP_ERR_FAIL : SP_OK;
}

enum sp_return sp_get_port_handle(const struct sp_port *port, void *result)
{
	memcpy(result, &port->fd, sizeof(port->fd));
	return SP_OK;
}

enum sp_return sp_set_baudrate(struct sp_port *port, int baudrate)
{
	(void)port;
	bench.baud = baudrate;
	return SP_OK;
}

enum sp_return sp_set_bits(struct sp_port *port, int bits)
{
	(void)port;
	assert_int_equal(bits, 8);
	return SP_OK;
}

enum sp_return sp_set_parity(struct sp_port *port, enum sp_parity parity)
{
	(void)port;
	assert_int_equal(parity, SP_PARITY_NONE);
	return SP_OK;
}

enum sp_return sp_set_stopbits(struct sp_port *port, int stopbits)
{
	(void)port;
	assert_int_equal(stopbits, 1);
	return SP_OK;
}

/* As 0.1.1: writes HUPCL back, and CRTSCTS stays on. */
enum sp_return sp_set_flowcontrol(struct sp_port *port,
				  enum sp_flowcontrol flowcontrol)
{
	struct termios line;

	assert_int_equal(flowcontrol, SP_FLOWCONTROL_NONE);
	if (tcgetattr(port->fd, &line) < 0)
		return SP_ERR_FAIL;
	line.c_iflag |= IXANY;
	line.c_cflag |= HUPCL | CRTSCTS;
	return tcsetattr(port->fd, TCSANOW, &line) < 0 ? SP_ERR_FAIL : SP_OK;
}

enum sp_return sp_close(struct sp_port *port)
{
	return close(port->fd) < 0 ? SP_ERR_FAIL : SP_OK;
}

void sp_free_port(struct sp_port *port)
{
	bench.freed += port != NULL;
}

static int set_up(void **state)
{
	(void)state;
	memset(&bench, 0, sizeof(bench));
	bench.controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (bench.controller < 0 || grantpt(bench.controller) < 0 ||
	    unlockpt(bench.controller) < 0 ||
	    ptsname_r(bench.controller, bench.device, PATH_BYTES) != 0)
		return -1;
	(void)snprintf(bench.link, PATH_BYTES, "/tmp/plugpull-test-%d.tty",
		       (int)getpid());
	(void)unlink(bench.link);
	return symlink(bench.device, bench.link);
}

static int tear_down(void **state)
{
	(void)state;
	if (bench.controller >= 0)
		(void)close(bench.controller);
	return unlink(bench.link);
}

static uint64_t soon(void)
{
	return clock_monotonic_ns() + 2 * CLOCK_NS_PER_S;
}

static struct port *open_link(void)
{
	struct err err = {""};
	struct port *port = port_serial_open(bench.link, 9600, &err);

	assert_string_equal(err.text, "");
	assert_non_null(port);
	return port;
}

static void the_line_is_set_up_on_purpose(void **state)
{
	struct port *port = open_link();
	struct termios line;

	(void)state;
	assert_int_equal(bench.baud, 9600);
	assert_int_equal(tcgetattr(bench.port.fd, &line), 0);
	assert_int_equal(line.c_iflag & (IXON | IXOFF | IXANY), 0);
	assert_int_equal(line.c_cflag & (CRTSCTS | HUPCL), 0);
	assert_true(line.c_cflag & CLOCAL);
	assert_true(fcntl(bench.port.fd, F_GETFD) & FD_CLOEXEC);
	port_close(port);
	assert_int_equal(bench.freed, 1);
}

static void a_device_has_one_user(void **state)
{
	struct port *port = open_link();
	int first_fd = bench.port.fd;
	struct err err = {""};

	(void)state;
	assert_null(port_serial_open(bench.link, 9600, &err));
	assert_true(strstr(err.text, "another program uses it") != NULL ||
		    strstr(err.text, "busy") != NULL);
	bench.port.fd = first_fd;
	port_close(port);
	port_close(open_link());
}

/* 11 and 13 are the bytes that software flow control would swallow. */
static void every_byte_passes_both_ways(void **state)
{
	static const uint8_t bytes[] = {0xff, 0x11, 0x13, 0x00, 0x0d, 0x0a};
	struct port *port = open_link();
	uint8_t got[16] = {0};
	struct err err = {""};
	size_t used = 0;

	(void)state;
	assert_int_equal(port_write(port, bytes, sizeof(bytes), soon(), &err),
			 0);
	assert_int_equal(read(bench.controller, got, sizeof(got)),
			 sizeof(bytes));
	assert_memory_equal(got, bytes, sizeof(bytes));

	assert_int_equal(write(bench.controller, bytes, sizeof(bytes)),
			 sizeof(bytes));
	while (used < sizeof(bytes)) {
		ssize_t count = port_read(port, got + used, sizeof(got) - used,
					  soon(), &err);

		assert_true(count > 0);
		used += (size_t)count;
	}
	assert_memory_equal(got, bytes, sizeof(bytes));
	port_close(port);
}

static void silence_ends_at_the_deadline(void **state)
{
	struct port *port = open_link();
	uint64_t start_ns = clock_monotonic_ns();
	uint8_t got[16];
	struct err err = {""};

	(void)state;
	assert_int_equal(port_read(port, got, sizeof(got),
				   start_ns + 50 * CLOCK_NS_PER_MS, &err),
			 0);
	assert_true(clock_monotonic_ns() - start_ns >= 50 * CLOCK_NS_PER_MS);
	assert_int_equal(write(bench.controller, "old", 3), 3);
	assert_int_equal(port_discard_input(port, &err), 0);
	assert_int_equal(port_read(port, got, sizeof(got), 0, &err), 0);
	port_close(port);
}

static void an_unplugged_board_is_noticed_at_once(void **state)
{
	struct port *port = open_link();
	uint64_t start_ns = clock_monotonic_ns();
	uint8_t got[16];
	struct err err = {""};

	(void)state;
	(void)close(bench.controller);
	bench.controller = -1;
	assert_int_equal(port_read(port, got, sizeof(got), soon(), &err), -1);
	assert_int_equal(port_write(port, got, 4, soon(), &err), -1);
	assert_true(clock_monotonic_ns() - start_ns < CLOCK_NS_PER_S);
	port_close(port);
}

static void what_is_no_device_is_refused(void **state)
{
	struct err err = {""};

	(void)state;
	assert_null(port_serial_open("/nonexistent", 9600, &err));
	assert_non_null(strstr(err.text, "No such file"));
	assert_null(port_serial_open("/dev/null", 9600, &err));
	assert_non_null(strstr(err.text, "no serial device"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_line_is_set_up_on_purpose),
		TEST(a_device_has_one_user),
		TEST(every_byte_passes_both_ways),
		TEST(silence_ends_at_the_deadline),
		TEST(an_unplugged_board_is_noticed_at_once),
		TEST(what_is_no_device_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77; /* skipped: built without libserialport */
}

#endif
