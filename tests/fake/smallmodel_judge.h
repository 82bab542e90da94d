/* SPDX-License-Identifier: MIT */
/*
 * smallmodel_judge - the verifier's own code on one end of a small experiment:
 * ledger, expect, judge, findings and conclude, joined as the program does it.
 */
#ifndef TESTS_FAKE_SMALLMODEL_JUDGE_H
#define TESTS_FAKE_SMALLMODEL_JUDGE_H

#include "tests/fake/smallmodel.h"
#include "verifier/expect.h"

struct evidence;
struct ledger;

/* A log and what the media prove, turned into promises. */
struct small_scene {
	struct ledger *ledger;
	struct promise promises[SMALL_SLOTS_MAX];
	uint8_t by_log, by_media;
};

/* Calls SAY for every statement of LOG, the run and each cycle with its
 * reservations among them, in order. */
void smallmodel_judge_tell(
	const struct small_world *world, const struct small_past *past,
	const struct small_log *log,
	void (*say)(void *context, const struct ackbody *body), void *context);

struct ledger *smallmodel_judge_ledger(const struct small_world *world,
				       const struct small_past *past,
				       const struct small_log *log);

/* Takes LEDGER over. */
void smallmodel_judge_open(struct small_scene *scene,
			   const struct small_world *world,
			   struct ledger *ledger,
			   const struct evidence *evidence);
void smallmodel_judge_close(struct small_scene *scene);

void smallmodel_judge(const struct small_world *world,
		      const struct small_scene *scene,
		      const struct small_media *media,
		      struct small_outcome *outcome);

#endif
