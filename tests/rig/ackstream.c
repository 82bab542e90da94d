/* SPDX-License-Identifier: MIT */
/*
 * ackstream - a client that does nothing but acknowledge, as fast as the
 * collector takes it, through any number of deaths of the collector:
 *
 *   ackstream ADDRESS KEYFILE|- STREAMS RUNID SEED RECORD
 *
 * Stream by stream it says 1 ... n durable, without a gap, in payloads of all
 * sizes. What is confirmed is put into RECORD, a file that is mapped, before
 * anything else is done; what was not confirmed is repeated on the next
 * connection, byte by byte. Ends on SIGTERM, when everything is confirmed, and
 * says so. It shares the formats and the wire with plugpull-writer, and
 * neither its store nor its threads.
 *
 * RECORD: u64 connected (0 or 1), connections, payloads confirmed, then the
 * number confirmed of each stream; the host's byte order.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/ackbody.h"
#include "common/net/ackwire.h"
#include "common/net/channel.h"

#define WINDOW      16
#define RESERVE     4096
#define RANGE_MAX   4
#define ATTEMPT_NS  (5 * CLOCK_NS_PER_S)
#define LIMIT_NS    (60 * CLOCK_NS_PER_S) /* without a confirmation */
#define TICK_NS     (20 * CLOCK_NS_PER_MS)
#define SMALL_COUNT 16
#define LARGE_COUNT 1500
#define FAST_COUNT  64 /* payloads of a connection, then one each PACE_MS */
#define PACE_MS     3

struct record {
	atomic_uint_fast64_t is_connected, connections, payloads;
	atomic_uint_fast64_t confirmed[RUN_STREAMS_MAX];
};

struct payload {
	uint8_t bytes[ACKPROTO_PAYLOAD_MAX];
	size_t length;
	uint64_t last[RUN_STREAMS_MAX]; /* durable once this is confirmed */
};

struct stream_state {
	uint64_t next, reserved, flush;
};

static struct ackclient_world {
	struct ackwire_place place;
	struct run run;
	struct prng prng;
	struct record *record;
	struct ackwire *wire;
	struct stream_state streams[RUN_STREAMS_MAX];
	struct payload window[WINDOW];
	uint64_t made, sent, confirmed; /* payloads; window: made % WINDOW */
	uint64_t base;                  /* confirmed when the wire began */
	uint64_t heard_ns;
	bool is_ending;
} world;

static volatile sig_atomic_t is_told;

static void end_told(int number)
{
	(void)number;
	is_told = 1;
}

_Noreturn static void die(const char *text)
{
	(void)fprintf(stderr, "ackstream: %s\n", text);
	exit(2);
}

static void add(struct payload *payload, const struct ackbody *body)
{
	if (ackbody_encode(body, payload->bytes, sizeof(payload->bytes),
			   &payload->length) < 0)
		die("a payload is too long");
}

static void add_beginning(struct payload *payload)
{
	struct ackbody body = {.type = ACKBODY_RUN};

	body.run = world.run;
	add(payload, &body);
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_CYCLE;
	body.cycle.cycle = 1;
	body.cycle.sync = ACKBODY_SYNC_FLUSH_COUNT;
	body.cycle.sync_value = 8;
	body.cycle.queue_depth = 1;
	body.cycle.started_ns = 1;
	body.cycle.streams = world.run.streams;
	for (uint16_t i = 0; i < world.run.streams; i++)
		body.cycle.first_sequence[i] = 1;
	add(payload, &body);
}

static void add_durable(struct payload *payload, uint16_t stream)
{
	struct stream_state *state = &world.streams[stream];
	struct ackbody body = {.type = ACKBODY_RESERVE};
	uint64_t last = state->next + prng_below(&world.prng, RANGE_MAX);

	if (last > state->reserved) {
		state->reserved = last + RESERVE;
		body.limit.stream = stream;
		body.limit.sequence = state->reserved;
		add(payload, &body);
	}
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_DURABLE;
	body.ranges.stream = stream;
	body.ranges.flush = ++state->flush;
	body.ranges.submitted_ns = clock_monotonic_ns();
	body.ranges.completed_ns = body.ranges.submitted_ns + 1;
	body.ranges.count = 1;
	body.ranges.ranges[0].first = state->next;
	body.ranges.ranges[0].last = last;
	add(payload, &body);
	state->next = last + 1;
}

static void add_end(struct payload *payload)
{
	struct ackbody body = {.type = ACKBODY_END};

	(void)snprintf(body.note.text, sizeof(body.note.text), "told to stop");
	add(payload, &body);
	world.is_ending = true;
}

/* Few statements mostly, now and then a payload of many. */
static void make_payload(void)
{
	struct payload *payload = &world.window[world.made % WINDOW];
	uint64_t limit =
		prng_below(&world.prng, 64) ? SMALL_COUNT : LARGE_COUNT;
	uint64_t count = 1 + prng_below(&world.prng, limit);

	payload->length = 0;
	if (world.made == 0)
		add_beginning(payload);
	if (is_told)
		add_end(payload);
	for (uint64_t i = 0; i < count && !world.is_ending; i++)
		add_durable(payload, (uint16_t)prng_below(&world.prng,
							  world.run.streams));
	for (uint16_t i = 0; i < world.run.streams; i++)
		payload->last[i] = world.streams[i].next - 1;
	world.made++;
}

