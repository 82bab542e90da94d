/* SPDX-License-Identifier: MIT */
/*
 * writer - one cycle from the command line to its end: opens the drive and the
 * log, prepares the region of a new run, starts the streams, watches them, and
 * puts on record how it ended.
 *
 * Nothing numbered is written before the log holds the run, the cycle and the
 * first reservation.
 */
#ifndef WRITER_WRITER_H
#define WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/format/ackbody.h"
#include "common/format/run.h"
#include "writer/wdrive.h"
#include "writer/wflush.h"
#include "writer/wgone.h"
#include "writer/wsettings.h"

struct err;
struct wstop;

struct writer_result {
	bool has_begun; /* numbered writes were possible: the rest holds */
	struct run run;
	struct ackbody_cycle cycle;
	uint64_t writes; /* completed in full */
	uint64_t issued, durable, flushes;
	uint64_t in_flight;       /* when it stopped */
	uint64_t confirmed;       /* durable writes that stand in the log */
	struct histogram latency; /* from durable to confirmed */
	uint64_t writing_ns;
	bool is_gone;
	struct wgone_words gone;
	struct wdrive_words drive;
	struct wflush_words flush;
};

/*
 * STOP is initialised; a signal handler may ask through it. 0: stopped as told;
 * -1: anything else. RESULT is filled as far as it came in both cases.
 */
int writer_run(const struct wsettings *settings, struct wstop *stop,
	       struct writer_result *result, struct err *err);

#endif
