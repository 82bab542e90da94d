/* SPDX-License-Identifier: MIT */
/*
 * guard_check() lets nothing be written over what is not ours. The drives are
 * files; what holds for device nodes is in tests/kernel/target-loop.sh.
 */
#include "tests/unit/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/format/run.h"
#include "common/target/guard.h"
#include "common/target/target.h"
#include "common/target/target_ops.h"

#define MIB        (1024ULL * 1024)
#define FILE_BYTES (16 * MIB)

struct bench {
	char path[64];
	struct target *target;
	struct err err;
};

static int make_bench(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	(void)strcpy(bench->path, "/tmp/plugpull-test-XXXXXX");
	assert_int_not_equal(mkstemp(bench->path), -1);
	assert_int_equal(unlink(bench->path), 0);
	if (target_create_file(bench->path, FILE_BYTES, &bench->err) == -1)
		fail_msg("%s", bench->err.text);
	bench->target = target_open(bench->path, TARGET_WRITE, &bench->err);
	if (bench->target == NULL)
		fail_msg("%s", bench->err.text);
	*state = bench;
	return 0;
}

static int drop_bench(void **state)
{
	struct bench *bench = *state;

	target_close(bench->target);
	(void)unlink(bench->path);
	free(bench);
	return 0;
}

static void put(const struct bench *bench, uint64_t offset, const void *bytes,
		size_t count)
{
	int fd = open(bench->path, O_WRONLY | O_CLOEXEC);

	assert_int_not_equal(fd, -1);
	assert_int_equal(pwrite(fd, bytes, count, (off_t)offset), count);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(close(fd), 0);
}

static void put_label(const struct bench *bench, unsigned int copy,
		      uint64_t offset, uint64_t size)
{
	struct run run = {.id = {1},
			  .offset_bytes = offset,
			  .size_bytes = size,
			  .block_bytes = 4096,
			  .logical_block_bytes = 512,
			  .streams = 1};
	uint8_t label[RUN_LABEL_BYTES];

	assert_int_equal(run_check(&run, &(struct err){0}), 0);
	run_encode_label(&run, label);
	put(bench, run_label_offset(&run, copy), label, sizeof(label));
}

static int check(struct bench *bench, const char *erase)
{
	return guard_check(bench->target, 4 * MIB, 8 * MIB, erase, &bench->err);
}

static void expect_refusal(struct bench *bench, const char *erase,
			   const char *what)
{
	assert_int_equal(check(bench, erase), -1);
	if (strstr(bench->err.text, what) == NULL)
		fail_msg("'%s' does not say '%s'", bench->err.text, what);
}

static void a_new_file_may_be_written(void **state)
{
	struct bench *bench = *state;

	if (check(bench, NULL) == -1)
		fail_msg("%s", bench->err.text);
	assert_int_equal(
		guard_check(bench->target, 0, FILE_BYTES, NULL, &bench->err),
		0);
}

static void data_needs_erase_with_the_right_name(void **state)
{
	struct bench *bench = *state;
	char hint[96];

	put(bench, 5 * MIB, "my thesis", 9);
	expect_refusal(bench, NULL, "it may hold data");
	(void)snprintf(hint, sizeof(hint), "\nhint: ");
	expect_refusal(bench, NULL, hint);
	(void)snprintf(hint, sizeof(hint), "--erase '%s'", bench->path);
	expect_refusal(bench, NULL, hint);
	expect_refusal(bench, "/dev/sda", "'/dev/sda' is not its name");
	assert_int_equal(check(bench, bench->path), 0);
}

static void a_wrong_name_stops_even_where_none_is_needed(void **state)
{
	struct bench *bench = *state;

	expect_refusal(bench, "S4EWNX0R", "is not its name");
}

static void data_outside_of_the_region_is_not_asked_about(void **state)
{
	struct bench *bench = *state;

	put(bench, 1 * MIB, "my thesis", 9);
	assert_int_equal(check(bench, NULL), 0);
	put(bench, 12 * MIB, "my thesis", 9);
	assert_int_equal(check(bench, NULL), 0);
	put(bench, 12 * MIB - 1, "!", 1);
	expect_refusal(bench, NULL, "it may hold data");
}

static void either_label_of_ours_will_do(void **state)
{
	struct bench *bench = *state;

	put_label(bench, 0, 4 * MIB, 8 * MIB);
	assert_int_equal(check(bench, NULL), 0);
	put(bench, 4 * MIB, "damaged", 7);
	expect_refusal(bench, NULL, "it may hold data");
	put_label(bench, 1, 4 * MIB, 8 * MIB);
	assert_int_equal(check(bench, NULL), 0);
}