static void connect_again(void)
{
	struct ackproto_hello hello = {.mode = ACKPROTO_NEW};
	uint64_t deadline_ns = clock_monotonic_ns() + ATTEMPT_NS;
	struct ackwire_answer answer;
	struct err err;

	memcpy(hello.run_id, world.run.id, RUN_ID_BYTES);
	if (world.confirmed == 0)
		world.wire = ackwire_open(&world.place, &hello, deadline_ns,
					  &answer, &err);
	/* It may have the run: only the answer was lost. */
	if (!world.wire && (world.confirmed > 0 || answer.is_refused)) {
		hello.mode = ACKPROTO_RESUME;
		world.wire = ackwire_open(&world.place, &hello, deadline_ns,
					  &answer, &err);
	}
	if (!world.wire && answer.is_refused)
		die(err.text);
	if (!world.wire) {
		clock_sleep_ms(2);
		return;
	}
	/* P2: what was confirmed once stays, whatever died meanwhile. */
	for (uint16_t i = 0; i < world.run.streams; i++)
		if (answer.welcome.durable[i] <
		    atomic_load(&world.record->confirmed[i]))
			die("the welcome says less than was confirmed");
	world.base = world.confirmed;
	world.sent = world.confirmed;
	atomic_fetch_add(&world.record->connections, 1);
	atomic_store(&world.record->is_connected, 1);
}

static void take_confirmation(uint64_t number)
{
	const struct payload *last;

	if (number == 0 || world.base + number > world.sent)
		die("a confirmation of what was never sent");
	last = &world.window[(world.base + number - 1) % WINDOW];
	for (uint16_t i = 0; i < world.run.streams; i++)
		atomic_store(&world.record->confirmed[i], last->last[i]);
	world.confirmed = world.base + number;
	atomic_store(&world.record->payloads, world.confirmed);
	world.heard_ns = clock_monotonic_ns();
	if (number > FAST_COUNT)
		clock_sleep_ms(PACE_MS);
}

/* -1: the connection is over, and all that it has confirmed is on record. */
static int turn(void)
{
	uint64_t number = 0;
	struct err err;
	int got = 1;

	while (got > 0 && !world.is_ending &&
	       world.made < world.confirmed + WINDOW)
		make_payload();
	while (got > 0 && world.sent < world.made) {
		const struct payload *payload =
			&world.window[world.sent % WINDOW];

		got = ackwire_send(world.wire, payload->bytes,
				   (uint32_t)payload->length, &number, &err);
		world.sent += got > 0;
	}
	if (got < 0)
		return -1;
	got = ackwire_receive(world.wire, &number, -1,
			      clock_monotonic_ns() + TICK_NS, &err);
	if (got > 0)
		take_confirmation(number);
	return got < 0 ? -1 : 0;
}

static void lose_wire(void)
{
	ackwire_close(world.wire);
	world.wire = NULL;
	atomic_store(&world.record->is_connected, 0);
}

static void stream_until_told(void)
{
	world.heard_ns = clock_monotonic_ns();
	while (!world.is_ending || world.confirmed < world.made) {
		if (clock_monotonic_ns() - world.heard_ns > LIMIT_NS)
			die("nothing was confirmed for too long");
		if (!world.wire)
			connect_again();
		else if (turn() < 0)
			lose_wire();
	}
}

static void map_record(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || ftruncate(fd, sizeof(*world.record)) < 0)
		die("cannot make the record");
	world.record = mmap(NULL, sizeof(*world.record), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	if (world.record == MAP_FAILED)
		die("cannot map the record");
	(void)close(fd); /* the mapping stays */
}

int main(int argc, char **argv)
{
	struct sigaction told = {.sa_handler = end_told};
	struct err err;

	if (argc != 7)
		die("ADDRESS KEYFILE|- STREAMS RUNID SEED RECORD");
	sigaction(SIGTERM, &told, NULL);
	signal(SIGPIPE, SIG_IGN);
	world.place.address = argv[1];
	if (strcmp(argv[2], "-") != 0)
		world.place.key = channel_key_load(argv[2], &err);
	world.run.streams = (uint16_t)strtoul(argv[3], NULL, 10);
	world.run.block_bytes = world.run.logical_block_bytes = 4096;
	world.run.size_bytes = 18 * 1024 * 1024;
	if (run_id_parse(argv[4], world.run.id, &err) < 0 ||
	    run_check(&world.run, &err) < 0)
		die(err.text);
	prng_init(&world.prng, strtoull(argv[5], NULL, 0));
	map_record(argv[6]);
	for (uint16_t i = 0; i < world.run.streams; i++)
		world.streams[i].next = 1;
	stream_until_told();
	(void)printf("confirmed %" PRIu64 " payloads over %" PRIuFAST64
		     " connections\n",
		     world.confirmed, atomic_load(&world.record->connections));
	return 0;
}
