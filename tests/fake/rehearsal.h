/* SPDX-License-Identifier: MIT */
/*
 * rehearsal - the whole experiment in one process: the writer's accounting, the
 * ack log's ledger, the simulated drive's model and the verifier's judgement,
 * joined without a thread, a clock or a system call. The queue between host and
 * drive is random: the drive serves what is in flight in any order, and the
 * host reaps late.
 */
#ifndef TESTS_FAKE_REHEARSAL_H
#define TESTS_FAKE_REHEARSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "verifier/judge.h"

struct err;

enum rehearsal_log {
	REHEARSAL_LOG_WHOLE,
	REHEARSAL_LOG_CUT,  /* no acknowledgement arrives in the second half */
	REHEARSAL_LOG_NONE, /* judged by the drive alone */
};

struct rehearsal_config {
	const char *fault; /* "NAME" or "NAME=ARG" */
	enum ackbody_sync sync;
	uint64_t sync_value;
	unsigned int depth; /* 1 ... 32 */
	uint64_t seed;
	unsigned int writes;         /* before each cut */
	unsigned int cycles;         /* the sync mode holds for all */
	bool is_last_cycle_unsynced; /* a control cycle behind them */
	enum rehearsal_log log;
};

struct rehearsal_result {
	uint64_t atoms[VERDICT_COUNT]; /* of the last scan */
	uint64_t completed_lost;       /* slots */
	uint64_t durable;              /* writes promised, all cycles */
};

int rehearsal_run(const struct rehearsal_config *config,
		  struct rehearsal_result *result, struct err *err);

#endif
