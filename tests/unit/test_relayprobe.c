/* SPDX-License-Identifier: MIT */
/* What may be a board is told by its USB identity, with the warning that
 * belongs to it; whatever sysfs says, nothing else is believed or opened. */
#include "relay/relayprobe.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/fake/sysfs_fake.h"
#include "tests/unit/cmocka_all.h"

#define FOUND_MAX 8

static struct relayprobe_found found[FOUND_MAX];
static size_t count;

static void tell(void *context, const struct relayprobe_found *what)
{
	assert_ptr_equal(context, &count);
	assert_true(count < FOUND_MAX);
	found[count++] = *what;
}

static void look(const struct sysfs_fake *tree)
{
	struct err err = {""};

	count = 0;
	assert_int_equal(relayprobe_look(tree->root, tell, &count, &err), 0);
}

/* DEVICE of CLASS hangs on the USB device PLACE, some levels below it. */
static void plug(const struct sysfs_fake *tree, const char *class,
		 const char *device, const char *place, const char *id)
{
	char name[160], to[160], text[8];

	(void)snprintf(name, sizeof(name), "devices/pci/%s/%s:1.0/x/y", place,
		       place);
	sysfs_fake_put(tree, name, "");
	(void)snprintf(to, sizeof(to), "devices/pci/%s/%s:1.0/x", place, place);
	(void)snprintf(name, sizeof(name), "class/%s/%s/device", class, device);
	sysfs_fake_link(tree, name, to);
	(void)snprintf(text, sizeof(text), "%.4s\n", id);
	(void)snprintf(name, sizeof(name), "devices/pci/%s/idVendor", place);
	sysfs_fake_put(tree, name, text);
	(void)snprintf(text, sizeof(text), "%.4s\n", id + 5);
	(void)snprintf(name, sizeof(name), "devices/pci/%s/idProduct", place);
	sysfs_fake_put(tree, name, text);
}

static void boards_are_told_with_their_drivers(void **state)
{
	const struct sysfs_fake *tree = *state;

	plug(tree, "tty", "ttyUSB0", "1-2.3", "1a86:7523");
	sysfs_fake_put(tree, "devices/pci/1-2.3/product", "USB\tSerial\n");
	plug(tree, "tty", "ttyACM1", "1-4", "04d8:ffee");
	sysfs_fake_put(tree, "devices/pci/1-4/serial", "00012345\n");
	plug(tree, "hidraw", "hidraw3", "1-5", "16c0:05df");
	look(tree);
	assert_int_equal(count, 3);
	assert_string_equal(found[0].device, "/dev/ttyACM1");
	assert_string_equal(found[0].drivers, "devantech");
	assert_string_equal(found[0].usb, "04d8:ffee, serial number 00012345");
	assert_string_equal(found[0].warning, "");
	assert_string_equal(found[1].device, "/dev/ttyUSB0");
	assert_string_equal(found[1].usb, "1a86:7523 USB?Serial");
	assert_string_equal(found[1].place, "usb 1-2.3");
	assert_non_null(strstr(found[1].drivers, "lcus"));
	assert_non_null(strstr(found[1].warning, "other adapters"));
	assert_string_equal(found[2].device, "/dev/hidraw3");
	assert_string_equal(found[2].drivers, "hid");
}

static void what_is_no_board_is_left_out_or_said_so(void **state)
{
	const struct sysfs_fake *tree = *state;

	/* A port of the machine itself, an unknown converter, a keyboard. */
	sysfs_fake_put(tree, "class/tty/ttyS0/device/x", "");
	plug(tree, "tty", "ttyUSB7", "1-1", "dead:beef");
	plug(tree, "hidraw", "hidraw0", "1-6", "046d:c31c");
	look(tree);
	assert_int_equal(count, 1);
	assert_string_equal(found[0].drivers, "custom");
	assert_string_equal(found[0].warning, "of no board that is known");
}

static void nothing_is_found_where_nothing_is(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct err err = {""};

	look(tree);
	assert_int_equal(count, 0);
	assert_int_equal(relayprobe_look("/no/such", tell, &count, &err), -1);
	assert_non_null(strstr(err.text, "cannot look into /no/such"));
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(boards_are_told_with_their_drivers),
		ROW(what_is_no_board_is_left_out_or_said_so),
		ROW(nothing_is_found_where_nothing_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
