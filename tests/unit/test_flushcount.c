/* SPDX-License-Identifier: MIT */
/* Did the FLUSHes arrive at a driver? (P9) */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#include "common/target/flushcount.h"
#include "common/target/stack.h"
#include "tests/fake/sysfs_fake.h"

#define BEFORE "9 8 7 6 5 4 3 2 1 10 11 12 13 14 15 " /* fields 1 to 15 */

static void put(const struct sysfs_fake *tree, const char *disk,
		const char *name, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "d/%s/%s", disk, name);
	sysfs_fake_put(tree, path, text);
}

static void put_count(const struct sysfs_fake *tree, const char *disk,
		      unsigned int flushes)
{
	char text[128];

	(void)snprintf(text, sizeof(text), BEFORE "%u 17\n", flushes);
	put(tree, disk, "stat", text);
}

static void put_disk(const struct sysfs_fake *tree, const char *disk,
		     bool has_requests, unsigned int flushes)
{
	put(tree, disk, "queue/write_cache", "write back\n");
	put_count(tree, disk, flushes);
	if (has_requests)
		put(tree, disk, "mq/0/cpu_list", "0\n");
}

static void put_slave(const struct sysfs_fake *tree, const char *disk,
		      const char *slave)
{
	char path[128], to[128];

	(void)snprintf(path, sizeof(path), "d/%s/slaves/%s", disk, slave);
	(void)snprintf(to, sizeof(to), "d/%s", slave);
	sysfs_fake_link(tree, path, to);
}

static struct flushcount *open_top(const struct sysfs_fake *tree,
				   const char *disk, struct stack **stack)
{
	struct flushcount *counts;
	char to[128];

	(void)snprintf(to, sizeof(to), "d/%s", disk);
	sysfs_fake_link(tree, "dev/block/8:0", to);
	*stack = stack_of_device(tree->root, makedev(8, 0));
	assert_non_null(*stack);
	counts = flushcount_of_stack(*stack);
	assert_non_null(counts);
	return counts;
}

static const char *missing(struct flushcount *counts)
{
	const struct flushcount_row *rows, *row;
	size_t count;

	flushcount_read(counts);
	count = flushcount_rows(counts, &rows);
	row = flushcount_missing(rows, count);
	return row == NULL ? "" : row->name;
}

static void a_drive_that_counts_is_believed(void **state)
{
	const struct sysfs_fake *tree = *state;
	const struct flushcount_row *rows;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "sdb", true, 40);
	counts = open_top(tree, "sdb", &stack);
	assert_int_equal(flushcount_rows(counts, &rows), 1);
	assert_true(rows[0].is_counted && rows[0].is_top && rows[0].is_bottom);
	assert_int_equal(rows[0].first, 40);
	assert_string_equal(missing(counts), "sdb");
	put_count(tree, "sdb", 41);
	assert_string_equal(missing(counts), "");
	assert_int_equal(rows[0].last, 41);
	flushcount_restart(counts);
	assert_string_equal(missing(counts), "sdb");
	flushcount_close(counts);
	stack_close(stack);
}

/* Whatever stat says: no number is made up, and none convicts anybody. */
static void what_does_not_count_proves_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		BEFORE,
		BEFORE "\n",
		BEFORE "x 17\n",
		"-1",
		"1 2 3 4 5 6 7 8 9 10 11\n",
		"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"};
	const struct sysfs_fake *tree = *state;
	const struct flushcount_row *rows;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "sdb", true, 40);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put(tree, "sdb", "stat", texts[i]);
		counts = i == 0 ? open_top(tree, "sdb", &stack)
				: flushcount_of_stack(stack);
		assert_int_equal(flushcount_rows(counts, &rows), 1);
		assert_false(rows[0].is_counted);
		assert_string_equal(missing(counts), "");
		flushcount_close(counts);
	}
	stack_close(stack);
	counts = flushcount_of_stack(NULL);
	assert_int_equal(flushcount_rows(counts, &rows), 0);
	assert_string_equal(missing(counts), "");
	flushcount_close(counts);
}

static void a_layer_of_bios_leaves_the_word_to_its_members(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "dm-0", false, 0);
	put_disk(tree, "sdb", true, 1);
	put_disk(tree, "sdc", true, 2);
	put_slave(tree, "dm-0", "sdb");
	put_slave(tree, "dm-0", "sdc");
	counts = open_top(tree, "dm-0", &stack);
	assert_int_equal(stack_count(stack), 3);
	assert_true(missing(counts)[0] == 's');
	put_count(tree, "sdc", 3); /* one of two paths, or a spare */
	assert_string_equal(missing(counts), "");
	flushcount_close(counts);
	stack_close(stack);
}

/* A layer that counts is no proof for what lies below it. */
static void the_bottom_must_have_counted(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "loop0", true, 1);
	put_disk(tree, "sdb", true, 1);
	put_slave(tree, "loop0", "sdb");
	counts = open_top(tree, "loop0", &stack);
	put_count(tree, "sdb", 2);
	assert_string_equal(missing(counts), "loop0"); /* somebody else's */
	put_count(tree, "loop0", 2);
	assert_string_equal(missing(counts), "");
	flushcount_restart(counts);
	put_count(tree, "loop0", 3);
	assert_string_equal(missing(counts), "sdb");
	flushcount_close(counts);
	stack_close(stack);
}

