/* SPDX-License-Identifier: MIT */
#include "writer/wsettings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/identity.h"
#include "common/target/target.h"
#include "writer/ackclient.h"
#include "writer/durable.h"

#define FLUSH_COUNT_MAX (DURABLE_WINDOW / 2) /* the window fills before */
#define FLUSH_MS_MAX    3600000
#define STREAM_BYTES    (512 * 1024) /* a stream's own, besides its buffers */

void wsettings_init(struct wsettings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->pattern_text = "random";
	settings->sync_text = "flush:32";
	settings->engine_text = "libaio";
	settings->block_bytes = 4096;
	settings->queue_depth = 32;
	settings->streams = 1;
	settings->ack_timeout_ms = 60000;
	settings->drain_timeout_ms = 5000;
	settings->is_filled = true;
}

static int draw(void *bytes, size_t count, struct err *err)
{
	if (getrandom(bytes, count, 0) != (ssize_t)count)
		return err_sys(err, errno, "cannot draw a run id");
	return 0;
}

static int check_log(struct wsettings *settings, struct err *err)
{
	if (!settings->collector == !settings->acklog)
		return err_set(err, "either --collector or --acklog is needed "
				    "to keep the acknowledgements");
	if (settings->key && !settings->collector)
		return err_set(err, "--key goes with --collector");
	if (settings->run_text &&
	    run_id_parse(settings->run_text, settings->run_id, err) < 0)
		return -1;
	settings->is_resume = settings->run_text != NULL;
	if (settings->acklog && access(settings->acklog, F_OK) == 0)
		settings->is_resume = true;
	else if (settings->acklog && settings->run_text)
		return err_set(err,
			       "cannot resume run %s: there is no ack log "
			       "%s",
			       settings->run_text, settings->acklog);
	return 0;
}

static int check_sync(struct wsettings *settings, struct err *err)
{
	if (ackbody_sync_parse(settings->sync_text, &settings->sync,
			       &settings->sync_value, err) < 0)
		return -1;
	if (settings->sync == ACKBODY_SYNC_FLUSH_COUNT &&
	    settings->sync_value > FLUSH_COUNT_MAX)
		return err_set(err,
			       "--sync %s: at most %d writes can stand "
			       "between two flushes",
			       settings->sync_text, FLUSH_COUNT_MAX);
	if (settings->sync == ACKBODY_SYNC_FLUSH_MS &&
	    settings->sync_value > FLUSH_MS_MAX)
		return err_set(err,
			       "--sync %s: at most an hour can lie "
			       "between two flushes",
			       settings->sync_text);
	return 0;
}

static int check_engine(struct wsettings *settings, struct err *err)
{
	const char *cache = settings->write_cache_text;

	settings->engine = TARGET_ENGINE_USUAL;
	if (strcmp(settings->engine_text, "native") == 0)
		settings->engine = TARGET_ENGINE_NATIVE;
	else if (strcmp(settings->engine_text, "libaio") != 0)
		return err_set(err, "--engine is libaio or native, not '%.40s'",
			       settings->engine_text);
	settings->has_write_cache = cache != NULL;
	settings->wants_cache_on = cache && strcmp(cache, "on") == 0;
	if (cache && !settings->wants_cache_on && strcmp(cache, "off") != 0)
		return err_set(err, "--write-cache is on or off, not '%.40s'",
			       cache);
	return 0;
}

int wsettings_check(struct wsettings *settings, struct err *err)
{
	if (!settings->target)
		return err_set(err, "--target is needed: what to write to");
	if (settings->wants_probe)
		return check_engine(settings, err);
	if (check_log(settings, err) < 0 || check_sync(settings, err) < 0 ||
	    check_engine(settings, err) < 0 ||
	    run_pattern_parse(settings->pattern_text, &settings->pattern, err) <
		    0)
		return -1;
	if (settings->block_bytes % RUN_ATOM_BYTES != 0)
		return err_set(err,
			       "--block-size %llu is not a multiple of "
			       "%d bytes",
			       (unsigned long long)settings->block_bytes,
			       RUN_ATOM_BYTES);
	if (settings->given.fill && settings->given.no_fill)
		return err_set(err, "--fill and --no-fill cannot both be");
	if (settings->is_resume)
		return 0;
	if (draw(settings->run_id, RUN_ID_BYTES, err) < 0)
		return -1;
	if (!settings->given.seed)
		return draw(&settings->seed, sizeof(settings->seed), err);
	return 0;
}

