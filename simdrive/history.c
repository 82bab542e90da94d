/* SPDX-License-Identifier: MIT */
#include "simdrive/history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/err.h"

/*
 * Writes are numbered from 0. Those remembered are [first, next); number n
 * stands in writes[n % HISTORY_WRITES_MAX]. Their old content lies in a ring
 * of bytes; arena positions count up for ever and never wrap inside a write.
 */
struct history {
	struct history_write writes[HISTORY_WRITES_MAX];
	uint64_t first, next;
	uint64_t arena_next;
	uint8_t *arena;
};

static struct history_write *write_of(struct history *history, uint64_t number)
{
	return &history->writes[number % HISTORY_WRITES_MAX];
}

struct history *history_new(struct err *err)
{
	struct history *history = calloc(1, sizeof(*history));

	if (history != NULL)
		history->arena = calloc(1, HISTORY_BYTES_MAX);
	if (history != NULL && history->arena != NULL)
		return history;
	history_free(history);
	(void)err_sys(err, ENOMEM, "cannot make room for old content");
	return NULL; /* tells the caller */
}

void history_free(struct history *history)
{
	if (history == NULL)
		return;
	free(history->arena);
	free(history);
}

void history_clear(struct history *history)
{
	history->first = history->next;
}

void history_supersede(struct history *history, uint64_t offset_bytes,
		       size_t length)
{
	for (uint64_t n = history->first; n < history->next; n++) {
		struct history_write *write = write_of(history, n);

		if (offset_bytes < write->offset_bytes + write->length &&
		    write->offset_bytes < offset_bytes + length)
			write->is_current = false;
	}
}

uint8_t *history_add(struct history *history, uint64_t offset_bytes,
		     size_t length, uint64_t request, bool is_durable)
{
	uint64_t start = history->arena_next;
	struct history_write *write = NULL;

	assert(length <= HISTORY_WRITE_BYTES_MAX);

	if (start % HISTORY_BYTES_MAX + length > HISTORY_BYTES_MAX)
		start += HISTORY_BYTES_MAX - start % HISTORY_BYTES_MAX;
	history->arena_next = start + length;
	while (history->first < history->next &&
	       (history->next - history->first == HISTORY_WRITES_MAX ||
		write_of(history, history->first)->arena_start +
				HISTORY_BYTES_MAX <
			history->arena_next))
		history->first++;

	write = write_of(history, history->next++);
	*write = (struct history_write){
		.offset_bytes = offset_bytes,
		.length = length,
		.old = history->arena + start % HISTORY_BYTES_MAX,
		.request = request,
		.is_current = true,
		.is_durable = is_durable,
		.arena_start = start,
	};
	return history->arena + start % HISTORY_BYTES_MAX;
}

void history_promise(struct history *history, uint64_t request)
{
	for (uint64_t n = history->first; n < history->next; n++) {
		struct history_write *write = write_of(history, n);

		write->is_durable |= write->request <= request;
	}
}

unsigned int history_count(const struct history *history)
{
	return (unsigned int)(history->next - history->first);
}

struct history_write *history_at(struct history *history, unsigned int index)
{
	assert(index < history_count(history));
	return write_of(history, history->first + index);
}
