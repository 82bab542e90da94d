/* SPDX-License-Identifier: MIT */
#include "writer/acklink.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/net/ackwire.h"
#include "writer/ackstore.h"

#define FIRST_CONNECT_MS 10000
#define SILENCE_MS       10000 /* then the connection is taken for dead */

struct acklink {
	struct ackwire_place place; /* address NULL: a file */
	uint8_t run_id[RUN_ID_BYTES];
	struct ackwire *wire;
	struct ackfile *file;
	uint64_t heard_ns;
	uint64_t silence_ms;
};

static struct ackwire *say_hello(struct acklink *link, enum ackproto_mode mode,
				 uint64_t deadline_ns,
				 struct ackwire_answer *answer, struct err *err)
{
	struct ackproto_hello hello = {.mode = mode};

	memcpy(hello.run_id, link->run_id, RUN_ID_BYTES);
	memset(answer, 0, sizeof(*answer));
	return ackwire_open(&link->place, &hello, deadline_ns, answer, err);
}

static int open_wire(struct acklink *link, const struct ackclient_setup *setup,
		     struct ackclient_before *before, struct err *err)
{
	uint64_t wait_ms = setup->timeout_ms < FIRST_CONNECT_MS
				   ? setup->timeout_ms
				   : FIRST_CONNECT_MS;
	struct ackwire_answer answer;

	link->wire = say_hello(
		link, setup->is_resume ? ACKPROTO_RESUME : ACKPROTO_NEW,
		clock_monotonic_ns() + wait_ms * CLOCK_NS_PER_MS, &answer, err);
	if (!link->wire)
		return -1;
	before->has_run = answer.welcome.has_run;
	before->run = answer.welcome.run;
	before->cycle = answer.welcome.cycle;
	memcpy(before->reserved, answer.welcome.reserved,
	       sizeof(before->reserved));
	return 0;
}

static int resume_file(struct acklink *link, const char *path,
		       struct ackclient_before *before, struct err *err)
{
	struct ledger *ledger = ledger_new(err);

	if (!ledger)
		return -1;
	link->file = ackfile_resume(path, ledger, &before->repaired_bytes, err);
	if (!link->file) {
		ledger_free(ledger);
		return -1;
	}
	before->has_run = ledger_has_run(ledger);
	if (before->has_run) {
		before->run = *ledger_run(ledger);
		if (ledger_cycle(ledger))
			before->cycle = ledger_cycle(ledger)->cycle;
		for (uint16_t i = 0; i < before->run.streams; i++)
			before->reserved[i] = ledger_reserved(ledger, i);
	}
	ledger_free(ledger);
	return 0;
}

static int open_file(struct acklink *link, const struct ackclient_setup *setup,
		     struct ackclient_before *before, struct err *err)
{
	if (setup->is_resume)
		return resume_file(link, setup->log_path, before, err);
	link->file = ackfile_create(setup->log_path, err);
	return link->file ? 0 : -1;
}

struct acklink *acklink_open(const struct ackclient_setup *setup,
			     struct ackclient_before *before, struct err *err)
{
	struct acklink *link = calloc(1, sizeof(*link));
	int status = 0;

	if (!link) {
		err_sys(err, ENOMEM, "cannot keep an ack log");
		return NULL;
	}
	memset(before, 0, sizeof(*before));
	memcpy(link->run_id, setup->run_id, RUN_ID_BYTES);
	link->place.address = setup->collector;
	link->place.key = setup->key;
	link->silence_ms =
		setup->timeout_ms < SILENCE_MS ? setup->timeout_ms : SILENCE_MS;
	link->heard_ns = clock_monotonic_ns();
	status = setup->collector ? open_wire(link, setup, before, err)
				  : open_file(link, setup, before, err);
	if (status < 0) {
		free(link);
		return NULL;
	}
	return link;
}

int acklink_close(struct acklink *link, struct err *err)
{
	int status = 0;

	if (!link)
		return 0;
	ackwire_close(link->wire);
	status = ackfile_close(link->file, err);
	free(link);
	return status;
}

static const uint8_t *next_payload(struct ackstore *store,
				   pthread_mutex_t *mutex, uint32_t *length)
{
	const uint8_t *payload = NULL;

	pthread_mutex_lock(mutex);
	payload = ackstore_next(store, length);
	pthread_mutex_unlock(mutex);
	return payload;
}

