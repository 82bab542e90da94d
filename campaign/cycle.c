/* SPDX-License-Identifier: MIT */
#include "campaign/cycle.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/beside.h"
#include "campaign/cevidence.h"
#include "campaign/command.h"
#include "campaign/cpower.h"
#include "campaign/cyclestate.h"
#include "campaign/cycleverdict.h"
#include "campaign/hostcycle.h"
#include "campaign/journal.h"
#include "campaign/process.h"
#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define CYCLE_START_LIMIT_MS (24ULL * 3600 * 1000) /* a fill may take long */
#define CYCLE_ABORT_MS       10000

/* ---- before the cut ---- */

static bool cuts_host(const struct cycle *cycle)
{
	return csettings_cuts_host(rig_settings(cycle->order->rig));
}

static enum cycle_state cycle_check(struct cycle *cycle)
{
	struct err err;

	cyclestate_phase(cycle, "checking the power");
	if (cyclestate_note(cycle, "cycle", "after_ms",
			    (int64_t)cycle->order->plan.after_ms) == -1)
		return CYCLE_DONE;
	if (rig_keep_collector(cycle->order->rig, &err) == -1 ||
	    cpower_ensure(cycle->order->rig, false, &err) == -1) {
		cyclestate_trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	if (cuts_host(cycle) && !hostcycle_check(cycle))
		return CYCLE_DONE;
	cevidence_before(cycle->order->rig, cycle->outcome);
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
	cyclestate_trouble(cycle, err.text);
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
	cyclestate_stop(cycle, err.text);
	return -1;
}

static enum cycle_state cycle_start(struct cycle *cycle)
{
	const struct beside_writing writing = {
		.cycle = cycle->order->number,
		.arm = cycle->order->plan.arm,
		.run = cycle->order->run,
		.seed = cycle->order->plan.workload_seed};
	const uint64_t deadline_ns = cyclestate_from_now(CYCLE_START_LIMIT_MS);
	struct outcome *outcome = cycle->outcome;
	const uint64_t begun_ns = clock_monotonic_ns();
	enum command_event event = COMMAND_LINE;
	struct err err;

	cyclestate_phase(cycle, writing.run[0] == '\0' ? "filling the region"
						       : "starting the writer");
	cycle->writer = beside_start_writer(cycle->order->rig, &writing, &err);
	if (cycle->writer == NULL) {
		cyclestate_trouble(cycle, err.text);
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
	cyclestate_waited(cycle, begun_ns);

	if (event == COMMAND_ENDED)
		writer_ended_early(cycle);
	if (event == COMMAND_DEADLINE)
		cyclestate_trouble(cycle,
				   "the writer had not begun to write in time");
	if (event == COMMAND_LINE && outcome->run[0] != '\0')
		return CYCLE_LOAD;
	if (event == COMMAND_LINE)
		cyclestate_trouble(cycle, "the writer did not tell its run");
	return CYCLE_ABORT;
}

static enum cycle_state load_drive(struct cycle *cycle, uint64_t wait_ms)
{
	const enum command_event event = command_await(
		cycle->writer, cycle->loaded_ns + wait_ms * CLOCK_NS_PER_MS,
		false, rig_stop_flag(cycle->order->rig));

	if (event == COMMAND_DEADLINE)
		return CYCLE_ASK;
	if (event == COMMAND_ENDED)
		writer_ended_early(cycle);
	return CYCLE_ABORT;
}

static enum cycle_state cycle_load(struct cycle *cycle)
{
	const uint64_t wait_ms = cycle->order->plan.after_ms;
	const uint64_t begun_ns = clock_monotonic_ns();
	enum cycle_state next = CYCLE_ABORT;
	char text[64];

	(void)snprintf(text, sizeof(text), "under load for %llu ms",
		       (unsigned long long)wait_ms);
	cyclestate_phase(cycle, text);
	next = cuts_host(cycle) ? hostcycle_load(cycle, wait_ms)
				: load_drive(cycle, wait_ms);
	cyclestate_waited(cycle, begun_ns);
	return next;
}

/* P11: what is acknowledged behind this is a shadow; so it comes first, and a
 * cut that is not on record is not made. */
static enum cycle_state cycle_ask(struct cycle *cycle)
{
	struct err err;

	cyclestate_phase(cycle, "putting the cut on record");
	if (rig_send_event(cycle->order->rig, "cut-asked", cycle->outcome->run,
			   cycle->order->number, &err) == -1) {
		cyclestate_trouble(cycle, err.text);
		return CYCLE_ABORT;
	}
	return cyclestate_note(cycle, "cut-asked", NULL, 0) == -1 ? CYCLE_ABORT
								  : CYCLE_OFF;
}

static enum cycle_state cycle_off(struct cycle *cycle)
{
	const uint64_t asked_ns = clock_monotonic_ns();
	struct outcome *outcome = cycle->outcome;
	struct crelay_told told;
	struct err err;

