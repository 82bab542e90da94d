/* SPDX-License-Identifier: MIT */
#include "campaign/campaign.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "campaign/cfolder.h"
#include "campaign/cpower.h"
#include "campaign/cprogress.h"
#include "campaign/cycle.h"
#include "campaign/journal.h"
#include "campaign/leftover.h"
#include "campaign/rig.h"
#include "common/base/err.h"

#define CAMPAIGN_VOID_ROW_MAX 5 /* so many in a row: the rig does not work */

struct campaign {
	struct csettings settings;
	struct plan plan;
	char dir[CFOLDER_DIR_BYTES];
	char log_dir[CFOLDER_PATH_BYTES];
	struct journal *journal;  /* NULL where it is only read */
	struct outcome *outcomes; /* room for all planned cycles */
	uint64_t count;
	bool is_resumed;
	bool has_ended; /* nothing is left to do */
	bool is_complete;
	struct leftover leftover;
	char stopped[OUTCOME_TEXT_BYTES];
};

static int open_plan(struct campaign *campaign, uint64_t seed, uint64_t cycles,
		     uint64_t control_cycles, struct err *err)
{
	const struct csettings *settings = &campaign->settings;

	campaign->plan = (struct plan){
		.seed = seed,
		.test_cycles = cycles,
		.control_cycles = control_cycles,
		.after_min_ms = settings->after_min_ms,
		.after_max_ms = settings->after_max_ms,
		.off_min_ms = settings->off_min_ms,
		.recuts = settings->recuts,
		.recut_after_min_ms = settings->recut_after_min_ms,
		.recut_after_max_ms = settings->recut_after_max_ms,
		.recut_off_min_ms = settings->recut_off_min_ms,
		.recut_off_max_ms = settings->recut_off_max_ms,
		.off_max_ms = settings->off_max_ms,
	};
	if (cycles == 0 || cycles > PLAN_CYCLES_MAX ||
	    control_cycles > PLAN_CYCLES_MAX - cycles)
		return err_set(err,
			       "%" PRIu64 " test and %" PRIu64
			       " control cycles are no campaign; at most %u "
			       "together",
			       cycles, control_cycles, PLAN_CYCLES_MAX);
	campaign->outcomes = calloc(plan_cycles(&campaign->plan),
				    sizeof(*campaign->outcomes));
	if (campaign->outcomes == NULL)
		return err_set(err, "no memory for %" PRIu64 " cycles",
			       plan_cycles(&campaign->plan));
	if (settings->connect[0] != '\0')
		(void)snprintf(campaign->log_dir, sizeof(campaign->log_dir),
			       "%s", settings->log_dir);
	else
		cfolder_path(campaign->dir, "acks", campaign->log_dir,
			     sizeof(campaign->log_dir));
	return 0;
}

/* The folder's own path, so that a copy of the report stays true. */
static int take_dir(struct campaign *campaign, const char *dir, struct err *err)
{
	char *full = realpath(dir, NULL);
	const bool fits = full != NULL && strlen(full) < sizeof(campaign->dir);

	if (full == NULL)
		return err_sys(err, errno, "cannot find the folder %s", dir);
	if (fits)
		(void)snprintf(campaign->dir, sizeof(campaign->dir), "%s",
			       full);
	free(full);
	return fits ? 0 : err_set(err, "the path of %s is too long", dir);
}

static int create_files(struct campaign *campaign, const char *ini,
			struct err *err)
{
	char path[CFOLDER_PATH_BYTES];
	json_t *fields = NULL;

	cfolder_path(campaign->dir, "journal", path, sizeof(path));
	if (access(path, F_OK) == 0)
		return err_set(err,
			       "%s holds a campaign already; resume it, or "
			       "take another --dir",
			       campaign->dir);
	campaign->journal = journal_create(path, err);
	if (campaign->journal == NULL)
		return -1;
	cfolder_path(campaign->dir, "campaign.ini", path, sizeof(path));
	if (cfolder_copy(ini, path, err) == -1)
		return -1;
	fields = json_pack("{s:o, s:I, s:I}", "seed",
			   json_sprintf("%" PRIx64, campaign->plan.seed),
			   "cycles", (json_int_t)campaign->plan.test_cycles,
			   "control_cycles",
			   (json_int_t)campaign->plan.control_cycles);
	return journal_write(campaign->journal, "campaign", fields, err);
}

