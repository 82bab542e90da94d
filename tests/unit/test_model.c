/* SPDX-License-Identifier: MIT */
/*
 * The honest drive keeps what was flushed, loses what was not, and tears only
 * where a drive may. Blocks are told apart by one byte that fills them.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "simdrive/model.h"
#include "simdrive/power.h"

#define BLOCK       4096
#define MEDIA_BYTES (256 * BLOCK)
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

static struct model_config config_of(uint64_t cache_blocks)
{
	return (struct model_config){
		.media = {memory_read, memory_write, media, MEDIA_BYTES},
		.logical_block_bytes = BLOCK,
		.cache_bytes = cache_blocks * BLOCK,
		.drain_ms = 100,
		.seed = 1,
	};
}

static struct model *drive_that_stops_at(enum model_cut_drain cut_drain)
{
	struct model_config config = config_of(64);
	struct model *model = NULL;
	struct err err;

	config.cut_drain = cut_drain;
	model = model_new(&config, &err);
	assert_non_null(model);
	memset(media, 0, sizeof(media));
	return model;
}

static struct model *drive_of(uint64_t cache_blocks)
{
	struct model_config config = config_of(cache_blocks);
	struct err err;
	struct model *model = model_new(&config, &err);

	assert_non_null(model);
	memset(media, 0, sizeof(media));
	return model;
}

static void put(struct model *model, uint64_t block, unsigned int blocks,
		uint8_t fill, bool is_fua, uint64_t now)
{
	uint8_t *data = malloc((size_t)blocks * BLOCK);
	struct damage_write write = {data, (size_t)blocks * BLOCK,
				     block * BLOCK, false};

	assert_non_null(data);
	memset(data, fill, write.length);
	assert_int_equal(model_write(model, &write, is_fua, now), 0);
	free(data);
}

static uint8_t get(struct model *model, uint64_t block, uint64_t now)
{
	uint8_t data[BLOCK];

	assert_int_equal(model_read(model, data, BLOCK, block * BLOCK, now), 0);
	assert_memory_equal(data, data + 1, BLOCK - 1);
	return data[0];
}

static void honest_drive_keeps_what_was_flushed(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 3, 4, 7, false, 0);
	assert_int_equal(media[3 * BLOCK], 0);
	assert_int_equal(model_flush(model, 0), 0);
	assert_int_equal(model_dirty_bytes(model), 0);
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	for (uint64_t b = 3; b < 7; b++)
		assert_int_equal(get(model, b, 0), 7);
	model_free(model);
}

static void honest_drive_loses_what_was_not_flushed(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 1, 1, 5, false, 0);
	put(model, 3, 1, 7, false, 0);
	put(model, 9, 1, 8, false, 0);
	assert_int_equal(get(model, 3, 0), 7);
	assert_int_equal(power_cut(model, NULL, 0, 99 * MS), 0);
	/* Block 1 was the oldest: it may just have been drained. */
	assert_int_equal(get(model, 3, 0), 0);
	assert_int_equal(get(model, 9, 0), 0);
	model_free(model);
}

static void p1_fua_is_on_the_media_when_it_returns(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 3, 2, 7, true, 0);
	assert_int_equal(media[3 * BLOCK], 7);
	assert_int_equal(media[5 * BLOCK - 1], 7);
	assert_int_equal(model_counters(model)->fua_writes, 1);
	model_free(model);
}

static void older_cached_version_never_wins_over_fua(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 3, 1, 6, false, 0);
	put(model, 3, 1, 7, true, 0);
	assert_int_equal(get(model, 3, 0), 7);
	assert_int_equal(model_flush(model, 0), 0);
	assert_int_equal(model_tick(model, 1000 * MS), 0);
	assert_int_equal(media[3 * BLOCK], 7);
	model_free(model);
}

static void newest_of_two_cached_versions_is_flushed(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 2, 3, 6, false, 0);
	put(model, 3, 1, 7, false, 0);
	assert_int_equal(model_dirty_bytes(model), 3 * BLOCK);
	assert_int_equal(model_flush(model, 0), 0);
	assert_int_equal(media[2 * BLOCK], 6);
	assert_int_equal(media[3 * BLOCK], 7);
	assert_int_equal(media[4 * BLOCK], 6);
	model_free(model);
}

