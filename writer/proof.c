/* SPDX-License-Identifier: MIT */
#include "writer/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/target.h"

#define LOOK_NS CLOCK_NS_PER_S

int proof_begin(struct proof *proof, const struct target *target,
		struct err *err)
{
	memset(proof, 0, sizeof(*proof));
	proof->total = flushcount_open(target);
	proof->window = flushcount_open(target);
	if (proof->total == NULL || proof->window == NULL)
		return err_sys(err, ENOMEM, "cannot count the flushes of %s",
			       target_name(target));
	return 0;
}

void proof_end(struct proof *proof)
{
	flushcount_close(proof->total);
	flushcount_close(proof->window);
	memset(proof, 0, sizeof(*proof));
}

bool proof_is_counted(const struct proof *proof)
{
	const struct flushcount_row *rows;
	size_t count;

	if (proof->window == NULL)
		return false;
	count = flushcount_rows(proof->window, &rows);
	while (count > 0) {
		if (rows[--count].is_counted)
			return true;
	}
	return false;
}

static int flush_once(struct target *target, int timeout_ms, struct err *err)
{
	struct target_queue *queue = target_queue_open(target, 1, err);
	struct target_completion completion;
	uint64_t deadline_ns = clock_monotonic_ns() +
			       (unsigned int)timeout_ms * CLOCK_NS_PER_MS;
	int result, left_ms;

	if (queue == NULL)
		return -1;
	target_queue_flush(queue, 0);
	result = target_queue_submit(queue);
	while (result == 0 && (left_ms = clock_until_ms(deadline_ns)) > 0)
		result = target_queue_reap(queue, &completion, 1, left_ms);
	if (result > 0) {
		result = (int)completion.result;
	} else {
		target_queue_abandon(queue);
		queue = NULL;
		result = result == 0 ? -ETIMEDOUT : result;
	}
	target_queue_close(queue);
	if (result < 0)
		return err_sys(err, -result, "cannot flush %s",
			       target_name(target));
	return 0;
}

int proof_ask(const struct proof *proof, struct target *target, int timeout_ms,
	      struct err *err)
{
	if (!target_info(target)->has_flush || !proof_is_counted(proof))
		return 0;
	return flush_once(target, timeout_ms, err);
}

static void restart_window(struct proof *proof)
{
	flushcount_restart(proof->window);
	proof->has_base = false;
	proof->looked_ns = clock_monotonic_ns();
}

int proof_judge(struct proof *proof, struct err *err)
{
	const struct flushcount_row *rows, *row;
	size_t count;

	if (proof->window == NULL)
		return 0;
	flushcount_read(proof->window);
	count = flushcount_rows(proof->window, &rows);
	row = flushcount_missing(rows, count);
	if (row != NULL)
		return err_set(err,
			       "flushes are reported complete, but none of "
			       "them has reached %s\nhint: see what lies above "
			       "/dev/%s: a file system mounted with nobarrier, "
			       "a layer that swallows flushes",
			       row->name, row->name);
	restart_window(proof);
	return 0;
}

void proof_start(struct proof *proof, unsigned int streams)
{
	proof->streams = streams;
	if (proof->window == NULL)
		return;
	flushcount_read(proof->total);
	flushcount_restart(proof->total);
	flushcount_read(proof->window);
	restart_window(proof);
}

int proof_look(struct proof *proof, uint64_t flushes, bool is_last,
	       struct err *err)
{
	bool is_due =
		is_last || clock_monotonic_ns() - proof->looked_ns >= LOOK_NS;

	if (proof->window == NULL)
		return 0;
	if (!proof->has_base) {
		proof->window_flushes = flushes;
		proof->has_base = true;
	}
	/* Of each stream one may have been counted before the window began,
	 * and one more may ride with another stream's. */
	if (!is_due ||
	    flushes - proof->window_flushes < 2 * (uint64_t)proof->streams + 2)
		return 0;
	return proof_judge(proof, err);
}

size_t proof_rows(struct proof *proof, const struct flushcount_row **rows)
{
	*rows = NULL;
	if (proof->total == NULL)
		return 0;
	flushcount_read(proof->total);
	return flushcount_rows(proof->total, rows);
}

static uint64_t counted_by(const struct flushcount_row *row)
{
	return row->last - row->first;
}

bool proof_elided(const struct flushcount_row *rows, size_t count,
		  uint64_t asked, bool may_have_merged, uint64_t *elided)
{
	uint64_t least = UINT64_MAX, bottom = 0;
	bool has_bottom = false, all_count = true;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].is_lost)
			return false;
		if (rows[i].is_top && rows[i].is_counted)
			least = counted_by(&rows[i]);
		if (!rows[i].is_bottom)
			continue;
		has_bottom = true;
		all_count = all_count && rows[i].is_counted;
		bottom += counted_by(&rows[i]);
	}
	if (has_bottom && all_count && bottom < least)
		least = bottom;
	if (least == UINT64_MAX || (may_have_merged && least < asked))
		return false;
	*elided = least < asked ? asked - least : 0;
	return true;
}

void proof_tell(const struct flushcount_row *rows, size_t count, char *text,
		size_t room)
{
	size_t used = 0;

	(void)snprintf(text, room, "not counted");
	for (size_t i = 0; i < count && used < room; i++) {
		if (!rows[i].is_counted)
			continue;
		used += (size_t)snprintf(text + used, room - used,
					 "%s%s %" PRIu64, used > 0 ? ", " : "",
					 rows[i].name, counted_by(&rows[i]));
	}
}
