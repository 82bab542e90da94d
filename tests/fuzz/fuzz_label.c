/* SPDX-License-Identifier: MIT */
/*
 * A label of any bytes is good, none or bad; a good one describes a region
 * whose slots lie inside it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_run(const struct run *run)
{
	uint8_t label[RUN_LABEL_BYTES];
	uint64_t slots = run_slots_total(run);
	struct run again;
	struct err err;

	if (run_check(run, &err) < 0 || slots < run->streams ||
	    run_slots_per_stream(run) == 0)
		abort();
	if (run_slot_offset(run, slots - 1) + run->block_bytes >
	    run_label_offset(run, 1))
		abort();
	if (run_stream_of_slot(run, 0) != 0 ||
	    run_stream_of_slot(run, slots - 1) >= run->streams)
		abort();
	run_encode_label(run, label);
	if (run_decode_label(&again, label, &err) != RUN_LABEL_GOOD)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t label[RUN_LABEL_BYTES] = {0};
	struct run run;
	struct err err;

	memcpy(label, data, size < sizeof(label) ? size : sizeof(label));
	if (run_decode_label(&run, label, &err) == RUN_LABEL_GOOD)
		check_run(&run);
	/* Without the label's checksum in the way, too. */
	if (run_decode_body(&run, label, &err) == 0)
		check_run(&run);
	return 0;
}
