/* SPDX-License-Identifier: MIT */
/*
 * agentchild - the program that runs for a call: its pipes, and its end.
 *
 * It has a process group of its own, and is told to end when this process dies.
 * A program that waits for its drive cannot be ended by anybody: then that is
 * told, and whoever would start another one must look at agentchild_is_there().
 */
#ifndef AGENT_AGENTCHILD_H
#define AGENT_AGENTCHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/format/agentwire.h"

struct err;

#define AGENTCHILD_GRACE_MS 10000 /* between SIGTERM and SIGKILL */

struct agentchild {
	pid_t pid; /* 0: there is none */
	int pid_fd;
	int in_fd, out_fd, err_fd; /* our ends, non-blocking; -1: closed */
	uint64_t kill_ns;          /* when to send SIGKILL; 0: not asked */
	bool is_killed;            /* SIGKILL was sent */
	bool has_ended;            /* exit is filled, and it is reaped */
	struct agentwire_exit exit;
	char name[64];
};

int agentchild_start(struct agentchild *child, const char *path,
		     const struct agentwire_words *words, struct err *err);

/* SIGTERM now, SIGKILL by agentchild_look() when its time has come. */
void agentchild_end(struct agentchild *child);
/* Reaps, and kills when it is time. */
void agentchild_look(struct agentchild *child);
bool agentchild_is_there(const struct agentchild *child);
/* It was killed and is there all the same, in uninterruptible sleep. */
bool agentchild_is_blocked(const struct agentchild *child);

void agentchild_close_in(struct agentchild *child);
/* Closes what is left of its pipes; it may still run. */
void agentchild_close(struct agentchild *child);

#endif
