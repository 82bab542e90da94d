/* SPDX-License-Identifier: MIT */
/*
 * The thread empties the rings into the store, gives out payloads and takes
 * confirmations. What becomes durable while it sleeps wakes it, so that the
 * acknowledgement is on its way at once. What comes soon behind one that has
 * left is grouped: it waits for that one's confirmation, since a log that is
 * being synced takes nothing else, or for PACE_FEW_NS where the answer has a
 * long way, or until it is a GROUP. That bounds what a fast drive costs; the
 * streams wait for nothing.
 */
#include "writer/ackclient.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "writer/ackbell.h"
#include "writer/acklink.h"
#include "writer/ackpack.h"
#include "writer/ackring.h"
#include "writer/ackstore.h"
#include "writer/wstop.h"

#define PACE_NS          (CLOCK_NS_PER_MS / 4) /* from payload to payload */
#define PACE_FEW_NS      CLOCK_NS_PER_MS       /* few, or one unconfirmed */
#define GROUP            8 /* flushes are not few: 0.5 bytes a write */
#define TICK_NS          CLOCK_NS_PER_MS /* where nobody rings */
#define BACKOFF_FIRST_MS 100
#define BACKOFF_LAST_MS  2000
#define RECONNECT_MS     5000 /* one attempt */
#define RECOVER_TICK_MS  20
#define TEXT_BYTES       700

struct ackclient {
	struct ackclient_setup setup;
	struct acklink *link;
	struct ackbell *bell;
	uint64_t given_ns; /* when a payload left last */
	uint16_t streams;
	bool is_started;
	pthread_t thread;
	atomic_bool is_ending;
	atomic_bool is_failed;
	atomic_uint_fast64_t progress_ns; /* when all was well last */
	atomic_uint_fast64_t confirmed_ns, confirmed_writes, confirmed;
	atomic_uint_fast64_t reserved[RUN_STREAMS_MAX];
	struct ackring *rings[RUN_STREAMS_MAX];

	pthread_mutex_t mutex; /* what follows; never held over a wait */
	struct ackstore *store;
	struct ackbody body; /* being packed */
	bool is_full;        /* something in a ring found no room */
	struct err err;      /* why it failed */
};

/* Packs the oldest items of a ring into one body; false: no item or no room. */
static bool pack_body(struct ackclient *client, uint16_t stream)
{
	struct ackring *ring = client->rings[stream];
	struct ackbody *body = &client->body;
	size_t used = ackpack_body(ring, stream, body);

	if (used == 0)
		return false;
	client->is_full = !ackstore_add(client->store, body);
	if (client->is_full)
		return false;
	for (size_t i = 0; ackbody_is_durable(body) && i < used; i++)
		ackstore_mark(client->store,
			      ackring_peek(ring, i)->completed_ns);
	ackring_pop(ring, used);
	return true;
}

/* With the mutex held: it is also what makes the rings have one popper. */
static bool drain_rings(struct ackclient *client)
{
	bool is_moved = false;

	client->is_full = false;
	for (uint16_t i = 0; i < client->streams && !client->is_full; i++)
		for (int n = 0; n < ACKRING_PLACES && pack_body(client, i); n++)
			is_moved = true;
	return is_moved;
}

static void publish(struct ackclient *client)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t confirmed = 0;

	pthread_mutex_lock(&client->mutex);
	confirmed = ackstore_confirmed(client->store);
	atomic_store(&client->confirmed_writes,
		     ackstore_confirmed_writes(client->store));
	if (confirmed > atomic_load(&client->confirmed)) {
		atomic_store(&client->confirmed, confirmed);
		atomic_store(&client->confirmed_ns, now_ns);
		atomic_store(&client->progress_ns, now_ns);
	}
	/* Not "nothing is flying": a collector that takes every claim and then
	 * refuses every statement would be waited for without end. */
	if (ackstore_is_empty(client->store))
		atomic_store(&client->progress_ns, now_ns);
	for (uint16_t i = 0; i < client->streams; i++)
		atomic_store_explicit(&client->reserved[i],
				      ackstore_reserved(client->store, i),
				      memory_order_release);
	pthread_mutex_unlock(&client->mutex);
}

static void note(struct ackclient *client, const char *text)
{
	if (client->setup.note)
		client->setup.note(text);
}

static void fail(struct ackclient *client, const struct err *err)
{
	pthread_mutex_lock(&client->mutex);
	client->err = *err;
	pthread_mutex_unlock(&client->mutex);
	atomic_store(&client->is_failed, true);
	wstop_fail(client->setup.stop, err, false);
}

static bool gather(struct ackclient *client)
{
	bool is_moved = false;

	pthread_mutex_lock(&client->mutex);
	is_moved = drain_rings(client);
	pthread_mutex_unlock(&client->mutex);
	return is_moved;
}

