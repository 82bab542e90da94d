/* SPDX-License-Identifier: MIT */
/*
 * smallmodel_past - questions to what has happened in a small experiment.
 */
#ifndef TESTS_FAKE_SMALLMODEL_PAST_H
#define TESTS_FAKE_SMALLMODEL_PAST_H

#include "tests/fake/smallmodel.h"

/* Is a write to SLOT in flight? Two never are. */
bool smallmodel_past_is_busy(const struct small_past *past, unsigned int slot);

/* The writes of STREAM that a flush submitted now would cover. */
unsigned int smallmodel_past_covered(const struct small_past *past,
				     uint16_t stream);

/* A flush that covers nothing new is not sent. */
bool smallmodel_past_wants_flush(const struct small_past *past,
				 uint16_t stream);

/* Of everything that makes a difference behind a cut of PAST in WORLD. */
uint64_t smallmodel_past_hash(const struct small_past *past,
			      unsigned int world);

/* Of what can be on the drive, and what must be. */
uint64_t smallmodel_past_hash_writes(const struct small_past *past);

#endif
