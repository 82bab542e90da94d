/* SPDX-License-Identifier: MIT */
/*
 * Faults that bite at some cuts only, and those that heal.
 */
#include "simdrive/faults.h"

#include <string.h>

#include "common/base/err.h"
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

static void put(struct model *model, uint64_t block, uint8_t fill)
{
	uint8_t data[BLOCK];
	struct damage_write write = {data, BLOCK, block * BLOCK, false};

	memset(data, fill, BLOCK);
	assert_int_equal(model_write(model, &write, false, 0), 0);
}

static void fault_cuts_bound_when_faults_bite(void **state)
{
	static const struct {
		const char *text, *bites; /* at cuts 1 to 6 */
	} cases[] = {
		{"1-2", "yynnnn"}, {"3", "nnynnn"},  {"3-3", "nnynnn"},
		{"4-", "nnnyyy"},  {"1-", "yyyyyy"}, {"2-5", "nyyyyn"},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct faults faults = {.count = 0};

		assert_int_equal(faults_add(&faults, "blanks", &err), 0);
		assert_int_equal(faults_set_cuts(&faults, cases[i].text, &err),
				 0);
		for (uint64_t cut = 1; cut <= 6; cut++)
			assert_int_equal(faults_bite(&faults, cut - 1),
					 cases[i].bites[cut - 1] == 'y');
		faults.every = 2; /* both hold */
		for (uint64_t cut = 1; cut <= 6; cut++)
			assert_int_equal(faults_bite(&faults, cut - 1),
					 cases[i].bites[cut - 1] == 'y' &&
						 cut % 2 == 0);
	}
}

static void wrong_fault_cuts_are_refused(void **state)
{
	static const char *const wrong[] = {"",  "0",   "3-2",   "-",  "-3",
					    "x", "1-x", "1-2-3", "1,2"};
	struct faults faults = {.count = 0};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (faults_set_cuts(&faults, wrong[i], &err) != -1)
			fail_msg("%s was taken", wrong[i]);
}

/* In the life that ends with the second cut it keeps its promises again. */
static void drive_whose_fault_has_healed_is_honest(void **state)
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

	(void)state;
	assert_int_equal(faults_add(&config.faults, "ignores-flush", &err), 0);
	assert_int_equal(faults_set_cuts(&config.faults, "1", &err), 0);
	model = model_new(&config, &err);
	assert_non_null(model);
	for (uint8_t life = 1; life <= 3; life++) {
		put(model, 7, life);
		assert_int_equal(model_flush(model, 0), 0);
		assert_int_equal(power_cut(model, NULL, 0, 0), 0);
		assert_int_equal(media[7 * BLOCK], life == 1 ? 0 : life);
	}
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_cuts_bound_when_faults_bite),
		cmocka_unit_test(wrong_fault_cuts_are_refused),
		cmocka_unit_test(drive_whose_fault_has_healed_is_honest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
