/* SPDX-License-Identifier: MIT */
/*
 * What a run is told between two commits becomes one frame, in the order it was
 * told; nothing of it is lost where other runs speak in between, where the
 * frame is full, or where the client is gone before the commit (P2, P11).
 */
#include "collector/runlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ackfile/ackreader.h"
#include "common/base/err.h"
#include "common/format/acklog.h"
#include "tests/fake/collector_rig.h"
#include "tests/unit/cmocka_all.h"

static char folder[32];
static struct runlog_set *set;

static void say(const char *line)
{
	fail_msg("%s", line);
}

static int set_up(void **state)
{
	struct err err;

	(void)state;
	strcpy(folder, "/tmp/plugpull-runlog.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	set = runlog_set_new(folder, say, &err);
	return set ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	runlog_set_free(set);
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct runlog *claim(uint8_t number, enum ackproto_mode mode)
{
	const struct ackproto_hello hello = {.mode = mode, .run_id = {number}};
	struct err err = {""};
	bool is_busy;
	struct runlog *runlog = runlog_claim(set, &hello, &is_busy, &err);

	assert_string_equal(err.text, "");
	assert_non_null(runlog);
	return runlog;
}

static void tell(struct runlog *runlog, struct rig_payload *payload)
{
	struct err err = {""};

	(void)runlog_append(set, runlog, payload->bytes,
			    (uint32_t)payload->length, &err);
	assert_string_equal(err.text, "");
	payload->length = 0;
}

static struct runlog *begin(uint8_t number)
{
	struct runlog *runlog = claim(number, ACKPROTO_NEW);
	struct rig_payload payload = {0};

	rig_add_run(&payload, number);
	rig_add_cycle(&payload, 1, 1);
	rig_add_reserve(&payload, 100);
	tell(runlog, &payload);
	return runlog;
}

static void promise(struct runlog *runlog, uint64_t first, uint64_t last)
{
	struct rig_payload payload = {0};

	rig_add_durable(&payload, first, last);
	tell(runlog, &payload);
}

/* The log, a letter for each statement; how many frames it has. */
static uint64_t frames_of(uint8_t number, const char *expected)
{
	static const char letters[] = "?RCrDcEIe";
	const uint8_t id[RUN_ID_BYTES] = {number};
	char name[RUN_ID_TEXT_BYTES], path[128], found[64] = "";
	static struct ackbody body;
	struct ackreader *reader;
	struct err err = {""};
	uint64_t frames;

	run_id_text(id, name);
	(void)snprintf(path, sizeof(path), "%s/%s.acklog", folder, name);
	reader = ackreader_open(path, &err);
	assert_string_equal(err.text, "");
	while (ackreader_next(reader, &body, NULL, &err) == 1)
		if (strlen(found) < sizeof(found) - 1)
			found[strlen(found)] = letters[body.type];
	assert_string_equal(err.text, "");
	assert_int_equal(ackreader_torn_bytes(reader), 0);
	frames = ackreader_end(reader).frames;
	ackreader_close(reader);
	if (expected)
		assert_string_equal(found, expected);
	return frames;
}

static void what_comes_between_two_commits_is_one_frame(void **state)
{
	struct runlog *runlog = begin(1);

	(void)state;
	promise(runlog, 1, 5);
	promise(runlog, 6, 9);
	runlog_commit_all(set);
	assert_int_equal(frames_of(1, "RCrDD"), 1);
	promise(runlog, 10, 11);
	runlog_commit_all(set);
	runlog_commit_all(set);
	assert_int_equal(frames_of(1, "RCrDDD"), 2);
	runlog_release(set, runlog, ACKPROTO_NEW);
}

static void p11_frames_keep_the_order_of_arrival(void **state)
{
	struct runlog *one = begin(1), *two = begin(2), *observed;
	struct rig_payload event = {0};

	(void)state;
	runlog_commit_all(set);
	observed = claim(1, ACKPROTO_OBSERVE);
	promise(one, 1, 5);
	promise(two, 1, 7);
	rig_add_event(&event, ACKBODY_EVENT_CUT_ASKED);
	tell(observed, &event);
	promise(one, 6, 9);
	promise(two, 8, 8);
	runlog_commit_all(set);
	assert_int_equal(frames_of(1, "RCrDED"), 3);
	assert_int_equal(frames_of(2, "RCrDD"), 3);
	runlog_release(set, observed, ACKPROTO_OBSERVE);
	runlog_release(set, one, ACKPROTO_NEW);
	runlog_release(set, two, ACKPROTO_NEW);
}

static void a_frame_that_is_full_is_followed_by_another(void **state)
{
	struct runlog *runlog = begin(1);
	struct rig_payload payload = {0};
	uint64_t told = 0;

	(void)state;
	runlog_commit_all(set);
	while (told <= ACKLOG_PAYLOAD_MAX) {
		while (payload.length < ACKPROTO_PAYLOAD_MAX - 100)
			rig_add_durable(&payload, 1, 100);
		told += payload.length;
		tell(runlog, &payload);
	}
	runlog_commit_all(set);
	assert_int_equal(frames_of(1, NULL), 3);
	runlog_release(set, runlog, ACKPROTO_NEW);
}

/* Refused or gone in the same turn: the frame before that is in the log. */
static void p2_a_client_that_leaves_takes_nothing_with_it(void **state)
{
	struct runlog *runlog = begin(1);
	struct rig_payload bad = {0};
	struct err err;

	(void)state;
	promise(runlog, 1, 5);
	rig_add_durable(&bad, 101, 101);
	assert_int_equal(runlog_append(set, runlog, bad.bytes,
				       (uint32_t)bad.length, &err),
			 -1);
	assert_int_equal(frames_of(1, "RCrD"), 1);
	promise(runlog, 6, 9);
	runlog_release(set, runlog, ACKPROTO_NEW);
	assert_int_equal(frames_of(1, "RCrDD"), 2);
	runlog_commit_all(set);
	runlog_release(set, claim(1, ACKPROTO_RESUME), ACKPROTO_RESUME);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(what_comes_between_two_commits_is_one_frame),
		ROW(p11_frames_keep_the_order_of_arrival),
		ROW(a_frame_that_is_full_is_followed_by_another),
		ROW(p2_a_client_that_leaves_takes_nothing_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
