/* SPDX-License-Identifier: MIT */
/* P10: a drive is known again, or it is not judged (P9). */
#include "tests/unit/cmocka_all.h"

#include "tests/unit/slotworld.h"
#include "verifier/admit.h"

struct scene {
	struct run run;
	struct admit_drive drive;
	struct admit_label labels[2];
};

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	scene->run = world_run(4, 1);
	scene->drive = (struct admit_drive){
		.name = "/dev/sdx",
		.identity = "serial-1",
		.size_bytes = scene->run.size_bytes,
		.logical_block_bytes = scene->run.logical_block_bytes,
	};
	scene->labels[0].run = scene->run;
	scene->labels[1].run = scene->run;
}

static int decide(const struct scene *scene, struct err *err)
{
	return admit_decide(&scene->run, &scene->drive, scene->labels, err);
}

static void p10_the_right_drive_is_admitted(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	assert_int_equal(decide(&s, &err), 0);
	s.labels[1].state = ADMIT_COPY_BLANK;
	assert_int_equal(decide(&s, &err), 0);
	s.drive.identity = ""; /* unknown; the label is enough */
	assert_int_equal(decide(&s, &err), 0);
}

static void p10_another_serial_number_is_refused(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.drive.identity = "serial-2";
	assert_int_equal(decide(&s, &err), -1);
	assert_non_null(strstr(err.text, "serial-1"));
	assert_non_null(strstr(err.text, "serial-2"));
}

static void p10_label_of_another_run_is_refused_naming_both(void **state)
{
	char mine[RUN_ID_TEXT_BYTES], other[RUN_ID_TEXT_BYTES];
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.labels[0].run.id[0] = 77;
	s.labels[1].run.id[0] = 77;
	run_id_text(s.run.id, mine);
	run_id_text(s.labels[0].run.id, other);
	assert_int_equal(decide(&s, &err), -1);
	assert_non_null(strstr(err.text, mine));
	assert_non_null(strstr(err.text, other));
}

static void p10_same_id_but_another_description_is_refused(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.labels[0].run.seed = 5;
	s.labels[1].run.seed = 5;
	assert_int_equal(decide(&s, &err), -1);
}

static void p10_without_labels_the_serial_number_must_do(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.labels[0].state = ADMIT_COPY_GONE;
	s.labels[1].state = ADMIT_COPY_DAMAGED;
	assert_int_equal(decide(&s, &err), 0);
	s.drive.identity = "";
	assert_int_equal(decide(&s, &err), -1);
	s.drive.identity = "serial-1";
	s.run.identity[0] = '\0';
	assert_int_equal(decide(&s, &err), -1);
}

static void p9_a_shrunk_drive_is_refused(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.drive.size_bytes--;
	assert_int_equal(decide(&s, &err), -1);
	assert_non_null(strstr(err.text, "shrunk"));
	s.run.offset_bytes = UINT64_MAX - 4095; /* no overflow */
	assert_int_equal(admit_check_drive(&s.run, &s.drive, &err), -1);
}

static void p9_larger_logical_blocks_are_refused(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.drive.logical_block_bytes *= 2;
	assert_int_equal(decide(&s, &err), -1);
}

static void p4_a_label_that_misses_is_a_finding(void **state)
{
	static const struct {
		enum admit_copy state;
		enum verdict verdict;
	} table[] = {
		{ADMIT_COPY_BLANK, VERDICT_BLANK},
		{ADMIT_COPY_DAMAGED, VERDICT_CORRUPT},
		{ADMIT_COPY_UNREADABLE, VERDICT_UNREADABLE},
		{ADMIT_COPY_HUNG, VERDICT_HUNG},
		{ADMIT_COPY_GONE, VERDICT_GONE},
	};
	struct finding finding;
	struct scene s;
	size_t i;

	(void)state;
	scene_init(&s);
	assert_false(admit_finding(&s.run, &s.labels[1], 1, &finding));
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		s.labels[1].state = table[i].state;
		assert_true(admit_finding(&s.run, &s.labels[1], 1, &finding));
		assert_int_equal(finding.class, table[i].verdict);
		assert_true(finding.is_label);
		assert_int_equal(finding.offset_bytes,
				 run_label_offset(&s.run, 1));
	}
	s.labels[1].state = ADMIT_COPY_GOOD;
	s.labels[1].run.id[0] = 9;
	assert_true(admit_finding(&s.run, &s.labels[1], 1, &finding));
	assert_int_equal(finding.class, VERDICT_FOREIGN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p10_the_right_drive_is_admitted),
		cmocka_unit_test(p10_another_serial_number_is_refused),
		cmocka_unit_test(
			p10_label_of_another_run_is_refused_naming_both),
		cmocka_unit_test(
			p10_same_id_but_another_description_is_refused),
		cmocka_unit_test(p10_without_labels_the_serial_number_must_do),
		cmocka_unit_test(p9_a_shrunk_drive_is_refused),
		cmocka_unit_test(p9_larger_logical_blocks_are_refused),
		cmocka_unit_test(p4_a_label_that_misses_is_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
