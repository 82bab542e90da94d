/* SPDX-License-Identifier: MIT */
/*
 * The libaio engine on a file. libaio's calls are replaced here by ones that
 * look at what passes, or fail as told, and then make the system call.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/target.h"
#include "common/target/target_ops.h"

#define FILE_BYTES  (4U * 1024 * 1024)
#define BLOCK_BYTES 4096U
#define DEPTH       8U

static struct {
	unsigned int calls;
	long limit;             /* accept so many in a call; 0: all */
	unsigned int again;     /* answer so many calls with EAGAIN */
	int fail;               /* then answer with this */
	unsigned int fail_from; /* but let so many calls through first */
	bool is_hung;           /* nothing ever completes */
	unsigned int destroyed;
	unsigned int library_syncs;
	struct iocb seen[DEPTH];
	unsigned int seen_count;
} spy;

int fdatasync(int fd);

/* What is left behind on purpose stays reachable: no leak for a sanitizer. */
static io_context_t *contexts[64];
static unsigned int context_count;

int io_setup(int maxevents, io_context_t *context)
{
	contexts[context_count++ % 64] = context;
	return syscall(SYS_io_setup, maxevents, context) == -1 ? -errno : 0;
}

int io_destroy(io_context_t context)
{
	spy.destroyed++;
	return syscall(SYS_io_destroy, context) == -1 ? -errno : 0;
}

int io_submit(io_context_t context, long count, struct iocb *iocbs[])
{
	long result;

	spy.calls++;
	if (spy.again > 0) {
		spy.again--;
		return -EAGAIN;
	}
	if (spy.fail != 0 && spy.calls > spy.fail_from)
		return spy.fail;
	if (spy.limit > 0 && count > spy.limit)
		count = spy.limit;
	for (long i = 0; i < count && spy.seen_count < DEPTH; i++)
		spy.seen[spy.seen_count++] = *iocbs[i];
	result = syscall(SYS_io_submit, context, count, iocbs);
	return result == -1 ? -errno : (int)result;
}

int io_getevents(io_context_t context, long min_count, long count,
		 struct io_event *events, struct timespec *timeout)
{
	long result;

	if (spy.is_hung)
		return 0;
	result = syscall(SYS_io_getevents, context, min_count, count, events,
			 timeout);
	return result == -1 ? -errno : (int)result;
}

struct bench {
	char path[64];
	struct target *target;
	struct target_queue *queue;
	uint8_t *buffer;
};

static int make_bench(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct err err;

	memset(&spy, 0, sizeof(spy));
	(void)strcpy(bench->path, "/tmp/plugpull-test-XXXXXX");
	assert_int_not_equal(mkstemp(bench->path), -1);
	assert_int_equal(unlink(bench->path), 0);
	if (target_create_file(bench->path, FILE_BYTES, &err) == -1)
		fail_msg("%s", err.text);
	bench->target = target_open(bench->path, TARGET_WRITE, &err);
	if (bench->target == NULL)
		fail_msg("%s", err.text);
	bench->queue = target_queue_open(bench->target, DEPTH, &err);
	bench->buffer = target_buffer_new(DEPTH * BLOCK_BYTES, &err);
	assert_non_null(bench->queue);
	assert_non_null(bench->buffer);
	*state = bench;
	return 0;
}

static int drop_bench(void **state)
{
	struct bench *bench = *state;

	target_queue_close(bench->queue);
	target_close(bench->target);
	free(bench->buffer);
	(void)unlink(bench->path);
	free(bench);
	return 0;
}

static void reap_all(struct target_queue *queue, unsigned int count,
		     int64_t result)
{
	struct target_completion done[DEPTH];

	while (count > 0) {
		int got = target_queue_reap(queue, done, DEPTH, 10000);

		assert_true(got > 0);
		for (int i = 0; i < got; i++)
			assert_int_equal(done[i].result, result);
		count -= (unsigned int)got;
	}
}

static void queue_writes(struct bench *bench, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		target_queue_write(bench->queue, i,
				   bench->buffer + i * BLOCK_BYTES, BLOCK_BYTES,
				   i * BLOCK_BYTES, false);
}

