/* SPDX-License-Identifier: MIT */
/*
 * ackclient over a real log file: what streams hand over is in the log before
 * it counts (P2), merged into few bodies, in order, and nothing is missing.
 */
#include "writer/ackclient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"
#include "writer/ackring.h"
#include "writer/wstop.h"

#define WAIT_MS 20000
#define FLUSHES 5000

struct scene {
	char dir[64], path[80];
	struct wstop stop;
	struct ackclient *client;
	struct ackclient_before before;
	struct err err;
};

static struct ackbody body; /* too big for the stack of a test */

static void open_client(struct scene *scene, bool is_resume)
{
	const struct ackclient_setup setup = {
		.log_path = scene->path,
		.is_resume = is_resume,
		.timeout_ms = WAIT_MS,
		.stop = &scene->stop,
	};

	scene->client = ackclient_open(&setup, &scene->before, &scene->err);
	assert_non_null(scene->client);
	assert_int_equal(ackclient_start(scene->client, 2, &scene->err), 0);
}

static void say(struct scene *scene, enum ackbody_type type)
{
	body.type = type;
	assert_int_equal(ackclient_say(scene->client, &body, &scene->err), 0);
}

static void begin_log(struct scene *scene)
{
	struct run run = {
		.id = {7},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 64 * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 2,
		.seed = 1,
	};
	const struct ackbody_cycle cycle = {
		.cycle = 1,
		.sync_value = 1,
		.queue_depth = 1,
		.streams = 2,
		.first_sequence = {1, 1},
	};

	body.run = run;
	say(scene, ACKBODY_RUN);
	body.cycle = cycle;
	say(scene, ACKBODY_CYCLE);
}

static int setup_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	strcpy(scene->dir, "/tmp/test_ackclient.XXXXXX");
	if (!mkdtemp(scene->dir))
		return -1;
	(void)snprintf(scene->path, sizeof(scene->path), "%s/log", scene->dir);
	wstop_init(&scene->stop);
	open_client(scene, false);
	begin_log(scene);
	*state = scene;
	return 0;
}

static int teardown_scene(void **state)
{
	struct scene *scene = *state;

	unlink(scene->path);
	rmdir(scene->dir);
	free(scene);
	return 0;
}

static void push(struct ackring *ring, const struct ackring_item *item)
{
	while (!ackring_has_room(ring))
		usleep(100); /* the other thread makes room */
	ackring_push(ring, item);
}

static void push_reserve(struct scene *scene, uint16_t stream, uint64_t last)
{
	const struct ackring_item item = {.type = ACKBODY_RESERVE,
					  .range = {last, last}};

	push(ackclient_ring(scene->client, stream), &item);
}

static void settle(struct scene *scene)
{
	memset(&body.note, 0, sizeof(body.note));
	body.note.event = ACKBODY_EVENT_NOTE;
	say(scene, ACKBODY_EVENT); /* stands behind what was pushed */
	assert_int_equal(ackclient_wait(scene->client, WAIT_MS, &scene->err),
			 0);
}

static void close_client(struct scene *scene)
{
	assert_int_equal(ackclient_close(scene->client, &scene->err), 0);
}

static uint64_t check_told(const struct ackbody_told *told, uint64_t seen)
{
	for (int i = 0; i < told->count; i++) {
		assert_int_equal(told->ranges[i].first, seen + 1);
		seen = told->ranges[i].last;
	}
	return seen;
}

/* Walks over the log: what it promises of STREAM must be 1 ... LAST, each once,
 * below what was reserved before. Returns how many bodies said so. */
