/* SPDX-License-Identifier: MIT */
/*
 * flushcount - how many FLUSHes the driver of each drive below a target has
 * completed: the proof that they were sent (P9).
 *
 * Linux counts them in field 16 of /sys/block/X/stat (Documentation/block/
 * stat.rst), since 5.5, where the queue is one of requests; layers that only
 * pass bios on (device mapper, md, NVMe multipath) count none. Commands by
 * pass-through are not counted, nor what a multipath of requests hands to its
 * paths: it counts itself. The count is everybody's: other users of a
 * drive can make it rise, nobody can keep it from rising.
 */
#ifndef COMMON_TARGET_FLUSHCOUNT_H
#define COMMON_TARGET_FLUSHCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flushcount;
struct stack;
struct target;

#define FLUSHCOUNT_NAME_BYTES 32

struct flushcount_row {
	char name[FLUSHCOUNT_NAME_BYTES]; /* of the kernel: "sdb" */
	bool is_top;     /* requests of the target itself arrive here */
	bool is_bottom;  /* nothing that counts is known below it */
	bool is_counted; /* first and last are from a driver that counts */
	bool is_lost;    /* it counted, and cannot be read any more */
	uint64_t first;  /* when it was opened, or forgotten */
	uint64_t last;   /* when it was read last; a drive that has gone
			  * keeps it */
};

/* What lies below TARGET; no rows where the system does not tell (NBD, tmpfs,
 * pass-through). NULL where there is no memory. */
struct flushcount *flushcount_open(const struct target *target);
struct flushcount *flushcount_of_stack(const struct stack *stack);
void flushcount_close(struct flushcount *counts);

/* Reads every count once more. */
void flushcount_read(struct flushcount *counts);
/* What was read last becomes what is counted from. */
void flushcount_restart(struct flushcount *counts);

size_t flushcount_rows(const struct flushcount *counts,
		       const struct flushcount_row **rows);

/*
 * Where FLUSHes that were reported complete have ended: NULL where they went
 * through as far as can be seen, else the topmost row that counted none of
 * them. The top must have counted, where it counts at all; and below it one of
 * those at the bottom, where all of them count: of several paths to one drive a
 * FLUSH takes one, and a spare member of an array is asked nothing. What has
 * gone proves nothing. Pure.
 */
const struct flushcount_row *
flushcount_missing(const struct flushcount_row *rows, size_t count);

#endif
