/* SPDX-License-Identifier: MIT */
#include "writer/wsummary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "common/base/err.h"

static double seconds_of(const struct writer_result *result)
{
	return (double)result->writing_ns / 1e9;
}

static double rate_of(const struct writer_result *result)
{
	double seconds = seconds_of(result);

	return seconds > 0 ? (double)result->writes / seconds : 0;
}

static double latency_ms(const struct writer_result *result,
			 unsigned int permille)
{
	return (double)histogram_quantile_ns(&result->latency, permille) / 1e6;
}

void wsummary_run(const struct run *run)
{
	char id[RUN_ID_TEXT_BYTES];

	run_id_text(run->id, id);
	(void)fprintf(stderr, "plugpull-writer: seed 0x%016" PRIx64 "\n",
		      run->seed);
	(void)printf("run %s\n", id);
	(void)fflush(stdout);
}

void wsummary_writing(uint32_t cycle)
{
	(void)printf("cycle %" PRIu32 " writing\n", cycle);
	(void)fflush(stdout);
}

void wsummary_end(const struct writer_result *result)
{
	char text[ACKBODY_TEXT_BYTES];

	if (!result->has_begun)
		return;
	(void)printf("cycle %" PRIu32 " stopped: %" PRIu64
		     " writes in %.1f s, %.0f writes/s, %.1f MB/s\n",
		     result->cycle.cycle, result->writes, seconds_of(result),
		     rate_of(result),
		     rate_of(result) * result->run.block_bytes / 1e6);
	(void)printf("durable %" PRIu64 ", confirmed %" PRIu64
		     ", flushes %" PRIu64 ", in flight %" PRIu64 "\n",
		     result->durable, result->confirmed, result->flushes,
		     result->in_flight);
	for (unsigned int i = 0;
	     wflush_end_note(&result->flush, i, text, sizeof(text)); i++)
		(void)printf("%s\n", text);
	if (result->flush.unsent[0] != '\0')
		(void)printf("no verdict will be given: %s\n",
			     result->flush.unsent);
	if (result->latency.count > 0)
		(void)printf("confirmed after %.2f ms (median), %.2f ms "
			     "(99 %%), %.2f ms (max)\n",
			     latency_ms(result, 500), latency_ms(result, 990),
			     latency_ms(result, 1000));
	(void)fflush(stdout);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static int put(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

static json_t *latency(const struct writer_result *result)
{
	if (result->latency.count == 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f}", "median", latency_ms(result, 500),
			 "p99", latency_ms(result, 990), "max",
			 latency_ms(result, 1000));
}

static json_t *flush_layers(const struct wflush_words *words)
{
	json_t *list = json_array();
	bool is_bad = list == NULL;

	for (size_t i = 0; !is_bad && i < words->count; i++) {
		const struct flushcount_row *row = &words->rows[i];

		is_bad = json_array_append_new(
				 list,
				 json_pack("{s:s, s:b, s:o}", "name", row->name,
					   "counted", row->is_counted,
					   "completed",
					   row->is_counted ? number(row->last -
								    row->first)
							   : json_null())) < 0;
	}
	if (!is_bad)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *flush_proof(const struct wflush_words *words)
{
	if (!words->has_answer)
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "would_reach",
			 flushway_answer_name(words->answer), "reason",
			 words->way, "asked", number(words->asked), "layers",
			 flush_layers(words), "elided",
			 words->has_elided ? number(words->elided)
					   : json_null(),
			 "unsent",
			 words->unsent[0] == '\0' ? json_null()
						  : json_string(words->unsent));
}

static json_t *flush_trace(const struct wflush_words *words)
{
	const struct traceline_sums *sums = &words->trace;
	json_t *object = words->has_trace ? json_object() : json_null();
	int status = 0;

	if (!words->has_trace)
		return object;
	status |= put(object, "flushes_issued", number(sums->flushes_issued));
	status |= put(object, "flushes_completed",
		      number(sums->flushes_completed));
	status |= put(object, "flushes_failed", number(sums->flushes_failed));
	status |= put(object, "fua_issued", number(sums->fua_issued));
	status |= put(object, "fua_completed", number(sums->fua_completed));
	status |= put(object, "fua_failed", number(sums->fua_failed));
	status |= put(object, "repeated", number(sums->repeated));
	status |= put(object, "flush_commands", number(sums->commands));
	status |= put(object, "commands_retried", number(sums->retried));
	status |= put(object, "lost_events", number(sums->lost));
	status |= put(object, "first_ns", number(sums->first_ns));
	status |= put(object, "last_ns", number(sums->last_ns));
	if (status == 0)
		return object;
	json_decref(object);
	return NULL;
}

static const char *word(bool is_on)
{
	return is_on ? "on" : "off";
}

static json_t *write_cache(const struct wdrive_words *drive)
{
	if (!drive->has_cache)
		return json_null();
	return json_pack("{s:s, s:s}", "before", word(drive->was_cache_on),
			 "now", word(drive->is_cache_on));
}

/* When and how it was seen to go, and the kernel's own word of it. */
static json_t *gone_at(const struct writer_result *result)
{
	const struct wgone_words *words = &result->gone;
	json_t *event = json_null();

	if (!result->is_gone)
		return json_null();
	if (words->action != UEVENT_OTHER)
		event = json_pack("{s:s, s:s, s:f}", "action",
				  uevent_action_name(words->action), "device",
				  words->device, "ms", words->event_ms);
	return json_pack("{s:s?, s:f, s:o}", "by", words->by, "ms",
			 words->by_ms, "uevent", event);
}

static int fill_object(json_t *object, const struct writer_result *result,
		       const char *error)
{
	const struct run *run = &result->run;
	char id[RUN_ID_TEXT_BYTES];
	char sync[32];
	char seed[32];
	int status = 0;

	run_id_text(run->id, id);
	ackbody_sync_text(result->cycle.sync, result->cycle.sync_value, sync);
	(void)snprintf(seed, sizeof(seed), "0x%016" PRIx64, run->seed);
	status |= put(object, "run", json_string(id));
	status |= put(object, "cycle", number(result->cycle.cycle));
	status |= put(object, "writes", number(result->writes));
	status |=
		put(object, "bytes", number(result->writes * run->block_bytes));
	status |= put(object, "issued", number(result->issued));
	status |= put(object, "durable", number(result->durable));
	status |= put(object, "confirmed", number(result->confirmed));
	status |= put(object, "confirm_ms", latency(result));
	status |= put(object, "flushes", number(result->flushes));
	status |= put(object, "in_flight", number(result->in_flight));
	status |= put(object, "seconds", json_real(seconds_of(result)));
	status |= put(object, "writes_per_second", json_real(rate_of(result)));
	status |= put(object, "gone", json_boolean(result->is_gone));
	status |= put(object, "gone_at", gone_at(result));
	status |=
		put(object, "error", error ? json_string(error) : json_null());
	status |= put(object, "sync", json_string(sync));
	status |= put(object, "engine", json_string(result->drive.engine));
	status |= put(object, "write_cache", write_cache(&result->drive));
	status |= put(object, "flush_proof", flush_proof(&result->flush));
	status |= put(object, "trace", flush_trace(&result->flush));
	status |= put(object, "queue_depth", number(result->cycle.queue_depth));
	status |= put(object, "block_size", number(run->block_bytes));
	status |= put(object, "streams", number(run->streams));
	status |= put(object, "seed", json_string(seed));
	return status;
}

int wsummary_json(const char *path, const struct writer_result *result,
		  const char *error, struct err *err)
{
	json_t *object = json_object();
	int status = -1;

	errno = 0;
	if (object && fill_object(object, result, error) == 0)
		status = json_dump_file(object, path, JSON_INDENT(2));
	json_decref(object);
	if (status < 0)
		return err_sys(err, errno ? errno : EIO, "cannot write %s",
			       path);
	return 0;
}
