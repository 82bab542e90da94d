/* SPDX-License-Identifier: MIT */
/*
 * wsettings - what was asked for on the command line, and what run and cycle
 * follow from it. Checks and computes; opens nothing but the key file.
 */
#ifndef WRITER_WSETTINGS_H
#define WRITER_WSETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "common/format/run.h"
#include "common/target/target.h"

struct ackclient_before;
struct err;

#define WSETTINGS_BUFFERS_MAX (48ULL * 1024 * 1024)

struct wsettings_given { /* what a resumed run must not be told otherwise */
	bool offset, size, block_size, pattern, streams, seed, fill, no_fill;
};

struct wsettings {
	const char *target, *collector, *key, *acklog, *run_text;
	const char *pattern_text, *sync_text, *erase, *json;
	const char *engine_text, *write_cache_text; /* NULL: as it is */
	uint64_t offset_bytes, size_bytes, block_bytes;
	uint64_t queue_depth, streams, seed;
	uint64_t runtime_ms, count; /* 0: no limit */
	uint64_t ack_timeout_ms, drain_timeout_ms;
	bool is_filled;
	bool wants_list;  /* nothing else is to be done */
	bool wants_probe; /* likewise */
	bool wants_trace, accepts_elision;
	struct wsettings_given given;

	/* From the texts, by wsettings_check(). */
	enum run_pattern pattern;
	enum ackbody_sync sync;
	uint64_t sync_value;
	enum target_engine engine;
	bool has_write_cache, wants_cache_on;
	uint8_t run_id[RUN_ID_BYTES];
	bool is_resume;
};

void wsettings_init(struct wsettings *settings);

/* What can be said before anything is opened. Draws the run id and, where it
 * was not given, the seed of a new run. */
int wsettings_check(struct wsettings *settings, struct err *err);

/* The run that SETTINGS ask for on a target like INFO. */
int wsettings_new_run(const struct wsettings *settings,
		      const struct target_info *info, struct run *run,
		      struct err *err);

/* Refuses by name whatever was given and differs from the run in the log. */
int wsettings_resume_run(const struct wsettings *settings,
			 const struct target_info *info, const struct run *run,
			 struct err *err);

/* The cycle that follows what the log says already. Refuses what TARGET or
 * memory cannot do. */
int wsettings_cycle(const struct wsettings *settings,
		    const struct target_info *info, const struct run *run,
		    const struct ackclient_before *before,
		    struct ackbody_cycle *cycle, struct err *err);

/* Where STREAM ends: its share of --count; UINT64_MAX without. */
uint64_t wsettings_last_sequence(const struct wsettings *settings,
				 const struct ackbody_cycle *cycle,
				 uint16_t stream);

#endif
