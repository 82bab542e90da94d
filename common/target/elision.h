/* SPDX-License-Identifier: MIT */
/*
 * elision - in words: where a FLUSH ends before it reaches the drive, and what
 * can be done (P9). Whether it ends there is target_is_write_back()'s to say.
 */
#ifndef COMMON_TARGET_ELISION_H
#define COMMON_TARGET_ELISION_H

#include <stdbool.h>
#include <stddef.h>

struct stack;
struct target;

#define ELISION_TEXT_BYTES 384

/* Asks once more, and gives the reason and "\nhint: ", the next step. */
void elision_tell(const struct target *target, char *text, size_t room);

/* What below TARGET could not be asked; "" where everything answered. */
const char *elision_unknown(const struct target *target);

/*
 * From now on target_is_write_back() lets pass what elides now, and with
 * IS_FOR_ALL everything: stack_allow(). Before other threads ask.
 */
void elision_allow(struct target *target, bool is_for_all);

/* What lies below TARGET now, whatever its engine; the caller closes it. NULL
 * for NBD, and where there is no memory. */
struct stack *elision_walk(const struct target *target);

#endif
