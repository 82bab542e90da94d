/* SPDX-License-Identifier: MIT */
/*
 * condworld - an ack log that a test makes up statement by statement, and its
 * bounds. What a ledger does not believe is left out of the log. A step that
 * does not work fails the test.
 */
#ifndef TESTS_FAKE_CONDWORLD_H
#define TESTS_FAKE_CONDWORLD_H

#include <stdint.h>

#include "common/ackfile/ackout.h"
#include "common/ackfile/condense.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/ackbody.h"

struct ledger;

struct condworld {
	struct prng prng;
	struct run run;
	struct ledger *ledger;
	struct ackout *out;
	int fd, bounds_fd;
	uint32_t cycle;
	uint64_t first[RUN_STREAMS_MAX], flush, clock_ns;
	struct ackbody body;
	struct err err;
};

extern struct condworld condworld;

void condworld_begin(uint64_t seed, uint16_t streams);
void condworld_end(void);
uint64_t condworld_below(uint64_t limit);

void condworld_say(void); /* condworld.body */
void condworld_say_cycle(void);
void condworld_say_limit(enum ackbody_type type, uint16_t stream, uint64_t to);
/* EVENT 0 is END. */
void condworld_say_event(enum ackbody_event event, const char *text);
void condworld_say_range(enum ackbody_type type, uint16_t stream,
			 uint64_t first, uint64_t last);

int condworld_condense(struct condense_facts *facts);
struct ledger *condworld_read_log(int fd);
struct ledger *condworld_read_bounds(void);

#endif
