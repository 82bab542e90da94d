/* SPDX-License-Identifier: MIT */
#include "campaign/csummary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/cprogress.h"
#include "campaign/statistics.h"

static struct tally csummary_tally(const struct csummary *summary)
{
	struct tally tally;

	tally_init(&tally);
	for (uint64_t i = 0; i < summary->count; i++)
		tally_add(&tally, &summary->outcomes[i]);
	return tally;
}

enum tally_verdict csummary_verdict(const struct csummary *summary)
{
	const struct tally tally = csummary_tally(summary);

	return tally_judge(&tally, summary->is_complete);
}

/* How many cuts without a loss the wanted bound still needs. */
static uint64_t cuts_missing(const struct csummary *summary,
			     const struct tally *tally)
{
	const uint64_t wanted = statistics_cuts_for(summary->settings->bound);

	return tally->test.counted >= wanted ? 0 : wanted - tally->test.counted;
}

/* ---- text ---- */

static void print_chance(const struct csummary *summary,
			 const struct tally *tally, FILE *to)
{
	const struct tally_arm *arm = &tally->test;
	const struct statistics_interval chance =
		statistics_chance(arm->broken, arm->counted);
	const uint64_t missing = cuts_missing(summary, tally);

	if (arm->counted == 0)
		return;
	if (arm->broken > 0) {
		(void)fprintf(
			to,
			"            a cut breaks a promise with a chance "
			"of %.3g %% to %.3g %% (95 %%, %" PRIu64 " in %" PRIu64
			")\n",
			chance.lower * 100, chance.upper * 100, arm->broken,
			arm->counted);
		return;
	}
	(void)fprintf(to,
		      "            a cut breaks a promise with a chance of at "
		      "most %.3g %% (95 %%, 0 in %" PRIu64 ")\n",
		      chance.upper * 100, arm->counted);
	if (missing > 0)
		(void)fprintf(to,
			      "            %" PRIu64
			      " more cuts without a loss "
			      "would show at most %.3g %%\n",
			      missing, summary->settings->bound * 100);
}

