/* SPDX-License-Identifier: MIT */
/*
 * inflight - the writes that have reached the drive's door and are not done: a
 * table of its own, so that a cut finds those that wait for the model.
 *
 * Thread-safe. It owns nothing: an entry lies on the stack of its thread.
 */
#ifndef SIMDRIVE_INFLIGHT_H
#define SIMDRIVE_INFLIGHT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "simdrive/damage.h"

struct inflight {
	struct damage_write write;
	struct inflight *next, **link; /* private */
};

struct inflight_table {
	pthread_mutex_t lock;
	struct inflight *first; /* private */
};

void inflight_enter(struct inflight_table *table, struct inflight *entry);
void inflight_leave(struct inflight_table *table, const struct inflight *entry);
bool inflight_is_any(struct inflight_table *table);

/* Stores at most COUNT_MAX of them and closes the table for ever: nobody enters
 * or leaves any more. Returns how many. */
size_t inflight_seize(struct inflight_table *table, struct damage_write *writes,
		      size_t count_max);

#endif
