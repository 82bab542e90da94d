/* SPDX-License-Identifier: MIT */
/*
 * What a fault does, block by block: it hits what is durable and newest and
 * nothing else, with certainty, and a lying FLUSH forgets exactly what it is
 * said to forget. Blocks are told apart by one byte that fills them.
 */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "simdrive/model.h"
#include "simdrive/power.h"

#define BLOCK       4096
#define ATOM        512
#define MEDIA_BYTES (64 * BLOCK)
#define MS          1000000ULL

static uint8_t media[MEDIA_BYTES];

static int memory_read(void *context, void *buffer, size_t length,
		       uint64_t offset)
{
	memcpy(buffer, (uint8_t *)context + offset, length);
	return 0;
}

static int memory_write(void *context, const void *buffer, size_t length,
			uint64_t offset)
{
	memcpy((uint8_t *)context + offset, buffer, length);
	return 0;
}

/* Its media hold FILL everywhere. */
static struct model *liar(const char *fault, uint8_t fill, uint64_t seed)
{
	struct model_config config = {
		.media = {memory_read, memory_write, media, MEDIA_BYTES},
		.logical_block_bytes = BLOCK,
		.cache_bytes = MEDIA_BYTES,
		.drain_ms = 1000,
		.seed = seed,
	};
	struct model *model = NULL;
	struct err err;

	assert_int_equal(faults_add(&config.faults, fault, &err), 0);
	model = model_new(&config, &err);
	assert_non_null(model);
	memset(media, fill, sizeof(media));
	return model;
}

static void put(struct model *model, uint64_t block, uint8_t fill, bool is_fua,
		uint64_t now)
{
	uint8_t data[BLOCK];
	struct damage_write write = {data, BLOCK, block * BLOCK, false};

	memset(data, fill, BLOCK);
	assert_int_equal(model_write(model, &write, is_fua, now), 0);
}

static void put_and_flush(struct model *model, uint64_t block, uint8_t fill)
{
	put(model, block, fill, false, 0);
	assert_int_equal(model_flush(model, 0), 0);
}

static bool holds(uint64_t block, uint8_t fill)
{
	const uint8_t *data = media + block * BLOCK;

	return data[0] == fill && memcmp(data, data + 1, BLOCK - 1) == 0;
}

static void cut(struct model *model)
{
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	model_free(model);
}

static void only_durable_write_is_always_hit(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct model *model = liar("corrupts", 1, seed);

		put(model, 5, 2, true, 0);
		cut(model);
		assert_false(holds(5, 2));
		assert_true(holds(4, 1) && holds(6, 1));
	}
}

static void write_that_was_never_promised_is_spared(void **state)
{
	struct model *model = liar("corrupts", 1, 1);

	(void)state;
	put(model, 5, 2, false, 0);
	assert_int_equal(model_tick(model, 1001 * MS), 0);
	assert_true(holds(5, 2));
	cut(model);
	assert_true(holds(5, 2));
}

static void flush_promises_what_was_drained_before_it(void **state)
{
	struct model *model = liar("corrupts", 1, 1);

	(void)state;
	put(model, 5, 2, false, 0);
	assert_int_equal(model_tick(model, 1001 * MS), 0);
	assert_int_equal(model_flush(model, 1001 * MS), 0);
	cut(model);
	assert_false(holds(5, 2));
}

static void write_that_a_newer_one_replaces_is_spared(void **state)
{
	struct model *model = liar("blanks", 1, 1);

	(void)state;
	put(model, 5, 2, true, 0);
	put(model, 5, 3, false, 0);
	cut(model);
	assert_false(holds(5, 0));
}

static void write_that_one_in_flight_replaces_is_spared(void **state)
{
	struct model *model = liar("blanks", 1, 1);
	uint8_t data[BLOCK];
	struct damage_write write = {data, BLOCK, 5 * BLOCK, false};

	(void)state;
	memset(data, 3, BLOCK);
	put(model, 5, 2, true, 0);
	assert_int_equal(power_cut(model, &write, 1, 0), 0);
	model_free(model);
	assert_true(holds(5, 2) || holds(5, 3));
}

static void nothing_returns_where_nothing_was(void **state)
{
	static const char *const faults[] = {
		"rolls-back", "tears", "misdirects", "stale-after-restore"};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct model *model = liar(faults[i], 0, 1);
		uint8_t data[BLOCK];

		put(model, 5, 2, true, 0);
		put(model, 9, 2, true, 0);
		assert_int_equal(power_cut(model, NULL, 0, 0), 0);
		assert_int_equal(model_read(model, data, BLOCK, 5 * BLOCK, 0),
				 0);
		assert_int_equal(data[0], 2);
		model_free(model);
		assert_true(holds(5, 2) && holds(9, 2));
	}
}

