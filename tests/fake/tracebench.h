/* SPDX-License-Identifier: MIT */
/*
 * tracebench - a simulated drive in memory, under a random load, and a replay
 * that listens to its trace: whatever the trace does not tell, or tells
 * wrongly, is found out. The bench knows by itself what it wrote.
 */
#ifndef TESTS_FAKE_TRACEBENCH_H
#define TESTS_FAKE_TRACEBENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "simdrive/model.h"
#include "simdrive/trace.h"
#include "tests/fake/tracereplay.h"

#define TRACEBENCH_MEDIA_BYTES   (256U * 1024)
#define TRACEBENCH_WRITE_MAX     (48U * 1024)
#define TRACEBENCH_LIVES         3
#define TRACEBENCH_IN_FLIGHT_MAX 4

struct tracebench {
	struct model_config config;
	struct model *model;
	struct tracereplay *replay;
	struct prng prng;
	uint64_t now_ns;
	bool has_new_process; /* in each life, as the plugin has */
	int leave_out;        /* events of this type are not passed on */
	int64_t fua_untold;   /* FUA writes that the trace has not told */
	int rc;               /* 0, or what was found out is in err */
	struct err err;
	uint8_t media[TRACEBENCH_MEDIA_BYTES];
	uint8_t view[TRACEBENCH_MEDIA_BYTES]; /* what a read must answer */
	uint8_t buffer[TRACEBENCH_IN_FLIGHT_MAX][TRACEBENCH_WRITE_MAX];
	uint8_t event[TRACE_HEADER_BYTES + TRACEBENCH_WRITE_MAX];
};

/* With the power on for the first time. NULL: no drive can be like that. */
struct tracebench *tracebench_new(const struct faults *faults,
				  enum model_drain order, uint32_t block_bytes,
				  uint64_t seed);
void tracebench_free(struct tracebench *bench);

/* Each returns 0, or -1 where trace and drive disagree. */
int tracebench_write(struct tracebench *bench);
int tracebench_scan(struct tracebench *bench); /* reads everything */
int tracebench_cut(struct tracebench *bench);  /* and gives the power back */

/* TRACEBENCH_LIVES lives that end with a cut, and one with a stop. */
int tracebench_live(struct tracebench *bench);

#endif
