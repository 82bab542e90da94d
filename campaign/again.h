/* SPDX-License-Identifier: MIT */
/*
 * again - the drive after its power is back: wait for it, and where it looks
 * broken look again after one clean power cycle without load.
 */
#ifndef CAMPAIGN_AGAIN_H
#define CAMPAIGN_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/outcome.h"

struct err;
struct rig;

struct again_answer {
	struct outcome_judged judged;
	uint64_t opened_ns; /* monotonic, when the last try began */
	char rescan[256];   /* what was done to find it; "" */
};

/*
 * The verifier's answer; a target that cannot be opened is tried again until
 * return_timeout, then ANSWER says so. -1: the verifier could not be asked, or
 * a signal came.
 */
int again_verify(struct rig *rig, const struct outcome *outcome, bool is_second,
		 struct again_answer *answer, struct err *err);

/*
 * Off, OFF_MS, on, and the verifier once more. What OUTCOME says stands
 * whatever is seen here. -1 where the power could not be restored.
 */
int again_look(struct rig *rig, const struct outcome *outcome, uint64_t off_ms,
	       enum outcome_second *second, struct err *err);

#endif
