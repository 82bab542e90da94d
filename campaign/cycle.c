/* SPDX-License-Identifier: MIT */
#include "campaign/cycle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/again.h"
#include "campaign/command.h"
#include "campaign/cprogress.h"
#include "campaign/journal.h"
#include "campaign/process.h"
#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define CYCLE_START_LIMIT_MS (24ULL * 3600 * 1000) /* a fill may take long */
#define CYCLE_ABORT_MS       10000

enum cycle_state {
	CYCLE_CHECK,
	CYCLE_START,
	CYCLE_LOAD,
	CYCLE_ASK,
	CYCLE_OFF,
	CYCLE_WATCH,
	CYCLE_DARK,
	CYCLE_RESTORE,
	CYCLE_JUDGE,
	CYCLE_AGAIN,
	CYCLE_ABORT,
	CYCLE_DONE,
};

struct cycle {
	const struct cycle_order *order;
	struct outcome *outcome;
	struct command *writer;
	uint64_t loaded_ns; /* monotonic: the first write had completed */
	uint64_t off_ns;    /* the relay said off */
	uint64_t on_ns;     /* the relay said on */
	bool may_be_off;
	bool must_stop;
};

static uint64_t ms_since(uint64_t then_ns)
{
	return (clock_monotonic_ns() - then_ns) / CLOCK_NS_PER_MS;
}

static uint64_t ms_from_now(uint64_t duration_ms)
{
	return clock_monotonic_ns() + duration_ms * CLOCK_NS_PER_MS;
}

/* The first trouble is the cause; what follows from it is not kept. */
static void trouble(struct cycle *cycle, const char *what)
{
	if (cycle->outcome->trouble[0] == '\0')
		(void)snprintf(cycle->outcome->trouble,
			       sizeof(cycle->outcome->trouble), "%.300s", what);
}

static void stopping_trouble(struct cycle *cycle, const char *what)
{
	trouble(cycle, what);
	cycle->must_stop = true;
}

/* Puts a step in the journal; NAME and VALUE (may be NULL, 0) go with it. */
static int note(struct cycle *cycle, const char *step, const char *name,
		json_int_t value)
{
	json_t *fields =
		json_pack("{s:I}", "cycle", (json_int_t)cycle->order->number);
	struct err err;

	if (name != NULL && fields != NULL)
		(void)json_object_set_new(fields, name, json_integer(value));
	if (journal_write(cycle->order->journal, step, fields, &err) == 0)
		return 0;
	stopping_trouble(cycle, err.text);
	return -1;
}

static void phase(struct cycle *cycle, const char *what)
{
	cprogress_phase(cycle->order->progress, cycle->outcome, what);
}

static bool is_stopped(const struct cycle *cycle)
{
	return rig_is_stopped(cycle->order->rig);
}

/* ---- before the cut ---- */

static enum cycle_state cycle_check(struct cycle *cycle)
{
	struct err err;

	phase(cycle, "checking the power");
	if (note(cycle, "cycle", "after_ms",
		 (json_int_t)cycle->order->plan.after_ms) == -1)
		return CYCLE_DONE;
	if (rig_keep_collector(cycle->order->rig, &err) == -1 ||
	    cycle_ensure_power(cycle->order->rig, false, &err) == -1) {
		trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	return CYCLE_START;
}

/* "run ID" and "cycle N writing"; true at the latter. */
static bool take_writer_line(struct outcome *outcome, const char *line)
{
	unsigned long long number = 0;
	char word[16] = "";

	if (sscanf(line, "run %39s", outcome->run) == 1)
		return false;
	if (sscanf(line, "cycle %llu %15s", &number, word) != 2 ||
	    strcmp(word, "writing") != 0)
		return false;
	outcome->run_cycle = number;
	return true;
}

static void writer_ended_early(struct cycle *cycle)
{
	char why[COMMAND_OUTPUT_BYTES];
	struct err err;

	command_complaint(cycle->writer, why, sizeof(why));
	(void)err_set(&err, "the writer ended before the cut: %.250s", why);
	trouble(cycle, err.text);
}

/* Who it is, so that a campaign that goes on after a crash can tell whether it
 * still lives (P11). */
static int note_writer(struct cycle *cycle)
{
	const pid_t pid = command_pid(cycle->writer);
	struct err err;

	if (journal_write(cycle->order->journal, "writer",
			  json_pack("{s:I, s:i, s:I}", "cycle",
				    (json_int_t)cycle->order->number, "pid",
				    (int)pid, "birth",
				    (json_int_t)process_birth(pid)),
			  &err) == 0)
		return 0;
	stopping_trouble(cycle, err.text);
	return -1;
}

static enum cycle_state cycle_start(struct cycle *cycle)
{
	const struct rig_writing writing = {
		.cycle = cycle->order->number,
		.arm = cycle->order->plan.arm,
		.run = cycle->order->run,
		.seed = cycle->order->plan.workload_seed};
	const uint64_t deadline_ns = ms_from_now(CYCLE_START_LIMIT_MS);
	struct outcome *outcome = cycle->outcome;
	enum command_event event = COMMAND_LINE;
	struct err err;

