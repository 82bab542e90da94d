/* SPDX-License-Identifier: MIT */
/*
 * hidraw - feature reports of a USB HID device through /dev/hidrawN
 * (Documentation/hid/hidraw.rst), with a place where tests stand in for the
 * kernel.
 *
 * Report 0 is the one of devices that number none; in a buffer its id stands in
 * front of what it holds.
 */
#ifndef RELAY_HIDRAW_H
#define RELAY_HIDRAW_H

#include <stddef.h>
#include <stdint.h>

#define HIDRAW_NAME_BYTES 128

struct hidraw_info {
	uint16_t vendor, product;
	char name[HIDRAW_NAME_BYTES]; /* manufacturer and product; may be "" */
};

/* As open(2), close(2) and ioctl(2): -1 and errno. */
struct hidraw_system {
	int (*open)(const char *path);
	void (*close)(int fd);
	int (*control)(int fd, unsigned long request, void *argument);
};

/* The kernel, unless a test has put something else here. */
extern const struct hidraw_system *hidraw_system;

/* Each 0 or -errno. */
int hidraw_ask(int fd, struct hidraw_info *info);
/* REPORT begins with its id. */
int hidraw_set(int fd, const uint8_t *report, size_t count);
/* REPORT[0] is the id that is asked for; how many bytes came, its own one
 * included, or -errno. */
int hidraw_get(int fd, uint8_t *report, size_t room);

#endif
