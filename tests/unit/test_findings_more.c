/* SPDX-License-Identifier: MIT */
/* P9: doubt that one thread has found outlives the adding up. */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "verifier/findings.h"

static struct tally doubtful(uint64_t offset_bytes)
{
	struct tally tally;

	memset(&tally, 0, sizeof(tally));
	tally.has_impossible = true;
	tally.impossible.class = VERDICT_IMPOSSIBLE;
	tally.impossible.offset_bytes = offset_bytes;
	return tally;
}

static void p9_an_impossible_number_outlives_the_merge(void **state)
{
	struct tally sum, high = doubtful(8192), low = doubtful(4096), none;

	(void)state;
	memset(&sum, 0, sizeof(sum));
	memset(&none, 0, sizeof(none));
	tally_merge(&sum, &none);
	assert_false(sum.has_impossible);
	tally_merge(&sum, &high);
	assert_true(sum.has_impossible);
	assert_int_equal(sum.impossible.offset_bytes, 8192);
	tally_merge(&sum, &low);
	tally_merge(&sum, &none);
	assert_true(sum.has_impossible);
	assert_int_equal(sum.impossible.offset_bytes, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p9_an_impossible_number_outlives_the_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
