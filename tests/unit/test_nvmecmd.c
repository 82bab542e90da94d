/* SPDX-License-Identifier: MIT */
/*
 * NVMe commands and answers, number by number as the NVM Express specifications
 * have them (base 2.0, NVM command set 1.0).
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/drive/nvmecmd.h"

static void identify_asks_for_4096_bytes(void **state)
{
	struct nvmecmd command = nvmecmd_identify_controller();

	(void)state;
	assert_true(command.is_admin);
	assert_int_equal(command.opcode, 0x06);
	assert_int_equal(command.cdw10, 0x01);
	assert_int_equal(command.data_bytes, 4096);
	command = nvmecmd_identify_namespace(3);
	assert_true(command.is_admin);
	assert_int_equal(command.opcode, 0x06);
	assert_int_equal(command.nsid, 3);
	assert_int_equal(command.cdw10, 0x00);
}

static void cache_is_feature_6_and_is_not_saved(void **state)
{
	struct nvmecmd command = nvmecmd_get_cache();

	(void)state;
	assert_true(command.is_admin);
	assert_int_equal(command.opcode, 0x0a);
	assert_int_equal(command.cdw10, 0x06);
	assert_int_equal(command.data_bytes, 0);
	command = nvmecmd_set_cache(true);
	assert_true(command.is_admin);
	assert_int_equal(command.opcode, 0x09);
	assert_int_equal(command.cdw10, 0x06); /* SV, bit 31, is 0 */
	assert_int_equal(command.cdw11, 1);
	assert_int_equal(nvmecmd_set_cache(false).cdw11, 0);
	assert_true(nvmecmd_is_cache_on(1));
	assert_false(nvmecmd_is_cache_on(0xfffffffe));
}

static void health_is_log_page_2(void **state)
{
	struct nvmecmd command = nvmecmd_get_health();
	uint8_t bytes[NVMECMD_HEALTH_BYTES] = {0xef};

	(void)state;
	assert_true(command.is_admin);
	assert_int_equal(command.opcode, 0x02);
	assert_int_equal(command.nsid, 0xffffffff);
	assert_int_equal(command.cdw10, 0x007f0002);
	assert_int_equal(command.data_bytes, 512);
	assert_false(nvmecmd_has_failed_backup(bytes, sizeof(bytes)));
	bytes[0] = 0x10;
	assert_true(nvmecmd_has_failed_backup(bytes, sizeof(bytes)));
	assert_false(nvmecmd_has_failed_backup(bytes, sizeof(bytes) - 1));
}

static void fua_is_bit_30_and_blocks_count_from_0(void **state)
{
	struct nvmecmd command =
		nvmecmd_write(2, 0x123456789abcULL, 8, 4096, true);

	(void)state;
	assert_false(command.is_admin);
	assert_int_equal(command.opcode, 0x01);
	assert_int_equal(command.nsid, 2);
	assert_int_equal(command.cdw10, 0x56789abc);
	assert_int_equal(command.cdw11, 0x1234);
	assert_int_equal(command.cdw12, 0x40000007);
	assert_int_equal(command.data_bytes, 4096);
	command = nvmecmd_write(2, 0, 65536, 1U << 25, false);
	assert_int_equal(command.cdw12, 0xffff);
	command = nvmecmd_read(2, 1, 1, 512);
	assert_int_equal(command.opcode, 0x02);
	assert_int_equal(command.cdw12, 0);
}

static void flush_names_its_namespace(void **state)
{
	struct nvmecmd command = nvmecmd_flush(7);

	(void)state;
	assert_false(command.is_admin);
	assert_int_equal(command.opcode, 0x00);
	assert_int_equal(command.nsid, 7);
	assert_int_equal(command.data_bytes, 0);
}

static void controller_tells_who_it_is(void **state)
{
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_controller controller;

	(void)state;
	memcpy(bytes + 4, "S4EWNX0R            ", 20);
	memcpy(bytes + 24, "ACME  Fast 1TB                          ", 40);
	memcpy(bytes + 64, "1.0\x01\xff   ", 8);
	bytes[525] = 0x07;
	bytes_put16(bytes + 528, 7);
	assert_int_equal(
		nvmecmd_parse_controller(bytes, sizeof(bytes), &controller), 0);
	assert_string_equal(controller.serial, "S4EWNX0R");
	assert_string_equal(controller.model, "ACME Fast 1TB");
	assert_string_equal(controller.firmware, "1.0");
	assert_true(controller.has_cache);
	assert_int_equal(controller.atomic_pf_blocks, 8);
	bytes[525] = 0x06; /* how Flush takes namespaces: no cache */
	assert_int_equal(
		nvmecmd_parse_controller(bytes, sizeof(bytes), &controller), 0);
	assert_false(controller.has_cache);
	assert_int_equal(nvmecmd_parse_controller(bytes, 4095, &controller),
			 -1);
}