struct campaign *campaign_create(const char *ini,
				 const struct campaign_wishes *wishes,
				 struct err *err)
{
	struct campaign *campaign = calloc(1, sizeof(*campaign));
	struct csettings *settings = NULL;
	uint64_t seed = 0;

	if (campaign == NULL) {
		(void)err_set(err, "no memory for the campaign");
		return NULL;
	}
	settings = &campaign->settings;
	if (csettings_read(settings, ini, err) == -1)
		goto fail;
	if (wishes->has_cycles && !settings->has_control_cycles)
		settings->control_cycles = (wishes->cycles + 1) / 2;
	if (wishes->has_cycles)
		settings->cycles = wishes->cycles;
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
		(void)err_sys(err, errno, "cannot draw a seed");
		goto fail;
	}
	if (settings->has_seed)
		seed = settings->seed;
	if (wishes->has_seed)
		seed = wishes->seed;
	if (mkdir(wishes->dir, 0755) == -1 && errno != EEXIST) {
		(void)err_sys(err, errno, "cannot make the folder %s",
			      wishes->dir);
		goto fail;
	}
	if (take_dir(campaign, wishes->dir, err) == -1 ||
	    open_plan(campaign, seed, settings->cycles,
		      settings->control_cycles, err) == -1 ||
	    create_files(campaign, ini, err) == -1)
		goto fail;
	return campaign;
fail:
	campaign_free(campaign);
	return NULL;
}

/* ---- what the journal says ---- */

static int take_first_line(struct campaign *campaign, const json_t *lines,
			   struct err *err)
{
	const json_t *first = json_array_get(lines, 0);
	const char *step = json_string_value(json_object_get(first, "step"));
	const char *seed = json_string_value(json_object_get(first, "seed"));
	const json_int_t cycles =
		json_integer_value(json_object_get(first, "cycles"));
	const json_int_t control =
		json_integer_value(json_object_get(first, "control_cycles"));

	if (step == NULL || strcmp(step, "campaign") != 0 || seed == NULL ||
	    cycles < 1 || control < 0)
		return err_set(err,
			       "the journal in %s does not begin with a "
			       "campaign",
			       campaign->dir);
	return open_plan(campaign, strtoull(seed, NULL, 16), (uint64_t)cycles,
			 (uint64_t)control, err);
}

static int take_done(struct campaign *campaign, const json_t *line,
		     struct err *err)
{
	struct outcome outcome;

	if (outcome_decode(&outcome, json_object_get(line, "outcome"), err) ==
	    -1)
		return -1;
	if (outcome.cycle != campaign->count + 1 ||
	    outcome.cycle > plan_cycles(&campaign->plan))
		return err_set(err,
			       "the journal in %s tells of cycle %" PRIu64
			       " where cycle %" PRIu64 " is due",
			       campaign->dir, outcome.cycle,
			       campaign->count + 1);
	campaign->outcomes[campaign->count++] = outcome;
	return 0;
}

static int take_journal(struct campaign *campaign, const json_t *lines,
			struct err *err)
{
	size_t index = 0;
	json_t *line = NULL;

	if (take_first_line(campaign, lines, err) == -1)
		return -1;
	(void)snprintf(campaign->stopped, sizeof(campaign->stopped),
		       "the campaign is still running, or was broken off");
	json_array_foreach(lines, index, line)
	{
		const char *step =
			json_string_value(json_object_get(line, "step"));
		const char *why =
			json_string_value(json_object_get(line, "stopped"));

		if (step == NULL)
			continue;
		leftover_take(&campaign->leftover, step, line);
		if (strcmp(step, "done") == 0 &&
		    take_done(campaign, line, err) == -1)
			return -1;
		campaign->has_ended = strcmp(step, "end") == 0;
		if (!campaign->has_ended)
			continue;
		campaign->is_complete =
			json_is_true(json_object_get(line, "complete"));
		(void)snprintf(campaign->stopped, sizeof(campaign->stopped),
			       "%s", why == NULL ? "" : why);
	}
	if (!campaign->has_ended)
		campaign->is_complete = false;
	return 0;
}

