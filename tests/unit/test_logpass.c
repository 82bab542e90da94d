/* SPDX-License-Identifier: MIT */
/* What the verifier learns from a log file, and when a lost write had been
 * acknowledged. */
#include "verifier/logpass.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "common/format/acklog.h"
#include "common/format/ledger.h"
#include "tests/unit/cmocka_all.h"

#define SLOTS 64
#define MS    1000000U

static struct scene {
	char dir[64], log[80];
	struct ackfile *file;
	struct ledger *ledger;
	struct logpass facts;
	struct findings findings;
	struct tally tally;
	struct logpass_ages ages;
	struct ackbody body;
	struct err err;
} scene;

static void say(void)
{
	static uint8_t payload[ACKLOG_PAYLOAD_MAX];
	size_t used = 0;

	assert_int_equal(
		ackbody_encode(&scene.body, payload, sizeof(payload), &used),
		0);
	assert_int_equal(ackfile_append(scene.file, payload, (uint32_t)used, 1,
					&scene.err),
			 0);
}

static void say_run(void)
{
	scene.body = (struct ackbody){
		.type = ACKBODY_RUN,
		.run = {.id = {4, 2},
			.size_bytes = 2 * RUN_LABEL_AREA_BYTES + SLOTS * 4096,
			.block_bytes = 4096,
			.logical_block_bytes = 4096,
			.streams = 2,
			.is_filled = true}};
	say();
}

static void say_cycle(uint32_t cycle, uint64_t first)
{
	uint16_t stream;

	scene.body =
		(struct ackbody){.type = ACKBODY_CYCLE,
				 .cycle = {.cycle = cycle,
					   .sync_value = 1,
					   .queue_depth = 1,
					   .streams = 2,
					   .first_sequence = {first, first}}};
	say();
	for (stream = 0; stream < 2; stream++) {
		scene.body = (struct ackbody){.type = ACKBODY_RESERVE,
					      .limit = {stream, first + 99}};
		say();
	}
}

/* Flush FLUSH of stream 1 made FIRST ... LAST durable AT_MS. */
static void say_durable(uint64_t flush, uint64_t first, uint64_t last,
			uint64_t at_ms)
{
	scene.body = (struct ackbody){.type = ACKBODY_DURABLE};
	scene.body.ranges.stream = 1;
	scene.body.ranges.flush = flush;
	scene.body.ranges.submitted_ns = at_ms * MS;
	scene.body.ranges.completed_ns = at_ms * MS;
	scene.body.ranges.count = 1;
	scene.body.ranges.ranges[0] = (struct ackbody_range){first, last};
	say();
}

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	strcpy(scene.dir, "/tmp/test_logpass.XXXXXX");
	if (mkdtemp(scene.dir) == NULL)
		return -1;
	snprintf(scene.log, sizeof(scene.log), "%s/log", scene.dir);
	scene.file = ackfile_create(scene.log, &scene.err);
	scene.ledger = ledger_new(&scene.err);
	return scene.file == NULL || scene.ledger == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)ackfile_close(scene.file, &scene.err);
	ledger_free(scene.ledger);
	unlink(scene.log);
	rmdir(scene.dir);
	return 0;
}

static void load(void)
{
	if (logpass_load(scene.log, scene.ledger, &scene.facts, &scene.err) < 0)
		fail_msg("%s", scene.err.text);
}

static void lose(uint64_t sequence)
{
	const struct finding finding = {.class = VERDICT_LOST,
					.stream = 1,
					.offset_bytes = sequence * 4096,
					.expected = sequence};
	uint64_t *oldest = &scene.tally.streams[1].lost_oldest;

	findings_add(&scene.findings, &finding);
	if (*oldest == 0 || sequence < *oldest)
		*oldest = sequence;
}

static void find_ages(void)
{
	findings_sort(&scene.findings);
	scene.ages.findings = &scene.findings;
	scene.ages.tally = &scene.tally;
	if (logpass_find_ages(scene.log, &scene.ages, &scene.err) < 0)
		fail_msg("%s", scene.err.text);
}

static void p4_promises_are_counted_by_stream(void **state)
{
	(void)state;
	say_run();
	say_cycle(1, 1);
	say_durable(1, 1, 10, 5);
	say_durable(2, 12, 15, 6);
	load();
	assert_int_equal(scene.facts.durable[0], 0);
	assert_int_equal(scene.facts.durable[1], 14);
	assert_true(scene.facts.has_cycle);
	assert_int_equal(scene.facts.torn_bytes, 0);
}

