/* SPDX-License-Identifier: MIT */
/*
 * agentcall - the controller's end: waits for the agent to dial in, has it run
 * one program, and is that program to whoever started this one.
 *
 * Strangers who connect without the key, or say nothing, are passed over while
 * it waits. Behind the agent's HELLO nobody else is heard.
 */
#ifndef AGENT_AGENTCALL_H
#define AGENT_AGENTCALL_H

#include <signal.h>
#include <stdint.h>

struct err;
struct channel_key;

struct agentcall_config {
	const char *address;
	const struct channel_key *key; /* NULL: plain */
	uint64_t timeout_ms;           /* for the agent to dial in */
	char *const *words;
	size_t count;
	void (*say)(const char *line);
	const volatile sig_atomic_t *stop; /* how many times it was asked */
	const sigset_t *wait_mask;
};

/* The program's exit status, 128 and the signal that ended it, or -1: the
 * connection is lost, there was no agent, or STOP was raised twice. */
int agentcall_run(const struct agentcall_config *config, struct err *err);

#endif