static int fit_size(const struct wsettings *settings,
		    const struct target_info *info, struct run *run,
		    struct err *err)
{
	uint64_t room = settings->size_bytes;

	if (settings->offset_bytes >= info->size_bytes)
		return err_set(err,
			       "--offset %llu lies behind the end of %s, "
			       "which has %llu bytes",
			       (unsigned long long)settings->offset_bytes,
			       settings->target,
			       (unsigned long long)info->size_bytes);
	if (room == 0)
		room = info->size_bytes - settings->offset_bytes;
	if (room > info->size_bytes - settings->offset_bytes)
		return err_set(err,
			       "--size %llu from --offset %llu is more "
			       "than the %llu bytes of %s",
			       (unsigned long long)room,
			       (unsigned long long)settings->offset_bytes,
			       (unsigned long long)info->size_bytes,
			       settings->target);
	run->size_bytes = run_fit_size(room, run->block_bytes);
	if (run->size_bytes == 0)
		return err_set(err,
			       "%llu bytes of %s are too few: two labels "
			       "of 1 MiB and a block of %u bytes are the "
			       "least",
			       (unsigned long long)room, settings->target,
			       run->block_bytes);
	return 0;
}

int wsettings_new_run(const struct wsettings *settings,
		      const struct target_info *info, struct run *run,
		      struct err *err)
{
	memset(run, 0, sizeof(*run));
	memcpy(run->id, settings->run_id, RUN_ID_BYTES);
	run->offset_bytes = settings->offset_bytes;
	run->block_bytes = (uint32_t)settings->block_bytes;
	run->logical_block_bytes = info->logical_block_bytes;
	run->streams = (uint16_t)settings->streams;
	run->pattern = settings->pattern;
	run->is_filled = settings->is_filled;
	run->seed = settings->seed;
	run->created_ns = clock_wall_ns();
	(void)snprintf(run->identity, sizeof(run->identity), "%s",
		       info->identity);
	(void)snprintf(run->target, sizeof(run->target), "%s",
		       settings->target);
	if (run->block_bytes % info->logical_block_bytes != 0)
		return err_set(err,
			       "--block-size %u is not a multiple of the "
			       "%u-byte logical blocks of %s\nhint: "
			       "--block-size %u is the least",
			       run->block_bytes, info->logical_block_bytes,
			       settings->target, info->logical_block_bytes);
	if (info->logical_block_bytes > RUN_LABEL_BYTES)
		return err_set(err,
			       "logical blocks of %u bytes (%s) are not "
			       "supported",
			       info->logical_block_bytes, settings->target);
	if (fit_size(settings, info, run, err) < 0)
		return -1;
	return run_check(run, err);
}

static int differs(bool is_given, uint64_t wanted, uint64_t there,
		   const char *option, struct err *err)
{
	if (!is_given || wanted == there)
		return 0;
	return err_set(err,
		       "--%s %llu differs from the run's %llu, and a run "
		       "keeps what it began with\nhint: leave --%s away",
		       option, (unsigned long long)wanted,
		       (unsigned long long)there, option);
}

static int check_identity(const struct wsettings *settings,
			  const struct target_info *info, const struct run *run,
			  struct err *err)
{
	if (identity_compare(run->identity, info->identity) == IDENTITY_OTHER ||
	    (info->identity[0] == '\0' && run->identity[0] != '\0'))
		return err_set(err,
			       "%s is the wrong drive: it is '%.120s', the run "
			       "was begun on '%.120s'\nhint: name the drive of "
			       "the run with --target, or begin a new run",
			       settings->target, info->identity, run->identity);
	if (info->logical_block_bytes != run->logical_block_bytes)
		return err_set(err,
			       "%s has logical blocks of %u bytes now, "
			       "and had %u when the run began\nhint: attach it "
			       "as it was then, or begin a new run",
			       settings->target, info->logical_block_bytes,
			       run->logical_block_bytes);
	if (run->offset_bytes + run->size_bytes > info->size_bytes)
		return err_set(err,
			       "%s has %llu bytes, the run's region ends "
			       "at %llu\nhint: see what took its end, or begin "
			       "a new run",
			       settings->target,
			       (unsigned long long)info->size_bytes,
			       (unsigned long long)(run->offset_bytes +
						    run->size_bytes));
	return 0;
}

