/* SPDX-License-Identifier: MIT */
/* Only a device that says that it is such a board gets anything: 16c0:05df may
 * be a keyboard. The kernel is played here. */
#include "relay/driver.h"

#include <errno.h>
#include <linux/hidraw.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/hidraw.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

static struct {
	uint16_t vendor, product;
	const char *name; /* NULL: it has none */
	uint8_t report[9];
	int report_bytes; /* that come; -1 and GONE */
	bool is_gone;
	unsigned int opens, closes, sets;
	uint8_t sent[9];
} board;

static struct outlet outlet;
static struct err err;

static int fake_open(const char *path)
{
	assert_string_equal(path, "/dev/hidraw7");
	board.opens++;
	return 77;
}

static void fake_close(int fd)
{
	assert_int_equal(fd, 77);
	board.closes++;
}

static int fake_control(int fd, unsigned long request, void *argument)
{
	assert_int_equal(fd, 77);
	if (board.is_gone) {
		errno = ENODEV;
		return -1;
	}
	switch (_IOC_NR(request)) {
	case _IOC_NR(HIDIOCGRAWINFO):
		*(struct hidraw_devinfo *)argument = (struct hidraw_devinfo){
			.vendor = (int16_t)board.vendor,
			.product = (int16_t)board.product};
		return 0;
	case _IOC_NR(HIDIOCGRAWNAME(0)):
		if (board.name == NULL) {
			errno = EINVAL;
			return -1;
		}
		return snprintf(argument, _IOC_SIZE(request), "%s", board.name);
	case _IOC_NR(HIDIOCSFEATURE(0)):
		assert_int_equal(_IOC_SIZE(request), 9);
		memcpy(board.sent, argument, 9);
		board.sets++;
		return 9;
	case _IOC_NR(HIDIOCGFEATURE(0)):
		assert_int_equal(*(uint8_t *)argument, 0);
		memcpy(argument, board.report, 9);
		return board.report_bytes;
	default:
		fail();
		return -1;
	}
}

static const struct hidraw_system fake = {fake_open, fake_close, fake_control};

static int set_up(void **state)
{
	static const uint8_t report[9] = {0, 'B', 'I', 'T', 'F', 'T', 0, 9, 5};

	(void)state;
	memset(&board, 0, sizeof(board));
	memset(&err, 0, sizeof(err));
	board.vendor = 0x16c0;
	board.product = 0x05df;
	board.name = "www.dcttech.com USBRelay4";
	memcpy(board.report, report, 9);
	board.report_bytes = 9;
	outlet = (struct outlet){
		.driver = &driver_hid, .address = "/dev/hidraw7", .channel = 3};
	hidraw_system = &fake;
	return 0;
}

static struct port *open_it(void)
{
	return driver_hid.open(&outlet, 0, &err);
}

static void close_it(struct port *port)
{
	port_close(port);
	assert_int_equal(board.opens, board.closes);
}

static uint8_t byte_at(const char *hex, unsigned int i)
{
	unsigned int value = 0;

	assert_int_equal(sscanf(hex + 3 * i, "%2x", &value), 1);
	return (uint8_t)value;
}

/* All relays at a time would switch what is another outlet's; nobody writes a
 * serial number; report 1 is the same one by another number. */
static void every_documented_report(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("dcttech-16c0:05df", rows);
	struct port *port = open_it();
	size_t played = 0;

	(void)state;
	assert_non_null(port);
	for (size_t i = 0; i < count; i++) {
		if (!vectors_is(&rows[i], "on") && !vectors_is(&rows[i], "off"))
			continue;
		outlet.channel = rows[i].channel;
		assert_int_equal(driver_hid.set(port, &outlet,
						vectors_is(&rows[i], "on")
							? RELAY_ON
							: RELAY_OFF,
						0, &err),
				 0);
		for (unsigned int k = 0; k < 9; k++)
			assert_int_equal(board.sent[k],
					 byte_at(rows[i].sent, k));
		played++;
	}
	assert_true(played >= 6);
	assert_int_equal(board.sets, played);
	close_it(port);
}

static void a_state_is_its_bit(void **state)
{
	struct port *port = open_it();

	(void)state;
	assert_non_null(port);
	for (unsigned int channel = 1; channel <= 4; channel++) {
		enum relay_state told = RELAY_OFF;

		outlet.channel = channel;
		assert_int_equal(driver_hid.get(port, &outlet, &told, 0, &err),
				 1);
		assert_int_equal(told, channel == 1 || channel == 3);
	}
	close_it(port);
}

static void expect_refused(const char *why)
{
	assert_null(open_it());
	if (strstr(err.text, why) == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(board.opens, board.closes);
	assert_int_equal(board.sets, 0);
}

static void other_devices_get_nothing(void **state)
{
	static const char *const names[] = {"Free keyboard", "USBRelay",
					    "USBRelay9", "USBRelay44", NULL};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		board.name = names[i];
		expect_refused("not 16c0:05df with USBRelay");
	}
	board.name = "USBRelay4";
	board.product = 0x05dc;
	expect_refused("16c0:05dc");
	board.product = 0x05df;
	outlet.channel = 5;
	expect_refused("has 4 relays");
	outlet.channel = 4;
	board.is_gone = true;
	expect_refused("is no HID device");
}

static void another_board_than_meant_is_refused(void **state)
{
	struct port *port;

	(void)state;
	assert_int_equal(outlet_take_option(&outlet, "serial", "HURTM", &err),
			 0);
	expect_refused("is BITFT, not HURTM");
	memcpy(board.report + 1, "HURTM", 5);
	port = open_it();
	assert_non_null(port);
	close_it(port);
	(void)snprintf(outlet.options[0].value, 8, "HURT");
	assert_int_equal(driver_hid.check(&outlet, &err), -1);
}

static void no_state_is_made_up(void **state)
{
	struct port *port = open_it();
	enum relay_state told = RELAY_OFF;

	(void)state;
	assert_non_null(port);
	for (int bytes = -1; bytes < 9; bytes++) {
		board.report_bytes = bytes;
		assert_int_equal(driver_hid.get(port, &outlet, &told, 0, &err),
				 -1);
	}
	board.report_bytes = 9;
	board.report[6] = 'x';
	assert_int_equal(driver_hid.get(port, &outlet, &told, 0, &err), -1);
	board.report[6] = 0;
	board.report[2] = 0x80;
	assert_int_equal(driver_hid.get(port, &outlet, &told, 0, &err), -1);
	board.is_gone = true;
	assert_int_equal(driver_hid.get(port, &outlet, &told, 0, &err), -1);
	assert_int_equal(driver_hid.set(port, &outlet, RELAY_ON, 0, &err), -1);
	assert_int_equal(told, RELAY_OFF);
	close_it(port);
}

#define ROW(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(every_documented_report),
		ROW(a_state_is_its_bit),
		ROW(other_devices_get_nothing),
		ROW(another_board_than_meant_is_refused),
		ROW(no_state_is_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
