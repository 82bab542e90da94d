/* SPDX-License-Identifier: MIT */
#include "writer/wflush.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/target/elision.h"
#include "common/target/target.h"
#include "writer/durable.h"
#include "writer/fill.h"
#include "writer/wprogress.h"
#include "writer/wsettings.h"
#include "writer/wstop.h"
#include "writer/wtrace.h"

#define ASK_MS 120000 /* for the first flush */

static void note(const char *text)
{
	char line[FLUSHWAY_TEXT_BYTES];

	(void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"),
		       text);
	wprogress_note(line);
}

/* ---- before the cycle ---- */

/* Is there anything to be flushed? The fill is, too. */
static bool has_flushes(const struct wflush *flush)
{
	return flush->settings->sync != ACKBODY_SYNC_NONE ||
	       !flush->settings->is_resume;
}

void wflush_note_unsent(struct wflush *flush, const struct err *why)
{
	if (flush->words->unsent[0] == '\0')
		(void)snprintf(flush->words->unsent,
			       sizeof(flush->words->unsent), "%.*s",
			       (int)strcspn(why->text, "\n"), why->text);
}

/* What is refused, unless the user has accepted it: then it is for the log. */
static int refuse_or_accept(struct wflush *flush, const struct err *why,
			    struct err *err)
{
	if (!flush->settings->accepts_elision) {
		*err = *why;
		return err_hint(err, "--accept-elided-flush runs it all the "
				     "same; there will be no verdict");
	}
	(void)snprintf(flush->words->unsent, sizeof(flush->words->unsent),
		       "accepted: %.*s", (int)strcspn(why->text, "\n"),
		       why->text);
	note("warning: there will be no verdict about this run "
	     "(--accept-elided-flush):");
	note(why->text);
	elision_allow(flush->target, true);
	proof_end(&flush->proof);
	return 0;
}

static int refuse_way(struct wflush *flush, struct err *err)
{
	const struct flushway *way = &flush->preflight.way;
	struct err why;

	(void)err_set(&why, "--sync %s: no flush would reach %.120s: %.240s",
		      flush->settings->sync_text, target_name(flush->target),
		      way->text);
	if (way->remedy[0] != '\0')
		(void)err_hint(&why, "%s", way->remedy);
	return refuse_or_accept(flush, &why, err);
}

/* It was switched since it was looked at. */
static int check_again(struct wflush *flush, struct err *err)
{
	char text[ELISION_TEXT_BYTES];
	struct err why;

	if (target_is_write_back(flush->target))
		return 0;
	elision_tell(flush->target, text, sizeof(text));
	(void)err_set(&why, "no flush would reach %.120s: %s",
		      target_name(flush->target), text);
	return refuse_or_accept(flush, &why, err);
}

static int ask(struct wflush *flush, struct err *err)
{
	struct err why;

	if (proof_begin(&flush->proof, flush->target, err) < 0 ||
	    proof_ask(&flush->proof, flush->target, ASK_MS, err) < 0)
		return -1;
	if (!preflight_must_arrive(&flush->preflight) ||
	    !proof_is_counted(&flush->proof))
		return 0;
	if (proof_judge(&flush->proof, &why) < 0)
		return refuse_or_accept(flush, &why, err);
	flush->is_proven = true;
	return 0;
}

static int settle(struct wflush *flush, struct err *err)
{
	switch (flush->preflight.way.answer) {
	case FLUSHWAY_NO:
		return refuse_way(flush, err);
	case FLUSHWAY_NOT_NEEDED:
		elision_allow(flush->target, false);
		return 0;
	case FLUSHWAY_UNKNOWN:
	case FLUSHWAY_YES:
		break;
	}
	if (check_again(flush, err) < 0)
		return -1;
	return flush->words->unsent[0] == '\0' ? ask(flush, err) : 0;
}

static int begin_trace(struct wflush *flush, struct err *err)
{
	struct stack *stack;

	if (!flush->settings->wants_trace)
		return 0;
	stack = elision_walk(flush->target);
	if (stack == NULL)
		return err_set(err,
			       "--trace: no drive of this system lies below "
			       "%s",
			       target_name(flush->target));
	flush->trace = wtrace_open(stack, err);
	stack_close(stack);
	return flush->trace == NULL ? -1 : 0;
}