static void print_control(const struct tally *tally, FILE *to)
{
	const struct tally_arm *arm = &tally->control;
	const struct statistics_interval seen =
		statistics_chance(arm->lossy, arm->counted);

	(void)fprintf(to,
		      "control     %" PRIu64 " of %" PRIu64
		      " cuts count; %" PRIu64
		      " broken; writes without a promise lost in %" PRIu64 "\n",
		      arm->counted, arm->cycles, arm->broken, arm->lossy);
	if (arm->lossy > 0)
		(void)fprintf(to,
			      "            this rig sees a loss in at least "
			      "%.3g %% of such cuts (95 %%, %" PRIu64
			      " in %" PRIu64 ")\n",
			      seen.lower * 100, arm->lossy, arm->counted);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What shows that the power was cut, of the cycles that count. */
static void print_proofs(const struct tally *tally, FILE *to)
{
	const struct {
		const char *words;
		uint64_t cuts;
	} proofs[] = {
		{"disappearance", tally->gone},
		{"power cycles", tally->power_cycles},
		{"unsafe shutdowns", tally->unsafe_shutdowns},
		{"new device", tally->new_device},
		{"host", tally->host},
	};
	const char *between = "proven by   ";

	for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
		if (i > 2 && proofs[i].cuts == 0)
			continue;
		(void)fprintf(to, "%s%s %" PRIu64, between, proofs[i].words,
			      proofs[i].cuts);
		between = ", ";
	}
	(void)fprintf(to, "\n");
	if (tally->damaged > 0)
		(void)fprintf(to,
			      "damage      the drive's own counters of damage "
			      "rose in %" PRIu64 " cycles\n",
			      tally->damaged);
	if (tally->unread > 0)
		(void)fprintf(to,
			      "counters    could not be read after the cut in "
			      "%" PRIu64 " cycles\n",
			      tally->unread);
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left;
	const uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

struct spread {
	uint64_t min_ms, median_ms, max_ms;
};

static uint64_t get_ready_ms(const struct outcome *outcome)
{
	return outcome->ready_ms;
}

/* From the command to the relay until the drive's absence was noticed. */
static uint64_t get_gone_ms(const struct outcome *outcome)
{
	return outcome->relay_ms + outcome->gone_ms;
}

static uint64_t get_own_ms(const struct outcome *outcome)
{
	return outcome->own_ms;
}

/* Of the cycles that were judged; false where none was, or without memory. */
static bool find_spread(const struct csummary *summary,
			uint64_t (*get)(const struct outcome *outcome),
			struct spread *spread)
{
	uint64_t *values = calloc(summary->count + 1, sizeof(*values));
	size_t count = 0;

	*spread = (struct spread){0};
	for (uint64_t i = 0; values != NULL && i < summary->count; i++)
		if (summary->outcomes[i].judged_ms > 0)
			values[count++] = get(&summary->outcomes[i]);
	if (count > 0) {
		qsort(values, count, sizeof(*values), compare_numbers);
		spread->min_ms = values[0];
		spread->median_ms = values[count / 2];
		spread->max_ms = values[count - 1];
	}
	free(values);
	return count > 0;
}

static uint64_t most_boots(const struct csummary *summary)
{
	uint64_t boots = 0;

	for (uint64_t i = 0; i < summary->count; i++)
		boots = larger(boots, summary->outcomes[i].host.boots);
	return boots;
}

static void print_times(const struct csummary *summary, FILE *to)
{
	struct spread ready, own, gone;

	if (find_spread(summary, get_gone_ms, &gone))
		(void)fprintf(to,
			      "gone        %" PRIu64 " ms after the command "
			      "(min), %" PRIu64 " ms (median), %" PRIu64
			      " ms (max)\n",
			      gone.min_ms, gone.median_ms, gone.max_ms);
	if (find_spread(summary, get_ready_ms, &ready) &&
	    find_spread(summary, get_own_ms, &own))
		(void)fprintf(to,
			      "ready       %" PRIu64 " ms after the power "
			      "(median), %" PRIu64 " ms (max)\n"
			      "own time    %" PRIu64 " ms of a cycle "
			      "(median), %" PRIu64 " ms (max)\n",
			      ready.median_ms, ready.max_ms, own.median_ms,
			      own.max_ms);
	if (most_boots(summary) > 1)
		(void)fprintf(to,
			      "boots       the host needed power up to "
			      "%" PRIu64 " times before it came back\n",
			      most_boots(summary));
}

static void print_cycles(const struct csummary *summary, FILE *to)
{
	char text[1024];

	for (uint64_t i = 0; i < summary->count; i++) {
		const struct outcome *outcome = &summary->outcomes[i];
		const enum outcome_verdict verdict = outcome->judged.verdict;

		if (outcome->void_reason[0] == '\0' && verdict == OUTCOME_KEPT)
			continue;
		cprogress_describe(outcome, text, sizeof(text));
		(void)fprintf(to, "cycle %-5" PRIu64 " %s: %s\n",
			      outcome->cycle, plan_arm_name(outcome->arm),
			      text);
		if (verdict == OUTCOME_BROKEN)
			(void)fprintf(to,
				      "            run %s; see cycle-%04" PRIu64
				      ".verdict.txt\n",
				      outcome->run, outcome->cycle);
	}
}

/* The last outcome of the run that begins at FIRST; a run's cycles follow one
 * another. */
static uint64_t run_end(const struct csummary *summary, uint64_t first)
{
	uint64_t last = first;

	while (last + 1 < summary->count &&
	       strcmp(summary->outcomes[last + 1].run,
		      summary->outcomes[first].run) == 0)
		last++;
	return last;
}

static void print_runs(const struct csummary *summary, FILE *to)
{
	for (uint64_t i = 0; i < summary->count;) {
		const struct outcome *first = &summary->outcomes[i];
		const uint64_t last = run_end(summary, i);

		if (first->run[0] != '\0')
			(void)fprintf(to,
				      "run         %s, cycles %" PRIu64
				      " to %" PRIu64 ", %s/%s.acklog\n",
				      first->run, first->cycle,
				      summary->outcomes[last].cycle,
				      summary->log_dir, first->run);
		i = last + 1;
	}
}

/* The worst cycle's: within that time the log knows nothing of a promise yet,
 * and only the drive's own records prove it. */
static void print_blind_spot(const struct csummary *summary, FILE *to)
{
	uint64_t median_us = 0, p99_us = 0, max_us = 0;

	for (uint64_t i = 0; i < summary->count; i++) {
		const struct outcome_writer *writer =
			&summary->outcomes[i].writer;

		median_us = larger(median_us, writer->confirm_median_us);
		p99_us = larger(p99_us, writer->confirm_p99_us);
		max_us = larger(max_us, writer->confirm_max_us);
	}
	if (max_us > 0)
		(void)fprintf(to,
			      "blind spot  from durable to confirmed %.2f ms "
			      "(median), %.2f ms (99 %%), %.2f ms (max), each "
			      "of the worst cycle\n",
			      (double)median_us / 1e3, (double)p99_us / 1e3,
			      (double)max_us / 1e3);
}

void csummary_print(const struct csummary *summary, FILE *to)
{
	const struct csettings *settings = summary->settings;
	const struct tally tally = csummary_tally(summary);
	const enum tally_verdict verdict =
		tally_judge(&tally, summary->is_complete);

	(void)fprintf(to, "%s: %s\n", tally_verdict_name(verdict),
		      tally_verdict_meaning(verdict));
	if (summary->stopped[0] != '\0')
		(void)fprintf(to, "stopped     %s\n", summary->stopped);
	(void)fprintf(to, "campaign    %s, seed %" PRIx64 "\n", settings->name,
		      summary->seed);
	(void)fprintf(to, "drive       %s, power by %s\n", settings->target,
		      settings->outlet);
	(void)fprintf(to,
		      "cycles      %" PRIu64 " planned, %" PRIu64
		      " done, %" PRIu64 " do not count\n",
		      summary->planned_cycles, summary->count,
		      tally.void_cycles);
	(void)fprintf(to,
		      "test        %" PRIu64 " of %" PRIu64
		      " cuts count (sync %s); %" PRIu64 " broken\n",
		      tally.test.counted, tally.test.cycles, settings->sync,
		      tally.test.broken);
	print_chance(summary, &tally, to);
	print_control(&tally, to);
	(void)fprintf(to,
		      "evidence    %" PRIu64 " completed writes without a "
		      "promise are gone\n",
		      tally.completed_lost);
	print_proofs(&tally, to);
	print_times(summary, to);
	print_blind_spot(summary, to);
	if (tally.shadow_lost > 0)
		(void)fprintf(to,
			      "shadows     %" PRIu64 " writes acknowledged "
			      "behind \"cut asked\" are gone; none convicts\n",
			      tally.shadow_lost);
	print_runs(summary, to);
	print_cycles(summary, to);
	(void)fprintf(to, "files       %s\n", summary->dir);
}

/* ---- JSON ---- */

static json_t *encode_arm(const struct tally_arm *arm, uint64_t events)
{
	const struct statistics_interval chance =
		statistics_chance(events, arm->counted);

	return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f}", "cycles",
			 (json_int_t)arm->cycles, "counted",
			 (json_int_t)arm->counted, "broken",
			 (json_int_t)arm->broken, "lossy",
			 (json_int_t)arm->lossy, "chance_lower", chance.lower,
			 "chance_upper", chance.upper);
}

