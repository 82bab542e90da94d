/* SPDX-License-Identifier: MIT */
/* Lines of a kernel trace, as kernels 6.12 and 6.18 print them. */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/target/traceline.h"

#define HEAD "    kworker/0:1H-44      [000] d..1. 43654.103828: "

static struct traceline parse(const char *text)
{
	struct traceline line;

	memset(&line, 0xff, sizeof(line));
	traceline_parse(text, &line);
	return line;
}

static void expect(const char *text, enum traceline_kind kind,
		   enum traceline_what what)
{
	struct traceline line = parse(text);

	assert_int_equal(line.kind, kind);
	if (kind != TRACELINE_OTHER) {
		assert_int_equal(line.what, what);
		assert_int_equal(line.at_ns, 43654103828000);
	}
}

static void a_flush_and_its_end(void **state)
{
	(void)state;
	expect(HEAD "block_rq_issue: 259,0 FF 0 () 0 + 0 none,0,0 [kworker]",
	       TRACELINE_ISSUED, TRACELINE_FLUSH);
	expect(HEAD "block_rq_issue: 259,0 FF 0 () 0 + 0", TRACELINE_ISSUED,
	       TRACELINE_FLUSH);
	expect(HEAD "block_rq_complete: 7,0 FF () 18446744073709551615 + 0 "
		    "none,0,0 [0]",
	       TRACELINE_COMPLETED, TRACELINE_FLUSH);
	expect(HEAD "block_rq_requeue: 7,0 FF () 18446744073709551615 + 0 "
		    "none,0,0 [0]",
	       TRACELINE_REPEATED, TRACELINE_FLUSH);
	assert_int_equal(parse(HEAD "block_rq_complete: 7,0 FF () 0 + 0 "
				    "none,0,0 [-5]")
				 .error,
			 -5);
	assert_int_equal(parse(HEAD "block_rq_complete: 7,0 FF () 0 + 0 "
				    "none,0,0 [0]")
				 .error,
			 0);
}

/* F before W is a preflush, which is not seen at issue; behind W it is FUA. */
static void fua_is_the_f_behind_w(void **state)
{
	(void)state;
	expect(HEAD "block_rq_issue: 259,0 WFS 4096 () 16 + 8 none,0,0 [w]",
	       TRACELINE_ISSUED, TRACELINE_FUA);
	expect(HEAD "block_rq_complete: 259,0 FWFS () 16 + 8 none,0,0 [0]",
	       TRACELINE_COMPLETED, TRACELINE_FUA);
	expect(HEAD "block_rq_issue: 259,0 FWS 4096 () 16 + 8 none,0,0 [w]",
	       TRACELINE_OTHER, TRACELINE_ELSE);
	expect(HEAD "block_rq_issue: 259,0 WS 4096 () 16 + 8 none,0,0 [F]",
	       TRACELINE_OTHER, TRACELINE_ELSE);
	expect(HEAD "block_rq_issue: 259,0 W 4096 () 16 + 8 none,0,0 [F]",
	       TRACELINE_OTHER, TRACELINE_ELSE);
	expect(HEAD "block_rq_issue: 259,0 R 4096 () 16 + 8 none,0,0 [F]",
	       TRACELINE_OTHER, TRACELINE_ELSE);
}

static void a_driver_s_own_commands(void **state)
{
	(void)state;
	expect(HEAD "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=4112, "
		    "nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_flush nsid=1)",
	       TRACELINE_COMMAND, TRACELINE_FLUSH);
	expect(HEAD "nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=4112, "
		    "nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=40, "
		    "len=7, ctrl=0x4000, dsmgmt=0, reftag=0)",
	       TRACELINE_OTHER, TRACELINE_ELSE);
	expect(HEAD "nvme_complete_rq: nvme0: disk=nvme0n1, qid=1, "
		    "cmdid=4112, res=0x0, retries=1, flags=0x0, status=0x0",
	       TRACELINE_RETRIED, TRACELINE_ELSE);
	expect(HEAD "nvme_complete_rq: nvme0: disk=nvme0n1, qid=1, "
		    "cmdid=4112, res=0x0, retries=0, flags=0x0, status=0x0",
	       TRACELINE_OTHER, TRACELINE_ELSE);
	expect(HEAD "scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 "
		    "data_sgl=0 prot_sgl=0 prot_op=SCSI_PROT_NORMAL "
		    "driver_tag=5 scheduler_tag=5 cmnd=(SYNCHRONIZE_CACHE - "
		    "raw=35 00 00 00 00 00 00 00 00 00)",
	       TRACELINE_COMMAND, TRACELINE_FLUSH);
	expect(HEAD "scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 "
		    "cmnd=(WRITE_10 lba=1 txlen=8 raw=2a 08 00)",
	       TRACELINE_OTHER, TRACELINE_ELSE);
}