static uint64_t check_log(struct scene *scene, uint16_t stream, uint64_t last)
{
	struct ackreader *reader = ackreader_open(scene->path, &scene->err);
	uint64_t reserved = 0, seen = 0, bodies = 0;
	struct ackbody_told told;

	assert_non_null(reader);
	while (ackreader_next(reader, &body, NULL, &scene->err) == 1) {
		if (body.type == ACKBODY_RESERVE && body.limit.stream == stream)
			reserved = body.limit.sequence;
		for (size_t i = 0; ackbody_told_at(&body, i, &told); i++) {
			if (told.stream != stream)
				break;
			bodies += i == 0;
			seen = check_told(&told, seen);
			assert_true(seen <= reserved);
		}
	}
	assert_int_equal(ackreader_torn_bytes(reader), 0);
	ackreader_close(reader);
	assert_int_equal(seen, last);
	return bodies;
}

static void p2_a_reservation_counts_when_it_is_in_the_log(void **state)
{
	struct scene *scene = *state;
	uint64_t reserved = 0;

	push_reserve(scene, 1, 1024);
	for (int i = 0; !reserved; i++) {
		assert_true(i < 20000);
		reserved = ackclient_reserved(scene->client, 1);
		usleep(1000);
	}
	/* Nothing was waited for: what counts must be readable by now. */
	assert_int_equal(reserved, 1024);
	assert_int_equal(ackclient_reserved(scene->client, 0), 0);
	close_client(scene);
	open_client(scene, true);
	assert_true(scene->before.has_run);
	assert_int_equal(scene->before.cycle, 1);
	assert_int_equal(scene->before.reserved[1], 1024);
	close_client(scene);
}

static void p2_everything_handed_over_is_in_the_log_in_order(void **state)
{
	struct scene *scene = *state;

	push_reserve(scene, 0, 2 * FLUSHES);
	push_reserve(scene, 1, 2 * FLUSHES);
	for (uint64_t i = 1; i <= FLUSHES; i++) {
		struct ackring_item item = {
			.type = ACKBODY_DURABLE,
			.flush = i,
			.completed_ns = i,
			.range = {2 * i - 1, 2 * i - 1},
		};

		push(ackclient_ring(scene->client, 0), &item);
		item.range.first = item.range.last = 2 * i;
		push(ackclient_ring(scene->client, 0), &item);
		item.flush = 0; /* FUA: any number of them is one body */
		item.range.first = 2 * i - 1;
		push(ackclient_ring(scene->client, 1), &item);
	}
	settle(scene);
	assert_int_equal(ackclient_confirmed_writes(scene->client),
			 4 * FLUSHES);
	close_client(scene);
	assert_true(check_log(scene, 0, 2 * FLUSHES) <= 2 * FLUSHES);
	assert_true(check_log(scene, 1, 2 * FLUSHES) < FLUSHES);
}

static void p2_ranges_that_do_not_ascend_become_several_bodies(void **state)
{
	static const struct ackbody_range ranges[] = {{5, 6}, {8, 8}, {1, 4}};
	struct scene *scene = *state;
	struct ackreader *reader = NULL;
	uint64_t sum = 0;

	push_reserve(scene, 0, 100);
	for (int i = 0; i < 3; i++) {
		const struct ackring_item item = {.type = ACKBODY_COMPLETED,
						  .range = ranges[i]};

		push(ackclient_ring(scene->client, 0), &item);
	}
	settle(scene);
	close_client(scene);
	reader = ackreader_open(scene->path, &scene->err);
	assert_non_null(reader);
	while (ackreader_next(reader, &body, NULL, &scene->err) == 1)
		for (int i = 0;
		     body.type == ACKBODY_COMPLETED && i < body.ranges.count;
		     i++)
			sum += body.ranges.ranges[i].last -
			       body.ranges.ranges[i].first + 1;
	ackreader_close(reader);
	assert_int_equal(sum, 7);
}

int main(void)
{
#define SCENE_TEST(f) \
	cmocka_unit_test_setup_teardown(f, setup_scene, teardown_scene)
	const struct CMUnitTest tests[] = {
		SCENE_TEST(p2_a_reservation_counts_when_it_is_in_the_log),
		SCENE_TEST(p2_everything_handed_over_is_in_the_log_in_order),
		SCENE_TEST(p2_ranges_that_do_not_ascend_become_several_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
