/* SPDX-License-Identifier: MIT */
/*
 * plan - what each cycle of a campaign shall do, from its seed alone.
 *
 * Pure: the same plan and cycle number give the same answer everywhere, so a
 * resumed campaign goes on as if it had never stopped. Control cycles are
 * spread evenly among the test cycles, each at a place of its own share that
 * the seed draws; the first cycle of all is a control cycle, so that a rig
 * that cannot see a loss shows it early.
 */
#ifndef CAMPAIGN_PLAN_H
#define CAMPAIGN_PLAN_H

#include <stdint.h>

#define PLAN_CYCLES_MAX 1000000U /* test and control together */
#define PLAN_RECUTS_MAX 100U

enum plan_arm { PLAN_ARM_TEST, PLAN_ARM_CONTROL };

struct plan {
	uint64_t seed;
	uint64_t test_cycles;                /* at least 1 */
	uint64_t control_cycles;             /* may be 0 */
	uint64_t after_min_ms, after_max_ms; /* time under load, inclusive */
	uint64_t off_min_ms, off_max_ms;     /* time without power, inclusive */
	/* Cuts of a drive that is still recovering from the first. */
	uint64_t recuts; /* in each cycle; at most PLAN_RECUTS_MAX */
	uint64_t recut_after_min_ms, recut_after_max_ms; /* from power on */
	uint64_t recut_off_min_ms, recut_off_max_ms;
};

struct plan_cycle {
	enum plan_arm arm;
	uint64_t after_ms; /* from the first completed write to the cut */
	uint64_t off_ms;
	uint64_t workload_seed; /* where this cycle begins a fresh run */
};

uint64_t plan_cycles(const struct plan *plan);

/* CYCLE counts from 1 to plan_cycles(). */
struct plan_cycle plan_draw(const struct plan *plan, uint64_t cycle);

struct plan_recut {
	uint64_t after_ms; /* from when power came back */
	uint64_t off_ms;
};

/* The I-th of CYCLE, from 0 to recuts - 1. */
struct plan_recut plan_recut(const struct plan *plan, uint64_t cycle,
			     uint64_t i);

const char *plan_arm_name(enum plan_arm arm);

#endif
