/* SPDX-License-Identifier: MIT */
/* The kernel's word of a device: only whole events count, and only those about
 * the drive, what lies below it, and what it hangs on. */
#include "common/target/uevent.h"

#include <string.h>

#include "tests/unit/cmocka_all.h"
#include "writer/wgone.h"

#define BUS "/devices/pci0000:00/0000:00:14.0/usb1/1-2"
#define SDB BUS "/1-2:1.0/host6/target6:0:0/6:0:0:0/block/sdb"

/* With the zero byte at its end, as the kernel sends it. */
#define PARSE(text, event) uevent_parse(text, sizeof(text), event)

static const struct uevent_watched watched = {.count = 2,
					      .paths = {"/devices/virtual/block"
							"/dm-0",
							SDB}};

static void an_event_is_read(void **state)
{
	struct uevent event;

	(void)state;
	assert_true(PARSE("remove@" SDB "\0ACTION=remove\0SUBSYSTEM=block",
			  &event));
	assert_int_equal(event.action, UEVENT_REMOVE);
	assert_true(event.is_block);
	assert_string_equal(event.path, SDB);
	assert_string_equal(uevent_device(&event), "sdb");
	assert_true(PARSE("add@/devices/x\0SUBSYSTEM=usb", &event));
	assert_int_equal(event.action, UEVENT_ADD);
	assert_false(event.is_block);
	assert_true(PARSE("change@/x", &event));
	assert_int_equal(event.action, UEVENT_CHANGE);
	assert_true(PARSE("offline@/x", &event));
	assert_int_equal(event.action, UEVENT_OFFLINE);
	assert_true(PARSE("removed@/x", &event));
	assert_int_equal(event.action, UEVENT_OTHER);
	assert_true(PARSE("@/x", &event));
	assert_int_equal(event.action, UEVENT_OTHER);
}

static void what_is_no_event_is_none(void **state)
{
	char text[UEVENT_PATH_BYTES + 16];
	struct uevent event;

	(void)state;
	assert_false(uevent_parse("", 0, &event));
	assert_false(PARSE("", &event));
	assert_false(PARSE("libudev\0\xfe\xed\xca\xfe", &event));
	assert_false(PARSE("remove@", &event));
	assert_false(PARSE("remove@devices/x", &event));
	assert_false(PARSE("remove@/dev ices/x", &event));
	assert_false(PARSE("remove@/dev\x1b[2J", &event));
	/* without its end; a word without its own is not taken */
	assert_false(uevent_parse("remove@/x", strlen("remove@/x"), &event));
	assert_true(uevent_parse("remove@/x\0SUBSYSTEM=block",
				 sizeof("remove@/x\0SUBSYSTEM=block") - 1,
				 &event));
	assert_false(event.is_block);
	/* '@' behind the first word is not its */
	assert_false(PARSE("remove\0@/x", &event));

	memset(text, 'x', sizeof(text));
	memcpy(text, "add@/", 5);
	text[4 + UEVENT_PATH_BYTES - 1] = '\0';
	assert_true(uevent_parse(text, sizeof(text), &event));
	assert_int_equal(strlen(event.path), UEVENT_PATH_BYTES - 1);
	text[4 + UEVENT_PATH_BYTES - 1] = 'x';
	text[4 + UEVENT_PATH_BYTES] = '\0';
	assert_false(uevent_parse(text, sizeof(text), &event));
}

static bool concerns(enum uevent_action action, const char *path)
{
	struct uevent event = {.action = action};

	memcpy(event.path, path, strlen(path) + 1);
	return uevent_concerns(&event, &watched);
}

static void only_the_drive_s_own_devices_count(void **state)
{
	(void)state;
	assert_true(concerns(UEVENT_REMOVE, SDB));
	assert_true(concerns(UEVENT_CHANGE, SDB));
	assert_true(concerns(UEVENT_CHANGE, "/devices/virtual/block/dm-0"));
	assert_true(concerns(UEVENT_REMOVE, BUS));
	assert_false(concerns(UEVENT_CHANGE, BUS));
	assert_false(concerns(UEVENT_REMOVE, SDB "/sdb1"));
	assert_false(concerns(UEVENT_REMOVE, SDB "c"));
	/* the beginning of a name is not what it hangs on */
	assert_false(concerns(UEVENT_REMOVE,
			      "/devices/pci0000:00/0000:00:14.0/usb1/1"));
	assert_false(concerns(UEVENT_REMOVE, "/devices/virtual/block/dm-1"));
}

static void take(struct wgone *gone, enum uevent_action action,
		 const char *path, uint64_t at_ns)
{
	struct uevent event = {.action = action};

	memcpy(event.path, path, strlen(path) + 1);
	wgone_take(gone, &event, at_ns);
}

static void the_first_word_that_takes_it_away_is_kept(void **state)
{
	struct wgone gone = {.watched = watched};

	(void)state;
	take(&gone, UEVENT_ADD, SDB, 1);
	take(&gone, UEVENT_REMOVE, "/devices/virtual/block/dm-1", 2);
	assert_int_equal(gone.event.action, UEVENT_OTHER);
	take(&gone, UEVENT_CHANGE, SDB, 3);
	take(&gone, UEVENT_CHANGE, SDB, 4);
	assert_int_equal(gone.event_ns, 4);
	take(&gone, UEVENT_REMOVE, BUS, 5);
	take(&gone, UEVENT_CHANGE, SDB, 6);
	take(&gone, UEVENT_REMOVE, SDB, 7);
	assert_int_equal(gone.event.action, UEVENT_REMOVE);
	assert_int_equal(gone.event_ns, 5);
	assert_string_equal(uevent_device(&gone.event), "1-2");
}

static void what_is_known_is_told(void **state)
{
	struct wgone_words words = {.by = NULL};
	char text[160];

	(void)state;
	wgone_tell(&words, text, sizeof(text));
	assert_string_equal(text, "");
	words = (struct wgone_words){.by = "an error", .by_ms = 1503.25};
	wgone_tell(&words, text, sizeof(text));
	assert_string_equal(text, "seen by an error after 1503.2 ms");
	words.action = UEVENT_REMOVE;
	memcpy(words.device, "sdb", 4);
	words.event_ms = 1502;
	wgone_tell(&words, text, sizeof(text));
	assert_string_equal(text, "seen by an error after 1503.2 ms; the "
				  "kernel said remove of sdb after 1502.0 ms");
	words.by = NULL;
	wgone_tell(&words, text, sizeof(text));
	assert_string_equal(text,
			    "the kernel said remove of sdb after 1502.0 ms");
}

/* Silence is no event, with a listener or without one. */
static void nothing_heard_is_nothing(void **state)
{
	struct uevent event;

	(void)state;
	assert_false(uevent_next(NULL, 1, &event));
	uevent_listener_free(NULL);
	uevent_listener_free(uevent_listen());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_read),
		cmocka_unit_test(what_is_no_event_is_none),
		cmocka_unit_test(only_the_drive_s_own_devices_count),
		cmocka_unit_test(the_first_word_that_takes_it_away_is_kept),
		cmocka_unit_test(what_is_known_is_told),
		cmocka_unit_test(nothing_heard_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
