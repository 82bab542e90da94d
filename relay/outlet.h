/* SPDX-License-Identifier: MIT */
/*
 * outlet - which contact of which board: DRIVER:ADDRESS[:CHANNEL].
 *
 *   lcus:/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0:1
 *   lcus:tcp://127.0.0.1:4001:2
 *   sim:/run/drive.sock
 *
 * Pure: nothing is opened here.
 */
#ifndef RELAY_OUTLET_H
#define RELAY_OUTLET_H

struct err;
struct relay_driver;

#define OUTLET_ADDRESS_BYTES 256

struct outlet {
	const struct relay_driver *driver;
	char address[OUTLET_ADDRESS_BYTES];
	unsigned int channel; /* 1 ... the driver's channels_max; 1 if not
			       * given */
};

/*
 * The channel is what stands behind the last colon, if that is a number. Behind
 * tcp:// the first number is the TCP port, and only a second one the channel.
 */
int outlet_parse(const char *text, struct outlet *outlet, struct err *err);

#endif
