/* SPDX-License-Identifier: MIT */
/* P9: which drives are tested, which are refused, and what is said of them. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "common/target/flushway.h"

#define LAYERS_MAX 4

struct way {
	struct flushway_layer layers[LAYERS_MAX];
	struct mountfacts mount;
	struct flushway_input input;
	struct flushway answer;
};

static struct flushway_layer *add(struct way *way, const char *name,
				  enum queuefacts_cache cache)
{
	struct flushway_layer *layer = &way->layers[way->input.count++];

	(void)snprintf(layer->queue.name, sizeof(layer->queue.name), "%s",
		       name);
	layer->queue.cache = cache;
	layer->queue.is_bottom = true;
	return layer;
}

static void begin(struct way *way)
{
	memset(way, 0, sizeof(*way));
	way->input.layers = way->layers;
	way->input.mount = &way->mount;
	way->input.unknown = "";
	way->input.is_block_device = true;
	way->input.has_flush = true;
}

static struct flushway_layer *one_drive(struct way *way,
					enum queuefacts_cache cache)
{
	begin(way);
	return add(way, "sdb", cache);
}

static void says(struct flushway_layer *layer, enum drivefacts_answer has_cache,
		 enum drivefacts_answer is_on)
{
	layer->drive.kind = DRIVEFACTS_SCSI;
	layer->drive.has_cache = has_cache;
	layer->drive.is_cache_on = is_on;
}

static void hangs_on(struct flushway_layer *layer, const char *driver)
{
	(void)snprintf(layer->queue.driver, sizeof(layer->queue.driver), "%s",
		       driver);
}

static void expect(struct way *way, enum flushway_answer answer,
		   const char *words)
{
	flushway_decide(&way->input, &way->answer);
	if (way->answer.answer != answer ||
	    strstr(way->answer.text, words) == NULL)
		fail_msg("%s: %s", flushway_answer_name(way->answer.answer),
			 way->answer.text);
	assert_true(answer != FLUSHWAY_NO || way->input.is_nbd ||
		    way->answer.remedy[0] != '\0');
}

static void p9_queues_that_all_say_write_back(void **state)
{
	struct flushway_layer *layer;
	struct way way;

	(void)state;
	layer = one_drive(&way, QUEUEFACTS_BACK);
	expect(&way, FLUSHWAY_YES, "every queue");
	says(layer, DRIVEFACTS_YES, DRIVEFACTS_YES);
	expect(&way, FLUSHWAY_YES, "every queue");
	says(layer, DRIVEFACTS_NO, DRIVEFACTS_NO);
	expect(&way, FLUSHWAY_YES, "every queue");
	way.input.unknown = "tmpfs";
	expect(&way, FLUSHWAY_UNKNOWN, "tmpfs");
	begin(&way);
	way.input.is_block_device = false;
	way.input.unknown = "fuse";
	expect(&way, FLUSHWAY_UNKNOWN, "fuse");
	begin(&way);
	expect(&way, FLUSHWAY_UNKNOWN, "no sysfs");
}

/* Every answer that a drive can give, where its queue elides. */
static void p9_write_through_needs_the_drive_s_own_word(void **state)
{
	static const struct {
		enum drivefacts_answer has_cache, is_on;
		enum flushway_answer answer;
		const char *words;
	} rows[] = {
		{DRIVEFACTS_UNKNOWN, DRIVEFACTS_UNKNOWN, FLUSHWAY_NO,
		 "sdb has no volatile cache, and completes flushes itself; the "
		 "drive does not say"},
		{DRIVEFACTS_YES, DRIVEFACTS_UNKNOWN, FLUSHWAY_NO,
		 "does not say"},
		{DRIVEFACTS_YES, DRIVEFACTS_YES, FLUSHWAY_NO,
		 "the drive says that it has one, in use"},
		{DRIVEFACTS_UNKNOWN, DRIVEFACTS_YES, FLUSHWAY_NO, "in use"},
		{DRIVEFACTS_YES, DRIVEFACTS_NO, FLUSHWAY_NOT_NEEDED,
		 "by its own word sdb has its volatile cache switched off"},
		{DRIVEFACTS_UNKNOWN, DRIVEFACTS_NO, FLUSHWAY_NOT_NEEDED,
		 "switched off"},
		{DRIVEFACTS_NO, DRIVEFACTS_NO, FLUSHWAY_NOT_NEEDED,
		 "by its own word sdb has no volatile cache"},
	};
	struct flushway_layer *layer;
	struct way way;

	(void)state;
	layer = one_drive(&way, QUEUEFACTS_THROUGH);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		says(layer, rows[i].has_cache, rows[i].is_on);
		expect(&way, rows[i].answer, rows[i].words);
	}
	/* Not asked: whatever the fields hold. */
	layer->drive.kind = DRIVEFACTS_NONE;
	(void)snprintf(layer->why, sizeof(layer->why), "cannot open it");
	expect(&way, FLUSHWAY_NO, "cannot be asked: cannot open it");
	assert_non_null(strstr(way.answer.remedy,
			       "echo 'write back' "
			       ">/sys/block/sdb/queue/write_cache"));
}

