/* SPDX-License-Identifier: MIT */
/*
 * A cut finds exactly the writes that have come and are not done.
 */
#include "simdrive/inflight.h"

#include "tests/unit/cmocka_all.h"

static void cut_finds_what_is_not_done(void **state)
{
	struct inflight_table table = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct inflight entries[4] = {{.write = {.offset_bytes = 0}}};
	struct damage_write writes[4];
	bool found[4] = {false};

	(void)state;
	assert_false(inflight_is_any(&table));
	for (uint64_t i = 0; i < 4; i++) {
		entries[i].write.offset_bytes = i;
		inflight_enter(&table, &entries[i]);
	}
	inflight_leave(&table, &entries[3]); /* the newest */
	inflight_leave(&table, &entries[1]);
	assert_true(inflight_is_any(&table));
	assert_int_equal(inflight_seize(&table, writes, 4), 2);
	found[writes[0].offset_bytes] = true;
	found[writes[1].offset_bytes] = true;
	assert_true(found[0] && found[2]);
}

static void cut_takes_no_more_than_there_is_room_for(void **state)
{
	struct inflight_table table = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct inflight entries[3] = {{.write = {.offset_bytes = 0}}};
	struct damage_write writes[2];

	(void)state;
	for (int i = 0; i < 3; i++)
		inflight_enter(&table, &entries[i]);
	inflight_leave(&table, &entries[1]); /* from the middle, then the end */
	inflight_leave(&table, &entries[0]);
	inflight_leave(&table, &entries[2]);
	assert_false(inflight_is_any(&table));
	for (int i = 0; i < 3; i++)
		inflight_enter(&table, &entries[i]);
	assert_int_equal(inflight_seize(&table, writes, 2), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_finds_what_is_not_done),
		cmocka_unit_test(cut_takes_no_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
