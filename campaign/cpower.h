/* SPDX-License-Identifier: MIT */
/*
 * cpower - the power of the drive, or of its host, as the campaign switches it:
 * with tries, hooks and pauses. Decides nothing.
 */
#ifndef CAMPAIGN_CPOWER_H
#define CAMPAIGN_CPOWER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct rig;

/* Tries more than once: a drive must not stay dark for one lost byte. */
int cpower_on(struct rig *rig, struct err *err);

/* Until DEADLINE_NS (monotonic), or a signal. */
void cpower_sleep_until(struct rig *rig, uint64_t deadline_ns);

/*
 * Off, hook, OFF_MS, on, hook. *IS_WHOLE (may be NULL) tells whether all of it
 * worked. -1 where the power could not be restored.
 */
int cpower_cycle(struct rig *rig, uint64_t off_ms, bool *is_whole,
		 struct err *err);

/*
 * Makes sure that there is power before the first cycle. What is off is
 * switched on where MAY_RESTORE says so.
 */
int cpower_ensure(struct rig *rig, bool may_restore, struct err *err);

#endif