/* The streams go on meanwhile; what they say is gathered. */
static void wait_gathering(struct ackclient *client, uint64_t wait_ms)
{
	uint64_t until_ns = clock_monotonic_ns() + wait_ms * CLOCK_NS_PER_MS;

	do {
		(void)gather(client);
		clock_sleep_ms(RECOVER_TICK_MS);
	} while (clock_monotonic_ns() < until_ns &&
		 !atomic_load(&client->is_ending));
}

static int try_again(struct ackclient *client, uint64_t until_ns,
		     struct err *err)
{
	uint64_t backoff_ms = BACKOFF_FIRST_MS;
	bool has_begun = client->setup.is_resume;

	pthread_mutex_lock(&client->mutex);
	has_begun = has_begun || ackstore_confirmed(client->store) > 0;
	pthread_mutex_unlock(&client->mutex);
	while (clock_monotonic_ns() < until_ns) {
		uint64_t limit_ns =
			clock_monotonic_ns() + RECONNECT_MS * CLOCK_NS_PER_MS;

		wait_gathering(client, backoff_ms);
		if (atomic_load(&client->is_ending))
			return -1;
		if (acklink_reopen(client->link, has_begun,
				   limit_ns < until_ns ? limit_ns : until_ns,
				   err) == 0)
			return 0;
		backoff_ms *= 2;
		if (backoff_ms > BACKOFF_LAST_MS)
			backoff_ms = BACKOFF_LAST_MS;
	}
	return -1;
}

static int recover(struct ackclient *client, struct err *err)
{
	uint64_t timeout_ns = client->setup.timeout_ms * CLOCK_NS_PER_MS;
	char text[TEXT_BYTES];
	char id[RUN_ID_TEXT_BYTES];

	if (!acklink_can_reopen(client->link))
		return -1;
	(void)snprintf(text, sizeof(text),
		       "lost the collector: %s; trying again for %llu s",
		       err->text,
		       (unsigned long long)client->setup.timeout_ms / 1000);
	note(client, text);
	if (try_again(client, atomic_load(&client->progress_ns) + timeout_ns,
		      err) < 0) {
		(void)err_prefix(err,
				 "the collector was lost and not found again "
				 "within %llu s",
				 (unsigned long long)client->setup.timeout_ms /
					 1000);
		run_id_text(client->setup.run_id, id);
		return err_hint(err,
				"when it works again, the next cycle goes on "
				"with --run %s",
				id);
	}
	pthread_mutex_lock(&client->mutex);
	ackstore_rewind(client->store);
	pthread_mutex_unlock(&client->mutex);
	note(client, "the collector is back; repeating what it has not "
		     "confirmed");
	return 0;
}

/* Nothing is given out before. */
static uint64_t next_ns(struct ackclient *client)
{
	bool is_grouped = false;

	pthread_mutex_lock(&client->mutex);
	is_grouped = !ackstore_is_flying(client->store) &&
		     ackstore_moments(client->store) >= GROUP;
	pthread_mutex_unlock(&client->mutex);
	return client->given_ns + (is_grouped ? PACE_NS : PACE_FEW_NS);
}

/* When to look again whether it is a GROUP: it grows as it has grown, and each
 * look costs the others on this processor something. */
static uint64_t group_ns(struct ackclient *client, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - client->given_ns;
	unsigned int moments;

	pthread_mutex_lock(&client->mutex);
	moments = ackstore_moments(client->store);
	pthread_mutex_unlock(&client->mutex);
	if (since_ns < PACE_NS || moments >= GROUP)
		return now_ns + PACE_NS;
	if (moments == 0)
		return client->given_ns + PACE_FEW_NS;
	return client->given_ns + since_ns * GROUP / moments + PACE_NS / 4;
}

/* Waits for a confirmation; for the bell, too, where something may be given. */
static int take(struct ackclient *client, struct err *err)
{
	struct acklink_wait wait = {next_ns(client), -1};
	uint64_t now_ns = clock_monotonic_ns();
	bool is_paced = now_ns < wait.deadline_ns;
	int status = 0;

	if (is_paced) {
		uint64_t look_ns = group_ns(client, now_ns);

		if (look_ns < wait.deadline_ns)
			wait.deadline_ns = look_ns;
	}
	if (!is_paced) {
		ackbell_arm(client->bell);
		wait.wake_fd = ackbell_fd(client->bell);
		wait.deadline_ns = now_ns + TICK_NS;
	}
	/* What was said before the bell was armed did not ring it. */
	if (is_paced || !gather(client))
		status = acklink_take(client->link, client->store,
				      &client->mutex, &wait, err);
	if (!is_paced)
		ackbell_disarm(client->bell);
	return status;
}

static int turn(struct ackclient *client, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns();
	int given = 0;

	(void)gather(client);
	if (now_ns >= next_ns(client))
		given = acklink_give(client->link, client->store,
				     &client->mutex, err);
	if (given > 0)
		client->given_ns = now_ns;
	return given < 0 ? -1 : take(client, err);
}

