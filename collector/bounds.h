/* SPDX-License-Identifier: MIT */
/*
 * bounds - an ack log, condensed into a file or onto standard output.
 */
#ifndef COLLECTOR_BOUNDS_H
#define COLLECTOR_BOUNDS_H

#include "common/ackfile/condense.h"

struct err;

/*
 * Condenses the log LOG, which may be open in a collector and grow: what was in
 * it at first is taken. OUTPUT is a file that must not exist, and is there only
 * where all of it was written; "-" or NULL is standard output, where a partial
 * log may have gone before a -1: it is then without its end (condense.h).
 */
int bounds_write(const char *log, const char *output,
		 struct condense_facts *facts, struct err *err);

#endif
