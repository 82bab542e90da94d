/* SPDX-License-Identifier: MIT */
/*
 * A campaign with stand-ins for every program: scripts that leave a trace. The
 * order of what it does with the power (P11), and that it believes nobody who
 * contradicts himself or speaks of another cycle (P9).
 */
#include "campaign/campaign.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/journal.h"
#include "campaign/process.h"
#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

#define TEXT_BYTES 4096
#define BLOCKED    "--stand-in-for-a-writer-that-waits"

static struct scene {
	char dir[48];
	char trace[TEXT_BYTES];
	struct csummary summary;
	struct campaign *campaign;
	struct err err;
} scene;
static volatile sig_atomic_t stop;

static void note_stop(int number)
{
	(void)number;
	stop = 1;
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/%s", scene.dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

/* BODY runs in the scene's folder; "trace WORD" leaves a word behind. */
static void write_script(const char *name, const char *body)
{
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text),
		 "#!/bin/sh\ncd %s || exit 9\n"
		 "trace() { printf '%%s ' \"$1\" >>trace; }\n"
		 "json() { while [ \"$1\" != --json ]; do shift; done\n"
		 "printf '%%s' \"$TEXT\" >\"$2\"; }\n%s",
		 scene.dir, body);
	write_file(name, text);
}

#define ACCOUNT                                                   \
	"{\"writes\":9,\"issued\":9,\"durable\":3,\"flushes\":3," \
	"\"in_flight\":2,\"gone\":true,\"error\":\"the drive went\"}"
#define KEPT                                                          \
	"{\"verdict\":\"kept\",\"reason\":\"\",\"completed_lost\":4," \
	"\"cycle_promised\":true}"
#define BROKEN "{\"verdict\":\"broken\",\"lost\":{\"atoms\":8}}"
#define RUN    "run 000102030405060708090a0b0c0d0e0f"

/* Everything as it should be; the drive is a file that the relay takes away. */
static void write_stand_ins(void)
{
	write_script("writer", "trace write; echo " RUN "\n"
			       "echo cycle 1 writing\n"
			       "while [ -e drive ]; do sleep 0.01; done\n"
			       "trace gone; TEXT='" ACCOUNT "'\n"
			       "json \"$@\"; exit 2\n");
	write_script("relay", "[ \"$3\" = status ] && { echo on; exit; }\n"
			      "trace \"$3\"\n"
			      "[ \"$3\" = off ] && mv drive away\n"
			      "[ \"$3\" = on ] && mv away drive\n"
			      "exit 0\n");
	write_script("collector", "[ \"$1\" = --send ] && {\n"
				  "trace \"$2\"; exit; }\n"
				  "echo listening on x; exec sleep 600\n");
	write_script("verifier",
		     "trace verify; TEXT='" KEPT "'\njson \"$@\"\n");
	write_file("drive", "");
}

static void write_settings(const char *writer, unsigned int cycles)
{
	char text[TEXT_BYTES];
	const char *dir = scene.dir;

	snprintf(text, sizeof(text),
		 "[campaign]\ncycles = %u\ncontrol_cycles = 0\n"
		 "[drive]\ntarget = %s/drive\n"
		 "[power]\noutlet = x\noff_time = 0ms\ngone_timeout = 300ms\n"
		 "[cut]\nafter_min = 1ms\nafter_max = 1ms\n"
		 "[commands]\nwriter = %s\nverifier = %s/verifier\n"
		 "relay = %s/relay\ncollector = %s/collector\n",
		 cycles, dir, writer, dir, dir, dir);
	write_file("campaign.ini", text);
}

static int set_up(void **state)
{
	char writer[64];

	(void)state;
	memset(&scene, 0, sizeof(scene));
	stop = 0;
	strcpy(scene.dir, "/tmp/test_campaign.XXXXXX");
	if (mkdtemp(scene.dir) == NULL)
		return -1;
	write_stand_ins();
	snprintf(writer, sizeof(writer), "%s/writer", scene.dir);
	write_settings(writer, 2);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	campaign_free(scene.campaign);
	snprintf(command, sizeof(command), "rm -rf %s", scene.dir);
	return system(command);
}

static void read_trace(void)
{
	char path[128];
	FILE *file = NULL;
	size_t used = 0;

	snprintf(path, sizeof(path), "%s/trace", scene.dir);
	file = fopen(path, "r");
	if (file != NULL) {
		used = fread(scene.trace, 1, sizeof(scene.trace) - 1, file);
		fclose(file);
	}
	scene.trace[used] = '\0';
}

static void create(char dir[64])
{
	const struct campaign_wishes wishes = {.dir = dir};
	char ini[64];

	snprintf(dir, 64, "%s/c", scene.dir);
	snprintf(ini, sizeof(ini), "%s/campaign.ini", scene.dir);
	scene.campaign = campaign_create(ini, &wishes, &scene.err);
	if (scene.campaign == NULL)
		fail_msg("%s", scene.err.text);
}

static void go_on(enum tally_verdict expected)
{
	FILE *progress = fopen("/dev/null", "w");

	assert_non_null(progress);
	if (campaign_run(scene.campaign, progress, &stop, &scene.err) == -1)
		fail_msg("%s", scene.err.text);
	fclose(progress);
	scene.summary = campaign_summary(scene.campaign);
	read_trace();
	if (csummary_verdict(&scene.summary) != expected)
		fail_msg("%s: %s%s",
			 tally_verdict_name(csummary_verdict(&scene.summary)),
			 scene.trace, scene.summary.stopped);
}

static void run(enum tally_verdict expected)
{
	char dir[64];

	create(dir);
	go_on(expected);
}