	cyclestate_phase(cycle, "cutting the power");
	outcome->was_loaded = !command_has_ended(cycle->writer);
	if (!outcome->was_loaded) {
		writer_ended_early(cycle);
		return CYCLE_ABORT;
	}
	if (cuts_host(cycle))
		outcome->host.was_writing =
			cycle->log.grown_ns != 0 &&
			cyclestate_ms_since(cycle->log.grown_ns) <=
				CHOST_FRESH_MS;
	outcome->after_ms = cyclestate_ms_since(cycle->loaded_ns);
	cycle->may_be_off = true;
	if (rig_switch(cycle->order->rig, false, &told, &err) == -1) {
		cycle->off_ns = clock_monotonic_ns();
		cyclestate_stop(cycle, err.text);
		return CYCLE_ABORT;
	}
	cycle->off_ns = clock_monotonic_ns();
	outcome->relay_ms = cyclestate_ms_since(asked_ns);
	outcome->skew_us = told.skew_us;
	outcome->was_cut = true;
	(void)cyclestate_note(cycle, "off", "relay_ms",
			      (int64_t)outcome->relay_ms);
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
	    beside_read_writer(cycle->order->rig, cycle->order->number,
			       &cycle->outcome->writer, &err) == 0)
		return true;
	cyclestate_stop(cycle, "the writer's command ended, but the writer "
			       "left no account of itself and may still wait "
			       "for the drive; the power stays off");
	return false;
}

static void collect_writer(struct cycle *cycle)
{
	struct err err;

	cycle->outcome->gone_ms = cyclestate_ms_since(cycle->off_ns);
	if (beside_read_writer(cycle->order->rig, cycle->order->number,
			       &cycle->outcome->writer, &err) == -1)
		(void)cyclestate_note(cycle, "no account of the writer", NULL,
				      0);
	(void)cyclestate_note(cycle, "gone", "gone_ms",
			      (int64_t)cycle->outcome->gone_ms);
	/* For the record only: the cut is proved by what the writer saw. */
	if (cycle->outcome->writer.saw_gone &&
	    rig_send_event(cycle->order->rig, "cut-seen", cycle->outcome->run,
			   cycle->order->number, &err) == -1)
		(void)cyclestate_note(cycle, "cut-seen not on record", NULL, 0);
}

/* P11: from here only the writer's own end leads back to power. A signal does
 * not hurry this. */
static enum cycle_state cycle_watch(struct cycle *cycle)
{
	const uint64_t limit_ms =
		rig_settings(cycle->order->rig)->gone_timeout_ms;
	const uint64_t begun_ns = clock_monotonic_ns();
	enum command_event event = COMMAND_ENDED;
	struct err err;

	cyclestate_phase(cycle, "waiting for the writer to lose the drive");
	if (cuts_host(cycle))
		return hostcycle_watch(cycle);
	event = command_await(cycle->writer, cyclestate_from_now(limit_ms),
			      false, NULL);
	cyclestate_waited(cycle, begun_ns);
	if (event == COMMAND_ENDED) {
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
		cyclestate_stop(cycle, err.text);
		return CYCLE_DONE;
	}
	(void)err_set(&err,
		      "the writer goes on %llu ms after \"off\": the drive was "
		      "not cut (wrong outlet, or a contact that sticks)",
		      (unsigned long long)limit_ms);
	cyclestate_stop(cycle, err.text);
	cycle->outcome->was_cut = false;
	return CYCLE_ABORT;
}

static enum cycle_state cycle_dark(struct cycle *cycle)
{
	const struct csettings *settings = rig_settings(cycle->order->rig);
	const uint64_t begun_ns = clock_monotonic_ns();
	struct err err;

	cyclestate_phase(cycle, "without power");
	if (rig_hook(cycle->order->rig, "after_off", settings->after_off,
		     &err) == -1)
		cyclestate_trouble(cycle, err.text);
	cpower_sleep_until(cycle->order->rig,
			   cycle->off_ns +
				   cycle->order->plan.off_ms * CLOCK_NS_PER_MS);
	cyclestate_waited(cycle, begun_ns);
	return CYCLE_RESTORE;
}

/* No writer is left (P11); what the drive does now is its recovery. False: the
 * power cannot be given back. */
static bool cut_again(struct cycle *cycle)
{
	struct rig *rig = cycle->order->rig;
	struct err err;

	for (uint64_t i = 0; i < cycle->order->whole->recuts; i++) {
		const struct plan_recut recut = plan_recut(
			cycle->order->whole, cycle->order->number, i);

		cyclestate_phase(cycle, "cutting the power of a drive that is "
					"recovering");
		cpower_sleep_until(rig,
				   clock_monotonic_ns() +
					   recut.after_ms * CLOCK_NS_PER_MS);
		if (rig_is_stopped(rig))
			return true;
		if (cyclestate_note(cycle, "recut", "off_ms",
				    (int64_t)recut.off_ms) == -1)
			return true;
		if (rig_interrupt(rig, recut.off_ms, &err) == 0) {
			cycle->outcome->recuts++;
			continue;
		}
		cyclestate_trouble(cycle, err.text);
		if (cpower_on(rig, &err) == 0)
			return true;
		cyclestate_stop(cycle, err.text);
		return false;
	}
	return true;
}

static enum cycle_state cycle_restore(struct cycle *cycle)
{
	struct rig *rig = cycle->order->rig;
	uint64_t begun_ns = 0;
	struct err err;

