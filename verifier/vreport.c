/* SPDX-License-Identifier: MIT */
#include "verifier/vreport.h"

#include <ctype.h>
#include <inttypes.h>

static void print_upper(const char *word, FILE *to)
{
	for (; *word != '\0'; word++)
		(void)fputc(toupper((unsigned char)*word), to);
}

static uint64_t block_of(const struct result *result, uint64_t offset_bytes)
{
	return offset_bytes / result->run.logical_block_bytes;
}

static void print_promise(const struct finding *finding, FILE *to)
{
	if (finding->is_label)
		fprintf(to, "the label of the run was written and flushed");
	else if (finding->is_information)
		fprintf(to, "nothing was promised here");
	else if (finding->expected == 0)
		fprintf(to, "generation 0 was written and flushed");
	else if (finding->cycle == 0)
		fprintf(to,
			"write %" PRIu64 " of stream %d was promised (proved "
			"by the drive's own records)",
			finding->expected, finding->stream);
	else if (finding->flush == 0)
		fprintf(to,
			"write %" PRIu64 " of stream %d was acknowledged (FUA)",
			finding->expected, finding->stream);
	else
		fprintf(to,
			"write %" PRIu64
			" of stream %d was acknowledged (flush %" PRIu64 ")",
			finding->expected, finding->stream, finding->flush);
}

static void print_held(const struct finding *finding, FILE *to)
{
	if (finding->found == 0)
		fprintf(to, "the drive holds generation 0");
	else
		fprintf(to, "the drive holds write %" PRIu64, finding->found);
	if (finding->generations > 0)
		fprintf(to, ", %" PRIu64 " generation%s older",
			finding->generations,
			finding->generations == 1 ? "" : "s");
}

static void print_misdirected(const struct result *result,
			      const struct finding *finding, FILE *to)
{
	fprintf(to, "the drive holds ");
	if (finding->found == 0)
		fprintf(to, "generation 0");
	else
		fprintf(to, "write %" PRIu64 " of stream %u", finding->found,
			finding->found_stream);
	fprintf(to, " that was meant for block %" PRIu64,
		block_of(result, finding->found_offset));
	if (finding->is_missed)
		fprintf(to, ", which misses its own");
}

static void print_seen(const struct result *result,
		       const struct finding *finding, FILE *to)
{
	if (finding->class == VERDICT_MISDIRECTED)
		print_misdirected(result, finding, to);
	else if (finding->class == VERDICT_LOST ||
		 finding->class == VERDICT_TORN)
		print_held(finding, to);
	else
		fprintf(to, "%s", verdict_meaning(finding->class));
	fprintf(to, ", in %" PRIu64 " atom%s", finding->atoms,
		finding->atoms == 1 ? "" : "s");
	if (finding->is_unstable)
		fprintf(to, ", unstable: a second read answered otherwise");
}

/* P6: what was never written in any cycle is data at rest. */
static const char *rule_of(const struct finding *finding)
{
	if (finding->expected == 0 && (finding->class == VERDICT_BLANK ||
				       finding->class == VERDICT_FOREIGN))
		return "P6";
	return verdict_rule(finding->class);
}

static void print_finding(const struct result *result,
			  const struct finding *finding, FILE *to)
{
	if (finding->is_information)
		fprintf(to, "note: ");
	print_upper(verdict_word(finding->class), to);
	fprintf(to, " block %" PRIu64 ": ",
		block_of(result, finding->offset_bytes));
	print_promise(finding, to);
	fprintf(to, ", ");
	print_seen(result, finding, to);
	if (finding->is_information)
		fprintf(to, "\n");
	else
		fprintf(to, " (breaks %s)\n", rule_of(finding));
}

static void print_findings(const struct result *result, bool wants_all,
			   FILE *to)
{
	const struct findings *findings = &result->findings;
	size_t limit = wants_all ? FINDINGS_MAX : VREPORT_FINDINGS, i;

	if (!result->was_promised)
		return;
	for (i = 0; i < findings->count && i < limit; i++)
		print_finding(result, &findings->kept[i], to);
	if (findings->total > i)
		fprintf(to, "findings: %" PRIu64 " more%s\n",
			findings->total - i,
			!wants_all && findings->count > i
				? "; --all shows the first 1000"
				: "");
}

static void print_run(const struct result *result, FILE *to)
{
	char id[RUN_ID_TEXT_BYTES];

	run_id_text(result->run.id, id);
	fprintf(to, "run %s", id);
	if (result->cycle > 0)
		fprintf(to, ", cycle %" PRIu32, result->cycle);
	fprintf(to, ": bytes %" PRIu64 " to %" PRIu64 " of %s\n",
		result->run.offset_bytes,
		result->run.offset_bytes + result->run.size_bytes - 1,
		result->target_name);
}

static void print_counts(const struct result *result, FILE *to)
{
	const struct tally *tally = &result->tally;
	size_t i;

	fprintf(to,
		"promised: %" PRIu64 " writes by the log, %" PRIu64
		" by the drive's own records; bound by %s\n",
		result->durable_log, result->durable_media,
		conclude_bound_word(result));
	fprintf(to, "judged: %" PRIu64 " places\n", tally->judged_writes);
	for (i = 0; i < VERDICT_COUNT; i++)
		if (tally->atoms[i] > 0 && i != VERDICT_UNPROMISED)
			fprintf(to,
				"%s: %" PRIu64 " atoms in %" PRIu64 " writes\n",
				verdict_word((enum verdict)i), tally->atoms[i],
				tally->writes[i]);
	fprintf(to,
		"completed, never promised, gone: %" PRIu64
		" writes (breaks nothing; shows what this rig can see)\n",
		tally->completed_lost);
	if (tally->shadow_lost > 0) /* P11 */
		fprintf(to,
			"acknowledged after the cut was asked, gone: %" PRIu64
			" writes (convicts nobody)\n",
			tally->shadow_lost);
	if (tally->shadow_lost > 0 && !result->is_cut_seen)
		fprintf(to, "hint: put \"cut seen\" on record "
			    "(plugpull-collector --send cut-seen) when the "
			    "writer has ended and the power is still off; then "
			    "losses that the drive's own records prove "
			    "convict\n");
	else if (tally->shadow_lost > 0)
		fprintf(to, "hint: the drive's own records do not prove them; "
			    "more writes in flight behind a flush would\n");
}

