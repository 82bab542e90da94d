/* SPDX-License-Identifier: MIT */
/*
 * syncers - make many logs durable at once.
 *
 * A disk takes about as long for many files as for one, if it is asked for all
 * of them together; asked one after the other, each writer waits for all the
 * others. Where syncing costs next to nothing (a file system in memory), or
 * where threads cannot be had, it is done here, one by one.
 */
#ifndef COLLECTOR_SYNCERS_H
#define COLLECTOR_SYNCERS_H

#include <stddef.h>

#include "common/base/err.h"

struct ackfile;
struct syncers;

#define SYNCERS_THREADS 15 /* and the caller itself */

struct syncers_job {
	struct ackfile *file; /* each file once */
	int result;           /* filled: as ackfile_sync(), and why */
	struct err err;
};

struct syncers *syncers_new(struct err *err);
void syncers_free(struct syncers *syncers); /* NULL is allowed */

/* Returns when every job has its result. Threads are started when they are
 * needed first, with the caller's signal mask. */
void syncers_run(struct syncers *syncers, struct syncers_job *jobs,
		 size_t count);

#endif
