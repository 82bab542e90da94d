/* SPDX-License-Identifier: MIT */
/*
 * program - runs another program until its end or a deadline, without a shell,
 * and keeps what it says.
 *
 * It has a process group of its own, which is killed where the deadline passes:
 * nothing of it goes on to switch anything later.
 */
#ifndef RELAY_PROGRAM_H
#define RELAY_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define PROGRAM_OUTPUT_BYTES 4096 /* more is dropped */

struct program_said {
	int status;                        /* of exit; 128 and a signal */
	char output[PROGRAM_OUTPUT_BYTES]; /* stdout, up to its first NUL */
	char complaint[PROGRAM_OUTPUT_BYTES];
};

/* ARGV[0] is a path, or found by PATH; ends with NULL. 0 where it has ended,
 * whatever its status; -1 where it could not be run or was killed. */
int program_run(char *const argv[], uint64_t deadline_ns,
		struct program_said *said, struct err *err);

#endif
