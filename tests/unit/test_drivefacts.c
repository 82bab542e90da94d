/* SPDX-License-Identifier: MIT */
/* What a drive says of itself, by kind, and what it does not say. */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "common/base/err.h"
#include "common/drive/drivefacts.h"
#include "tests/fake/passdrive.h"

static struct passdrive drive;

static struct drivefacts ask(void)
{
	struct drivefacts facts;
	struct drivelink link;
	struct err err;

	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(drivefacts_ask_link(&link, 1000, &facts, &err), 0);
	return facts;
}

static void nvme_with_a_cache(void **state)
{
	struct drivefacts facts;

	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.block_bytes = 4096;
	drive.size_bytes = 1ULL << 43;
	facts = ask();
	assert_int_equal(facts.kind, DRIVEFACTS_NVME);
	assert_string_equal(facts.model, "Fake NVMe");
	assert_string_equal(facts.serial, "PASS1");
	assert_string_equal(facts.firmware, "1.0");
	assert_int_equal(facts.has_cache, DRIVEFACTS_YES);
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_YES);
	assert_int_equal(facts.has_flush, DRIVEFACTS_YES);
	assert_int_equal(facts.has_fua, DRIVEFACTS_YES);
	assert_int_equal(facts.logical_block_bytes, 4096);
	assert_int_equal(facts.size_bytes, 1ULL << 43);
	assert_int_equal(facts.atomic_write_bytes, 8 * 4096);
	assert_string_equal(facts.plp_hint, "");
	drive.is_cache_on = false;
	assert_int_equal(ask().is_cache_on, DRIVEFACTS_NO);
}

static void nvme_without_a_cache_hints_at_protection(void **state)
{
	struct drivefacts facts;

	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.has_cache = false;
	facts = ask();
	assert_int_equal(facts.has_cache, DRIVEFACTS_NO);
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_NO);
	assert_non_null(strstr(facts.plp_hint, "VWC = 0"));
}

static void ata_speaks_through_scsi(void **state)
{
	struct drivefacts facts;

	passdrive_init(&drive, PASSDRIVE_ATA, *state);
	drive.attentions = 1;
	facts = ask();
	assert_int_equal(facts.kind, DRIVEFACTS_ATA);
	assert_string_equal(facts.model, "Fake ATA");
	assert_string_equal(facts.serial, "PASS2");
	assert_int_equal(facts.has_cache, DRIVEFACTS_YES);
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_YES);
	assert_int_equal(facts.has_flush, DRIVEFACTS_YES);
	assert_int_equal(facts.has_fua, DRIVEFACTS_YES);
	assert_int_equal(facts.atomic_write_bytes, 0);
	assert_int_equal(facts.size_bytes, 1ULL << 30);
	assert_int_equal(drive.flushes, 0); /* it is believed */
	drive.is_cache_on = drive.has_fua = false;
	facts = ask();
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_NO);
	assert_int_equal(facts.has_fua, DRIVEFACTS_NO);
}

static void scsi_by_its_caching_page(void **state)
{
	struct drivefacts facts;

	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	facts = ask();
	assert_int_equal(facts.kind, DRIVEFACTS_SCSI);
	assert_string_equal(facts.model, "FAKE Fake SCSI");
	assert_string_equal(facts.serial, "PASS3");
	assert_int_equal(facts.has_cache, DRIVEFACTS_YES);
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_YES);
	assert_int_equal(facts.has_flush, DRIVEFACTS_YES);
	assert_int_equal(facts.has_fua, DRIVEFACTS_YES);
	drive.knows_mode10 = drive.is_cache_on = drive.has_fua = false;
	facts = ask();
	assert_int_equal(facts.has_cache, DRIVEFACTS_YES); /* changeable */
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_NO);
	assert_int_equal(facts.has_fua, DRIVEFACTS_NO);
}

static void a_bridge_that_hides_its_cache_is_unknown(void **state)
{
	struct drivefacts facts;

	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.has_caching_page = false;
	drive.knows_sync = false;
	facts = ask();
	assert_int_equal(facts.has_cache, DRIVEFACTS_UNKNOWN);
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_UNKNOWN);
	assert_int_equal(facts.has_flush, DRIVEFACTS_NO);
	drive.knows_sync = true;
	drive.scsi_status = 8; /* busy: no word on whether it could */
	assert_int_equal(ask().has_flush, DRIVEFACTS_UNKNOWN);
	assert_true(drive.commands < 2 * DRIVEFACTS_COMMANDS_MAX);
}

/* P9: "not in use" elides every flush; it takes two to be believed. */
static void p9_a_bridge_and_its_drive_must_agree_on_off(void **state)
{
	static const struct {
		bool has_page, page_on, has_words, words_on;
		enum drivefacts_answer is_on;
	} rows[] = {
		{true, false, true, true, DRIVEFACTS_YES},
		{true, true, true, false, DRIVEFACTS_YES},
		{true, true, true, true, DRIVEFACTS_YES},
		{true, false, true, false, DRIVEFACTS_NO},
		{true, false, false, false, DRIVEFACTS_UNKNOWN},
		{false, false, true, false, DRIVEFACTS_UNKNOWN},
		{false, false, true, true, DRIVEFACTS_YES},
		{false, false, false, false, DRIVEFACTS_UNKNOWN},
	};

	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.is_bridge = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct drivefacts facts;

		drive.has_caching_page = rows[i].has_page;
		drive.is_cache_on = rows[i].page_on;
		drive.has_bridge_words = rows[i].has_words;
		drive.is_bridge_cache_on = rows[i].words_on;
		facts = ask();
		assert_true(facts.is_bridge);
		assert_int_equal(facts.is_cache_on, rows[i].is_on);
		assert_int_not_equal(facts.has_cache, DRIVEFACTS_NO);
	}
}

static void above_two_terabytes_by_the_long_command(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.size_bytes = 1ULL << 42;
	assert_int_equal(ask().size_bytes, 1ULL << 42);
	drive.knows_long = false;
	assert_int_equal(ask().size_bytes, 0); /* it cannot say */
	drive.size_bytes = 1ULL << 30;
	assert_int_equal(ask().size_bytes, 1ULL << 30);
}

static void no_answer_is_an_error_and_no_drive_is_none(void **state)
{
	struct drivefacts facts;
	struct drivelink link;
	struct err err;

	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.attentions = 100;
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(drivefacts_ask_link(&link, 1000, &facts, &err), -1);
	assert_non_null(strstr(err.text, "cannot ask the drive"));
	assert_int_equal(drivefacts_ask(0, 1000, &facts, &err), 0);
	assert_int_equal(facts.kind, DRIVEFACTS_NONE);
	assert_int_equal(facts.is_cache_on, DRIVEFACTS_UNKNOWN);
	assert_string_equal(drivefacts_kind_name(facts.kind), "none");
	assert_string_equal(drivefacts_answer_name(facts.has_fua), "unknown");
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(nvme_with_a_cache),
		ROW(nvme_without_a_cache_hints_at_protection),
		ROW(ata_speaks_through_scsi),
		ROW(scsi_by_its_caching_page),
		ROW(a_bridge_that_hides_its_cache_is_unknown),
		ROW(p9_a_bridge_and_its_drive_must_agree_on_off),
		ROW(above_two_terabytes_by_the_long_command),
		ROW(no_answer_is_an_error_and_no_drive_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
