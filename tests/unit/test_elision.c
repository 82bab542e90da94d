/* SPDX-License-Identifier: MIT */
/* Where a FLUSH ends is told by name, with the next step (P9). */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/target/elision.h"
#include "common/target/stack.h"
#include "common/target/target_ops.h"

static const char *elided_at, *not_asked;

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

static const struct stack *no_stack(const struct target *target)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p9_the_queue_is_named_and_the_remedy),
		cmocka_unit_test(p9_a_server_without_flushes_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
