/* SPDX-License-Identifier: MIT */
/*
 * gates - whether one cycle counts.
 *
 * A cycle that did not do what it was meant to do proves nothing, whatever the
 * verifier says: the flushes must have reached the drive, writes must have
 * been in flight, the drive must have gone and come back as itself, and the
 * verifier must have had an answer (P9). Pure.
 */
#ifndef CAMPAIGN_GATES_H
#define CAMPAIGN_GATES_H

#include <stddef.h>

#include "campaign/outcome.h"

/* How the test arm makes its writes durable. */
enum gates_sync { GATES_SYNC_FLUSH, GATES_SYNC_FUA };

/*
 * Writes to REASON why the cycle is void; "" where it counts.
 */
void gates_judge(const struct outcome *outcome, enum gates_sync sync,
		 char *reason, size_t room);

#endif
