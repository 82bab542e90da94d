/* SPDX-License-Identifier: MIT */
/*
 * cycle - one cut, from "the power is on" to the verdict.
 *
 *     CHECK --> START --> LOAD --> ASK --> OFF --> WATCH --> DARK --+
 *                                                                   |
 *                    DONE <-- AGAIN <-- JUDGE <-- RESTORE <--------+
 *
 *   CHECK    power is on, collector runs                 cycle_check()
 *   START    writer started, its first write is done     cycle_start()
 *   LOAD     under load for the drawn time (P2)          cycle_load()
 *   ASK      "cut asked" is on record (P11)              cycle_ask()
 *   OFF      the relay switches                          cycle_off()
 *   WATCH    the writer ends because the drive is gone   cycle_watch()
 *   DARK     hook, time without power                    cycle_dark()
 *   RESTORE  power on, hook, "restored" on record        cycle_restore()
 *   JUDGE    the target is back, the verifier's answer   cycleverdict_judge()
 *   AGAIN    broken: clean power cycle, second look      cycleverdict_again()
 *   ABORT    the writer is told to stop                  cycle_abort()
 *
 * Trouble or a signal leads from START, LOAD, ASK and OFF to ABORT, and from
 * there to RESTORE where the power may be off, else to DONE. Power never comes
 * back while the writer has not ended (P11): a writer that cannot be ended
 * leads to DONE with the power as it is, and the campaign stops. Where the host
 * loses its power too, some steps are others: hostcycle.h.
 */
#ifndef CAMPAIGN_CYCLE_H
#define CAMPAIGN_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/outcome.h"
#include "campaign/plan.h"

struct cprogress;
struct journal;
struct rig;

struct cycle_order {
	uint64_t number; /* of the campaign, from 1 */
	struct plan_cycle plan;
	const struct plan *whole; /* for the cuts behind the first */
	const char *run;          /* to go on with; "" for a fresh run */
	struct rig *rig;
	struct journal *journal;
	struct cprogress *progress;
};

enum cycle_end {
	CYCLE_GO_ON,
	CYCLE_STOP,        /* the campaign must not go on; outcome->trouble */
	CYCLE_INTERRUPTED, /* by a signal; the cycle is not complete */
};

/* Fills OUTCOME, whose void_reason stays "": gates.h says that. */
enum cycle_end cycle_run(const struct cycle_order *order,
			 struct outcome *outcome);

#endif