/* What an earlier program left in the campaign's folder. */
static void leave_behind(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/c", scene.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "c/%s", name);
	write_file(path, text);
}

#define ONE_CYCLE "write cut-asked off gone cut-seen on restored verify "

static void p11_asked_then_off_then_gone_then_on(void **state)
{
	(void)state;
	run(TALLY_PASS);
	assert_string_equal(scene.trace, ONE_CYCLE ONE_CYCLE);
}

static void p11_no_power_for_a_writer_that_waits(void **state)
{
	char self[256], writer[512];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(length > 0);
	self[length] = '\0';
	snprintf(writer, sizeof(writer), "%s " BLOCKED " %s", self, scene.dir);
	write_settings(writer, 2);
	run(TALLY_NO_VERDICT);
	write_file("release", "");
	assert_string_equal(scene.trace, "cut-asked off ");
	assert_non_null(strstr(scene.summary.stopped, "the power stays off"));
}

static void p11_an_old_account_does_not_end_the_writer(void **state)
{
	(void)state;
	leave_behind("cycle-0001.writer.json", ACCOUNT);
	write_script("writer", "echo " RUN "; echo cycle 1 writing\n"
			       "while [ -e drive ]; do sleep 0.01; done\n");
	run(TALLY_NO_VERDICT);
	assert_string_equal(scene.trace, "cut-asked off ");
}

/* The campaign was broken off; its writer, which is us, was not. */
static void p11_no_power_for_the_writer_of_a_broken_off_campaign(void **state)
{
	struct journal *journal = NULL;
	char dir[64], path[80];

	(void)state;
	create(dir);
	campaign_free(scene.campaign);
	scene.campaign = NULL;
	snprintf(path, sizeof(path), "%s/journal", dir);
	journal = journal_resume(path, &scene.err);
	assert_non_null(journal);
	assert_int_equal(
		journal_write(journal, "writer",
			      json_pack("{s:i, s:i, s:I}", "cycle", 1, "pid",
					(int)getpid(), "birth",
					(json_int_t)process_birth(getpid())),
			      &scene.err),
		0);
	assert_int_equal(journal_close(journal, &scene.err), 0);
	scene.campaign = campaign_load(dir, true, &scene.err);
	assert_non_null(scene.campaign);
	go_on(TALLY_NO_VERDICT);
	assert_string_equal(scene.trace, "");
	assert_non_null(strstr(scene.summary.stopped, "still runs"));
}

static void p9_an_old_verdict_is_not_this_cycles(void **state)
{
	(void)state;
	leave_behind("cycle-0001.verdict.json", KEPT);
	write_script("verifier", "exit 0\n");
	run(TALLY_NO_VERDICT);
}

static void p9_status_and_report_must_agree(void **state)
{
	(void)state;
	write_script("verifier", "TEXT='" KEPT "'; json \"$@\"; exit 1\n");
	run(TALLY_NO_VERDICT);
}

static void p9_a_conviction_without_its_status_is_none(void **state)
{
	(void)state;
	write_script("verifier", "TEXT='" BROKEN "'; json \"$@\"; exit 0\n");
	run(TALLY_NO_VERDICT);
}

static void p4_a_conviction_with_its_status_is_one(void **state)
{
	(void)state;
	write_script("verifier", "TEXT='" BROKEN "'; json \"$@\"; exit 1\n");
	run(TALLY_FAIL);
}

/* A signal behind the second of three cycles, all of them good. */
static void p9_a_stopped_campaign_does_not_pass(void **state)
{
	const struct sigaction action = {.sa_handler = note_stop};
	char writer[64], verifier[256];

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	snprintf(writer, sizeof(writer), "%s/writer", scene.dir);
	write_settings(writer, 3);
	snprintf(verifier, sizeof(verifier),
		 "TEXT='" KEPT "'; json \"$@\"\n"
		 "[ -e once ] && kill -USR1 %ld\n: >once\n",
		 (long)getpid());
	write_script("verifier", verifier);
	run(TALLY_NO_VERDICT);
	assert_true(scene.summary.count == 1 || scene.summary.count == 2);
	assert_false(scene.summary.is_complete);
	assert_non_null(strstr(scene.summary.stopped, "signal"));
}

/* A process is uninterruptible while its vfork() child has not ended. */
static int wait_for_the_drive(const char *dir)
{
	char drive[64], release[64];
	pid_t self = getpid();
	pid_t child = 0;

	snprintf(drive, sizeof(drive), "%s/drive", dir);
	snprintf(release, sizeof(release), "%s/release", dir);
	printf(RUN "\ncycle 1 writing\n");
	fflush(stdout);
	while (access(drive, F_OK) == 0)
		usleep(1000);
	child = vfork();
	if (child != 0)
		return 2;
	while (getppid() == self && access(release, F_OK) != 0 &&
	       access(dir, F_OK) == 0)
		usleep(1000);
	_exit(0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		ROW(p11_asked_then_off_then_gone_then_on),
		ROW(p11_no_power_for_a_writer_that_waits),
		ROW(p11_an_old_account_does_not_end_the_writer),
		ROW(p11_no_power_for_the_writer_of_a_broken_off_campaign),
		ROW(p9_an_old_verdict_is_not_this_cycles),
		ROW(p9_status_and_report_must_agree),
		ROW(p9_a_conviction_without_its_status_is_none),
		ROW(p4_a_conviction_with_its_status_is_one),
		ROW(p9_a_stopped_campaign_does_not_pass),
	};

	if (argc > 2 && strcmp(argv[1], BLOCKED) == 0)
		return wait_for_the_drive(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
