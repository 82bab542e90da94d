/* SPDX-License-Identifier: MIT */
/*
 * P9: a label promises its twin only where the labels are known to have been
 * flushed: by a cycle in the log, or by a numbered write. Each mixture of what
 * the two copies can hold, on a drive that is a file; and what the log says
 * while the drive is read.
 */
#include "verifier/verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/acklog.h"
#include "common/format/record.h"
#include "common/target/target.h"
#include "tests/unit/cmocka_all.h"

#define SLOTS       64
#define BLOCK_BYTES 8192
#define ATOMS       (BLOCK_BYTES / RUN_ATOM_BYTES)
#define LIMIT       200 /* numbers that can have been issued */

static struct scene {
	char dir[64], drive[80], log[80];
	struct run run;
	struct record_cipher *cipher;
	struct ackfile *file;
	struct result result;
	struct err err;
	bool has_log;
} scene;

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

enum proof { PROOF_NONE, PROOF_LOG, PROOF_MEDIA };

/* The log holds the run at least, and a cycle where PROOF says so. */
static void begin_log(enum proof proof)
{
	static struct ackbody body;

	unlink(scene.log);
	scene.file = ackfile_create(scene.log, &scene.err);
	assert_non_null(scene.file);
	body = (struct ackbody){.type = ACKBODY_RUN, .run = scene.run};
	say(&body);
	if (proof != PROOF_LOG)
		return;
	body = (struct ackbody){.type = ACKBODY_CYCLE,
				.cycle = {.cycle = 1,
					  .sync_value = 1,
					  .queue_depth = 1,
					  .streams = 1,
					  .first_sequence = {1}}};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_RESERVE, .limit = {0, LIMIT}};
	say(&body);
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

static void fill(void)
{
	static uint8_t bytes[BLOCK_BYTES];

	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		uint64_t at = run_slot_offset(&scene.run, slot);

		record_build_fill(scene.cipher, at, ATOMS, bytes);
		put(bytes, sizeof(bytes), at);
	}
}

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	strcpy(scene.dir, "/tmp/test_labels.XXXXXX");
	if (mkdtemp(scene.dir) == NULL)
		return -1;
	snprintf(scene.drive, sizeof(scene.drive), "%s/drive", scene.dir);
	snprintf(scene.log, sizeof(scene.log), "%s/log", scene.dir);
	describe_run();
	scene.cipher = record_cipher_new(scene.run.id, &scene.err);
	scene.has_log = true;
	fill();
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

enum kind { OWN, BLANK, CLAIM, OTHER, CORRUPT, KINDS };

static void put_kind(enum kind kind, unsigned int copy)
{
	static const uint8_t zeroes[RUN_LABEL_BYTES];
	struct run run = scene.run;

	if (kind == OTHER)
		run.id[3] ^= 5;
	if (kind == CLAIM) {
		run.is_filled = false;
		for (size_t i = 0; i < RUN_ID_BYTES; i++)
			run.id[i] ^= 0xff;
	}
	put_label(&run, copy);
	if (kind == BLANK)
		put(zeroes, sizeof(zeroes), run_label_offset(&scene.run, copy));
	if (kind == CORRUPT)
		put("x", 1, run_label_offset(&scene.run, copy) + 100);
}

static bool is_good(enum kind kind)
{
	return kind == OWN || kind == CLAIM || kind == OTHER;
}

/* Beside the run's own label another one, or the claim, is one that has come
 * back; otherwise the region may have been begun for somebody else. */
static bool is_doubt(enum kind kind, enum kind twin, bool was_labelled)
{
	return twin != OWN &&
	       (kind == OTHER || (kind == CLAIM && !was_labelled));
}

/* What must come of labels FIRST and SECOND. */
static enum answer owes(enum kind first, enum kind second, enum proof proof)
{
	bool was_labelled = scene.has_log && proof == PROOF_LOG;
	bool has_flushed = was_labelled || proof == PROOF_MEDIA;

	if (is_doubt(first, second, was_labelled) ||
	    is_doubt(second, first, was_labelled))
		return ANSWER_NONE;
	if (!scene.has_log && first != OWN && second != OWN)
		return ANSWER_NONE; /* nobody says what run it is */
	if (first == OWN && second == OWN)
		return ANSWER_KEPT;
	return has_flushed ? ANSWER_BROKEN : ANSWER_KEPT;
}

static void check_mixture(enum kind first, enum kind second, enum proof proof)
{
	enum answer answer = ANSWER_NONE;

	put_kind(first, 0);
	put_kind(second, 1);
	if (verify() == 0)
		answer = scene.result.answer;
	if (answer != owes(first, second, proof))
		fail_msg("labels %d and %d, log %d, proof %d: %s", first,
			 second, scene.has_log, proof, scene.result.reason);
	if (answer != ANSWER_BROKEN)
		return;
	assert_int_equal(scene.result.findings.count,
			 (first != OWN) + (second != OWN));
	assert_true(scene.result.findings.kept[0].is_label);
}

static void check_all(enum proof proof)
{
	unsigned int i;

	for (i = 0; i < KINDS * KINDS; i++) {
		enum kind first = (enum kind)(i % KINDS);
		enum kind second = (enum kind)(i / KINDS);
		bool is_told_first =
			is_good(first) && (first != CLAIM || second != OWN);
		enum kind told = is_told_first ? first : second;

		/* Another one would be the run that is verified. */
		if (scene.has_log || told == OWN || !is_good(told))
			check_mixture(first, second, proof);
	}
}

static void p9_a_label_promises_nothing_before_a_cycle(void **state)
{
	(void)state;
	begin_log(PROOF_NONE);
	check_all(PROOF_NONE);
	assert_int_equal(ackfile_close(scene.file, &scene.err), 0);
	begin_log(PROOF_LOG);
	check_all(PROOF_LOG);
}

static void p9_without_a_log_a_numbered_write_promises_labels(void **state)
{
	(void)state;
	begin_log(PROOF_NONE);
	scene.has_log = false;
	check_all(PROOF_NONE);
	put_write(1, 0, 0);
	check_all(PROOF_MEDIA);
}

/* The flush of the labels was swallowed, and the drive has kept what came
 * later: nobody may say that all was kept. */
static void p9_a_lone_claim_beside_writes_does_not_acquit(void **state)
{
	(void)state;
	scene.has_log = false;
	put_kind(CLAIM, 0);
	put_kind(CLAIM, 1);
	assert_int_equal(verify(), 0);
	assert_int_equal(scene.result.answer, ANSWER_KEPT);
	put_write(1, 0, 0);
	put_kind(BLANK, 1);
	assert_int_equal(verify(), 0);
	assert_int_equal(scene.result.answer, ANSWER_NONE);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_a_label_promises_nothing_before_a_cycle),
		ROW(p9_without_a_log_a_numbered_write_promises_labels),
		ROW(p9_a_lone_claim_beside_writes_does_not_acquit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
