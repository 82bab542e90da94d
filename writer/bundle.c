/* SPDX-License-Identifier: MIT */
#include "writer/bundle.h"

#include "common/target/target.h"

void bundle_queue(struct bundle *bundle, struct record_cipher *cipher,
		  struct target_queue *queue, bool is_fua)
{
	record_build_many(cipher, bundle->records, bundle->buffers,
			  bundle->count);
	for (unsigned int i = 0; i < bundle->count; i++) {
		const struct record *record = &bundle->records[i];

		target_queue_write(queue, bundle->tags[i], bundle->buffers[i],
				   (size_t)record->atoms * RUN_ATOM_BYTES,
				   record->offset_bytes, is_fua);
	}
	bundle->count = 0;
}