static json_t *encode_proofs(const struct tally *tally)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "disappearance",
			 (json_int_t)tally->gone, "power_cycles",
			 (json_int_t)tally->power_cycles, "unsafe_shutdowns",
			 (json_int_t)tally->unsafe_shutdowns, "new_device",
			 (json_int_t)tally->new_device, "host",
			 (json_int_t)tally->host, "not_by_drive",
			 (json_int_t)tally->not_by_drive);
}

static json_t *encode_spread(const struct csummary *summary,
			     uint64_t (*get)(const struct outcome *outcome))
{
	struct spread spread;

	(void)find_spread(summary, get, &spread); /* else 0 */
	return json_pack("{s:I, s:I, s:I}", "min", (json_int_t)spread.min_ms,
			 "median", (json_int_t)spread.median_ms, "max",
			 (json_int_t)spread.max_ms);
}

static json_t *encode_runs(const struct csummary *summary)
{
	json_t *runs = json_array();

	for (uint64_t i = 0; i < summary->count;) {
		const struct outcome *first = &summary->outcomes[i];
		const uint64_t last = run_end(summary, i);

		if (first->run[0] != '\0' &&
		    json_array_append_new(
			    runs,
			    json_pack("{s:s, s:I, s:I, s:o}", "run", first->run,
				      "first_cycle", (json_int_t)first->cycle,
				      "last_cycle",
				      (json_int_t)summary->outcomes[last].cycle,
				      "log",
				      json_sprintf("%s/%s.acklog",
						   summary->log_dir,
						   first->run))) != 0)
			goto fail;
		i = last + 1;
	}
	return runs;
fail:
	json_decref(runs);
	return NULL;
}

