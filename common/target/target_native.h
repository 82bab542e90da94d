/* SPDX-License-Identifier: MIT */
/*
 * target_native - for tests: the native engine over a drive that answers
 * through a table of the test's own instead of the kernel.
 */
#ifndef COMMON_TARGET_TARGET_NATIVE_H
#define COMMON_TARGET_TARGET_NATIVE_H

struct driveio;
struct target;

/* Opened for writing; IO is copied, its fd stays the caller's. NULL without
 * memory. Closed by target_close(). */
struct target *target_native_over(const struct driveio *io);

#endif
