/* SPDX-License-Identifier: MIT */
/*
 * inventory - the block devices of this machine, drives and partitions, as
 * sysfs lists them, and which of them is the one with a given identity (P10).
 *
 * It opens no device. Left out are devices without contents that every system
 * has (a loop, NBD or zram device that is not set up, ram disks) and the hidden
 * paths of an NVMe drive. A device that vanishes while it is looked at is left
 * out as well.
 */
#ifndef COMMON_TARGET_INVENTORY_H
#define COMMON_TARGET_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/target/blockfacts.h"
#include "common/target/identity.h"

#define INVENTORY_NAMES_MAX  2048 /* drives and partitions; more: an error */
#define INVENTORY_NAME_BYTES 64
#define INVENTORY_MATCH_MAX  16

struct err;

struct inventory_name {
	char name[INVENTORY_NAME_BYTES]; /* in sysfs: "sdb2", "cciss!c0d0" */
	char disk[INVENTORY_NAME_BYTES]; /* of the whole drive: "sdb" */
	bool is_partition;
};

struct inventory {
	size_t count;
	struct inventory_name names[INVENTORY_NAMES_MAX];
};

/* All, a drive's partitions behind it, in the order of their names ("sd10"
 * behind "sd9"). Free with free(). NULL with err. */
struct inventory *inventory_new(const char *sysfs, struct err *err);

struct inventory_device {
	dev_t device;
	char path[INVENTORY_NAME_BYTES + 8]; /* "/dev/sdb2" */
	struct identity identity;
	struct blockfacts facts;
};

/*
 * What sysfs knows of NAME. -1: it is gone. May wait for md, which answers no
 * question while an array of its own is stuck.
 */
int inventory_read(const char *sysfs, const struct inventory_name *name,
		   struct inventory_device *device);

struct inventory_matches {
	size_t count; /* of all that match; names hold the first of them */
	struct inventory_name names[INVENTORY_MATCH_MAX];
};

/*
 * The devices whose identity is IDENTITY. Of layers (device mapper, md) nothing
 * is asked unless it is one's that is wanted. IDENTITY is not "". -1 with err
 * where sysfs cannot be read.
 */
int inventory_find(const char *sysfs, const char *identity,
		   struct inventory_matches *matches, struct err *err);

/* The devices of which TEXT is serial number, WWN or the whole identity. */
int inventory_search(const char *sysfs, const char *text,
		     struct inventory_matches *matches, struct err *err);

/* "sdb, sdc and 3 more"; "" where there are none. */
void inventory_tell(const struct inventory_matches *matches, char *text,
		    size_t room);

#endif
