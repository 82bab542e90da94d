/* SPDX-License-Identifier: MIT */
#include "tests/fake/tracereplay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"

#define HEADER_BYTES 40
#define ATOM_BYTES   512

struct event {
	unsigned int type, flags;
	uint64_t length, data_bytes, request, offset, time;
	const uint8_t *data;
};

/* A write of this life, found again by its number. */
struct write {
	uint64_t request, length, offset;
	bool is_done;
	uint8_t *data;
};

struct tracereplay {
	uint64_t size_bytes;
	uint32_t block_bytes; /* 0 before the first ON */
	uint8_t *media;       /* what it keeps without power */
	uint8_t *view;        /* what an honest read answers */
	uint8_t *wrong;       /* view, with what READ_WRONG told over it */
	bool is_on, is_dead;
	uint64_t time, request, flush, cuts;
	bool is_flush_open;
	struct write *writes;
	size_t write_count, write_room;
	/* For each logical block, of which there are at most size / 512: */
	uint64_t *newest;    /* write of this life on the media, 0: none */
	uint8_t *scars;      /* kind */
	uint64_t *scar_cuts; /* how many cuts there were when it was told */
	uint64_t events, counts[REPLAY_TYPES];
};

struct tracereplay *tracereplay_new(const uint8_t *media, uint64_t size_bytes)
{
	struct tracereplay *replay = calloc(1, sizeof(*replay));
	uint64_t blocks = size_bytes / ATOM_BYTES;

	assert(replay != NULL);
	replay->size_bytes = size_bytes;
	replay->media = calloc(1, size_bytes);
	replay->view = calloc(1, size_bytes);
	replay->wrong = calloc(1, size_bytes);
	replay->newest = calloc(blocks, sizeof(*replay->newest));
	replay->scars = calloc(blocks, 1);
	replay->scar_cuts = calloc(blocks, sizeof(*replay->scar_cuts));
	assert(replay->media && replay->view && replay->wrong);
	assert(replay->newest && replay->scars && replay->scar_cuts);
	if (media != NULL)
		memcpy(replay->media, media, size_bytes);
	return replay;
}

static void forget_writes(struct tracereplay *replay)
{
	for (size_t i = 0; i < replay->write_count; i++)
		free(replay->writes[i].data);
	replay->write_count = 0;
	replay->is_flush_open = false;
}

void tracereplay_free(struct tracereplay *replay)
{
	if (replay == NULL)
		return;
	forget_writes(replay);
	free(replay->writes);
	free(replay->media);
	free(replay->view);
	free(replay->wrong);
	free(replay->newest);
	free(replay->scars);
	free(replay->scar_cuts);
	free(replay);
}

/* Writes stand in the order of their numbers. */
static struct write *find_write(struct tracereplay *replay, uint64_t request)
{
	size_t low = 0, high = replay->write_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (replay->writes[middle].request == request)
			return &replay->writes[middle];
		if (replay->writes[middle].request < request)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void keep_write(struct tracereplay *replay, const struct event *event)
{
	struct write *write = NULL;

	if (replay->write_count == replay->write_room) {
		replay->write_room = replay->write_room * 2 + 64;
		replay->writes =
			realloc(replay->writes,
				replay->write_room * sizeof(*replay->writes));
		assert(replay->writes != NULL);
	}
	write = &replay->writes[replay->write_count++];
	*write = (struct write){
		.request = event->request,
		.length = event->length,
		.offset = event->offset,
		.data = malloc(event->length),
	};
	assert(write->data != NULL);
	memcpy(write->data, event->data, event->length);
}

static bool is_range(const struct tracereplay *replay,
		     const struct event *event, uint64_t unit)
{
	return event->length > 0 && event->length % unit == 0 &&
	       event->offset % unit == 0 &&
	       event->offset <= replay->size_bytes &&
	       event->length <= replay->size_bytes - event->offset;
}

static int play_on(struct tracereplay *replay, const struct event *event,
		   struct err *err)
{
	if (replay->is_on)
		return err_set(err, "it was on already");
	if (event->length != 512 && event->length != 4096)
		return err_set(err, "no such logical block");
	if (event->offset != replay->size_bytes)
		return err_set(err, "the media have another size");
	replay->is_on = true;
	replay->block_bytes = (uint32_t)event->length;
	replay->request = 0;
	forget_writes(replay);
	memset(replay->newest, 0,
	       replay->size_bytes / ATOM_BYTES * sizeof(*replay->newest));
	memcpy(replay->view, replay->media, replay->size_bytes);
	memcpy(replay->wrong, replay->media, replay->size_bytes);
	return 0;
}

static int play_write(struct tracereplay *replay, const struct event *event,
		      struct err *err)
{
	if (event->request <= replay->request)
		return err_set(err, "its number was used before");
	if (replay->is_dead)
		return err_set(err, "a dead drive takes no write");
	replay->request = event->request;
	keep_write(replay, event);
	return 0;
}

static int play_write_done(struct tracereplay *replay,
			   const struct event *event, struct err *err)
{
	struct write *write = find_write(replay, event->request);

	if (write == NULL || write->is_done || write->offset != event->offset ||
	    write->length != event->length)
		return err_set(err, "there is no such write to be answered");
	write->is_done = true;
	memcpy(replay->view + write->offset, write->data, write->length);
	memcpy(replay->wrong + write->offset, write->data, write->length);
	return 0;
}

static int play_flush(struct tracereplay *replay, const struct event *event,
		      struct err *err)
{
	bool is_done = event->type == REPLAY_FLUSH_DONE;

