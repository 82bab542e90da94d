/* SPDX-License-Identifier: MIT */
#include "writer/fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/record.h"
#include "common/target/elision.h"
#include "common/target/target.h"
#include "writer/wstop.h"

#define FILL_DEPTH    8
#define FILL_BYTES    (1024 * 1024)
#define FILL_STUCK_MS 120000 /* no answer for so long: give up */
#define FILL_LOOK_MS  100
#define LABEL_READ_MS 60000
#define TAG_FLUSH     FILL_DEPTH

struct fill {
	struct target *target;
	const struct run *run;
	struct wstop *stop;
	const struct fill_watch *watch;
	uint64_t done_bytes;
	uint32_t chunk_bytes;
	struct target_queue *queue;
	struct record_cipher *cipher;
	uint8_t *buffers;
	size_t length[FILL_DEPTH]; /* of what is in flight there; 0: free */
	unsigned int flying;
	uint64_t next, end; /* bytes of the target */
	uint64_t heard_ns;
};

static int check_completion(struct fill *fill,
			    const struct target_completion *completion,
			    struct err *err)
{
	size_t length = completion->tag == TAG_FLUSH
				? 0
				: fill->length[completion->tag];

	if (completion->result < 0)
		return err_sys(err, (int)-completion->result,
			       "cannot prepare the region on %s",
			       target_name(fill->target));
	if ((uint64_t)completion->result != length)
		return err_set(err,
			       "cannot prepare the region on %s: short write",
			       target_name(fill->target));
	fill->done_bytes += length;
	return 0;
}

/* Everything in flight is taken, also behind an error. */
static int reap(struct fill *fill, struct err *err)
{
	struct target_completion completions[FILL_DEPTH + 1];
	int status = 0;
	int got = target_queue_reap(fill->queue, completions, FILL_DEPTH + 1,
				    FILL_LOOK_MS);

	if (got < 0)
		return err_sys(err, -got, "cannot prepare the region on %s",
			       target_name(fill->target));
	for (int i = 0; i < got; i++) {
		fill->flying--;
		if (status == 0)
			status = check_completion(fill, &completions[i], err);
		if (completions[i].tag != TAG_FLUSH)
			fill->length[completions[i].tag] = 0;
	}
	if (got > 0)
		fill->heard_ns = clock_monotonic_ns();
	if (clock_monotonic_ns() - fill->heard_ns >
	    FILL_STUCK_MS * CLOCK_NS_PER_MS)
		return err_sys(err, ETIMEDOUT,
			       "cannot prepare the region on %s",
			       target_name(fill->target));
	return status;
}

static int submit(struct fill *fill, struct err *err)
{
	int status = target_queue_submit(fill->queue);

	if (status < 0)
		return err_sys(err, -status, "cannot prepare the region on %s",
			       target_name(fill->target));
	return 0;
}

static void queue_chunk(struct fill *fill, unsigned int index)
{
	uint8_t *buffer = fill->buffers + (size_t)index * FILL_BYTES;
	uint64_t left = fill->end - fill->next;
	size_t length =
		left < fill->chunk_bytes ? (size_t)left : fill->chunk_bytes;

	record_build_fill(fill->cipher, fill->next, length / RUN_ATOM_BYTES,
			  buffer);
	target_queue_write(fill->queue, index, buffer, length, fill->next,
			   false);
	fill->length[index] = length;
	fill->flying++;
	fill->next += length;
}

static int check_stop(struct fill *fill, struct err *err)
{
	if (wstop_has_failed(fill->stop)) {
		wstop_reason(fill->stop, err);
		return -1;
	}
	if (wstop_is_asked(fill->stop))
		return err_set(err, "stopped while the region was prepared; "
				    "nothing was tested");
	return 0;
}

static int flush(struct fill *fill, struct err *err)
{
	char text[ELISION_TEXT_BYTES];

	if (!target_info(fill->target)->has_flush)
		return 0;
	target_queue_flush(fill->queue, TAG_FLUSH);
	fill->flying++;
	if (submit(fill, err) < 0)
		return -1;
	while (fill->flying > 0)
		if (reap(fill, err) < 0)
			return -1;
	if (target_is_write_back(fill->target))
		return 0;
	elision_tell(fill->target, text, sizeof(text)); /* P9 */
	return err_set(err, "the fill of %s was not flushed: %s",
		       target_name(fill->target), text);
}

static int write_slots(struct fill *fill, struct err *err)
{
	while (fill->next < fill->end || fill->flying > 0) {
		if (check_stop(fill, err) < 0)
			return -1;
		for (unsigned int i = 0; i < FILL_DEPTH; i++)
			if (!fill->length[i] && fill->next < fill->end)
				queue_chunk(fill, i);
		if (submit(fill, err) < 0 || reap(fill, err) < 0)
			return -1;
		fill->watch->tick(fill->watch->context, fill->done_bytes,
				  run_slots_total(fill->run) *
					  fill->run->block_bytes);
	}
	return 0;
}