static void writes_are_drained_at_their_age(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 3, 1, 7, false, 0);
	put(model, 4, 1, 8, false, 50 * MS);
	assert_int_equal(model_tick(model, 99 * MS), 0);
	assert_int_equal(media[3 * BLOCK], 0);
	assert_int_equal(model_tick(model, 100 * MS), 0);
	assert_int_equal(media[3 * BLOCK], 7);
	assert_int_equal(media[4 * BLOCK], 0);
	model_free(model);
}

static void full_cache_drains_the_oldest_first(void **state)
{
	struct model *model = drive_of(8);

	(void)state;
	for (uint64_t b = 0; b < 8; b++)
		put(model, 20 - b, 1, 7, false, 0);
	assert_int_equal(media[20 * BLOCK], 0);
	put(model, 40, 1, 7, false, 0);
	assert_int_equal(media[20 * BLOCK], 7);
	assert_int_equal(media[19 * BLOCK], 0);
	model_free(model);
}

static void random_drain_order_leaves_holes(void **state)
{
	struct model_config config = config_of(8);
	struct err err;
	struct model *model = NULL;
	bool has_hole = false;

	(void)state;
	config.drain_order = MODEL_DRAIN_RANDOM;
	model = model_new(&config, &err);
	assert_non_null(model);
	memset(media, 0, sizeof(media));
	for (uint64_t b = 0; b < 64; b++)
		put(model, b, 1, 7, false, 0);
	for (uint64_t b = 1; b < 64; b++)
		has_hole |= media[(b - 1) * BLOCK] == 0 && media[b * BLOCK];
	assert_true(has_hole);
	model_free(model);
}

static void write_larger_than_the_cache_is_taken(void **state)
{
	struct model *model = drive_of(2);

	(void)state;
	put(model, 10, 9, 7, false, 0);
	for (uint64_t b = 10; b < 19; b++)
		assert_int_equal(get(model, b, 0), 7);
	assert_int_equal(model_flush(model, 0), 0);
	assert_int_equal(media[18 * BLOCK], 7);
	model_free(model);
}

/* Over many cuts each outcome that P3 allows is seen, and no other. */
static void p3_write_in_flight_tears_only_between_logical_blocks(void **state)
{
	struct model *model = drive_of(64);
	uint8_t data[4 * BLOCK];
	struct damage_write write = {data, sizeof(data), 8 * BLOCK, false};
	unsigned int whole = 0, none = 0, torn = 0;

	(void)state;
	for (uint8_t round = 1; round < 200; round++) {
		unsigned int is_new = 0;

		put(model, 8, 4, 0, true, 0);
		memset(data, round, sizeof(data));
		assert_int_equal(power_cut(model, &write, 1, 0), 0);
		for (uint64_t b = 8; b < 12; b++) {
			uint8_t found = get(model, b, 0);

			assert_true(found == 0 || found == round);
			is_new += found == round;
		}
		none += is_new == 0;
		whole += is_new == 4;
		torn += is_new > 0 && is_new < 4;
	}
	assert_true(none > 0 && whole > 0 && torn > 0);
	model_free(model);
}

/* Four writes of four blocks; bit n of the result: block n is there. */
static unsigned int survivors(struct model *model)
{
	unsigned int bits = 0;

	memset(media, 0, sizeof(media));
	put(model, 2, 1, 9, true, 0);
	for (uint64_t i = 0; i < 4; i++)
		put(model, 4 * i + 16, 4, 7, false, 0);
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	assert_int_equal(get(model, 2, 0), 9);
	for (uint64_t b = 0; b < 16; b++)
		bits |= (unsigned int)(get(model, b + 16, 0) == 7) << b;
	return bits;
}

static void p3_partial_drain_stops_anywhere_in_order(void **state)
{
	struct model *model = drive_that_stops_at(MODEL_CUT_PART);
	bool seen[17] = {false};

	(void)state;
	for (int round = 0; round < 400; round++) {
		unsigned int bits = survivors(model);
		unsigned int count = 0;

		while (bits >> count & 1)
			count++;
		assert_int_equal(bits, (1U << count) - 1);
		seen[count] = true;
	}
	for (int count = 0; count <= 16; count++)
		assert_true(seen[count]);
	model_free(model);
}

static void p3_cut_may_leave_any_blocks_of_what_was_not_promised(void **state)
{
	struct model *model = drive_that_stops_at(MODEL_CUT_ANY);
	unsigned int ever = 0, always = 0xffff;
	bool has_hole = false;

	(void)state;
	for (int round = 0; round < 100; round++) {
		unsigned int bits = survivors(model);

		ever |= bits;
		always &= bits;
		has_hole |= (bits & (bits + 1)) != 0;
	}
	assert_int_equal(ever, 0xffff);
	assert_int_equal(always, 0);
	assert_true(has_hole);
	model_free(model);
}

