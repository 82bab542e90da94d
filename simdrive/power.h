/* SPDX-License-Identifier: MIT */
/*
 * power - how a model loses its power, in a cut or in good order, and what it
 * takes over into its next life beside the media. Pure, as the model is.
 */
#ifndef SIMDRIVE_POWER_H
#define SIMDRIVE_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simdrive/damage.h"

struct err;
struct model;

/*
 * The power is on for the first time, or again after a cut: a new life begins
 * and is told. IS_FRESH: no scar and no death of an earlier life, of which a
 * trace may tell, is carried over. Only who wants a trace needs it.
 */
void power_on(struct model *model, bool is_fresh);

/*
 * The power is cut while COUNT writes are in flight. What is in the cache is
 * lost, a write that was being drained or was in flight may be there in part,
 * and the faults do their damage. Afterwards the model is the drive as it is
 * when the power is back. 0, or -errno of the media.
 */
int power_cut(struct model *model, const struct damage_write *in_flight,
	      size_t count, uint64_t now_ns);

/* Drains everything, as a drive does that is switched off in good order. */
int power_stop(struct model *model);

/*
 * What outlives a cut: chance, counters, death and scars. Saving stores at most
 * POWER_STATE_BYTES_MAX and returns how many; loading is for a model that has
 * not been used yet.
 *
 * Format (little endian): magic 8, version 4, CRC32C of all that follows 4,
 * generator 8, writes 8, reads 8, flushes 8, FUA writes 8, cuts 8, dead 4,
 * zero 12, scars.
 */
#define POWER_STATE_BYTES_MAX (5 * 1024 * 1024)
size_t power_save_state(const struct model *model, uint8_t *buffer);
int power_load_state(struct model *model, const uint8_t *buffer, size_t length,
		     struct err *err);

#endif
