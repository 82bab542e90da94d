/* SPDX-License-Identifier: MIT */
/*
 * driver_bench - one call of a relay driver over a port that follows a script,
 * and thousands with answers that no board would give.
 */
#ifndef TESTS_FAKE_DRIVER_BENCH_H
#define TESTS_FAKE_DRIVER_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/driver.h"
#include "tests/fake/port_fake.h"

struct err;
struct outlet;

#define DRIVER_BENCH_STEPS_MAX 4

/* What get() returned; the port had LEFTOVER in it (may be NULL) and gave at
 * most CHUNK bytes a read. *IS_DONE (may be NULL): the script was followed to
 * its end. */
int driver_bench_get(const struct outlet *outlet,
		     const struct port_fake_step *steps, const char *leftover,
		     size_t chunk, enum relay_state *told, bool *is_done,
		     struct err *err);

/* What set() returned; fails the test where the script was not followed. */
int driver_bench_set(const struct outlet *outlet, enum relay_state state,
		     const struct port_fake_step *steps, struct err *err);
int driver_bench_pulse(const struct outlet *outlet, enum relay_state state,
		       uint32_t ms, const struct port_fake_step *steps,
		       struct err *err);

/* Fails the test where get() does not tell STATE, whole or byte by byte, with
 * something left over in the port. */
void driver_bench_expect(const struct outlet *outlet,
			 const struct port_fake_step *steps,
			 enum relay_state state);

/* Is ANSWER one that tells a state, and which? Written apart from the driver.
 */
typedef bool driver_bench_judge(const uint8_t *answer, size_t count,
				const struct outlet *outlet,
				enum relay_state *state);

/*
 * get() with answers of every length up to 48: noise, noise of small numbers,
 * and GOOD (a step's form) cut short, with bytes changed, added, doubled. The
 * answer stands in for that of the last of STEPS. A state is told only where
 * JUDGE says so, and that one.
 */
void driver_bench_garbage(const struct outlet *outlet,
			  const struct port_fake_step *steps, const char *good,
			  driver_bench_judge *judge);

#endif
