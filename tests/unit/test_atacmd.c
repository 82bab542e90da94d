/* SPDX-License-Identifier: MIT */
/* ATA PASS-THROUGH(16) as SAT-3 has it, IDENTIFY DEVICE as ACS-3 has it. */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/base/bytes.h"
#include "common/drive/atacmd.h"

static void expect_cdb(const struct scsicmd *command, const char *bytes)
{
	assert_int_equal(command->cdb_bytes, 16);
	assert_memory_equal(command->cdb, bytes, 16);
}

static void commands_are_wrapped_as_sat_has_it(void **state)
{
	struct scsicmd command = atacmd_identify();

	(void)state;
	/* PIO data-in; T_DIR, BYT_BLOK, T_LENGTH = count. */
	expect_cdb(&command, "\x85\x08\x0e\0\0\0\x01\0\0\0\0\0\0\0\xec\0");
	assert_int_equal(command.data_bytes, 512);
	assert_int_equal(command.direction, SCSICMD_FROM_DRIVE);
	command = atacmd_flush(true); /* no data, EXTEND */
	expect_cdb(&command, "\x85\x07\0\0\0\0\0\0\0\0\0\0\0\0\xea\0");
	command = atacmd_flush(false);
	expect_cdb(&command, "\x85\x06\0\0\0\0\0\0\0\0\0\0\0\0\xe7\0");
	assert_int_equal(command.direction, SCSICMD_NO_DATA);
	command = atacmd_set_cache(true);
	expect_cdb(&command, "\x85\x06\0\0\x02\0\0\0\0\0\0\0\0\0\xef\0");
	command = atacmd_set_cache(false);
	expect_cdb(&command, "\x85\x06\0\0\x82\0\0\0\0\0\0\0\0\0\xef\0");
}

static void fua_write_spreads_a_48_bit_address(void **state)
{
	struct scsicmd command =
		atacmd_write_fua(0x123456789abcULL, 0x0102, 0x20400);

	(void)state;
	expect_cdb(&command, "\x85\x0d\x16\0\0\x01\x02\x56\xbc\x34\x9a\x12\x78"
			     "\x40\x3d\0");
	assert_int_equal(command.direction, SCSICMD_TO_DRIVE);
	assert_int_equal(command.data_bytes, 0x20400);
	command = atacmd_write_fua(0, 65536, 1U << 25); /* which is 0000h */
	assert_memory_equal(command.cdb + 5, "\0\0", 2);
}

static void put_word(uint8_t *bytes, unsigned int number, uint16_t value)
{
	bytes_put16(bytes + (size_t)2 * number, value);
}

static void put_text(uint8_t *bytes, unsigned int first, const char *text)
{
	for (size_t i = 0; text[i] != '\0'; i++)
		bytes[2 * first + (i ^ 1)] = (uint8_t)text[i];
}

static void put_drive(uint8_t *bytes)
{
	memset(bytes, 0, ATACMD_IDENTIFY_BYTES);
	put_text(bytes, 10, "     WD-WX11        ");
	put_text(bytes, 23, "80.00A80");
	put_text(bytes, 27, "WDC WD40EZRZ                            ");
	put_word(bytes, 49, 1 << 8);
	bytes_put32(bytes + 120, 0x0fffffff);
	put_word(bytes, 82, 1 << 5);
	put_word(bytes, 83, 0x4000 | 1 << 10 | 1 << 12 | 1 << 13);
	put_word(bytes, 84, 0x4000 | 1 << 6);
	put_word(bytes, 85, 1 << 5);
	put_word(bytes, 87, 0x4000);
	bytes_put64(bytes + 200, 7814037168ULL);
	put_word(bytes, 106, 0x4000 | 1 << 12);
	bytes_put32(bytes + 234, 2048);
	put_word(bytes, 217, 1);
}

static int parse(const uint8_t *bytes, struct atacmd_drive *drive)
{
	return atacmd_parse_identify(bytes, ATACMD_IDENTIFY_BYTES, drive);
}

