/* SPDX-License-Identifier: MIT */
/*
 * A stream that waits for its flushes itself, on a drive in memory: what it
 * promises (P1), when it waits and when not, and what becomes of it where the
 * drive does not answer (P11). An ack log is behind it and is read afterwards.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/target.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "writer/ackclient.h"
#include "writer/stream.h"
#include "writer/wstop.h"

#define SLOTS       64
#define BLOCK_BYTES 4096
#define NUMBERS     200
#define WAIT_MS     20000
#define DRAIN_MS    300
#define SLOW_MS     3
#define HANGS_AT    50 /* this flush, from 1, of those that are waited for */
#define NEVER       UINT64_MAX

struct scene {
	char dir[64], path[80];
	struct wstop stop;
	struct ackclient *acks;
	struct run run;
	struct ackbody_cycle cycle;
	struct drive_fake *drive;
	struct stream *stream;
	struct err err;

	/* The drive's; written by the stream's thread. */
	uint64_t writes, queued, waited;
	uint64_t fails_at, hangs_at, slow_at;
	uint64_t dropped_at; /* the system drops this write's FLUSH, or FUA */
	uint64_t queued_behind_slow;
	bool was_in_flight; /* at a flush that was waited for */
	bool is_open;       /* to a signal, which would break it off */
	unsigned int flying;
	atomic_bool is_hung, is_released;
	uint64_t durable; /* writes that a good flush came behind */

	/* What the log says. */
	uint64_t promised, completed;
};

static void see_submitted(void *context, const struct target_request *request)
{
	struct scene *scene = context;

	if (request->kind == TARGET_REQUEST_READ)
		return; /* is the drive still there? */
	scene->flying++;
	scene->queued += request->kind == TARGET_REQUEST_FLUSH;
}

static void see_reaped(void *context, const struct target_request *request,
		       int64_t result)
{
	struct scene *scene = context;

	(void)result;
	if (request->kind == TARGET_REQUEST_READ)
		return;
	scene->flying--;
	if (request->kind == TARGET_REQUEST_WRITE)
		scene->writes++;
	else
		scene->durable = scene->writes;
	if (scene->writes == scene->dropped_at)
		drive_fake_target(scene->drive)->info.is_write_back = false;
}

static int flush_waiting(void *context)
{
	static uint64_t queued_then;
	struct scene *scene = context;
	sigset_t set;

	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	scene->is_open |= sigismember(&set, SIGTERM) == 0;
	scene->waited++;
	scene->was_in_flight |= scene->flying > 0;
	if (scene->waited == scene->fails_at)
		return -EIO;
	if (scene->waited == scene->slow_at + 1)
		scene->queued_behind_slow = scene->queued - queued_then;
	if (scene->waited == scene->slow_at) {
		queued_then = scene->queued;
		clock_sleep_ms(SLOW_MS);
	}
	if (scene->waited == scene->hangs_at) {
		atomic_store(&scene->is_hung, true);
		while (!atomic_load(&scene->is_released))
			clock_sleep_ms(1);
		return 0;
	}
	scene->durable = scene->writes;
	return 0;
}

static void say(struct scene *scene, const struct ackbody *body)
{
	assert_int_equal(ackclient_say(scene->acks, body, &scene->err), 0);
}

static void begin_log(struct scene *scene)
{
	const struct ackclient_setup setup = {
		.log_path = scene->path,
		.timeout_ms = WAIT_MS,
		.stop = &scene->stop,
	};
	static struct ackbody body;
	struct ackclient_before before;

	scene->acks = ackclient_open(&setup, &before, &scene->err);
	assert_non_null(scene->acks);
	assert_int_equal(ackclient_start(scene->acks, 1, &scene->err), 0);
	body = (struct ackbody){.type = ACKBODY_RUN, .run = scene->run};
	say(scene, &body);
	body = (struct ackbody){.type = ACKBODY_CYCLE, .cycle = scene->cycle};
	say(scene, &body);
	body = (struct ackbody){.type = ACKBODY_RESERVE, .limit = {0, NUMBERS}};
	say(scene, &body);
	assert_int_equal(ackclient_wait(scene->acks, WAIT_MS, &scene->err), 0);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct drive_fake_hooks hooks = {
		.context = scene,
		.submitted = see_submitted,
		.reaped = see_reaped,
		.flush_waiting = flush_waiting,
	};

	strcpy(scene->dir, "/tmp/test_stream.XXXXXX");
	if (!mkdtemp(scene->dir))
		return -1;
	(void)snprintf(scene->path, sizeof(scene->path), "%s/log", scene->dir);
	wstop_init(&scene->stop);
	scene->fails_at = scene->hangs_at = scene->slow_at = NEVER;
	scene->dropped_at = NEVER;
	scene->run = (struct run){
		.id = {7},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.logical_block_bytes = 512,
		.streams = 1,
		.seed = 1,
	};
	scene->cycle = (struct ackbody_cycle){
		.cycle = 1,
		.sync = ACKBODY_SYNC_FLUSH_COUNT,
		.sync_value = 1,
		.queue_depth = 1,
		.streams = 1,
		.first_sequence = {1},
	};
	scene->drive = drive_fake_new(scene->run.size_bytes, 512, &hooks);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	drive_fake_free(scene->drive);
	unlink(scene->path);
	rmdir(scene->dir);
	free(scene);
	return 0;
}

