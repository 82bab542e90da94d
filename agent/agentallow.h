/* SPDX-License-Identifier: MIT */
/*
 * agentallow - what may run at a controller's word, and nothing else.
 *
 * The writer and the verifier, from one folder; smartctl and nvme where they
 * only read, from the system's folders; and the boot's id. Programs are named
 * without a path. There is no shell anywhere.
 */
#ifndef AGENT_AGENTALLOW_H
#define AGENT_AGENTALLOW_H

#include <limits.h>
#include <stdbool.h>

#include "common/format/agentwire.h"

struct err;

struct agentallow {
	char path[PATH_MAX]; /* to be executed with the words as they are */
	bool uses_drive;     /* it reads or writes the drive under test */
};

enum agentallow_answer {
	AGENTALLOW_YES,
	AGENTALLOW_REFUSED, /* err says what */
	AGENTALLOW_MISSING, /* it would be allowed, but is not installed */
};

/* WORDS are hostile; FOLDER has the programs. */
enum agentallow_answer agentallow_check(const struct agentwire_words *words,
					const char *folder,
					struct agentallow *allow,
					struct err *err);

#endif
