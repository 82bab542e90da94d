/* SPDX-License-Identifier: MIT */
/*
 * hostcycle - the steps of a cycle that are others where the host of the writer
 * loses its power together with the drive.
 *
 *     CHECK --> START --> LOAD --> ASK --> OFF --> WATCH --> DARK --> RESTORE
 *
 *   CHECK    the host answers; its boot id is kept       hostcycle_check()
 *   LOAD     the log is watched while it grows           hostcycle_load()
 *   WATCH    acknowledgements stop, the host is silent   hostcycle_watch()
 *   RESTORE  it comes back, and as another boot          hostcycle_restore()
 *   ABORT    a writer that may live on is ended by       hostcycle_abort()
 *            a power cycle
 *
 * P11 here: a host without power has nothing in flight. That it had none is
 * known from two witnesses: its acknowledgements stopped before the power came
 * back, and its kernel is another one behind it. Only then "cut seen" goes on
 * record, in front of "restored". A host that answers with the boot of before,
 * or goes on, stops the campaign: it was not cut.
 */
#ifndef CAMPAIGN_HOSTCYCLE_H
#define CAMPAIGN_HOSTCYCLE_H

#include "campaign/cyclestate.h"

/* True where the host answers; else the trouble is told. */
bool hostcycle_check(struct cycle *cycle);

/* Each tells the state that follows. */
enum cycle_state hostcycle_load(struct cycle *cycle, uint64_t wait_ms);
enum cycle_state hostcycle_watch(struct cycle *cycle);
enum cycle_state hostcycle_abort(struct cycle *cycle);

/* The relay said on; true where the host came back as it should. */
bool hostcycle_restore(struct cycle *cycle);

#endif