/* What is on record of the flushes themselves (P9). */
static void print_flushes(const struct result *result, FILE *to)
{
	if (result->log.flush_proof[0] != '\0')
		fprintf(to, "log: %s\n", result->log.flush_proof);
	if (conclude_unsent(result) != NULL)
		fprintf(to, "flushes were not sent: %s\n",
			conclude_unsent(result));
}

static void print_depth(const struct result *result, FILE *to)
{
	const struct depth *depth = &result->depth;

	if (depth->writes > 0) {
		fprintf(to, "loss depth: %" PRIu64 " writes", depth->writes);
		if (depth->has_flushes)
			fprintf(to, ", %" PRIu64 " flushes", depth->flushes);
		if (depth->has_ms)
			fprintf(to, ", %" PRIu64 " ms", depth->ms);
		fprintf(to, "\n");
	}
	if (depth->has_hole && depth->survivors_behind > 0)
		fprintf(to,
			"first hole: write %" PRIu64 " of stream %u, %s%" PRIu64
			" acknowledged writes behind it survived\n",
			depth->hole_sequence, depth->hole_stream,
			depth->is_at_least ? "at least " : "",
			depth->survivors_behind);
	else if (depth->has_hole)
		fprintf(to,
			"lost tail: from write %" PRIu64
			" of stream %u, nothing behind it survived\n",
			depth->hole_sequence, depth->hole_stream);
	if (result->tally.has_bad)
		fprintf(to, "bad addresses: bytes %" PRIu64 " to %" PRIu64 "\n",
			result->tally.first_bad, result->tally.last_bad);
}

static void print_notes(const struct result *result, FILE *to)
{
	if (result->log.torn_bytes > 0)
		fprintf(to,
			"note: the log ends in an unfinished record of %" PRIu64
			" bytes\n",
			result->log.torn_bytes);
	if (result->unstable > 0)
		fprintf(to, "note: %" PRIu64 " findings are unstable\n",
			result->unstable);
	if (result->changed > 0)
		fprintf(to,
			"note: the drive answered two reads differently in "
			"%" PRIu64 " place%s, the first at byte %" PRIu64 "\n",
			result->changed, result->changed == 1 ? "" : "s",
			result->changed_first);
	if (result->tally.capped > 0)
		fprintf(to,
			"note: %" PRIu64 " places have too long a history to "
			"be judged\n",
			result->tally.capped);
	if (result->forgotten > 0)
		fprintf(to,
			"note: %" PRIu64 " of the oldest promises were not "
			"kept in memory; what they alone promised is not "
			"judged\n",
			result->forgotten);
	if (result->dropped > 0)
		fprintf(to,
			"note: %" PRIu64 " of the drive's own records "
			"are of more cycles than are kept in memory\n",
			result->dropped);
	if (result->is_unsettled)
		fprintf(to, "note: the drive's own records prove more than "
			    "was judged by\n");
	if (result->rig_error != 0)
		fprintf(to, "note: the connection to the drive was lost\n");
	if (result->unscanned_bytes > 0)
		fprintf(to,
			"note: %" PRIu64 " bytes were never read, or not asked "
			"for often enough\n",
			result->unscanned_bytes);
}

/* Where a scan ended in doubt; what ended before has said its own hint. */
static void print_next_step(const struct result *result, FILE *to)
{
	if (result->answer != ANSWER_NONE || result->scans == 0)
		return;
	if (result->has_log_grown)
		fprintf(to, "hint: stop the writer, or cut the power, and "
			    "verify again\n");
	else if (result->log_doubt[0] != '\0')
		fprintf(to, "hint: see that nobody writes to the log, and "
			    "verify again\n");
	else if (conclude_unsent(result) != NULL)
		fprintf(to, "hint: see that flushes are sent (plugpull-writer "
			    "--probe), and begin a new run, with a new log\n");
	else if (result->tally.has_impossible)
		fprintf(to, "hint: %s\n",
			result->has_log
				? "take the whole log of this run, or leave "
				  "--acklog away"
				: "take the log of this run with --acklog");
	else if (result->rig_error == 0 && result->unscanned_bytes == 0)
		fprintf(to, "hint: %s\n",
			result->has_log
				? "cut the power again and verify again"
				: "cut the power again and verify with "
				  "--acklog, which judges what is read first");
	else
		fprintf(to, "hint: see that the drive can be reached, and run "
			    "this again\n");
}

void vreport_print(const struct result *result, bool wants_all, FILE *to)
{
	static const char *const words[] = {
		[CONCLUDE_KEPT] = "promises kept",
		[CONCLUDE_BROKEN] = "promises broken",
		[CONCLUDE_NONE] = "no verdict",
		[CONCLUDE_NOT_SHOWN] = "promises kept, nothing shown",
	};

	if (result->has_run)
		print_run(result, to);
	if (result->scans > 0) {
		print_findings(result, wants_all, to);
		print_counts(result, to);
		print_depth(result, to);
		print_flushes(result, to);
		print_notes(result, to);
	}
	fprintf(to, "verdict: %s: %s\n", words[result->status], result->reason);
	print_next_step(result, to);
}
