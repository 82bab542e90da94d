/* SPDX-License-Identifier: MIT */
/*
 * What the libaio engine makes of the stack below its target (P9, P10). The
 * stack itself is replaced here by one that says what it is told to say.
 */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/stack.h"
#include "common/target/target.h"

struct stack {
	int unused;
};

static struct {
	bool is_write_back;
	const char *cached_loop;
	bool has_no_memory;
	unsigned int of_files, closed;
} told;

struct stack *stack_of_device(const char *sysfs, dev_t device)
{
	(void)sysfs;
	(void)device;
	fail_msg("a file is no device");
	return NULL;
}

struct stack *stack_of_file(const char *sysfs, int fd)
{
	assert_string_equal(sysfs, "/sys");
	assert_true(fd >= 0);
	told.of_files++;
	return told.has_no_memory ? NULL : calloc(1, sizeof(struct stack));
}

void stack_close(struct stack *stack)
{
	if (stack != NULL)
		told.closed++;
	free(stack);
}

bool stack_is_write_back(const struct stack *stack)
{
	assert_non_null(stack);
	return told.is_write_back;
}

const char *stack_elided_at(const struct stack *stack)
{
	(void)stack;
	return told.is_write_back ? "" : "sdb";
}

const char *stack_unknown(const struct stack *stack)
{
	(void)stack;
	return "";
}

const char *stack_cached_loop(const struct stack *stack)
{
	assert_non_null(stack);
	return told.cached_loop;
}

static char path[64];

static int set_up(void **state)
{
	struct err err;

	(void)state;
	memset(&told, 0, sizeof(told));
	told.is_write_back = true;
	told.cached_loop = "";
	strcpy(path, "/tmp/plugpull-test-XXXXXX");
	close(mkstemp(path));
	unlink(path);
	return target_create_file(path, 1024 * 1024, &err);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static struct target *open_it(enum target_mode mode)
{
	struct err err;
	struct target *target = target_open(path, mode, &err);

	if (target == NULL)
		fail_msg("%s", err.text);
	return target;
}

static void p9_a_file_is_as_good_as_what_lies_below(void **state)
{
	struct target *target;

	(void)state;
	target = open_it(TARGET_WRITE);
	assert_true(target_info(target)->is_write_back);
	target_close(target);
	told.is_write_back = false;
	target = open_it(TARGET_WRITE);
	assert_false(target_info(target)->is_write_back);
	target_close(target);
	assert_int_equal(told.of_files, 2);
	assert_int_equal(told.closed, 2);
}

static void p9_what_lies_below_is_asked_again(void **state)
{
	struct target *target;

	(void)state;
	target = open_it(TARGET_WRITE);
	assert_true(target_is_write_back(target));
	told.is_write_back = false;
	assert_false(target_is_write_back(target));
	told.is_write_back = true;
	assert_true(target_is_write_back(target));
	target_close(target);
}

static void p10_a_cached_loop_below_is_refused(void **state)
{
	struct err err;

	(void)state;
	told.cached_loop = "loop7";
	assert_null(target_open(path, TARGET_READ, &err));
	assert_non_null(strstr(err.text, "loop7 reads its file through the "
					 "page cache"));
	assert_non_null(strstr(err.text, "losetup --direct-io=on /dev/loop7"));
	assert_null(target_open(path, TARGET_WRITE, &err));
	assert_int_equal(told.closed, 2);
	told.cached_loop = "";
	target_close(open_it(TARGET_READ));
}

static void no_memory_is_an_error(void **state)
{
	struct err err;

	(void)state;
	told.has_no_memory = true;
	assert_null(target_open(path, TARGET_WRITE, &err));
	assert_non_null(strstr(err.text, "cannot open"));
	assert_int_equal(told.closed, 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_a_file_is_as_good_as_what_lies_below),
		ROW(p9_what_lies_below_is_asked_again),
		ROW(p10_a_cached_loop_below_is_refused),
		ROW(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
