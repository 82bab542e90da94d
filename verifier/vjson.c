/* SPDX-License-Identifier: MIT */
#include "verifier/vjson.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* While an object is built: a part of it is missing. */
static bool has_failed;

static void set(json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value) == -1)
		has_failed = true;
}

static json_t *count_of(const struct tally *tally, size_t verdict)
{
	json_t *count = json_object();

	set(count, "atoms", number(tally->atoms[verdict]));
	set(count, "writes", number(tally->writes[verdict]));
	return count;
}

static void set_counts(json_t *root, const struct tally *tally)
{
	json_t *classes = json_object();
	size_t i;

	for (i = 0; i < VERDICT_COUNT; i++) {
		const char *word = verdict_word((enum verdict)i);

		set(classes, word, count_of(tally, i));
		set(root, word, count_of(tally, i));
	}
	set(root, "classes", classes);
}

static json_t *age_of(const struct result *result,
		      const struct finding *finding)
{
	const struct logpass_mark *last;

	if (finding->cycle == 0 || finding->stream < 0)
		return json_null();
	last = &result->ages.last[finding->stream];
	if (last->cycle != finding->cycle ||
	    last->acknowledged_ns < finding->acknowledged_ns)
		return json_null();
	return number((last->acknowledged_ns - finding->acknowledged_ns) /
		      CLOCK_NS_PER_MS);
}

static json_t *finding_json(const struct result *result,
			    const struct finding *finding)
{
	json_t *object = json_object();

	set(object, "class", json_string(verdict_word(finding->class)));
	set(object, "stream", json_integer(finding->stream));
	set(object, "sequence", number(finding->expected));
	set(object, "offset", number(finding->offset_bytes));
	set(object, "atoms", number(finding->atoms));
	set(object, "expected", number(finding->expected));
	set(object, "found",
	    finding->has_found ? number(finding->found) : json_null());
	if (finding->class == VERDICT_MISDIRECTED) {
		set(object, "found_stream", number(finding->found_stream));
		set(object, "found_offset", number(finding->found_offset));
		set(object, "missed", json_boolean(finding->is_missed));
	}
	set(object, "generations", number(finding->generations));
	set(object, "cycle", number(finding->cycle));
	set(object, "flush", number(finding->flush));
	set(object, "ms_before_last", age_of(result, finding));
	set(object, "label", json_boolean(finding->is_label));
	set(object, "information", json_boolean(finding->is_information));
	set(object, "unstable", json_boolean(finding->is_unstable));
	return object;
}

static json_t *findings_json(const struct result *result)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < result->findings.count; i++)
		if (json_array_append_new(
			    list,
			    finding_json(result, &result->findings.kept[i])) ==
		    -1)
			has_failed = true;
	return list;
}

static json_t *depth_json(const struct depth *depth)
{
	json_t *object = json_object();

	set(object, "writes", number(depth->writes));
	set(object, "flushes",
	    depth->has_flushes ? number(depth->flushes) : json_null());
	set(object, "ms", depth->has_ms ? number(depth->ms) : json_null());
	return object;
}

static json_t *hole_json(const struct depth *depth)
{
	json_t *object;

	if (!depth->has_hole)
		return json_null();
	object = json_object();
	set(object, "stream", number(depth->hole_stream));
	set(object, "sequence", number(depth->hole_sequence));
	set(object, "survivors_behind", number(depth->survivors_behind));
	set(object, "at_least", json_boolean(depth->is_at_least));
	return object;
}

static void set_trouble(json_t *root, const struct result *result)
{
	const struct tally *tally = &result->tally;

	set(root, "unstable", number(result->unstable));
	set(root, "changed", number(result->changed));
	set(root, "torn_log_bytes", number(result->log.torn_bytes));
	set(root, "unscanned_bytes", number(result->unscanned_bytes));
	set(root, "unjudged_writes", number(tally->capped));
	set(root, "forgotten", number(result->forgotten));
	set(root, "first_bad",
	    tally->has_bad ? number(tally->first_bad) : json_null());
	set(root, "last_bad",
	    tally->has_bad ? number(tally->last_bad) : json_null());
}

/* A reason may quote bytes of a log or a drive that are no UTF-8. */
static json_t *text(const char *bytes)
{
	json_t *value = json_string(bytes);
	char ascii[512];
	size_t i;

	if (value != NULL)
		return value;
	for (i = 0; i < sizeof(ascii) - 1 && bytes[i] != '\0'; i++)
		ascii[i] = bytes[i] > 0 ? bytes[i] : '?';
	ascii[i] = '\0';
	return json_string(ascii);
}

static json_t *result_json(const struct result *result)
{
	json_t *root = json_object();
	char id[RUN_ID_TEXT_BYTES] = "";

	if (result->has_run)
		run_id_text(result->run.id, id);
	set(root, "verdict", json_string(conclude_answer_word(result->answer)));
	set(root, "exit_status", json_integer(result->status));
	set(root, "reason", text(result->reason));
	set(root, "unsent",
	    conclude_unsent(result) == NULL ? json_null()
					    : text(conclude_unsent(result)));
	set(root, "flush_proof",
	    result->log.flush_proof[0] == '\0' ? json_null()
					       : text(result->log.flush_proof));
	set(root, "target", text(result->target_name));
	set(root, "run", result->has_run ? json_string(id) : json_null());
	set(root, "cycle", number(result->cycle));
	set(root, "bound", json_string(conclude_bound_word(result)));
	set(root, "durable_log", number(result->durable_log));
	set(root, "cycle_promised", json_boolean(result->was_promised_now));
	set(root, "durable_media", number(result->durable_media));
	set(root, "judged_writes", number(result->tally.judged_writes));
	set_counts(root, &result->tally);
	set(root, "completed_lost", number(result->tally.completed_lost));
	set(root, "shadow_lost", number(result->tally.shadow_lost));
	set(root, "cut_asked", json_boolean(result->is_cut_asked));
	set(root, "cut_seen", json_boolean(result->is_cut_seen));
	set(root, "loss_depth", depth_json(&result->depth));
	set(root, "first_hole", hole_json(&result->depth));
	set_trouble(root, result);
	set(root, "findings", findings_json(result));
	set(root, "findings_total", number(result->findings.total));
	set(root, "read_bytes", number(result->read_bytes));
	set(root, "scans", number(result->scans));
	set(root, "seconds", json_real(result->seconds));
	return root;
}

int vjson_write(const struct result *result, const char *path, struct err *err)
{
	bool is_stdout = strcmp(path, "-") == 0;
	json_t *root;
	FILE *to;
	int failed = 0;

	has_failed = false;
	root = result_json(result);
	if (root == NULL || has_failed) {
		json_decref(root);
		return err_set(err, "cannot write %s: out of memory", path);
	}
	to = is_stdout ? stdout : fopen(path, "w");
	if (to == NULL) {
		json_decref(root);
		return err_sys(err, errno, "cannot write %s", path);
	}
	failed |= json_dumpf(root, to, JSON_INDENT(2)) != 0;
	failed |= fputc('\n', to) == EOF;
	failed |= fflush(to) != 0;
	json_decref(root);
	if (!is_stdout)
		failed |= fclose(to) != 0;
	if (failed)
		return err_sys(err, errno, "cannot write %s", path);
	return 0;
}
