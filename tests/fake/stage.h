/* SPDX-License-Identifier: MIT */
/*
 * stage - what the two halves of a rehearsal share: play (rehearsal.c) and
 * judgement (stage_scan.c).
 */
#ifndef TESTS_FAKE_STAGE_H
#define TESTS_FAKE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/prng.h"
#include "common/format/ledger.h"
#include "common/format/record.h"
#include "common/format/schedule.h"
#include "simdrive/model.h"
#include "tests/fake/rehearsal.h"
#include "writer/durable.h"

#define SLOTS         128
#define BLOCK_BYTES   8192
#define ATOMS         (BLOCK_BYTES / RUN_ATOM_BYTES)
#define LOGICAL_BYTES 4096
#define REGION_BYTES  (2 * RUN_LABEL_AREA_BYTES + SLOTS * BLOCK_BYTES)
#define DEPTH_MAX     32
#define REQUESTS_MAX  (DEPTH_MAX + DURABLE_FLUSHES_MAX)
#define STEP_NS       150000

enum request_state { REQUEST_FREE, REQUEST_SENT, REQUEST_SERVED };

struct request {
	enum request_state state;
	bool is_flush;
	uint64_t number; /* sequence of a write, number of a flush */
	uint64_t slot;
	uint8_t data[BLOCK_BYTES];
};

struct stage {
	const struct rehearsal_config *config;
	enum ackbody_sync sync; /* of this cycle */
	struct run run;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct record_cipher *cipher;
	struct model *model;
	struct ledger *ledger;
	struct durable *durable;
	struct prng prng;
	uint8_t *media;
	uint64_t now_ns, first_sequence, flush_due_ns;
	uint32_t cycle;
	bool is_mute; /* acknowledgements are lost on the way */
	struct request requests[REQUESTS_MAX];
};

/* Reads every slot once and judges it. */
int stage_scan(struct stage *stage, struct rehearsal_result *result,
	       struct err *err);

#endif
