/* SPDX-License-Identifier: MIT */
/*
 * agentflow - one of the three data streams of a call: from a descriptor into
 * the link at one end, out of the link into a descriptor at the other.
 *
 * Neither side waits, and neither keeps more than a window (agentwire.h).
 */
#ifndef AGENT_AGENTFLOW_H
#define AGENT_AGENTFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/agentwire.h"

struct err;
struct agentlink;

struct agentflow_source {
	enum agentwire_type stream;
	int fd;          /* the caller's */
	uint32_t credit; /* bytes that may still go */
	bool has_ended;  /* and the peer was told */
};

struct agentflow_sink {
	enum agentwire_type stream;
	int fd; /* the caller's */
	size_t start, used;
	uint32_t owed;  /* used up, and not yet given back */
	bool has_ended; /* no more will come */
	bool is_broken; /* nobody reads: the rest is dropped */
	uint8_t bytes[AGENTWIRE_WINDOW];
};

void agentflow_open_source(struct agentflow_source *source,
			   enum agentwire_type stream, int fd);
bool agentflow_wants_read(const struct agentflow_source *source);
/* FD can be read: one read of it goes into a frame. What cannot be read has
 * ended. Returns false where there was nothing. */
bool agentflow_read(struct agentflow_source *source, struct agentlink *link);
void agentflow_credit(struct agentflow_source *source, uint32_t bytes);

void agentflow_open_sink(struct agentflow_sink *sink,
			 enum agentwire_type stream, int fd);
/* The payload of a frame; empty: the end. -1: more than the window. */
int agentflow_take(struct agentflow_sink *sink, const uint8_t *bytes,
		   size_t length, struct err *err);
bool agentflow_wants_write(const struct agentflow_sink *sink);
/* FD can be written: no more than a pipe is sure to take, so that a descriptor
 * that others share can stay a blocking one. */
void agentflow_write(struct agentflow_sink *sink, struct agentlink *link);

#endif
