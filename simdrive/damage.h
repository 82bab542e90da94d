/* SPDX-License-Identifier: MIT */
/*
 * damage - what the faults do to a drive at the moment its power is cut.
 *
 * Pure but for the media callbacks. Damage falls on writes that are durable
 * and that nothing newer has replaced, so that it is always a broken promise;
 * the oldest one remembered is hit first, since its acknowledgement has surely
 * left the drive. The first and the last SPARE_BYTES of the media are left
 * alone. All chance comes from the scene's generator.
 */
#ifndef SIMDRIVE_DAMAGE_H
#define SIMDRIVE_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;
struct faults;
struct history;
struct media;
struct prng;
struct scars;
struct trace_sink;

/* A write on its way. */
struct damage_write {
	const uint8_t *data;
	size_t length;
	uint64_t offset_bytes;
	bool is_fua; /* of one in flight; model_write() is told by itself */
};

struct damage_scene {
	const struct media *media;
	const struct cache *cache; /* as it was when the power fell */
	struct history *history;
	struct scars *scars;
	struct prng *prng;
	const struct trace_sink *trace;
	uint8_t *scratch; /* HISTORY_WRITE_BYTES_MAX */
	uint32_t block_bytes;
	uint64_t spare_bytes;
	uint64_t promised_request; /* cached writes up to it were flushed */
	const struct damage_write *in_flight;
	size_t in_flight_count;
};

/*
 * tears-in-flight: how many of the writes in flight, from the first, it has
 * dealt with and nobody else may apply; or -errno of the media.
 */
int damage_in_flight(const struct damage_scene *scene,
		     const struct faults *faults);

/* All other faults. 0, or -errno of the media. */
int damage_at_cut(const struct damage_scene *scene,
		  const struct faults *faults);

#endif
