/* SPDX-License-Identifier: MIT */
/* SCSI commands and answers, byte by byte as SPC-4 and SBC-3 have them. */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "common/drive/scsicmd.h"

static void expect_cdb(const struct scsicmd *command, const char *bytes,
		       size_t count)
{
	assert_int_equal(command->cdb_bytes, count);
	assert_memory_equal(command->cdb, bytes, count);
}

static void reads_and_writes_carry_64_bit_addresses(void **state)
{
	struct scsicmd command =
		scsicmd_read(0x0123456789abcdefULL, 0x11223344, 512, true);

	(void)state;
	expect_cdb(&command,
		   "\x88\0\x01\x23\x45\x67\x89\xab\xcd\xef\x11\x22\x33\x44\0\0",
		   16);
	assert_int_equal(command.direction, SCSICMD_FROM_DRIVE);
	command = scsicmd_write(0x100000000ULL, 8, 4096, true);
	expect_cdb(&command, "\x8a\0\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0", 16);
	assert_int_equal(command.direction, SCSICMD_TO_DRIVE);
	assert_int_equal(command.data_bytes, 4096);
	scsicmd_set_fua(&command);
	expect_cdb(&command, "\x8a\x08\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0", 16);
}

static void short_ones_carry_32_bit_addresses(void **state)
{
	struct scsicmd command = scsicmd_read(0x89abcdef, 0xfffe, 512, false);

	(void)state;
	expect_cdb(&command, "\x28\0\x89\xab\xcd\xef\0\xff\xfe\0", 10);
	command = scsicmd_write(1, 2, 1024, false);
	scsicmd_set_fua(&command);
	expect_cdb(&command, "\x2a\x08\0\0\0\x01\0\0\x02\0", 10);
}

static void p1_sync_cache_waits_and_takes_the_whole_medium(void **state)
{
	struct scsicmd command = scsicmd_sync_cache(0, 0, true);

	(void)state;
	/* IMMED, bit 1 of byte 1, is 0: it answers when it is done. */
	expect_cdb(&command, "\x91\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(command.direction, SCSICMD_NO_DATA);
	command = scsicmd_sync_cache(0, 0, false);
	expect_cdb(&command, "\x35\0\0\0\0\0\0\0\0\0", 10);
	command = scsicmd_sync_cache(2, 1, true);
	expect_cdb(&command, "\x91\0\0\0\0\0\0\0\0\x02\0\0\0\x01\0\0", 16);
}

static void questions_are_as_the_standards_have_them(void **state)
{
	struct scsicmd command = scsicmd_inquiry();

	(void)state;
	expect_cdb(&command, "\x12\0\0\0\x60\0", 6);
	command = scsicmd_vital_page(0x80);
	expect_cdb(&command, "\x12\x01\x80\0\xfc\0", 6);
	command = scsicmd_vital_page(SCSICMD_VPD_ATA);
	expect_cdb(&command, "\x12\x01\x89\x02\x3c\0", 6);
	command = scsicmd_mode_sense(8, SCSICMD_MODE_CURRENT, true);
	expect_cdb(&command, "\x5a\x08\x08\0\0\0\0\0\xc0\0", 10);
	command = scsicmd_mode_sense(8, SCSICMD_MODE_CHANGEABLE, false);
	expect_cdb(&command, "\x1a\x08\x48\0\xc0\0", 6);
	command = scsicmd_mode_select(28, true);
	expect_cdb(&command, "\x55\x10\0\0\0\0\0\0\x1c\0", 10);
	command = scsicmd_mode_select(24, false);
	expect_cdb(&command, "\x15\x10\0\0\x18\0", 6);
	command = scsicmd_capacity(true);
	expect_cdb(&command, "\x9e\x10\0\0\0\0\0\0\0\0\0\0\0\x20\0\0", 16);
	command = scsicmd_capacity(false);
	expect_cdb(&command, "\x25\0\0\0\0\0\0\0\0\0", 10);
	command = scsicmd_test_ready();
	expect_cdb(&command, "\0\0\0\0\0\0", 6);
}

static void inquiry_tells_ata_from_scsi(void **state)
{
	uint8_t bytes[96] = {0, 0, 6, 2, 91};
	struct scsicmd_inquiry_data inquiry;

	(void)state;
	memcpy(bytes + 8, "ATA     WDC WD40EZRZ-00GXCB0A80", 28);
	memcpy(bytes + 32, "0A80", 4);
	assert_int_equal(scsicmd_parse_inquiry(bytes, 96, &inquiry), 0);
	assert_true(inquiry.is_ata);
	assert_int_equal(inquiry.version, 6);
	assert_string_equal(inquiry.model, "WDC WD40EZRZ-00G");
	assert_string_equal(inquiry.firmware, "0A80");
	memcpy(bytes + 8, "SEAGATE ST1000NM", 16);
	assert_int_equal(scsicmd_parse_inquiry(bytes, 36, &inquiry), 0);
	assert_false(inquiry.is_ata);
	assert_string_equal(inquiry.model, "SEAGATE ST1000NMEZRZ-00G");
	assert_int_equal(scsicmd_parse_inquiry(bytes, 35, &inquiry), -1);
	bytes[4] = 30; /* it says that it is shorter */
	assert_int_equal(scsicmd_parse_inquiry(bytes, 96, &inquiry), -1);
	bytes[4] = 91;
	bytes[0] = 0x7f; /* nobody there */
	assert_int_equal(scsicmd_parse_inquiry(bytes, 96, &inquiry), -1);
}

static void a_page_is_as_long_as_what_came(void **state)
{
	const uint8_t bytes[] = {0, 0x80, 0xff, 0xff, 'a', 'b'};
	const uint8_t *content = NULL;

	(void)state;
	assert_int_equal(
		scsicmd_parse_vital(bytes, sizeof(bytes), 0x80, &content), 2);
	assert_ptr_equal(content, bytes + 4);
	assert_int_equal(scsicmd_parse_vital(bytes, 3, 0x80, &content), -1);
	assert_int_equal(
		scsicmd_parse_vital(bytes, sizeof(bytes), 0x83, &content), -1);
}

static void capacity_above_two_terabytes(void **state)
{
	const uint8_t wide[32] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0};
	uint8_t narrow[8] = {0, 0, 0, 7, 0, 0, 2, 0};
	uint64_t blocks = 0;
	uint32_t bytes = 0;

	(void)state;
	assert_int_equal(
		scsicmd_parse_capacity(wide, 32, true, &blocks, &bytes), 0);
	assert_int_equal(blocks, 0x100000001ULL);
	assert_int_equal(bytes, 4096);
	assert_int_equal(
		scsicmd_parse_capacity(wide, 11, true, &blocks, &bytes), -1);
	assert_int_equal(
		scsicmd_parse_capacity(narrow, 8, false, &blocks, &bytes), 0);
	assert_int_equal(blocks, 8);
	assert_int_equal(bytes, 512);
	narrow[6] = 3;
	assert_int_equal(
		scsicmd_parse_capacity(narrow, 8, false, &blocks, &bytes), -1);
	narrow[6] = 2;
	memset(narrow, 0xff, 4); /* more than fits: ask READ CAPACITY(16) */
	assert_int_equal(
		scsicmd_parse_capacity(narrow, 8, false, &blocks, &bytes), -1);
}