static json_t *encode_cycles(const struct csummary *summary)
{
	json_t *cycles = json_array();

	for (uint64_t i = 0; i < summary->count; i++)
		if (json_array_append_new(
			    cycles, outcome_encode(&summary->outcomes[i]))) {
			json_decref(cycles);
			return NULL;
		}
	return cycles;
}

json_t *csummary_encode(const struct csummary *summary)
{
	const struct csettings *settings = summary->settings;
	const struct tally tally = csummary_tally(summary);
	const enum tally_verdict verdict =
		tally_judge(&tally, summary->is_complete);

	return json_pack(
		"{s:s, s:s, s:i, s:b, s:s, s:s, s:o, s:s, s:s, s:s,"
		" s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:I, s:f, s:I, s:o, s:o,"
		" s:o, s:o, s:o, s:o, s:I, s:I, s:I}",
		"verdict", tally_verdict_name(verdict), "meaning",
		tally_verdict_meaning(verdict), "exit_status",
		tally_exit_status(verdict), "complete", summary->is_complete,
		"stopped", summary->stopped, "name", settings->name, "seed",
		json_sprintf("%" PRIx64, summary->seed), "target",
		settings->target, "outlet", settings->outlet, "sync",
		settings->sync, "planned_cycles",
		(json_int_t)summary->planned_cycles, "done_cycles",
		(json_int_t)summary->count, "void_cycles",
		(json_int_t)tally.void_cycles, "void_broken",
		(json_int_t)tally.void_broken, "test",
		encode_arm(&tally.test, tally.test.broken), "control",
		encode_arm(&tally.control, tally.control.lossy),
		"completed_lost", (json_int_t)tally.completed_lost,
		"shadow_lost", (json_int_t)tally.shadow_lost, "bound",
		settings->bound, "cuts_missing",
		(json_int_t)cuts_missing(summary, &tally), "runs",
		encode_runs(summary), "cycles", encode_cycles(summary),
		"proven_by", encode_proofs(&tally), "ready_ms",
		encode_spread(summary, get_ready_ms), "own_ms",
		encode_spread(summary, get_own_ms), "gone_ms",
		encode_spread(summary, get_gone_ms), "most_boots",
		(json_int_t)most_boots(summary), "damaged_cycles",
		(json_int_t)tally.damaged, "unread_counters",
		(json_int_t)tally.unread);
}
