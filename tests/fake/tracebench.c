/* SPDX-License-Identifier: MIT */
#include "tests/fake/tracebench.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"
#include "simdrive/flush.h"
#include "simdrive/power.h"

#define SPARE_BYTES  (16U * 1024)
#define BYPASS_BYTES (32U * 1024)
#define CACHE_BYTES  (64U * 1024)
#define DRAIN_MS     200
#define STEPS        150
#define MS           1000000ULL

static int memory_read(void *context, void *buffer, size_t length,
		       uint64_t offset)
{
	memcpy(buffer, (uint8_t *)context + offset, length);
	return 0;
}

static int memory_write(void *context, const void *buffer, size_t length,
			uint64_t offset)
{
	memcpy((uint8_t *)context + offset, buffer, length);
	return 0;
}

/* As the file has it, so that the replay reads bytes and no struct. */
static void hear(void *context, const struct trace_event *event)
{
	struct tracebench *bench = context;
	struct trace_event stamped = *event;
	size_t data_bytes = event->data == NULL ? 0 : event->length;

	if (event->type == TRACE_WRITE && (event->flags & TRACE_FUA) != 0)
		bench->fua_untold--;
	if (bench->rc != 0 || (int)event->type == bench->leave_out)
		return;
	assert(data_bytes <= TRACEBENCH_WRITE_MAX);
	stamped.time_ns = bench->now_ns;
	trace_encode_header(&stamped, bench->event);
	if (data_bytes > 0)
		memcpy(bench->event + TRACE_HEADER_BYTES, event->data,
		       data_bytes);
	bench->rc =
		tracereplay_feed(bench->replay, bench->event,
				 TRACE_HEADER_BYTES + data_bytes, &bench->err);
}

static void fill_randomly(struct tracebench *bench, uint8_t *bytes,
			  size_t length)
{
	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		uint64_t word = prng_next(&bench->prng);

		memcpy(bytes + at, &word, sizeof(word));
	}
}

struct tracebench *tracebench_new(const struct faults *faults,
				  enum model_drain order, uint32_t block_bytes,
				  uint64_t seed)
{
	struct tracebench *bench = calloc(1, sizeof(*bench));

	assert(bench != NULL);
	bench->config = (struct model_config){
		.media = {memory_read, memory_write, bench->media,
			  TRACEBENCH_MEDIA_BYTES},
		.logical_block_bytes = block_bytes,
		.cache_bytes = CACHE_BYTES,
		.drain_ms = DRAIN_MS,
		.drain_order = order,
		.cut_drain = (enum model_cut_drain)(seed % 3),
		.spare_bytes = SPARE_BYTES,
		.bypass_bytes = BYPASS_BYTES,
		.seed = seed,
		.faults = *faults,
		.trace = {hear, bench},
	};
	bench->model = model_new(&bench->config, &bench->err);
	if (bench->model == NULL) {
		free(bench);
		return NULL;
	}
	prng_init(&bench->prng, seed);
	bench->now_ns = 1;
	bench->has_new_process = seed % 2 == 0;
	fill_randomly(bench, bench->media, TRACEBENCH_MEDIA_BYTES);
	memcpy(bench->view, bench->media, sizeof(bench->view));
	bench->replay = tracereplay_new(bench->media, TRACEBENCH_MEDIA_BYTES);
	power_on(bench->model, true);
	return bench;
}

void tracebench_free(struct tracebench *bench)
{
	model_free(bench->model);
	tracereplay_free(bench->replay);
	free(bench);
}

static int disagree(struct tracebench *bench, const char *what)
{
	if (bench->rc == 0)
		bench->rc = err_set(&bench->err, "%s", what);
	return -1;
}

static int compare(struct tracebench *bench)
{
	if (bench->rc != 0)
		return -1;
	if (memcmp(tracereplay_media(bench->replay), bench->media,
		   TRACEBENCH_MEDIA_BYTES) != 0)
		return disagree(bench, "the media hold something else");
	if (memcmp(tracereplay_view(bench->replay), bench->view,
		   TRACEBENCH_MEDIA_BYTES) != 0)
		return disagree(bench, "other writes were told");
	if (bench->fua_untold != 0)
		return disagree(bench, "FUA was told wrongly");
	return 0;
}

static struct damage_write draw_write(struct tracebench *bench, uint8_t *data,
				      size_t length_max)
{
	uint32_t block = bench->config.logical_block_bytes;
	uint64_t unit = prng_below(&bench->prng, 2) == 0 ? block : 4096;
	uint64_t length = unit * (1 + prng_below(&bench->prng, 4));

	if (prng_below(&bench->prng, 10) == 0)
		length = unit * (1 + prng_below(&bench->prng, 12));
	if (length > length_max)
		length = length_max;
	return (struct damage_write){
		.data = data,
		.length = length,
		.offset_bytes = block * prng_below(&bench->prng,
						   (TRACEBENCH_MEDIA_BYTES -
						    length) / block +
							   1),
		.is_fua = prng_below(&bench->prng, 5) == 0,
	};
}

static int expect_result(struct tracebench *bench, int got, int scar)
{
	static const int results[] = {
		[REPLAY_SCAR_NONE] = 0,
		[REPLAY_SCAR_ERROR] = -EIO,
		[REPLAY_SCAR_HANGS] = MODEL_NO_ANSWER,
		[REPLAY_SCAR_DEAD] = -ESHUTDOWN,
	};

	if (got == results[scar])
		return bench->rc;
	return disagree(bench, "an answer that no scar explains, or a scar "
			       "that the answer denies");
}

