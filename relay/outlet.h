/* SPDX-License-Identifier: MIT */
/*
 * outlet - which contact of which board gives a drive its power, and what is
 * known of that contact.
 *
 * On the command line it is DRIVER:ADDRESS[:CHANNEL]:
 *
 *   lcus:/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0:1
 *   lcus:tcp://127.0.0.1:4001:2
 *   sim:/run/drive.sock
 *
 * In a file it has a name and more words (outlets.h).
 *
 * Pure but for outlet_secret(): nothing is opened here.
 */
#ifndef RELAY_OUTLET_H
#define RELAY_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/driver.h"

struct err;

#define OUTLET_ADDRESS_BYTES 256
#define OUTLET_NAME_BYTES    64
#define OUTLET_KEY_BYTES     32
#define OUTLET_VALUE_BYTES   512
#define OUTLET_OPTIONS_MAX   16
#define OUTLET_SECRET_BYTES  256

struct outlet_option {
	char key[OUTLET_KEY_BYTES];
	char value[OUTLET_VALUE_BYTES];
};

/* What becomes of the drive's power when the controller is lost: its session
 * ends without having been told so. */
enum outlet_lost { OUTLET_LOST_KEEP, OUTLET_LOST_ON, OUTLET_LOST_OFF };

struct outlet {
	char name[OUTLET_NAME_BYTES]; /* in the file; "" where it is in none */
	const struct relay_driver *driver;
	char address[OUTLET_ADDRESS_BYTES];
	unsigned int channel; /* in the driver's range; its first if not given
			       */
	unsigned int baud;    /* 0: the driver's */
	/* Wired to the contact that is closed at rest (NC): the drive has power
	 * while the board says "off". */
	bool is_inverted;
	uint64_t drain_ms;    /* without power for at least so long */
	uint64_t settle_ms;   /* from "on" until the drive is left in peace */
	uint64_t interval_ms; /* between two switchings at least */
	uint64_t operations_max; /* of the contact in its life; 0: no limit */
	enum outlet_lost when_lost;
	size_t option_count;
	struct outlet_option options[OUTLET_OPTIONS_MAX];
};

/*
 * The channel is what stands behind the last colon, if that is a number. Behind
 * tcp:// and other URLs the first number is the TCP port, and only a second one
 * the channel.
 */
int outlet_parse(const char *text, struct outlet *outlet, struct err *err);

/* The parts by themselves, for a file. The driver comes first. */
int outlet_take_driver(struct outlet *outlet, const char *name,
		       struct err *err);
int outlet_take_address(struct outlet *outlet, const char *address,
			struct err *err);
int outlet_take_channel(struct outlet *outlet, uint64_t channel,
			struct err *err);
/* KEY is one of the driver's. */
int outlet_take_option(struct outlet *outlet, const char *key,
		       const char *value, struct err *err);
/* Everything is taken: nothing that must be given is missing, and the driver
 * has no objection. */
int outlet_check(const struct outlet *outlet, struct err *err);

/* What was given, else what the driver says otherwise; KEY is one of its keys.
 * It lives as long as OUTLET. */
const char *outlet_option(const struct outlet *outlet, const char *key);
/* The same as a number from MIN to MAX; "0x" makes it hexadecimal. */
int outlet_number(const struct outlet *outlet, const char *key, uint64_t min,
		  uint64_t max, uint64_t *value, struct err *err);
/*
 * The first line of the file that the option names; "" where the option is "".
 * A file that others than its owner may read is refused. The caller wipes TO
 * when it has used it.
 */
int outlet_secret(const struct outlet *outlet, const char *key,
		  char to[OUTLET_SECRET_BYTES], struct err *err);

/* The contact's state when the drive is to have power or not, and back. */
enum relay_state outlet_contact(const struct outlet *outlet,
				enum relay_state power);

/* "slot3", or "lcus on /dev/..., channel 1". */
void outlet_tell(const struct outlet *outlet, char *text, size_t room);

#endif
