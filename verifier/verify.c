/* SPDX-License-Identifier: MIT */
#include "verifier/verify.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/target/refind.h"
#include "common/target/target.h"
#include "verifier/admit.h"
#include "verifier/changes.h"
#include "verifier/evidence.h"
#include "verifier/leash.h"
#include "verifier/logstdin.h"
#include "verifier/probe.h"
#include "verifier/reader.h"
#include "verifier/recheck.h"
#include "verifier/scan.h"
#include "verifier/seen.h"

static_assert(PROBE_DEPTH >= SCAN_DEPTH_MAX, "a scan takes its queue");

struct verify {
	const struct verify_options *options;
	struct result *result;
	struct target *target;
	struct refind where; /* the drive is */
	struct ledger *ledger;
	struct evidence *evidence;
	struct reader reader;
	struct changes changes;
	struct seen *seen;              /* by the probe */
	struct target_queue *queue;     /* the probe's, for the first scan */
	struct changes_map *answers[2]; /* of this scan and the one before */
	struct findings earlier;        /* of all scans before this one */
	struct tally earlier_tally;
	struct admit_drive drive;
	struct admit_label labels[2];
	struct schedule schedules[RUN_STREAMS_MAX];
};

static int load_log(struct verify *verify, struct err *err)
{
	struct result *result = verify->result;
	const struct ackbody_cycle *cycle;
	uint16_t stream;

	if (logstdin_is(verify->options->acklog) && logstdin_take(err) < 0)
		return -1;
	if (logpass_load(verify->options->acklog, verify->ledger, &result->log,
			 err) < 0)
		return -1;
	result->run = *ledger_run(verify->ledger);
	result->has_run = true;
	cycle = ledger_cycle(verify->ledger);
	result->cycle = cycle == NULL ? 0 : cycle->cycle;
	for (stream = 0; stream < result->run.streams; stream++)
		result->durable_log += result->log.durable[stream];
	return 0;
}

static void note_stuck(struct verify *verify)
{
	if (atomic_load(&verify->reader.hung) > 0 ||
	    atomic_load(&verify->reader.suspects) > 0 ||
	    atomic_load(&verify->reader.rig_error) != 0)
		verify->result->is_stuck = true;
}

/* P10: the right drive, the right region. */
static int know_again(struct verify *verify, struct err *err)
{
	const struct target_info *info = target_info(verify->target);
	struct result *result = verify->result;

	verify->drive = (struct admit_drive){
		.name = verify->options->target,
		.identity = info->identity,
		.size_bytes = info->size_bytes,
		.logical_block_bytes = info->logical_block_bytes,
		.was_labelled = result->log.has_cycle,
		.is_shared = verify->where.is_shared,
	};
	reader_init(&verify->reader, verify->target, info->logical_block_bytes,
		    verify->options->timeout_ms);
	verify->reader.changes = &verify->changes;
	verify->reader.leash = verify->options->leash;
	if (!result->has_run) {
		if (admit_find_run(&verify->reader,
				   verify->options->offset_bytes, &result->run,
				   verify->labels, err) < 0)
			return -1;
		result->has_run = true;
		ledger_begin_without_log(verify->ledger, &result->run);
	}
	if (admit_check_drive(&result->run, &verify->drive, err) < 0)
		return -1;
	/* What kept silent until now stays a suspect. */
	note_stuck(verify);
	verify->reader.block_bytes = result->run.logical_block_bytes;
	reader_ask_first(&verify->reader);
	if (admit_read_labels(&verify->reader, &result->run, verify->labels,
			      err) < 0)
		return -1;
	expect_schedules(&result->run, verify->schedules);
	return admit_decide(&result->run, &verify->drive, verify->labels, err);
}

/* P9: an answer that was given once is not forgotten for a better one. */
static void join_earlier(struct verify *verify)
{
	struct result *result = verify->result;

	if (result->scans > 1) {
		findings_join(&result->findings, &result->tally,
			      &verify->earlier, &verify->earlier_tally);
		changes_compare(&verify->changes, &result->run,
				verify->answers[0], verify->answers[1]);
	}
	verify->earlier = result->findings;
	verify->earlier_tally = result->tally;
	findings_sort(&verify->earlier);
}

static int scan_once(struct verify *verify, struct err *err)
{
	struct result *result = verify->result;
	struct scan scan = {
		.reader = &verify->reader,
		.ledger = verify->ledger,
		.schedules = verify->schedules,
		.evidence = verify->evidence,
		.findings = &result->findings,
		.tally = &result->tally,
		.seen = verify->seen,
		.answers = verify->answers[result->scans % 2],
		.threads = verify->options->threads,
		.queue = verify->queue,
	};
	int status;

	memset(&result->findings, 0, sizeof(result->findings));
	memset(&result->tally, 0, sizeof(result->tally));
	changes_map_clear(scan.answers);
	note_stuck(verify);
	reader_ask_first(&verify->reader);
	status = scan_region(&scan, err);
	verify->queue = scan.queue;
	if (status < 0)
		return -1;
	result->scans++;
	result->unscanned_bytes = scan.unscanned_bytes;
	result->rig_error = atomic_load(&verify->reader.rig_error);
	join_earlier(verify);
	return 0;
}

