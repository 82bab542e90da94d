/* SPDX-License-Identifier: MIT */
#include "common/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	/* Cannot fail for these clocks on any Linux that runs us. */
	if (clock_gettime(id, &now) < 0)
		abort();
	return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

int clock_until_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ms = 0;

	if (deadline_ns <= now_ns)
		return 0;
	left_ms =
		(deadline_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

struct timespec clock_until(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

	return (struct timespec){
		.tv_sec = (time_t)(left_ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(left_ns % CLOCK_NS_PER_S),
	};
}

void clock_sleep_ms(uint64_t duration_ms)
{
	struct timespec left = {
		.tv_sec = (time_t)(duration_ms / 1000),
		.tv_nsec = (long)(duration_ms % 1000 * CLOCK_NS_PER_MS),
	};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}
