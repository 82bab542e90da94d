/* SPDX-License-Identifier: MIT */
/*
 * scan - reads every slot of the region once, with many threads and several
 * big reads in flight each, and judges what it reads.
 *
 * It decides nothing itself: expect.c says what was promised, judge.c what
 * that means, reader.c what an error means. What does not answer is asked for
 * a second time when everything has been read (P9). The outcome does not depend
 * on the number of threads. Memory does not grow with the region.
 */
#ifndef VERIFIER_SCAN_H
#define VERIFIER_SCAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "verifier/findings.h"
#include "verifier/reader.h"

struct changes_map;
struct err;
struct evidence;
struct seen;
struct target_queue;

#define SCAN_THREADS_MAX   64
#define SCAN_CHUNK_BYTES   (1024 * 1024)
#define SCAN_FLIGHTS_MAX   4 /* reads of a thread in flight */
#define SCAN_DEPTH_MAX     (SCAN_FLIGHTS_MAX + READER_HUNG_MAX)
#define SCAN_BUFFERS_BYTES (16 * 1024 * 1024) /* of all threads together */

struct scan {
	struct reader *reader;
	const struct ledger *ledger;
	const struct schedule *schedules;
	struct evidence *evidence;
	struct findings *findings;
	struct tally *tally;
	struct seen *seen;           /* by the probe; NULL: nothing */
	struct changes_map *answers; /* added to; NULL: not kept */
	unsigned int threads;
	/* Idle, of at least SCAN_DEPTH_MAX, or NULL: taken, and closed. Closing
	 * one takes the kernel some 25 ms. */
	struct target_queue *queue;

	/* Filled by scan_region(). */
	uint64_t unscanned_bytes; /* never read, for the reader's reasons */

	/* Its own. */
	pthread_mutex_t lock; /* of findings */
	uint64_t chunk_slots, chunks;
	unsigned int flights;
	atomic_uint_fast64_t next_chunk;
	uint64_t done_slots;
	atomic_uint put_off_count; /* slots that did not answer (weigher.h) */
	uint64_t put_off[READER_SUSPECTS_MAX];
};

/* -1 only where the scan itself could not run. Trouble with reads is in the
 * reader, findings and tally. */
int scan_region(struct scan *scan, struct err *err);

#endif
