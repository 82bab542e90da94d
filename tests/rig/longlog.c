/* SPDX-License-Identifier: MIT */
/*
 * longlog - an ack log as long as a campaign of months would leave it:
 *
 *   longlog FROM TO CYCLES COUNT HOLE
 *
 * TO describes the run that the log FROM begins with. In each of CYCLES cycles
 * each stream issues COUNT numbers, of which every HOLE-th is never promised,
 * so that the ranges do not join (0: all are); half of those is completed.
 * Behind the middle of the last cycle stands "cut asked". Says how many writes
 * are acknowledged, and in how many ranges.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"

#define FLUSH_EVERY 32

static struct longlog {
	struct run run;
	struct ackfile *to;
	uint8_t payload[ACKLOG_PAYLOAD_MAX];
	size_t used;
	uint64_t count, hole, writes, ranges;
	struct err err;
} to;

static void fail(void)
{
	fprintf(stderr, "longlog: %s\n", to.err.text);
	exit(1);
}

static void append(void)
{
	if (to.used > 0 && ackfile_append(to.to, to.payload, (uint32_t)to.used,
					  1, &to.err) < 0)
		fail();
	to.used = 0;
}

static void say(const struct ackbody *body)
{
	if (ackbody_encode(body, to.payload, sizeof(to.payload), &to.used) == 0)
		return;
	append();
	if (ackbody_encode(body, to.payload, sizeof(to.payload), &to.used) < 0)
		abort();
}

static void say_limit(enum ackbody_type type, uint16_t stream,
		      uint64_t sequence)
{
	struct ackbody body = {.type = type, .limit = {stream, sequence}};

	say(&body);
}

static void say_cycle(uint32_t cycle, uint64_t first)
{
	static struct ackbody body;
	uint16_t stream;

	body = (struct ackbody){.type = ACKBODY_CYCLE,
				.cycle = {.cycle = cycle,
					  .sync_value = FLUSH_EVERY,
					  .queue_depth = FLUSH_EVERY,
					  .streams = to.run.streams}};
	for (stream = 0; stream < to.run.streams; stream++)
		body.cycle.first_sequence[stream] = first;
	say(&body);
	for (stream = 0; stream < to.run.streams; stream++)
		say_limit(ACKBODY_RESERVE, stream, first + to.count - 1);
}

static void cut_asked(void)
{
	struct ackbody body = {.type = ACKBODY_EVENT};

	body.note.event = ACKBODY_EVENT_CUT_ASKED;
	say(&body);
}

/* What one flush from FIRST on covers, up to the holes. */
static void say_flush(uint16_t stream, uint64_t flush, uint64_t first,
		      uint64_t last)
{
	static struct ackbody body;
	struct ackbody_ranges *ranges = &body.ranges;
	uint64_t number;

	body.type = ACKBODY_DURABLE;
	*ranges = (struct ackbody_ranges){.stream = stream, .flush = flush};
	for (number = first; number <= last; number++) {
		struct ackbody_range *range = &ranges->ranges[ranges->count];

		if (to.hole > 0 && number % to.hole == 0)
			continue;
		to.writes++;
		if (ranges->count > 0 && range[-1].last == number - 1) {
			range[-1].last = number;
			continue;
		}
		*range = (struct ackbody_range){number, number};
		ranges->count++;
		to.ranges++;
	}
	if (ranges->count > 0)
		say(&body);
}

static void say_completed(uint16_t stream, uint64_t first, uint64_t last)
{
	static struct ackbody body;

	if (to.hole == 0)
		return;
	first += (to.hole - first % to.hole) % to.hole;
	for (; first <= last; first += to.hole) {
		body.type = ACKBODY_COMPLETED;
		body.ranges =
			(struct ackbody_ranges){.stream = stream, .count = 1};
		body.ranges.ranges[0] = (struct ackbody_range){first, first};
		say(&body);
	}
}

static void fill_cycle(uint64_t first, uint64_t last)
{
	uint64_t number;
	uint16_t stream;

	for (number = first; number <= last; number += FLUSH_EVERY) {
		uint64_t end = number + FLUSH_EVERY - 1;

		if (end > last)
			end = last;
		for (stream = 0; stream < to.run.streams; stream++) {
			say_flush(stream, number / FLUSH_EVERY + 1, number,
				  end);
			say_completed(stream, number, end);
		}
	}
}

static void take_run(const char *path)
{
	struct ackreader *reader = ackreader_open(path, &to.err);
	static struct ackbody body;

	if (reader == NULL || ackreader_next(reader, &body, NULL, &to.err) < 1)
		fail();
	to.run = body.run;
	say(&body);
	ackreader_close(reader);
}

int main(int argc, char **argv)
{
	uint64_t cycles, first, half;
	uint32_t cycle;

	if (argc != 6)
		return 2;
	cycles = strtoull(argv[3], NULL, 10);
	to.count = strtoull(argv[4], NULL, 10);
	to.hole = strtoull(argv[5], NULL, 10);
	half = to.count / 2;
	take_run(argv[1]);
	to.to = ackfile_create(argv[2], &to.err);
	if (to.to == NULL)
		fail();
	for (cycle = 1; cycle <= cycles; cycle++) {
		first = (cycle - 1) * to.count + 1;
		say_cycle(cycle, first);
		fill_cycle(first, first + half - 1);
		if (cycle == cycles)
			cut_asked();
		fill_cycle(first + half, first + to.count - 1);
	}
	append();
	if (ackfile_close(to.to, &to.err) < 0)
		fail();
	printf("%" PRIu64 " writes in %" PRIu64 " ranges\n", to.writes,
	       to.ranges);
	return 0;
}
