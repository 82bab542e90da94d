/* SPDX-License-Identifier: MIT */
/*
 * vreport - the verdict as text: one line a finding, the counts, the verdict.
 *
 * Lines are stable, so that scripts can search them; new facts get new lines.
 */
#ifndef VERIFIER_VREPORT_H
#define VERIFIER_VREPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "verifier/conclude.h"

#define VREPORT_FINDINGS 20 /* unless all are asked for */

void vreport_print(const struct result *result, bool wants_all, FILE *to);

#endif
