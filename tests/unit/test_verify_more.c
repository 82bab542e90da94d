/* SPDX-License-Identifier: MIT */
/*
 * The whole verifier on a drive that is a file, with a log beside it: what each
 * of its parts has found out reaches the verdict. Behind the first scan the
 * drive may change its mind.
 */
#include "verifier/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/acklog.h"
#include "common/format/record.h"
#include "common/target/target.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/vreport.h"

#define SLOTS       64
#define BLOCK_BYTES 8192
#define ATOMS       (BLOCK_BYTES / RUN_ATOM_BYTES)
#define DURABLE     64  /* of cycle 1; slot n holds write n + 1 */
#define LIMIT       200 /* numbers that can have been issued */

static struct scene {
	char dir[64], drive[80], log[80];
	struct run run;
	struct record_cipher *cipher;
	struct ackfile *file;
	struct result result;
	struct err err;
	bool has_log;
	void (*change)(void); /* called once, behind the first scan */
} scene;

/* The scan reads the region, which is small, in one piece. */
int io_getevents(io_context_t context, long min_count, long count,
		 struct io_event *events, struct timespec *timeout)
{
	long result = syscall(SYS_io_getevents, context, min_count, count,
			      events, timeout);

	for (long i = 0; i < result; i++) {
		void (*change)(void) = scene.change;

		if (events[i].res != SLOTS * BLOCK_BYTES || change == NULL)
			continue;
		scene.change = NULL;
		change();
	}
	return result == -1 ? -errno : (int)result;
}

static void put(const void *bytes, size_t count, uint64_t offset_bytes)
{
	int fd = open(scene.drive, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, bytes, count, (off_t)offset_bytes), count);
	assert_int_equal(close(fd), 0);
}

/* The atoms from FIRST on of write SEQUENCE, which says W. */
static void put_write(uint64_t sequence, uint64_t w, size_t first)
{
	static uint8_t buffer[BLOCK_BYTES];
	struct record record = {
		.cycle = 1,
		.sequence = sequence,
		.offset_bytes =
			run_slot_offset(&scene.run, (sequence - 1) % SLOTS),
		.atoms = ATOMS,
		.first_sequence = 1,
		.durable_sequence = w,
	};
	size_t skip = first * RUN_ATOM_BYTES;

	memcpy(record.run_id, scene.run.id, RUN_ID_BYTES);
	record_build(scene.cipher, &record, buffer);
	put(buffer + skip, sizeof(buffer) - skip, record.offset_bytes + skip);
}

static void put_label(const struct run *run, unsigned int copy)
{
	uint8_t label[RUN_LABEL_BYTES];

	run_encode_label(run, label);
	put(label, sizeof(label), run_label_offset(&scene.run, copy));
}

static void say(const struct ackbody *body)
{
	static uint8_t payload[ACKLOG_PAYLOAD_MAX];
	size_t used = 0;

	assert_int_equal(ackbody_encode(body, payload, sizeof(payload), &used),
			 0);
	assert_int_equal(ackfile_append(scene.file, payload, (uint32_t)used, 1,
					&scene.err),
			 0);
}

static void say_range(enum ackbody_type type, uint64_t first, uint64_t last)
{
	static struct ackbody body;

	body = (struct ackbody){.type = type};
	body.ranges.count = 1;
	body.ranges.flush = type == ACKBODY_DURABLE;
	body.ranges.ranges[0] = (struct ackbody_range){first, last};
	say(&body);
}

static void begin_log(void)
{
	static struct ackbody body;

	if (scene.file != NULL)
		(void)ackfile_close(scene.file, &scene.err);
	unlink(scene.log);
	scene.file = ackfile_create(scene.log, &scene.err);
	assert_non_null(scene.file);
	body = (struct ackbody){.type = ACKBODY_RUN, .run = scene.run};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_CYCLE,
				.cycle = {.cycle = 1,
					  .sync_value = 1,
					  .queue_depth = 1,
					  .streams = 1,
					  .first_sequence = {1}}};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_RESERVE, .limit = {0, LIMIT}};
	say(&body);
	say_range(ACKBODY_DURABLE, 1, DURABLE);
}

