/* SPDX-License-Identifier: MIT */
/*
 * drivetext - text that a drive says of itself, made fit to print.
 */
#ifndef COMMON_DRIVE_DRIVETEXT_H
#define COMMON_DRIVE_DRIVETEXT_H

#include <stddef.h>
#include <stdint.h>

/* Trims blanks at both ends, folds runs of them, drops what is not printable
 * ASCII, ends at a NUL. ROOM (at least 1) holds the NUL, too. */
void drivetext_clean(const uint8_t *from, size_t count, char *to, size_t room);

#endif
