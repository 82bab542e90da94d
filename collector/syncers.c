/* SPDX-License-Identifier: MIT */
#include "collector/syncers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/ackfile/ackfile.h"
#include "common/base/clock.h"

/* To wake a thread and to wait for it costs less than that. */
#define WORTH_NS 50000

struct syncers {
	pthread_mutex_t mutex;
	pthread_cond_t begin, end;
	pthread_t threads[SYNCERS_THREADS];
	size_t started;
	size_t open;    /* jobs that nobody has taken: 0 ... open - 1 */
	size_t pending; /* jobs without a result */
	struct syncers_job *jobs;
	bool is_ending;
	bool is_worth_it; /* a sync of the last turn took long */
};

static bool take_job(struct syncers *syncers)
{
	struct syncers_job *job;
	uint64_t begin_ns, took_ns;

	if (syncers->open == 0)
		return false;
	job = &syncers->jobs[--syncers->open];
	pthread_mutex_unlock(&syncers->mutex);
	begin_ns = clock_monotonic_ns();
	job->result = ackfile_sync(job->file, &job->err); /* P2 */
	took_ns = clock_monotonic_ns() - begin_ns;
	pthread_mutex_lock(&syncers->mutex);
	if (took_ns > WORTH_NS)
		syncers->is_worth_it = true;
	if (--syncers->pending == 0)
		pthread_cond_signal(&syncers->end);
	return true;
}

static void *syncer_main(void *argument)
{
	struct syncers *syncers = argument;

	pthread_mutex_lock(&syncers->mutex);
	while (!syncers->is_ending)
		if (!take_job(syncers))
			pthread_cond_wait(&syncers->begin, &syncers->mutex);
	pthread_mutex_unlock(&syncers->mutex);
	return NULL;
}

struct syncers *syncers_new(struct err *err)
{
	struct syncers *syncers = calloc(1, sizeof(*syncers));

	if (syncers == NULL) {
		err_sys(err, ENOMEM, "cannot keep logs");
		return NULL;
	}
	pthread_mutex_init(&syncers->mutex, NULL);
	pthread_cond_init(&syncers->begin, NULL);
	pthread_cond_init(&syncers->end, NULL);
	return syncers;
}

void syncers_free(struct syncers *syncers)
{
	if (syncers == NULL)
		return;
	pthread_mutex_lock(&syncers->mutex);
	syncers->is_ending = true;
	pthread_cond_broadcast(&syncers->begin);
	pthread_mutex_unlock(&syncers->mutex);
	for (size_t i = 0; i < syncers->started; i++)
		pthread_join(syncers->threads[i], NULL);
	pthread_cond_destroy(&syncers->end);
	pthread_cond_destroy(&syncers->begin);
	pthread_mutex_destroy(&syncers->mutex);
	free(syncers);
}

/* Fewer threads than wanted are slower, and nothing worse. */
static void start_threads(struct syncers *syncers, size_t wanted)
{
	if (wanted > SYNCERS_THREADS)
		wanted = SYNCERS_THREADS;
	while (syncers->started < wanted &&
	       pthread_create(&syncers->threads[syncers->started], NULL,
			      syncer_main, syncers) == 0)
		syncers->started++;
}

void syncers_run(struct syncers *syncers, struct syncers_job *jobs,
		 size_t count)
{
	if (count == 0)
		return;
	if (count > 1 && syncers->is_worth_it)
		start_threads(syncers, count - 1);
	pthread_mutex_lock(&syncers->mutex);
	syncers->jobs = jobs;
	syncers->open = count;
	syncers->pending = count;
	for (size_t i = 1;
	     syncers->is_worth_it && i < count && i <= syncers->started; i++)
		pthread_cond_signal(&syncers->begin);
	syncers->is_worth_it = false; /* until a sync of this turn says so */
	while (take_job(syncers))
		;
	while (syncers->pending > 0)
		pthread_cond_wait(&syncers->end, &syncers->mutex);
	pthread_mutex_unlock(&syncers->mutex);
}