struct campaign *campaign_load(const char *dir, bool goes_on, struct err *err)
{
	struct campaign *campaign = calloc(1, sizeof(*campaign));
	char path[CFOLDER_PATH_BYTES];
	uint64_t torn_bytes = 0;
	json_t *lines = NULL;
	int rc = -1;

	if (campaign == NULL) {
		(void)err_set(err, "no memory for the campaign");
		return NULL;
	}
	if (take_dir(campaign, dir, err) == -1)
		goto out;
	cfolder_path(campaign->dir, "campaign.ini", path, sizeof(path));
	if (csettings_read(&campaign->settings, path, err) == -1)
		goto out;
	cfolder_path(campaign->dir, "journal", path, sizeof(path));
	if (goes_on) {
		campaign->journal = journal_resume(path, err);
		if (campaign->journal == NULL)
			goto out;
	}
	lines = journal_load(path, &torn_bytes, err);
	if (lines == NULL || take_journal(campaign, lines, err) == -1)
		goto out;
	if (goes_on && campaign->has_ended && !campaign->is_complete) {
		/* It had stopped for a reason; now it goes on. */
		campaign->has_ended = false;
	}
	campaign->is_resumed = goes_on;
	rc = 0;
out:
	json_decref(lines);
	if (rc == 0)
		return campaign;
	campaign_free(campaign);
	return NULL;
}

void campaign_free(struct campaign *campaign)
{
	struct err ignored; /* every line of the journal is on disk already */

	if (campaign == NULL)
		return;
	(void)journal_close(campaign->journal, &ignored);
	free(campaign->outcomes);
	free(campaign);
}

void campaign_describe(const struct campaign *campaign, char *text, size_t room)
{
	(void)snprintf(text, room,
		       "seed %" PRIx64 ", %" PRIu64 " cycles (%" PRIu64
		       " test, %" PRIu64 " control), in %s",
		       campaign->plan.seed, plan_cycles(&campaign->plan),
		       campaign->plan.test_cycles,
		       campaign->plan.control_cycles, campaign->dir);
}

/* ---- running ---- */

static bool is_broken(const struct outcome *outcome)
{
	return outcome->judged.verdict == OUTCOME_BROKEN ||
	       outcome->judged.verdict == OUTCOME_GONE;
}

static void stop_because(struct campaign *campaign, const char *why)
{
	(void)snprintf(campaign->stopped, sizeof(campaign->stopped), "%.300s",
		       why);
}

/* A run goes on while it is judged and kept. Behind anything else the next
 * cycle starts a fresh one, so that each cut is judged on its own. */
static const char *run_to_go_on(const struct campaign *campaign,
				uint64_t first_here)
{
	const struct outcome *last = NULL;

	if (campaign->count == 0 || campaign->count < first_here)
		return "";
	last = &campaign->outcomes[campaign->count - 1];
	return last->judged.verdict == OUTCOME_KEPT ? last->run : "";
}

static uint64_t voids_in_a_row(const struct campaign *campaign)
{
	uint64_t row = 0;

	while (row < campaign->count &&
	       campaign->outcomes[campaign->count - 1 - row].void_reason[0] !=
		       '\0')
		row++;
	return row;
}

/* Keeps a finished cycle; false where the campaign ends with it. */
static bool keep_cycle(struct campaign *campaign, enum cycle_end end,
		       struct err *err)
{
	struct outcome *outcome = &campaign->outcomes[campaign->count];
	json_t *fields = NULL;