static void describe_run(void)
{
	struct target *target = NULL;

	scene.run = (struct run){
		.id = {5, 5, 5},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.streams = 1,
		.pattern = RUN_PATTERN_SEQUENTIAL,
		.is_filled = true,
	};
	if (target_create_file(scene.drive, scene.run.size_bytes, &scene.err) <
	    0)
		fail_msg("%s", scene.err.text);
	target = target_open(scene.drive, TARGET_READ, &scene.err);
	if (target == NULL)
		fail_msg("%s", scene.err.text);
	scene.run.logical_block_bytes =
		target_info(target)->logical_block_bytes;
	memcpy(scene.run.identity, target_info(target)->identity,
	       strlen(target_info(target)->identity) + 1);
	target_close(target);
}

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	strcpy(scene.dir, "/tmp/test_verify.XXXXXX");
	if (mkdtemp(scene.dir) == NULL)
		return -1;
	snprintf(scene.drive, sizeof(scene.drive), "%s/drive", scene.dir);
	snprintf(scene.log, sizeof(scene.log), "%s/log", scene.dir);
	describe_run();
	scene.cipher = record_cipher_new(scene.run.id, &scene.err);
	put_label(&scene.run, 0);
	put_label(&scene.run, 1);
	for (uint64_t i = 1; i <= DURABLE; i++)
		put_write(i, i - 1, 0);
	begin_log();
	scene.has_log = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)ackfile_close(scene.file, &scene.err);
	record_cipher_free(scene.cipher);
	unlink(scene.log);
	unlink(scene.drive);
	rmdir(scene.dir);
	return 0;
}

static int verify(void)
{
	const struct verify_options options = {
		.target = scene.drive,
		.acklog = scene.has_log ? scene.log : NULL,
		.threads = 1,
		.timeout_ms = 20000,
	};

	memset(&scene.result, 0, sizeof(scene.result));
	return verify_run(&options, &scene.result, &scene.err);
}

static void expect(enum answer answer, int status, const char *reason)
{
	if (verify() < 0)
		fail_msg("%s", scene.err.text);
	if (strstr(scene.result.reason, reason) == NULL)
		fail_msg("%s", scene.result.reason);
	assert_int_equal(scene.result.answer, answer);
	assert_int_equal(scene.result.status, status);
}

static void expect_none(const char *reason)
{
	assert_int_equal(verify(), -1);
	if (strstr(scene.err.text, reason) == NULL)
		fail_msg("%s", scene.err.text);
}

static void p4_kept_is_kept(void **state)
{
	(void)state;
	expect(ANSWER_KEPT, CONCLUDE_NOT_SHOWN, "nothing showed");
	say_range(ACKBODY_COMPLETED, 65, 70);
	expect(ANSWER_KEPT, CONCLUDE_KEPT, "6 completed writes");
	assert_int_equal(scene.result.tally.writes[VERDICT_INTACT], SLOTS);
}

static void p4_lost_is_lost(void **state)
{
	(void)state;
	say_range(ACKBODY_DURABLE, 65, 70);
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN, "6 writes lost");
}

/* The log has not heard of 65 ... 78, but write 80 knows them to be durable. */
static void p5_the_drive_itself_proves_a_promise(void **state)
{
	(void)state;
	put_write(80, 78, 0);
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN, "14 writes lost");
	assert_int_equal(scene.result.durable_log, DURABLE);
	assert_int_equal(scene.result.durable_all, 78);
}

/* Here the proof stands where only a scan comes by. */
static void p5_what_a_scan_proves_is_judged_as_well(void **state)
{
	(void)state;
	put_write(80, 78, ATOMS / 2);
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN, "14 writes lost");
}

static void say_event(enum ackbody_event event)
{
	static struct ackbody body;

	body = (struct ackbody){.type = ACKBODY_EVENT};
	body.note.event = event;
	say(&body);
}

static bool report_says(const char *words)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	bool says;

	assert_non_null(to);
	vreport_print(&scene.result, false, to);
	assert_int_equal(fclose(to), 0);
	says = strstr(text, words) != NULL;
	free(text);
	return says;
}

/* Write 80 may be of a writer that lived on when the power was back. */
static void
p11_the_drives_own_proof_of_a_cut_unseen_convicts_nobody(void **state)
{
	(void)state;
	say_event(ACKBODY_EVENT_CUT_ASKED);
	put_write(80, 78, 0);
	expect(ANSWER_KEPT, CONCLUDE_NOT_SHOWN, "nothing showed");
	assert_int_equal(scene.result.tally.shadow_lost, 14);
	assert_int_equal(scene.result.durable_all, DURABLE);
	assert_true(report_says("gone: 14 writes (convicts nobody)"));
	assert_true(report_says("--send cut-seen"));
}

