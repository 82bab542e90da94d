/* SPDX-License-Identifier: MIT */
/*
 * process - what /proc tells of a process, ours or not.
 */
#ifndef CAMPAIGN_PROCESS_H
#define CAMPAIGN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When PID started, in the kernel's ticks; 0 where there is none (any more).
 * Together with the pid it names a process for good. */
uint64_t process_birth(pid_t pid);

/* A thread of it waits for a device in a way that no signal ends. */
bool process_is_blocked(pid_t pid);

#endif