static void what_was_written_is_read(void **state)
{
	struct bench *bench = *state;
	struct target_completion done[DEPTH];
	uint8_t *back = target_buffer_new(BLOCK_BYTES, &(struct err){0});

	memset(bench->buffer, 0xa5, BLOCK_BYTES);
	target_queue_write(bench->queue, 0xfedcba9876543210, bench->buffer,
			   BLOCK_BYTES, 3 * BLOCK_BYTES, false);
	assert_int_equal(target_queue_submit(bench->queue), 0);
	assert_int_equal(target_queue_reap(bench->queue, done, DEPTH, -1), 1);
	assert_true(done[0].tag == 0xfedcba9876543210);
	assert_int_equal(done[0].result, BLOCK_BYTES);

	assert_int_equal(target_read_once(bench->target, back, BLOCK_BYTES,
					  3 * BLOCK_BYTES, 10000),
			 0);
	assert_memory_equal(back, bench->buffer, BLOCK_BYTES);
	free(back);
}

static void nothing_is_sent_before_submit(void **state)
{
	struct bench *bench = *state;
	struct target_completion done[DEPTH];

	queue_writes(bench, 3);
	assert_int_equal(spy.calls, 0);
	assert_int_equal(target_queue_reap(bench->queue, done, DEPTH, 0), 0);
	assert_int_equal(target_queue_submit(bench->queue), 0);
	assert_int_equal(spy.calls, 1);
	reap_all(bench->queue, 3, BLOCK_BYTES);
}

/* Trap: a pwrite with O_DSYNC is followed by a FLUSH that hides a liar. */
static void p1_fua_is_rwf_dsync_on_that_write_alone(void **state)
{
	struct bench *bench = *state;

	target_queue_write(bench->queue, 1, bench->buffer, BLOCK_BYTES, 0,
			   true);
	target_queue_write(bench->queue, 2, bench->buffer, BLOCK_BYTES,
			   BLOCK_BYTES, false);
	assert_int_equal(target_queue_submit(bench->queue), 0);
	reap_all(bench->queue, 2, BLOCK_BYTES);
	assert_int_equal(spy.seen_count, 2);
	assert_int_equal(spy.seen[0].aio_lio_opcode, IO_CMD_PWRITE);
	assert_int_equal(spy.seen[0].aio_rw_flags, RWF_DSYNC);
	assert_int_equal(spy.seen[1].aio_rw_flags, 0);
	assert_int_equal(fcntl(bench->target->fd, F_GETFL) & O_DSYNC, 0);
}

static void p1_flush_is_fdsync_with_nothing_else_set(void **state)
{
	struct bench *bench = *state;

	target_queue_flush(bench->queue, 9);
	assert_int_equal(target_queue_submit(bench->queue), 0);
	reap_all(bench->queue, 1, 0);
	assert_int_equal(spy.seen[0].aio_lio_opcode, IO_CMD_FDSYNC);
	assert_int_equal(spy.seen[0].aio_rw_flags, 0);
	assert_null(spy.seen[0].u.c.buf);
	assert_int_equal(spy.seen[0].u.c.nbytes, 0);
	assert_int_equal(spy.seen[0].u.c.offset, 0);
}

/* As any preload would: what reaches the library's own is no FLUSH. */
int fdatasync(int fd)
{
	(void)fd;
	spy.library_syncs++;
	return 0;
}

static void p1_a_flush_that_is_waited_for_is_a_system_call(void **state)
{
	struct bench *bench = *state;
	int fd = bench->target->fd;

	assert_true(target_can_flush_waiting(bench->target));
	assert_int_equal(target_flush_waiting(bench->target), 0);
	bench->target->fd = -1;
	assert_int_equal(target_flush_waiting(bench->target), -EBADF);
	bench->target->fd = fd;
	assert_int_equal(spy.library_syncs, 0);
	assert_int_equal(spy.seen_count, 0);
}

static void p10_files_are_opened_direct(void **state)
{
	struct bench *bench = *state;

	assert_int_not_equal(fcntl(bench->target->fd, F_GETFL) & O_DIRECT, 0);
	assert_int_not_equal(fcntl(bench->target->fd, F_GETFD) & FD_CLOEXEC, 0);
}

static void a_partial_submission_is_continued(void **state)
{
	struct bench *bench = *state;

	spy.limit = 3;
	queue_writes(bench, DEPTH);
	assert_int_equal(target_queue_submit(bench->queue), 0);
	assert_int_equal(spy.calls, 3);
	reap_all(bench->queue, DEPTH, BLOCK_BYTES);
}

static void a_full_kernel_is_asked_again(void **state)
{
	struct bench *bench = *state;

	spy.again = 5;
	queue_writes(bench, 2);
	assert_int_equal(target_queue_submit(bench->queue), 0);
	assert_int_equal(spy.calls, 6);
	reap_all(bench->queue, 2, BLOCK_BYTES);
}

