/* SPDX-License-Identifier: MIT */
/* The JSON of a verdict is a contract: its names and types, whatever the
 * verdict. */
#include "verifier/vjson.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/conclude.h"

static struct result result;

static json_t *write_and_read(void)
{
	char path[] = "/tmp/plugpull-vjson.XXXXXX";
	int fd = mkstemp(path);
	json_t *root;
	struct err err;

	assert_int_not_equal(fd, -1);
	close(fd);
	if (vjson_write(&result, path, &err) < 0)
		fail_msg("%s", err.text);
	root = json_load_file(path, 0, NULL);
	unlink(path);
	assert_true(json_is_object(root));
	return root;
}

static int set_up(void **state)
{
	(void)state;
	memset(&result, 0, sizeof(result));
	result.target_name = "drive.img";
	result.answer = ANSWER_BROKEN;
	result.status = CONCLUDE_BROKEN;
	strcpy(result.reason, "1 write lost");
	result.has_run = true;
	result.run.id[0] = 0xab;
	return 0;
}

static void expect_integer(const json_t *root, const char *name, json_int_t is)
{
	const json_t *value = json_object_get(root, name);

	if (!json_is_integer(value))
		fail_msg("%s is no integer", name);
	assert_int_equal(json_integer_value(value), is);
}

static void expect_text(const json_t *root, const char *name, const char *is)
{
	const char *value = json_string_value(json_object_get(root, name));

	if (value == NULL)
		fail_msg("%s is no text", name);
	assert_string_equal(value, is);
}

static void every_promised_name_is_there(void **state)
{
	static const char *const classes[] = {
		"lost",        "blank",      "foreign", "torn",  "corrupt",
		"misdirected", "unreadable", "hung",    "newer", "intact"};
	json_t *root;
	size_t i;

	(void)state;
	result.durable_log = 5;
	result.durable_media = 6;
	result.tally.judged_writes = 7;
	result.tally.atoms[VERDICT_LOST] = 8;
	result.tally.writes[VERDICT_LOST] = 2;
	result.tally.completed_lost = 9;
	result.changed = 3;
	result.unstable = 1;
	result.read_bytes = 1ULL << 40;
	root = write_and_read();
	expect_text(root, "verdict", "broken");
	expect_text(root, "reason", "1 write lost");
	expect_text(root, "run", "ab000000000000000000000000000000");
	expect_integer(root, "durable_log", 5);
	expect_integer(root, "durable_media", 6);
	expect_integer(root, "judged_writes", 7);
	expect_integer(root, "completed_lost", 9);
	expect_integer(root, "changed", 3);
	expect_integer(root, "unstable", 1);
	expect_integer(root, "read_bytes", 1LL << 40);
	assert_true(json_is_real(json_object_get(root, "seconds")));
	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const json_t *class = json_object_get(root, classes[i]);

		expect_integer(class, "atoms", i == 0 ? 8 : 0);
		expect_integer(class, "writes", i == 0 ? 2 : 0);
	}
	expect_integer(json_object_get(root, "loss_depth"), "writes", 0);
	assert_true(json_is_array(json_object_get(root, "findings")));
	json_decref(root);
}

static void a_finding_says_what_and_where(void **state)
{
	const struct finding finding = {.class = VERDICT_LOST,
					.offset_bytes = 8192,
					.atoms = 8,
					.expected = 41,
					.has_found = true,
					.found = 38};
	json_t *root;
	const json_t *first;

	(void)state;
	findings_add(&result.findings, &finding);
	root = write_and_read();
	first = json_array_get(json_object_get(root, "findings"), 0);
	expect_text(first, "class", "lost");
	expect_integer(first, "sequence", 41);
	expect_integer(first, "expected", 41);
	expect_integer(first, "found", 38);
	expect_integer(first, "offset", 8192);
	expect_integer(first, "atoms", 8);
	json_decref(root);
}

/* The bytes of a damaged log may stand in it. */
static void p9_a_reason_that_is_no_text_is_told_all_the_same(void **state)
{
	json_t *root;

	(void)state;
	conclude_none(&result, "the label says \xff\xfe");
	result.has_run = false;
	root = write_and_read();
	expect_text(root, "verdict", "none");
	expect_text(root, "reason",
		    "the label says ?"
		    "?");
	assert_true(json_is_null(json_object_get(root, "run")));
	json_decref(root);
}

static void a_full_disk_is_an_error(void **state)
{
	struct err err;

	(void)state;
	if (access("/dev/full", W_OK) != 0)
		skip();
	assert_int_equal(vjson_write(&result, "/dev/full", &err), -1);
	assert_non_null(strstr(err.text, "/dev/full"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_promised_name_is_there, set_up),
		cmocka_unit_test_setup(a_finding_says_what_and_where, set_up),
		cmocka_unit_test_setup(
			p9_a_reason_that_is_no_text_is_told_all_the_same,
			set_up),
		cmocka_unit_test_setup(a_full_disk_is_an_error, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