static void say_look(const struct preflight *preflight)
{
	char text[2 * FLUSHWAY_TEXT_BYTES];

	preflight_tell(preflight, text, sizeof(text));
	wprogress_note(text);
	for (unsigned int i = 0;
	     preflight_warning(preflight, i, text, sizeof(text)); i++)
		wprogress_note(text);
}

int wflush_begin(struct wflush *flush, const struct wsettings *settings,
		 struct target *target, struct wflush_words *words,
		 struct err *err)
{
	memset(flush, 0, sizeof(*flush));
	memset(words, 0, sizeof(*words));
	flush->settings = settings;
	flush->target = target;
	flush->words = words;
	words->is_fua = settings->sync == ACKBODY_SYNC_FUA;
	if (preflight_look(&flush->preflight, target,
			   settings->engine == TARGET_ENGINE_NATIVE, err) < 0)
		return -1;
	words->has_answer = true;
	words->answer = flush->preflight.way.answer;
	(void)snprintf(words->way, sizeof(words->way), "%s",
		       flush->preflight.way.text);
	say_look(&flush->preflight);
	if (has_flushes(flush) && settle(flush, err) < 0)
		return -1;
	return begin_trace(flush, err);
}

int wflush_filled(struct wflush *flush, struct err *err)
{
	struct err why;

	if (!proof_is_counted(&flush->proof) ||
	    !target_info(flush->target)->has_flush)
		return 0;
	if (proof_judge(&flush->proof, &why) < 0)
		return refuse_or_accept(flush, &why, err);
	flush->is_proven = true;
	return 0;
}

/* The first is the one that decides about verdicts. */
bool wflush_note(const struct wflush *flush, unsigned int i,
		 enum ackbody_event *event, char *text, size_t room)
{
	bool is_unsent = flush->words->unsent[0] != '\0';

	*event = ACKBODY_EVENT_NOTE;
	if (is_unsent && i == 0) {
		*event = ACKBODY_EVENT_UNSENT;
		(void)snprintf(text, room, "%s", flush->words->unsent);
		return true;
	}
	i -= is_unsent;
	if (flush->is_proven && i == 0) {
		(void)snprintf(text, room,
			       "flush proof: what was flushed before the cycle "
			       "was counted by the driver");
		return true;
	}
	i -= flush->is_proven;
	return preflight_note(&flush->preflight, i, text, room);
}

/* ---- while it runs ---- */

void wflush_start(struct wflush *flush, unsigned int streams)
{
	proof_start(&flush->proof, streams);
}

void wflush_watch(struct wflush *flush, uint64_t flushes, struct wstop *stop)
{
	struct err why;

	if (wstop_has_failed(stop) ||
	    proof_look(&flush->proof, flushes, false, &why) == 0 ||
	    target_is_gone(flush->target))
		return;
	(void)err_prefix(&why, "the system has stopped sending flushes");
	wstop_fail_unsent(stop, &why);
}

/* ---- behind it ---- */

static void copy_rows(struct wflush *flush)
{
	struct wflush_words *words = flush->words;
	const struct flushcount_row *rows;
	size_t count = proof_rows(&flush->proof, &rows);

	words->count = count < WFLUSH_ROWS_MAX ? count : WFLUSH_ROWS_MAX;
	for (size_t i = 0; i < words->count; i++)
		words->rows[i] = rows[i];
}

/* P9: some of them not having been sent is enough. Between a file system and a
 * drive one FLUSH may have served two. */
static void judge_elided(struct wflush *flush)
{
	const struct wflush_words *words = flush->words;
	struct err why;

	if (!words->has_elided || words->elided == 0 ||
	    flush->preflight.has_loop ||
	    !target_info(flush->target)->is_block_device ||
	    target_is_gone(flush->target))
		return;
	(void)err_set(&why,
		      "%" PRIu64 " of %" PRIu64
		      " flushes were reported complete and have reached no "
		      "driver",
		      words->elided, words->asked);
	wflush_note_unsent(flush, &why);
}

