/* SPDX-License-Identifier: MIT */
/*
 * counters - what a drive says of itself: how often its power came, how often
 * it went without warning, what it has lost.
 *
 * Decodes the JSON of smartctl and of nvme-cli. Every field may be missing, of
 * another type, negative or too large: then the drive does not keep it. Which
 * names stand for what is from smartmontools' ataprint.cpp, nvmeprint.cpp,
 * scsiprint.cpp and drivedb.h, from nvme-cli's smart-log, whose numbers may be
 * strings, and from its plugin for the OCP data center log. Pure.
 */
#ifndef CAMPAIGN_COUNTERS_H
#define CAMPAIGN_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct err;

enum counters_kind {
#define COUNTER(symbol, name, words, is_damage) COUNTERS_##symbol,
#include "campaign/counters.def"
#undef COUNTER
	COUNTERS_KINDS,
};

#define COUNTERS_INPUT_BYTES_MAX (1024 * 1024)

/* All zero: nothing was read. Temperature in degrees Celsius. */
struct counters {
	bool has[COUNTERS_KINDS];
	uint64_t values[COUNTERS_KINDS];
};

enum counters_source {
	COUNTERS_SMARTCTL, /* smartctl --json -a */
	COUNTERS_NVME,     /* nvme smart-log -o json */
	COUNTERS_OCP,      /* nvme ocp smart-add-log -o json */
};

/*
 * Adds to COUNTERS what TEXT holds. -1 where that is no JSON, or nothing that
 * is known; COUNTERS is then as before.
 */
int counters_decode(struct counters *counters, enum counters_source source,
		    const char *text, size_t length, struct err *err);

/* Any field was read. */
bool counters_are_read(const struct counters *counters);

enum counters_move {
	COUNTERS_UNKNOWN, /* not read, or the drive does not keep it: 0 */
	COUNTERS_STOOD,   /* kept, and did not rise */
	COUNTERS_ROSE,
};

/* Zero before and after is what a drive says that does not count. */
enum counters_move counters_moved(const struct counters *before,
				  const struct counters *after,
				  enum counters_kind kind);

const char *counters_name(enum counters_kind kind);
const char *counters_words(enum counters_kind kind);

/*
 * "power cycles 12 -> 13, media errors 0 -> 2": what both know, or only what
 * means damage and rose; "" where there is none. Cut off behind ROOM bytes.
 */
void counters_describe(const struct counters *before,
		       const struct counters *after, bool only_damage,
		       char *text, size_t room);

/* For the journal; only what was read. NULL without memory. */
json_t *counters_encode(const struct counters *counters);
void counters_take(struct counters *counters, const json_t *object);

#endif