static void tears_keeps_and_returns_at_least_one_unit(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct model *model = liar("tears", 1, seed);
		unsigned int returned = 0;

		put(model, 5, 2, true, 0);
		cut(model);
		for (size_t at = 0; at < BLOCK; at += ATOM)
			returned += media[5 * BLOCK + at] == 1;
		assert_true(returned > 0 && returned < BLOCK / ATOM);
	}
}

static void p8_tears_in_flight_leaves_half_a_block(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct model *model = liar("tears-in-flight", 1, seed);

		put(model, 5, 2, false, 0);
		cut(model);
		assert_int_equal(media[5 * BLOCK], 2);
		assert_int_equal(media[6 * BLOCK - 1], 1);
	}
}

static void rolled_back_write_shows_what_was_before_it(void **state)
{
	struct model *model = liar("rolls-back", 1, 1);

	(void)state;
	put_and_flush(model, 5, 2);
	put_and_flush(model, 5, 3);
	cut(model);
	assert_true(holds(5, 2));
}

static void p7_misdirected_write_misses_at_home(void **state)
{
	struct model *model = liar("misdirects", 1, 1);

	(void)state;
	put_and_flush(model, 5, 2);
	put_and_flush(model, 20, 3);
	cut(model);
	assert_true((holds(5, 1) && holds(20, 2)) ||
		    (holds(20, 1) && holds(5, 3)));
}

static void every_second_flush_is_forgotten_for_good(void **state)
{
	struct model *model = liar("flushes-partly", 1, 1);

	(void)state;
	put_and_flush(model, 5, 2);
	put_and_flush(model, 6, 2);
	put_and_flush(model, 7, 2);
	cut(model);
	assert_true(holds(5, 2) && holds(6, 1) && holds(7, 2));
}

static void reordering_drive_leaves_a_hole_before_survivors(void **state)
{
	struct model *model = liar("reorders", 1, 1);

	(void)state;
	for (uint64_t block = 5; block < 9; block++)
		put(model, block, 2, false, 0);
	assert_int_equal(model_flush(model, 0), 0);
	/* Single writes are forgotten and kept in turn. */
	put_and_flush(model, 9, 2);
	put_and_flush(model, 10, 2);
	cut(model);
	assert_true(holds(5, 1) && holds(6, 1) && holds(9, 1));
	assert_true(holds(7, 2) && holds(8, 2) && holds(10, 2));
}

static void late_flush_is_kept_once_its_time_has_come(void **state)
{
	(void)state;
	for (uint64_t late = 0; late < 2; late++) {
		struct model *model = liar("flushes-late=100", 1, 1);

		put_and_flush(model, 5, 2);
		put(model, 6, 2, false, 0);
		assert_int_equal(power_cut(model, NULL, 0, (99 + late) * MS),
				 0);
		model_free(model);
		assert_true(holds(5, late == 0 ? 1 : 2) && holds(6, 1));
	}
}

static void weak_capacitor_saves_the_oldest_as_far_as_it_reaches(void **state)
{
	struct model *model = liar("weak-capacitor=8192", 1, 1);

	(void)state;
	for (uint64_t block = 5; block < 9; block++)
		put(model, block, 2, true, 0);
	assert_true(holds(5, 1));
	cut(model);
	assert_true(holds(5, 2) && holds(6, 2) && holds(7, 1) && holds(8, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_durable_write_is_always_hit),
		cmocka_unit_test(write_that_was_never_promised_is_spared),
		cmocka_unit_test(flush_promises_what_was_drained_before_it),
		cmocka_unit_test(write_that_a_newer_one_replaces_is_spared),
		cmocka_unit_test(write_that_one_in_flight_replaces_is_spared),
		cmocka_unit_test(nothing_returns_where_nothing_was),
		cmocka_unit_test(tears_keeps_and_returns_at_least_one_unit),
		cmocka_unit_test(p8_tears_in_flight_leaves_half_a_block),
		cmocka_unit_test(rolled_back_write_shows_what_was_before_it),
		cmocka_unit_test(p7_misdirected_write_misses_at_home),
		cmocka_unit_test(every_second_flush_is_forgotten_for_good),
		cmocka_unit_test(
			reordering_drive_leaves_a_hole_before_survivors),
		cmocka_unit_test(late_flush_is_kept_once_its_time_has_come),
		cmocka_unit_test(
			weak_capacitor_saves_the_oldest_as_far_as_it_reaches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
