/* SPDX-License-Identifier: MIT */
/*
 * hid - dcttech's boards "USBRelay1" ... "USBRelay8" (16c0:05df), a HID device
 * that needs no library and no driver.
 *
 * Feature report 0 of eight bytes: FF n switches relay n on, FD n off; reading
 * it gives five characters that are the board's serial number, a NUL, and the
 * states in the last byte. 16c0:05df is shared by thousands of other devices,
 * so the product's name must say USBRelay and how many relays there are. Many
 * boards have the same five characters; then only the path tells them apart.
 *
 * Sources: ondrej1024/crelay src/relay_drv_hidapi.c; darrylb123/usbrelay
 * libusbrelay.c; pdudaemon vusbhid.py.
 */
#include "relay/driver.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/hidraw.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define VENDOR       0x16c0
#define PRODUCT      0x05df
#define NAME         "USBRelay"
#define CHANNELS_MAX 8U
#define REPORT_BYTES 9 /* its id, 0, in front */
#define SERIAL_AT    1
#define SERIAL_BYTES 5
#define STATES_AT    8
#define COMMAND_ON   0xff
#define COMMAND_OFF  0xfd

static const struct driver_key hid_keys[] = {
	{"serial", "the board's own five characters, as usbrelay tells them",
	 "", false},
	{0},
};

struct hid {
	struct port port;
	int fd;
	unsigned int relays;
};

static struct hid *hid_of(struct port *port)
{
	return (struct hid *)(void *)port; /* its first member */
}

static int hid_check(const struct outlet *outlet, struct err *err)
{
	const size_t length = strlen(outlet_option(outlet, "serial"));

	if (length != 0 && length != SERIAL_BYTES)
		return err_set(err, "serial: %s has not %d characters",
			       outlet_option(outlet, "serial"), SERIAL_BYTES);
	return 0;
}

static void hid_close(struct port *port)
{
	hidraw_system->close(hid_of(port)->fd);
	free(port);
}

/* "www.dcttech.com USBRelay4" has 4. */
static unsigned int count_relays(const char *name)
{
	const char *at = strstr(name, NAME);

	if (at == NULL || at[strlen(NAME)] < '1' || at[strlen(NAME)] > '8' ||
	    isdigit((unsigned char)at[strlen(NAME) + 1]))
		return 0;
	return (unsigned int)(at[strlen(NAME)] - '0');
}

/* The five characters and the states. */
static int read_report(const struct hid *hid, uint8_t report[REPORT_BYTES],
		       struct err *err)
{
	int count;

	memset(report, 0, REPORT_BYTES);
	count = hidraw_get(hid->fd, report, REPORT_BYTES);
	if (count < 0)
		return err_sys(err, -count, "cannot read the board's report");
	if (count != REPORT_BYTES || report[SERIAL_AT + SERIAL_BYTES] != 0)
		return err_set(err,
			       "the board's report is none of a USBRelay: %d "
			       "bytes",
			       count);
	for (int i = 0; i < SERIAL_BYTES; i++)
		if (!isgraph(report[SERIAL_AT + i]))
			return err_set(err, "the board's report has no serial "
					    "number in it");
	return 0;
}

static int check_board(struct hid *hid, const struct outlet *outlet,
		       struct err *err)
{
	const char *serial = outlet_option(outlet, "serial");
	struct hidraw_info info;
	uint8_t report[REPORT_BYTES];
	int rc = hidraw_ask(hid->fd, &info);

	if (rc < 0)
		return err_sys(err, -rc, "%s is no HID device",
			       outlet->address);
	hid->relays = count_relays(info.name);
	if (info.vendor != VENDOR || info.product != PRODUCT ||
	    hid->relays == 0)
		return err_set(err,
			       "%s is %04x:%04x \"%.80s\", not 16c0:05df with "
			       "USBRelay in its name",
			       outlet->address, info.vendor, info.product,
			       info.name);
	if (outlet->channel > hid->relays)
		return err_set(err, "the board \"%.80s\" has %u relays",
			       info.name, hid->relays);
	if (read_report(hid, report, err) < 0)
		return -1;
	if (*serial != '\0' &&
	    memcmp(serial, report + SERIAL_AT, SERIAL_BYTES) != 0)
		return err_set(err,
			       "the board at %s is %.5s, not %s\nhint: see "
			       "where that one is attached now",
			       outlet->address,
			       (const char *)report + SERIAL_AT, serial);
	return 0;
}

static struct port *hid_open(const struct outlet *outlet, uint64_t deadline_ns,
			     struct err *err)
{
	static const struct port_ops ops = {.close = hid_close};
	struct hid *hid = calloc(1, sizeof(*hid));

	(void)deadline_ns; /* the kernel has limits of its own, of seconds */
	if (hid == NULL) {
		(void)err_set(err, "no memory for %s", outlet->address);
		return NULL;
	}
	hid->port.ops = &ops;
	hid->fd = hidraw_system->open(outlet->address);
	if (hid->fd == -1) {
		(void)err_sys(err, errno, "cannot open %s", outlet->address);
		free(hid);
		return NULL;
	}
	if (check_board(hid, outlet, err) == 0)
		return &hid->port;
	hid_close(&hid->port);
	return NULL;
}

static int hid_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	const uint8_t report[REPORT_BYTES] = {
		0, state == RELAY_ON ? COMMAND_ON : COMMAND_OFF,
		(uint8_t)outlet->channel};
	int rc;

	(void)deadline_ns;
	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	rc = hidraw_set(hid_of(port)->fd, report, sizeof(report));
	if (rc < 0)
		return err_sys(err, -rc, "cannot send the board a report");
	return 0;
}

static int hid_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	uint8_t report[REPORT_BYTES];

	(void)deadline_ns;
	if (read_report(hid_of(port), report, err) < 0)
		return -1;
	*state = report[STATES_AT] >> (outlet->channel - 1) & 1 ? RELAY_ON
								: RELAY_OFF;
	return 1;
}

const struct relay_driver driver_hid = {
	.name = "hid",
	.boards = "dcttech USBRelay1 to USBRelay8 (16c0:05df, /dev/hidrawN)",
	.link = DRIVER_LINK_PATH,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.keys = hid_keys,
	.settle_ms = 20,
	.answer_ms = 5000,
	.shortest_ms = 50,
	.check = hid_check,
	.open = hid_open,
	.set = hid_set,
	.get = hid_get,
};
