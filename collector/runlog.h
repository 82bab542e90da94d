/* SPDX-License-Identifier: MIT */
/*
 * runlog - the logs that are in use, one for each run: who holds a run, what
 * its ledger says, what was appended and what is safe.
 *
 * A statement is tried against the run's ledger before it is appended, so that
 * no log ever holds what cannot be true (P9), and counts as safe only after
 * runlog_commit_all() (P2). What a run is told between two commits becomes one
 * frame. A log that could not be written is dead: it takes no more, and the
 * next claim of its run opens and repairs the file afresh.
 */
#ifndef COLLECTOR_RUNLOG_H
#define COLLECTOR_RUNLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackproto.h"

struct err;
struct runlog;
struct runlog_set;

#define RUNLOG_MAX 256 /* in use at once */

/* SAY gets one line for each thing a person should know; it may not fail. */
typedef void runlog_say(const char *line);

/* The directory is made if it is not there (its parent must be). */
struct runlog_set *runlog_set_new(const char *dir, runlog_say *say,
				  struct err *err);
void runlog_set_free(struct runlog_set *set); /* NULL is allowed */

/*
 * Takes a place at the run that HELLO names: opens and repairs its log if
 * nobody had it open. NULL with the reason to refuse, or with *IS_BUSY true
 * where only another writer is in the way.
 */
struct runlog *runlog_claim(struct runlog_set *set,
			    const struct ackproto_hello *hello, bool *is_busy,
			    struct err *err);
/* Gives the place of a claim in MODE back; the last one closes the log. */
void runlog_release(struct runlog_set *set, struct runlog *runlog,
		    enum ackproto_mode mode);

/* What a client that claimed in MODE is told. */
void runlog_fill_welcome(const struct runlog *runlog, enum ackproto_mode mode,
			 struct ackproto_welcome *welcome);

/*
 * Tries every body, then puts the payload into the run's next frame. -1:
 * nothing of it will be in the log; either it cannot be true and the run goes
 * on without it, or the run is dead.
 */
int runlog_append(struct runlog_set *set, struct runlog *runlog,
		  const uint8_t *payload, uint32_t length, struct err *err);
/* Makes everything appended to any run durable. A run for which that fails is
 * dead from then on, and no other. */
void runlog_commit_all(struct runlog_set *set);

bool runlog_is_dead(const struct runlog *runlog);
const char *runlog_reason(const struct runlog *runlog); /* why it is dead */
const char *runlog_name(const struct runlog *runlog);   /* the run's id */

#endif
