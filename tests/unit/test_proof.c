/* SPDX-License-Identifier: MIT */
/* P9: counts that stand still while flushes complete end the run; counts that
 * cannot be had prove nothing. */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/fake/drive_fake.h"
#include "writer/proof.h"

/* What the drivers count is what this says. */
static struct flushcount_row now[3];
static size_t row_count;

struct flushcount {
	struct flushcount_row rows[3];
};

static struct flushcount of[2]; /* total, window */
static unsigned int opened;

struct flushcount *flushcount_open(const struct target *target)
{
	(void)target;
	memcpy(of[opened % 2].rows, now, sizeof(now));
	return &of[opened++ % 2];
}

void flushcount_close(struct flushcount *counts)
{
	(void)counts;
}

void flushcount_read(struct flushcount *counts)
{
	for (size_t i = 0; i < row_count; i++)
		counts->rows[i].last = now[i].last;
}

void flushcount_restart(struct flushcount *counts)
{
	for (size_t i = 0; i < row_count; i++)
		counts->rows[i].first = counts->rows[i].last;
}

size_t flushcount_rows(const struct flushcount *counts,
		       const struct flushcount_row **rows)
{
	*rows = counts->rows;
	return row_count;
}

const struct flushcount_row *
flushcount_missing(const struct flushcount_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].is_counted && rows[i].last == rows[i].first)
			return &rows[i];
	}
	return NULL;
}

static void begin(struct proof *proof)
{
	struct err err;

	memset(now, 0, sizeof(now));
	opened = 0;
	row_count = 1;
	memcpy(now[0].name, "sdb", 4);
	now[0].is_counted = now[0].is_top = now[0].is_bottom = true;
	now[0].first = now[0].last = 7;
	assert_int_equal(proof_begin(proof, NULL, &err), 0);
}

static void p9_a_flush_that_was_not_counted_is_told(void **state)
{
	struct proof proof;
	struct err err;

	(void)state;
	begin(&proof);
	assert_true(proof_is_counted(&proof));
	assert_int_equal(proof_judge(&proof, &err), -1);
	assert_non_null(strstr(err.text, "none of them has reached sdb\nhint"));
	now[0].last++;
	assert_int_equal(proof_judge(&proof, &err), 0);
	assert_int_equal(proof_judge(&proof, &err), -1); /* since then */
	proof_end(&proof);
}

static void p9_flushes_that_stop_arriving_are_told(void **state)
{
	struct proof proof;
	struct err err;

	(void)state;
	begin(&proof);
	proof_start(&proof, 2);
	now[0].last += 3;
	/* The window's own base, then 2 * 2 + 2 flushes of two streams. */
	assert_int_equal(proof_look(&proof, 10, true, &err), 0);
	assert_int_equal(proof_look(&proof, 16, true, &err), 0);
	assert_int_equal(proof_look(&proof, 20, true, &err), 0); /* base */
	assert_int_equal(proof_look(&proof, 25, true, &err), 0); /* too few */
	assert_int_equal(proof_look(&proof, 26, true, &err), -1);
	assert_non_null(strstr(err.text, "sdb"));
	proof_end(&proof);
}

/* Before a second is over nothing is judged but at the end. */
static void it_looks_once_a_second(void **state)
{
	struct proof proof;
	struct err err;

	(void)state;
	begin(&proof);
	proof_start(&proof, 1);
	assert_int_equal(proof_look(&proof, 0, false, &err), 0);
	assert_int_equal(proof_look(&proof, 1000, false, &err), 0);
	assert_int_equal(proof_look(&proof, 1000, true, &err), -1);
	proof.looked_ns -= 1000000000ULL;
	assert_int_equal(proof_look(&proof, 1000, false, &err), -1);
	proof_end(&proof);
}

static void what_was_never_begun_proves_nothing(void **state)
{
	const struct flushcount_row *rows;
	struct proof proof = {0};
	struct err err;

	(void)state;
	assert_false(proof_is_counted(&proof));
	assert_int_equal(proof_judge(&proof, &err), 0);
	assert_int_equal(proof_look(&proof, 1000, true, &err), 0);
	proof_start(&proof, 1);
	assert_int_equal(proof_rows(&proof, &rows), 0);
	proof_end(&proof);
	begin(&proof);
	now[0].is_counted = of[1].rows[0].is_counted = false;
	assert_false(proof_is_counted(&proof));
	assert_int_equal(proof_judge(&proof, &err), 0);
	proof_end(&proof);
	assert_false(proof_is_counted(&proof));
}