/* A program is called what it likes. */
static void a_program_s_name_is_no_event(void **state)
{
	(void)state;
	expect(" block_rq_issue:-1       [000] ..... 43654.103828: "
	       "sched_switch: 7,0 FF",
	       TRACELINE_OTHER, TRACELINE_ELSE);
	expect("] 1.000001: a b -1       [000] ..... 43654.103828: "
	       "block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [a]",
	       TRACELINE_ISSUED, TRACELINE_FLUSH);
	expect("           <...>-1       [000] ..... 43654.103828: "
	       "block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [a]",
	       TRACELINE_ISSUED, TRACELINE_FLUSH);
}

static void what_was_lost_is_counted(void **state)
{
	struct traceline line = parse("CPU:1 [LOST 312 EVENTS]");

	(void)state;
	assert_int_equal(line.kind, TRACELINE_LOST);
	assert_int_equal(line.count, 312);
	line = parse("CPU:12 [LOST EVENTS]");
	assert_int_equal(line.kind, TRACELINE_LOST);
	assert_int_equal(line.count, 1);
	assert_int_equal(
		parse("CPU:1 [LOST 99999999999999999999 EVENTS]").count, 1);
}

static void what_is_no_line_is_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"# tracer: nop",
		"short",
		"    kworker/0:1H",
		"    kworker/0:1H-",
		"    kworker/0:1H-44      [000]",
		"    kworker/0:1H-44      [000] d..1. 43654",
		"    kworker/0:1H-44      [000] d..1. 43654.103828",
		"    kworker/0:1H-44      [000] d..1. 43654.103828: ",
		HEAD "block_rq_issue: ",
		HEAD "block_rq_issue: 7",
		HEAD "block_rq_issue: 7,",
		HEAD "block_rq_issue: 7,0",
		HEAD "block_rq_issue: 7,0 ",
		HEAD "block_rq_issue: 7,0 F",
		HEAD "block_rq_issue: x,0 FF",
		HEAD "block_rq_issue: 7,x FF",
		HEAD "nvme_complete_rq: retries=",
		"    kworker/0:1H-44      [000] d..1. "
		"99999999999999999999.103828: block_rq_issue: 7,0 FF",
		"    kworker/0:1H-44      [000] d..1. 1.9999999: "
		"block_rq_issue: 7,0 FF",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(parse(lines[i]).kind, TRACELINE_OTHER);
}

static void they_add_up(void **state)
{
	static const struct traceline lines[] = {
		{TRACELINE_OTHER, TRACELINE_ELSE, 0, 0, 1},
		{TRACELINE_ISSUED, TRACELINE_FLUSH, 0, 0, 10},
		{TRACELINE_ISSUED, TRACELINE_FLUSH, 0, 0, 11},
		{TRACELINE_ISSUED, TRACELINE_FUA, 0, 0, 12},
		{TRACELINE_COMPLETED, TRACELINE_FLUSH, 0, 0, 13},
		{TRACELINE_COMPLETED, TRACELINE_FLUSH, -5, 0, 14},
		{TRACELINE_COMPLETED, TRACELINE_FUA, 0, 0, 15},
		{TRACELINE_COMPLETED, TRACELINE_FUA, -5, 0, 16},
		{TRACELINE_COMPLETED, TRACELINE_FUA, -5, 0, 16},
		{TRACELINE_REPEATED, TRACELINE_FLUSH, 0, 0, 17},
		{TRACELINE_COMMAND, TRACELINE_FLUSH, 0, 0, 18},
		{TRACELINE_RETRIED, TRACELINE_ELSE, 0, 0, 19},
		{TRACELINE_LOST, TRACELINE_ELSE, 0, 7, 0},
		{TRACELINE_LOST, TRACELINE_ELSE, 0, 1, 0},
	};
	struct traceline_sums sums = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		traceline_add(&sums, &lines[i]);
	assert_int_equal(sums.flushes_issued, 2);
	assert_int_equal(sums.fua_issued, 1);
	assert_int_equal(sums.flushes_completed, 1);
	assert_int_equal(sums.flushes_failed, 1);
	assert_int_equal(sums.fua_completed, 1);
	assert_int_equal(sums.fua_failed, 2);
	assert_int_equal(sums.repeated, 1);
	assert_int_equal(sums.commands, 1);
	assert_int_equal(sums.retried, 1);
	assert_int_equal(sums.lost, 8);
	assert_int_equal(sums.first_ns, 10);
	assert_int_equal(sums.last_ns, 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flush_and_its_end),
		cmocka_unit_test(fua_is_the_f_behind_w),
		cmocka_unit_test(a_driver_s_own_commands),
		cmocka_unit_test(a_program_s_name_is_no_event),
		cmocka_unit_test(what_was_lost_is_counted),
		cmocka_unit_test(what_is_no_line_is_nothing),
		cmocka_unit_test(they_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
