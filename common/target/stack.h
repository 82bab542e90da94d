/* SPDX-License-Identifier: MIT */
/*
 * stack - every queue that a FLUSH passes on its way down: of the drive of a
 * partition, of the members of device mapper and md, of what lies below the
 * file of a loop device or below a file system, and of every path of an NVMe
 * drive that has several.
 *
 * Where one of them says "write through" in queue/write_cache, the kernel
 * completes the FLUSH there and reports success: what lies below was never
 * asked, and nothing may be held against it (P9). What cannot be asked is no
 * such place, but is told by name.
 *
 * It reads small files under SYSFS ("/sys"; a made-up folder in the tests),
 * believes nothing of what they say beyond these words, and keeps them open, so
 * that asking again costs one pread() for each. Once opened, and once it was
 * said what is allowed, it never changes: any thread may ask.
 */
#ifndef COMMON_TARGET_STACK_H
#define COMMON_TARGET_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define STACK_QUEUES_MAX                                    \
	256 /* of different drives; what is more is unknown \
	     */
#define STACK_TEXT_BYTES 256

struct stack;

/* Each is NULL where there is no memory. */
struct stack *stack_of_device(const char *sysfs, dev_t device);
struct stack *stack_of_file(const char *sysfs, int fd);
void stack_close(struct stack *stack);

/*
 * Asks every queue: does each let a FLUSH pass? A member that does not answer
 * any more (it has left a mirror) does; the block device on top does not.
 */
bool stack_is_write_back(const struct stack *stack);

/*
 * From now on the queues that say "write through" now may: a drive without a
 * volatile cache needs no FLUSH. IS_FOR_ALL: every queue may say anything, for
 * a run that is no proof. Before other threads ask.
 */
void stack_allow(struct stack *stack, bool is_for_all);

/* Asks every queue: the kernel name of the first that keeps a FLUSH to itself,
 * "" where none does. It lives as long as the stack. */
const char *stack_elided_at(const struct stack *stack);

/* The drives and layers that were found, from the top down: how many, and the
 * folder of each in sysfs, which lives as long as the stack. */
unsigned int stack_count(const struct stack *stack);
const char *stack_disk(const struct stack *stack, unsigned int i);

/* The first is what every request passes: the device itself, or the only one
 * below the file system. */
bool stack_has_one_way(const struct stack *stack);

/* Nothing was found below it. */
bool stack_is_bottom(const struct stack *stack, unsigned int i);

/* What could not be asked when it was opened: "tmpfs", "sdb, zfs"; "". */
const char *stack_unknown(const struct stack *stack);

/* A loop device of the stack that, when it was opened, went through the page
 * cache of its file (P10): its kernel name, else "". */
const char *stack_cached_loop(const struct stack *stack);

#endif