int wsettings_resume_run(const struct wsettings *settings,
			 const struct target_info *info, const struct run *run,
			 struct err *err)
{
	const struct wsettings_given *given = &settings->given;
	uint64_t size_bytes =
		run_fit_size(settings->size_bytes, run->block_bytes);

	if (settings->run_text &&
	    memcmp(settings->run_id, run->id, RUN_ID_BYTES) != 0)
		return err_set(err,
			       "the ack log is of another run than %s\nhint: "
			       "leave --run away, or name that run's log",
			       settings->run_text);
	if (differs(given->offset, settings->offset_bytes, run->offset_bytes,
		    "offset", err) < 0 ||
	    differs(given->block_size, settings->block_bytes, run->block_bytes,
		    "block-size", err) < 0 ||
	    differs(given->size, size_bytes, run->size_bytes, "size", err) <
		    0 ||
	    differs(given->streams, settings->streams, run->streams, "streams",
		    err) < 0 ||
	    differs(given->seed, settings->seed, run->seed, "seed", err) < 0 ||
	    differs(given->fill, true, run->is_filled, "fill", err) < 0 ||
	    differs(given->no_fill, false, run->is_filled, "no-fill", err) < 0)
		return -1;
	if (given->pattern && settings->pattern != run->pattern)
		return err_set(err,
			       "--pattern %s differs from the run's %s, "
			       "and a run keeps what it began with"
			       "\nhint: leave --pattern away",
			       settings->pattern_text,
			       run_pattern_name(run->pattern));
	return check_identity(settings, info, run, err);
}

static int check_abilities(const struct wsettings *settings,
			   const struct target_info *info,
			   const struct run *run, struct err *err)
{
	uint64_t block_bytes = run->block_bytes < TARGET_ALIGNMENT
				       ? TARGET_ALIGNMENT
				       : run->block_bytes;
	uint64_t bytes = run->streams *
			 (settings->queue_depth * block_bytes + STREAM_BYTES);

	if (settings->sync == ACKBODY_SYNC_FUA && !info->has_fua)
		return err_set(err,
			       "--sync fua: %s cannot be asked for FUA "
			       "writes",
			       settings->target);
	if (settings->sync <= ACKBODY_SYNC_FLUSH_MS && !info->has_flush)
		return err_set(err, "--sync %s: %s cannot be asked to flush",
			       settings->sync_text, settings->target);
	if (run->block_bytes > info->max_request_bytes)
		return err_set(err,
			       "%s takes at most %u bytes at once, not "
			       "blocks of %u",
			       settings->target, info->max_request_bytes,
			       run->block_bytes);
	if (bytes > WSETTINGS_BUFFERS_MAX)
		return err_set(
			err,
			"%u streams of %llu writes of %u bytes would "
			"need %llu MiB of buffers, %llu MiB are the "
			"limit\nhint: lower --queue-depth or "
			"--block-size",
			run->streams, (unsigned long long)settings->queue_depth,
			run->block_bytes, (unsigned long long)(bytes >> 20),
			WSETTINGS_BUFFERS_MAX >> 20);
	return 0;
}

int wsettings_cycle(const struct wsettings *settings,
		    const struct target_info *info, const struct run *run,
		    const struct ackclient_before *before,
		    struct ackbody_cycle *cycle, struct err *err)
{
	if (check_abilities(settings, info, run, err) < 0)
		return -1;
	memset(cycle, 0, sizeof(*cycle));
	cycle->cycle = before->cycle + 1;
	cycle->sync = settings->sync;
	cycle->sync_value = settings->sync_value;
	cycle->queue_depth = (uint16_t)settings->queue_depth;
	cycle->started_ns = clock_wall_ns();
	cycle->streams = run->streams;
	for (unsigned int i = 0; i < run->streams; i++)
		cycle->first_sequence[i] = before->reserved[i] + 1;
	return 0;
}

uint64_t wsettings_last_sequence(const struct wsettings *settings,
				 const struct ackbody_cycle *cycle,
				 uint16_t stream)
{
	uint64_t share = settings->count / cycle->streams;

	if (settings->count == 0)
		return UINT64_MAX;
	if (stream < settings->count % cycle->streams)
		share++;
	return cycle->first_sequence[stream] + share - 1;
}