static void a_kernel_that_stays_full_is_given_up(void **state)
{
	struct bench *bench = *state;

	spy.again = 1000000;
	queue_writes(bench, 1);
	assert_int_equal(target_queue_submit(bench->queue), -EAGAIN);
}

static void p1_a_refused_submission_is_an_error(void **state)
{
	struct bench *bench = *state;

	spy.limit = 1;
	spy.fail = -EIO;
	spy.fail_from = 1;
	queue_writes(bench, 4);
	assert_int_equal(target_queue_submit(bench->queue), -EIO);
	assert_int_equal(bench->queue->in_flight, 1);
	reap_all(bench->queue, 1, BLOCK_BYTES);
}

static void a_hung_drive_is_left_behind(void **state)
{
	struct bench *bench = *state;
	uint8_t *lost = target_buffer_new(BLOCK_BYTES, &(struct err){0});
	static uint8_t *kept; /* the kernel may write to it */

	kept = lost;
	spy.is_hung = true;
	assert_int_equal(
		target_read_once(bench->target, lost, BLOCK_BYTES, 0, 30),
		-ETIMEDOUT);
	assert_int_equal(spy.destroyed, 0);
	spy.is_hung = false;
	assert_int_equal(target_read_once(bench->target, bench->buffer,
					  BLOCK_BYTES, 0, 10000),
			 0);
	assert_non_null(kept);
}

static void p9_a_short_read_is_no_data(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(truncate(bench->path, BLOCK_BYTES), 0);
	assert_int_equal(target_read_once(bench->target, bench->buffer,
					  BLOCK_BYTES, 2 * BLOCK_BYTES, 10000),
			 -ESTALE);
	assert_int_equal(target_read_once(bench->target, bench->buffer,
					  BLOCK_BYTES, FILE_BYTES, 10000),
			 -EINVAL);
}

static void a_file_says_what_it_is(void **state)
{
	struct bench *bench = *state;
	const struct target_info *info = target_info(bench->target);

	assert_true(info->size_bytes == FILE_BYTES);
	assert_true(info->logical_block_bytes >= 512);
	assert_true(info->has_flush && info->has_fua);
	assert_false(info->is_block_device || info->is_nbd);
	assert_memory_equal(info->identity, "file:", 5);
	assert_string_equal(info->erase_name, bench->path);
	assert_false(target_is_gone(bench->target));
}

static void two_writers_do_not_share_a_file(void **state)
{
	struct bench *bench = *state;
	struct err err;

	assert_null(target_open(bench->path, TARGET_WRITE, &err));
	assert_non_null(strstr(err.text, "holds a lock"));
	assert_null(target_open(bench->path, TARGET_READ, &err));
}

static void what_is_no_drive_is_refused(void **state)
{
	struct err err;

	(void)state;
	assert_null(target_open("/tmp", TARGET_READ, &err));
	assert_non_null(strstr(err.text, "neither a block device nor"));
	assert_null(target_open("/nowhere/at/all", TARGET_READ, &err));
	assert_string_equal(err.text, "cannot open /nowhere/at/all for reading:"
				      " No such file or directory");
	assert_null(target_open("", TARGET_READ, &err));
	assert_int_equal(target_create_file("/tmp", 4096, &err), -1);
}

static void an_unaligned_buffer_is_our_own_mistake(void **state)
{
	struct bench *bench = *state;
	int status;
	pid_t child = fork();

	if (child == 0) {
		(void)close(STDERR_FILENO);
		(void)signal(SIGABRT, SIG_DFL);
		target_queue_read(bench->queue, 0, bench->buffer + 512, 512, 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_bench, drop_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(what_was_written_is_read),
		ROW(nothing_is_sent_before_submit),
		ROW(p1_fua_is_rwf_dsync_on_that_write_alone),
		ROW(p1_flush_is_fdsync_with_nothing_else_set),
		ROW(p1_a_flush_that_is_waited_for_is_a_system_call),
		ROW(p10_files_are_opened_direct),
		ROW(a_partial_submission_is_continued),
		ROW(a_full_kernel_is_asked_again),
		ROW(a_kernel_that_stays_full_is_given_up),
		ROW(p1_a_refused_submission_is_an_error),
		ROW(a_hung_drive_is_left_behind),
		ROW(p9_a_short_read_is_no_data),
		ROW(a_file_says_what_it_is),
		ROW(two_writers_do_not_share_a_file),
		cmocka_unit_test(what_is_no_drive_is_refused),
		ROW(an_unaligned_buffer_is_our_own_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