static int prepare_scans(struct verify *verify, struct err *err)
{
	struct probe_doubt doubt = {
		.reader = &verify->reader,
		.ledger = verify->ledger,
		.schedules = verify->schedules,
		.evidence = verify->evidence,
	};
	uint64_t slots = run_slots_total(&verify->result->run);
	int status, i;

	for (i = 0; i < 2; i++) {
		verify->answers[i] = changes_map_new(slots, err);
		if (verify->answers[i] == NULL)
			return -1;
	}
	if (!verify->result->has_log)
		return 0;
	status = probe_doubt(&doubt, err);
	verify->seen = doubt.seen;
	verify->queue = doubt.queue;
	return status;
}

/* P5: as long as a scan proves more than it was judged by, it is repeated. The
 * first one without a log is judged by generation 0 alone. */
static int scan_all(struct verify *verify, struct err *err)
{
	struct result *result = verify->result;
	unsigned int scans;

	if (prepare_scans(verify, err) < 0)
		return -1;
	(void)evidence_apply(verify->evidence, verify->ledger);
	for (scans = 0; scans < VERIFY_SCANS_MAX; scans++) {
		if (scan_once(verify, err) < 0)
			return -1;
		result->is_unsettled =
			evidence_apply(verify->evidence, verify->ledger);
		if (!result->is_unsettled || result->rig_error != 0)
			return 0;
	}
	return 0;
}

/* P9: a label that kept silent is asked for once more, and may turn out to be
 * another run's. Where the rig has failed nobody can ask. */
static int ask_labels_again(struct verify *verify, struct err *err)
{
	const struct run *run = &verify->result->run;

	note_stuck(verify);
	if (admit_ask_again(&verify->reader, run, verify->labels, err) < 0)
		return -1;
	if (verify->result->rig_error != 0)
		return 0;
	return admit_decide(run, &verify->drive, verify->labels, err);
}

/* A label that misses is a finding like any other, where the labels had been
 * flushed; one of them alone does not promise the other. */
static void judge_labels(struct verify *verify)
{
	struct result *result = verify->result;
	unsigned int copy;

	for (copy = 0; copy < 2; copy++)
		if (verify->labels[copy].state == ADMIT_COPY_UNJUDGED)
			result->unscanned_bytes += RUN_LABEL_BYTES;
	if (!result->log.has_cycle && !evidence_has_writes(verify->evidence))
		return;
	for (copy = 0; copy < 2; copy++) {
		struct finding finding;

		if (!admit_finding(&result->run, &verify->labels[copy], copy,
				   &finding))
			continue;
		findings_add(&result->findings, &finding);
		tally_finding(&result->tally, &finding);
	}
}

static int look_closer(struct verify *verify, struct err *err)
{
	struct result *result = verify->result;
	const struct recheck_order recheck = {.reader = &verify->reader,
					      .ledger = verify->ledger,
					      .schedules = verify->schedules,
					      .findings = &result->findings,
					      .tally = &result->tally};

	judge_labels(verify);
	findings_sort(&result->findings);
	findings_link(&result->findings, &result->run);
	if (result->findings.count > 0 && result->rig_error == 0 &&
	    recheck_findings(&recheck, err) < 0)
		return -1;
	result->unstable = recheck_unstable(&result->findings);
	result->ages.findings = &result->findings;
	result->ages.tally = &result->tally;
	if (result->has_log && result->findings.count > 0 &&
	    logpass_find_ages(verify->options->acklog, &result->ages, err) < 0)
		return -1;
	depth_of_loss(verify->ledger, &result->tally,
		      result->has_log ? &result->ages : NULL, &result->depth);
	depth_of_hole(verify->ledger, verify->schedules, &result->tally,
		      &result->depth);
	return 0;
}

/*
 * P6: the labels are written when the fill has been flushed, a cycle begins
 * when the labels have been. So one label, one cycle or one numbered write says
 * that generation 0 was promised; before that nothing was.
 */
static bool was_promised(const struct verify *verify)
{
	return verify->result->log.has_cycle ||
	       verify->labels[0].state == ADMIT_COPY_GOOD ||
	       verify->labels[1].state == ADMIT_COPY_GOOD ||
	       evidence_has_writes(verify->evidence);
}

/* P8: where nothing was promised a block must still be of one piece. A label
 * that answered only the second question may have made it a promise. */
