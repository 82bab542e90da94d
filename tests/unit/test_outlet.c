/* SPDX-License-Identifier: MIT */
/* A wrong outlet cuts the wrong machine: what is doubtful is refused. */
#include "relay/outlet.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/driver.h"
#include "relay/drivers.h"
#include "tests/unit/cmocka_all.h"

static void assert_outlet(const char *text, const struct relay_driver *driver,
			  const char *address, unsigned int channel)
{
	struct outlet outlet;
	struct err err = {""};

	assert_int_equal(outlet_parse(text, &outlet, &err), 0);
	assert_ptr_equal(outlet.driver, driver);
	assert_string_equal(outlet.address, address);
	assert_int_equal(outlet.channel, channel);
}

static void devices_sockets_and_servers(void **state)
{
	static const char by_path[] =
		"/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0";
	char text[128];

	(void)state;
	assert_outlet("lcus:/dev/ttyUSB0", &driver_lcus, "/dev/ttyUSB0", 1);
	assert_outlet("lcus:/dev/ttyUSB0:8", &driver_lcus, "/dev/ttyUSB0", 8);
	(void)snprintf(text, sizeof(text), "lcus:%s", by_path);
	assert_outlet(text, &driver_lcus, by_path, 1);
	(void)snprintf(text, sizeof(text), "lcus:%s:3", by_path);
	assert_outlet(text, &driver_lcus, by_path, 3);
	assert_outlet("sim:/run/drive.sock", &driver_sim, "/run/drive.sock", 1);
	assert_outlet("sim:drive.sock", &driver_sim, "drive.sock", 1);
}

/* The number behind the host is never taken for a channel. */
static void a_tcp_port_is_no_channel(void **state)
{
	(void)state;
	assert_outlet("lcus:tcp://127.0.0.1:4001:2", &driver_lcus,
		      "tcp://127.0.0.1:4001", 2);
	assert_outlet("lcus:tcp://127.0.0.1:4", &driver_lcus,
		      "tcp://127.0.0.1:4", 1);
	assert_outlet("lcus:tcp://bench:4001", &driver_lcus, "tcp://bench:4001",
		      1);
	assert_outlet("lcus:tcp://[::1]:4001", &driver_lcus, "tcp://[::1]:4001",
		      1);
	assert_outlet("lcus:tcp://[fe80::1:2]:4001:5", &driver_lcus,
		      "tcp://[fe80::1:2]:4001", 5);
}

static void assert_refused(const char *text, const char *word)
{
	struct outlet outlet;
	struct err err = {""};

	assert_int_equal(outlet_parse(text, &outlet, &err), -1);
	assert_non_null(strstr(err.text, word));
}

static void what_is_no_outlet_is_refused(void **state)
{
	char text[400];

	(void)state;
	assert_refused("", "DRIVER:ADDRESS");
	assert_refused("lcus", "DRIVER:ADDRESS");
	assert_refused("lcus:", "DRIVER:ADDRESS");
	assert_refused(":/dev/ttyUSB0", "DRIVER:ADDRESS");
	assert_refused("lcu:/dev/ttyUSB0", "no driver \"lcu\"");
	assert_refused("LCUS:/dev/ttyUSB0", "no driver");
	assert_refused("lcus:/dev/ttyUSB0:0", "channels 1 to 8");
	assert_refused("lcus:/dev/ttyUSB0:9", "channels 1 to 8");
	assert_refused("lcus:/dev/ttyUSB0:4294967297", "channels 1 to 8");
	assert_refused("lcus:/dev/ttyUSB0:99999999999999999999", "number");
	assert_refused("lcus:ttyUSB0", "neither");
	assert_refused("lcus::1", "address");
	assert_refused("sim:/run/drive.sock:2", "channels 1 to 1");
	assert_refused("sim:tcp://127.0.0.1:4001", "socket");
	memset(text, 'x', sizeof(text));
	memcpy(text, "sim:/", 5);
	text[sizeof(text) - 1] = '\0';
	assert_refused(text, "255 bytes");
}

static void drivers_are_sorted_and_whole(void **state)
{
	(void)state;
	for (size_t i = 0; drivers_all[i] != NULL; i++) {
		const struct relay_driver *driver = drivers_all[i];

		assert_ptr_equal(drivers_find(driver->name), driver);
		assert_non_null(driver->set);
		assert_true(driver->channel_last >= driver->channel_first);
		assert_true(driver->answer_ms > 0);
		assert_true(strlen(driver->boards) > 0);
		if (i > 0)
			assert_true(strcmp(drivers_all[i - 1]->name,
					   driver->name) < 0);
	}
	assert_null(drivers_find("nonsense"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_sockets_and_servers),
		cmocka_unit_test(a_tcp_port_is_no_channel),
		cmocka_unit_test(what_is_no_outlet_is_refused),
		cmocka_unit_test(drivers_are_sorted_and_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
