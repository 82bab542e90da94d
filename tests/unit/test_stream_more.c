/* SPDX-License-Identifier: MIT */
/*
 * A whole stream, on a drive in memory that answers in any order, with a real
 * ack log behind it. The drive keeps its own account of what P1 and P5 allow,
 * by numbers and sets alone, and the log is held against it.
 */
#include "writer/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/target/target.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "writer/ackclient.h"
#include "writer/wstop.h"

#define SLOTS       64
#define BLOCK_BYTES 4096
#define NUMBERS     3000
#define FIRST       101 /* of this cycle */
#define LAST        (FIRST + NUMBERS - 1)
#define RESERVED    (FIRST + 511)
#define FLUSHES     4096
#define WAIT_MS     20000
#define AT_SEQUENCE 32 /* in an atom's header */
#define AT_W        64

enum trouble {
	TROUBLE_NONE,
	TROUBLE_SHORT_WRITE,
	TROUBLE_WRITE_ERROR,
	TROUBLE_FLUSH_ERROR,
	TROUBLE_BEHIND_A_FLUSH, /* in the same look a flush has completed */
};

struct scene {
	char dir[64], path[80];
	struct wstop stop;
	struct ackclient *acks;
	struct run run;
	struct ackbody_cycle cycle;
	struct drive_fake *drive;
	enum trouble trouble;
	uint64_t trouble_at; /* which write or flush, from 1 */
	bool is_unsent;
	struct err err;

	/* The drive's account. */
	struct prng prng;
	uint64_t order[NUMBERS]; /* in which writes completed */
	uint64_t completed, writes, flushes, good_flushes, w;
	uint64_t covers[FLUSHES];
	bool is_durable[LAST + 2];
	bool may_acknowledge[LAST + 2];
	bool is_armed, has_failed;
	const char *broken; /* the first rule that was broken */
};

static void must(struct scene *scene, bool is_so, const char *rule)
{
	if (!is_so && scene->broken == NULL)
		scene->broken = rule;
}

static uint64_t number_of(const struct target_request *request)
{
	const uint8_t *atom = request->buffer.from;

	return bytes_get64(atom + AT_SEQUENCE);
}

static void make_durable(struct scene *scene, uint64_t number, bool is_late)
{
	scene->is_durable[number] = true;
	scene->may_acknowledge[number] |= !is_late;
	while (scene->is_durable[scene->w + 1])
		scene->w++;
}

static void see_submitted(void *context, const struct target_request *request)
{
	struct scene *scene = context;
	const uint8_t *atom = request->buffer.from;
	bool is_fua = scene->cycle.sync == ACKBODY_SYNC_FUA;

	if (request->kind == TARGET_REQUEST_FLUSH) {
		must(scene, scene->cycle.sync == ACKBODY_SYNC_FLUSH_COUNT,
		     "P1: a flush where none was wanted");
		scene->covers[request->tag % FLUSHES] = scene->completed;
		return;
	}
	if (request->kind == TARGET_REQUEST_READ)
		return; /* is the drive still there? */
	must(scene, request->is_fua == is_fua, "P1: FUA as told");
	must(scene, bytes_get64(atom + AT_W) <= scene->w, "P5: W is too high");
	must(scene, !scene->is_unsent || bytes_get64(atom + AT_W) == FIRST - 1,
	     "P9: a promise of what was not sent");
	must(scene, number_of(request) <= ackclient_reserved(scene->acks, 0),
	     "P2: a number that is not reserved");
	must(scene, !scene->has_failed, "P1: a write behind a failure");
}

static int64_t fail_write(struct scene *scene)
{
	scene->is_armed = false;
	scene->trouble_at = 0;
	return scene->trouble == TROUBLE_SHORT_WRITE ? BLOCK_BYTES - 512 : -EIO;
}

static int64_t answer_flush(struct scene *scene)
{
	scene->flushes++;
	if (scene->flushes != scene->trouble_at)
		return DRIVE_FAKE_HONEST;
	if (scene->trouble == TROUBLE_FLUSH_ERROR)
		return -EIO;
	scene->is_armed = scene->trouble == TROUBLE_BEHIND_A_FLUSH;
	return DRIVE_FAKE_HONEST;
}

