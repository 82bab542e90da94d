/* SPDX-License-Identifier: MIT */
#include "common/target/flushcount.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/target/stack.h"
#include "common/target/target_ops.h"

#define FLUSH_FIELD 16 /* from 1 */

struct flushcount {
	size_t count;
	int fds[STACK_QUEUES_MAX]; /* of stat; -1: none that counts */
	struct flushcount_row rows[STACK_QUEUES_MAX];
};

/* A file of sysfs is made anew at each read from its beginning. */
static bool read_count(int fd, uint64_t *flushes)
{
	char text[512];
	const char *at = text;
	ssize_t length = fd == -1 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (length <= 0)
		return false;
	text[length] = '\0';
	for (int field = 1; field < FLUSH_FIELD; field++) {
		at += strspn(at, " ");
		at += strspn(at, "0123456789");
	}
	at += strspn(at, " ");
	return *at >= '0' && *at <= '9' && sscanf(at, "%" SCNu64, flushes) == 1;
}

static int open_in(const char *folder, const char *name, int flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    (int)sizeof(path))
		return -1;
	return open(path, flags | O_CLOEXEC);
}

/* Queues of requests have a folder "mq", others only pass bios on. */
static bool has_requests(const char *disk)
{
	int fd = open_in(disk, "mq", O_PATH | O_DIRECTORY);

	if (fd == -1)
		return false;
	(void)close(fd); /* nothing was written */
	return true;
}

static void add_row(struct flushcount *counts, const char *disk, bool is_bottom)
{
	struct flushcount_row *row = &counts->rows[counts->count];
	const char *slash = strrchr(disk, '/');
	int *fd = &counts->fds[counts->count];

	(void)snprintf(row->name, sizeof(row->name), "%.31s",
		       slash == NULL ? disk : slash + 1);
	row->is_bottom = is_bottom;
	*fd = -1;
	if (has_requests(disk))
		*fd = open_in(disk, "stat", O_RDONLY | O_NONBLOCK);
	row->is_counted = read_count(*fd, &row->first);
	row->last = row->first;
	counts->count++;
}

static bool is_mapper(const struct flushcount_row *row)
{
	return row->is_counted && strncmp(row->name, "dm-", 3) == 0;
}

/*
 * A multipath of requests (dm-rq.c, blk_insert_cloned_request()) counts its
 * FLUSHes itself; the paths below are handed them past their own count. Which
 * rows lie below it is not known here: none at the bottom proves anything then.
 */
static void trust_mappers(struct flushcount *counts)
{
	bool has_mapper = false;

	for (size_t i = 0; i < counts->count; i++)
		has_mapper = has_mapper || is_mapper(&counts->rows[i]);
	if (!has_mapper)
		return;
	for (size_t i = 0; i < counts->count; i++) {
		struct flushcount_row *row = &counts->rows[i];

		if (is_mapper(row))
			row->is_bottom = true;
		else if (row->is_bottom)
			row->is_bottom = row->is_counted = false;
	}
}

struct flushcount *flushcount_of_stack(const struct stack *stack)
{
	struct flushcount *counts = calloc(1, sizeof(*counts));

	if (counts == NULL || stack == NULL)
		return counts;
	for (unsigned int i = 0; i < stack_count(stack); i++)
		add_row(counts, stack_disk(stack, i),
			stack_is_bottom(stack, i));
	if (counts->count > 0)
		counts->rows[0].is_top = stack_has_one_way(stack);
	trust_mappers(counts);
	return counts;
}

struct flushcount *flushcount_open(const struct target *target)
{
	if (target->ops->stack == NULL)
		return flushcount_of_stack(NULL);
	return flushcount_of_stack(target->ops->stack(target));
}

void flushcount_close(struct flushcount *counts)
{
	if (counts == NULL)
		return;
	for (size_t i = 0; i < counts->count; i++) {
		if (counts->fds[i] != -1)
			(void)close(counts->fds[i]); /* was only read */
	}
	free(counts);
}

void flushcount_read(struct flushcount *counts)
{
	for (size_t i = 0; i < counts->count; i++) {
		struct flushcount_row *row = &counts->rows[i];
		uint64_t now = 0;

		if (!row->is_counted)
			continue;
		row->is_lost = !read_count(counts->fds[i], &now);
		if (!row->is_lost)
			row->last = now;
	}
}

void flushcount_restart(struct flushcount *counts)
{
	for (size_t i = 0; i < counts->count; i++)
		counts->rows[i].first = counts->rows[i].last;
}

size_t flushcount_rows(const struct flushcount *counts,
		       const struct flushcount_row **rows)
{
	*rows = counts->rows;
	return counts->count;
}

const struct flushcount_row *
flushcount_missing(const struct flushcount_row *rows, size_t count)
{
	const struct flushcount_row *missing = NULL;
	bool all_count = true, has_arrived = false;

	for (size_t i = 0; i < count; i++) {
		const bool has_moved = rows[i].last != rows[i].first;
		const bool counts = rows[i].is_counted && !rows[i].is_lost;

		if (rows[i].is_top && counts && !has_moved)
			return &rows[i];
		if (!rows[i].is_bottom)
			continue;
		all_count = all_count && counts;
		has_arrived = has_arrived || has_moved;
		if (missing == NULL)
			missing = &rows[i];
	}
	return all_count && !has_arrived ? missing : NULL;
}
