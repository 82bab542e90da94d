/* SPDX-License-Identifier: MIT */
/*
 * cycleverdict - the steps of a cycle behind the cut: what the verifier says,
 * what the drive's counters say, and the second look where it looks broken.
 */
#ifndef CAMPAIGN_CYCLEVERDICT_H
#define CAMPAIGN_CYCLEVERDICT_H

#include "campaign/cyclestate.h"

/* Each tells the state that follows. */
enum cycle_state cycleverdict_judge(struct cycle *cycle);
enum cycle_state cycleverdict_again(struct cycle *cycle);

#endif
