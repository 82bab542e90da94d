/* SPDX-License-Identifier: MIT */
#include "tests/fake/rehearsal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "simdrive/power.h"
#include "tests/fake/stage.h"

static int memory_read(void *context, void *buffer, size_t length,
		       uint64_t offset_bytes)
{
	const uint8_t *media = context;

	memcpy(buffer, media + offset_bytes, length);
	return 0;
}

static int memory_write(void *context, const void *buffer, size_t length,
			uint64_t offset_bytes)
{
	uint8_t *media = context;

	memcpy(media + offset_bytes, buffer, length);
	return 0;
}

static void describe_run(struct stage *stage)
{
	struct run *run = &stage->run;

	for (size_t i = 0; i < RUN_ID_BYTES; i++)
		run->id[i] = (uint8_t)(prng_next(&stage->prng) | 1);
	run->size_bytes = REGION_BYTES;
	run->block_bytes = BLOCK_BYTES;
	run->logical_block_bytes = LOGICAL_BYTES;
	run->streams = 1;
	run->pattern = RUN_PATTERN_RANDOM;
	run->is_filled = true;
	run->seed = stage->config->seed;
	(void)snprintf(run->identity, sizeof(run->identity), "rehearsal");
	(void)snprintf(run->target, sizeof(run->target), "memory");
}

static int open_stage(struct stage *stage, struct err *err)
{
	struct model_config model = {
		.logical_block_bytes = LOGICAL_BYTES,
		.cache_bytes = 4 * 1024 * 1024,
		.drain_ms = MODEL_DRAIN_MS_DEFAULT,
		.drain_order = stage->config->seed % 2 ? MODEL_DRAIN_RANDOM
						       : MODEL_DRAIN_FIFO,
		.spare_bytes = MODEL_SPARE_BYTES_DEFAULT,
		.bypass_bytes = MODEL_BYPASS_BYTES_DEFAULT,
		.seed = stage->config->seed,
	};

	prng_init(&stage->prng, stage->config->seed);
	describe_run(stage);
	expect_schedules(&stage->run, stage->schedules);
	stage->media = calloc(1, REGION_BYTES);
	if (!stage->media)
		return err_set(err, "no memory for the media");
	model.media = (struct media){memory_read, memory_write, stage->media,
				     REGION_BYTES};
	if (faults_add(&model.faults, stage->config->fault, err) < 0)
		return -1;
	stage->model = model_new(&model, err);
	stage->cipher = record_cipher_new(stage->run.id, err);
	stage->ledger = ledger_new(err);
	return stage->model && stage->cipher && stage->ledger ? 0 : -1;
}

static void close_stage(struct stage *stage)
{
	durable_free(stage->durable);
	ledger_free(stage->ledger);
	record_cipher_free(stage->cipher);
	model_free(stage->model);
	free(stage->media);
	free(stage);
}

static int fill_region(struct stage *stage, struct err *err)
{
	uint8_t *buffer = malloc(RUN_LABEL_AREA_BYTES);
	struct damage_write write = {
		.data = buffer,
		.length = RUN_LABEL_AREA_BYTES,
		.offset_bytes = run_slot_offset(&stage->run, 0),
	};
	int result = 0;

	static_assert(SLOTS * BLOCK_BYTES == RUN_LABEL_AREA_BYTES,
		      "one request fills the region");
	if (!buffer)
		return err_set(err, "no memory for the fill");
	record_build_fill(stage->cipher, write.offset_bytes,
			  write.length / RUN_ATOM_BYTES, buffer);
	result = model_write(stage->model, &write, false, 0);
	if (result == 0)
		result = model_flush(stage->model, 0);
	free(buffer);
	return result == 0 ? 0 : err_set(err, "the fill failed");
}

static int say(struct stage *stage, const struct ackbody *body, struct err *err)
{
	return ledger_apply(stage->ledger, body, err);
}