void wflush_finish(struct wflush *flush, uint64_t flushes,
		   const struct ackbody_cycle *cycle)
{
	struct wflush_words *words = flush->words;
	const struct flushcount_row *rows;
	/* One at a time, as stream_new() has it. */
	bool may_have_merged = cycle->streams > 1 || cycle->queue_depth / 2 > 1;
	struct err why;
	size_t count;

	words->asked = flushes;
	if (proof_look(&flush->proof, flushes, true, &why) < 0 &&
	    !target_is_gone(flush->target))
		wflush_note_unsent(flush, &why);
	count = proof_rows(&flush->proof, &rows);
	words->has_elided = proof_elided(rows, count, flushes, may_have_merged,
					 &words->elided);
	judge_elided(flush);
	copy_rows(flush);
	words->has_trace = flush->trace != NULL;
	if (flush->trace != NULL)
		wtrace_finish(flush->trace, &words->trace);
}

void wflush_mark(struct wflush *flush, struct run *run)
{
	char text[2 * FLUSHWAY_TEXT_BYTES];
	struct err err;

	if (run->is_unsent || flush->words->unsent[0] == '\0')
		return;
	elision_allow(flush->target, true); /* nothing more is proven by it */
	run->is_unsent = fill_mark_unsent(flush->target, run, &err) == 0;
	if (run->is_unsent)
		return;
	(void)snprintf(text, sizeof(text),
		       "warning: the label could not be marked as that of a "
		       "run whose flushes were not sent: %.*s; do not verify "
		       "it without its log",
		       (int)strcspn(err.text, "\n"), err.text);
	wprogress_note(text);
}

void wflush_free(struct wflush *flush)
{
	preflight_free(&flush->preflight);
	proof_end(&flush->proof);
	wtrace_free(flush->trace);
	flush->trace = NULL;
}

/* ---- in words ---- */

static void tell_proof(const struct wflush_words *words, char *text,
		       size_t room)
{
	char counted[256], elided[64] = "";

	proof_tell(words->rows, words->count, counted, sizeof(counted));
	if (words->has_elided)
		(void)snprintf(elided, sizeof(elided), "; elided %" PRIu64,
			       words->elided);
	(void)snprintf(text, room,
		       "flush proof: asked %" PRIu64
		       "; completed by the driver: %s%s%s",
		       words->asked, counted, elided,
		       words->is_fua ? "; FUA writes are not counted" : "");
}

static void tell_trace(const struct wflush_words *words, char *text,
		       size_t room)
{
	const struct traceline_sums *sums = &words->trace;

	(void)snprintf(text, room,
		       "trace: FLUSH issued %" PRIu64 ", completed %" PRIu64
		       ", failed %" PRIu64 "; FUA writes issued %" PRIu64
		       ", completed %" PRIu64 ", failed %" PRIu64
		       "; flush commands %" PRIu64,
		       sums->flushes_issued, sums->flushes_completed,
		       sums->flushes_failed, sums->fua_issued,
		       sums->fua_completed, sums->fua_failed, sums->commands);
}

static bool tell_doubt(const struct wflush_words *words, unsigned int i,
		       char *text, size_t room)
{
	const struct traceline_sums *sums = &words->trace;

	if (sums->repeated > 0 && i-- == 0)
		(void)snprintf(text, room,
			       "trace: a flush or FUA write was repeated by "
			       "the kernel, %" PRIu64 " times",
			       sums->repeated);
	else if (sums->retried > 0 && i-- == 0)
		(void)snprintf(text, room,
			       "trace: %" PRIu64 " commands were sent again by "
			       "the NVMe driver",
			       sums->retried);
	else if (sums->lost > 0 && i-- == 0)
		(void)snprintf(text, room,
			       "trace: %" PRIu64 " events or more were lost",
			       sums->lost);
	else
		return false;
	return true;
}

bool wflush_end_note(const struct wflush_words *words, unsigned int i,
		     char *text, size_t room)
{
	if (!words->has_answer)
		return false;
	if (i == 0) {
		tell_proof(words, text, room);
		return true;
	}
	if (!words->has_trace)
		return false;
	if (i == 1) {
		tell_trace(words, text, room);
		return true;
	}
	return tell_doubt(words, i - 2, text, room);
}
