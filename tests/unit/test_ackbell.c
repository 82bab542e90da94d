/* SPDX-License-Identifier: MIT */
/*
 * Who waits is woken once, who does not wait costs nobody a system call, and
 * nothing that was said is slept through.
 */
#include "writer/ackbell.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

#define ROUNDS  20000
#define WAIT_MS 20000

static int set_up(void **state)
{
	struct err err;

	*state = ackbell_new(&err);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	ackbell_free(*state);
	return 0;
}

static bool is_heard(struct ackbell *bell, int wait_ms)
{
	struct pollfd entry = {.fd = ackbell_fd(bell), .events = POLLIN};

	return poll(&entry, 1, wait_ms) == 1;
}

static void only_who_waits_is_rung_for(void **state)
{
	struct ackbell *bell = *state;

	ackbell_ring(bell);
	assert_false(is_heard(bell, 0));
	ackbell_arm(bell);
	assert_false(is_heard(bell, 0));
	ackbell_ring(bell);
	assert_true(is_heard(bell, 0));
	ackbell_disarm(bell);
	assert_false(is_heard(bell, 0));
	ackbell_ring(bell);
	assert_false(is_heard(bell, 0));
}

static void one_wait_is_rung_for_once_and_no_other_is_ended(void **state)
{
	struct ackbell *bell = *state;
	eventfd_t rings = 0;

	ackbell_arm(bell);
	ackbell_ring(bell);
	ackbell_ring(bell);
	assert_int_equal(eventfd_read(ackbell_fd(bell), &rings), 0);
	assert_int_equal(rings, 1);
	ackbell_disarm(bell);
	ackbell_arm(bell);
	ackbell_ring(bell);
	ackbell_disarm(bell);
	ackbell_arm(bell);
	assert_false(is_heard(bell, 0));
	ackbell_disarm(bell);
}

struct talk {
	struct ackbell *bell;
	atomic_uint said, answered;
};

static void *talker_main(void *argument)
{
	struct talk *talk = argument;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		atomic_store_explicit(&talk->said, i, memory_order_release);
		ackbell_ring(talk->bell);
		while (atomic_load(&talk->answered) < i)
			;
	}
	return NULL;
}

/* As the ack thread does it: arm, look, wait. A bell that is missed hangs. */
static void nothing_said_is_slept_through(void **state)
{
	struct talk talk = {.bell = *state};
	unsigned int heard = 0;
	pthread_t talker;

	assert_int_equal(pthread_create(&talker, NULL, talker_main, &talk), 0);
	while (heard < ROUNDS) {
		ackbell_arm(talk.bell);
		if (atomic_load_explicit(&talk.said, memory_order_acquire) ==
		    heard)
			assert_true(is_heard(talk.bell, WAIT_MS));
		ackbell_disarm(talk.bell);
		heard = atomic_load(&talk.said);
		atomic_store(&talk.answered, heard);
	}
	pthread_join(talker, NULL);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(only_who_waits_is_rung_for),
		ROW(one_wait_is_rung_for_once_and_no_other_is_ended),
		ROW(nothing_said_is_slept_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
