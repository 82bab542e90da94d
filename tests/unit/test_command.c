/* SPDX-License-Identifier: MIT */
/* command: children end when they should, and what they said is known. */
#include "tests/unit/cmocka_all.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "campaign/command.h"
#include "common/base/clock.h"
#include "common/base/err.h"

static struct command_line line;

static uint64_t in_ms(uint64_t ms)
{
	return clock_monotonic_ns() + ms * CLOCK_NS_PER_MS;
}

static void shell(const char *script)
{
	command_line_init(&line, "/bin/sh -c");
	command_line_add(&line, "%s", script);
}

static struct command *start_shell(const char *script, bool reads_lines)
{
	const struct command_files files = {.reads_lines = reads_lines};
	struct err err = {""};
	struct command *command = NULL;

	shell(script);
	command = command_start(&line, &files, &err);
	if (command == NULL)
		fail_msg("%s", err.text);
	return command;
}

static void a_prefix_is_split_and_words_are_not(void **state)
{
	(void)state;
	command_line_init(&line, "  ssh  host plugpull-writer ");
	command_line_add(&line, "%s", "two words");
	assert_int_equal(line.count, 4);
	assert_string_equal(line.words[2], "plugpull-writer");
	assert_string_equal(line.words[3], "two words");
	assert_null(line.words[4]);
}

static void too_many_words_are_refused(void **state)
{
	const struct command_files files = {0};
	struct err err;

	(void)state;
	command_line_init(&line, "true");
	for (int i = 0; i < COMMAND_WORDS_MAX; i++)
		command_line_add(&line, "x");
	assert_null(command_start(&line, &files, &err));
	assert_non_null(strstr(err.text, "too long"));
}

static void status_output_and_complaint_are_told(void **state)
{
	struct command_run run = {.timeout_ms = 10000};
	struct err err;

	(void)state;
	shell("echo out; echo 'x: hint: no' >&2; echo 'x: why' >&2; exit 7");
	assert_int_equal(command_run(&line, &run, &err), 0);
	assert_int_equal(run.status, 7);
	assert_string_equal(run.out, "out\n");
	assert_string_equal(run.complaint, "x: why");
}

static void a_file_is_the_input_and_nothing_else_is(void **state)
{
	struct command_files files = {.in_path = "/proc/sys/kernel/ostype"};
	struct command_run run = {.files = &files, .timeout_ms = 10000};
	struct err err;

	(void)state;
	shell("cat");
	assert_int_equal(command_run(&line, &run, &err), 0);
	assert_string_equal(run.out, "Linux\n");
	files.in_path = NULL;
	assert_int_equal(command_run(&line, &run, &err), 0);
	assert_string_equal(run.out, "");
	files.in_path = "/nonexistent/file";
	assert_int_equal(command_run(&line, &run, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent/file"));
}

static void a_program_that_is_missing_is_said(void **state)
{
	struct command_run run = {.timeout_ms = 10000};
	struct err err;

	(void)state;
	command_line_init(&line, "/nonexistent/program");
	assert_int_equal(command_run(&line, &run, &err), 0);
	assert_int_equal(run.status, 127);
	assert_non_null(strstr(run.complaint, "/nonexistent/program: No such"));
}

static void lines_come_one_by_one(void **state)
{
	struct command *command =
		start_shell("echo one; echo two; printf three", true);

	(void)state;
	assert_int_equal(command_await(command, in_ms(10000), true, NULL),
			 COMMAND_LINE);
	assert_string_equal(command_text(command), "one");
	assert_int_equal(command_await(command, in_ms(10000), true, NULL),
			 COMMAND_LINE);
	assert_string_equal(command_text(command), "two");
	assert_int_equal(command_await(command, in_ms(10000), true, NULL),
			 COMMAND_ENDED);
	assert_int_equal(command_status(command), 0);
	command_free(command);
}

/* A child that talks while nobody listens must not be blocked by its pipe. */
static void a_talker_is_drained(void **state)
{
	struct command *command = start_shell(
		"i=0; while [ $i -lt 20000 ]; do echo 0123456789abcdef; "
		"i=$((i+1)); done",
		true);

	(void)state;
	assert_int_equal(command_await(command, in_ms(30000), false, NULL),
			 COMMAND_ENDED);
	command_free(command);
}

static void a_deadline_holds_and_a_stop_is_seen(void **state)
{
	static volatile sig_atomic_t stop;
	struct command *command = start_shell("exec sleep 60", false);

	(void)state;
	assert_int_equal(command_await(command, in_ms(20), false, NULL),
			 COMMAND_DEADLINE);
	stop = 1;
	assert_int_equal(command_await(command, in_ms(60000), false, &stop),
			 COMMAND_STOPPED);
	assert_false(command_is_blocked(command));
	assert_true(command_end(command, 5000));
	assert_int_equal(command_status(command), 128 + SIGTERM);
	command_free(command);
}

static void one_that_will_not_end_is_killed(void **state)
{
	struct command *command = start_shell(
		"trap '' TERM; echo ready; while :; do sleep 1; done", true);

	(void)state;
	assert_int_equal(command_await(command, in_ms(10000), true, NULL),
			 COMMAND_LINE);
	assert_true(command_end(command, 50));
	assert_int_equal(command_status(command), 128 + SIGKILL);
	command_free(command);
}

static void a_run_past_its_time_is_trouble(void **state)
{
	struct command_run run = {.timeout_ms = 30};
	struct err err;

	(void)state;
	shell("exec sleep 60");
	assert_int_equal(command_run(&line, &run, &err), -1);
	assert_non_null(strstr(err.text, "30 ms"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prefix_is_split_and_words_are_not),
		cmocka_unit_test(too_many_words_are_refused),
		cmocka_unit_test(status_output_and_complaint_are_told),
		cmocka_unit_test(a_file_is_the_input_and_nothing_else_is),
		cmocka_unit_test(a_program_that_is_missing_is_said),
		cmocka_unit_test(lines_come_one_by_one),
		cmocka_unit_test(a_talker_is_drained),
		cmocka_unit_test(a_deadline_holds_and_a_stop_is_seen),
		cmocka_unit_test(one_that_will_not_end_is_killed),
		cmocka_unit_test(a_run_past_its_time_is_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
