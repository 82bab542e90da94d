/* SPDX-License-Identifier: MIT */
/*
 * P2: what the ack log does not have on disk does not count, and what it says
 * was durable is what was handed over, no number more.
 */
#include "writer/ackclient.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"
#include "writer/ackring.h"
#include "writer/wstop.h"

#define WAIT_MS 20000

int fdatasync(int fd);
static atomic_bool has_bad_disk;

int fdatasync(int fd)
{
	if (!atomic_load(&has_bad_disk))
		return (int)syscall(SYS_fdatasync, fd);
	errno = EIO;
	return -1;
}

static struct {
	char dir[64], path[80];
	struct wstop stop;
	struct ackclient *client;
	struct err err;
} scene;
static struct ackbody body;

static void say(enum ackbody_type type)
{
	body.type = type;
	assert_int_equal(ackclient_say(scene.client, &body, &scene.err), 0);
}

static void begin_log(void)
{
	body.run = (struct run){
		.id = {7},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 64 * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 1,
	};
	say(ACKBODY_RUN);
	body.cycle = (struct ackbody_cycle){.cycle = 1,
					    .sync_value = 1,
					    .queue_depth = 1,
					    .streams = 1,
					    .first_sequence = {1}};
	say(ACKBODY_CYCLE);
	body.limit = (struct ackbody_limit){0, 100};
	say(ACKBODY_RESERVE);
	assert_int_equal(ackclient_wait(scene.client, WAIT_MS, &scene.err), 0);
}

static int set_up(void **state)
{
	const struct ackclient_setup setup = {
		.log_path = scene.path,
		.timeout_ms = WAIT_MS,
		.stop = &scene.stop,
	};
	struct ackclient_before before;

	(void)state;
	atomic_store(&has_bad_disk, false);
	strcpy(scene.dir, "/tmp/test_ackclient.XXXXXX");
	if (!mkdtemp(scene.dir))
		return -1;
	(void)snprintf(scene.path, sizeof(scene.path), "%s/log", scene.dir);
	wstop_init(&scene.stop);
	scene.client = ackclient_open(&setup, &before, &scene.err);
	assert_non_null(scene.client);
	assert_int_equal(ackclient_start(scene.client, 1, &scene.err), 0);
	begin_log();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(scene.path);
	rmdir(scene.dir);
	return 0;
}

static void push(enum ackbody_type type, uint64_t first, uint64_t last)
{
	const struct ackring_item item = {
		.type = type, .flush = 1, .range = {first, last}};

	ackring_push(ackclient_ring(scene.client, 0), &item);
}

static void p2_what_could_not_be_synced_does_not_count(void **state)
{
	uint64_t until_ns = clock_monotonic_ns() + WAIT_MS * CLOCK_NS_PER_MS;

	(void)state;
	assert_int_equal(ackclient_reserved(scene.client, 0), 100);
	atomic_store(&has_bad_disk, true);
	push(ACKBODY_DURABLE, 1, 5);
	push(ACKBODY_RESERVE, 500, 500);
	while (!wstop_has_failed(&scene.stop) &&
	       ackclient_reserved(scene.client, 0) == 100)
		assert_true(clock_monotonic_ns() < until_ns);
	assert_true(wstop_has_failed(&scene.stop));
	/* A disk that is good again does not repair it. */
	atomic_store(&has_bad_disk, false);
	assert_int_equal(ackclient_wait(scene.client, 100, &scene.err), -1);
	assert_int_equal(ackclient_reserved(scene.client, 0), 100);
	assert_int_equal(ackclient_confirmed_writes(scene.client), 0);
	(void)ackclient_close(scene.client, &scene.err);
}

static void note_told(const struct ackbody_told *told, bool *is_promised)
{
	for (int i = 0; i < told->count; i++)
		for (uint64_t n = told->ranges[i].first;
		     n <= told->ranges[i].last; n++)
			is_promised[n] = true;
}

/* Both a body of its own and a gap within one. */
static void p2_gaps_between_promises_stay_gaps(void **state)
{
	static const struct ackbody_range ranges[] = {
		{1, 1}, {3, 4}, {5, 5}, {7, 9}, {11, 11}};
	struct ackreader *reader = NULL;
	struct ackbody_told told;
	bool is_promised[16] = {false};

	(void)state;
	for (int i = 0; i < 5; i++)
		push(ACKBODY_DURABLE, ranges[i].first, ranges[i].last);
	body.note = (struct ackbody_note){.event = ACKBODY_EVENT_NOTE};
	say(ACKBODY_EVENT); /* stands behind what was pushed */
	assert_int_equal(ackclient_wait(scene.client, WAIT_MS, &scene.err), 0);
	assert_int_equal(ackclient_confirmed_writes(scene.client), 8);
	assert_int_equal(ackclient_close(scene.client, &scene.err), 0);
	reader = ackreader_open(scene.path, &scene.err);
	assert_non_null(reader);
	while (ackreader_next(reader, &body, NULL, &scene.err) == 1)
		for (size_t i = 0; ackbody_told_at(&body, i, &told); i++)
			note_told(&told, is_promised);
	ackreader_close(reader);
	for (uint64_t n = 1; n < 16; n++)
		assert_int_equal(is_promised[n],
				 n != 2 && n != 6 && n != 10 && n <= 11);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p2_what_could_not_be_synced_does_not_count),
		ROW(p2_gaps_between_promises_stay_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
