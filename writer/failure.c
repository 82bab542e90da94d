/* SPDX-License-Identifier: MIT */
#include "writer/failure.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/err.h"
#include "common/format/run.h"
#include "common/target/elision.h"
#include "common/target/target.h"
#include "writer/wstop.h"

#define ANSWER_MS 1000 /* tells a dead drive from a bad block */

static void end_run(const struct failure_place *place, int errnum,
		    const struct err *err)
{
	bool is_told = errnum == ENODEV || errnum == ENXIO ||
		       errnum == ENOTCONN || errnum == ESHUTDOWN;
	bool is_gone = is_told || target_is_gone(place->target);

	if (is_gone)
		wstop_note_gone(place->stop,
				is_told ? "an error" : "its device");
	wstop_fail(place->stop, err, is_gone);
	if (is_gone || target_answers(place->target, ANSWER_MS))
		return;
	wstop_note_gone(place->stop, "reads that fail");
	wstop_fail(place->stop, err, true);
}

void failure_of_write(const struct failure_place *place, uint64_t offset_bytes,
		      int64_t result)
{
	int errnum = result < 0 ? (int)-result : EIO;
	struct err err;

	if (result < 0)
		(void)err_sys(&err, errnum,
			      "cannot write %u bytes at %llu of %s",
			      place->run->block_bytes,
			      (unsigned long long)offset_bytes,
			      target_name(place->target));
	else
		(void)err_set(
			&err, "short write at %llu of %s: %llu bytes of %u",
			(unsigned long long)offset_bytes,
			target_name(place->target), (unsigned long long)result,
			place->run->block_bytes);
	end_run(place, errnum, &err);
}

void failure_of_queue(const struct failure_place *place, int errnum,
		      const char *what)
{
	struct err err;

	(void)err_sys(&err, errnum, "cannot %s %s", what,
		      target_name(place->target));
	end_run(place, errnum, &err);
}

void failure_of_elision(const struct failure_place *place)
{
	char text[ELISION_TEXT_BYTES];
	struct err err;

	elision_tell(place->target, text, sizeof(text));
	(void)err_set(&err, "the system has stopped sending flushes to %s: %s",
		      target_name(place->target), text);
	wstop_fail_unsent(place->stop, &err);
}
