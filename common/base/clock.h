/* SPDX-License-Identifier: MIT */
/*
 * clock - the only place that asks what time it is.
 *
 * Intervals and deadlines use the monotonic clock. Wall time is for people and
 * for log records; it never orders anything (conventions, rule 24).
 */
#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_MS 1000000ULL
#define CLOCK_NS_PER_S  1000000000ULL

uint64_t clock_monotonic_ns(void);
uint64_t clock_wall_ns(void); /* since 1970 */

/* Milliseconds from now until DEADLINE_NS (monotonic), rounded up, at least 0
 * and at most INT_MAX: the form that poll() wants. */
int clock_until_ms(uint64_t deadline_ns);
/* The same to the nanosecond: the form that ppoll() wants. */
struct timespec clock_until(uint64_t deadline_ns);

void clock_sleep_ms(uint64_t duration_ms);

#endif