static int parse(const uint8_t *bytes, struct nvmecmd_namespace *space)
{
	return nvmecmd_parse_namespace(bytes, NVMECMD_IDENTIFY_BYTES, space);
}

static void put_format(uint8_t *bytes, unsigned int format, uint8_t shift)
{
	bytes[128 + 4 * format + 2] = shift;
}

static void namespace_tells_its_blocks(void **state)
{
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_namespace space;

	(void)state;
	bytes_put64(bytes, 0x100000001ULL);
	bytes[25] = 1;
	bytes[26] = 1;
	put_format(bytes, 0, 9);
	put_format(bytes, 1, 12);
	bytes_put16(bytes + 128 + 4, 8);
	assert_int_equal(parse(bytes, &space), 0);
	assert_int_equal(space.blocks, 0x100000001ULL);
	assert_int_equal(space.logical_block_bytes, 4096);
	assert_int_equal(space.metadata_bytes, 8);
	assert_int_equal(space.atomic_pf_blocks, 0);
	assert_int_equal(nvmecmd_parse_namespace(bytes, 4095, &space), -1);
}

static void format_17_needs_the_upper_bits(void **state)
{
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_namespace space;

	(void)state;
	bytes_put64(bytes, 1);
	bytes[25] = 17;
	bytes[26] = 0x21; /* 6:5 are 01, 3:0 are 1: format 17 */
	put_format(bytes, 1, 9);
	put_format(bytes, 17, 12);
	assert_int_equal(parse(bytes, &space), 0);
	assert_int_equal(space.logical_block_bytes, 4096);
}

static void impossible_namespaces_are_refused(void **state)
{
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_namespace space;

	(void)state;
	bytes_put64(bytes, 1);
	put_format(bytes, 0, 9);
	assert_int_equal(parse(bytes, &space), 0);
	put_format(bytes, 0, 8);
	assert_int_equal(parse(bytes, &space), -1);
	put_format(bytes, 0, 17);
	assert_int_equal(parse(bytes, &space), -1);
	put_format(bytes, 0, 255);
	assert_int_equal(parse(bytes, &space), -1);
	put_format(bytes, 0, 9);
	bytes_put64(bytes, UINT64_MAX / 512 + 1);
	assert_int_equal(parse(bytes, &space), -1);
	bytes_put64(bytes, 0);
	assert_int_equal(parse(bytes, &space), -1);
	bytes_put64(bytes, 1);
	bytes[26] = 1; /* a format that it says it does not have */
	put_format(bytes, 1, 9);
	assert_int_equal(parse(bytes, &space), -1);
}

static void p3_boundaries_cut_the_atomic_write_down(void **state)
{
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_namespace space;

	(void)state;
	bytes_put64(bytes, 1000);
	put_format(bytes, 0, 9);
	bytes_put16(bytes + 36, 31); /* not valid without NSFEAT bit 1 */
	assert_int_equal(parse(bytes, &space), 0);
	assert_int_equal(space.atomic_pf_blocks, 0);
	bytes[24] = 0x02;
	assert_int_equal(parse(bytes, &space), 0);
	assert_int_equal(space.atomic_pf_blocks, 32);
	bytes_put16(bytes + 44, 7);
	assert_int_equal(parse(bytes, &space), 0);
	assert_int_equal(space.atomic_pf_blocks, 8);
	bytes_put16(bytes + 42, 3);
	assert_int_equal(parse(bytes, &space), 0);
	assert_int_equal(space.atomic_pf_blocks, 1);
}

static void only_status_0_is_success(void **state)
{
	(void)state;
	assert_int_equal(nvmecmd_errno(0), 0);
	assert_int_equal(nvmecmd_errno(0x4000), 0); /* flags alone */
	assert_int_equal(nvmecmd_errno(0x4001), -EOPNOTSUPP);
	assert_int_equal(nvmecmd_errno(0x2), -EINVAL);
	assert_int_equal(nvmecmd_errno(0xb), -ENODEV);
	assert_int_equal(nvmecmd_errno(0x20), -EROFS);
	for (unsigned int status = 1; status < 0x800; status++)
		assert_true(nvmecmd_errno(status) < 0);
	assert_int_equal(nvmecmd_errno(0x100), -EIO); /* another type's 0 */
	assert_int_equal(nvmecmd_errno(0x371), -EIO); /* path, not a code 71h */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identify_asks_for_4096_bytes),
		cmocka_unit_test(cache_is_feature_6_and_is_not_saved),
		cmocka_unit_test(health_is_log_page_2),
		cmocka_unit_test(fua_is_bit_30_and_blocks_count_from_0),
		cmocka_unit_test(flush_names_its_namespace),
		cmocka_unit_test(controller_tells_who_it_is),
		cmocka_unit_test(namespace_tells_its_blocks),
		cmocka_unit_test(format_17_needs_the_upper_bits),
		cmocka_unit_test(impossible_namespaces_are_refused),
		cmocka_unit_test(p3_boundaries_cut_the_atomic_write_down),
		cmocka_unit_test(only_status_0_is_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
