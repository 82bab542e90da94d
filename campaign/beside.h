/* SPDX-License-Identifier: MIT */
/*
 * beside - writer and verifier, which run beside the drive: on this machine, or
 * on the host whose power is cut.
 *
 * The log never leaves the collector: to a host the verifier's bounds go, as
 * its standard input. A connection that is lost is trouble and asked again, a
 * few times; it is never a verdict (P9).
 */
#ifndef CAMPAIGN_BESIDE_H
#define CAMPAIGN_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/outcome.h"

struct command;
struct err;
struct rig;

struct beside_writing {
	uint64_t cycle;
	enum plan_arm arm;
	const char *run; /* "": a fresh run */
	uint64_t seed;   /* of a fresh run */
};

struct command *beside_start_writer(struct rig *rig,
				    const struct beside_writing *writing,
				    struct err *err);

/* The account that it left here; a writer on the host leaves none. */
int beside_read_writer(struct rig *rig, uint64_t cycle,
		       struct outcome_writer *writer, struct err *err);

/* Of the cycle and run of OUTCOME. IS_SECOND: the look after a clean power
 * cycle. */
int beside_verify(struct rig *rig, const struct outcome *outcome,
		  bool is_second, struct outcome_judged *judged,
		  struct err *err);

/* JUDGED says no more than that the target could not be opened (yet). */
bool beside_target_is_absent(const struct rig *rig,
			     const struct outcome_judged *judged);

/* The drive is there, but not the whole of the region. */
bool beside_target_has_shrunk(const struct outcome_judged *judged);

/* Absent, and that for a reason which a drive that is there cannot give: no
 * such device. Permissions, locks and servers are the rig's own trouble (P9).
 */
bool beside_device_is_missing(const struct rig *rig,
			      const struct outcome_judged *judged);

/* The command of a host's writer ended because the connection was lost, which
 * says nothing of the writer. */
bool beside_is_connection_lost(int status);

#endif