	gates_judge(outcome, campaign->settings.sync_kind, outcome->void_reason,
		    sizeof(outcome->void_reason));
	fields = json_pack("{s:o}", "outcome", outcome_encode(outcome));
	if (journal_write(campaign->journal, "done", fields, err) == -1) {
		stop_because(campaign, err->text);
		return false;
	}
	campaign->count++;
	if (end == CYCLE_STOP) {
		stop_because(campaign, outcome->trouble[0] != '\0'
					       ? outcome->trouble
					       : "the drive did not come back");
		return false;
	}
	if (is_broken(outcome) && campaign->settings.stop_on_broken) {
		stop_because(campaign, "a promise was broken, and "
				       "stop_on_broken is set");
		return false;
	}
	if (voids_in_a_row(campaign) >= CAMPAIGN_VOID_ROW_MAX) {
		stop_because(campaign, "too many cycles in a row do not count; "
				       "see the last ones");
		return false;
	}
	return true;
}

static void run_cycles(struct campaign *campaign, struct rig *rig,
		       struct cprogress *progress, struct err *err)
{
	const uint64_t total = plan_cycles(&campaign->plan);
	const uint64_t first_here = campaign->count + 1;

	while (campaign->count < total) {
		struct outcome *outcome = &campaign->outcomes[campaign->count];
		const struct cycle_order order = {
			.number = campaign->count + 1,
			.plan = plan_draw(&campaign->plan, campaign->count + 1),
			.whole = &campaign->plan,
			.run = run_to_go_on(campaign, first_here),
			.rig = rig,
			.journal = campaign->journal,
			.progress = progress,
		};
		enum cycle_end end = CYCLE_INTERRUPTED;

		if (!rig_is_stopped(rig))
			end = cycle_run(&order, outcome);
		if (end == CYCLE_INTERRUPTED) {
			stop_because(campaign, "interrupted by a signal");
			return;
		}
		if (!keep_cycle(campaign, end, err)) {
			cprogress_cycle(progress, outcome);
			return;
		}
		cprogress_cycle(progress, outcome);
	}
}

static void run_on_rig(struct campaign *campaign, struct cprogress *progress,
		       const volatile sig_atomic_t *stop, struct err *err)
{
	struct rig *rig =
		rig_open(&campaign->settings, campaign->dir, stop, err);

	/* A campaign that was broken off may have left the drive without
	 * power; it is ours to give it back. */
	if (rig == NULL || leftover_check(&campaign->leftover, err) == -1 ||
	    cpower_ensure(rig, campaign->is_resumed, err) == -1 ||
	    leftover_end(&campaign->leftover, rig, campaign->plan.off_max_ms,
			 err) == -1)
		stop_because(campaign, err->text);
	else
		run_cycles(campaign, rig, progress, err);
	rig_close(rig);
}

int campaign_run(struct campaign *campaign, FILE *progress_to,
		 const volatile sig_atomic_t *stop, struct err *err)
{
	struct cprogress *progress = NULL;
	json_t *fields = NULL;

	assert(campaign->journal != NULL);
	if (campaign->has_ended)
		return 0;
	progress = cprogress_new(progress_to, plan_cycles(&campaign->plan));
	if (progress == NULL)
		return err_set(err, "no memory for the campaign");
	campaign->stopped[0] = '\0';
	run_on_rig(campaign, progress, stop, err);
	cprogress_free(progress);
	campaign->has_ended = true;
	campaign->is_complete = campaign->stopped[0] == '\0';

	fields = json_pack("{s:b, s:o}", "complete", campaign->is_complete,
			   "stopped", json_string(campaign->stopped));
	return journal_write(campaign->journal, "end", fields, err);
}

/* ---- the summary ---- */

struct csummary campaign_summary(const struct campaign *campaign)
{
	return (struct csummary){
		.settings = &campaign->settings,
		.dir = campaign->dir,
		.log_dir = campaign->log_dir,
		.seed = campaign->plan.seed,
		.planned_cycles = plan_cycles(&campaign->plan),
		.outcomes = campaign->outcomes,
		.count = campaign->count,
		.is_complete = campaign->is_complete,
		.stopped = campaign->stopped,
	};
}

int campaign_write_summary(const struct campaign *campaign, struct err *err)
{
	const struct csummary summary = campaign_summary(campaign);

	return cfolder_write_summary(campaign->dir, &summary, err);
}
