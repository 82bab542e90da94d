/* SPDX-License-Identifier: MIT */
/*
 * P1: what the kernel says of a request reaches whoever waits for it, whatever
 * it is. Its answers are changed here on their way through libaio.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/target.h"

#define FILE_BYTES  (1024U * 1024)
#define BLOCK_BYTES 4096U

static long told; /* 0: the truth */

int io_getevents(io_context_t context, long min_count, long count,
		 struct io_event *events, struct timespec *timeout)
{
	long result = syscall(SYS_io_getevents, context, min_count, count,
			      events, timeout);

	for (long i = 0; told != 0 && i < result; i++)
		events[i].res = (unsigned long)told;
	return result == -1 ? -errno : (int)result;
}

static struct {
	char path[64];
	struct target *target;
	struct target_queue *queue;
	uint8_t *buffer;
	struct err err;
} bench;

static int set_up(void **state)
{
	(void)state;
	told = 0;
	strcpy(bench.path, "/tmp/plugpull-test-XXXXXX");
	close(mkstemp(bench.path));
	unlink(bench.path);
	if (target_create_file(bench.path, FILE_BYTES, &bench.err) == -1)
		fail_msg("%s", bench.err.text);
	bench.target = target_open(bench.path, TARGET_WRITE, &bench.err);
	if (bench.target == NULL)
		fail_msg("%s", bench.err.text);
	bench.queue = target_queue_open(bench.target, 4, &bench.err);
	bench.buffer = target_buffer_new(BLOCK_BYTES, &bench.err);
	return bench.queue == NULL || bench.buffer == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	target_queue_close(bench.queue);
	target_close(bench.target);
	free(bench.buffer);
	unlink(bench.path);
	return 0;
}

static void expect(int64_t result)
{
	struct target_completion done[4];

	assert_int_equal(target_queue_submit(bench.queue), 0);
	assert_int_equal(target_queue_reap(bench.queue, done, 4, 10000), 1);
	assert_true(done[0].result == result);
}

static void write_and_expect(bool is_fua, int64_t result)
{
	target_queue_write(bench.queue, 1, bench.buffer, BLOCK_BYTES, 0,
			   is_fua);
	expect(result);
}

static void p1_a_failed_write_is_told(void **state)
{
	(void)state;
	write_and_expect(false, BLOCK_BYTES);
	told = -EIO;
	write_and_expect(false, -EIO);
	write_and_expect(true, -EIO);
}

static void p1_a_short_write_is_told(void **state)
{
	(void)state;
	told = 512;
	write_and_expect(false, 512);
	write_and_expect(true, 512);
}

static void p1_a_failed_flush_is_told(void **state)
{
	(void)state;
	target_queue_flush(bench.queue, 1);
	expect(0);
	told = -EIO;
	target_queue_flush(bench.queue, 2);
	expect(-EIO);
}

static void p9_a_failed_read_is_told(void **state)
{
	(void)state;
	told = -EIO;
	assert_int_equal(target_read_once(bench.target, bench.buffer,
					  BLOCK_BYTES, 0, 10000),
			 -EIO);
	told = 512;
	assert_int_equal(target_read_once(bench.target, bench.buffer,
					  BLOCK_BYTES, 0, 10000),
			 -ESTALE);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p1_a_failed_write_is_told),
		ROW(p1_a_short_write_is_told),
		ROW(p1_a_failed_flush_is_told),
		ROW(p9_a_failed_read_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
