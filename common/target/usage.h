/* SPDX-License-Identifier: MIT */
/*
 * usage - who uses a block device or file: mounts, swap, device mapper, md,
 * loop devices. It looks at /proc and /sys and touches no drive.
 */
#ifndef COMMON_TARGET_USAGE_H
#define COMMON_TARGET_USAGE_H

#include <stdbool.h>
#include <stddef.h>

struct stat;

/*
 * True if the device or regular file of WHAT is in use; TEXT then says by whom:
 * "/dev/sdb2 is mounted on /home". For a drive its partitions count too, for a
 * partition its drive.
 */
bool usage_find(const struct stat *what, char *text, size_t room);

#endif
