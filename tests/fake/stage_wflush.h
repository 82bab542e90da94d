/* SPDX-License-Identifier: MIT */
/*
 * stage_wflush - what test_wflush and test_wflush_more play on: what is looked
 * at and what is counted is replaced here by what the test says. It is included
 * once by either, and stands in the place of preflight.c and proof.c.
 */
#ifndef TESTS_FAKE_STAGE_WFLUSH_H
#define TESTS_FAKE_STAGE_WFLUSH_H

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/fake/drive_fake.h"
#include "writer/wflush.h"
#include "writer/wsettings.h"
#include "writer/wstop.h"

static struct {
	enum flushway_answer answer;
	bool flushes_always, is_counted, has_loop;
	uint64_t elided;
	int judged, looked; /* what proof_judge() and proof_look() return */
	unsigned int asks, judges, looks, streams;
	bool was_last;
} told;

int preflight_look(struct preflight *preflight, const struct target *target,
		   bool is_native, struct err *err)
{
	(void)err;
	memset(preflight, 0, sizeof(*preflight));
	preflight->target = target;
	preflight->is_native = is_native;
	preflight->way.answer = told.answer;
	(void)snprintf(preflight->way.text, sizeof(preflight->way.text),
		       "because of it");
	(void)snprintf(preflight->way.remedy, sizeof(preflight->way.remedy),
		       "mend it");
	preflight->mount.flushes_always = told.flushes_always;
	preflight->has_loop = told.has_loop;
	return 0;
}

bool preflight_must_arrive(const struct preflight *preflight)
{
	return target_info(preflight->target)->is_block_device ||
	       preflight->mount.flushes_always;
}

void preflight_free(struct preflight *preflight)
{
	(void)preflight;
}

void preflight_tell(const struct preflight *preflight, char *text, size_t room)
{
	(void)preflight;
	(void)snprintf(text, room, "it was looked at");
}

bool preflight_warning(const struct preflight *preflight, unsigned int i,
		       char *text, size_t room)
{
	(void)preflight;
	(void)snprintf(text, room, "beware");
	return i == 0;
}

bool preflight_note(const struct preflight *preflight, unsigned int i,
		    char *text, size_t room)
{
	(void)preflight;
	(void)snprintf(text, room, "look %u", i);
	return i < 2;
}

int proof_begin(struct proof *proof, const struct target *target,
		struct err *err)
{
	(void)proof;
	(void)target;
	(void)err;
	return 0;
}

void proof_end(struct proof *proof)
{
	(void)proof;
	told.is_counted = false;
}

bool proof_is_counted(const struct proof *proof)
{
	(void)proof;
	return told.is_counted;
}

int proof_ask(const struct proof *proof, struct target *target, int timeout_ms,
	      struct err *err)
{
	(void)proof;
	(void)target;
	(void)err;
	assert_true(timeout_ms > 0);
	told.asks++;
	return 0;
}

int proof_judge(struct proof *proof, struct err *err)
{
	(void)proof;
	told.judges++;
	return told.judged == 0 ? 0 : err_set(err, "none reached sdb\nhint: x");
}

void proof_start(struct proof *proof, unsigned int streams)
{
	(void)proof;
	told.streams = streams;
}

int proof_look(struct proof *proof, uint64_t flushes, bool is_last,
	       struct err *err)
{
	(void)proof;
	(void)flushes;
	told.looks++;
	told.was_last = is_last;
	return told.looked == 0 ? 0 : err_set(err, "none reached sdb\nhint: x");
}

size_t proof_rows(struct proof *proof, const struct flushcount_row **rows)
{
	static struct flushcount_row row = {.name = "sdb",
					    .is_counted = true,
					    .is_top = true,
					    .first = 3,
					    .last = 10};

	(void)proof;
	*rows = &row;
	return 1;
}

bool proof_elided(const struct flushcount_row *rows, size_t count,
		  uint64_t asked, bool may_have_merged, uint64_t *elided)
{
	(void)rows;
	assert_int_equal(count, 1);
	assert_int_equal(asked, 7 + told.elided);
	*elided = told.elided;
	return !may_have_merged;
}

void proof_tell(const struct flushcount_row *rows, size_t count, char *text,
		size_t room)
{
	(void)rows;
	(void)snprintf(text, room, "sdb 7");
	assert_int_equal(count, 1);
}

/* ---- */

struct scene {
	struct drive_fake *drive;
	struct wsettings settings;
	struct wflush flush;
	struct wflush_words words;
	struct wstop stop;
	struct run run;
	struct err err;
};

static struct scene scene;

static inline int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	memset(&told, 0, sizeof(told));
	told.is_counted = true;
	scene.run = (struct run){
		.id = {1},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 1,
		.is_filled = true,
	};
	scene.drive = drive_fake_new(scene.run.size_bytes, 512, NULL);
	drive_fake_target(scene.drive)->info.is_block_device = true;
	wsettings_init(&scene.settings);
	wstop_init(&scene.stop);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	wflush_free(&scene.flush);
	drive_fake_free(scene.drive);
	return 0;
}

static inline int begin(enum flushway_answer answer)
{
	told.answer = answer;
	return wflush_begin(&scene.flush, &scene.settings,
			    drive_fake_target(scene.drive), &scene.words,
			    &scene.err);
}

static inline bool is_write_back(void)
{
	return target_is_write_back(drive_fake_target(scene.drive));
}

static inline void elide(void)
{
	drive_fake_target(scene.drive)->info.is_write_back = false;
}

static inline void expect_note(unsigned int i, enum ackbody_event event,
			       const char *words)
{
	enum ackbody_event found;
	char text[256];

	assert_true(wflush_note(&scene.flush, i, &found, text, sizeof(text)));
	assert_int_equal(found, event);
	if (strstr(text, words) == NULL)
		fail_msg("%s", text);
}

#endif
