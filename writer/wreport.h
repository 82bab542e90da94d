/* SPDX-License-Identifier: MIT */
/*
 * wreport - plugpull-writer --probe: all that is known of a target before it is
 * tested, for people and as JSON. Nothing is written to it; it is sent one
 * FLUSH, to see whether a driver counts it.
 */
#ifndef WRITER_WREPORT_H
#define WRITER_WREPORT_H

#include <stdio.h>

struct err;
struct wsettings;

/*
 * Prints to TO, or to settings->json, in place of the text where that is "-".
 * 0: a test would begin. 1: it was told why it would be refused. -1 with err:
 * the target could not be looked at.
 */
int wreport_run(const struct wsettings *settings, FILE *to, struct err *err);

#endif
