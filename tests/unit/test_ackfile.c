/* SPDX-License-Identifier: MIT */
/*
 * A log that was cut off anywhere loses its last sentence and nothing else, and
 * what was appended and made durable is found again (P2).
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/bytes.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/ledger.h"
#include "tests/fake/golden_log.h"

static struct golden_log golden;
static struct err err;

/* The system's two calls, of which one fails where the test asks for it. */
int fsync(int fd);
int fdatasync(int fd);
static int failing_sync; /* 1: the next one; 0: none */

int fsync(int fd)
{
	if (failing_sync > 0 && --failing_sync == 0) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return fsync(fd);
}

static int set_up_group(void **state)
{
	(void)state;
	return golden_log_set_up(&golden);
}

static int tear_down_group(void **state)
{
	(void)state;
	return golden_log_tear_down(&golden);
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(golden.path);
	return 0;
}

static void golden_log_says_what_was_put_in_it(void **state)
{
	struct ledger *ledger = ledger_new(&err);
	struct ackfile *file;
	uint64_t repaired_bytes = 1;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = ackfile_resume(golden.path, ledger, &repaired_bytes, &err);
	assert_non_null(file);
	assert_int_equal(repaired_bytes, 0);
	assert_string_equal(ledger_run(ledger)->identity, "ACME SSD 42");
	assert_int_equal(ledger_cycle(ledger)->sync_value, 32);
	assert_int_equal(ledger_state(ledger, 0, 32), LEDGER_DURABLE);
	assert_int_equal(ledger_state(ledger, 0, 33), LEDGER_SHADOW);
	assert_int_equal(ledger_state(ledger, 1, 8), LEDGER_COMPLETED);
	assert_int_equal(ledger_limit(ledger, 0), 60);
	assert_int_equal(ledger_reserved(ledger, 0), 1000);
	assert_int_equal(ackfile_close(file, &err), 0);
	ledger_free(ledger);
}