static int begin_cycle(struct stage *stage, struct err *err)
{
	struct ackbody body = {.type = ACKBODY_CYCLE};

	stage->cycle++;
	stage->first_sequence = ledger_reserved(stage->ledger, 0) + 1;
	body.cycle = (struct ackbody_cycle){
		.cycle = stage->cycle,
		.sync = stage->sync,
		.sync_value = stage->config->sync_value,
		.queue_depth = (uint16_t)stage->config->depth,
		.streams = 1,
		.first_sequence = {stage->first_sequence},
	};
	memset(stage->requests, 0, sizeof(stage->requests));
	durable_free(stage->durable);
	stage->durable = durable_new(stage->first_sequence,
				     stage->sync != ACKBODY_SYNC_NONE, err);
	if (!stage->durable || say(stage, &body, err) < 0)
		return -1;
	body = (struct ackbody){
		.type = ACKBODY_RESERVE,
		.limit = {0, stage->first_sequence + stage->config->writes}};
	return say(stage, &body, err);
}

static unsigned int in_flight(const struct stage *stage, bool is_flush)
{
	unsigned int count = 0;

	for (size_t i = 0; i < REQUESTS_MAX; i++)
		count += stage->requests[i].state != REQUEST_FREE &&
			 stage->requests[i].is_flush == is_flush;
	return count;
}

static bool is_busy(const struct stage *stage, uint64_t slot)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++)
		if (stage->requests[i].state != REQUEST_FREE &&
		    !stage->requests[i].is_flush &&
		    stage->requests[i].slot == slot)
			return true;
	return false;
}

static struct request *free_request(struct stage *stage)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++)
		if (stage->requests[i].state == REQUEST_FREE)
			return &stage->requests[i];
	abort();
}

static void issue_write(struct stage *stage)
{
	uint64_t sequence = durable_issued(stage->durable) + 1;
	uint64_t slot = schedule_slot(&stage->schedules[0], sequence);
	struct request *request = NULL;
	struct record record = {
		.cycle = stage->cycle,
		.sequence = sequence,
		.offset_bytes = run_slot_offset(&stage->run, slot),
		.atoms = ATOMS,
		.first_sequence = stage->first_sequence,
		.durable_sequence = durable_w(stage->durable),
		.issued_ns = stage->now_ns,
	};

	if (!durable_can_issue(stage->durable) || is_busy(stage, slot))
		return;
	request = free_request(stage);
	request->state = REQUEST_SENT;
	request->is_flush = false;
	request->slot = slot;
	request->number = durable_issue(stage->durable);
	assert(request->number == sequence);
	memcpy(record.run_id, stage->run.id, RUN_ID_BYTES);
	record_build(stage->cipher, &record, request->data);
}

static bool wants_flush(const struct stage *stage)
{
	if (durable_uncovered(stage->durable) == 0 ||
	    !durable_can_flush(stage->durable))
		return false;
	if (stage->sync == ACKBODY_SYNC_FLUSH_COUNT)
		return durable_uncovered(stage->durable) >=
		       stage->config->sync_value;
	return stage->sync == ACKBODY_SYNC_FLUSH_MS &&
	       stage->now_ns >= stage->flush_due_ns;
}

static void issue_flush(struct stage *stage)
{
	struct request *request = free_request(stage);

	stage->flush_due_ns =
		stage->now_ns + stage->config->sync_value * 1000000;
	request->state = REQUEST_SENT;
	request->is_flush = true;
	request->number = durable_flush_submit(stage->durable);
}

/* The drive deals with one of the requests it has, whichever it likes. */
static int serve_one(struct stage *stage, struct err *err)
{
	struct request *request =
		&stage->requests[prng_below(&stage->prng, REQUESTS_MAX)];
	struct damage_write write = {
		.data = request->data,
		.length = BLOCK_BYTES,
		.offset_bytes = run_slot_offset(&stage->run, request->slot),
	};
	int result = 0;

	if (request->state != REQUEST_SENT)
		return 0;
	result = request->is_flush
			 ? model_flush(stage->model, stage->now_ns)
			 : model_write(stage->model, &write,
				       stage->sync == ACKBODY_SYNC_FUA,
				       stage->now_ns);
	request->state = REQUEST_SERVED;
	return result == 0 ? 0 : err_set(err, "the drive failed a request");
}

