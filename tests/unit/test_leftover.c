/* SPDX-License-Identifier: MIT */
/* leftover: whose writer may still be at work when a campaign goes on (P11). */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "campaign/leftover.h"
#include "campaign/process.h"
#include "common/base/err.h"

static struct leftover leftover;

static void take(const char *step, pid_t pid, uint64_t birth)
{
	json_t *line = json_pack("{s:s, s:i, s:I}", "step", step, "pid",
				 (int)pid, "birth", (json_int_t)birth);

	leftover_take(&leftover, step, line);
	json_decref(line);
}

static bool may_go_on(void)
{
	struct err err;

	return leftover_check(&leftover, &err) == 0;
}

static void p11_a_process_that_lives_is_found(void **state)
{
	const pid_t self = getpid();

	(void)state;
	memset(&leftover, 0, sizeof(leftover));
	assert_true(may_go_on());
	take("writer", self, process_birth(self));
	assert_false(may_go_on());
	take("writer", self,
	     process_birth(self) + 1); /* another one's number */
	assert_true(may_go_on());
	take("writer", self, process_birth(self));
	take("gone", 0, 0);
	assert_true(may_go_on());
}

/* The campaign was done with the cycle, but the host was never seen to boot. */
static void p11_a_hosts_writer_ends_with_its_boot(void **state)
{
	(void)state;
	memset(&leftover, 0, sizeof(leftover));
	take("writer", 1, 1);
	assert_true(leftover.may_write);
	take("silent", 0, 0);
	take("done", 0, 0);
	take("end", 0, 0);
	assert_true(leftover.may_write);
	take("booted", 0, 0);
	assert_false(leftover.may_write);
	take("writer", 1, 1);
	take("writer ended", 0, 0);
	assert_false(leftover.may_write);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p11_a_process_that_lives_is_found),
		cmocka_unit_test(p11_a_hosts_writer_ends_with_its_boot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
