/* SPDX-License-Identifier: MIT */
/*
 * lineage - for people: the drives that a block device is made of,
 * "dm-0 (LVM) -> sdb2 -> sdb (SAMSUNG MZ7, serial S4EWNX0R)".
 *
 * Several members of a layer stand in brackets: "md0 (raid1) -> [sda1 -> ...,
 * sdb1 -> ...]". It reads sysfs and, for a loop device, asks where its file
 * lies, which may wait for a file system. What the walk of stack.h decides by
 * is not asked here.
 */
#ifndef COMMON_TARGET_LINEAGE_H
#define COMMON_TARGET_LINEAGE_H

#include <stddef.h>
#include <sys/types.h>

#define LINEAGE_TEXT_BYTES 512
#define LINEAGE_DEPTH_MAX  8 /* layers upon each other; "..." below */

/* "" where sysfs has no such device; cut off where ROOM is too small. */
void lineage_tell(const char *sysfs, dev_t device, char *text, size_t room);

#endif
