/* SPDX-License-Identifier: MIT */
/*
 * wtrace - the kernel's own record of the FLUSHes and FUA writes of some drives
 * (--trace): tracefs, in an instance of its own.
 *
 * It looks and changes nothing but that instance, "plugpull-PID", which it
 * removes at the end; those of writers that were killed are removed by the next
 * one. The kernel sorts out all other requests. Needs root. What it sees is
 * told, and convicts nobody: a repeated flush is a hint at P11.
 */
#ifndef WRITER_WTRACE_H
#define WRITER_WTRACE_H

#include <stddef.h>

#include "common/target/traceline.h"

struct err;
struct stack;
struct wtrace;

/* Begins to record the drives at the bottom of STACK, or all of it where none
 * is known there; a thread of its own reads. NULL on failure. */
struct wtrace *wtrace_open(const struct stack *stack, struct err *err);

/* Ends it, with all that was recorded until now in SUMS. */
void wtrace_finish(struct wtrace *trace, struct traceline_sums *sums);

/* NULL does nothing. */
void wtrace_free(struct wtrace *trace);

#endif
