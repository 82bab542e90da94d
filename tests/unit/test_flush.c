/* SPDX-License-Identifier: MIT */
/*
 * A slow FLUSH promises what was accepted before it arrived and nothing else
 * (P1), whatever comes while it is under way. Blocks are told apart by one byte
 * that fills them.
 */
#include "simdrive/flush.h"

#include <string.h>

#include "common/base/err.h"
#include "simdrive/faults.h"
#include "simdrive/model.h"
#include "simdrive/power.h"
#include "tests/unit/cmocka_all.h"

#define BLOCK       4096
#define MEDIA_BYTES (64 * BLOCK)

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

static struct model *drive_of(const char *fault)
{
	struct model_config config = {
		.media = {memory_read, memory_write, media, MEDIA_BYTES},
		.logical_block_bytes = BLOCK,
		.cache_bytes = MEDIA_BYTES,
		.drain_ms = 1000,
		.seed = 1,
	};
	struct model *model = NULL;
	struct err err;

	assert_int_equal(faults_add(&config.faults, fault, &err), 0);
	model = model_new(&config, &err);
	assert_non_null(model);
	memset(media, 0, sizeof(media));
	return model;
}

static void put(struct model *model, uint64_t block, uint8_t fill)
{
	uint8_t data[BLOCK];
	struct damage_write write = {data, BLOCK, block * BLOCK, false};

	memset(data, fill, BLOCK);
	assert_int_equal(model_write(model, &write, false, 0), 0);
}

static struct flush begin(struct model *model)
{
	struct flush flush;

	assert_int_equal(flush_begin(model, &flush, 0), 0);
	return flush;
}

static void p1_slow_flush_promises_what_came_before_it(void **state)
{
	struct model *model = drive_of("none");
	struct flush flush;

	(void)state;
	put(model, 1, 1);
	put(model, 2, 2);
	flush = begin(model);
	put(model, 3, 3);
	assert_int_equal(flush_end(model, &flush), 0);
	assert_int_equal(media[1 * BLOCK], 1);
	assert_int_equal(media[2 * BLOCK], 2);
	assert_int_equal(media[3 * BLOCK], 0);
	assert_int_equal(model_dirty_bytes(model), BLOCK);
	model_free(model);
}

static void p1_flush_that_is_cut_off_promises_nothing(void **state)
{
	struct model *model = drive_of("none");
	struct flush flush;

	(void)state;
	put(model, 1, 1); /* the oldest may be there in any case */
	put(model, 2, 2);
	put(model, 3, 3);
	flush = begin(model);
	assert_int_equal(flush_step(model, &flush), 0);
	assert_int_equal(media[3 * BLOCK], 3);
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	assert_int_equal(media[2 * BLOCK], 0);
	model_free(model);
}

/* A drive with one version of a block in its cache would lose the promised
 * one: the newer is never flushed. */
static void p4_write_meanwhile_does_not_take_what_is_being_flushed(void **state)
{
	struct model *model = drive_of("none");
	struct flush first, second;

	(void)state;
	put(model, 1, 1);
	put(model, 2, 2);
	first = begin(model);
	put(model, 3, 3);
	second = begin(model);
	put(model, 2, 7);
	put(model, 3, 8);
	assert_int_equal(flush_end(model, &second), 0);
	assert_int_equal(flush_end(model, &first), 0);
	put(model, 2, 9);
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	assert_int_equal(media[2 * BLOCK], 2);
	assert_in_range(media[3 * BLOCK], 3, 8);
	model_free(model);
}

static void step_of_a_lie_does_nothing(void **state)
{
	struct model *model = drive_of("ignores-flush");
	struct flush flush;

	(void)state;
	put(model, 1, 1);
	put(model, 2, 2);
	flush = begin(model);
	assert_int_equal(flush_step(model, &flush), 0);
	put(model, 2, 3);
	assert_int_equal(flush_end(model, &flush), 0);
	assert_int_equal(model_dirty_bytes(model), 2 * BLOCK);
	assert_int_equal(media[2 * BLOCK], 0);
	model_free(model);
}

/* What came meanwhile is durable only by the next FLUSH; corrupts may not hit
 * it, however early it was drained. */
static void damage_spares_what_came_during_a_flush(void **state)
{
	struct model *model = drive_of("corrupts");
	struct flush flush;
	uint8_t whole[BLOCK];

	(void)state;
	flush = begin(model);
	for (uint64_t block = 8; block < 40; block++)
		put(model, block, 5);
	assert_int_equal(model_tick(model, 2000000000), 0);
	assert_int_equal(model_dirty_bytes(model), 0);
	assert_int_equal(flush_end(model, &flush), 0);
	assert_int_equal(power_cut(model, NULL, 0, 0), 0);
	memset(whole, 5, BLOCK);
	for (uint64_t block = 8; block < 40; block++)
		assert_memory_equal(media + block * BLOCK, whole, BLOCK);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p1_slow_flush_promises_what_came_before_it),
		cmocka_unit_test(p1_flush_that_is_cut_off_promises_nothing),
		cmocka_unit_test(
			p4_write_meanwhile_does_not_take_what_is_being_flushed),
		cmocka_unit_test(step_of_a_lie_does_nothing),
		cmocka_unit_test(damage_spares_what_came_during_a_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
