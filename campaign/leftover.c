/* SPDX-License-Identifier: MIT */
#include "campaign/leftover.h"

#include <string.h>

#include "campaign/chost.h"
#include "campaign/cpower.h"
#include "campaign/process.h"
#include "campaign/rig.h"
#include "common/base/err.h"

#define LEFTOVER_ASK_MS 15000

void leftover_take(struct leftover *leftover, const char *step,
		   const json_t *line)
{
	if (strcmp(step, "done") == 0 || strcmp(step, "gone") == 0)
		leftover->pid = 0;
	/* A cycle on a host may be done, and its writer not. */
	if (strcmp(step, "writer ended") == 0 || strcmp(step, "booted") == 0)
		leftover->may_write = false;
	if (strcmp(step, "writer") != 0)
		return;
	leftover->may_write = true;
	leftover->pid = (pid_t)json_integer_value(json_object_get(line, "pid"));
	leftover->birth =
		(uint64_t)json_integer_value(json_object_get(line, "birth"));
}

int leftover_check(const struct leftover *leftover, struct err *err)
{
	if (leftover->pid <= 0 || leftover->birth == 0 ||
	    process_birth(leftover->pid) != leftover->birth)
		return 0;
	return err_set(err,
		       "the writer (process %d) of the cycle that was broken "
		       "off still runs; end it first",
		       (int)leftover->pid);
}

int leftover_end(const struct leftover *leftover, struct rig *rig,
		 uint64_t off_ms, struct err *err)
{
	char boot[CHOST_BOOT_BYTES] = "";
	struct chost_coming coming = {.old_boot = boot, .off_ms = off_ms};
	struct err
		ignored; /* a host that is dark, or hangs: any boot will do */

	if (!csettings_cuts_host(rig_settings(rig)) || !leftover->may_write)
		return 0;
	(void)chost_read_boot(rig, LEFTOVER_ASK_MS, boot, &ignored);
	if (cpower_cycle(rig, off_ms, NULL, err) == -1)
		return -1;
	return chost_await(rig, &coming, err) == CHOST_BOOTED ? 0 : -1;
}
