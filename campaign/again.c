/* SPDX-License-Identifier: MIT */
#include "campaign/again.h"

#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define AGAIN_SWITCH_TRIES 3
#define AGAIN_PAUSE_MS     50

int again_switch_on(struct rig *rig, struct err *err)
{
	for (int i = 0; i < AGAIN_SWITCH_TRIES; i++)
		if (rig_switch(rig, true, err) == 0)
			return 0;
	return -1;
}

void again_sleep_until(struct rig *rig, uint64_t deadline_ns)
{
	int left_ms = 0;

	while (!rig_is_stopped(rig) &&
	       (left_ms = clock_until_ms(deadline_ns)) > 0)
		clock_sleep_ms(left_ms < AGAIN_PAUSE_MS ? (uint64_t)left_ms
							: AGAIN_PAUSE_MS);
}

int again_verify(struct rig *rig, const struct outcome *outcome, bool is_second,
		 struct outcome_judged *judged, struct err *err)
{
	const uint64_t deadline_ns =
		clock_monotonic_ns() +
		rig_settings(rig)->return_timeout_ms * CLOCK_NS_PER_MS;

	for (;;) {
		if (rig_verify(rig, outcome->cycle, is_second, outcome->run,
			       judged, err) == -1)
			return -1;
		if (!rig_target_is_absent(rig, judged) ||
		    clock_until_ms(deadline_ns) == 0)
			return 0;
		again_sleep_until(rig,
				  clock_monotonic_ns() +
					  AGAIN_PAUSE_MS * CLOCK_NS_PER_MS);
		if (rig_is_stopped(rig))
			return err_set(err, "interrupted by a signal");
	}
}

static enum outcome_second compare(const struct rig *rig,
				   const struct outcome_judged *first,
				   const struct outcome_judged *second)
{
	if (second->verdict == OUTCOME_KEPT)
		return OUTCOME_HEALED;
	if (first->verdict == OUTCOME_GONE &&
	    rig_device_is_missing(rig, second))
		return OUTCOME_PERSISTS;
	if (second->verdict != OUTCOME_BROKEN)
		return OUTCOME_UNKNOWN;
	if (first->verdict != OUTCOME_BROKEN)
		return OUTCOME_CHANGED;
	for (size_t i = OUTCOME_LOST; i < OUTCOME_CLASSES; i++)
		if (first->atoms[i] != second->atoms[i])
			return OUTCOME_CHANGED;
	return OUTCOME_PERSISTS;
}

static enum outcome_second look(struct rig *rig, const struct outcome *outcome)
{
	struct outcome_judged second;
	struct err ignored; /* what cannot be seen is unknown */

	if (again_verify(rig, outcome, true, &second, &ignored) == -1)
		return OUTCOME_UNKNOWN;
	return compare(rig, &outcome->judged, &second);
}

int again_look(struct rig *rig, const struct outcome *outcome, uint64_t off_ms,
	       enum outcome_second *second, struct err *err)
{
	const struct csettings *settings = rig_settings(rig);
	struct err ignored; /* the look is then left out */
	int rc = rig_switch(rig, false, &ignored);

	*second = OUTCOME_UNKNOWN;
	if (rig_hook(rig, "after_off", settings->after_off, &ignored) == -1)
		rc = -1;
	again_sleep_until(rig, clock_monotonic_ns() + off_ms * CLOCK_NS_PER_MS);
	if (again_switch_on(rig, err) == -1)
		return -1;
	if (rig_hook(rig, "after_on", settings->after_on, &ignored) == -1)
		rc = -1;
	if (rc == 0)
		*second = look(rig, outcome);
	return 0;
}
