/* SPDX-License-Identifier: MIT */
/*
 * ackflushes - the content of the statement FLUSHES (docs/FORMATS.md).
 *
 * A fast drive completes ten thousands of flushes per second. One by one each
 * would cost the log its absolute time and numbers; behind one another they
 * cost their differences. Nothing is merged: each keeps its number and times.
 */
#ifndef COMMON_FORMAT_ACKFLUSHES_H
#define COMMON_FORMAT_ACKFLUSHES_H

#include <stdbool.h>

#include "common/format/ackbody.h"

struct ackbytes_sink;
struct ackbytes_source;

/* May NEXT stand behind BEFORE in one statement? */
bool ackflushes_follows(const struct ackbody_flush *before,
			const struct ackbody_flush *next);

/* What ackbody.h says of FLUSHES is asserted. */
void ackflushes_put(struct ackbytes_sink *sink,
		    const struct ackbody_flushes *flushes);
/* Where the source is bad FLUSHES holds nothing of use. */
void ackflushes_get(struct ackbytes_source *source,
		    struct ackbody_flushes *flushes);

#endif