static int judge_promised(struct verify *verify, struct err *err)
{
	struct result *result = verify->result;

	result->was_promised = was_promised(verify);
	ledger_promise_fill(verify->ledger, result->was_promised);
	if (scan_all(verify, err) < 0 || ask_labels_again(verify, err) < 0)
		return -1;
	if (result->was_promised || !was_promised(verify))
		return 0;
	result->was_promised = true;
	ledger_promise_fill(verify->ledger, true);
	return scan_once(verify, err);
}

static void look_at_log_again(struct verify *verify)
{
	struct result *result = verify->result;
	struct err err;

	switch (logpass_look_again(verify->options->acklog, &result->log,
				   &err)) {
	case LOGPASS_NOTHING:
		return;
	case LOGPASS_WRITER:
		result->has_log_grown = true;
		return;
	case LOGPASS_UNCLEAR:
		(void)snprintf(result->log_doubt, sizeof(result->log_doubt),
			       "%.250s", err.text);
		return;
	}
}

static int judge_drive(struct verify *verify, struct err *err)
{
	struct result *result = verify->result;
	const struct ackbody_cycle *now = ledger_cycle(verify->ledger);
	uint16_t stream;

	if (know_again(verify, err) < 0 || judge_promised(verify, err) < 0 ||
	    look_closer(verify, err) < 0)
		return -1;
	result->is_marked_unsent =
		admit_is_unsent(&result->run, verify->labels);
	result->changed = atomic_load(&verify->changes.places);
	result->changed_first = atomic_load(&verify->changes.first);
	result->read_bytes = atomic_load(&verify->reader.read_bytes);
	if (result->read_bytes == 0)
		findings_all_gone(&result->findings, &result->tally);
	for (stream = 0; stream < result->run.streams; stream++) {
		result->durable_all +=
			ledger_durable_count(verify->ledger, stream);
		result->was_promised_now |=
			now != NULL &&
			ledger_durable_last(verify->ledger, stream) >=
				now->first_sequence[stream];
	}
	result->durable_media = evidence_durable(verify->evidence);
	result->forgotten = ledger_forgotten(verify->ledger);
	result->dropped = evidence_dropped(verify->evidence);
	result->is_cut_asked = ledger_is_cut_asked(verify->ledger);
	result->is_cut_seen = ledger_is_cut_seen(verify->ledger);
	if (result->has_log)
		look_at_log_again(verify);
	conclude(result);
	return 0;
}

/* It breaks no promise, but somebody must see to it. */
static void note_read_only(const struct verify_options *options,
			   const char *path, const struct target *target)
{
	char text[512];

	if (options->note == NULL || !target_is_read_only(target))
		return;
	(void)snprintf(text, sizeof(text),
		       "%.255s is read-only now: it has given up writing, or "
		       "somebody set it so; it is read all the same",
		       path);
	options->note(text);
}

/* P10: the run's drive, whatever its name is now. */
static int open_drive(struct verify *verify, struct err *err)
{
	const struct verify_options *options = verify->options;
	const struct refind_request request = {
		.name = options->target,
		.identity = verify->result->run.identity,
		.note = options->note,
	};
	unsigned int mark = leash_begin(options->leash, LEASH_OPEN, 0);

	verify->target =
		refind_open(&request, TARGET_READ, &verify->where, err);
	if (verify->target != NULL)
		note_read_only(options, verify->where.path, verify->target);
	leash_end(options->leash, mark);
	return verify->target == NULL ? -1 : 0;
}

int verify_run(const struct verify_options *options, struct result *result,
	       struct err *err)
{
	struct verify *verify = calloc(1, sizeof(*verify));
	uint64_t started_ns = clock_monotonic_ns();
	int status = -1;

	result->target_name = options->target;
	result->has_log = options->acklog != NULL;
	if (verify == NULL)
		return err_set(err, "cannot start: out of memory");
	verify->options = options;
	verify->result = result;
	changes_init(&verify->changes);
	verify->ledger = ledger_new(err);
	verify->evidence = evidence_new(err);
	if (verify->ledger == NULL || verify->evidence == NULL)
		goto out;
	if (result->has_log && load_log(verify, err) < 0)
		goto out;
	if (open_drive(verify, err) < 0)
		goto out;
	status = judge_drive(verify, err);
	result->seconds = (double)(clock_monotonic_ns() - started_ns) /
			  (double)CLOCK_NS_PER_S;
	note_stuck(verify);
	target_queue_close(verify->queue); /* where no scan took it */
	/* Closing may wait for the drive: left to the end of the process. */
	if (result->is_stuck || options->leash != NULL)
		target_buffer_abandon(verify->target);
	else
		target_close(verify->target);
out:
	seen_free(verify->seen);
	changes_map_free(verify->answers[0]);
	changes_map_free(verify->answers[1]);
	ledger_free(verify->ledger);
	evidence_free(verify->evidence);
	free(verify);
	return status;
}
