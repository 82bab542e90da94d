/* SPDX-License-Identifier: MIT */
/*
 * traceline - what one line of a kernel trace says about flushes, and the sum
 * of many.
 *
 * The events block_rq_issue, _complete and _requeue (include/trace/events/
 * block.h; "rwbs" as blk_fill_rwbs() makes it: FF is a FLUSH, an F behind W is
 * FUA), nvme_setup_cmd and nvme_complete_rq (drivers/nvme/host/trace.h),
 * scsi_dispatch_cmd_start (include/trace/events/scsi.h). Others are nothing.
 * Pure. The name of a process stands in each line and may be anything: the
 * fields are found by their columns.
 */
#ifndef COMMON_TARGET_TRACELINE_H
#define COMMON_TARGET_TRACELINE_H

#include <stddef.h>
#include <stdint.h>

enum traceline_kind {
	TRACELINE_OTHER,
	TRACELINE_ISSUED,
	TRACELINE_COMPLETED,
	TRACELINE_REPEATED, /* put back into its queue, to be sent again */
	TRACELINE_COMMAND,  /* a driver's: a FLUSH or SYNCHRONIZE CACHE */
	TRACELINE_RETRIED,  /* NVMe: a command ended that was sent twice */
	TRACELINE_LOST,     /* events the trace had no room for */
};

enum traceline_what {
	TRACELINE_ELSE,
	TRACELINE_FLUSH,
	TRACELINE_FUA, /* a write with FUA */
};

struct traceline {
	enum traceline_kind kind;
	enum traceline_what what;
	int error;      /* of TRACELINE_COMPLETED, 0: none */
	uint64_t count; /* of TRACELINE_LOST, at least 1 */
	uint64_t at_ns; /* on the clock of the trace; not of TRACELINE_LOST */
};

/* TEXT ends with a NUL and has no line feed. */
void traceline_parse(const char *text, struct traceline *line);

struct traceline_sums {
	uint64_t flushes_issued, flushes_completed, flushes_failed;
	uint64_t fua_issued, fua_completed, fua_failed;
	uint64_t repeated; /* flushes and FUA writes */
	uint64_t commands, retried, lost;
	uint64_t first_ns, last_ns; /* of any of these but lost; 0: none */
};

void traceline_add(struct traceline_sums *sums, const struct traceline *line);

#endif
