/* SPDX-License-Identifier: MIT */
/*
 * A line of a kernel trace, in which programs have their names, is an event of
 * ours or nothing, and the sums never go beyond the lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/target/traceline.h"

#define LINE_BYTES 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct traceline *line)
{
	struct traceline_sums sums = {0};
	uint64_t told;

	traceline_add(&sums, line);
	told = sums.flushes_issued + sums.flushes_completed +
	       sums.flushes_failed + sums.fua_issued + sums.fua_completed +
	       sums.fua_failed + sums.repeated + sums.commands + sums.retried;
	if (told !=
	    (line->kind != TRACELINE_OTHER && line->kind != TRACELINE_LOST))
		abort();
	if ((line->kind == TRACELINE_LOST) != (sums.lost > 0))
		abort();
	if (line->kind == TRACELINE_ISSUED && line->what == TRACELINE_ELSE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct traceline line;
	char text[LINE_BYTES];

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	traceline_parse(text, &line);
	check(&line);
	return 0;
}