static void impossible_capacity_is_refused(void **state)
{
	uint8_t wide[32];
	uint64_t blocks = 0;
	uint32_t bytes = 0;

	(void)state;
	memset(wide, 0xff, sizeof(wide));
	memcpy(wide + 8, "\0\0\x02\0", 4);
	assert_int_equal(
		scsicmd_parse_capacity(wide, 32, true, &blocks, &bytes), -1);
	memcpy(wide, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
	assert_int_equal(
		scsicmd_parse_capacity(wide, 32, true, &blocks, &bytes), -1);
}

/* A header, a block descriptor, page 1, a page with a subpage, the caching
 * page. */
static const uint8_t mode10[] = {
	0,    44,   0,    0x10, 0,    0,    0, 8,             /* header */
	0,    0,    0,    0,    0,    0,    2, 0,             /* descriptor */
	1,    2,    0,    0,                                  /* page 01h */
	0x4a, 1,    0,    1,    9,                            /* 0Ah, sub 01h */
	0x88, 18,   0x04, 0,    0xff, 0xff, 0, 0, 0xff, 0xff, /* PS, WCE */
	0xff, 0xff, 0x80, 20,   0,    0,    0, 0, 0,    0,
};

static void caching_page_is_found_among_others(void **state)
{
	struct scsicmd_caching caching;

	(void)state;
	assert_int_equal(
		scsicmd_parse_mode(mode10, sizeof(mode10), true, &caching), 0);
	assert_true(caching.has_fua);
	assert_true(caching.has_page);
	assert_true(caching.is_cache_on);
	assert_int_equal(caching.page_bytes, 20);
}

static void caching_page_by_the_short_command(void **state)
{
	const uint8_t mode6[] = {23, 0, 0, 0, 0x08, 18, 0x01};
	uint8_t bytes[24] = {0};
	struct scsicmd_caching caching;

	(void)state;
	memcpy(bytes, mode6, sizeof(mode6));
	assert_int_equal(scsicmd_parse_mode(bytes, 24, false, &caching), 0);
	assert_false(caching.has_fua);
	assert_true(caching.has_page);
	assert_false(caching.is_cache_on);
	bytes[0] = 22; /* it ends before the page does */
	assert_int_equal(scsicmd_parse_mode(bytes, 24, false, &caching), 0);
	assert_false(caching.has_page);
}

static void every_cut_of_a_mode_page_is_safe(void **state)
{
	struct scsicmd_caching caching;
	uint8_t bytes[sizeof(mode10)];

	(void)state;
	for (size_t count = 0; count < sizeof(mode10); count++) {
		int status = scsicmd_parse_mode(mode10, count, true, &caching);

		assert_int_equal(status, count < 8 ? -1 : 0);
		assert_true(count < 8 || !caching.has_page);
	}
	for (size_t at = 0; at < sizeof(mode10); at++) {
		memcpy(bytes, mode10, sizeof(bytes));
		bytes[at] = 0xff;
		(void)scsicmd_parse_mode(bytes, sizeof(bytes), true, &caching);
		bytes[at] = 0;
		(void)scsicmd_parse_mode(bytes, sizeof(bytes), true, &caching);
	}
}

static void mode_select_changes_one_bit(void **state)
{
	struct scsicmd_caching caching;
	uint8_t bytes[SCSICMD_PAGE_MAX + 8];
	uint8_t page[20];

	(void)state;
	(void)scsicmd_parse_mode(mode10, sizeof(mode10), true, &caching);
	assert_int_equal(scsicmd_build_mode(&caching, false, true, bytes), 28);
	memcpy(page, mode10 + 25, sizeof(page));
	page[0] = 0x08; /* PS is reserved here */
	page[2] = 0x00;
	assert_memory_equal(bytes, "\0\0\0\0\0\0\0\0", 8);
	assert_memory_equal(bytes + 8, page, sizeof(page));
	assert_int_equal(scsicmd_build_mode(&caching, true, false, bytes), 24);
	page[2] = 0x04;
	assert_memory_equal(bytes, "\0\0\0\0", 4);
	assert_memory_equal(bytes + 4, page, sizeof(page));
}

static void sense_of_both_formats(void **state)
{
	const uint8_t fixed[18] = {0x70, 0, 5, 0, 0, 0,   0,
				   10,   0, 0, 0, 0, 0x20};
	const uint8_t descriptor[8] = {0x72, 5, 0x24, 0};
	const uint8_t deferred[18] = {0x71, 0, 1, 0, 0, 0, 0, 10};
	const uint8_t strange[18] = {0x7f, 0, 1};
	struct scsicmd_sense sense = scsicmd_parse_sense(fixed, 18);

	(void)state;
	assert_true(scsicmd_is_unknown_opcode(&sense));
	assert_int_equal(scsicmd_errno(&sense), -EOPNOTSUPP);
	sense = scsicmd_parse_sense(descriptor, 8);
	assert_false(scsicmd_is_unknown_opcode(&sense));
	assert_int_equal(scsicmd_errno(&sense), -EINVAL);
	sense = scsicmd_parse_sense(deferred, 18);
	assert_true(sense.is_valid && sense.is_deferred);
	assert_false(scsicmd_is_recovered(&sense));
	assert_int_equal(scsicmd_errno(&sense), -EIO);
	sense = scsicmd_parse_sense(strange, 18);
	assert_false(sense.is_valid);
	assert_int_equal(scsicmd_errno(&sense), -EIO);
	assert_false(scsicmd_parse_sense(fixed, 7).is_valid);
	assert_false(scsicmd_parse_sense(descriptor, 3).is_valid);
	assert_false(scsicmd_parse_sense(NULL, 0).is_valid);
	/* Cut off before its code: the key still counts. */
	sense = scsicmd_parse_sense(fixed, 13);
	assert_true(sense.is_valid);
	assert_int_equal(sense.code, 0);
}

static void sense_keys_become_errors(void **state)
{
	uint8_t bytes[18] = {0x70, 0, 0, 0, 0, 0, 0, 10};
	struct scsicmd_sense sense;

	(void)state;
	for (unsigned int key = 0; key < 16; key++) {
		bytes[2] = (uint8_t)key;
		sense = scsicmd_parse_sense(bytes, sizeof(bytes));
		assert_int_equal(scsicmd_is_recovered(&sense), key == 1);
		assert_int_equal(scsicmd_is_unit_attention(&sense), key == 6);
		assert_true(scsicmd_errno(&sense) < 0);
	}
	bytes[2] = 7;
	sense = scsicmd_parse_sense(bytes, sizeof(bytes));
	assert_int_equal(scsicmd_errno(&sense), -EROFS);
	bytes[2] = 2;
	bytes[12] = 0x3a;
	sense = scsicmd_parse_sense(bytes, sizeof(bytes));
	assert_int_equal(scsicmd_errno(&sense), -ENOMEDIUM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_carry_64_bit_addresses),
		cmocka_unit_test(short_ones_carry_32_bit_addresses),
		cmocka_unit_test(
			p1_sync_cache_waits_and_takes_the_whole_medium),
		cmocka_unit_test(questions_are_as_the_standards_have_them),
		cmocka_unit_test(inquiry_tells_ata_from_scsi),
		cmocka_unit_test(a_page_is_as_long_as_what_came),
		cmocka_unit_test(capacity_above_two_terabytes),
		cmocka_unit_test(impossible_capacity_is_refused),
		cmocka_unit_test(caching_page_is_found_among_others),
		cmocka_unit_test(caching_page_by_the_short_command),
		cmocka_unit_test(every_cut_of_a_mode_page_is_safe),
		cmocka_unit_test(mode_select_changes_one_bit),
		cmocka_unit_test(sense_of_both_formats),
		cmocka_unit_test(sense_keys_become_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
