/* SPDX-License-Identifier: MIT */
#include "campaign/cpower.h"

#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define CPOWER_TRIES    3
#define CPOWER_PAUSE_MS 50

int cpower_on(struct rig *rig, struct err *err)
{
	for (int i = 0; i < CPOWER_TRIES; i++)
		if (rig_switch(rig, true, NULL, err) == 0)
			return 0;
	return -1;
}

void cpower_sleep_until(struct rig *rig, uint64_t deadline_ns)
{
	int left_ms = 0;

	while (!rig_is_stopped(rig) &&
	       (left_ms = clock_until_ms(deadline_ns)) > 0)
		clock_sleep_ms(left_ms < CPOWER_PAUSE_MS ? (uint64_t)left_ms
							 : CPOWER_PAUSE_MS);
}

int cpower_cycle(struct rig *rig, uint64_t off_ms, bool *is_whole,
		 struct err *err)
{
	const struct csettings *settings = rig_settings(rig);
	struct err ignored; /* *IS_WHOLE tells */
	bool has_worked = rig_switch(rig, false, NULL, &ignored) == 0;

	has_worked &=
		rig_hook(rig, "after_off", settings->after_off, &ignored) == 0;
	cpower_sleep_until(rig,
			   clock_monotonic_ns() + off_ms * CLOCK_NS_PER_MS);
	if (cpower_on(rig, err) == -1)
		return -1;
	has_worked &=
		rig_hook(rig, "after_on", settings->after_on, &ignored) == 0;
	if (is_whole != NULL)
		*is_whole = has_worked;
	return 0;
}

int cpower_ensure(struct rig *rig, bool may_restore, struct err *err)
{
	enum crelay_power power = CRELAY_UNREAD;

	if (rig_read_power(rig, &power, err) == -1)
		return -1;
	if (power != CRELAY_OFF)
		return 0;
	if (!may_restore)
		return err_set(err, "%s is off; switch it on first",
			       rig_settings(rig)->outlet);
	if (rig_switch(rig, true, NULL, err) == -1)
		return -1;
	return rig_hook(rig, "after_on", rig_settings(rig)->after_on, err);
}
