/* SPDX-License-Identifier: MIT */
/*
 * relayprobe - which boards may be attached to this host, by what sysfs says of
 * them alone: nothing is opened, and nothing is switched.
 *
 * An identity of USB is a hint and no more: 1a86:7523 is an LCUS board, and
 * each second Arduino as well. What is told is the outlet to try, and the
 * warning.
 */
#ifndef RELAY_RELAYPROBE_H
#define RELAY_RELAYPROBE_H

#include <stddef.h>

struct err;

#define RELAYPROBE_TEXT_BYTES 256

struct relayprobe_found {
	char device[RELAYPROBE_TEXT_BYTES]; /* "/dev/ttyUSB0" */
	char usb[RELAYPROBE_TEXT_BYTES];    /* "1a86:7523 USB Serial"; "" */
	char place[RELAYPROBE_TEXT_BYTES];  /* "usb 1-2.3"; "" */
	const char *drivers;                /* "lcus, lcus-ext"; static */
	const char *warning;                /* static; "" */
};

/*
 * Looks below SYSFS ("/sys") and calls TELL for each thing that may be a board,
 * by kind and then as the system orders them. 0, or -1 where SYSFS cannot be
 * read at all.
 */
int relayprobe_look(const char *sysfs,
		    void (*tell)(void *context,
				 const struct relayprobe_found *found),
		    void *context, struct err *err);

#endif
