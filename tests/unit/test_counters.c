/* SPDX-License-Identifier: MIT */
/*
 * counters: the forms in which smartctl and nvme-cli print them, and that what
 * a drive, or who speaks for it, may say otherwise is not taken for a number.
 */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/counters.h"
#include "common/base/err.h"

static struct counters counters;

static int decode(enum counters_source source, const char *text)
{
	struct err err = {""};

	memset(&counters, 0, sizeof(counters));
	return counters_decode(&counters, source, text, strlen(text), &err);
}

static void expect(enum counters_kind kind, uint64_t value)
{
	if (!counters.has[kind])
		fail_msg("%s is missing", counters_name(kind));
	assert_int_equal(counters.values[kind], value);
}

static void expect_none(enum counters_kind kind)
{
	if (counters.has[kind])
		fail_msg("%s is there", counters_name(kind));
}

static void an_nvme_drive_by_smartctl(void **state)
{
	(void)state;
	assert_int_equal(
		decode(COUNTERS_SMARTCTL,
		       "{\"nvme_smart_health_information_log\": {"
		       "\"critical_warning\": 16, \"temperature\": 42,"
		       "\"power_cycles\": 120, \"unsafe_shutdowns\": 77,"
		       "\"media_errors\": 0}, \"power_cycle_count\": 120,"
		       "\"temperature\": {\"current\": 42}}"),
		0);
	expect(COUNTERS_POWER_CYCLES, 120);
	expect(COUNTERS_UNSAFE_SHUTDOWNS, 77);
	expect(COUNTERS_MEDIA_ERRORS, 0);
	expect(COUNTERS_BACKUP_FAILED, 1);
	expect(COUNTERS_TEMPERATURE, 42);
}

/* nvme-cli prints strings, kelvin, and in some versions objects and reals. */
static void an_nvme_drive_by_nvme_cli(void **state)
{
	(void)state;
	assert_int_equal(decode(COUNTERS_NVME,
				"{\"critical_warning\":{\"value\":0},"
				"\"temperature\":315,\"power_cycles\":\"12\","
				"\"unsafe_shutdowns\":3.0,"
				"\"media_errors\":\"0\"}"),
			 0);
	expect(COUNTERS_POWER_CYCLES, 12);
	expect(COUNTERS_UNSAFE_SHUTDOWNS, 3);
	expect(COUNTERS_TEMPERATURE, 42);
	expect(COUNTERS_BACKUP_FAILED, 0);
}

static void an_ocp_log_in_both_spellings(void **state)
{
	(void)state;
	assert_int_equal(decode(COUNTERS_OCP, "{\"PLP start count\":\"9\","
					      "\"Incomplete shutdowns\":2,"
					      "\"Capacitor health\":110}"),
			 0);
	expect(COUNTERS_PLP_STARTS, 9);
	expect(COUNTERS_INCOMPLETE_SHUTDOWNS, 2);
	expect(COUNTERS_CAPACITOR_HEALTH, 110);
	assert_int_equal(decode(COUNTERS_OCP, "{\"plp_start_count\":4}"), 0);
	expect(COUNTERS_PLP_STARTS, 4);
}

static const char *attribute(unsigned int id, const char *name, const char *raw)
{
	static char text[512];

	(void)snprintf(text, sizeof(text),
		       "{\"ata_smart_attributes\":{\"table\":[{\"id\":%u,"
		       "\"name\":\"%s\",\"raw\":%s}]}}",
		       id, name, raw);
	return text;
}