	phase(cycle, writing.run[0] == '\0' ? "filling the region"
					    : "starting the writer");
	cycle->writer = rig_start_writer(cycle->order->rig, &writing, &err);
	if (cycle->writer == NULL) {
		trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	if (note_writer(cycle) == -1)
		return CYCLE_ABORT;
	do
		event = command_await(cycle->writer, deadline_ns, true,
				      rig_stop_flag(cycle->order->rig));
	while (event == COMMAND_LINE &&
	       !take_writer_line(outcome, command_text(cycle->writer)));
	cycle->loaded_ns = clock_monotonic_ns();

	if (event == COMMAND_ENDED)
		writer_ended_early(cycle);
	if (event == COMMAND_DEADLINE)
		trouble(cycle, "the writer had not begun to write in time");
	if (event == COMMAND_LINE && outcome->run[0] != '\0')
		return CYCLE_LOAD;
	if (event == COMMAND_LINE)
		trouble(cycle, "the writer did not tell its run");
	return CYCLE_ABORT;
}

static enum cycle_state cycle_load(struct cycle *cycle)
{
	char text[64];
	const uint64_t wait_ms = cycle->order->plan.after_ms;
	enum command_event event = COMMAND_ENDED;

	(void)snprintf(text, sizeof(text), "under load for %llu ms",
		       (unsigned long long)wait_ms);
	phase(cycle, text);
	event = command_await(cycle->writer,
			      cycle->loaded_ns + wait_ms * CLOCK_NS_PER_MS,
			      false, rig_stop_flag(cycle->order->rig));
	if (event == COMMAND_DEADLINE)
		return CYCLE_ASK;
	if (event == COMMAND_ENDED)
		writer_ended_early(cycle);
	return CYCLE_ABORT;
}

/* P11: what is acknowledged behind this is a shadow; so it comes first, and a
 * cut that is not on record is not made. */
static enum cycle_state cycle_ask(struct cycle *cycle)
{
	struct err err;

	phase(cycle, "putting the cut on record");
	if (rig_send_event(cycle->order->rig, "cut-asked", cycle->outcome->run,
			   cycle->order->number, &err) == -1) {
		trouble(cycle, err.text);
		return CYCLE_ABORT;
	}
	return note(cycle, "cut-asked", NULL, 0) == -1 ? CYCLE_ABORT
						       : CYCLE_OFF;
}

static enum cycle_state cycle_off(struct cycle *cycle)
{
	const uint64_t asked_ns = clock_monotonic_ns();
	struct outcome *outcome = cycle->outcome;
	struct err err;

