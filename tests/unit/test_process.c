/* SPDX-License-Identifier: MIT */
/* Who still lives, and may still have requests with the drive (P11). */
#include "campaign/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/unit/cmocka_all.h"

#define PATIENCE_MS 10000

static void *wait_for_ever(void *argument)
{
	for (;;)
		(void)pause();
	return argument;
}

static pid_t start(bool leaves_first_thread)
{
	pthread_t thread;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)alarm(2 * PATIENCE_MS / 1000); /* where the test has failed */
	if (!leaves_first_thread)
		wait_for_ever(NULL);
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
		_exit(1);
	pthread_exit(NULL);
}

static char state_of(pid_t pid)
{
	char path[64], name[64], state = '\0';
	int number;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d (%63[^)]) %c", &number, name, &state),
			 3);
	assert_int_equal(fclose(file), 0);
	return state;
}

static void await_zombie(pid_t pid)
{
	int left_ms = PATIENCE_MS;

	while (state_of(pid) != 'Z' && left_ms-- > 0)
		clock_sleep_ms(1);
	assert_int_equal(state_of(pid), 'Z');
}

static void end(pid_t pid)
{
	int left_ms = PATIENCE_MS;

	assert_int_equal(kill(pid, SIGKILL), 0);
	await_zombie(pid);
	while (process_birth(pid) != 0 && left_ms-- > 0)
		clock_sleep_ms(1);
	assert_int_equal(process_birth(pid), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_birth(pid), 0);
	assert_false(process_is_blocked(pid));
}

static void a_process_lives_until_it_is_killed(void **state)
{
	const pid_t pid = start(false);

	(void)state;
	assert_true(process_birth(pid) > 0);
	assert_true(process_birth(pid) >= process_birth(getpid()));
	assert_false(process_is_blocked(pid));
	end(pid);
}

static void p11_it_lives_while_any_of_its_threads_does(void **state)
{
	const pid_t pid = start(true);

	(void)state;
	await_zombie(pid);
	assert_true(process_birth(pid) > 0);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_lives_until_it_is_killed),
		cmocka_unit_test(p11_it_lives_while_any_of_its_threads_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
