/* SPDX-License-Identifier: MIT */
/*
 * schedule - where the write with a given sequence number goes, and back.
 *
 * Pure and without tables, for any number of slots up to 2^48. Sequence
 * numbers of one stream walk over the stream's slots in passes: pass p holds
 * the numbers p * slots + 1 ... (p + 1) * slots and visits every slot once.
 * "sequential" is a ring; "random" orders each pass by a permutation drawn from
 * (seed, stream, pass): a Feistel network over the next even power of two,
 * walked until it falls inside.
 */
#ifndef COMMON_FORMAT_SCHEDULE_H
#define COMMON_FORMAT_SCHEDULE_H

#include <stdint.h>

#include "common/format/run.h"

struct schedule {
	uint64_t slots; /* of this stream, at least 1 */
	uint64_t key;
	unsigned int half_bits;
	enum run_pattern pattern;
};

void schedule_init(struct schedule *schedule, const struct run *run,
		   uint16_t stream);

/* The stream's own slot number, 0 ... slots - 1, of SEQUENCE (from 1). */
uint64_t schedule_slot(const struct schedule *schedule, uint64_t sequence);

/* The same of COUNT numbers from FIRST on; faster than one by one. */
void schedule_slots(const struct schedule *schedule, uint64_t first,
		    unsigned int count, uint64_t *slots);

/* The newest sequence number <= BOUND that goes to SLOT; 0 if there is none. */
uint64_t schedule_newest(const struct schedule *schedule, uint64_t slot,
			 uint64_t bound);

#define SCHEDULE_MANY_MAX 64

/* The same of COUNT slots from SLOT on, SCHEDULE_MANY_MAX at most; faster than
 * one by one. */
void schedule_newest_many(const struct schedule *schedule, uint64_t slot,
			  unsigned int count, uint64_t bound, uint64_t *newest);

#endif