	phase(cycle, "cutting the power");
	outcome->was_loaded = !command_has_ended(cycle->writer);
	if (!outcome->was_loaded) {
		writer_ended_early(cycle);
		return CYCLE_ABORT;
	}
	outcome->after_ms = ms_since(cycle->loaded_ns);
	cycle->may_be_off = true;
	if (rig_switch(cycle->order->rig, false, &err) == -1) {
		cycle->off_ns = clock_monotonic_ns();
		stopping_trouble(cycle, err.text);
		return CYCLE_ABORT;
	}
	cycle->off_ns = clock_monotonic_ns();
	outcome->relay_ms = ms_since(asked_ns);
	outcome->was_cut = true;
	(void)note(cycle, "off", "relay_ms", (json_int_t)outcome->relay_ms);
	return CYCLE_WATCH;
}

/* ---- without power ---- */

/*
 * P11: our own writer has no I/O in flight when its process is gone. Where the
 * user named a command, such as ssh, its end says nothing of the writer behind
 * it; only the account that the writer itself left does.
 */
static bool writer_surely_ended(struct cycle *cycle)
{
	struct err err;

	if (rig_settings(cycle->order->rig)->writer[0] == '\0' ||
	    cycle->outcome->writer.is_known ||
	    rig_read_writer(cycle->order->rig, cycle->order->number,
			    &cycle->outcome->writer, &err) == 0)
		return true;
	stopping_trouble(cycle, "the writer's command ended, but the writer "
				"left no account of itself and may still wait "
				"for the drive; the power stays off");
	return false;
}

static void collect_writer(struct cycle *cycle)
{
	struct err err;

	cycle->outcome->gone_ms = ms_since(cycle->off_ns);
	if (rig_read_writer(cycle->order->rig, cycle->order->number,
			    &cycle->outcome->writer, &err) == -1)
		(void)note(cycle, "no account of the writer", NULL, 0);
	(void)note(cycle, "gone", "gone_ms",
		   (json_int_t)cycle->outcome->gone_ms);
	/* For the record only: the cut is proved by what the writer saw. */
	if (cycle->outcome->writer.saw_gone &&
	    rig_send_event(cycle->order->rig, "cut-seen", cycle->outcome->run,
			   cycle->order->number, &err) == -1)
		(void)note(cycle, "cut-seen not on record", NULL, 0);
}

/* P11: from here only the writer's own end leads back to power. A signal does
 * not hurry this. */
static enum cycle_state cycle_watch(struct cycle *cycle)
{
	const uint64_t limit_ms =
		rig_settings(cycle->order->rig)->gone_timeout_ms;
	struct err err;

	phase(cycle, "waiting for the writer to lose the drive");
	if (command_await(cycle->writer, ms_from_now(limit_ms), false, NULL) ==
	    COMMAND_ENDED) {
		collect_writer(cycle);
		return writer_surely_ended(cycle) ? CYCLE_DARK : CYCLE_DONE;
	}
	if (command_is_blocked(cycle->writer)) {
		(void)err_set(
			&err,
			"the writer (process %d) still waits for the "
			"drive %llu ms after the cut; the power stays off",
			(int)command_pid(cycle->writer),
			(unsigned long long)limit_ms);
		stopping_trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	(void)err_set(&err,
		      "the writer goes on %llu ms after \"off\": the drive was "
		      "not cut (wrong outlet, or a contact that sticks)",
		      (unsigned long long)limit_ms);
	stopping_trouble(cycle, err.text);
	cycle->outcome->was_cut = false;
	return CYCLE_ABORT;
}

static enum cycle_state cycle_dark(struct cycle *cycle)
{
	const struct csettings *settings = rig_settings(cycle->order->rig);
	struct err err;

	phase(cycle, "without power");
	if (rig_hook(cycle->order->rig, "after_off", settings->after_off,
		     &err) == -1)
		trouble(cycle, err.text);
	again_sleep_until(cycle->order->rig,
			  cycle->off_ns +
				  cycle->order->plan.off_ms * CLOCK_NS_PER_MS);
	return CYCLE_RESTORE;
}

static enum cycle_state cycle_restore(struct cycle *cycle)
{
	struct rig *rig = cycle->order->rig;
	struct err err;

	phase(cycle, "restoring the power");
	cycle->outcome->off_ms = ms_since(cycle->off_ns);
	if (again_switch_on(cycle->order->rig, &err) == -1) {
		stopping_trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	cycle->on_ns = clock_monotonic_ns();
	cycle->may_be_off = false;
	(void)note(cycle, "on", "off_ms", (json_int_t)cycle->outcome->off_ms);
	if (rig_hook(rig, "after_on", rig_settings(rig)->after_on, &err) == -1)
		trouble(cycle, err.text);
	if (rig_send_event(rig, "restored", cycle->outcome->run,
			   cycle->order->number, &err) == -1)
		(void)note(cycle, "restored not on record", NULL, 0);
	if (cycle->outcome->trouble[0] != '\0' || is_stopped(cycle))
		return CYCLE_DONE;
	return CYCLE_JUDGE;
}

/* ---- after the cut ---- */

/* Only a relay that can be read back, and says on, turns a missing drive into
 * a finding; otherwise it may be the rig (P9). */
static enum cycle_state judge_absence(struct cycle *cycle)
{
	struct outcome_judged *judged = &cycle->outcome->judged;
	enum rig_power power = RIG_POWER_UNREAD;
	char says[OUTCOME_TEXT_BYTES];
	struct err err;
	const bool is_missing =
		rig_device_is_missing(cycle->order->rig, judged);

