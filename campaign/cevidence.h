/* SPDX-License-Identifier: MIT */
/*
 * cevidence - asks for what shows that the power was cut: the drive's own
 * counters, by smartctl or nvme, and what the kernel of this machine says of a
 * block device. Decides nothing; gates.h does.
 */
#ifndef CAMPAIGN_CEVIDENCE_H
#define CAMPAIGN_CEVIDENCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "campaign/csettings.h"
#include "campaign/outcome.h"

struct rig;

/* Which commands have answered so far, so that none is asked in vain at each
 * cycle. In the rig; all zero at first. */
struct cevidence_memory {
	bool is_settled, has_no_ocp;
	enum csettings_counters source; /* once settled */
};

/* Before the writer starts. */
void cevidence_before(struct rig *rig, struct outcome *outcome);

/* When the drive is back. What cannot be read is left empty. */
void cevidence_after(struct rig *rig, struct outcome *outcome);

/* The counters alone, as they are now. */
void cevidence_read_counters(struct rig *rig, struct counters *counters);

/*
 * Of the block device NUMBER below ROOT ("/sys/dev/block"): the kernel's
 * sequence number (0: unknown), which no two devices share since boot, and the
 * text of queue/write_cache ("": unknown). A partition has those of its drive.
 */
void cevidence_read_device(const char *root, dev_t number, uint64_t *diskseq,
			   char cache[OUTCOME_WORD_BYTES]);

#endif
