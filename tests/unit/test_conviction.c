/* SPDX-License-Identifier: MIT */
/*
 * The table that matters most, in one process: every fault of the simulated
 * drive x sync modes x queue depths 1 and 32 x five seeds earns its own verdict
 * and no other; the honest and the protected drive are acquitted each time.
 * The expectation stands in simdrive/faults.def, so a new fault is tested at
 * once.
 */
#include "tests/fake/rehearsal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/err.h"
#include "simdrive/faults.h"
#include "tests/unit/cmocka_all.h"

#define SEEDS  5
#define WRITES 300

static const struct {
	enum ackbody_sync sync;
	uint64_t value;
} modes[] = {
	{ACKBODY_SYNC_FLUSH_COUNT, 1}, {ACKBODY_SYNC_FLUSH_COUNT, 16},
	{ACKBODY_SYNC_FLUSH_MS, 5},    {ACKBODY_SYNC_FUA, 0},
	{ACKBODY_SYNC_NONE, 0},
};

static struct rehearsal_result rehearse(const struct rehearsal_config *config)
{
	struct rehearsal_result result;
	struct err err = {""};

	if (rehearsal_run(config, &result, &err) < 0)
		fail_msg("%s, seed %llu: %s", config->fault,
			 (unsigned long long)config->seed, err.text);
	return result;
}

static const char *earned_word(const struct fault_row *row,
			       enum ackbody_sync sync)
{
	return sync == ACKBODY_SYNC_FUA ? row->earns_fua : row->earns_flush;
}

static void expect_earned(const struct fault_row *row,
			  const struct rehearsal_config *config,
			  const struct rehearsal_result *result)
{
	const char *earned = earned_word(row, config->sync);
	char sync[32];

	ackbody_sync_text(config->sync, config->sync_value, sync);
	for (int i = 0; i < VERDICT_COUNT; i++) {
		const char *word = verdict_word((enum verdict)i);
		bool is_wanted = verdict_is_broken((enum verdict)i) &&
				 strcasecmp(word, earned) == 0;
		bool is_allowed = strcasecmp(word, row->also) == 0 ||
				  !verdict_is_broken((enum verdict)i);

		if (i == VERDICT_IMPOSSIBLE)
			is_allowed = false;
		/* Where nothing is promised it may be seen, or not. */
		if (result->atoms[i] == 0
			    ? is_wanted && config->sync != ACKBODY_SYNC_NONE
			    : !is_wanted && !is_allowed)
			fail_msg("%s %s depth %u seed %llu: %llu atoms %s, "
				 "must earn %s",
				 row->name, sync, config->depth,
				 (unsigned long long)config->seed,
				 (unsigned long long)result->atoms[i], word,
				 earned);
	}
}

static unsigned int convict_rows(const struct fault_row *row,
				 unsigned int depth)
{
	unsigned int runs = 0;

	for (size_t mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct rehearsal_config config = {
				.fault = row->name,
				.sync = modes[mode].sync,
				.sync_value = modes[mode].value,
				.depth = depth,
				.seed = seed,
				.writes = WRITES,
				.cycles = 1,
			};
			struct rehearsal_result result = rehearse(&config);

			expect_earned(row, &config, &result);
			runs++;
		}
	return runs;
}

static void p4_every_fault_earns_its_verdict_and_no_other(void **state)
{
	unsigned int runs = 0;

	(void)state;
	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		const struct fault_row *row = faults_row((enum fault_kind)kind);

		runs += convict_rows(row, 1) + convict_rows(row, 32);
	}
	printf("%u rehearsals, each verdict as faults.def demands\n", runs);
}

static void p6_an_honest_drive_stays_acquitted_over_cycles(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
		const struct rehearsal_config config = {
			.fault = seed % 2 ? "none" : "protected",
			.sync = seed % 3 ? ACKBODY_SYNC_FLUSH_COUNT
					 : ACKBODY_SYNC_FUA,
			.sync_value = seed % 3 ? 16 : 0,
			.depth = 32,
			.seed = seed,
			.writes = 100,
			.cycles = 8,
			.is_last_cycle_unsynced = seed % 4 == 1,
		};
		struct rehearsal_result result = rehearse(&config);

		for (int i = 0; i < VERDICT_COUNT; i++)
			if (verdict_is_broken((enum verdict)i) ||
			    i == VERDICT_IMPOSSIBLE)
				assert_int_equal(result.atoms[i], 0);
	}
}

static void p3_the_control_arm_loses_writes_on_an_honest_drive(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct rehearsal_config config = {
			.fault = "none",
			.sync = ACKBODY_SYNC_FLUSH_COUNT,
			.sync_value = 16,
			.depth = 32,
			.seed = seed,
			.writes = WRITES,
			.cycles = 1,
			.is_last_cycle_unsynced = true,
		};

		assert_true(rehearse(&config).completed_lost > 0);
		config.fault = "protected";
		assert_int_equal(rehearse(&config).completed_lost, 0);
	}
}

/* Acknowledgements that never arrived: what the drive still holds convicts. */
static void p5_media_proof_convicts_without_the_log(void **state)
{
	static const char *const liars[] = {"rolls-back", "corrupts",
					    "reorders", "blanks"};

	(void)state;
	for (size_t i = 0; i < sizeof(liars) / sizeof(liars[0]); i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct rehearsal_config config = {
				.fault = liars[i],
				.sync = ACKBODY_SYNC_FLUSH_COUNT,
				.sync_value = 16,
				.depth = 32,
				.seed = seed,
				.writes = WRITES,
				.cycles = 1,
				.log = seed % 2 ? REHEARSAL_LOG_NONE
						: REHEARSAL_LOG_CUT,
			};
			struct rehearsal_result result = rehearse(&config);
			uint64_t broken = 0;

			for (int k = 0; k < VERDICT_COUNT; k++)
				if (verdict_is_broken((enum verdict)k))
					broken += result.atoms[k];
			assert_true(broken > 0);
			config.fault = "none";
			result = rehearse(&config);
			assert_int_equal(result.atoms[VERDICT_LOST], 0);
			assert_true(result.durable > 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p4_every_fault_earns_its_verdict_and_no_other),
		cmocka_unit_test(
			p6_an_honest_drive_stays_acquitted_over_cycles),
		cmocka_unit_test(
			p3_the_control_arm_loses_writes_on_an_honest_drive),
		cmocka_unit_test(p5_media_proof_convicts_without_the_log),
	};

	return cmocka_run_group_tests_name("conviction", tests, NULL, NULL);
}