static void ata_attributes_go_by_their_names(void **state)
{
	static const struct {
		unsigned int id;
		const char *name;
	} unsafe[] = {
		{174, "Unexpect_Power_Loss_Ct"},
		{174, "Unsafe_Shutdown_Count"},
		{192, "Power-Off_Retract_Count"},
		{192, "Power_Loss_Count"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
		assert_int_equal(decode(COUNTERS_SMARTCTL,
					attribute(unsafe[i].id, unsafe[i].name,
						  "{\"value\":5}")),
				 0);
		expect(COUNTERS_UNSAFE_SHUTDOWNS, 5);
	}
	/* 174 is something else on other drives, and so is a capacitor's. */
	assert_int_equal(
		decode(COUNTERS_SMARTCTL,
		       attribute(174, "Host_Reads_MiB", "{\"value\":5}")),
		-1);
	assert_int_equal(
		decode(COUNTERS_SMARTCTL,
		       attribute(175, "Power_Loss_Cap_Test", "{\"value\":5}")),
		0);
	expect_none(COUNTERS_UNSAFE_SHUTDOWNS);
	expect(COUNTERS_CAPACITOR_HEALTH, 5);
}

/* The first number of the string, where the 48 bits hold several. */
static void a_packed_raw_value_goes_by_its_string(void **state)
{
	(void)state;
	assert_int_equal(decode(COUNTERS_SMARTCTL,
				attribute(192, "Unsafe_Shutdown_Count",
					  "{\"value\":4294967305,"
					  "\"string\":\"9 (1 2)\"}")),
			 0);
	expect(COUNTERS_UNSAFE_SHUTDOWNS, 9);
	assert_int_equal(decode(COUNTERS_SMARTCTL,
				attribute(192, "Unsafe_Shutdown_Count",
					  "{\"value\":17,"
					  "\"string\":\"0x0011\"}")),
			 0);
	expect(COUNTERS_UNSAFE_SHUTDOWNS, 17);
}

static void a_scsi_drive_by_smartctl(void **state)
{
	(void)state;
	assert_int_equal(decode(COUNTERS_SMARTCTL,
				"{\"scsi_grown_defect_list\":3,"
				"\"scsi_error_counter_log\":{\"read\":"
				"{\"total_uncorrected_errors\":2},\"write\":"
				"{\"total_uncorrected_errors\":1}}}"),
			 0);
	expect(COUNTERS_REALLOCATED, 3);
	expect(COUNTERS_MEDIA_ERRORS, 3);
}

static void p9_what_is_no_number_is_not_taken(void **state)
{
	static const char *const bad[] = {
		"-1",
		"\"-1\"",
		"\"12x\"",
		"\"\"",
		"\" 12\"",
		"{}",
		"null",
		"[1]",
		"9.3e18",
		"-0.5",
		"true",
		"\"18446744073709551616\"",
		"\"9223372036854775808\"",
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"power_cycles\":%s,\"unsafe_shutdowns\":1}",
			       bad[i]);
		assert_int_equal(decode(COUNTERS_NVME, text), 0);
		expect_none(COUNTERS_POWER_CYCLES);
		expect(COUNTERS_UNSAFE_SHUTDOWNS, 1);
	}
}

static void p9_what_is_no_answer_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"7",
		"null",
		"{\"power_cycles\":",
		"smartctl: no such device",
		"{\"ata_smart_attributes\":7}",
		"{\"ata_smart_attributes\":{\"table\":[7,null,{\"id\":12}]}}",
		"{\"power_cycle_count\":99999999999999999999}",
	};
	const size_t length = COUNTERS_INPUT_BYTES_MAX + 1;
	char *huge = malloc(length);
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode(COUNTERS_SMARTCTL, bad[i]), -1);
	assert_non_null(huge);
	memset(huge, ' ', length);
	memcpy(huge, "{\"power_cycle_count\":1}", 23);
	assert_int_equal(counters_decode(&counters, COUNTERS_SMARTCTL, huge,
					 length, &err),
			 -1);
	memset(huge, '[', length);
	assert_int_equal(counters_decode(&counters, COUNTERS_SMARTCTL, huge,
					 length - 1, &err),
			 -1);
	free(huge);
}