static void p9_one_drive_of_several_is_enough_to_refuse(void **state)
{
	struct flushway_layer *first, *second;
	struct way way;

	(void)state;
	begin(&way);
	add(&way, "md0", QUEUEFACTS_BACK)->queue.is_bottom = false;
	first = add(&way, "sdb", QUEUEFACTS_THROUGH);
	second = add(&way, "sdc", QUEUEFACTS_THROUGH);
	says(first, DRIVEFACTS_NO, DRIVEFACTS_NO);
	says(second, DRIVEFACTS_YES, DRIVEFACTS_YES);
	expect(&way, FLUSHWAY_NO, "sdc");
	second->queue.cache = QUEUEFACTS_BACK;
	expect(&way, FLUSHWAY_NOT_NEEDED, "sdb");
}

/* Device mapper says what its members say. */
static void p9_a_layer_elides_rightly_over_drives_without_cache(void **state)
{
	struct flushway_layer *layer, *drive;
	struct way way;

	(void)state;
	begin(&way);
	layer = add(&way, "dm-0", QUEUEFACTS_THROUGH);
	layer->queue.is_bottom = false;
	drive = add(&way, "sdb", QUEUEFACTS_THROUGH);
	says(drive, DRIVEFACTS_NO, DRIVEFACTS_NO);
	expect(&way, FLUSHWAY_NOT_NEEDED, "sdb has no volatile cache");
	/* Forced, over a drive that would be flushed. */
	drive->queue.cache = QUEUEFACTS_BACK;
	says(drive, DRIVEFACTS_YES, DRIVEFACTS_YES);
	expect(&way, FLUSHWAY_NO, "dm-0");
	says(drive, DRIVEFACTS_NO, DRIVEFACTS_NO);
	way.input.unknown = "sdc";
	expect(&way, FLUSHWAY_NO, "dm-0");
	way.input.unknown = "";
	layer->queue.is_loop = true;
	expect(&way, FLUSHWAY_NO, "what lies below it was not asked");
}

static void p9_a_top_that_says_nothing_is_refused(void **state)
{
	struct way way;

	(void)state;
	(void)one_drive(&way, QUEUEFACTS_SILENT);
	expect(&way, FLUSHWAY_NO, "does not say \"write back\"");
	way.input.is_block_device = false;
	way.input.unknown = "sdb";
	expect(&way, FLUSHWAY_UNKNOWN, "sdb");
}

static void p9_drivers_that_swallow_flushes(void **state)
{
	struct flushway_layer *layer;
	struct way way;

	(void)state;
	layer = one_drive(&way, QUEUEFACTS_BACK);
	says(layer, DRIVEFACTS_NO, DRIVEFACTS_NO);
	hangs_on(layer, "pmcraid");
	expect(&way, FLUSHWAY_NO, "completes every flush itself");
	hangs_on(layer, "PMC MaxRAID");
	expect(&way, FLUSHWAY_NO, "completes every flush itself");
	hangs_on(layer, "myrb");
	way.input.is_native = true; /* it has these commands, too */
	expect(&way, FLUSHWAY_NO, "completes every flush itself");
	way.input.is_native = false;
	hangs_on(layer, "megaraid_sas");
	layer->queue.channel = 2;
	expect(&way, FLUSHWAY_NO, "flushes of its logical drives itself");
	assert_non_null(strstr(way.answer.remedy, "JBOD"));
	layer->queue.channel = -1; /* it cannot be told */
	expect(&way, FLUSHWAY_NO, "flushes of its logical drives itself");
	way.input.is_native = true; /* it has these commands, too */
	expect(&way, FLUSHWAY_NO, "flushes of its logical drives itself");
	way.input.is_native = false;
	layer->queue.channel = 1; /* passed through */
	expect(&way, FLUSHWAY_YES, "every queue");
	hangs_on(layer, "mpt3sas");
	expect(&way, FLUSHWAY_YES, "every queue");
}