static void identify_tells_all(void **state)
{
	uint8_t bytes[ATACMD_IDENTIFY_BYTES];
	struct atacmd_drive drive;

	(void)state;
	put_drive(bytes);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_string_equal(drive.serial, "WD-WX11");
	assert_string_equal(drive.model, "WDC WD40EZRZ");
	assert_string_equal(drive.firmware, "80.00A80");
	assert_true(drive.has_cache_word && drive.has_cache);
	assert_true(drive.is_cache_on);
	assert_true(drive.has_flush && drive.has_flush_ext && drive.has_fua);
	assert_true(drive.is_flash);
	assert_int_equal(drive.blocks, 7814037168ULL);
	assert_int_equal(drive.logical_block_bytes, 4096);
	put_word(bytes, 85, 0);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_true(drive.has_cache && !drive.is_cache_on);
}

static void words_without_their_mark_say_nothing(void **state)
{
	uint8_t bytes[ATACMD_IDENTIFY_BYTES];
	struct atacmd_drive drive;

	(void)state;
	put_drive(bytes);
	put_word(bytes, 87, 0xffff);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_false(drive.has_cache_word);
	put_drive(bytes);
	put_word(bytes, 83, 0xffff);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_false(drive.has_cache_word);
	assert_false(drive.has_flush || drive.has_flush_ext || drive.has_fua);
	assert_int_equal(drive.blocks, 0x0fffffff);
	put_drive(bytes);
	put_word(bytes, 84, 0xffff);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_false(drive.has_fua);
	put_drive(bytes);
	put_word(bytes, 106, 0xffff);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_int_equal(drive.logical_block_bytes, 512);
}

static void fua_needs_dma_and_48_bits(void **state)
{
	uint8_t bytes[ATACMD_IDENTIFY_BYTES];
	struct atacmd_drive drive;

	(void)state;
	put_drive(bytes);
	put_word(bytes, 49, 0);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_false(drive.has_fua);
	put_drive(bytes);
	put_word(bytes, 83, 0x4000 | 1 << 12 | 1 << 13);
	assert_int_equal(parse(bytes, &drive), 0);
	assert_false(drive.has_fua || drive.has_flush_ext);
	assert_true(drive.has_flush);
}

static void checksum_is_kept_where_there_is_one(void **state)
{
	uint8_t bytes[ATACMD_IDENTIFY_BYTES];
	struct atacmd_drive drive;
	uint8_t sum = 0;

	(void)state;
	put_drive(bytes);
	bytes[510] = 0xa5;
	for (unsigned int i = 0; i < 511; i++)
		sum = (uint8_t)(sum + bytes[i]);
	bytes[511] = (uint8_t)-sum;
	assert_int_equal(parse(bytes, &drive), 0);
	bytes[2 * 85] ^= 0x20;
	assert_int_equal(parse(bytes, &drive), -1);
}

static void what_is_no_drive_is_refused(void **state)
{
	uint8_t bytes[ATACMD_IDENTIFY_BYTES];
	struct atacmd_drive drive;

	(void)state;
	put_drive(bytes);
	assert_int_equal(atacmd_parse_identify(bytes, 511, &drive), -1);
	put_word(bytes, 0, 0x8580); /* ATAPI */
	assert_int_equal(parse(bytes, &drive), -1);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(parse(bytes, &drive), -1);
	put_drive(bytes);
	memset(bytes + 200, 0xff, 8); /* more than 48 bits */
	assert_int_equal(parse(bytes, &drive), 0);
	assert_int_equal(drive.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_wrapped_as_sat_has_it),
		cmocka_unit_test(fua_write_spreads_a_48_bit_address),
		cmocka_unit_test(identify_tells_all),
		cmocka_unit_test(words_without_their_mark_say_nothing),
		cmocka_unit_test(fua_needs_dma_and_48_bits),
		cmocka_unit_test(checksum_is_kept_where_there_is_one),
		cmocka_unit_test(what_is_no_drive_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