struct asked {
	unsigned int flushes;
	int64_t answer;
};

static int64_t answer(void *context, const struct target_request *request)
{
	struct asked *asked = context;

	assert_int_equal(request->kind, TARGET_REQUEST_FLUSH);
	asked->flushes++;
	return asked->answer;
}

static void the_flush_is_sent_where_it_is_counted(void **state)
{
	struct asked asked = {0, DRIVE_FAKE_HONEST};
	const struct drive_fake_hooks hooks = {.context = &asked,
					       .answer = answer};
	struct drive_fake *drive = drive_fake_new(1 << 20, 512, &hooks);
	struct target *target = drive_fake_target(drive);
	struct proof proof;
	struct err err;

	(void)state;
	begin(&proof);
	assert_int_equal(proof_ask(&proof, target, 1000, &err), 0);
	assert_int_equal(asked.flushes, 1);
	asked.answer = -EIO;
	assert_int_equal(proof_ask(&proof, target, 1000, &err), -1);
	assert_non_null(strstr(err.text, "cannot flush fake"));
	assert_int_equal(asked.flushes, 2);
	target->info.has_flush = false;
	assert_int_equal(proof_ask(&proof, target, 1000, &err), 0);
	target->info.has_flush = true;
	proof_end(&proof);
	assert_int_equal(proof_ask(&proof, target, 1000, &err), 0);
	assert_int_equal(asked.flushes, 2);
	drive_fake_free(drive);
}

/* ---- how many were elided ---- */

static void row(size_t i, bool is_top, bool is_bottom, uint64_t counted)
{
	now[i].is_top = is_top;
	now[i].is_bottom = is_bottom;
	now[i].is_counted = true;
	now[i].first = 100;
	now[i].last = 100 + counted;
}

static void expect_elided(size_t count, uint64_t asked, bool may_have_merged,
			  int64_t wanted)
{
	uint64_t elided = 0;
	bool is_known =
		proof_elided(now, count, asked, may_have_merged, &elided);

	assert_int_equal(is_known, wanted >= 0);
	if (is_known)
		assert_int_equal(elided, wanted);
}

static void what_was_elided_is_told_where_it_can_be_known(void **state)
{
	(void)state;
	memset(now, 0, sizeof(now));
	expect_elided(0, 5, false, -1);
	row(0, true, true, 10);
	expect_elided(1, 10, false, 0);
	expect_elided(1, 12, false, 2);
	expect_elided(1, 12, true, -1);
	expect_elided(1, 9, true, 0); /* others flush, too */
	/* A loop device over a drive, and over nothing that is known. */
	row(0, true, false, 10);
	expect_elided(1, 10, false, 0);
	row(1, false, true, 4);
	expect_elided(2, 10, false, 6);
	/* Two paths, or two members. */
	row(2, false, true, 6);
	expect_elided(3, 10, false, 0);
	now[2].is_counted = false;
	expect_elided(3, 10, false, 0); /* by the top alone */
	now[0].is_counted = false;
	expect_elided(3, 10, false, -1);
}

static void counts_in_words(void **state)
{
	char text[64], small[8];

	(void)state;
	memset(now, 0, sizeof(now));
	memcpy(now[0].name, "dm-0", 5);
	memcpy(now[1].name, "sdb", 4);
	memcpy(now[2].name, "sdc", 4);
	proof_tell(now, 0, text, sizeof(text));
	assert_string_equal(text, "not counted");
	proof_tell(now, 3, text, sizeof(text));
	assert_string_equal(text, "not counted");
	now[1].is_counted = now[2].is_counted = true;
	now[1].last = 3;
	proof_tell(now, 3, text, sizeof(text));
	assert_string_equal(text, "sdb 3, sdc 0");
	proof_tell(now, 3, small, sizeof(small));
	assert_int_equal(strlen(small), sizeof(small) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p9_a_flush_that_was_not_counted_is_told),
		cmocka_unit_test(p9_flushes_that_stop_arriving_are_told),
		cmocka_unit_test(it_looks_once_a_second),
		cmocka_unit_test(what_was_never_begun_proves_nothing),
		cmocka_unit_test(the_flush_is_sent_where_it_is_counted),
		cmocka_unit_test(what_was_elided_is_told_where_it_can_be_known),
		cmocka_unit_test(counts_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
