/* SPDX-License-Identifier: MIT */
#include "campaign/hostcycle.h"

#include <stdio.h>
#include <string.h>

#include "campaign/beside.h"
#include "campaign/command.h"
#include "campaign/cpower.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define HOSTCYCLE_LOOK_MS  50
#define HOSTCYCLE_GRACE_MS 2000
#define HOSTCYCLE_ABORT_MS 15000 /* the agent takes 10 s for a stubborn one */
#define HOSTCYCLE_ASK_MS   2000  /* a host without power does not answer */

/* Waits as chost_await() does; what went wrong stops the campaign. */
static bool bring_up(struct cycle *cycle, const char *old_boot)
{
	struct outcome_host *host = &cycle->outcome->host;
	struct chost_coming coming = {.old_boot = old_boot,
				      .off_ms = cycle->order->plan.off_ms};
	const uint64_t begun_ns = clock_monotonic_ns();
	struct err err;
	const enum chost_answer answer =
		chost_await(cycle->order->rig, &coming, &err);

	cyclestate_waited(cycle, begun_ns);
	if (coming.boots > 1) {
		cycle->on_ns =
			clock_monotonic_ns() - coming.boot_ms * CLOCK_NS_PER_MS;
		(void)cyclestate_note(cycle, "power cycled again", "boots",
				      (int64_t)coming.boots);
	}
	host->boots = coming.boots;
	host->boot_ms = coming.boot_ms;
	if (answer == CHOST_BOOTED) {
		(void)snprintf(cycle->boot, sizeof(cycle->boot), "%s",
			       coming.boot);
		return true;
	}
	if (answer != CHOST_STOPPED)
		cyclestate_stop(cycle, err.text);
	return false;
}

bool hostcycle_check(struct cycle *cycle)
{
	cycle->outcome->host.is_cut_too = true;
	cyclestate_phase(cycle, "asking the host");
	return bring_up(cycle, "");
}

/* P2: that it writes is seen in its log, until the cut is asked. */
enum cycle_state hostcycle_load(struct cycle *cycle, uint64_t wait_ms)
{
	const uint64_t end_ns = cycle->loaded_ns + wait_ms * CLOCK_NS_PER_MS;
	enum command_event event = COMMAND_DEADLINE;

	chost_log_open(&cycle->log, cycle->order->rig, cycle->outcome->run);
	while (event == COMMAND_DEADLINE && clock_until_ms(end_ns) > 0) {
		uint64_t next_ns = cyclestate_from_now(HOSTCYCLE_LOOK_MS);

		event = command_await(cycle->writer,
				      next_ns < end_ns ? next_ns : end_ns,
				      false, rig_stop_flag(cycle->order->rig));
		chost_log_look(&cycle->log);
	}
	if (event == COMMAND_DEADLINE)
		return CYCLE_ASK;
	if (event == COMMAND_ENDED)
		cyclestate_trouble(cycle, "the command of the host's writer "
					  "ended before the cut");
	return CYCLE_ABORT;
}

/* (a) of P11: true when the log has stood still for a while. */
static bool await_silence(struct cycle *cycle)
{
	const uint64_t limit_ns = cyclestate_from_now(
		rig_settings(cycle->order->rig)->gone_timeout_ms);

	cycle->log.grown_ns = cycle->off_ns;
	while (clock_until_ms(limit_ns) > 0) {
		chost_log_look(&cycle->log);
		if (cyclestate_ms_since(cycle->log.grown_ns) >= CHOST_QUIET_MS)
			return true;
		clock_sleep_ms(HOSTCYCLE_LOOK_MS);
	}
	return false;
}

/* A collector that is no more would be silent too: it must still take a word
 * of ours into the same log. */
static void collect_silence(struct cycle *cycle)
{
	struct outcome_host *host = &cycle->outcome->host;
	struct err err;

	cycle->outcome->gone_ms =
		(cycle->log.grown_ns - cycle->off_ns) / CLOCK_NS_PER_MS;
	host->fell_silent =
		rig_send_note(cycle->order->rig, cycle->outcome->run,
			      "campaign: the host's writer has fallen silent",
			      &err) == 0;
	if (!host->fell_silent)
		cyclestate_trouble(cycle, err.text);
	(void)cyclestate_note(cycle, "silent", "gone_ms",
			      (int64_t)cycle->outcome->gone_ms);
}

