/* SPDX-License-Identifier: MIT */
/*
 * The native engine's pool of threads, over a drive that holds its answers
 * back: what is sent when, what is not sent any more, and that nobody waits
 * for a dead drive.
 */
#include "tests/unit/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/drive/driveio.h"
#include "common/target/target.h"
#include "common/target/target_native.h"
#include "tests/fake/passdrive.h"

#define BLOCK_BYTES 4096U
#define WAIT_MS     20000
#define DEPTH_MAX   100U

struct bench {
	struct sysfs_fake *sysfs;
	struct passdrive drive;
	struct target *target;
	uint8_t *buffer;
	int fd;
};

static struct bench bench;

static int setup(void **state)
{
	static struct driveio io; /* big */
	struct err err;
	void *sysfs = NULL;

	(void)state;
	assert_int_equal(sysfs_fake_setup(&sysfs), 0);
	bench.sysfs = sysfs;
	passdrive_init(&bench.drive, PASSDRIVE_SCSI, bench.sysfs);
	bench.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(bench.fd >= 0);
	assert_int_equal(
		driveio_open(&io, bench.fd, "T", &bench.drive.system, &err), 0);
	bench.target = target_native_over(&io);
	assert_non_null(bench.target);
	bench.buffer = target_buffer_new((size_t)DEPTH_MAX * BLOCK_BYTES, &err);
	assert_non_null(bench.buffer);
	bench.drive.commands = bench.drive.flushes = bench.drive.reads = 0;
	bench.drive.under_way = bench.drive.most_under_way = 0;
	return 0;
}

static int teardown(void **state)
{
	void *sysfs = bench.sysfs;

	(void)state;
	target_close(bench.target);
	free(bench.buffer);
	assert_int_equal(close(bench.fd), 0);
	return sysfs_fake_teardown(&sysfs);
}

static struct target_queue *open_queue(unsigned int depth)
{
	struct err err;
	struct target_queue *queue =
		target_queue_open(bench.target, depth, &err);

	assert_non_null(queue);
	return queue;
}

static void write_block(struct target_queue *queue, unsigned int i)
{
	target_queue_write(queue, i, bench.buffer + (size_t)i * BLOCK_BYTES,
			   BLOCK_BYTES, (uint64_t)i * BLOCK_BYTES, false);
}

/* All COUNT of them; results[tag]. */
static void reap_all(struct target_queue *queue, unsigned int count,
		     int64_t *results)
{
	struct target_completion done[8];

	while (count > 0) {
		int got = target_queue_reap(queue, done, 8, WAIT_MS);

		assert_true(got > 0 && (unsigned int)got <= count);
		for (int i = 0; i < got; i++)
			results[done[i].tag] = done[i].result;
		count -= (unsigned int)got;
	}
}

static void what_is_written_is_read_again(void **state)
{
	struct target_queue *queue = open_queue(DEPTH_MAX);
	int64_t results[DEPTH_MAX] = {0};
	uint8_t *seen = bench.buffer + (size_t)50 * BLOCK_BYTES;

	(void)state;
	for (unsigned int i = 0; i < 50; i++) {
		memset(bench.buffer + (size_t)i * BLOCK_BYTES, (int)i + 1,
		       BLOCK_BYTES);
		write_block(queue, i);
	}
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 50, results);
	for (unsigned int i = 0; i < 50; i++)
		target_queue_read(queue, i, seen + (size_t)i * BLOCK_BYTES,
				  BLOCK_BYTES, (uint64_t)i * BLOCK_BYTES);
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 50, results);
	for (unsigned int i = 0; i < 50; i++)
		assert_int_equal(results[i], BLOCK_BYTES);
	assert_memory_equal(seen, bench.buffer, (size_t)50 * BLOCK_BYTES);
	target_queue_close(queue);
}

static void as_many_at_once_as_the_depth(void **state)
{
	struct target_queue *queue = open_queue(8);
	int64_t results[8];

	(void)state;
	passdrive_hold(&bench.drive, true);
	for (unsigned int i = 0; i < 8; i++)
		write_block(queue, i);
	assert_int_equal(target_queue_submit(queue), 0);
	passdrive_await(&bench.drive, 8);
	passdrive_hold(&bench.drive, false);
	reap_all(queue, 8, results);
	assert_int_equal(bench.drive.writes, 8);
	target_queue_close(queue);
}

static void never_more_than_64_at_once(void **state)
{
	struct target_queue *queue = open_queue(DEPTH_MAX);
	int64_t results[DEPTH_MAX];

	(void)state;
	passdrive_hold(&bench.drive, true);
	for (unsigned int i = 0; i < DEPTH_MAX; i++)
		write_block(queue, i);
	assert_int_equal(target_queue_submit(queue), 0);
	passdrive_await(&bench.drive, 64);
	passdrive_hold(&bench.drive, false);
	reap_all(queue, DEPTH_MAX, results);
	assert_int_equal(bench.drive.writes, DEPTH_MAX);
	assert_int_equal(bench.drive.most_under_way, 64);
	target_queue_close(queue);
}

