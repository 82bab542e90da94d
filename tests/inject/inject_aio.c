/* SPDX-License-Identifier: MIT */
/*
 * inject_aio - libaio: queues, submissions, completions, and what the drive
 * answers. A request that is to fail does not touch the drive: a write becomes
 * a read of the same place into memory that nobody looks at.
 */
#include <errno.h>
#include <libaio.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/inject/inject.h"

#define ATOM_BYTES 512
#define BAD_MAX    4096 /* deeper than any queue */

/* The requests that are to be answered with an error. */
static struct {
	bool is_waiting;
	io_context_t context;
	void *tag;
	void *memory; /* that is read into instead, or NULL */
	size_t length;
	int errnum;
} bad[BAD_MAX];
static pthread_mutex_t bad_lock = PTHREAD_MUTEX_INITIALIZER;

int io_setup(int depth, io_context_t *context)
{
	int (*next)(int, io_context_t *);

	if (inject_call(INJECT_SETUP) == INJECT_FAIL)
		return -errno;
	inject_next("io_setup", &next);
	return next(depth, context);
}

static void spoil(io_context_t context, struct iocb *iocb)
{
	const int errnum = errno;
	size_t i = 0;

	(void)pthread_mutex_lock(&bad_lock); /* cannot fail */
	while (i < BAD_MAX && bad[i].is_waiting)
		i++;
	if (i == BAD_MAX)
		abort();
	bad[i].is_waiting = true;
	bad[i].context = context;
	bad[i].tag = iocb->data;
	bad[i].memory = NULL;
	bad[i].errnum = errnum;
	if (iocb->aio_lio_opcode != IO_CMD_FDSYNC) {
		bad[i].length = iocb->u.c.nbytes;
		bad[i].memory =
			mmap(NULL, bad[i].length, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (bad[i].memory == MAP_FAILED)
			abort();
		iocb->aio_lio_opcode = IO_CMD_PREAD;
		iocb->aio_rw_flags = 0;
		iocb->u.c.buf = bad[i].memory;
	}
	(void)pthread_mutex_unlock(&bad_lock); /* cannot fail */
}

static void answer(io_context_t context, struct io_event *event)
{
	(void)pthread_mutex_lock(&bad_lock); /* cannot fail */
	for (size_t i = 0; i < BAD_MAX; i++)
		if (bad[i].is_waiting && bad[i].context == context &&
		    bad[i].tag == event->data) {
			event->res = (unsigned long)-(long)bad[i].errnum;
			bad[i].is_waiting = false;
			if (bad[i].memory != NULL)
				(void)munmap(bad[i].memory, bad[i].length);
			break;
		}
	(void)pthread_mutex_unlock(&bad_lock); /* cannot fail */
}

/* Half of a request, in whole atoms: the other half is not done. */
static void halve(struct iocb *iocb)
{
	if (iocb->aio_lio_opcode == IO_CMD_FDSYNC ||
	    iocb->u.c.nbytes < 2 * ATOM_BYTES)
		return;
	iocb->u.c.nbytes = iocb->u.c.nbytes / 2 / ATOM_BYTES * ATOM_BYTES;
}

int io_submit(io_context_t context, long count, struct iocb **iocbs)
{
	int (*next)(io_context_t, long, struct iocb **);
	enum inject_hit hit = inject_call(INJECT_SUBMIT);

	if (hit == INJECT_FAIL)
		return -errno;
	if (hit == INJECT_SHORT && count > 1)
		count /= 2;
	for (long i = 0; i < count; i++) {
		hit = inject_call(INJECT_ANSWER);
		if (hit == INJECT_FAIL)
			spoil(context, iocbs[i]);
		else if (hit == INJECT_SHORT)
			halve(iocbs[i]);
	}
	inject_next("io_submit", &next);
	return next(context, count, iocbs);
}

int io_getevents(io_context_t context, long least, long most,
		 struct io_event *events, struct timespec *timeout)
{
	int (*next)(io_context_t, long, long, struct io_event *,
		    struct timespec *);
	enum inject_hit hit = inject_call(INJECT_REAP);
	int count = 0;

	if (hit == INJECT_FAIL)
		return -errno;
	if (hit == INJECT_ZERO)
		return 0;
	if (hit == INJECT_SHORT)
		most = least;
	inject_next("io_getevents", &next);
	count = next(context, least, most, events, timeout);
	for (int i = 0; inject_counts(INJECT_ANSWER) && i < count; i++)
		answer(context, &events[i]);
	return count;
}
