/* SPDX-License-Identifier: MIT */
/*
 * agentguests - who connects while a call waits: the first who has the key and
 * says HELLO is the agent.
 */
#ifndef AGENT_AGENTGUESTS_H
#define AGENT_AGENTGUESTS_H

#include "agent/agentcall.h"

struct err;
struct agentlink;

#define AGENTGUESTS_MAX       8    /* at once; the oldest makes room */
#define AGENTGUESTS_SILENT_MS 5000 /* then a guest is sent away */

/* Listens until CONFIG's timeout; NULL where nobody came, or STOP was raised.
 * The address is free again when it returns. */
struct agentlink *agentguests_wait(const struct agentcall_config *config,
				   struct err *err);

#endif
