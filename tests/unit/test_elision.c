/* SPDX-License-Identifier: MIT */
/* Where a FLUSH ends is told by name, with the next step (P9). */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/target/elision.h"
#include "common/target/stack.h"
#include "common/target/target_ops.h"

static const char *elided_at, *not_asked;
static unsigned int allowed, allowed_all;

void stack_allow(struct stack *stack, bool is_for_all)
{
	(void)stack;
	allowed++;
	allowed_all += is_for_all;
}

struct stack *stack_of_device(const char *sysfs, dev_t device)
{
	(void)device;
	fail_msg("%s: a file is no device", sysfs);
	return NULL;
}

struct stack *stack_of_file(const char *sysfs, int fd)
{
	assert_string_equal(sysfs, "/sys");
	assert_true(fd >= 0);
	return calloc(1, 1);
}

const char *stack_elided_at(const struct stack *stack)
{
	(void)stack;
	return elided_at;
}

const char *stack_unknown(const struct stack *stack)
{
	(void)stack;
	return not_asked;
}

static struct stack *no_stack(const struct target *target)
{
	(void)target;
	return NULL;
}

static void p9_the_queue_is_named_and_the_remedy(void **state)
{
	const struct target_ops ops = {.stack = no_stack};
	const struct target target = {.ops = &ops};
	char text[ELISION_TEXT_BYTES];

	(void)state;
	elided_at = "sdb";
	not_asked = "fuse";
	elision_tell(&target, text, sizeof(text));
	assert_string_equal(text,
			    "the system believes that sdb has no volatile "
			    "cache\nhint: if it has one: echo 'write back' "
			    ">/sys/block/sdb/queue/write_cache");
	assert_string_equal(elision_unknown(&target), "fuse");
	elided_at = "";
	elision_tell(&target, text, sizeof(text));
	assert_non_null(strstr(text, "\nhint: see queue/write_cache"));
}

static void p9_a_server_without_flushes_is_told(void **state)
{
	const struct target_ops ops = {.stack = NULL};
	const struct target target = {.ops = &ops, .info = {.is_nbd = true}};
	char text[ELISION_TEXT_BYTES];

	(void)state;
	elision_tell(&target, text, sizeof(text));
	assert_string_equal(text, "its server takes none");
	assert_string_equal(elision_unknown(&target), "");
}

/* From then on it is said to be sent, by engines with and without a stack. */
static void what_is_allowed_is_let_pass(void **state)
{
	const struct target_ops with = {.stack = no_stack}, without = {0};
	struct target drive = {.ops = &with}, server = {.ops = &without};

	(void)state;
	allowed = allowed_all = 0;
	elision_allow(&drive, false);
	assert_int_equal(allowed, 1);
	assert_int_equal(allowed_all, 0);
	elision_allow(&drive, true);
	assert_int_equal(allowed_all, 1);
	elision_allow(&server, true);
	assert_int_equal(allowed, 2);
	assert_true(server.info.is_write_back);
}

static void a_file_is_walked_whatever_its_engine(void **state)
{
	char path[] = "/tmp/test_elision.XXXXXX";
	struct target target = {.fd = mkstemp(path)};
	struct stack *stack;

	(void)state;
	assert_true(target.fd >= 0);
	stack = elision_walk(&target);
	assert_non_null(stack);
	free(stack);
	target.info.is_nbd = true;
	assert_null(elision_walk(&target));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(close(target.fd), 0);
	target.info.is_nbd = false;
	assert_null(elision_walk(&target));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p9_the_queue_is_named_and_the_remedy),
		cmocka_unit_test(p9_a_server_without_flushes_is_told),
		cmocka_unit_test(what_is_allowed_is_let_pass),
		cmocka_unit_test(a_file_is_walked_whatever_its_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