static void *ackclient_main(void *argument)
{
	struct ackclient *client = argument;
	struct err err;

	atomic_store(&client->progress_ns, clock_monotonic_ns());
	while (!atomic_load(&client->is_ending)) {
		if (turn(client, &err) < 0 && recover(client, &err) < 0) {
			if (!atomic_load(&client->is_ending))
				fail(client, &err);
			break;
		}
		publish(client);
	}
	return NULL;
}

struct ackclient *ackclient_open(const struct ackclient_setup *setup,
				 struct ackclient_before *before,
				 struct err *err)
{
	struct ackclient *client = calloc(1, sizeof(*client));

	if (!client) {
		err_sys(err, ENOMEM, "cannot keep an ack log");
		return NULL;
	}
	client->setup = *setup;
	pthread_mutex_init(&client->mutex, NULL);
	client->store = ackstore_new(err);
	if (client->store)
		client->bell = ackbell_new(err);
	if (client->bell)
		client->link = acklink_open(setup, before, err);
	if (!client->link) {
		ackbell_free(client->bell);
		ackstore_free(client->store);
		free(client);
		return NULL;
	}
	return client;
}

int ackclient_start(struct ackclient *client, uint16_t streams, struct err *err)
{
	int errnum = 0;

	assert(streams >= 1 && streams <= RUN_STREAMS_MAX);
	client->streams = streams;
	for (uint16_t i = 0; i < streams; i++) {
		client->rings[i] = ackring_new(client->bell, err);
		if (!client->rings[i])
			return -1;
	}
	errnum = pthread_create(&client->thread, NULL, ackclient_main, client);
	if (errnum)
		return err_sys(err, errnum,
			       "cannot start the thread of the ack log");
	client->is_started = true;
	return 0;
}

struct ackring *ackclient_ring(struct ackclient *client, uint16_t stream)
{
	return client->rings[stream];
}

static int failure(struct ackclient *client, struct err *err)
{
	pthread_mutex_lock(&client->mutex);
	*err = client->err;
	pthread_mutex_unlock(&client->mutex);
	return -1;
}

int ackclient_say(struct ackclient *client, const struct ackbody *body,
		  struct err *err)
{
	bool is_added = false;

	while (!is_added) {
		if (atomic_load(&client->is_failed))
			return failure(client, err);
		pthread_mutex_lock(&client->mutex);
		drain_rings(client);
		/* Not past what a stream has said before it stopped. */
		is_added =
			!client->is_full && ackstore_add(client->store, body);
		pthread_mutex_unlock(&client->mutex);
		ackbell_ring(client->bell);
		if (!is_added)
			clock_sleep_ms(1);
	}
	return 0;
}

int ackclient_wait(struct ackclient *client, uint64_t timeout_ms,
		   struct err *err)
{
	uint64_t until_ns = clock_monotonic_ns() + timeout_ms * CLOCK_NS_PER_MS;
	bool is_empty = false;

	for (;;) {
		pthread_mutex_lock(&client->mutex);
		is_empty = ackstore_is_empty(client->store);
		pthread_mutex_unlock(&client->mutex);
		if (is_empty)
			break;
		if (atomic_load(&client->is_failed))
			return failure(client, err);
		if (clock_monotonic_ns() > until_ns)
			return err_set(err,
				       "the ack log has not confirmed within "
				       "%llu ms",
				       (unsigned long long)timeout_ms);
		clock_sleep_ms(1);
	}
	publish(client);
	return 0;
}

uint64_t ackclient_reserved(struct ackclient *client, uint16_t stream)
{
	return atomic_load_explicit(&client->reserved[stream],
				    memory_order_acquire);
}

uint64_t ackclient_confirmed_writes(struct ackclient *client)
{
	return atomic_load(&client->confirmed_writes);
}

uint64_t ackclient_confirmed_ns(struct ackclient *client)
{
	return atomic_load(&client->confirmed_ns);
}

void ackclient_latency(struct ackclient *client, struct histogram *latency)
{
	pthread_mutex_lock(&client->mutex);
	*latency = *ackstore_latency(client->store);
	pthread_mutex_unlock(&client->mutex);
}

int ackclient_close(struct ackclient *client, struct err *err)
{
	int status = 0;

	if (!client)
		return 0;
	atomic_store(&client->is_ending, true);
	ackbell_ring(client->bell);
	if (client->is_started)
		pthread_join(client->thread, NULL);
	status = acklink_close(client->link, err);
	for (uint16_t i = 0; i < client->streams; i++)
		ackring_free(client->rings[i]);
	ackbell_free(client->bell);
	ackstore_free(client->store);
	pthread_mutex_destroy(&client->mutex);
	free(client);
	return status;
}
