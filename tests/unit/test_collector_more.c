/* SPDX-License-Identifier: MIT */
/*
 * P2: the collector confirms what is on disk. Where its disk does not say so,
 * nothing is confirmed, and nothing later repairs that.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/err.h"
#include "tests/fake/collector_rig.h"

int fdatasync(int fd);
static atomic_int bad_syncs; /* so many of the next ones fail */
static atomic_int syncs;

int fdatasync(int fd)
{
	atomic_fetch_add(&syncs, 1);
	if (atomic_load(&bad_syncs) == 0)
		return (int)syscall(SYS_fdatasync, fd);
	atomic_fetch_sub(&bad_syncs, 1);
	errno = EIO;
	return -1;
}

static void p2_nothing_is_confirmed_before_it_is_on_disk(void **state)
{
	struct ackwire *wire = rig_begin_run(1);
	struct rig_payload payload = {0};
	struct err err;

	(void)state;
	rig_add_durable(&payload, 1, 3);
	atomic_store(&bad_syncs, 1);
	assert_int_equal(rig_tell(wire, &payload, &err), -1);
	assert_true(ackwire_is_refused(wire));
	assert_non_null(strstr(err.text, "cannot make "));
	assert_true(rig_was_said("everything confirmed so far is safe"));
	ackwire_close(wire);
}

static void p2_every_confirmation_has_its_own_sync(void **state)
{
	struct ackwire *wire = rig_begin_run(1);
	struct rig_payload payload = {0};

	(void)state;
	rig_add_durable(&payload, 1, 3);
	for (int i = 0; i < 5; i++) {
		int before = atomic_load(&syncs);

		rig_must_tell(wire, &payload);
		assert_true(atomic_load(&syncs) > before);
	}
	ackwire_close(wire);
}

/* An observer keeps the run open, so that it is the same one that is dead. */
static void p2_a_later_sync_repairs_nothing(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire *observer = rig_must_open(1, ACKPROTO_OBSERVE, &answer);
	struct rig_payload payload = {0}, event = {0};
	struct err err;

	(void)state;
	rig_add_durable(&payload, 1, 3);
	rig_add_event(&event, ACKBODY_EVENT_NOTE);
	atomic_store(&bad_syncs, 1);
	assert_int_equal(rig_tell(wire, &payload, &err), -1);
	assert_int_equal(rig_tell(observer, &event, &err), -1);
	ackwire_close(wire);
	ackwire_close(observer);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(p2_nothing_is_confirmed_before_it_is_on_disk),
		TEST(p2_every_confirmation_has_its_own_sync),
		TEST(p2_a_later_sync_repairs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