/* P9: then not even the fill was promised. */
static void p9_a_log_that_only_began_promises_nothing(void **state)
{
	(void)state;
	say_run();
	load();
	assert_false(scene.facts.has_cycle);
}

static void p6_a_cycle_stands_on_a_filled_region(void **state)
{
	(void)state;
	say_run();
	say_cycle(1, 1);
	load();
	assert_true(scene.facts.has_cycle);
}

static void p9_a_torn_tail_is_told_and_no_damage(void **state)
{
	off_t end;
	int fd;

	(void)state;
	say_run();
	say_cycle(1, 1);
	say_durable(1, 1, 10, 5);
	fd = open(scene.log, O_RDWR | O_CLOEXEC);
	end = lseek(fd, 0, SEEK_END);
	assert_int_equal(ftruncate(fd, end - 3), 0);
	close(fd);
	load();
	assert_true(scene.facts.torn_bytes > 0);
	assert_int_equal(scene.facts.durable[1], 0);
	assert_true(ledger_has_run(scene.ledger));
}

static void p9_an_empty_log_is_no_log(void **state)
{
	(void)state;
	assert_int_equal(
		logpass_load(scene.log, scene.ledger, &scene.facts, &scene.err),
		-1);
	assert_non_null(strstr(scene.err.text, scene.log));
}

static void p4_a_loss_has_the_age_of_its_acknowledgement(void **state)
{
	(void)state;
	say_run();
	say_cycle(1, 1);
	say_durable(1, 1, 10, 5);
	say_cycle(2, 101);
	say_durable(1, 101, 110, 7);
	say_durable(2, 111, 120, 9);
	lose(115);
	lose(10);
	lose(11); /* by the media alone */
	find_ages();
	assert_int_equal(scene.findings.kept[0].expected, 10);
	assert_int_equal(scene.findings.kept[0].cycle, 1);
	assert_int_equal(scene.findings.kept[0].flush, 1);
	assert_int_equal(scene.findings.kept[1].cycle, 0);
	assert_int_equal(scene.findings.kept[2].cycle, 2);
	assert_int_equal(scene.findings.kept[2].flush, 2);
	assert_int_equal(scene.findings.kept[2].flush_index, 3);
	assert_int_equal(scene.findings.kept[2].acknowledged_ns, 9 * MS);
	assert_int_equal(scene.ages.oldest[1].cycle, 1);
	assert_int_equal(scene.ages.last[1].flush_index, 3);
}

static void p11_a_shadow_acknowledgement_has_no_age(void **state)
{
	(void)state;
	say_run();
	say_cycle(1, 1);
	say_durable(1, 1, 10, 5);
	scene.body = (struct ackbody){.type = ACKBODY_EVENT};
	scene.body.note.event = ACKBODY_EVENT_CUT_ASKED;
	say();
	say_durable(2, 11, 20, 7);
	lose(5);
	lose(15);
	find_ages();
	assert_int_equal(scene.findings.kept[0].cycle, 1);
	assert_int_equal(scene.findings.kept[1].cycle, 0);
	assert_int_equal(scene.ages.last[1].flush, 1);
}

/* A log of one cycle, as it was when the drive was about to be read. */
static void load_before(void)
{
	say_run();
	say_cycle(1, 1);
	say_durable(1, 1, 10, 5);
	load();
}

static enum logpass_news look(void)
{
	return logpass_look_again(scene.log, &scene.facts, &scene.err);
}

static void write_raw(const void *bytes, size_t count)
{
	int fd = open(scene.log, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, bytes, count), count);
	assert_int_equal(close(fd), 0);
}

static void p9_a_log_left_alone_is_no_news(void **state)
{
	(void)state;
	load_before();
	assert_int_equal(look(), LOGPASS_NOTHING);
	unlink(scene.log);
	assert_int_equal(look(), LOGPASS_NOTHING);
}

static void p9_a_late_event_is_no_writer(void **state)
{
	static const enum ackbody_event events[] = {
		ACKBODY_EVENT_CUT_SEEN, ACKBODY_EVENT_RESTORED,
		ACKBODY_EVENT_NOTE, ACKBODY_EVENT_ERROR};

	(void)state;
	load_before();
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		scene.body = (struct ackbody){.type = ACKBODY_EVENT};
		scene.body.note.event = events[i];
		say();
		assert_int_equal(look(), LOGPASS_NOTHING);
	}
	scene.body = (struct ackbody){.type = ACKBODY_END};
	say();
	assert_int_equal(look(), LOGPASS_NOTHING);
}