static void p6_cut_leaves_data_at_rest_alone(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 0, 128, 9, true, 0);
	for (int round = 0; round < 50; round++) {
		put(model, 130, 8, 3, false, 0);
		assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	}
	for (uint64_t b = 0; b < 128; b++)
		assert_int_equal(get(model, b, 0), 9);
	model_free(model);
}

static void same_seed_loses_the_same(void **state)
{
	uint8_t first[MEDIA_BYTES];

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct model *model = drive_of(16);
		uint8_t data[8 * BLOCK];
		struct damage_write write = {data, sizeof(data), 0, false};

		memset(data, 1, sizeof(data));
		for (uint64_t b = 0; b < 60; b++)
			put(model, b, 2, (uint8_t)b, false, 0);
		assert_int_equal(power_cut(model, &write, 1, 0), 0);
		if (round == 0)
			memcpy(first, media, sizeof(first));
		model_free(model);
	}
	assert_memory_equal(first, media, sizeof(first));
}

static void orderly_stop_drains_everything(void **state)
{
	struct model *model = drive_of(64);

	(void)state;
	put(model, 3, 4, 7, false, 0);
	assert_int_equal(power_stop(model), 0);
	assert_int_equal(media[6 * BLOCK], 7);
	model_free(model);
}

static void half_blocks_and_wrong_places_are_refused(void **state)
{
	struct model *model = drive_of(64);
	uint8_t data[2 * BLOCK] = {0};
	struct damage_write write = {data, 512, 0, false};

	(void)state;
	assert_int_equal(model_write(model, &write, false, 0), -EINVAL);
	write = (struct damage_write){data, BLOCK, 512, false};
	assert_int_equal(model_write(model, &write, false, 0), -EINVAL);
	write = (struct damage_write){data, 2 * BLOCK, MEDIA_BYTES - BLOCK,
				      false};
	assert_int_equal(model_write(model, &write, false, 0), -EINVAL);
	assert_int_equal(model_read(model, data, BLOCK, MEDIA_BYTES, 0),
			 -EINVAL);
	model_free(model);
}

static void state_is_carried_over_and_damage_to_it_is_seen(void **state)
{
	uint8_t *saved = malloc(POWER_STATE_BYTES_MAX);
	struct model *model = drive_of(64);
	struct model *next = drive_of(64);
	struct err err;
	size_t length = 0;

	(void)state;
	assert_non_null(saved);
	put(model, 3, 1, 7, true, 0);
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	length = power_save_state(model, saved);
	assert_int_equal(power_load_state(next, saved, length, &err), 0);
	assert_memory_equal(model_counters(model), model_counters(next),
			    sizeof(struct model_counters));
	assert_int_equal(model_counters(next)->cuts, 1);
	for (size_t at = 0; at < length; at++) {
		saved[at] ^= 0x10;
		assert_int_equal(power_load_state(next, saved, length, &err),
				 -1);
		saved[at] ^= 0x10;
	}
	assert_int_equal(power_load_state(next, saved, length - 1, &err), -1);
	model_free(model);
	model_free(next);
	free(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_drive_keeps_what_was_flushed),
		cmocka_unit_test(honest_drive_loses_what_was_not_flushed),
		cmocka_unit_test(p1_fua_is_on_the_media_when_it_returns),
		cmocka_unit_test(older_cached_version_never_wins_over_fua),
		cmocka_unit_test(newest_of_two_cached_versions_is_flushed),
		cmocka_unit_test(writes_are_drained_at_their_age),
		cmocka_unit_test(full_cache_drains_the_oldest_first),
		cmocka_unit_test(random_drain_order_leaves_holes),
		cmocka_unit_test(write_larger_than_the_cache_is_taken),
		cmocka_unit_test(
			p3_write_in_flight_tears_only_between_logical_blocks),
		cmocka_unit_test(p3_partial_drain_stops_anywhere_in_order),
		cmocka_unit_test(
			p3_cut_may_leave_any_blocks_of_what_was_not_promised),
		cmocka_unit_test(p6_cut_leaves_data_at_rest_alone),
		cmocka_unit_test(same_seed_loses_the_same),
		cmocka_unit_test(orderly_stop_drains_everything),
		cmocka_unit_test(half_blocks_and_wrong_places_are_refused),
		cmocka_unit_test(
			state_is_carried_over_and_damage_to_it_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
