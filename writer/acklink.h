/* SPDX-License-Identifier: MIT */
/*
 * acklink - where acknowledgements go: a collector, or a log file of our own.
 *
 * Moves payloads out of an ackstore and marks there what is safe (P2). It
 * decides nothing about what to do when the collector is lost: acklink_give()
 * and acklink_take() say so, acklink_reopen() tries once. One thread uses a
 * link at a time; the store is shared, under the mutex.
 */
#ifndef WRITER_ACKLINK_H
#define WRITER_ACKLINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "writer/ackclient.h"

struct acklink;
struct ackstore;

struct acklink_wait {
	uint64_t deadline_ns; /* monotonic */
	int wake_fd;
};

struct acklink *acklink_open(const struct ackclient_setup *setup,
			     struct ackclient_before *before, struct err *err);
int acklink_close(struct acklink *link, struct err *err);

/*
 * Both: -1 where the link is lost (a file: for good, see acklink_can_reopen()).
 * The first gives out what STORE has, as far as it is taken: 1 if anything was;
 * a file has confirmed it then. The second waits for a confirmation until
 * DEADLINE_NS, or until WAKE_FD (-1: none) can be read.
 */
int acklink_give(struct acklink *link, struct ackstore *store,
		 pthread_mutex_t *mutex, struct err *err);
int acklink_take(struct acklink *link, struct ackstore *store,
		 pthread_mutex_t *mutex, const struct acklink_wait *wait,
		 struct err *err);

bool acklink_can_reopen(const struct acklink *link);
/* HAS_BEGUN: the log exists, so this run is resumed. */
int acklink_reopen(struct acklink *link, bool has_begun, uint64_t deadline_ns,
		   struct err *err);

#endif
