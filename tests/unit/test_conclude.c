/* SPDX-License-Identifier: MIT */
/* One verdict from everything that was seen; the order of the rules matters. */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verifier/conclude.h"

static struct result *fresh(void)
{
	struct result *result = calloc(1, sizeof(*result));

	assert_non_null(result);
	result->target_name = "drive";
	result->was_promised = true;
	return result;
}

static void expect(struct result *result, enum answer answer, int status,
		   const char *reason)
{
	conclude(result);
	assert_int_equal(result->answer, answer);
	assert_int_equal(result->status, status);
	if (strstr(result->reason, reason) == NULL)
		fail_msg("'%s' lacks '%s'", result->reason, reason);
}

static void p4_any_broken_class_convicts(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < VERDICT_COUNT; i++) {
		struct result *result = fresh();

		result->tally.atoms[i] = 1;
		result->tally.writes[i] = 1;
		if (verdict_is_broken((enum verdict)i))
			expect(result, ANSWER_BROKEN, 1,
			       verdict_word((enum verdict)i));
		else
			expect(result, ANSWER_KEPT, 3, "nothing showed");
		free(result);
	}
}

/* P9: neither a conviction nor an acquittal, and an earlier rule than both. */
static void p9_flushes_that_were_not_sent_give_no_verdict(void **state)
{
	struct result *result = fresh();

	(void)state;
	strcpy(result->log.unsent, "sdb keeps them");
	result->tally.completed_lost = 1;
	expect(result, ANSWER_NONE, 2,
	       "the flushes did not reach the drive (sdb keeps them)");
	assert_null(strstr(result->reason, "accuses"));
	result->tally.atoms[VERDICT_LOST] = 8;
	result->tally.writes[VERDICT_LOST] = 1;
	expect(result, ANSWER_NONE, 2,
	       ": 1 write lost, which accuses the way there");
	result->log.unsent[0] = '\0';
	expect(result, ANSWER_BROKEN, 1, "1 write lost");
	result->is_marked_unsent = true; /* no log is needed for it */
	expect(result, ANSWER_NONE, 2, "drive (its label says so): 1 write");
	free(result);
}

static void kept_counts_only_where_a_loss_was_seen(void **state)
{
	struct result *result = fresh();

	(void)state;
	expect(result, ANSWER_KEPT, 3, "nothing showed");
	result->tally.completed_lost = 1;
	expect(result, ANSWER_KEPT, 0, "kept");
	free(result);
}

static void p11_shadow_losses_neither_convict_nor_acquit(void **state)
{
	struct result *result = fresh();

	(void)state;
	result->tally.shadow_lost = 5;
	expect(result, ANSWER_KEPT, 3, "nothing showed");
	free(result);
}

static void p9_an_impossible_number_outweighs_findings(void **state)
{
	struct result *result = fresh();

	(void)state;
	result->tally.atoms[VERDICT_LOST] = 8;
	result->tally.has_impossible = true;
	result->tally.impossible.found = 1234;
	expect(result, ANSWER_NONE, 2, "1234");
	free(result);
}

static void p9_trouble_does_not_acquit(void **state)
{
	struct result *result = fresh();

	(void)state;
	result->tally.completed_lost = 1;
	result->rig_error = ENOTCONN;
	expect(result, ANSWER_NONE, 2, "not for the drive's reasons");
	result->rig_error = 0;
	result->unscanned_bytes = 4096;
	expect(result, ANSWER_NONE, 2, "4096 bytes were never read");
	free(result);
}

static void p9_trouble_does_not_hide_a_solid_finding(void **state)
{
	struct result *result = fresh();

	(void)state;
	result->tally.atoms[VERDICT_LOST] = 8;
	result->tally.writes[VERDICT_LOST] = 1;
	result->rig_error = ENOTCONN;
	result->unscanned_bytes = 4096;
	expect(result, ANSWER_BROKEN, 1, "1 write lost");
	free(result);
}

static void nothing_promised_is_said(void **state)
{
	struct result *result = fresh();

	(void)state;
	result->was_promised = false;
	expect(result, ANSWER_KEPT, 3, "nothing was promised");
	free(result);
}

static void the_bound_is_named(void **state)
{
	struct result *result = fresh();

	(void)state;
	assert_string_equal(conclude_bound_word(result), "media");
	result->has_log = true;
	result->durable_log = 10;
	result->durable_all = 10;
	assert_string_equal(conclude_bound_word(result), "log");
	result->durable_all = 12;
	assert_string_equal(conclude_bound_word(result), "both");
	free(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p4_any_broken_class_convicts),
		cmocka_unit_test(p9_flushes_that_were_not_sent_give_no_verdict),
		cmocka_unit_test(kept_counts_only_where_a_loss_was_seen),
		cmocka_unit_test(p11_shadow_losses_neither_convict_nor_acquit),
		cmocka_unit_test(p9_an_impossible_number_outweighs_findings),
		cmocka_unit_test(p9_trouble_does_not_acquit),
		cmocka_unit_test(p9_trouble_does_not_hide_a_solid_finding),
		cmocka_unit_test(nothing_promised_is_said),
		cmocka_unit_test(the_bound_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