static int write_labels(struct fill *fill, const struct run *run,
			struct err *err)
{
	for (unsigned int copy = 0; copy < 2; copy++) {
		uint8_t *buffer = fill->buffers + (size_t)copy * FILL_BYTES;

		run_encode_label(run, buffer);
		target_queue_write(fill->queue, copy, buffer, RUN_LABEL_BYTES,
				   run_label_offset(fill->run, copy), false);
		fill->length[copy] = RUN_LABEL_BYTES;
		fill->flying++;
	}
	if (submit(fill, err) < 0)
		return -1;
	while (fill->flying > 0)
		if (reap(fill, err) < 0)
			return -1;
	return flush(fill, err);
}

/*
 * P9: before anything is overwritten the region gets the label of a run that
 * nobody has, without a promise: whoever verifies an earlier run from now on is
 * told that the drive was used since, and does not take the fill for a loss.
 */
static int write_claim(struct fill *fill, struct err *err)
{
	struct run claim = *fill->run;

	claim.is_filled = false;
	for (size_t i = 0; i < RUN_ID_BYTES; i++)
		claim.id[i] ^= 0xff;
	return write_labels(fill, &claim, err);
}

static int open_fill(struct fill *fill, struct err *err)
{
	fill->cipher = record_cipher_new(fill->run->id, err);
	if (!fill->cipher)
		return -1;
	fill->buffers = target_buffer_new((size_t)FILL_DEPTH * FILL_BYTES, err);
	if (!fill->buffers)
		return -1;
	fill->queue = target_queue_open(fill->target, FILL_DEPTH, err);
	return fill->queue ? 0 : -1;
}

static void close_fill(struct fill *fill)
{
	target_queue_close(fill->queue);
	if (fill->flying == 0)
		free(fill->buffers);
	else
		target_buffer_abandon(fill->buffers);
	record_cipher_free(fill->cipher);
}

static uint32_t chunk_bytes_of(const struct target *target)
{
	const struct target_info *info = target_info(target);
	uint32_t most = info->max_request_bytes / info->logical_block_bytes *
			info->logical_block_bytes;

	return most < FILL_BYTES ? most : FILL_BYTES;
}

int fill_region(struct target *target, const struct run *run,
		struct wstop *stop, const struct fill_watch *watch,
		struct err *err)
{
	struct fill fill = {
		.target = target,
		.run = run,
		.stop = stop,
		.watch = watch,
		.chunk_bytes = chunk_bytes_of(target),
		.next = run_slot_offset(run, 0),
		.end = run_label_offset(run, 1),
		.heard_ns = clock_monotonic_ns(),
	};
	int status = open_fill(&fill, err);

	if (status == 0)
		status = write_claim(&fill, err);
	/* The labels last, and behind a flush: they say that the rest is there
	 * and was promised (P6). */
	if (status == 0 && run->is_filled)
		status = write_slots(&fill, err);
	if (status == 0)
		status = flush(&fill, err);
	if (status == 0)
		status = write_labels(&fill, run, err);
	close_fill(&fill);
	return status;
}

int fill_mark_unsent(struct target *target, const struct run *run,
		     struct err *err)
{
	struct run marked = *run;
	struct fill fill = {
		.target = target,
		.run = &marked,
		.heard_ns = clock_monotonic_ns(),
	};
	int status = open_fill(&fill, err);

	marked.is_unsent = true;
	if (status == 0)
		status = write_labels(&fill, &marked, err);
	close_fill(&fill);
	return status;
}

int fill_find_label(struct target *target, const struct run *run,
		    enum fill_label *label, struct err *err)
{
	uint8_t *buffer = target_buffer_new(RUN_LABEL_BYTES, err);

	if (!buffer)
		return -1;
	*label = FILL_LABEL_NONE;
	for (unsigned int copy = 0; copy < 2; copy++) {
		struct run found;
		struct err ignored; /* a damaged copy is one that is missing */
		int status = target_read_once(target, buffer, RUN_LABEL_BYTES,
					      run_label_offset(run, copy),
					      LABEL_READ_MS);

		if (status == -ETIMEDOUT) {
			free(buffer);
			return err_sys(err, ETIMEDOUT,
				       "cannot read the label on %s",
				       target_name(target));
		}
		if (status < 0 || run_decode_label(&found, buffer, &ignored) !=
					  RUN_LABEL_GOOD)
			continue;
		*label = memcmp(found.id, run->id, RUN_ID_BYTES) == 0
				 ? FILL_LABEL_OURS
				 : FILL_LABEL_OTHER;
		break;
	}
	free(buffer);
	return 0;
}