/* A label speaks for its own region only. */
static void a_label_of_another_region_will_not_do(void **state)
{
	struct bench *bench = *state;

	put_label(bench, 0, 4 * MIB, 8 * MIB - 4096);
	expect_refusal(bench, NULL, "no plugpull run covers");
}

static void a_copied_label_will_not_do(void **state)
{
	struct bench *bench = *state;
	struct run run = {.id = {1},
			  .offset_bytes = 0,
			  .size_bytes = 8 * MIB,
			  .block_bytes = 4096,
			  .logical_block_bytes = 512,
			  .streams = 1};
	uint8_t label[RUN_LABEL_BYTES];

	run_encode_label(&run, label);
	put(bench, 4 * MIB, label, sizeof(label));
	expect_refusal(bench, NULL, "no plugpull run covers");
}

static void put_swap(const struct bench *bench)
{
	static const uint8_t sizes[8] = {1, 0, 0, 0, 0xff, 0x0f, 0, 0};

	put(bench, 1024, sizes, sizeof(sizes));
	put(bench, 1024 + 28, "old swap", 9);
	put(bench, 4096 - 10, "SWAPSPACE2", 10);
}

/* Whatever was confirmed, and although it lies outside of the region. */
static void a_signature_is_refused_by_its_name(void **state)
{
	struct bench *bench = *state;

	put_swap(bench);
	put_label(bench, 0, 4 * MIB, 8 * MIB);
	expect_refusal(bench, bench->path,
		       "it holds a swap signature labelled \"old swap\"");
	expect_refusal(bench, bench->path, "\nhint: ");
	expect_refusal(bench, NULL, "wipefs --all /tmp/plugpull-test-");
}

static void a_partition_table_is_refused_by_its_name(void **state)
{
	static const uint8_t table[66] = {
		0x80, 0, 2, 0, 0x83, 0, 0, 0,           0,
		8,    0, 0, 0, 0x40, 0, 0, [64] = 0x55, [65] = 0xaa};
	struct bench *bench = *state;

	put(bench, 446, table, sizeof(table));
	expect_refusal(bench, bench->path, "it holds a dos partition table");
}

static void a_file_system_is_refused_by_its_name(void **state)
{
	struct bench *bench = *state;
	char command[160];

	(void)snprintf(command, sizeof(command),
		       "PATH=$PATH:/usr/sbin:/sbin mkfs.ext4 -q -F -L backup "
		       "%s >/dev/null 2>&1",
		       bench->path);
	if (system(command) != 0) {
		print_message("there is no mkfs.ext4\n");
		skip();
	}
	expect_refusal(bench, bench->path,
		       "it holds an ext4 file system labelled \"backup\"");
}

static void the_region_must_lie_in_the_drive(void **state)
{
	struct bench *bench = *state;
	static const uint64_t rows[][2] = {{0, FILE_BYTES + 512},
					   {FILE_BYTES, 512},
					   {UINT64_MAX - 511, 1024},
					   {512, UINT64_MAX - 511},
					   {0, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(guard_check(bench->target, rows[i][0],
					     rows[i][1], NULL, &bench->err),
				 -1);
		assert_non_null(strstr(bench->err.text, "it has 16777216"));
	}
	assert_int_equal(
		guard_check(bench->target, 100, 4096, NULL, &bench->err), -1);
	assert_non_null(strstr(bench->err.text, "must be multiples of"));
	assert_int_equal(guard_check(bench->target, 0, 4095, NULL, &bench->err),
			 -1);
}

static void a_locked_file_is_in_use(void **state)
{
	struct bench *bench = *state;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(bench->path, O_RDWR | O_CLOEXEC);

	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	expect_refusal(bench, bench->path, "another program has locked it");
	assert_int_equal(close(fd), 0);
	assert_int_equal(check(bench, bench->path), 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_bench, drop_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_new_file_may_be_written),
		ROW(data_needs_erase_with_the_right_name),
		ROW(a_wrong_name_stops_even_where_none_is_needed),
		ROW(data_outside_of_the_region_is_not_asked_about),
		ROW(either_label_of_ours_will_do),
		ROW(a_label_of_another_region_will_not_do),
		ROW(a_copied_label_will_not_do),
		ROW(a_signature_is_refused_by_its_name),
		ROW(a_partition_table_is_refused_by_its_name),
		ROW(a_file_system_is_refused_by_its_name),
		ROW(the_region_must_lie_in_the_drive),
		ROW(a_locked_file_is_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
