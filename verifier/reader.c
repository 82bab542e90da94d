/* SPDX-License-Identifier: MIT */
#include "verifier/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/target.h"
#include "verifier/changes.h"
#include "verifier/leash.h"

void reader_init(struct reader *reader, struct target *target,
		 uint32_t block_bytes, unsigned int timeout_ms)
{
	reader->target = target;
	reader->block_bytes = block_bytes;
	reader->timeout_ms = timeout_ms;
	atomic_init(&reader->hung, 0);
	atomic_init(&reader->is_gone, false);
	atomic_init(&reader->rig_error, 0);
	atomic_init(&reader->read_bytes, 0);
	reader->changes = NULL;
	reader->leash = NULL;
	reader->is_second = false;
	atomic_init(&reader->suspects, 0);
}

void reader_ask_first(struct reader *reader)
{
	reader->is_second = false;
	atomic_store(&reader->hung, 0);
}

void reader_ask_second(struct reader *reader)
{
	reader->is_second = true;
	atomic_store(&reader->hung, 0);
}

bool reader_has_hung(const enum judge_read *reads, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (reads[i] == JUDGE_READ_HUNG)
			return true;
	return false;
}

static unsigned int timeout_of(const struct reader *reader)
{
	return reader->timeout_ms * (reader->is_second ? READER_PATIENCE : 1);
}

/* Of the LENGTH bytes at OFFSET_BYTES some were a suspect before. */
static bool is_suspect(const struct reader *reader, uint64_t offset_bytes,
		       size_t length)
{
	unsigned int count = atomic_load(&reader->suspects), i;

	for (i = 0; i < count && i < READER_SUSPECTS_MAX; i++)
		if (reader->suspect_at[i] >= offset_bytes &&
		    reader->suspect_at[i] - offset_bytes < length)
			return true;
	return false;
}

/* P9: what a block is worth that was asked for by itself and kept silent. */
static enum judge_read take_silence(struct reader *reader,
				    uint64_t offset_bytes)
{
	unsigned int at;

	if (reader->is_second)
		return is_suspect(reader, offset_bytes, reader->block_bytes)
			       ? JUDGE_READ_HUNG
			       : JUDGE_READ_UNJUDGED;
	at = atomic_fetch_add(&reader->suspects, 1);
	if (at >= READER_SUSPECTS_MAX) {
		atomic_store(&reader->suspects, READER_SUSPECTS_MAX);
		return JUDGE_READ_UNJUDGED;
	}
	reader->suspect_at[at] = offset_bytes;
	return JUDGE_READ_HUNG;
}

bool reader_is_over(const struct reader *reader)
{
	return atomic_load(&reader->rig_error) != 0 ||
	       atomic_load(&reader->hung) >= READER_HUNG_MAX;
}

/* P9: a request that the kernel or the network refused says nothing about the
 * drive. */
static bool is_own_fault(int error)
{
	static const int faults[] = {
		EINVAL, EFAULT, EBADF, ENOMEM, EPERM, EACCES, ENOSYS, EAGAIN,
		EOPNOTSUPP, EOVERFLOW, EPIPE, EINTR, EMFILE, ENFILE, ECONNRESET,
		ECONNREFUSED, EBUSY, EBADE, ESTALE, ECONNABORTED, EHOSTUNREACH,
		ENETDOWN, ENETUNREACH,
		/* a cable does these: offline, a path that is severed */
		ENODEV, ENXIO, ENOMEDIUM, ENOLINK};
	size_t i;

	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (error == faults[i])
			return true;
	return false;
}

/*
 * P9: an NBD server that is being ended answers ESHUTDOWN as well. Only where a
 * fresh connection is served, and is told the same about the same place, it is
 * the drive that is dead. 1: it is, 0: not for this place, -1: the rig fails.
 */
static int ask_again(struct reader *reader, uint64_t offset_bytes)
{
	struct err err;
	struct target *fresh =
		target_open(target_name(reader->target), TARGET_READ, &err);
	void *piece = target_buffer_new(reader->block_bytes, &err);
	int result = -ENOTCONN;

	if (fresh != NULL && piece != NULL)
		result =
			target_read_once(fresh, piece, reader->block_bytes,
					 offset_bytes, (int)reader->timeout_ms);
	target_close(fresh);
	free(piece);
	if (result == -ESHUTDOWN)
		return 1;
	return result == 0 ? 0 : -1;
}

static enum judge_read classify_shutdown(struct reader *reader,
					 uint64_t offset_bytes)
{
	int dead = 1;

	if (target_info(reader->target)->is_nbd)
		dead = ask_again(reader, offset_bytes);
	if (dead == 0)
		return JUDGE_READ_UNREADABLE;
	if (dead < 0) {
		atomic_store(&reader->rig_error, ESHUTDOWN);
		return JUDGE_READ_OK;
	}
	atomic_store(&reader->is_gone, true);
	return JUDGE_READ_GONE;
}

enum judge_read reader_classify(struct reader *reader, int error,
				uint64_t offset_bytes)
{
	bool is_gone;

	if (error == ESHUTDOWN)
		return classify_shutdown(reader, offset_bytes);
	is_gone = target_is_gone(reader->target);
	/* P9: it was there when it was opened. A cable, a relay or a server
	 * can take it away as well as its own death. */
	if (is_own_fault(error) || is_gone || error == ENOTCONN) {
		atomic_store(&reader->rig_error, is_gone ? ENODEV : error);
		return JUDGE_READ_OK;
	}
	return error == ETIMEDOUT ? JUDGE_READ_HUNG : JUDGE_READ_UNREADABLE;
}