static void p1_after_a_failure_nothing_more_is_sent(void **state)
{
	struct target_queue *queue = open_queue(1);
	struct target_queue *other;
	struct target_completion done;
	int64_t result = 0;

	(void)state;
	bench.drive.scsi_status = 2;
	write_block(queue, 0);
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 1, &result);
	assert_int_equal(result, -EIO);
	bench.drive.scsi_status = 0; /* it is back */
	bench.drive.commands = 0;
	target_queue_flush(queue, 0);
	assert_int_equal(target_queue_submit(queue), 0);
	assert_int_equal(target_queue_reap(queue, &done, 1, WAIT_MS), 1);
	assert_int_equal(done.result, -ECANCELED);
	write_block(queue, 0);
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 1, &result);
	assert_int_equal(result, -ECANCELED);
	assert_int_equal(bench.drive.commands, 0);
	target_queue_read(queue, 0, bench.buffer, BLOCK_BYTES, 0);
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 1, &result);
	assert_int_equal(result, BLOCK_BYTES);
	target_queue_close(queue);
	other = open_queue(1); /* a new one is a new beginning */
	target_queue_flush(other, 0);
	assert_int_equal(target_queue_submit(other), 0);
	reap_all(other, 1, &result);
	assert_int_equal(result, 0);
	target_queue_close(other);
}

static void p1_a_short_write_is_a_failure(void **state)
{
	struct target_queue *queue = open_queue(1);
	int64_t result = 0;

	(void)state;
	bench.drive.left_over = 512;
	write_block(queue, 0);
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 1, &result);
	assert_int_equal(result, BLOCK_BYTES - 512);
	bench.drive.left_over = 0;
	target_queue_flush(queue, 0);
	assert_int_equal(target_queue_submit(queue), 0);
	reap_all(queue, 1, &result);
	assert_int_equal(result, -ECANCELED);
	target_queue_close(queue);
}

static void reaping_ends_with_its_time(void **state)
{
	struct target_queue *queue = open_queue(2);
	struct target_completion done[2];
	int64_t results[2];

	(void)state;
	passdrive_hold(&bench.drive, true);
	write_block(queue, 0);
	write_block(queue, 1);
	assert_int_equal(target_queue_submit(queue), 0);
	assert_int_equal(target_queue_reap(queue, done, 2, 0), 0);
	assert_int_equal(target_queue_reap(queue, done, 2, 30), 0);
	passdrive_hold(&bench.drive, false);
	reap_all(queue, 2, results);
	target_queue_close(queue);
}

static unsigned int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	unsigned int count = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		count++;
	assert_int_equal(closedir(folder), 0);
	return count;
}

/* Its threads end with the command that they are at, and take no other. */
static void p11_closing_waits_for_nobody_and_sends_no_more(void **state)
{
	unsigned int before = count_threads();
	struct target_queue *queue = open_queue(DEPTH_MAX);
	uint64_t deadline_ns;

	(void)state;
	passdrive_hold(&bench.drive, true);
	for (unsigned int i = 0; i < DEPTH_MAX; i++)
		write_block(queue, i);
	assert_int_equal(target_queue_submit(queue), 0);
	passdrive_await(&bench.drive, 64);
	target_queue_close(queue);
	passdrive_hold(&bench.drive, false);
	deadline_ns = clock_monotonic_ns() + WAIT_MS * CLOCK_NS_PER_MS;
	while (count_threads() > before) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		clock_sleep_ms(1);
	}
	(void)pthread_mutex_lock(&bench.drive.lock);
	assert_int_equal(bench.drive.writes, 64);
	(void)pthread_mutex_unlock(&bench.drive.lock);
}

static void native_says_what_it_is(void **state)
{
	const struct target_info *info = target_info(bench.target);

	(void)state;
	assert_true(info->has_flush && info->has_fua && info->is_write_back);
	assert_true(target_is_write_back(bench.target));
	assert_int_equal(info->max_request_bytes, 512 * 1024);
	assert_string_equal(target_describe_engine(bench.target),
			    "SCSI pass-through, SYNCHRONIZE CACHE(16)");
}

static void long_reads_come_in_pieces(void **state)
{
	static uint8_t seen[PASSDRIVE_MEDIA_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(seen); i++)
		bench.drive.media[i] = (uint8_t)(i >> 12);
	assert_int_equal(
		target_read_once(bench.target, seen, sizeof(seen), 0, WAIT_MS),
		0);
	assert_memory_equal(seen, bench.drive.media, sizeof(seen));
	assert_int_equal(bench.drive.reads, 2);
	assert_int_equal(target_read_once(bench.target, seen, 512, 1, WAIT_MS),
			 -EINVAL);
}

static void files_and_exports_are_refused_by_name(void **state)
{
	const char *const names[] = {"/dev/null", "nbd://localhost"};
	struct err err;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_null(target_open_engine(names[i], TARGET_WRITE,
					       TARGET_ENGINE_NATIVE, &err));
		assert_non_null(strstr(err.text, names[i]));
	}
	assert_non_null(strstr(err.text, "--engine native needs"));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(what_is_written_is_read_again),
		ROW(as_many_at_once_as_the_depth),
		ROW(never_more_than_64_at_once),
		ROW(p1_after_a_failure_nothing_more_is_sent),
		ROW(p1_a_short_write_is_a_failure),
		ROW(reaping_ends_with_its_time),
		ROW(p11_closing_waits_for_nobody_and_sends_no_more),
		ROW(native_says_what_it_is),
		ROW(long_reads_come_in_pieces),
		ROW(files_and_exports_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
