/* SPDX-License-Identifier: MIT */
/* journal: what was written is there after a crash; damage is never skipped. */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/journal.h"
#include "campaign/outcome.h"
#include "common/base/err.h"

static char dir[] = "/tmp/plugpull-journal.XXXXXX";
static char path[64];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/plugpull-journal.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/journal", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path) | rmdir(dir);
}

static void write_steps(struct journal *journal, int from, int to)
{
	struct err err;

	for (int i = from; i <= to; i++)
		assert_int_equal(journal_write(journal, "step",
					       json_pack("{s:i}", "cycle", i),
					       &err),
				 0);
	assert_int_equal(journal_close(journal, &err), 0);
}

static void append_text(const char *text)
{
	FILE *file = fopen(path, "ae");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void what_is_written_is_read(void **state)
{
	struct err err;
	uint64_t torn = 1;
	json_t *lines = NULL;

	(void)state;
	write_steps(journal_create(path, &err), 1, 3);
	lines = journal_load(path, &torn, &err);
	assert_int_equal(json_array_size(lines), 3);
	assert_int_equal(torn, 0);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(lines, 2), "cycle")),
			 3);
	assert_non_null(json_object_get(json_array_get(lines, 0), "at"));
	json_decref(lines);
}

static void a_torn_line_is_cut_off_on_resuming(void **state)
{
	struct err err;
	uint64_t torn = 0;
	json_t *lines = NULL;

	(void)state;
	write_steps(journal_create(path, &err), 1, 2);
	append_text("{\"step\":\"don");
	json_decref(journal_load(path, &torn, &err));
	assert_int_equal(torn, 12);
	write_steps(journal_resume(path, &err), 3, 3);
	lines = journal_load(path, &torn, &err);
	assert_int_equal(json_array_size(lines), 3);
	assert_int_equal(torn, 0);
	json_decref(lines);
}

static void p9_damage_before_the_end_is_an_error(void **state)
{
	struct err err;
	uint64_t torn = 0;

	(void)state;
	write_steps(journal_create(path, &err), 1, 1);
	append_text("{\"step\n{\"step\":\"end\"}\n");
	assert_null(journal_load(path, &torn, &err));
	assert_non_null(strstr(err.text, ":2:"));
	assert_null(journal_resume(path, &err));
}

static void a_journal_has_one_writer_and_one_beginning(void **state)
{
	struct err err;
	struct journal *journal = journal_create(path, &err);

	(void)state;
	assert_non_null(journal);
	assert_null(journal_create(path, &err));
	assert_null(journal_resume(path, &err));
	assert_non_null(strstr(err.text, "another campaign"));
	assert_int_equal(journal_close(journal, &err), 0);
}

static void an_outcome_survives_its_journey(void **state)
{
	struct outcome there = {.cycle = 41, .arm = PLAN_ARM_CONTROL};
	struct outcome back;
	struct err err;
	json_t *object = NULL;

	(void)state;
	(void)snprintf(there.run, sizeof(there.run), "00ff");
	(void)snprintf(there.void_reason, sizeof(there.void_reason), "why");
	there.was_cut = true;
	there.writer.saw_gone = true;
	there.writer.in_flight = 7;
	there.judged.verdict = OUTCOME_BROKEN;
	there.judged.atoms[OUTCOME_TORN] = 9;
	there.judged.completed_lost = 3;
	there.second = OUTCOME_HEALED;
	object = outcome_encode(&there);
	assert_int_equal(outcome_decode(&back, object, &err), 0);
	json_decref(object);
	assert_memory_equal(&there, &back, sizeof(there));

	append_text("");
	object = json_object();
	assert_int_equal(outcome_decode(&back, object, &err), -1);
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_written_is_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_torn_line_is_cut_off_on_resuming, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			p9_damage_before_the_end_is_an_error, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_journal_has_one_writer_and_one_beginning, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(an_outcome_survives_its_journey,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
