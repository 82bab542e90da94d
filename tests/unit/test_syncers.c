/* SPDX-License-Identifier: MIT */
/*
 * P2: every log is synced before syncers_run() returns, each result is that of
 * its own file, and slow ones are synced side by side.
 */
#include "collector/syncers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/clock.h"
#include "tests/unit/cmocka_all.h"

#define FILES    40
#define TURNS    20
#define WAIT_MS  5000
#define BAD_FILE 17

int fdatasync(int fd);
static char folder[] = "/tmp/plugpull-syncers.XXXXXX";
static struct ackfile *files[FILES];
static ino_t bad_inode;
static atomic_int syncs, at_once, most_at_once;
static atomic_int pace;
static atomic_bool is_alone; /* company was waited for in vain */

enum { FAST, SLOW, TOGETHER };

/* Until another one is under way; in time there is none where nothing runs
 * side by side. */
static void wait_for_company(void)
{
	uint64_t until_ns = clock_monotonic_ns() + WAIT_MS * CLOCK_NS_PER_MS;

	while (atomic_load(&most_at_once) < 2 && !atomic_load(&is_alone)) {
		clock_sleep_ms(1);
		if (clock_monotonic_ns() > until_ns)
			atomic_store(&is_alone, true);
	}
}

int fdatasync(int fd)
{
	int now = atomic_fetch_add(&at_once, 1) + 1;
	int most = atomic_load(&most_at_once);
	struct stat status;

	while (now > most &&
	       !atomic_compare_exchange_weak(&most_at_once, &most, now))
		;
	atomic_fetch_add(&syncs, 1);
	if (atomic_load(&pace) == SLOW)
		clock_sleep_ms(1);
	if (atomic_load(&pace) == TOGETHER)
		wait_for_company();
	atomic_fetch_sub(&at_once, 1);
	if (fstat(fd, &status) < 0 || status.st_ino != bad_inode)
		return 0;
	errno = EIO;
	return -1;
}

static void path_of(int i, char path[64])
{
	(void)snprintf(path, 64, "%s/%d", folder, i);
}

static int set_up(void **state)
{
	char path[64];
	struct err err;

	bad_inode = 0;
	atomic_store(&pace, FAST);
	if (!mkdtemp(folder))
		return -1;
	for (int i = 0; i < FILES; i++) {
		path_of(i, path);
		files[i] = ackfile_create(path, &err);
		if (!files[i])
			return -1;
	}
	*state = syncers_new(&err);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[64];
	struct err err;

	syncers_free(*state);
	for (int i = 0; i < FILES; i++) {
		path_of(i, path);
		(void)ackfile_close(files[i], &err);
		(void)unlink(path);
	}
	(void)rmdir(folder);
	strcpy(folder, "/tmp/plugpull-syncers.XXXXXX");
	return 0;
}

static void run(struct syncers *syncers, struct syncers_job jobs[FILES],
		size_t count)
{
	int before = atomic_load(&syncs);

	atomic_store(&most_at_once, 0);
	for (size_t i = 0; i < count; i++) {
		jobs[i].file = files[i];
		jobs[i].result = 99;
	}
	syncers_run(syncers, jobs, count);
	assert_int_equal(atomic_load(&syncs) - before, count);
	for (size_t i = 0; i < count; i++)
		assert_int_not_equal(jobs[i].result, 99);
}

static void p2_every_file_is_synced_once_a_turn(void **state)
{
	static struct syncers_job jobs[FILES];

	for (int turn = 0; turn < TURNS; turn++)
		run(*state, jobs, (size_t)turn * FILES / (TURNS - 1));
	for (int i = 0; i < FILES; i++)
		assert_int_equal(jobs[i].result, 0);
}

/* One turn shows that syncing is slow, the next makes use of it. */
static void slow_syncs_run_side_by_side(void **state)
{
	static struct syncers_job jobs[FILES];

	run(*state, jobs, FILES);
	assert_int_equal(atomic_load(&most_at_once), 1);
	atomic_store(&pace, SLOW);
	run(*state, jobs, FILES);
	atomic_store(&pace, TOGETHER);
	run(*state, jobs, FILES);
	assert_true(atomic_load(&most_at_once) >= 2);
	assert_false(atomic_load(&is_alone));
}

static void p2_a_failed_sync_is_that_file_s_alone(void **state)
{
	static struct syncers_job jobs[FILES];
	struct stat status;
	char path[64];

	path_of(BAD_FILE, path);
	assert_int_equal(stat(path, &status), 0);
	atomic_store(&pace, SLOW); /* the other threads get their part */
	for (int turn = 0; turn < TURNS; turn++) {
		/* A dead file is not asked again. */
		bad_inode = turn == 1 ? status.st_ino : 0;
		atomic_store(&most_at_once, 0);
		for (int i = 0; i < FILES; i++)
			jobs[i].file = files[i];
		syncers_run(*state, jobs, FILES);
		for (int i = 0; i < FILES; i++)
			assert_int_equal(jobs[i].result,
					 turn > 0 && i == BAD_FILE ? -1 : 0);
		if (turn > 0)
			assert_non_null(strstr(jobs[BAD_FILE].err.text, path));
	}
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p2_every_file_is_synced_once_a_turn),
		ROW(slow_syncs_run_side_by_side),
		ROW(p2_a_failed_sync_is_that_file_s_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
