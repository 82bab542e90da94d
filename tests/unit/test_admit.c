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

static void p10_an_identity_of_several_drives_needs_a_label(void **state)
{
	struct scene s;
	struct err err;

	(void)state;
	scene_init(&s);
	s.drive.is_shared = true;
	assert_int_equal(decide(&s, &err), 0);
	s.labels[0].state = ADMIT_COPY_UNREADABLE;
	assert_int_equal(decide(&s, &err), 0);
	s.labels[1].state = ADMIT_COPY_BLANK;
	assert_int_equal(decide(&s, &err), -1);
	assert_non_null(strstr(err.text, "no label of run"));
	s.drive.is_shared = false;
	assert_int_equal(decide(&s, &err), 0);
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

/* What a label can be, told by how its copy was read. */
enum kind {
	OWN,
	BLANK,
	CLAIM,
	OTHER,
	OTHERS_PLACE,
	OTHERS_CLAIM,
	CORRUPT,
	UNREADABLE,
	KINDS
};

static void make_label(struct scene *s, unsigned int copy, enum kind kind)
{
	static const enum admit_copy states[KINDS] = {
		[BLANK] = ADMIT_COPY_BLANK,
		[CORRUPT] = ADMIT_COPY_DAMAGED,
		[UNREADABLE] = ADMIT_COPY_UNREADABLE,
	};
	struct run *run = &s->labels[copy].run;
	size_t i;

	s->labels[copy].state = states[kind]; /* GOOD is 0 */
	*run = s->run;
	if (kind == OTHER || kind == OTHERS_PLACE || kind == OTHERS_CLAIM)
		run->id[3] ^= 5;
	if (kind == OTHERS_PLACE)
		run->size_bytes += run->block_bytes;
	for (i = 0; i < RUN_ID_BYTES && (kind == CLAIM || kind == OTHERS_CLAIM);
	     i++)
		run->id[i] ^= 0xff;
	if (kind == CLAIM || kind == OTHERS_CLAIM)
		run->is_filled = false;
}

/* The run's own claim is older than its labels, where those had been flushed,
 * and so is another run's label whose twin is the run's; any other good label
 * says that the region was begun for somebody else. */
static bool is_doubt(enum kind kind, enum kind twin, bool was_labelled)
{
	return kind == OTHERS_PLACE || kind == OTHERS_CLAIM ||
	       (kind == OTHER && twin != OWN) ||
	       (kind == CLAIM && twin != OWN && !was_labelled);
}

static void p9_every_mixture_of_labels(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < KINDS * KINDS * 4; i++) {
		enum kind first = (enum kind)(i / 4 % KINDS);
		enum kind second = (enum kind)(i / 4 / KINDS);
		bool was_labelled = i & 1, is_known = i & 2, admits;
		struct scene s;
		struct err err;

		scene_init(&s);
		s.drive.was_labelled = was_labelled;
		s.drive.identity = is_known ? "serial-1" : "";
		make_label(&s, 0, first);
		make_label(&s, 1, second);
		admits = !is_doubt(first, second, was_labelled) &&
			 !is_doubt(second, first, was_labelled) &&
			 (first == OWN || second == OWN || is_known ||
			  first == CLAIM || second == CLAIM);
		if ((decide(&s, &err) == 0) != admits)
			fail_msg("labels %d and %d, labelled %d, known %d",
				 first, second, was_labelled, is_known);
	}
}

static void p9_a_label_not_asked_for_is_no_finding(void **state)
{
	struct finding finding;
	struct scene s;

	(void)state;
	scene_init(&s);
	s.labels[1].state = ADMIT_COPY_UNJUDGED;
	assert_false(admit_finding(&s.run, &s.labels[1], 1, &finding));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p10_the_right_drive_is_admitted),
		cmocka_unit_test(p10_another_serial_number_is_refused),
		cmocka_unit_test(
			p10_an_identity_of_several_drives_needs_a_label),
		cmocka_unit_test(
			p10_label_of_another_run_is_refused_naming_both),
		cmocka_unit_test(
			p10_same_id_but_another_description_is_refused),
		cmocka_unit_test(p10_without_labels_the_serial_number_must_do),
		cmocka_unit_test(p9_a_shrunk_drive_is_refused),
		cmocka_unit_test(p9_larger_logical_blocks_are_refused),
		cmocka_unit_test(p4_a_label_that_misses_is_a_finding),
		cmocka_unit_test(p9_every_mixture_of_labels),
		cmocka_unit_test(p9_a_label_not_asked_for_is_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