static void mark_sent(struct ackstore *store, pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	ackstore_sent(store);
	pthread_mutex_unlock(mutex);
}

static int give_file(struct acklink *link, struct ackstore *store,
		     pthread_mutex_t *mutex, struct err *err)
{
	const uint8_t *payload = NULL;
	uint32_t length = 0;
	int given = 0;

	while ((payload = next_payload(store, mutex, &length))) {
		if (ackfile_append(link->file, payload, length, clock_wall_ns(),
				   err) < 0)
			return -1;
		mark_sent(store, mutex);
		given = 1;
	}
	if (!given)
		return 0;
	if (ackfile_sync(link->file, err) < 0)
		return -1;
	pthread_mutex_lock(mutex);
	/* P2: it is in the log now */
	ackstore_confirm_sent(store, clock_monotonic_ns());
	pthread_mutex_unlock(mutex);
	return 1;
}

static int give_wire(struct acklink *link, struct ackstore *store,
		     pthread_mutex_t *mutex, struct err *err)
{
	const uint8_t *payload = NULL;
	uint64_t number = 0;
	uint32_t length = 0;
	int given = 0;

	while ((payload = next_payload(store, mutex, &length))) {
		int sent =
			ackwire_send(link->wire, payload, length, &number, err);

		if (sent < 0)
			return -1;
		if (sent == 0)
			break;
		mark_sent(store, mutex);
		given = 1;
	}
	return given;
}

/* 1: not silent for too long. */
static int check_heard(struct acklink *link, bool is_flying, bool is_heard,
		       struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (is_heard || !is_flying)
		link->heard_ns = now_ns;
	if (now_ns - link->heard_ns <= link->silence_ms * CLOCK_NS_PER_MS)
		return 0;
	return err_set(err, "collector %s has confirmed nothing for %llu ms",
		       link->place.address,
		       (unsigned long long)link->silence_ms);
}

static int take_wire(struct acklink *link, struct ackstore *store,
		     pthread_mutex_t *mutex, const struct acklink_wait *wait,
		     struct err *err)
{
	uint64_t confirmed = 0;
	bool is_flying = false;
	bool is_possible = true;
	int got = ackwire_receive(link->wire, &confirmed, wait->wake_fd,
				  wait->deadline_ns, err);

	if (got < 0)
		return -1;
	pthread_mutex_lock(mutex);
	if (got > 0)
		is_possible = ackstore_confirm(store, confirmed,
					       clock_monotonic_ns());
	is_flying = ackstore_is_flying(store);
	pthread_mutex_unlock(mutex);
	if (!is_possible)
		return err_set(err,
			       "collector %s confirmed what was never sent",
			       link->place.address);
	return check_heard(link, is_flying, got > 0, err);
}

/* A file has confirmed already: only time or the bell can end this. */
static int take_file(const struct acklink_wait *wait, struct err *err)
{
	struct pollfd entry = {.fd = wait->wake_fd, .events = POLLIN};
	struct timespec left = clock_until(wait->deadline_ns);

	if (ppoll(&entry, 1, &left, NULL) < 0 && errno != EINTR)
		return err_sys(err, errno, "cannot wait for acknowledgements");
	return 0;
}

int acklink_give(struct acklink *link, struct ackstore *store,
		 pthread_mutex_t *mutex, struct err *err)
{
	return link->file ? give_file(link, store, mutex, err)
			  : give_wire(link, store, mutex, err);
}

int acklink_take(struct acklink *link, struct ackstore *store,
		 pthread_mutex_t *mutex, const struct acklink_wait *wait,
		 struct err *err)
{
	return link->file ? take_file(wait, err)
			  : take_wire(link, store, mutex, wait, err);
}

bool acklink_can_reopen(const struct acklink *link)
{
	return link->place.address != NULL;
}

int acklink_reopen(struct acklink *link, bool has_begun, uint64_t deadline_ns,
		   struct err *err)
{
	struct ackwire_answer answer;

	ackwire_close(link->wire);
	link->wire = NULL;
	if (!has_begun) {
		link->wire = say_hello(link, ACKPROTO_NEW, deadline_ns, &answer,
				       err);
		/* It may have the run: only the answer was lost. */
		has_begun = !link->wire && answer.is_refused;
	}
	if (has_begun)
		link->wire = say_hello(link, ACKPROTO_RESUME, deadline_ns,
				       &answer, err);
	link->heard_ns = clock_monotonic_ns();
	return link->wire ? 0 : -1;
}
