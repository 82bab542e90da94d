/* SPDX-License-Identifier: MIT */
/*
 * gates - whether one cycle counts, and what proves its cut.
 *
 * A cycle that did not do what it was meant to do proves nothing, whatever the
 * verifier says: the flushes must have reached the drive, writes must have
 * been in flight, the drive must have gone and come back as itself, its own
 * counters must not deny that, and the verifier must have had an answer (P9).
 * Pure.
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

/* What can show that the power was cut; bits. */
enum gates_proof {
	GATES_PROOF_GONE = 1,         /* the writer saw the drive go away */
	GATES_PROOF_NEW_DEVICE = 2,   /* the kernel counts another device */
	GATES_PROOF_POWER_CYCLES = 4, /* the drive's counters rose */
	GATES_PROOF_UNSAFE_SHUTDOWNS = 8,
	GATES_PROOF_HOST = 16, /* the host fell silent and booted again */
};

/* All but the host's own end speak of the drive itself. */
#define GATES_PROOFS_OF_DRIVE (GATES_PROOF_HOST - 1U)

unsigned int gates_proofs(const struct outcome *outcome);

#endif
