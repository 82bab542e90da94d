/* SPDX-License-Identifier: MIT */
/*
 * tracereplay - plays the trace of a simulated drive over an image of its
 * media, by docs/FORMATS.md alone: it shares no code with what wrote the trace.
 *
 * It refuses a trace that contradicts itself, as an honest witness cannot: a
 * number used twice, content on the media that no write brought, an older write
 * of a block on the media behind a newer one, a wrong read where no scar was
 * told, a scar that outlives its time.
 */
#ifndef TESTS_FAKE_TRACEREPLAY_H
#define TESTS_FAKE_TRACEREPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct tracereplay;

enum {
	REPLAY_ON = 1,
	REPLAY_WRITE = 2,
	REPLAY_WRITE_DONE = 3,
	REPLAY_FLUSH = 4,
	REPLAY_FLUSH_DONE = 5,
	REPLAY_TO_MEDIA = 6,
	REPLAY_DAMAGE = 7,
	REPLAY_CUT = 8,
	REPLAY_PARTIAL = 9,
	REPLAY_SCAR = 10,
	REPLAY_READ_WRONG = 11,
	REPLAY_STOP = 12,
	REPLAY_TYPES = 13,
};

enum {
	REPLAY_SCAR_NONE = 0,
	REPLAY_SCAR_ERROR = 1,
	REPLAY_SCAR_HANGS = 2,
	REPLAY_SCAR_DEAD = 3,
	REPLAY_SCAR_STALE = 4,
	REPLAY_SCAR_HEALED = 5,
};

/* MEDIA is what they held before the first event; it is copied. NULL: zeroes.
 */
struct tracereplay *tracereplay_new(const uint8_t *media, uint64_t size_bytes);
void tracereplay_free(struct tracereplay *replay);

/* Whole events. -1: the trace is not to be believed, and why. */
int tracereplay_feed(struct tracereplay *replay, const uint8_t *bytes,
		     size_t length, struct err *err);

const uint8_t *tracereplay_media(const struct tracereplay *replay);
/* What a read of an honest drive answers: newest writes over the media. */
const uint8_t *tracereplay_view(const struct tracereplay *replay);
uint64_t tracereplay_count(const struct tracereplay *replay, int type);
bool tracereplay_is_on(const struct tracereplay *replay);

/* The worst that a read of this range must meet: NONE, ERROR, HANGS, DEAD. */
int tracereplay_scar(const struct tracereplay *replay, uint64_t offset_bytes,
		     size_t length);

/* Is ANSWER what the drive holds, but for what READ_WRONG told since the last
 * such question? */
bool tracereplay_explains(struct tracereplay *replay, const uint8_t *answer,
			  size_t length, uint64_t offset_bytes);

#endif