	if (is_done ? !replay->is_flush_open || replay->flush != event->request
		    : event->request <= replay->request)
		return err_set(err, "its number was used before, or never");
	replay->is_flush_open = !is_done;
	replay->flush = event->request;
	if (!is_done)
		replay->request = event->request;
	return 0;
}

/* Part of a write reaches the media, at the cut or before. */
static int play_part(struct tracereplay *replay, const struct event *event,
		     struct err *err)
{
	const struct write *write = find_write(replay, event->request);
	uint64_t at = 0;

	if (write == NULL || event->offset < write->offset ||
	    event->offset + event->length > write->offset + write->length)
		return err_set(err, "there is no such write, or no such part");
	at = event->offset - write->offset;
	if (event->data != NULL &&
	    memcmp(event->data, write->data + at, event->length) != 0)
		return err_set(err, "the write had other content");
	for (uint64_t i = 0; i < event->length / replay->block_bytes; i++) {
		uint64_t number = event->offset / replay->block_bytes + i;

		if (replay->newest[number] > event->request)
			return err_set(err, "a newer write was there before");
		replay->newest[number] = event->request;
	}
	memcpy(replay->media + event->offset, write->data + at, event->length);
	return 0;
}

static int play_scar(struct tracereplay *replay, const struct event *event,
		     struct err *err)
{
	bool is_healed = event->flags == REPLAY_SCAR_HEALED;
	bool is_whole = event->length == 0 && event->offset == 0;