static void a_drive_that_has_gone_keeps_its_count(void **state)
{
	const struct sysfs_fake *tree = *state;
	const struct flushcount_row *rows;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "sdb", true, 7);
	counts = open_top(tree, "sdb", &stack);
	put_count(tree, "sdb", 9);
	assert_string_equal(missing(counts), "");
	put(tree, "sdb", "stat", ""); /* as a removed drive answers */
	assert_string_equal(missing(counts), "");
	(void)flushcount_rows(counts, &rows);
	assert_int_equal(rows[0].last, 9);
	flushcount_close(counts);
	stack_close(stack);
}

/* ---- of stack.h, too, beside test_stack.c ---- */

static void say(const struct sysfs_fake *tree, const char *disk,
		const char *word)
{
	put(tree, disk, "queue/write_cache", word);
}

static void p9_only_what_elides_now_is_allowed(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct stack *stack;

	put_disk(tree, "md0", false, 0);
	put_disk(tree, "sda", true, 0);
	put_disk(tree, "sdb", true, 0);
	put_slave(tree, "md0", "sda");
	put_slave(tree, "md0", "sdb");
	say(tree, "sda", "write through\n");
	flushcount_close(open_top(tree, "md0", &stack));
	assert_false(stack_is_write_back(stack));
	stack_allow(stack, false);
	assert_true(stack_is_write_back(stack));
	assert_string_equal(stack_elided_at(stack), "");
	say(tree, "sdb", "write through\n");
	assert_false(stack_is_write_back(stack));
	assert_string_equal(stack_elided_at(stack), "sdb");
	stack_allow(stack, true);
	say(tree, "md0", "");
	assert_true(stack_is_write_back(stack));
	stack_close(stack);
}

/* Below a loop device over FUSE nothing is known: it is the bottom itself. */
static void the_bottom_is_where_nothing_was_found_below(void **state)
{
	const struct sysfs_fake *tree = *state;
	const struct flushcount_row *rows;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "dm-0", false, 0);
	put_disk(tree, "loop0", true, 5);
	put(tree, "loop0", "loop/backing_file", "/none/at/all\n");
	put_slave(tree, "dm-0", "loop0");
	counts = open_top(tree, "dm-0", &stack);
	assert_int_equal(flushcount_rows(counts, &rows), 2);
	assert_true(rows[0].is_top && !rows[0].is_bottom);
	assert_true(!rows[1].is_top && rows[1].is_bottom);
	assert_string_equal(missing(counts), "loop0");
	flushcount_close(counts);
	stack_close(stack);
}

/* A FLUSH may have gone to the one that does not count. */
static void a_bottom_that_does_not_count_may_have_had_it(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "dm-0", false, 0);
	put_disk(tree, "sdb", true, 1);
	put_disk(tree, "pmem0", false, 0);
	put_slave(tree, "dm-0", "sdb");
	put_slave(tree, "dm-0", "pmem0");
	counts = open_top(tree, "dm-0", &stack);
	assert_string_equal(missing(counts), "");
	flushcount_close(counts);
	stack_close(stack);
}

static void what_has_gone_proves_nothing(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "sdb", true, 7);
	counts = open_top(tree, "sdb", &stack);
	assert_string_equal(missing(counts), "sdb");
	put(tree, "sdb", "stat", "");
	assert_string_equal(missing(counts), "");
	flushcount_close(counts);
	stack_close(stack);
}

/* P9: the paths of a multipath of requests are handed FLUSHes past their own
 * count; its own is the one to look at. */
static void a_multipath_of_requests_counts_for_its_paths(void **state)
{
	const struct sysfs_fake *tree = *state;
	const struct flushcount_row *rows;
	struct flushcount *counts;
	struct stack *stack;

	put_disk(tree, "dm-1", false, 0); /* a volume on top of it */
	put_disk(tree, "dm-0", true, 5);
	put_disk(tree, "sda", true, 1);
	put_disk(tree, "sdb", true, 1);
	put_slave(tree, "dm-1", "dm-0");
	put_slave(tree, "dm-0", "sda");
	put_slave(tree, "dm-0", "sdb");
	counts = open_top(tree, "dm-1", &stack);
	assert_int_equal(flushcount_rows(counts, &rows), 4);
	assert_string_equal(missing(counts), "dm-0");
	put_count(tree, "dm-0", 6);
	assert_string_equal(missing(counts), "");
	flushcount_restart(counts);
	put_count(tree, "sda", 2); /* somebody else's */
	assert_string_equal(missing(counts), "dm-0");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(rows[i].is_counted,
				 rows[i].name[0] == 'd' &&
					 rows[i].name[3] == '0');
	flushcount_close(counts);
	stack_close(stack);
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_drive_that_counts_is_believed),
		ROW(what_does_not_count_proves_nothing),
		ROW(a_layer_of_bios_leaves_the_word_to_its_members),
		ROW(the_bottom_must_have_counted),
		ROW(a_drive_that_has_gone_keeps_its_count),
		ROW(p9_only_what_elides_now_is_allowed),
		ROW(the_bottom_is_where_nothing_was_found_below),
		ROW(a_bottom_that_does_not_count_may_have_had_it),
		ROW(what_has_gone_proves_nothing),
		ROW(a_multipath_of_requests_counts_for_its_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
