/* SPDX-License-Identifier: MIT */
/*
 * uevent - what the kernel says of devices that come, change and go.
 *
 * The text of one is "ACTION@DEVPATH", a zero byte, and "KEY=VALUE" words that
 * end with one each (Linux, lib/kobject_uevent.c). uevent_parse() and
 * uevent_concerns() are pure: the text is anybody's until the listener has seen
 * that the kernel sent it.
 *
 * The listener hears the kernel itself, through libudev where there is one
 * (HAVE_LIBUDEV), else through a netlink socket of its own; udevd is not
 * needed. In a container nothing may be heard: silence proves nothing.
 */
#ifndef COMMON_TARGET_UEVENT_H
#define COMMON_TARGET_UEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UEVENT_BYTES_MAX   8192 /* of a message */
#define UEVENT_PATH_BYTES  512
#define UEVENT_DEVICES_MAX 32

struct target;

enum uevent_action {
	UEVENT_OTHER,
	UEVENT_ADD,
	UEVENT_CHANGE,
	UEVENT_REMOVE,
	UEVENT_OFFLINE,
};

struct uevent {
	enum uevent_action action;
	bool is_block;                /* SUBSYSTEM=block */
	char path[UEVENT_PATH_BYTES]; /* "/devices/.../block/sdb" */
};

/* False where the LENGTH bytes at TEXT are no event, or a path is too long. */
bool uevent_parse(const char *text, size_t length, struct uevent *event);

const char *uevent_action_name(enum uevent_action action);

/* The last part of its path: "sdb". */
const char *uevent_device(const struct uevent *event);

/* Devices by their real paths in sysfs, without "/sys". What has no room is
 * not watched. */
struct uevent_watched {
	unsigned int count;
	char paths[UEVENT_DEVICES_MAX][UEVENT_PATH_BYTES];
};

/* TARGET's device and all that lie below it; none of an NBD export. */
void uevent_watch_target(struct uevent_watched *watched,
			 const struct target *target);

/*
 * EVENT is about one of WATCHED: about the device itself, or it takes away
 * something that the device hangs on (its bridge, its host adapter). What a
 * device carries (a partition) is not its own.
 */
bool uevent_concerns(const struct uevent *event,
		     const struct uevent_watched *watched);

/* ---- listening ---- */

struct uevent_listener;

/* NULL where nothing can be heard; that is no error. */
struct uevent_listener *uevent_listen(void);
void uevent_listener_free(struct uevent_listener *listener);

/*
 * Waits TIMEOUT_MS at most, and returns true with the next event. A NULL
 * listener only sleeps. False says that none came, or none that could be read.
 */
bool uevent_next(struct uevent_listener *listener, int timeout_ms,
		 struct uevent *event);

#endif
