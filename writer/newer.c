/* SPDX-License-Identifier: MIT */
#include "writer/newer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/format/record.h"
#include "common/format/schedule.h"
#include "common/target/target.h"

#define PROBES_MAX 512 /* in all streams */
#define READ_MS    10000

struct newer {
	struct target *target;
	const struct run *run;
	struct record_cipher *cipher;
	uint8_t *buffer; /* NULL: the drive owes an answer and keeps it */
};

static bool is_newer(struct newer *newer, const struct schedule *schedule,
		     uint16_t stream, uint64_t reserved, uint64_t sequence,
		     struct record *found)
{
	const struct run *run = newer->run;
	uint64_t slot = stream * run_slots_per_stream(run) +
			schedule_slot(schedule, sequence);
	int result = target_read_once(newer->target, newer->buffer,
				      run->logical_block_bytes,
				      run_slot_offset(run, slot), READ_MS);

	if (result == -ETIMEDOUT) {
		free(newer->buffer);
		newer->buffer = NULL;
	}
	return result == 0 &&
	       record_examine(newer->cipher, newer->buffer, found) ==
		       RECORD_GOOD &&
	       found->stream == stream && found->sequence > reserved;
}

static int check_stream(struct newer *newer, uint16_t stream, uint64_t reserved,
			struct err *err)
{
	uint64_t probes = PROBES_MAX / newer->run->streams, i;
	struct schedule schedule;
	struct record found;

	if (probes > NEWER_PROBES)
		probes = NEWER_PROBES;
	schedule_init(&schedule, newer->run, stream);
	for (i = 1; i <= probes && newer->buffer != NULL; i++)
		if (is_newer(newer, &schedule, stream, reserved, reserved + i,
			     &found))
			return err_set(
				err,
				"cannot resume: %s holds write %" PRIu64
				" of stream %u, the log ends at %" PRIu64
				": it is not the whole log\nhint: take the "
				"whole log, or begin a new run",
				target_name(newer->target), found.sequence,
				stream, reserved);
	return 0;
}

int newer_check(struct target *target, const struct run *run,
		const uint64_t *reserved, struct err *err)
{
	struct newer newer = {.target = target, .run = run};
	int status = -1;

	newer.cipher = record_cipher_new(run->id, err);
	newer.buffer = target_buffer_new(run->logical_block_bytes, err);
	if (newer.cipher != NULL && newer.buffer != NULL)
		status = 0;
	for (uint16_t i = 0; status == 0 && i < run->streams; i++)
		status = check_stream(&newer, i, reserved[i], err);
	record_cipher_free(newer.cipher);
	free(newer.buffer);
	return status;
}