static void p9_unsent_flushes_are_told_whenever_they_are_said(void **state)
{
	(void)state;
	load_before();
	assert_string_equal(scene.facts.unsent, "");
	for (size_t i = 0; i < 2; i++) {
		scene.body = (struct ackbody){.type = ACKBODY_EVENT};
		scene.body.note.event = ACKBODY_EVENT_UNSENT;
		strcpy(scene.body.note.text, i == 0 ? "sdb" : "sdc");
		say();
		assert_int_equal(look(), LOGPASS_UNCLEAR);
	}
	load();
	assert_string_equal(scene.facts.unsent, "sdb"); /* the first */
}

static void say_note(const char *text)
{
	scene.body = (struct ackbody){.type = ACKBODY_EVENT};
	scene.body.note.event = ACKBODY_EVENT_NOTE;
	(void)snprintf(scene.body.note.text, sizeof(scene.body.note.text), "%s",
		       text);
	say();
}

static void what_was_counted_is_told_as_it_was_said_last(void **state)
{
	(void)state;
	load_before();
	assert_string_equal(scene.facts.flush_proof, "");
	say_note("flush proof: sdb 1");
	say_note("flush proof: sdb 2");
	say_note("no flush proof: sdb 3");
	load();
	assert_string_equal(scene.facts.flush_proof, "flush proof: sdb 2");
	assert_string_equal(scene.facts.unsent, "");
}

static void p9_words_about_writes_are_a_writers(void **state)
{
	static const enum ackbody_type types[] = {
		ACKBODY_CYCLE, ACKBODY_RESERVE, ACKBODY_DURABLE,
		ACKBODY_COMPLETED, ACKBODY_ISSUED};

	(void)state;
	load_before();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		scene.body = (struct ackbody){.type = ACKBODY_EVENT};
		scene.body.note.event = ACKBODY_EVENT_NOTE;
		say(); /* in front of it */
		scene.body = (struct ackbody){.type = types[i]};
		if (types[i] == ACKBODY_CYCLE) {
			say_cycle(2, 101);
		} else if (types[i] == ACKBODY_DURABLE ||
			   types[i] == ACKBODY_COMPLETED) {
			scene.body.ranges.count = 1;
			scene.body.ranges.ranges[0] =
				(struct ackbody_range){111, 112};
			say();
		} else {
			scene.body.limit.sequence = 150;
			say();
		}
		assert_int_equal(look(), LOGPASS_WRITER);
		scene.facts = (struct logpass){0};
		ledger_free(scene.ledger);
		scene.ledger = ledger_new(&scene.err);
		load();
		assert_int_equal(look(), LOGPASS_NOTHING);
	}
}

static void p9_what_cannot_be_understood_may_be_a_writers(void **state)
{
	struct stat status;

	(void)state;
	load_before();
	write_raw("PPL1\x09", 5);
	assert_int_equal(look(), LOGPASS_UNCLEAR);
	assert_int_equal(stat(scene.log, &status), 0);
	assert_int_equal(truncate(scene.log, status.st_size - 6), 0);
	assert_int_equal(look(), LOGPASS_UNCLEAR);
}

static void p9_half_a_record_that_was_there_is_no_news(void **state)
{
	(void)state;
	say_run();
	say_cycle(1, 1);
	write_raw("PPL1\x09", 5);
	load();
	assert_int_equal(scene.facts.torn_bytes, 5);
	scene.facts.status.st_mtim.tv_nsec ^= 1; /* somebody touched it */
	assert_int_equal(look(), LOGPASS_NOTHING);
}

static void p9_another_log_in_its_place_is_doubt(void **state)
{
	(void)state;
	load_before();
	scene.facts.status.st_mtim.tv_nsec ^= 1;
	scene.facts.crc ^= 1;
	assert_int_equal(look(), LOGPASS_UNCLEAR);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p4_promises_are_counted_by_stream),
		ROW(p9_a_log_that_only_began_promises_nothing),
		ROW(p6_a_cycle_stands_on_a_filled_region),
		ROW(p9_a_torn_tail_is_told_and_no_damage),
		ROW(p9_an_empty_log_is_no_log),
		ROW(p4_a_loss_has_the_age_of_its_acknowledgement),
		ROW(p11_a_shadow_acknowledgement_has_no_age),
		ROW(p9_a_log_left_alone_is_no_news),
		ROW(p9_a_late_event_is_no_writer),
		ROW(p9_unsent_flushes_are_told_whenever_they_are_said),
		ROW(what_was_counted_is_told_as_it_was_said_last),
		ROW(p9_words_about_writes_are_a_writers),
		ROW(p9_what_cannot_be_understood_may_be_a_writers),
		ROW(p9_half_a_record_that_was_there_is_no_news),
		ROW(p9_another_log_in_its_place_is_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