static void p11_the_drives_own_proof_of_a_cut_seen_convicts(void **state)
{
	(void)state;
	say_event(ACKBODY_EVENT_CUT_ASKED);
	say_event(ACKBODY_EVENT_CUT_SEEN);
	say_event(ACKBODY_EVENT_RESTORED);
	put_write(80, 78, 0);
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN, "14 writes lost");
	assert_false(report_says("--send cut-seen"));
	/* what only the log says stays a shadow */
	put_write(80, 0, 0);
	say_range(ACKBODY_DURABLE, 65, 70);
	expect(ANSWER_KEPT, CONCLUDE_NOT_SHOWN, "");
	assert_int_equal(scene.result.tally.shadow_lost, 6);
}

static void p9_an_impossible_number_is_no_verdict(void **state)
{
	(void)state;
	say_range(ACKBODY_DURABLE, 65, 70); /* lost, but who knows */
	put_write(LIMIT + 56, 1, 0);
	expect(ANSWER_NONE, CONCLUDE_NONE, "cannot have been issued");
}

static void p10_the_label_of_another_run_is_no_verdict(void **state)
{
	struct run other = scene.run;

	(void)state;
	other.id[0]++;
	put_label(&other, 0);
	put_label(&other, 1);
	expect_none("is of run");
}

static void p4_a_lost_label_is_a_finding(void **state)
{
	static const uint8_t zeroes[RUN_LABEL_BYTES];

	(void)state;
	put(zeroes, sizeof(zeroes), run_label_offset(&scene.run, 1));
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN, "blank");
	assert_true(scene.result.findings.kept[0].is_label);
}

static void p9_a_damaged_log_is_no_verdict(void **state)
{
	int fd = open(scene.log, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	(void)state;
	say_range(ACKBODY_COMPLETED, 65, 70);
	assert_int_equal(pread(fd, &byte, 1, 100), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 100), 1);
	assert_int_equal(close(fd), 0);
	expect_none("no verdict");
}

static void p9_a_contradicting_log_is_no_verdict(void **state)
{
	(void)state;
	say_range(ACKBODY_DURABLE, LIMIT, LIMIT + 1);
	say_range(ACKBODY_COMPLETED, 65, 70);
	expect_none("above the limit");
}

static void heal(void)
{
	put_write(6, 5, 0);
}

/* Without a log the region is scanned twice. */
static void p4_a_finding_of_the_first_scan_stays_one(void **state)
{
	static const uint8_t zeroes[BLOCK_BYTES];

	(void)state;
	scene.has_log = false;
	put(zeroes, sizeof(zeroes), run_slot_offset(&scene.run, 5));
	scene.change = heal;
	expect(ANSWER_BROKEN, CONCLUDE_BROKEN, "1 write blank");
	assert_null(scene.change);
}

static void note_late(void)
{
	say_event(ACKBODY_EVENT_NOTE);
}

static void reserve_more(void)
{
	static struct ackbody body;

	body = (struct ackbody){.type = ACKBODY_RESERVE,
				.limit = {0, LIMIT + 1}};
	say(&body);
}

static void p9_a_writers_word_meanwhile_is_no_verdict(void **state)
{
	(void)state;
	scene.change = note_late;
	expect(ANSWER_KEPT, CONCLUDE_NOT_SHOWN, "");
	assert_null(scene.change);
	scene.change = reserve_more;
	expect(ANSWER_NONE, CONCLUDE_NONE, "still at work");
	scene.change = begin_log;
	expect(ANSWER_NONE, CONCLUDE_NONE, "log changed while");
}

static void go_on(void)
{
	put_write(70, 1, 0); /* could have been issued, but when? */
}

static void p9_an_answer_that_changed_does_not_acquit(void **state)
{
	(void)state;
	scene.has_log = false;
	expect(ANSWER_KEPT, CONCLUDE_NOT_SHOWN, "");
	scene.change = go_on;
	expect(ANSWER_NONE, CONCLUDE_NONE, "changed between two reads");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p4_kept_is_kept),
		ROW(p4_lost_is_lost),
		ROW(p5_the_drive_itself_proves_a_promise),
		ROW(p5_what_a_scan_proves_is_judged_as_well),
		ROW(p11_the_drives_own_proof_of_a_cut_unseen_convicts_nobody),
		ROW(p11_the_drives_own_proof_of_a_cut_seen_convicts),
		ROW(p9_a_writers_word_meanwhile_is_no_verdict),
		ROW(p9_an_impossible_number_is_no_verdict),
		ROW(p10_the_label_of_another_run_is_no_verdict),
		ROW(p4_a_lost_label_is_a_finding),
		ROW(p9_a_damaged_log_is_no_verdict),
		ROW(p9_a_contradicting_log_is_no_verdict),
		ROW(p4_a_finding_of_the_first_scan_stays_one),
		ROW(p9_an_answer_that_changed_does_not_acquit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