/* A second source adds, and what it cannot say leaves the first one's word. */
static void what_was_read_before_stays(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(decode(COUNTERS_NVME, "{\"power_cycles\":5}"), 0);
	assert_int_equal(counters_decode(&counters, COUNTERS_OCP,
					 "{\"PLP start count\":1}", 21, &err),
			 0);
	assert_int_equal(
		counters_decode(&counters, COUNTERS_OCP, "{}", 2, &err), -1);
	expect(COUNTERS_POWER_CYCLES, 5);
	expect(COUNTERS_PLP_STARTS, 1);
}

static struct counters with(enum counters_kind kind, uint64_t value)
{
	struct counters made = {0};

	made.has[kind] = true;
	made.values[kind] = value;
	return made;
}

static enum counters_move moved(uint64_t from, uint64_t to)
{
	const struct counters before = with(COUNTERS_POWER_CYCLES, from);
	const struct counters after = with(COUNTERS_POWER_CYCLES, to);

	return counters_moved(&before, &after, COUNTERS_POWER_CYCLES);
}

static void a_counter_that_stays_0_is_not_kept(void **state)
{
	const struct counters some = with(COUNTERS_POWER_CYCLES, 7);
	const struct counters none = {0};

	(void)state;
	assert_int_equal(moved(0, 0), COUNTERS_UNKNOWN);
	assert_int_equal(moved(0, 1), COUNTERS_ROSE);
	assert_int_equal(moved(7, 8), COUNTERS_ROSE);
	assert_int_equal(moved(7, 7), COUNTERS_STOOD);
	assert_int_equal(moved(7, 0), COUNTERS_STOOD);
	assert_int_equal(counters_moved(&some, &none, COUNTERS_POWER_CYCLES),
			 COUNTERS_UNKNOWN);
	assert_int_equal(counters_moved(&none, &some, COUNTERS_POWER_CYCLES),
			 COUNTERS_UNKNOWN);
}

static void only_damage_that_rose_is_told_as_damage(void **state)
{
	struct counters before = with(COUNTERS_REALLOCATED, 3);
	struct counters after = with(COUNTERS_REALLOCATED, 4);
	char text[128];

	(void)state;
	before.has[COUNTERS_POWER_CYCLES] = true;
	after.has[COUNTERS_POWER_CYCLES] = true;
	after.values[COUNTERS_POWER_CYCLES] = 1;
	counters_describe(&before, &after, true, text, sizeof(text));
	assert_string_equal(text, "reallocated sectors 3 -> 4");
	counters_describe(&before, &after, false, text, sizeof(text));
	assert_string_equal(text, "power cycles 0 -> 1, "
				  "reallocated sectors 3 -> 4");
	counters_describe(&before, &before, true, text, sizeof(text));
	assert_string_equal(text, "");
	counters_describe(&before, &after, false, text, 8);
	assert_true(strlen(text) < 8);
}

static void the_journal_gives_back_what_it_got(void **state)
{
	struct counters before = with(COUNTERS_REALLOCATED, INT64_MAX);
	struct counters after;
	json_t *object = NULL;

	(void)state;
	before.has[COUNTERS_POWER_CYCLES] = true;
	object = counters_encode(&before);
	counters_take(&after, object);
	json_decref(object);
	assert_memory_equal(&before, &after, sizeof(before));
	counters_take(&after, NULL);
	assert_false(counters_are_read(&after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_nvme_drive_by_smartctl),
		cmocka_unit_test(an_nvme_drive_by_nvme_cli),
		cmocka_unit_test(an_ocp_log_in_both_spellings),
		cmocka_unit_test(ata_attributes_go_by_their_names),
		cmocka_unit_test(a_packed_raw_value_goes_by_its_string),
		cmocka_unit_test(a_scsi_drive_by_smartctl),
		cmocka_unit_test(p9_what_is_no_number_is_not_taken),
		cmocka_unit_test(p9_what_is_no_answer_is_refused),
		cmocka_unit_test(what_was_read_before_stays),
		cmocka_unit_test(a_counter_that_stays_0_is_not_kept),
		cmocka_unit_test(only_damage_that_rose_is_told_as_damage),
		cmocka_unit_test(the_journal_gives_back_what_it_got),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