	if (is_whole) {
		if (!is_healed && event->flags != REPLAY_SCAR_DEAD)
			return err_set(err, "no such scar of a whole drive");
		replay->is_dead = !is_healed;
		if (is_healed)
			memset(replay->scars, REPLAY_SCAR_NONE,
			       replay->size_bytes / ATOM_BYTES);
		return 0;
	}
	if (event->flags == REPLAY_SCAR_DEAD ||
	    !is_range(replay, event, replay->block_bytes))
		return err_set(err, "no such scar");
	for (uint64_t i = 0; i < event->length / replay->block_bytes; i++) {
		uint64_t number = event->offset / replay->block_bytes + i;

		if (is_healed == (replay->scars[number] == REPLAY_SCAR_NONE))
			return err_set(err, "healed without a scar, or two");
		replay->scars[number] =
			is_healed ? REPLAY_SCAR_NONE : (uint8_t)event->flags;
		replay->scar_cuts[number] = replay->cuts;
	}
	return 0;
}

static int play_read_wrong(struct tracereplay *replay,
			   const struct event *event, struct err *err)
{
	for (uint64_t i = 0; i < event->length / replay->block_bytes; i++)
		if (replay->scars[event->offset / replay->block_bytes + i] !=
		    REPLAY_SCAR_STALE)
			return err_set(err, "no scar was told there");
	if (memcmp(replay->view + event->offset, event->data, event->length) ==
	    0)
		return err_set(err, "that is what the drive holds");
	memcpy(replay->wrong + event->offset, event->data, event->length);
	return 0;
}

static int play_cut(struct tracereplay *replay, struct err *err)
{
	for (uint64_t i = 0; i < replay->size_bytes / replay->block_bytes; i++)
		if (replay->scars[i] == REPLAY_SCAR_HANGS &&
		    replay->scar_cuts[i] < replay->cuts)
			return err_set(err, "block %llu hangs behind a cut",
				       (unsigned long long)i);
	replay->cuts++;
	replay->is_on = false;
	memcpy(replay->view, replay->media, replay->size_bytes);
	return 0;
}

static int play_stop(struct tracereplay *replay, struct err *err)
{
	if (memcmp(replay->view, replay->media, replay->size_bytes) != 0)
		return err_set(err, "an orderly stop lost something");
	replay->is_on = false;
	return 0;
}

static int play(struct tracereplay *replay, const struct event *event,
		struct err *err)
{
	switch (event->type) {
	case REPLAY_ON:
		return play_on(replay, event, err);
	case REPLAY_WRITE:
		return play_write(replay, event, err);
	case REPLAY_WRITE_DONE:
		return play_write_done(replay, event, err);
	case REPLAY_FLUSH:
	case REPLAY_FLUSH_DONE:
		return play_flush(replay, event, err);
	case REPLAY_TO_MEDIA:
	case REPLAY_PARTIAL:
		return play_part(replay, event, err);
	case REPLAY_DAMAGE:
		memcpy(replay->media + event->offset, event->data,
		       event->length);
		return 0;
	case REPLAY_SCAR:
		return play_scar(replay, event, err);
	case REPLAY_READ_WRONG:
		return play_read_wrong(replay, event, err);
	case REPLAY_CUT:
		return play_cut(replay, err);
	default:
		return play_stop(replay, err);
	}
}

/* What the table of the format says of each type by itself. */
static int check_event(const struct tracereplay *replay,
		       const struct event *event, struct err *err)
{
	static const struct {
		uint64_t unit; /* of a range: 0 none, 1 logical blocks */
		bool has_data, has_request;
		unsigned int flags_max;
	} rules[REPLAY_TYPES] = {
		[REPLAY_WRITE] = {1, true, true, 1},
		[REPLAY_WRITE_DONE] = {1, false, true, 0},
		[REPLAY_FLUSH] = {0, false, true, 0},
		[REPLAY_FLUSH_DONE] = {0, false, true, 0},
		[REPLAY_TO_MEDIA] = {1, false, true, 0},
		[REPLAY_DAMAGE] = {ATOM_BYTES, true, false, 0},
		[REPLAY_PARTIAL] = {1, true, true, 0},
		[REPLAY_READ_WRONG] = {1, true, true, 0},
		[REPLAY_SCAR] = {0, false, false, REPLAY_SCAR_HEALED},
	};
	uint64_t unit = rules[event->type].unit;

	if (event->type != REPLAY_ON && !replay->is_on)
		return err_set(err, "the power is off");
	if (event->data_bytes !=
	    (rules[event->type].has_data ? event->length : 0))
		return err_set(err, "data of a wrong length");
	if (event->flags > rules[event->type].flags_max ||
	    (event->type == REPLAY_SCAR && event->flags == 0))
		return err_set(err, "flags %u", event->flags);
	if (event->type != REPLAY_SCAR &&
	    rules[event->type].has_request != (event->request != 0))
		return err_set(err, "request %llu",
			       (unsigned long long)event->request);
	if (unit != 0 &&
	    !is_range(replay, event, unit == 1 ? replay->block_bytes : unit))
		return err_set(err, "a range that is none");
	if (event->time < replay->time)
		return err_set(err, "time runs back");
	return 0;
}

static int read_event(const uint8_t *bytes, size_t length, struct event *event,
		      struct err *err)
{
	if (length < HEADER_BYTES || memcmp(bytes, "PPTR", 4) != 0)
		return err_set(err, "no event begins there");
	*event = (struct event){
		.type = bytes[4],
		.flags = bytes[5],
		.length = bytes_get32(bytes + 8),
		.data_bytes = bytes_get32(bytes + 12),
		.request = bytes_get64(bytes + 16),
		.offset = bytes_get64(bytes + 24),
		.time = bytes_get64(bytes + 32),
	};
	if (event->type < REPLAY_ON || event->type >= REPLAY_TYPES ||
	    bytes_get16(bytes + 6) != 0)
		return err_set(err, "no such event");
	if (event->data_bytes > length - HEADER_BYTES)
		return err_set(err, "it is torn");
	event->data = event->data_bytes == 0 ? NULL : bytes + HEADER_BYTES;
	return 0;
}

int tracereplay_feed(struct tracereplay *replay, const uint8_t *bytes,
		     size_t length, struct err *err)
{
	while (length > 0) {
		struct event event = {.type = 0};
		size_t whole = 0;

		replay->events++;
		if (read_event(bytes, length, &event, err) < 0 ||
		    check_event(replay, &event, err) < 0 ||
		    play(replay, &event, err) < 0)
			return err_prefix(err, "event %llu, type %d",
					  (unsigned long long)replay->events,
					  length > 4 ? bytes[4] : -1);
		replay->time = event.time;
		replay->counts[event.type]++;
		whole = HEADER_BYTES + event.data_bytes;
		bytes += whole;
		length -= whole;
	}
	return 0;
}

const uint8_t *tracereplay_media(const struct tracereplay *replay)
{
	return replay->media;
}

const uint8_t *tracereplay_view(const struct tracereplay *replay)
{
	return replay->view;
}

uint64_t tracereplay_count(const struct tracereplay *replay, int type)
{
	return replay->counts[type];
}

bool tracereplay_is_on(const struct tracereplay *replay)
{
	return replay->is_on;
}

int tracereplay_scar(const struct tracereplay *replay, uint64_t offset_bytes,
		     size_t length)
{
	int worst = REPLAY_SCAR_NONE;

	if (replay->is_dead)
		return REPLAY_SCAR_DEAD;
	for (uint64_t i = 0; i < length / replay->block_bytes; i++) {
		int scar =
			replay->scars[offset_bytes / replay->block_bytes + i];

		if (scar != REPLAY_SCAR_STALE && scar > worst)
			worst = scar;
	}
	return worst;
}

bool tracereplay_explains(struct tracereplay *replay, const uint8_t *answer,
			  size_t length, uint64_t offset_bytes)
{
	bool is_equal =
		memcmp(answer, replay->wrong + offset_bytes, length) == 0;

	memcpy(replay->wrong + offset_bytes, replay->view + offset_bytes,
	       length);
	return is_equal;
}