/* What the scars say of a request that only a dead drive refuses. */
static int expect_alive(struct tracebench *bench, int got)
{
	int scar = tracereplay_scar(bench->replay, 0, 0);

	return expect_result(bench, got, scar);
}

static int do_read(struct tracebench *bench, uint64_t offset_bytes,
		   size_t length)
{
	uint8_t *answer = bench->buffer[0];
	int scar = tracereplay_scar(bench->replay, offset_bytes, length);
	int rc = model_read(bench->model, answer, length, offset_bytes,
			    bench->now_ns);

	if (expect_result(bench, rc, scar) != 0)
		return -1;
	if (rc == 0 &&
	    !tracereplay_explains(bench->replay, answer, length, offset_bytes))
		return disagree(bench, "a wrong answer that was not told");
	return 0;
}

int tracebench_write(struct tracebench *bench)
{
	struct damage_write write =
		draw_write(bench, bench->buffer[0], TRACEBENCH_WRITE_MAX);
	int rc = 0;

	fill_randomly(bench, bench->buffer[0], write.length);
	rc = model_write(bench->model, &write, write.is_fua, bench->now_ns);
	if (rc == 0) {
		bench->fua_untold += write.is_fua;
		memcpy(bench->view + write.offset_bytes, write.data,
		       write.length);
	}
	return expect_alive(bench, rc);
}

/* Slow, and with writes between its steps: each may be the end of the life. */
static int do_flush(struct tracebench *bench)
{
	uint64_t steps = prng_below(&bench->prng, 4);
	struct flush flush;
	int rc = flush_begin(bench->model, &flush, bench->now_ns);

	if (rc != 0)
		return expect_alive(bench, rc);
	for (; steps > 0 && rc == 0; steps--) {
		rc = tracebench_write(bench);
		if (rc == 0)
			rc = flush_step(bench->model, &flush);
		if (rc == 0)
			rc = compare(bench);
	}
	return rc == 0 ? flush_end(bench->model, &flush) : rc;
}

static int take_step(struct tracebench *bench)
{
	uint64_t chance = prng_below(&bench->prng, 100);
	struct damage_write range;

	bench->now_ns += prng_below(&bench->prng, 10 * MS);
	if (chance < 50)
		return tracebench_write(bench);
	if (chance < 62)
		return do_flush(bench);
	if (chance < 96) {
		range = draw_write(bench, NULL, TRACEBENCH_WRITE_MAX);
		return do_read(bench, range.offset_bytes, range.length);
	}
	bench->now_ns += prng_below(&bench->prng, 2 * DRAIN_MS * MS);
	return model_tick(bench->model, bench->now_ns);
}

static int take_steps(struct tracebench *bench, int steps)
{
	for (int i = 0; i < steps; i++) {
		if (take_step(bench) != 0)
			return disagree(bench, "a step failed");
		if (prng_below(&bench->prng, 4) == 0 && compare(bench) != 0)
			return -1;
	}
	return 0;
}

static void replace_model(struct tracebench *bench)
{
	uint8_t *saved = malloc(POWER_STATE_BYTES_MAX);
	size_t length = 0;

	assert(saved != NULL);
	length = power_save_state(bench->model, saved);
	model_free(bench->model);
	bench->model = model_new(&bench->config, &bench->err);
	assert(bench->model != NULL);
	if (power_load_state(bench->model, saved, length, &bench->err) != 0)
		bench->rc = -1;
	free(saved);
}

int tracebench_cut(struct tracebench *bench)
{
	struct damage_write writes[TRACEBENCH_IN_FLIGHT_MAX];
	bool is_dead =
		tracereplay_scar(bench->replay, 0, 0) != REPLAY_SCAR_NONE;
	size_t count = prng_below(&bench->prng, TRACEBENCH_IN_FLIGHT_MAX + 1);

	for (size_t i = 0; i < count; i++) {
		writes[i] = draw_write(bench, bench->buffer[i],
				       TRACEBENCH_WRITE_MAX);
		fill_randomly(bench, bench->buffer[i], writes[i].length);
		bench->fua_untold += writes[i].is_fua && !is_dead;
	}
	if (power_cut(bench->model, writes, count, bench->now_ns) != 0 ||
	    tracereplay_is_on(bench->replay))
		return disagree(bench, "the cut failed, or was not told");
	memcpy(bench->view, bench->media, sizeof(bench->view));
	if (compare(bench) != 0)
		return -1;
	if (bench->has_new_process)
		replace_model(bench);
	power_on(bench->model, false);
	return bench->rc;
}

/* All that the drive shows now must have been told. */
int tracebench_scan(struct tracebench *bench)
{
	for (uint64_t at = 0; at < TRACEBENCH_MEDIA_BYTES; at += 4096)
		if (do_read(bench, at, 4096) != 0)
			return -1;
	return 0;
}

int tracebench_live(struct tracebench *bench)
{
	for (int life = 0; life < TRACEBENCH_LIVES; life++) {
		if (take_steps(bench, STEPS) != 0 || tracebench_cut(bench) != 0)
			return -1;
		if (prng_below(&bench->prng, 2) == 0 &&
		    tracebench_scan(bench) != 0)
			return -1;
	}
	if (take_steps(bench, STEPS / 4) != 0)
		return -1;
	if (power_stop(bench->model) != 0 || tracereplay_is_on(bench->replay))
		return disagree(bench, "the stop failed, or was not told");
	return compare(bench);
}