static void p9_a_driver_s_word_is_not_the_drive_s(void **state)
{
	struct flushway_layer *layer;
	struct way way;

	(void)state;
	layer = one_drive(&way, QUEUEFACTS_THROUGH);
	says(layer, DRIVEFACTS_YES, DRIVEFACTS_NO);
	hangs_on(layer, "aacraid");
	expect(&way, FLUSHWAY_NO, "speaks in the drive's place");
	hangs_on(layer, "megaraid_sas");
	expect(&way, FLUSHWAY_NO, "speaks in the drive's place");
	hangs_on(layer, "ahci");
	expect(&way, FLUSHWAY_NOT_NEEDED, "switched off");
}

static void p9_a_bridge_without_the_command(void **state)
{
	struct flushway_layer *layer;
	struct way way;

	(void)state;
	layer = one_drive(&way, QUEUEFACTS_BACK);
	says(layer, DRIVEFACTS_YES, DRIVEFACTS_YES);
	layer->drive.has_flush = DRIVEFACTS_NO;
	expect(&way, FLUSHWAY_NO, "calls SYNCHRONIZE CACHE an unknown");
	layer->drive.has_flush = DRIVEFACTS_UNKNOWN;
	expect(&way, FLUSHWAY_YES, "every queue");
	layer->drive.has_flush = DRIVEFACTS_NO;
	says(layer, DRIVEFACTS_NO, DRIVEFACTS_NO);
	expect(&way, FLUSHWAY_YES, "every queue");
}

static void p9_a_mount_without_barriers(void **state)
{
	struct way way;

	(void)state;
	(void)one_drive(&way, QUEUEFACTS_BACK);
	way.input.is_block_device = false;
	way.mount.is_known = true;
	(void)snprintf(way.mount.type, sizeof(way.mount.type), "ext4");
	(void)snprintf(way.mount.point, sizeof(way.mount.point), "/mnt");
	expect(&way, FLUSHWAY_YES, "every queue");
	way.mount.is_barrierless = true;
	expect(&way, FLUSHWAY_NO, "ext4 on /mnt is mounted without barriers");
	assert_string_equal(way.answer.remedy, "mount -o remount,barrier /mnt");
}

/* Neither elision nor counters: the queue plays no part. */
static void the_native_engine_sends_its_own(void **state)
{
	struct flushway_layer *layer;
	struct way way;

	(void)state;
	layer = one_drive(&way, QUEUEFACTS_THROUGH);
	says(layer, DRIVEFACTS_YES, DRIVEFACTS_YES);
	way.input.is_native = true;
	expect(&way, FLUSHWAY_YES, "commands to the drive itself");
}

static void p9_an_nbd_server_is_believed_to_flush(void **state)
{
	struct way way;

	(void)state;
	begin(&way);
	way.input.is_nbd = true;
	expect(&way, FLUSHWAY_UNKNOWN, "cannot be seen");
	way.input.has_flush = false;
	expect(&way, FLUSHWAY_NO, "its server takes none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p9_queues_that_all_say_write_back),
		cmocka_unit_test(p9_write_through_needs_the_drive_s_own_word),
		cmocka_unit_test(p9_one_drive_of_several_is_enough_to_refuse),
		cmocka_unit_test(
			p9_a_layer_elides_rightly_over_drives_without_cache),
		cmocka_unit_test(p9_a_top_that_says_nothing_is_refused),
		cmocka_unit_test(p9_drivers_that_swallow_flushes),
		cmocka_unit_test(p9_a_driver_s_word_is_not_the_drive_s),
		cmocka_unit_test(p9_a_bridge_without_the_command),
		cmocka_unit_test(p9_a_mount_without_barriers),
		cmocka_unit_test(the_native_engine_sends_its_own),
		cmocka_unit_test(p9_an_nbd_server_is_believed_to_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