static void appended_and_durable_is_found_again(void **state)
{
	struct ackfile *file = ackfile_create(golden.path, &err);
	uint64_t repaired_bytes = 1;

	(void)state;
	assert_non_null(file);
	for (size_t i = 0; i < GOLDEN_LOG_FRAMES; i++) {
		const uint8_t *frame = golden.bytes + golden.begins[i];

		assert_int_equal(ackfile_append(file,
						frame + ACKLOG_HEADER_BYTES,
						bytes_get32(frame + 4),
						bytes_get64(frame + 16), &err),
				 0);
	}
	assert_int_equal(ackfile_sync(file, &err), 0);
	assert_int_equal(ackfile_close(file, &err), 0);
	assert_int_equal(golden_log_file_size(&golden), golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_non_null(file);
	assert_int_equal(golden_log_append_note(file, "after", &err), 0);
	assert_int_equal(ackfile_close(file, &err), 0);
	assert_int_equal(golden_log_read(&golden, &err), 0);
	assert_memory_equal(golden.said, golden.payloads, golden.payloads_size);
	assert_true(golden.said_size > golden.payloads_size);
	assert_int_equal(golden.torn_bytes, 0);
}

static void p2_cut_anywhere_loses_no_whole_frame(void **state)
{
	(void)state;
	for (size_t size = 0; size <= golden.size; size++) {
		uint64_t repaired_bytes = 1;
		struct ackfile *file;
		size_t whole = 0;

		while (whole < GOLDEN_LOG_FRAMES &&
		       golden.begins[whole + 1] <= size)
			whole++;
		golden_log_write(&golden, golden.bytes, size);
		assert_int_equal(golden_log_read(&golden, &err), 0);
		assert_int_equal(golden.torn_bytes,
				 size - golden.begins[whole]);
		assert_memory_equal(golden.said, golden.payloads,
				    golden.said_size);
		assert_int_equal(golden.said_size,
				 golden.begins[whole] -
					 whole * ACKLOG_HEADER_BYTES);
		file = golden_log_resume(&golden, &repaired_bytes, &err);
		if (whole == 0) {
			assert_null(file);
			golden_log_expect(&err, "holds no run");
			assert_int_equal(golden_log_file_size(&golden), size);
			continue;
		}
		assert_non_null(file);
		assert_int_equal(repaired_bytes, size - golden.begins[whole]);
		assert_int_equal(golden_log_file_size(&golden),
				 golden.begins[whole]);
		assert_int_equal(golden_log_append_note(file, "on", &err), 0);
		assert_int_equal(ackfile_close(file, &err), 0);
		assert_int_equal(golden_log_read(&golden, &err), 0);
		assert_int_equal(golden.torn_bytes, 0);
	}
}

static void p9_contradictions_are_named_by_frame(void **state)
{
	/* DURABLE of number 61 in stream 0, which stopped at 60 */
	static const uint8_t bad[] = {ACKBODY_DURABLE, 7, 0, 0, 0, 0, 1, 60, 0};
	uint64_t repaired_bytes;
	struct ackfile *file;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_int_equal(ackfile_append(file, bad, sizeof(bad), 1, &err), 0);
	assert_int_equal(ackfile_close(file, &err), 0);
	assert_int_equal(golden_log_read(&golden, &err), 0);
	assert_null(golden_log_resume(&golden, &repaired_bytes, &err));
	golden_log_expect(&err, "frame 4 at byte");
	golden_log_expect(&err, "no verdict");
}

static void two_cannot_append(void **state)
{
	uint64_t repaired_bytes;
	struct ackfile *file;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_non_null(file);
	assert_null(golden_log_resume(&golden, &repaired_bytes, &err));
	golden_log_expect(&err, "another program");
	assert_int_equal(ackfile_close(file, &err), 0);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_non_null(file);
	assert_int_equal(ackfile_close(file, &err), 0);
}

static void wrong_files_are_refused(void **state)
{
	uint64_t repaired_bytes;

	(void)state;
	assert_null(golden_log_resume(&golden, &repaired_bytes, &err));
	golden_log_expect(&err, "No such file");
	assert_null(ackreader_open(golden.path, &err));
	golden_log_write(&golden, golden.bytes, golden.size);
	assert_null(ackfile_create(golden.path, &err));
	golden_log_expect(&err, "File exists");
	assert_int_equal(golden_log_file_size(&golden), golden.size);
	assert_int_equal(unlink(golden.path), 0);
	assert_int_equal(mkfifo(golden.path, 0600), 0);
	assert_null(ackreader_open(golden.path, &err));
	golden_log_expect(&err, "not a regular file");
	assert_null(golden_log_resume(&golden, &repaired_bytes, &err));
	golden_log_expect(&err, "not a regular file");
}

/* A full disk in mid-frame: nothing before it is lost, nothing after it told.
 */
static void p2_failed_append_ends_the_log(void **state)
{
	struct rlimit before, limit;
	uint64_t repaired_bytes;
	struct ackfile *file;
	char first[sizeof(err.text)];

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = golden.size + 35;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(golden_log_append_note(file, "too long", &err), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	golden_log_expect(&err, "cannot append to");
	golden_log_expect(&err, "File too large");
	memcpy(first, err.text, sizeof(first));
	err.text[0] = '\0';
	assert_int_equal(golden_log_append_note(file, "again", &err), -1);
	assert_string_equal(err.text, first);
	assert_int_equal(ackfile_sync(file, &err), -1);
	assert_string_equal(err.text, first);
	assert_int_equal(ackfile_close(file, &err), 0);
	assert_int_equal(golden_log_file_size(&golden), golden.size + 35);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_non_null(file);
	assert_int_equal(repaired_bytes, 35);
	assert_int_equal(ackfile_close(file, &err), 0);
}

static void p2_failed_sync_ends_the_log(void **state)
{
	uint64_t repaired_bytes;
	struct ackfile *file;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_int_equal(golden_log_append_note(file, "one", &err), 0);
	failing_sync = 1;
	assert_int_equal(ackfile_sync(file, &err), -1);
	golden_log_expect(&err, "Input/output error");
	/* a later good sync repairs nothing */
	assert_int_equal(ackfile_sync(file, &err), -1);
	assert_int_equal(golden_log_append_note(file, "two", &err), -1);
	golden_log_expect(&err, "Input/output error");
	assert_int_equal(ackfile_close(file, &err), 0);
}

/* What an earlier program wrote may be in memory only; its name, too. */
static void p2_nothing_is_resumed_before_it_is_durable(void **state)
{
	uint64_t repaired_bytes;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	for (int i = 1; i <= 2; i++) {
		failing_sync = i;
		assert_null(golden_log_resume(&golden, &repaired_bytes, &err));
		golden_log_expect(&err, "Input/output error");
		assert_int_equal(failing_sync, 0);
	}
}

static void p2_a_log_whose_name_is_not_durable_is_not_created(void **state)
{
	(void)state;
	failing_sync = 1;
	assert_null(ackfile_create(golden.path, &err));
	golden_log_expect(&err, "Input/output error");
	assert_int_equal(access(golden.path, F_OK), -1);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(golden_log_says_what_was_put_in_it),
		TEST(appended_and_durable_is_found_again),
		TEST(p2_cut_anywhere_loses_no_whole_frame),
		TEST(p9_contradictions_are_named_by_frame),
		TEST(two_cannot_append),
		TEST(wrong_files_are_refused),
		TEST(p2_failed_append_ends_the_log),
		TEST(p2_failed_sync_ends_the_log),
		TEST(p2_nothing_is_resumed_before_it_is_durable),
		TEST(p2_a_log_whose_name_is_not_durable_is_not_created),
	};

	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
