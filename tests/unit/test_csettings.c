/* SPDX-License-Identifier: MIT */
/* csettings: what is misspelt, missing or wrong is refused by line and name. */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "campaign/csettings.h"
#include "common/base/err.h"

#define LEAST                                                 \
	"[campaign]\ncycles = 10\n[drive]\ntarget = /dev/x\n" \
	"[power]\noutlet = sim:/x\n"

static struct csettings settings;

static void accept(const char *text)
{
	struct err err = {""};

	if (csettings_parse(&settings, text, "t.ini", &err) != 0)
		fail_msg("refused: %s", err.text);
}

static void refuse(const char *text, const char *why)
{
	struct err err = {""};

	assert_int_equal(csettings_parse(&settings, text, "t.ini", &err), -1);
	if (strstr(err.text, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void defaults_are_as_documented(void **state)
{
	(void)state;
	accept(LEAST);
	assert_int_equal(settings.cycles, 10);
	assert_int_equal(settings.control_cycles, 5);
	assert_false(settings.stop_on_broken);
	assert_false(settings.has_seed);
	assert_true(settings.fill);
	assert_true(settings.bound > 0.0099 && settings.bound < 0.0101);
	assert_string_equal(settings.sync, "flush:32");
	assert_int_equal(settings.sync_kind, GATES_SYNC_FLUSH);
	assert_true(settings.rescan);
	assert_int_equal(settings.return_timeout_ms, 60000);
	assert_int_equal(settings.gone_timeout_ms, 30000);
	assert_int_equal(settings.off_min_ms, 5000);
	assert_int_equal(settings.off_max_ms, 5000);
	assert_int_equal(settings.counters_kind, CSETTINGS_COUNTERS_AUTO);
	assert_string_equal(settings.counters_device, "/dev/x");
	assert_string_equal(settings.smartctl, "smartctl");
	assert_string_equal(settings.nvme, "nvme");
	assert_false(csettings_cuts_host(&settings));
	assert_int_equal(settings.boot_timeout_ms, 300000);
	assert_int_equal(settings.boot_tries, 2);
}

static void every_key_of_a_host_is_taken(void **state)
{
	(void)state;
	accept(LEAST "[collector]\nlisten = :7411\nadvertise = keeper:7411\n"
		     "key = k\n[host]\nvia = ssh root@dut\nkey = /root/k\n"
		     "ready = test -b /dev/x\nboot_timeout = 90s\n"
		     "boot_tries = 3\n[commands]\nsmartctl = s\nnvme = n\n");
	assert_true(csettings_cuts_host(&settings));
	assert_string_equal(settings.via, "ssh root@dut");
	assert_string_equal(settings.listen, ":7411");
	assert_string_equal(settings.advertise, "keeper:7411");
	assert_string_equal(settings.host_key, "/root/k");
	assert_string_equal(settings.ready, "test -b /dev/x");
	assert_int_equal(settings.boot_timeout_ms, 90000);
	assert_int_equal(settings.boot_tries, 3);
	assert_string_equal(settings.smartctl, "s");
	assert_string_equal(settings.nvme, "n");
	/* Its writer must reach a collector; ours, or another one. */
	refuse(LEAST "[host]\nvia = ssh dut\n", "listen: is missing");
	accept(LEAST "[host]\nvia = v\n[collector]\nconnect = c:1\ndir = /x\n");
	refuse(LEAST "[host]\nready = true\n", "via: is missing");
	refuse(LEAST "[host]\nvia = v\nboot_tries = 0\n", "boot_tries");
	refuse(LEAST "[collector]\nkey = k\n", "key: neither connect");
	refuse(LEAST "[collector]\nconnect = c:1\ndir = /x\nlisten = :1\n",
	       "listen: connect is given too");
}

static void the_source_of_counters_is_one_that_exists(void **state)
{
	(void)state;
	accept("[campaign]\ncycles = 1\n[power]\noutlet = x\n[drive]\n"
	       "target = nbd://x\ncounters = nvme\ncounters_device = /dev/y\n");
	assert_int_equal(settings.counters_kind, CSETTINGS_COUNTERS_NVME);
	assert_string_equal(settings.counters_device, "/dev/y");
	refuse("[campaign]\ncycles = 1\n[power]\noutlet = x\n[drive]\n"
	       "target = x\ncounters = smart\n",
	       "counters: smart is none of auto");
}

static void every_key_is_taken(void **state)
{
	(void)state;
	accept("[campaign]\nname = n\ncycles = 7\ncontrol_cycles = 0\n"
	       "seed = 5eed\nstop_on_broken = yes\nbound = 0.5%\n"
	       "[drive]\ntarget = T\nerase = S1\noffset = 1m\nsize = 2g\n"
	       "rescan = no\n"
	       "[workload]\nblock_size = 8k\npattern = sequential\n"
	       "queue_depth = 16\nstreams = 2\nsync = fua\nfill = no\n"
	       "[power]\noutlet = lcus:/dev/x:1\noff_min = 1s\noff_max = 3s\n"
	       "return_timeout = 90s\ngone_timeout = 250ms\n"
	       "[cut]\nafter_min = 10ms\nafter_max = 2s\n"
	       "[collector]\nconnect = host:7411\nkey = k\ndir = /logs\n"
	       "[commands]\nwriter = ssh host plugpull-writer\n"
	       "verifier = v\nrelay = r\ncollector = c\n"
	       "[hooks]\nafter_off = losetup -d /dev/loop7\n"
	       "after_on = a\n  b\nverifier_options = --x 1\n  --y 2\n");
	assert_string_equal(settings.name, "n");
	assert_int_equal(settings.control_cycles, 0);
	assert_int_equal(settings.seed, 0x5eed);
	assert_true(settings.stop_on_broken);
	assert_string_equal(settings.erase, "S1");
	assert_false(settings.rescan);
	assert_int_equal(settings.offset_bytes, 1024 * 1024);
	assert_int_equal(settings.size_bytes, 2ULL << 30);
	assert_int_equal(settings.block_bytes, 8192);
	assert_string_equal(settings.pattern, "sequential");
	assert_int_equal(settings.queue_depth, 16);
	assert_int_equal(settings.streams, 2);
	assert_int_equal(settings.sync_kind, GATES_SYNC_FUA);
	assert_false(settings.fill);
	assert_int_equal(settings.off_min_ms, 1000);
	assert_int_equal(settings.off_max_ms, 3000);
	assert_int_equal(settings.gone_timeout_ms, 250);
	assert_int_equal(settings.after_min_ms, 10);
	assert_string_equal(settings.log_dir, "/logs");
	assert_string_equal(settings.writer, "ssh host plugpull-writer");
	assert_string_equal(settings.after_on, "a\nb");
	assert_string_equal(settings.verifier_options, "--x 1 --y 2");
}

static void strange_names_are_refused_by_line(void **state)
{
	(void)state;
	refuse(LEAST "[cut]\nafter_mim = 3s\n", "t.ini:8: after_mim");
	refuse(LEAST "[cuts]\nafter_min = 3s\n", "t.ini:8: cuts");
	refuse(LEAST "nonsense\n", "t.ini:7");
	refuse("cycles = 3\n" LEAST, "t.ini:1");
}

static void missing_keys_are_named(void **state)
{
	(void)state;
	refuse("", "cycles: is missing in [campaign]");
	refuse("[campaign]\ncycles = 1\n[power]\noutlet = x\n", "target");
	refuse("[campaign]\ncycles = 1\n[drive]\ntarget = x\n", "outlet");
	refuse(LEAST "[collector]\nconnect = h:1\n", "dir: is missing");
	refuse(LEAST "[collector]\ndir = /x\n", "connect: is missing");
}

static void bad_values_are_refused_by_line_and_name(void **state)
{
	(void)state;
	refuse("[campaign]\ncycles = many\n", "t.ini:2: cycles");
	refuse("[campaign]\ncycles = 0\n", "t.ini:2: cycles");
	refuse("[campaign]\nbound = 1\n", "t.ini:2: bound");
	refuse("[campaign]\nbound = 100%\n", "bound");
	refuse("[campaign]\nbound = nan%\n", "bound");
	refuse("[campaign]\nseed = xyz\n", "t.ini:2: seed");
	refuse("[campaign]\nstop_on_broken = maybe\n", "stop_on_broken");
	refuse("[campaign]\nname =\n", "name");
	refuse("[workload]\nblock_size = 100\n", "block_size");
	refuse("[workload]\nstreams = 65\n", "streams");
	refuse("[cut]\nafter_min = soon\n", "after_min");
	refuse(LEAST "[workload]\nsync = sometimes\n", "sync");
	refuse(LEAST "[workload]\npattern = zigzag\n", "pattern");
}

static void a_key_given_twice_is_refused(void **state)
{
	(void)state;
	refuse("[campaign]\ncycles = 3\ncycles = 4\n", "t.ini:3: cycles");
	refuse(LEAST "[power]\noff_time = 1s\noff_min = 2s\n", "off_time");
}

static void ranges_must_not_be_upside_down(void **state)
{
	(void)state;
	refuse(LEAST "[cut]\nafter_min = 3s\nafter_max = 2s\n", "after_min");
	refuse(LEAST "off_min = 3s\noff_max = 2s\n", "off_min");
	refuse(LEAST "off_min = 3s\n", "off_min");
}

static void the_test_arm_without_sync_is_refused(void **state)
{
	(void)state;
	refuse(LEAST "[workload]\nsync = none\n", "control arm");
}

/* inih cuts long lines and what follows " ;" in silence: we must not. */
static void nothing_is_cut_in_silence(void **state)
{
	char text[1024] = LEAST "[hooks]\nafter_on = ";
	const size_t used = strlen(text);

	(void)state;
	memset(text + used, 'a', 400);
	text[used + 400] = '\0';
	refuse(text, "t.ini:8: line too long");
	refuse(LEAST "[hooks]\nafter_on = a ; b\n", "after_on");
	refuse(LEAST "[hooks]\nafter_on = a\n  b ; c\n", "after_on");
	accept(LEAST "[hooks]\nafter_on = a; b\n");
	assert_string_equal(settings.after_on, "a; b");
	accept("[campaign]\ncycles = 3 ; few\n[drive]\ntarget = x\n"
	       "[power]\noutlet = y\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_as_documented),
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(every_key_of_a_host_is_taken),
		cmocka_unit_test(the_source_of_counters_is_one_that_exists),
		cmocka_unit_test(strange_names_are_refused_by_line),
		cmocka_unit_test(missing_keys_are_named),
		cmocka_unit_test(bad_values_are_refused_by_line_and_name),
		cmocka_unit_test(a_key_given_twice_is_refused),
		cmocka_unit_test(ranges_must_not_be_upside_down),
		cmocka_unit_test(the_test_arm_without_sync_is_refused),
		cmocka_unit_test(nothing_is_cut_in_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
