/* SPDX-License-Identifier: MIT */
/*
 * smallmodel_export - ends of small experiments as lines of text, for a judge
 * that shares no code with the verifier (tests/oracle/small.py). A line is
 *
 *   R HEX                 a world: the run's description
 *   A NUMBER HEX|WORD     what an atom can hold: its bytes, or why none are had
 *   L HEX|- S:N ...       the ack log, or none; numbers issued in each stream
 *   M NUMBERS CLASSES COMPLETED SHADOW JUDGED LOG MEDIA STATUS ATOMS WRITES
 *                         an end: the atoms in order, and what was made of it
 */
#ifndef TESTS_FAKE_SMALLMODEL_EXPORT_H
#define TESTS_FAKE_SMALLMODEL_EXPORT_H

#include <stdio.h>

#include "tests/fake/smallmodel.h"

void smallmodel_export_world(FILE *to, const struct small_world *world);
void smallmodel_export_log(FILE *to, const struct small_world *world,
			   const struct small_past *past,
			   const struct small_log *log);
void smallmodel_export_end(FILE *to, struct small_world *world,
			   const struct small_media *media,
			   const struct small_outcome *outcome);

#endif
