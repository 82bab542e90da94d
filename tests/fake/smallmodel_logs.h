/* SPDX-License-Identifier: MIT */
/*
 * smallmodel_logs - every log that can have survived a cut: its last
 * acknowledgements missing, "cut asked" anywhere among them, with and without
 * the writer's last word.
 */
#ifndef TESTS_FAKE_SMALLMODEL_LOGS_H
#define TESTS_FAKE_SMALLMODEL_LOGS_H

#include "tests/fake/smallmodel.h"

struct small_check;
struct small_knowledge;

/* Calls EACH for every log of PAST that may have survived, different in what
 * it promises. With OLD also no log at all, and the log of an earlier cycle. */
void smallmodel_logs_each(
	struct small_check *check, const struct small_past *past, bool with_old,
	void (*each)(struct small_check *check, const struct small_past *past,
		     const struct small_log *log,
		     const struct small_knowledge *knowledge));

#endif
