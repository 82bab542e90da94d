/* SPDX-License-Identifier: MIT */
/*
 * elision - in words: where a FLUSH ends before it reaches the drive, and what
 * can be done (P9). Whether it ends there is target_is_write_back()'s to say.
 */
#ifndef COMMON_TARGET_ELISION_H
#define COMMON_TARGET_ELISION_H

#include <stddef.h>

struct target;

#define ELISION_TEXT_BYTES 384

/* Asks once more, and gives the reason and "\nhint: ", the next step. */
void elision_tell(const struct target *target, char *text, size_t room);

/* What below TARGET could not be asked; "" where everything answered. */
const char *elision_unknown(const struct target *target);

#endif
