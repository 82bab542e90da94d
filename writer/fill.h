/* SPDX-License-Identifier: MIT */
/*
 * fill - what stands on the drive before the first numbered write: generation
 * 0 in every slot, and the two labels; and whose labels stand there already.
 */
#ifndef WRITER_FILL_H
#define WRITER_FILL_H

#include <stdint.h>

#include "common/format/run.h"

struct err;
struct target;
struct wstop;

/*
 * Writes generation 0 over all slots (where RUN->is_filled) and both labels,
 * then asks for a FLUSH if TARGET takes one. Stops with -1 when STOP asks or
 * has failed. WATCH is called now and then.
 */
struct fill_watch {
	void (*tick)(void *context, uint64_t done_bytes, uint64_t size_bytes);
	void *context;
};

int fill_region(struct target *target, const struct run *run,
		struct wstop *stop, const struct fill_watch *watch,
		struct err *err);

/*
 * Writes both labels of RUN anew, marked: flushes may not have been sent, so
 * that nothing is held against the drive (P9). Blocks for at most some minutes.
 */
int fill_mark_unsent(struct target *target, const struct run *run,
		     struct err *err);

enum fill_label {
	FILL_LABEL_OURS,  /* this run's */
	FILL_LABEL_OTHER, /* another run's */
	FILL_LABEL_NONE,  /* neither copy can be made out */
};

/* 0, or -1 where the drive could not be read. */
int fill_find_label(struct target *target, const struct run *run,
		    enum fill_label *label, struct err *err);

#endif
