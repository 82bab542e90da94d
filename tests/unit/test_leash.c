/* SPDX-License-Identifier: MIT */
/* A verifier that waits in the kernel is left behind, and one that has had its
 * say is not waited for; everything else is passed on as it is. */
#include "verifier/leash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

#define LONG_MS  60000 /* nobody waits for that */
#define SHORT_MS 300

static struct leash *begin(void)
{
	struct leash *leash;
	struct err err;

	(void)fflush(NULL);
	leash = leash_start(&err);
	assert_non_null(leash);
	if (leash_is_child(leash))
		(void)alarm(30); /* where the test has failed */
	return leash;
}

/* What a parent that follows LEASH says; its status in *STATUS. */
static void follow(struct leash *leash, uint64_t limit_ms, int *status,
		   char said[64], struct err *err)
{
	int pipes[2], was = dup(STDOUT_FILENO);
	ssize_t length;

	assert_true(was >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
	assert_true(dup2(pipes[1], STDOUT_FILENO) >= 0);
	*status = leash_follow(leash, limit_ms, err);
	assert_true(dup2(was, STDOUT_FILENO) >= 0);
	assert_int_equal(close(was), 0);
	assert_int_equal(close(pipes[1]), 0);
	length = read(pipes[0], said, 63);
	said[length < 0 ? 0 : length] = '\0';
	assert_int_equal(close(pipes[0]), 0);
	leash_free(leash);
}

static void words_and_status_are_passed_on(void **state)
{
	struct leash *leash = begin();
	char said[64];
	struct err err;
	int status;

	(void)state;
	if (leash_is_child(leash)) {
		(void)printf("kept\n");
		(void)fflush(stdout);
		leash_tell(leash, 3);
		_exit(3);
	}
	follow(leash, LONG_MS, &status, said, &err);
	assert_int_equal(status, 3);
	assert_string_equal(said, "kept\n");
}

/* P9: its last word stands, although it cannot end. */
static void a_child_that_cannot_end_is_not_waited_for(void **state)
{
	const uint64_t begun_ns = clock_monotonic_ns();
	struct leash *leash = begin();
	char said[64];
	struct err err;
	int status;

	(void)state;
	if (leash_is_child(leash)) {
		(void)printf("hung\n");
		(void)fflush(stdout);
		leash_tell(leash, 1);
		for (;;)
			(void)pause();
	}
	follow(leash, LONG_MS, &status, said, &err);
	assert_int_equal(status, 1);
	assert_string_equal(said, "hung\n");
	assert_true(clock_monotonic_ns() - begun_ns <
		    LONG_MS / 2 * CLOCK_NS_PER_MS);
}

/* P9: what could not be asked is told, and is no verdict. */
static void one_call_that_lasts_is_told(void **state)
{
	struct leash *leash = begin();
	char said[64];
	struct err err;
	int status;

	(void)state;
	if (leash_is_child(leash)) {
		leash_end(leash, leash_begin(leash, LEASH_OPEN, 0));
		(void)leash_begin(leash, LEASH_SUBMIT, 81920);
		for (;;)
			(void)pause();
	}
	follow(leash, SHORT_MS, &status, said, &err);
	assert_int_equal(status, -1);
	assert_non_null(strstr(err.text,
			       "the drive does not answer: handing "
			       "over a read at byte 81920 has taken"));
	assert_non_null(strstr(err.text, "\nhint: "));

	leash = begin();
	if (leash_is_child(leash)) {
		(void)leash_begin(leash, LEASH_OPEN, 0);
		for (;;)
			(void)pause();
	}
	follow(leash, SHORT_MS, &status, said, &err);
	assert_int_equal(status, -1);
	assert_non_null(strstr(err.text, "opening it has taken"));
}

/* P9: one that is slow, but moves, or that does not wait for the drive, is
 * waited for. */
static void a_child_that_goes_on_has_its_time(void **state)
{
	struct leash *leash = begin();
	char said[64];
	struct err err;
	int status;

	(void)state;
	if (leash_is_child(leash)) {
		unsigned int outer = leash_begin(leash, LEASH_READ, 0);

		for (int i = 0; i < 15; i++) {
			unsigned int mark = leash_begin(leash, LEASH_READ, 512);

			clock_sleep_ms(SHORT_MS / 10);
			leash_end(leash, mark);
		}
		leash_end(leash, outer);
		clock_sleep_ms(2 * SHORT_MS); /* it computes */
		leash_tell(leash, 0);
		_exit(0);
	}
	follow(leash, SHORT_MS, &status, said, &err);
	assert_int_equal(status, 0);
}

static void an_end_without_a_word_is_the_child_s_own(void **state)
{
	struct leash *leash = begin();
	char said[64];
	struct err err;
	int status;
	pid_t pid;

	(void)state;
	if (leash_is_child(leash))
		_exit(7);
	follow(leash, LONG_MS, &status, said, &err);
	assert_int_equal(status, 7);

	/* A signal ends both. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		leash = begin();
		if (leash_is_child(leash))
			(void)raise(SIGUSR1);
		_exit(leash_follow(leash, LONG_MS, &err));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

static void no_leash_marks_nothing(void **state)
{
	(void)state;
	leash_end(NULL, leash_begin(NULL, LEASH_READ, 0));
	leash_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_status_are_passed_on),
		cmocka_unit_test(a_child_that_cannot_end_is_not_waited_for),
		cmocka_unit_test(one_call_that_lasts_is_told),
		cmocka_unit_test(a_child_that_goes_on_has_its_time),
		cmocka_unit_test(an_end_without_a_word_is_the_child_s_own),
		cmocka_unit_test(no_leash_marks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
