/* SPDX-License-Identifier: MIT */
#include "campaign/again.h"

#include "campaign/beside.h"
#include "campaign/chost.h"
#include "campaign/cpower.h"
#include "campaign/creturn.h"
#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define AGAIN_ASK_MS 15000

static int verify_until(struct rig *rig, const struct outcome *outcome,
			bool is_second, struct again_answer *answer,
			struct creturn *wait, struct err *err)
{
	const uint64_t deadline_ns =
		wait->begun_ns +
		rig_settings(rig)->return_timeout_ms * CLOCK_NS_PER_MS;

	for (;;) {
		answer->opened_ns = clock_monotonic_ns();
		if (beside_verify(rig, outcome, is_second, &answer->judged,
				  err) == -1)
			return -1;
		if (!beside_target_is_absent(rig, &answer->judged) ||
		    clock_until_ms(deadline_ns) == 0)
			return 0;
		creturn_pause(wait);
		if (rig_is_stopped(rig))
			return err_set(err, "interrupted by a signal");
	}
}

int again_verify(struct rig *rig, const struct outcome *outcome, bool is_second,
		 struct again_answer *answer, struct err *err)
{
	struct creturn wait;
	int rc;

	creturn_begin(&wait, rig);
	rc = verify_until(rig, outcome, is_second, answer, &wait, err);
	if (!creturn_tell(&wait, answer->rescan, sizeof(answer->rescan)))
		answer->rescan[0] = '\0';
	creturn_end(&wait);
	return rc;
}

static enum outcome_second compare(const struct rig *rig,
				   const struct outcome_judged *first,
				   const struct outcome_judged *second)
{
	if (second->verdict == OUTCOME_KEPT)
		return OUTCOME_HEALED;
	if (first->verdict == OUTCOME_GONE &&
	    beside_device_is_missing(rig, second))
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

/* The host is another boot again: the power cycle was one. */
static bool host_is_back(struct rig *rig, const char *old_boot, uint64_t off_ms)
{
	struct chost_coming coming = {.old_boot = old_boot, .off_ms = off_ms};
	struct err ignored; /* what cannot be seen is unknown */

	return !csettings_cuts_host(rig_settings(rig)) ||
	       chost_await(rig, &coming, &ignored) == CHOST_BOOTED;
}

static enum outcome_second look(struct rig *rig, const struct outcome *outcome)
{
	struct again_answer second;
	struct err ignored; /* what cannot be seen is unknown */

	if (again_verify(rig, outcome, true, &second, &ignored) == -1)
		return OUTCOME_UNKNOWN;
	return compare(rig, &outcome->judged, &second.judged);
}

int again_look(struct rig *rig, const struct outcome *outcome, uint64_t off_ms,
	       enum outcome_second *second, struct err *err)
{
	char boot[CHOST_BOOT_BYTES] = "";
	struct err ignored; /* without it any boot will do */
	bool is_whole = false;

	*second = OUTCOME_UNKNOWN;
	if (csettings_cuts_host(rig_settings(rig)))
		(void)chost_read_boot(rig, AGAIN_ASK_MS, boot, &ignored);
	if (cpower_cycle(rig, off_ms, &is_whole, err) == -1)
		return -1;
	if (is_whole && host_is_back(rig, boot, off_ms))
		*second = look(rig, outcome);
	return 0;
}
