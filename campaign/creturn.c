/* SPDX-License-Identifier: MIT */
#include "campaign/creturn.h"

#include <stdio.h>
#include <string.h>

#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/target/uevent.h"

#define SYSFS        "/sys"
#define PAUSE_MS     50 /* the first, and all where nothing is heard */
#define PAUSE_MS_MAX 400
#define STEP_MS      50 /* a signal is seen so late */
#define FIRST_MS     3000
#define SECOND_MS    12000
#define RESCANS_MAX  2

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

void creturn_begin(struct creturn *wait, struct rig *rig)
{
	const struct csettings *settings = rig_settings(rig);

	*wait = (struct creturn){.rig = rig, .pause_ms = PAUSE_MS};
	wait->begun_ns = clock_monotonic_ns();
	wait->is_here = (has_prefix(settings->target, "/dev/") ||
			 has_prefix(settings->target, "id:")) &&
			settings->verifier[0] == '\0' &&
			!csettings_cuts_host(settings);
	if (wait->is_here)
		wait->listener = uevent_listen();
}

void creturn_end(struct creturn *wait)
{
	uevent_listener_free(wait->listener);
	wait->listener = NULL;
}

/*
 * The names are those of Linux, Documentation/ABI: "- - -" is every channel,
 * target and unit of a SCSI host. What is not there needs no scan.
 */
void creturn_script(const char *sysfs, char script[CRETURN_SCRIPT_BYTES])
{
	(void)snprintf(script, CRETURN_SCRIPT_BYTES,
		       "rc=0\n"
		       "for scan in '%.300s'/class/scsi_host/host*/scan; do\n"
		       "	[ -e \"$scan\" ] || continue\n"
		       "	echo '- - -' >\"$scan\" || rc=1\n"
		       "done\n"
		       "scan='%.300s'/bus/pci/rescan\n"
		       "[ ! -e \"$scan\" ] || echo 1 >\"$scan\" || rc=1\n"
		       "exit $rc\n",
		       sysfs, sysfs);
}

static void scan_again(struct creturn *wait)
{
	static const uint64_t due_ms[RESCANS_MAX] = {FIRST_MS, SECOND_MS};
	const uint64_t waited_ms =
		(clock_monotonic_ns() - wait->begun_ns) / CLOCK_NS_PER_MS;
	char script[CRETURN_SCRIPT_BYTES];

	if (!wait->is_here || !rig_settings(wait->rig)->rescan ||
	    wait->rescans == RESCANS_MAX || waited_ms < due_ms[wait->rescans])
		return;
	wait->rescans++;
	wait->trouble.text[0] = '\0';
	creturn_script(SYSFS, script);
	(void)rig_hook(wait->rig, "rescan", script, &wait->trouble);
}

/* A device that came, or got its medium or size. */
static bool is_welcome(const struct uevent *event)
{
	return event->is_block &&
	       (event->action == UEVENT_ADD || event->action == UEVENT_CHANGE);
}

void creturn_pause(struct creturn *wait)
{
	uint64_t deadline_ns;
	struct uevent event;

	scan_again(wait);
	deadline_ns = clock_monotonic_ns() + wait->pause_ms * CLOCK_NS_PER_MS;
	if (wait->listener != NULL && wait->pause_ms < PAUSE_MS_MAX)
		wait->pause_ms *= 2;
	while (!rig_is_stopped(wait->rig)) {
		int left_ms = clock_until_ms(deadline_ns);

		if (left_ms == 0)
			return;
		if (uevent_next(wait->listener,
				left_ms < STEP_MS ? left_ms : STEP_MS,
				&event) &&
		    is_welcome(&event)) {
			wait->pause_ms = PAUSE_MS;
			return;
		}
	}
}

bool creturn_tell(const struct creturn *wait, char *text, unsigned int room)
{
	if (wait->rescans == 0)
		return false;
	(void)snprintf(text, room,
		       "the drive was missing: SCSI hosts and PCI were scanned "
		       "again, %u times%s%.150s",
		       wait->rescans, wait->trouble.text[0] == '\0' ? "" : ": ",
		       wait->trouble.text);
	return true;
}