static void start(struct scene *scene)
{
	struct stream_setup setup = {
		.run = &scene->run,
		.cycle = &scene->cycle,
		.target = drive_fake_target(scene->drive),
		.stop = &scene->stop,
		.drain_timeout_ms = DRAIN_MS,
		.reserved = NUMBERS,
		.last_sequence = NUMBERS,
	};

	begin_log(scene);
	setup.acks = scene->acks;
	scene->stream = stream_new(&setup, &scene->err);
	assert_non_null(scene->stream);
	assert_int_equal(stream_start(scene->stream, &scene->err), 0);
}

static struct stream_counts *counts_of(struct scene *scene)
{
	return stream_counts(scene->stream);
}

static void watch_until(struct scene *scene, const atomic_bool *flag)
{
	uint64_t until_ns = clock_monotonic_ns() + WAIT_MS * CLOCK_NS_PER_MS;

	while (!atomic_load(flag)) {
		stream_watch(scene->stream);
		assert_true(clock_monotonic_ns() < until_ns);
		clock_sleep_ms(1);
	}
}

static void watch_for_ms(struct scene *scene, uint64_t ms)
{
	uint64_t until_ns = clock_monotonic_ns() + ms * CLOCK_NS_PER_MS;

	while (clock_monotonic_ns() < until_ns) {
		stream_watch(scene->stream);
		clock_sleep_ms(1);
	}
}

static void add_durable(struct scene *scene, const struct ackbody *body)
{
	struct ackbody_told told;

	for (size_t i = 0; ackbody_told_at(body, i, &told); i++)
		for (int k = 0; k < told.count; k++)
			if (told.ranges[k].last > scene->promised)
				scene->promised = told.ranges[k].last;
}

/* At depth 1 writes complete in order: the last number says them all. */
static void read_log(struct scene *scene)
{
	static struct ackbody body = {.type = ACKBODY_END};
	struct ackreader *reader = NULL;

	say(scene, &body); /* stands behind what the stream has handed over */
	assert_int_equal(ackclient_wait(scene->acks, WAIT_MS, &scene->err), 0);
	assert_int_equal(ackclient_close(scene->acks, &scene->err), 0);
	reader = ackreader_open(scene->path, &scene->err);
	assert_non_null(reader);
	while (ackreader_next(reader, &body, NULL, &scene->err) == 1) {
		if (ackbody_is_durable(&body))
			add_durable(scene, &body);
		else if (body.type == ACKBODY_COMPLETED)
			scene->completed =
				body.ranges.ranges[body.ranges.count - 1].last;
	}
	ackreader_close(reader);
}

static void finish(struct scene *scene)
{
	watch_until(scene, &counts_of(scene)->is_done);
	stream_join(scene->stream);
	read_log(scene);
}

/* The first goes through the queue, and shows that the drive is quick. */
static void p1_every_write_is_promised_behind_its_own_flush(void **state)
{
	struct scene *scene = *state;

	start(scene);
	finish(scene);
	assert_false(wstop_has_failed(&scene->stop));
	assert_int_equal(scene->promised, NUMBERS);
	assert_int_equal(counts_of(scene)->flushes, NUMBERS);
	assert_int_equal(scene->waited + scene->queued, NUMBERS);
	assert_true(scene->waited > 0);
	assert_true(scene->queued > 0);
	assert_false(scene->was_in_flight);
	assert_false(scene->is_open);
	stream_free(scene->stream);
}

/* A thread that waits could not issue the others. */
static void p2_only_a_depth_of_one_waits(void **state)
{
	struct scene *scene = *state;

	scene->cycle.queue_depth = 2;
	start(scene);
	finish(scene);
	assert_int_equal(scene->waited, 0);
	assert_int_equal(scene->promised, NUMBERS);
	stream_free(scene->stream);
}

static void p1_a_failed_flush_that_was_waited_for_ends_the_run(void **state)
{
	struct scene *scene = *state;
	struct err reason;

	scene->fails_at = 20;
	start(scene);
	finish(scene);
	assert_int_equal(scene->waited, 20);
	assert_true(wstop_has_failed(&scene->stop));
	wstop_reason(&scene->stop, &reason);
	assert_non_null(strstr(reason.text, "cannot flush"));
	assert_int_equal(scene->promised, scene->durable);
	assert_int_equal(counts_of(scene)->flushes, scene->durable);
	assert_int_equal(counts_of(scene)->flying, 1);
	stream_free(scene->stream);
}

static void play_dropped(struct scene *scene)
{
	struct err reason;

	scene->dropped_at = 20;
	start(scene);
	finish(scene);
	assert_true(wstop_has_failed(&scene->stop));
	wstop_reason(&scene->stop, &reason);
	assert_non_null(strstr(reason.text, "stopped sending flushes"));
	assert_int_equal(scene->promised, 19);
	stream_free(scene->stream);
}