static int tell_ranges(struct stage *stage, bool is_durable, struct err *err)
{
	struct ackbody body = {
		.type = is_durable ? ACKBODY_DURABLE : ACKBODY_COMPLETED,
	};
	bool is_fua = stage->sync == ACKBODY_SYNC_FUA;

	body.ranges.count = 1;
	body.ranges.flush = is_durable && !is_fua;
	while (is_durable ? durable_take(stage->durable, body.ranges.ranges)
			  : durable_take_completed(stage->durable,
						   body.ranges.ranges))
		if (!stage->is_mute && say(stage, &body, err) < 0)
			return -1;
	return 0;
}

static int reap_all(struct stage *stage, struct err *err)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++) {
		struct request *request = &stage->requests[i];

		if (request->state != REQUEST_SERVED)
			continue;
		request->state = REQUEST_FREE;
		if (request->is_flush)
			durable_flush_complete(stage->durable, request->number);
		else
			durable_complete(stage->durable, request->number,
					 stage->sync == ACKBODY_SYNC_FUA);
	}
	if (wants_flush(stage))
		issue_flush(stage);
	return tell_ranges(stage, true, err) < 0 ||
			       tell_ranges(stage, false, err) < 0
		       ? -1
		       : 0;
}

/* The host has a turn, or the drive. With depth 1 a flush stands alone. */
static int take_step(struct stage *stage, struct err *err)
{
	unsigned int depth = stage->config->depth;
	bool is_alone = depth == 1 && in_flight(stage, true) > 0;

	stage->now_ns += prng_below(&stage->prng, STEP_NS);
	if (prng_below(&stage->prng, 8) == 0)
		return reap_all(stage, err);
	if (in_flight(stage, false) < depth && !is_alone &&
	    !(depth == 1 && wants_flush(stage)))
		issue_write(stage);
	return serve_one(stage, err);
}

static int cut_power(struct stage *stage, struct err *err)
{
	struct damage_write writes[REQUESTS_MAX];
	struct ackbody body = {.type = ACKBODY_ISSUED};
	size_t count = 0;

	for (size_t i = 0; i < REQUESTS_MAX; i++) {
		struct request *request = &stage->requests[i];

		if (request->state == REQUEST_SENT && !request->is_flush)
			writes[count++] = (struct damage_write){
				request->data, BLOCK_BYTES,
				run_slot_offset(&stage->run, request->slot),
				stage->sync == ACKBODY_SYNC_FUA};
	}
	durable_fail(stage->durable);
	body.limit.sequence = durable_issued(stage->durable);
	if (say(stage, &body, err) < 0)
		return -1;
	if (power_cut(stage->model, writes, count, stage->now_ns) != 0)
		return err_set(err, "the cut failed");
	return 0;
}

static int play_cycle(struct stage *stage, struct err *err)
{
	unsigned int writes = stage->config->writes;
	uint64_t last = 0;

	if (begin_cycle(stage, err) < 0)
		return -1;
	last = stage->first_sequence + writes - 1;
	while (durable_issued(stage->durable) < last) {
		stage->is_mute =
			stage->config->log == REHEARSAL_LOG_CUT &&
			durable_issued(stage->durable) > last - writes / 2;
		if (take_step(stage, err) < 0)
			return -1;
	}
	return cut_power(stage, err);
}

static int play(struct stage *stage, struct rehearsal_result *result,
		struct err *err)
{
	struct ackbody body = {.type = ACKBODY_RUN};

	if (open_stage(stage, err) < 0 || fill_region(stage, err) < 0)
		return -1;
	body.run = stage->run;
	if (say(stage, &body, err) < 0)
		return -1;
	for (unsigned int i = 0; i < stage->config->cycles; i++)
		if (play_cycle(stage, err) < 0)
			return -1;
	if (stage->config->is_last_cycle_unsynced) {
		stage->sync = ACKBODY_SYNC_NONE;
		if (play_cycle(stage, err) < 0)
			return -1;
	}
	return stage_scan(stage, result, err);
}

int rehearsal_run(const struct rehearsal_config *config,
		  struct rehearsal_result *result, struct err *err)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	int status = 0;

	assert(config->depth >= 1 && config->depth <= DEPTH_MAX);
	if (!stage)
		return err_set(err, "no memory for the rehearsal");
	*result = (struct rehearsal_result){0};
	stage->config = config;
	stage->sync = config->sync;
	status = play(stage, result, err);
	close_stage(stage);
	return status;
}
