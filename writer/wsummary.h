/* SPDX-License-Identifier: MIT */
/*
 * wsummary - what the writer says on stdout, and its --json file.
 */
#ifndef WRITER_WSUMMARY_H
#define WRITER_WSUMMARY_H

#include <stdint.h>

#include "writer/writer.h"

struct err;

/* "run ID", at once. The seed goes to stderr: it repeats the run. */
void wsummary_run(const struct run *run);
/* "cycle N writing": the first write of this cycle has completed. */
void wsummary_writing(uint32_t cycle);
void wsummary_end(const struct writer_result *result);

/* ERROR is NULL where the writer stopped as told. */
int wsummary_json(const char *path, const struct writer_result *result,
		  const char *error, struct err *err);

#endif