static void p9_a_flush_that_the_system_drops_promises_nothing(void **state)
{
	play_dropped(*state);
}

static void p9_a_queued_flush_that_is_dropped_promises_nothing(void **state)
{
	struct scene *scene = *state;

	scene->cycle.queue_depth = 2;
	scene->cycle.sync_value = 2;
	scene->dropped_at = 20;
	start(scene);
	finish(scene);
	assert_true(wstop_has_failed(&scene->stop));
	assert_true(scene->promised < 20);
	stream_free(scene->stream);
}

static void p9_fua_that_the_system_drops_promises_nothing(void **state)
{
	struct scene *scene = *state;

	scene->cycle.sync = ACKBODY_SYNC_FUA;
	scene->cycle.sync_value = 0;
	play_dropped(scene);
}

static void a_slow_flush_sends_the_next_through_the_queue(void **state)
{
	struct scene *scene = *state;

	scene->slow_at = 5;
	start(scene);
	finish(scene);
	assert_true(scene->queued_behind_slow > 0);
	assert_int_equal(scene->promised, NUMBERS);
	stream_free(scene->stream);
}

static void hang(struct scene *scene)
{
	scene->hangs_at = HANGS_AT;
	start(scene);
	watch_until(scene, &scene->is_hung);
}

/* What had completed when the drive fell silent is said, though the thread can
 * say nothing; nothing more is promised, and when the answer comes it counts.
 */
static void p1_a_flush_that_hangs_and_comes_back_counts(void **state)
{
	struct scene *scene = *state;

	hang(scene);
	watch_for_ms(scene, 50);
	assert_false(atomic_load(&counts_of(scene)->is_done));
	assert_int_equal(counts_of(scene)->flying, 1);
	assert_int_equal(counts_of(scene)->durable, scene->durable);
	assert_int_equal(scene->writes, scene->durable + 1);
	atomic_store(&scene->is_released, true);
	finish(scene);
	assert_true(scene->completed >= HANGS_AT);
	assert_int_equal(scene->promised, NUMBERS);
	assert_false(wstop_has_failed(&scene->stop));
	stream_free(scene->stream);
}

static void *answer_late(void *argument)
{
	struct scene *scene = argument;

	clock_sleep_ms(100);
	atomic_store(&scene->is_released, true);
	return NULL;
}

/* P11: the stream is told as ended after its time, with a request in flight,
 * and its thread is waited for before the process ends. */
static void p11_a_flush_that_hangs_is_left_and_promises_nothing(void **state)
{
	struct scene *scene = *state;
	uint64_t began_ns, hung;
	pthread_t drive;

	hang(scene);
	hung = scene->writes;
	watch_for_ms(scene, 50);
	(void)err_set(&scene->err, "another stream has lost the drive");
	began_ns = clock_monotonic_ns();
	wstop_fail(&scene->stop, &scene->err, true);
	finish(scene);
	assert_true(clock_monotonic_ns() - began_ns >=
		    DRAIN_MS * CLOCK_NS_PER_MS);
	assert_true(stream_is_abandoned(scene->stream));
	assert_int_equal(counts_of(scene)->flying, 1);
	assert_int_equal(counts_of(scene)->durable, hung - 1);
	assert_int_equal(counts_of(scene)->highest, hung);
	assert_int_equal(scene->promised, hung - 1);
	assert_int_equal(scene->completed, hung);
	stream_free(scene->stream);
	assert_int_equal(pthread_create(&drive, NULL, answer_late, scene), 0);
	stream_await_left();
	assert_true(atomic_load(&scene->is_released));
	assert_int_equal(scene->writes, hung);
	assert_int_equal(pthread_join(drive, NULL), 0);
}

/* It comes back in the time that is left to it, but behind the failure. */
static void p11_a_flush_behind_a_failure_promises_nothing(void **state)
{
	struct scene *scene = *state;
	uint64_t hung;

	hang(scene);
	hung = scene->writes;
	(void)err_set(&scene->err, "the ack log is lost");
	wstop_fail(&scene->stop, &scene->err, false);
	watch_for_ms(scene, 20);
	atomic_store(&scene->is_released, true);
	finish(scene);
	assert_false(stream_is_abandoned(scene->stream));
	assert_int_equal(counts_of(scene)->flying, 0);
	assert_int_equal(counts_of(scene)->flushes, hung - 1);
	assert_int_equal(scene->promised, hung - 1);
	assert_int_equal(scene->writes, hung);
	stream_free(scene->stream);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p1_every_write_is_promised_behind_its_own_flush),
		ROW(p2_only_a_depth_of_one_waits),
		ROW(p1_a_failed_flush_that_was_waited_for_ends_the_run),
		ROW(p9_a_flush_that_the_system_drops_promises_nothing),
		ROW(p9_a_queued_flush_that_is_dropped_promises_nothing),
		ROW(p9_fua_that_the_system_drops_promises_nothing),
		ROW(a_slow_flush_sends_the_next_through_the_queue),
		ROW(p1_a_flush_that_hangs_and_comes_back_counts),
		ROW(p11_a_flush_that_hangs_is_left_and_promises_nothing),
		ROW(p11_a_flush_behind_a_failure_promises_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