static int64_t answer(void *context, const struct target_request *request)
{
	struct scene *scene = context;

	if (request->kind == TARGET_REQUEST_READ)
		return DRIVE_FAKE_HONEST;
	if (scene->is_armed && request->kind == TARGET_REQUEST_WRITE)
		return fail_write(scene);
	if (prng_below(&scene->prng, 2) == 0)
		return DRIVE_FAKE_LATER;
	if (request->kind == TARGET_REQUEST_FLUSH)
		return answer_flush(scene);
	scene->writes++;
	if (scene->writes == scene->trouble_at &&
	    (scene->trouble == TROUBLE_SHORT_WRITE ||
	     scene->trouble == TROUBLE_WRITE_ERROR))
		return fail_write(scene);
	return DRIVE_FAKE_HONEST;
}

/* P1, in so many words. */
static void see_reaped(void *context, const struct target_request *request,
		       int64_t result)
{
	struct scene *scene = context;
	uint64_t covers = scene->covers[request->tag % FLUSHES];

	if (request->kind == TARGET_REQUEST_READ)
		return;
	if (result != (int64_t)request->length)
		scene->has_failed = true;
	if (scene->has_failed)
		return;
	if (request->kind == TARGET_REQUEST_FLUSH) {
		scene->good_flushes++; /* P11: behind a failure none counts */
		for (uint64_t i = 0; i < covers; i++)
			make_durable(scene, scene->order[i], scene->is_armed);
		return;
	}
	scene->order[scene->completed++] = number_of(request);
	if (request->is_fua)
		make_durable(scene, number_of(request), false);
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
	body = (struct ackbody){.type = ACKBODY_RESERVE,
				.limit = {0, RESERVED}};
	say(scene, &body);
	assert_int_equal(ackclient_wait(scene->acks, WAIT_MS, &scene->err), 0);
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct drive_fake_hooks hooks = {
		.context = scene,
		.submitted = see_submitted,
		.answer = answer,
		.reaped = see_reaped,
	};

	strcpy(scene->dir, "/tmp/test_stream.XXXXXX");
	if (!mkdtemp(scene->dir))
		return -1;
	(void)snprintf(scene->path, sizeof(scene->path), "%s/log", scene->dir);
	wstop_init(&scene->stop);
	prng_init(&scene->prng, 4711);
	scene->w = FIRST - 1;
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
		.sync_value = 4,
		.queue_depth = 16,
		.streams = 1,
		.first_sequence = {FIRST},
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

static struct stream_counts run_stream(struct scene *scene)
{
	const struct stream_setup setup = {
		.run = &scene->run,
		.cycle = &scene->cycle,
		.target = drive_fake_target(scene->drive),
		.acks = scene->acks,
		.stop = &scene->stop,
		.drain_timeout_ms = 5000,
		.is_unsent = scene->is_unsent,
		.reserved = RESERVED,
		.last_sequence = LAST,
	};
	struct stream *stream = stream_new(&setup, &scene->err);
	struct stream_counts counts;

	assert_non_null(stream);
	assert_int_equal(stream_start(stream, &scene->err), 0);
	stream_join(stream);
	counts = *stream_counts(stream);
	stream_free(stream);
	return counts;
}

static uint64_t check_range(const struct scene *scene,
			    const struct ackbody_range *range)
{
	for (uint64_t n = range->first; n <= range->last; n++)
		if (n > LAST || !scene->may_acknowledge[n])
			fail_msg("number %llu is promised",
				 (unsigned long long)n);
	return range->last - range->first + 1;
}

/* How many writes the log promises; none that the drive did not. */
static uint64_t read_log(struct scene *scene)
{
	struct ackreader *reader = ackreader_open(scene->path, &scene->err);
	static struct ackbody body;
	struct ackbody_told told;
	uint64_t promised = 0;

	assert_non_null(reader);
	while (ackreader_next(reader, &body, NULL, &scene->err) == 1) {
		if (!ackbody_is_durable(&body))
			continue;
		for (size_t i = 0; ackbody_told_at(&body, i, &told); i++)
			for (int k = 0; k < told.count; k++)
				promised += check_range(scene, &told.ranges[k]);
	}
	ackreader_close(reader);
	return promised;
}

static uint64_t play(struct scene *scene, struct stream_counts *counts)
{
	static struct ackbody body = {.type = ACKBODY_END};

	begin_log(scene);
	*counts = run_stream(scene);
	say(scene, &body); /* stands behind what the stream has handed over */
	assert_int_equal(ackclient_wait(scene->acks, WAIT_MS, &scene->err), 0);
	assert_int_equal(ackclient_close(scene->acks, &scene->err), 0);
	if (scene->broken != NULL)
		fail_msg("%s", scene->broken);
	assert_int_equal(counts->flushes, scene->good_flushes);
	return read_log(scene);
}

static void p1_a_flush_promises_what_had_completed_before_it(void **state)
{
	struct scene *scene = *state;
	struct stream_counts counts;

	assert_int_equal(play(scene, &counts), NUMBERS);
	assert_false(wstop_has_failed(&scene->stop));
	assert_int_equal(counts.durable, NUMBERS);
	assert_int_equal(scene->w, LAST);
	assert_true(scene->good_flushes >= NUMBERS / 32);
}

/* The log is told what completed; the drive's own records must not convict. */
static void p9_what_was_not_sent_is_proved_by_no_record(void **state)
{
	struct scene *scene = *state;
	struct stream_counts counts;

	scene->is_unsent = true;
	assert_int_equal(play(scene, &counts), NUMBERS);
}

static void p1_fua_promises_what_has_completed(void **state)
{
	struct scene *scene = *state;
	struct stream_counts counts;

	scene->cycle.sync = ACKBODY_SYNC_FUA;
	scene->cycle.sync_value = 0;
	assert_int_equal(play(scene, &counts), NUMBERS);
	assert_int_equal(counts.flushes, 0);
}

static void p1_without_sync_nothing_is_promised(void **state)
{
	struct scene *scene = *state;
	struct stream_counts counts;

	scene->cycle.sync = ACKBODY_SYNC_NONE;
	scene->cycle.sync_value = 0;
	assert_int_equal(play(scene, &counts), 0);
	assert_int_equal(counts.completed, NUMBERS);
	assert_int_equal(counts.durable, 0);
}

/* Behind TROUBLE the run has ended, and nothing more is promised. */
static void play_trouble(struct scene *scene, enum trouble trouble, uint64_t at,
			 const char *why)
{
	struct stream_counts counts;
	uint64_t promised = 0;
	struct err reason;

	scene->trouble = trouble;
	scene->trouble_at = at;
	promised = play(scene, &counts);
	assert_true(promised > 0 && promised < NUMBERS);
	assert_true(scene->has_failed);
	assert_true(wstop_has_failed(&scene->stop));
	wstop_reason(&scene->stop, &reason);
	assert_non_null(strstr(reason.text, why));
}

static void p1_a_short_write_ends_the_run(void **state)
{
	play_trouble(*state, TROUBLE_SHORT_WRITE, 1000, "short write");
}

static void p1_a_failed_write_ends_the_run(void **state)
{
	play_trouble(*state, TROUBLE_WRITE_ERROR, 1000, "cannot write");
}

static void p1_a_failed_fua_write_ends_the_run(void **state)
{
	struct scene *scene = *state;

	scene->cycle.sync = ACKBODY_SYNC_FUA;
	scene->cycle.sync_value = 0;
	play_trouble(scene, TROUBLE_WRITE_ERROR, 1000, "cannot write");
}

static void p1_a_failed_flush_is_not_repaired_by_a_later_one(void **state)
{
	play_trouble(*state, TROUBLE_FLUSH_ERROR, 40, "cannot flush");
}

static void p2_behind_a_failure_nothing_is_acknowledged(void **state)
{
	play_trouble(*state, TROUBLE_BEHIND_A_FLUSH, 40, "cannot write");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p1_a_flush_promises_what_had_completed_before_it),
		ROW(p9_what_was_not_sent_is_proved_by_no_record),
		ROW(p1_fua_promises_what_has_completed),
		ROW(p1_without_sync_nothing_is_promised),
		ROW(p1_a_short_write_ends_the_run),
		ROW(p1_a_failed_write_ends_the_run),
		ROW(p1_a_failed_fua_write_ends_the_run),
		ROW(p1_a_failed_flush_is_not_repaired_by_a_later_one),
		ROW(p2_behind_a_failure_nothing_is_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