	cyclestate_phase(cycle, "restoring the power");
	cycle->outcome->off_ms = cyclestate_ms_since(cycle->off_ns);
	if (cpower_on(cycle->order->rig, &err) == -1) {
		cyclestate_stop(cycle, err.text);
		return CYCLE_DONE;
	}
	begun_ns = clock_monotonic_ns();
	if (!cut_again(cycle))
		return CYCLE_DONE;
	cyclestate_waited(cycle, begun_ns);
	cycle->on_ns = clock_monotonic_ns();
	cycle->may_be_off = false;
	(void)cyclestate_note(cycle, "on", "off_ms",
			      (int64_t)cycle->outcome->off_ms);
	begun_ns = clock_monotonic_ns();
	if (rig_hook(rig, "after_on", rig_settings(rig)->after_on, &err) == -1)
		cyclestate_trouble(cycle, err.text);
	cyclestate_waited(cycle, begun_ns);
	if (cuts_host(cycle) && !hostcycle_restore(cycle))
		return CYCLE_DONE;
	if (rig_send_event(rig, "restored", cycle->outcome->run,
			   cycle->order->number, &err) == -1)
		(void)cyclestate_note(cycle, "restored not on record", NULL, 0);
	if (cycle->outcome->trouble[0] != '\0' || cyclestate_is_stopped(cycle))
		return CYCLE_DONE;
	return CYCLE_JUDGE;
}

/* ---- the way out ---- */

static enum cycle_state cycle_abort(struct cycle *cycle)
{
	struct err err;

	cyclestate_phase(cycle, "stopping the writer");
	if (cuts_host(cycle))
		return hostcycle_abort(cycle);
	if (!command_end(cycle->writer, CYCLE_ABORT_MS)) {
		(void)err_set(&err,
			      "the writer (process %d) cannot be ended; the "
			      "power stays as it is",
			      (int)command_pid(cycle->writer));
		cyclestate_stop(cycle, err.text);
		return CYCLE_DONE;
	}
	if (!cycle->may_be_off || !writer_surely_ended(cycle))
		return CYCLE_DONE;
	return CYCLE_RESTORE;
}

static enum cycle_state (*const cycle_steps[])(struct cycle *) = {
	[CYCLE_CHECK] = cycle_check,
	[CYCLE_START] = cycle_start,
	[CYCLE_LOAD] = cycle_load,
	[CYCLE_ASK] = cycle_ask,
	[CYCLE_OFF] = cycle_off,
	[CYCLE_WATCH] = cycle_watch,
	[CYCLE_DARK] = cycle_dark,
	[CYCLE_RESTORE] = cycle_restore,
	[CYCLE_JUDGE] = cycleverdict_judge,
	[CYCLE_AGAIN] = cycleverdict_again,
	[CYCLE_ABORT] = cycle_abort,
};

enum cycle_end cycle_run(const struct cycle_order *order,
			 struct outcome *outcome)
{
	struct cycle cycle = {.order = order,
			      .outcome = outcome,
			      .begun_ns = clock_monotonic_ns()};
	enum cycle_state state = CYCLE_CHECK;

	memset(outcome, 0, sizeof(*outcome));
	outcome->cycle = order->number;
	outcome->arm = order->plan.arm;
	outcome->after_ms = order->plan.after_ms;
	while (state != CYCLE_DONE)
		state = cycle_steps[state](&cycle);
	command_free(cycle.writer);
	outcome->own_ms =
		(clock_monotonic_ns() - cycle.begun_ns - cycle.waited_ns) /
		CLOCK_NS_PER_MS;

	if (cycle.must_stop)
		return CYCLE_STOP;
	/* A cycle that has its verdict is complete, signal or not. */
	if (rig_is_stopped(order->rig) &&
	    outcome->judged.verdict == OUTCOME_NONE)
		return CYCLE_INTERRUPTED;
	return CYCLE_GO_ON;
}