static enum cycle_state host_lives(struct cycle *cycle, const char *how)
{
	struct err err;

	(void)err_set(&err,
		      "%s %llu ms after \"off\": the host was not cut (wrong "
		      "outlet, or a contact that sticks); its writer may be at "
		      "work",
		      how,
		      (unsigned long long)cyclestate_ms_since(cycle->off_ns));
	cyclestate_stop(cycle, err.text);
	cycle->outcome->was_cut = false;
	return CYCLE_ABORT;
}

/* A signal does not hurry this. */
enum cycle_state hostcycle_watch(struct cycle *cycle)
{
	const uint64_t begun_ns = clock_monotonic_ns();
	char boot[CHOST_BOOT_BYTES];
	const bool is_silent = await_silence(cycle);
	bool does_answer = false;
	struct err ignored; /* no answer is what is hoped for */

	if (!is_silent)
		return host_lives(cycle, "acknowledgements go on");
	/* Our end of a dead connection waits for ever. */
	(void)command_end(cycle->writer, HOSTCYCLE_GRACE_MS);
	does_answer = chost_read_boot(cycle->order->rig, HOSTCYCLE_ASK_MS, boot,
				      &ignored) == 0;
	cyclestate_waited(cycle, begun_ns);
	if (does_answer)
		return host_lives(cycle, "the host answers");
	collect_silence(cycle);
	return CYCLE_DARK;
}

/* The same, and it must be another boot than before. */
static bool bring_up_anew(struct cycle *cycle)
{
	char old_boot[CHOST_BOOT_BYTES];

	(void)snprintf(old_boot, sizeof(old_boot), "%s", cycle->boot);
	if (!bring_up(cycle, old_boot))
		return false;
	(void)cyclestate_note(cycle, "booted", "boot_ms",
			      (int64_t)cycle->outcome->host.boot_ms);
	return true;
}

/* (b) of P11. */
bool hostcycle_restore(struct cycle *cycle)
{
	struct outcome_host *host = &cycle->outcome->host;
	struct err err;

	cyclestate_phase(cycle, "waiting for the host to boot");
	if (!bring_up_anew(cycle))
		return false;
	host->has_booted = true;
	/* Its writer is no more, and said nothing behind the cut. */
	if (host->fell_silent && cycle->outcome->was_cut &&
	    rig_send_event(cycle->order->rig, "cut-seen", cycle->outcome->run,
			   cycle->order->number, &err) == -1)
		(void)cyclestate_note(cycle, "cut-seen not on record", NULL, 0);
	return true;
}

/* The writer itself said its end, or there is none. */
static bool has_writer_ended(struct cycle *cycle)
{
	return command_has_ended(cycle->writer) &&
	       !beside_is_connection_lost(command_status(cycle->writer));
}

/* Some connections end the writer when they are told to end, and say so. What
 * may live on is ended by the power, unless the campaign stops: then resume
 * does it. */
enum cycle_state hostcycle_abort(struct cycle *cycle)
{
	bool has_ended = false;
	struct err err;

	(void)command_end(cycle->writer, HOSTCYCLE_ABORT_MS);
	has_ended = has_writer_ended(cycle);
	if (has_ended)
		(void)cyclestate_note(cycle, "writer ended", NULL, 0);
	if (has_ended || cycle->must_stop || cyclestate_is_stopped(cycle))
		return CYCLE_DONE;
	cyclestate_phase(cycle, "ending the host's writer by its power");
	(void)cyclestate_note(cycle, "power cycle to end the writer", NULL, 0);
	if (cpower_cycle(cycle->order->rig, cycle->order->plan.off_ms, NULL,
			 &err) == -1)
		cyclestate_stop(cycle, err.text);
	else
		(void)bring_up_anew(cycle);
	return CYCLE_DONE;
}