static void mark(const struct reader_range *range, enum judge_read read)
{
	size_t i;

	for (i = 0; i < range->length / RUN_ATOM_BYTES; i++)
		range->reads[i] = read;
	if (read != JUDGE_READ_OK)
		memset(range->buffer, 0, range->length);
}

/*
 * One read over NBD on a connection of its own. One that was not answered stays
 * open to the end of the process: servers have been seen to abort when a client
 * leaves a request behind, and would take the verdict with them.
 */
static int read_nbd(struct reader *reader, void *piece,
		    const struct reader_range *range)
{
	struct target_completion completion = {.result = 0};
	struct target_queue *queue;
	uint64_t deadline_ns;
	struct err err;
	int count;

	queue = target_queue_open(reader->target, 1, &err);
	if (queue == NULL)
		return -ECONNREFUSED;
	target_queue_read(queue, 0, piece, range->length, range->offset_bytes);
	count = target_queue_submit(queue);
	deadline_ns =
		clock_monotonic_ns() + timeout_of(reader) * CLOCK_NS_PER_MS;
	/* The last look is behind the deadline, and does not wait. */
	while (count == 0) {
		int left_ms = clock_until_ms(deadline_ns);

		count = target_queue_reap(queue, &completion, 1, left_ms);
		if (left_ms == 0)
			break;
	}
	if (count == 0)
		return -ETIMEDOUT;
	target_queue_close(queue);
	if (count < 0)
		return count;
	if (completion.result < 0)
		return (int)completion.result;
	return completion.result == (int64_t)range->length ? 0 : -ESTALE;
}

/* 0 or an errno. The range's own buffer never goes to the drive: a buffer that
 * hangs is lost to it. */
static int read_piece(struct reader *reader, const struct reader_range *range)
{
	struct err err;
	void *piece = target_buffer_new(range->length, &err);
	unsigned int mark;
	int result;

	if (piece == NULL)
		return ENOMEM;
	mark = leash_begin(reader->leash, LEASH_READ, range->offset_bytes);
	if (target_info(reader->target)->is_nbd)
		result = read_nbd(reader, piece, range);
	else
		result = target_read_once(reader->target, piece, range->length,
					  range->offset_bytes,
					  (int)timeout_of(reader));
	leash_end(reader->leash, mark);
	if (result == -ETIMEDOUT) {
		atomic_fetch_add(&reader->hung, 1);
		target_buffer_abandon(piece);
		return ETIMEDOUT;
	}
	if (result == 0)
		memcpy(range->buffer, piece, range->length);
	free(piece);
	return -result;
}

static struct reader_range part(const struct reader_range *range, size_t at,
				size_t length)
{
	return (struct reader_range){
		.offset_bytes = range->offset_bytes + at,
		.length = length,
		.buffer = range->buffer + at,
		.reads = range->reads + at / RUN_ATOM_BYTES,
	};
}

static size_t smaller(const struct reader *reader, size_t length, int error)
{
	size_t blocks = length / reader->block_bytes;

	if (error == ETIMEDOUT || blocks < 2)
		return reader->block_bytes;
	return (blocks + 1) / 2 * reader->block_bytes;
}

/* P9: what an answer said that failed or came too late is not known, and the
 * good one behind it does not acquit. */
static void note_healed(struct reader *reader, const struct reader_range *range)
{
	size_t i;

	for (i = 0; i < range->length / RUN_ATOM_BYTES; i++)
		if (range->reads[i] != JUDGE_READ_OK)
			return;
	/* The second question tells it when a suspect answers. */
	if (reader->changes != NULL && !reader->is_second)
		changes_note(reader->changes, range->offset_bytes);
}

static void take_answer(struct reader *reader, const struct reader_range *range)
{
	mark(range, JUDGE_READ_OK);
	atomic_fetch_add(&reader->read_bytes, range->length);
	if (reader->is_second && reader->changes != NULL &&
	    is_suspect(reader, range->offset_bytes, range->length))
		changes_note(reader->changes, range->offset_bytes);
}

/* Depth: at most log2 of the blocks in a range. */
bool reader_read(struct reader *reader, const struct reader_range *range,
		 int error)
{
	enum judge_read read;
	size_t at, step;

	if (atomic_load(&reader->is_gone)) {
		mark(range, JUDGE_READ_GONE);
		return true;
	}
	if (error == 0) {
		error = read_piece(reader, range);
		if (error == 0) {
			take_answer(reader, range);
			return true;
		}
	}
	read = reader_classify(reader, error, range->offset_bytes);
	if (atomic_load(&reader->rig_error) != 0)
		return false;
	if (read == JUDGE_READ_GONE || range->length <= reader->block_bytes) {
		if (read == JUDGE_READ_HUNG)
			read = take_silence(reader, range->offset_bytes);
		mark(range, read);
		return true;
	}
	mark(range, JUDGE_READ_UNJUDGED);
	step = smaller(reader, range->length, error);
	for (at = 0; at < range->length; at += step) {
		size_t left = range->length - at;
		struct reader_range piece =
			part(range, at, left < step ? left : step);

		/* P9: nobody has asked for what is left. */
		if (atomic_load(&reader->hung) >= READER_HUNG_MAX)
			break;
		if (!reader_read(reader, &piece, 0))
			return false;
	}
	note_healed(reader, range);
	return true;
}
