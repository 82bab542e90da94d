/* SPDX-License-Identifier: MIT */
/*
 * acklink - where acknowledgements go: a collector, or a log file of our own.
 *
 * Moves payloads out of an ackstore and marks there what is safe (P2). It
 * decides nothing about what to do when the collector is lost: acklink_pump()
 * says so, acklink_reopen() tries once. One thread uses a link at a time; the
 * store is shared, under the mutex.
 */
#ifndef WRITER_ACKLINK_H
#define WRITER_ACKLINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "writer/ackclient.h"

struct acklink;
struct ackstore;

struct acklink *acklink_open(const struct ackclient_setup *setup,
			     struct ackclient_before *before, struct err *err);
int acklink_close(struct acklink *link, struct err *err);

/*
 * Gives out what STORE has and takes confirmations until DEADLINE_NS. 0, or -1:
 * the link is lost (a file: for good, see acklink_can_reopen()).
 */
int acklink_pump(struct acklink *link, struct ackstore *store,
		 pthread_mutex_t *mutex, uint64_t deadline_ns, struct err *err);

bool acklink_can_reopen(const struct acklink *link);
/* HAS_BEGUN: the log exists, so this run is resumed. */
int acklink_reopen(struct acklink *link, bool has_begun, uint64_t deadline_ns,
		   struct err *err);

#endif
