/* SPDX-License-Identifier: MIT */
/* P9: a drive whose answers change is neither acquitted nor, by that alone,
 * convicted. */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "verifier/conclude.h"

static struct result *result;

/* Kept, and a loss was seen. */
static int set_up(void **state)
{
	(void)state;
	result = calloc(1, sizeof(*result));
	result->target_name = "drive";
	result->was_promised = true;
	result->tally.completed_lost = 1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(result);
	return 0;
}

static void expect(enum answer answer, int status)
{
	conclude(result);
	assert_int_equal(result->answer, answer);
	assert_int_equal(result->status, status);
}

static void p9_answers_that_changed_do_not_acquit(void **state)
{
	(void)state;
	expect(ANSWER_KEPT, CONCLUDE_KEPT);
	result->changed = 1;
	expect(ANSWER_NONE, CONCLUDE_NONE);
	result->changed = 0;
	result->unstable = 1;
	expect(ANSWER_NONE, CONCLUDE_NONE);
}

static void p5_proof_that_still_grows_does_not_acquit(void **state)
{
	(void)state;
	result->is_unsettled = true;
	expect(ANSWER_NONE, CONCLUDE_NONE);
}

static void p4_a_finding_outweighs_a_change(void **state)
{
	(void)state;
	result->changed = 1;
	result->unstable = 1;
	result->is_unsettled = true;
	result->tally.atoms[VERDICT_LOST] = 8;
	result->tally.writes[VERDICT_LOST] = 1;
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN);
}

static void p9_a_log_that_grows_meanwhile_is_no_verdict(void **state)
{
	(void)state;
	result->has_log_grown = true;
	expect(ANSWER_NONE, CONCLUDE_NONE);
	result->tally.atoms[VERDICT_LOST] = 8;
	result->tally.writes[VERDICT_LOST] = 1;
	expect(ANSWER_NONE, CONCLUDE_NONE);
}

static void p9_a_log_that_changed_meanwhile_is_no_verdict(void **state)
{
	(void)state;
	strcpy(result->log_doubt, "it is another log now");
	result->tally.atoms[VERDICT_LOST] = 8;
	expect(ANSWER_NONE, CONCLUDE_NONE);
	assert_non_null(strstr(result->reason, "another log"));
}

static void p9_what_was_not_asked_for_does_not_acquit(void **state)
{
	(void)state;
	result->unscanned_bytes = 4096;
	expect(ANSWER_NONE, CONCLUDE_NONE);
}

/* Where a log holds the promises, less proof is needed. */
static void p9_proof_without_room_does_not_acquit(void **state)
{
	(void)state;
	result->dropped = 1;
	expect(ANSWER_NONE, CONCLUDE_NONE);
	result->has_log = true;
	expect(ANSWER_KEPT, CONCLUDE_KEPT);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_answers_that_changed_do_not_acquit),
		ROW(p5_proof_that_still_grows_does_not_acquit),
		ROW(p4_a_finding_outweighs_a_change),
		ROW(p9_a_log_that_grows_meanwhile_is_no_verdict),
		ROW(p9_a_log_that_changed_meanwhile_is_no_verdict),
		ROW(p9_what_was_not_asked_for_does_not_acquit),
		ROW(p9_proof_without_room_does_not_acquit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