	(void)snprintf(says, sizeof(says), "%s", judged->reason);
	memset(judged, 0, sizeof(*judged));
	if (is_missing &&
	    rig_read_power(cycle->order->rig, &power, &err) == 0 &&
	    power == RIG_POWER_ON) {
		judged->verdict = OUTCOME_GONE;
		(void)snprintf(judged->reason, sizeof(judged->reason),
			       "the drive did not come back: %.250s", says);
		return CYCLE_AGAIN;
	}
	(void)err_set(&err, "the drive did not come back: %.250s", says);
	stopping_trouble(cycle, err.text);
	return CYCLE_DONE;
}

static enum cycle_state cycle_judge(struct cycle *cycle)
{
	struct rig *rig = cycle->order->rig;
	struct outcome_judged *judged = &cycle->outcome->judged;
	struct err err;

	phase(cycle, "reading the drive");
	if (again_verify(rig, cycle->outcome, false, judged, &err) == -1) {
		memset(judged, 0, sizeof(*judged));
		trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	if (rig_target_is_absent(rig, judged))
		return judge_absence(cycle);
	cycle->outcome->judged_ms = ms_since(cycle->on_ns);
	return judged->verdict == OUTCOME_BROKEN ? CYCLE_AGAIN : CYCLE_DONE;
}

/* The first verdict stands whatever happens here. */
static enum cycle_state cycle_again(struct cycle *cycle)
{
	struct outcome *outcome = cycle->outcome;
	struct err err;

	phase(cycle, "looking again after a clean power cycle");
	(void)note(cycle, "look again", NULL, 0);
	if (again_look(cycle->order->rig, outcome, cycle->order->plan.off_ms,
		       &outcome->second, &err) == -1) {
		(void)note(cycle, "power not restored", NULL, 0);
		cycle->must_stop = true;
	}
	if (outcome->judged.verdict == OUTCOME_GONE &&
	    outcome->second != OUTCOME_HEALED)
		cycle->must_stop = true;
	return CYCLE_DONE;
}

/* ---- the way out ---- */

static enum cycle_state cycle_abort(struct cycle *cycle)
{
	struct err err;

	phase(cycle, "stopping the writer");
	if (!command_end(cycle->writer, CYCLE_ABORT_MS)) {
		(void)err_set(&err,
			      "the writer (process %d) cannot be ended; the "
			      "power stays as it is",
			      (int)command_pid(cycle->writer));
		stopping_trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	if (!cycle->may_be_off || !writer_surely_ended(cycle))
		return CYCLE_DONE;
	return CYCLE_RESTORE;
}

static enum cycle_state (*const cycle_steps[])(struct cycle *) = {
	[CYCLE_CHECK] = cycle_check, [CYCLE_START] = cycle_start,
	[CYCLE_LOAD] = cycle_load,   [CYCLE_ASK] = cycle_ask,
	[CYCLE_OFF] = cycle_off,     [CYCLE_WATCH] = cycle_watch,
	[CYCLE_DARK] = cycle_dark,   [CYCLE_RESTORE] = cycle_restore,
	[CYCLE_JUDGE] = cycle_judge, [CYCLE_AGAIN] = cycle_again,
	[CYCLE_ABORT] = cycle_abort,
};

enum cycle_end cycle_run(const struct cycle_order *order,
			 struct outcome *outcome)
{
	struct cycle cycle = {.order = order, .outcome = outcome};
	enum cycle_state state = CYCLE_CHECK;

	memset(outcome, 0, sizeof(*outcome));
	outcome->cycle = order->number;
	outcome->arm = order->plan.arm;
	outcome->after_ms = order->plan.after_ms;
	while (state != CYCLE_DONE)
		state = cycle_steps[state](&cycle);
	command_free(cycle.writer);

	if (cycle.must_stop)
		return CYCLE_STOP;
	/* A cycle that has its verdict is complete, signal or not. */
	if (rig_is_stopped(order->rig) &&
	    outcome->judged.verdict == OUTCOME_NONE)
		return CYCLE_INTERRUPTED;
	return CYCLE_GO_ON;
}

int cycle_ensure_power(struct rig *rig, bool may_restore, struct err *err)
{
	enum rig_power power = RIG_POWER_UNREAD;

	if (rig_read_power(rig, &power, err) == -1)
		return -1;
	if (power != RIG_POWER_OFF)
		return 0;
	if (!may_restore)
		return err_set(err, "%s is off; switch it on first",
			       rig_settings(rig)->outlet);
	if (rig_switch(rig, true, err) == -1)
		return -1;
	return rig_hook(rig, "after_on", rig_settings(rig)->after_on, err);
}
