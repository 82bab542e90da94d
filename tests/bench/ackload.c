/* SPDX-License-Identifier: MIT */
/*
 * ackload - many writers that do nothing but acknowledge: what a collector
 * takes, what it costs, and how long a confirmation is under way.
 *
 * Each writer is a thread with a connection and a run of its own. It says what
 * plugpull-writer says (run, cycle, reservations, a durable range each flush)
 * through the same formats and the same wire, either as fast as confirmations
 * come back or at a fixed rate. Nothing is written to a drive. The result is
 * one JSON object on stdout; "confirmed" of each run must be in its log.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/histogram.h"
#include "common/base/options.h"
#include "common/base/prng.h"
#include "common/format/ackbody.h"
#include "common/net/ackwire.h"
#include "common/net/channel.h"

#define WRITERS_MAX    64
#define WINDOW         16 /* payloads unconfirmed, as the real writer has */
#define RANGE_MAX      65536
#define STATEMENTS_MAX 2000 /* that many always fit into one payload */
#define RESERVE        65536
#define LIMIT_NS       (60 * CLOCK_NS_PER_S) /* without a confirmation */
#define LOOK_NS        (100 * CLOCK_NS_PER_MS)
#define FLUSH_NS       CLOCK_NS_PER_MS /* takes one at most */

static_assert(STATEMENTS_MAX * 32 <= ACKPROTO_PAYLOAD_MAX,
	      "a durable statement of one range has less than 32 bytes");

enum phase { CONNECTING, RUNNING, ENDING };

struct plan {
	const char *address, *key_path, *dir;
	uint64_t writers, runtime_ms, range, statements, rate, collector_pid;
	struct channel_key *key;
	atomic_int phase;
	atomic_uint ready; /* writers whose cycle has begun */
};

struct mark { /* of a payload under way */
	uint64_t writes, made_ns;
};

struct writer {
	struct plan *plan;
	pthread_t thread;
	struct run run;
	struct prng prng;
	struct ackwire *wire;
	uint64_t last, reserved, flush; /* numbers given out */
	uint64_t made, sent, confirmed; /* payloads */
	uint64_t due_ns, interval_ns;   /* 0: as fast as it goes */
	atomic_uint_fast64_t confirmed_writes, payloads;
	struct histogram latency;
	size_t length; /* of the payload being made or sent */
	uint8_t bytes[ACKPROTO_PAYLOAD_MAX];
	struct mark marks[WINDOW];
	struct ackbody body;
	bool has_failed;
	struct err err;
};

struct reading { /* at one moment */
	uint64_t at_ns, writes, payloads, own_ns, collector_ns;
};

static void add(struct writer *writer)
{
	if (ackbody_encode(&writer->body, writer->bytes, sizeof(writer->bytes),
			   &writer->length) < 0)
		abort(); /* STATEMENTS_MAX see to it */
}

static void add_cycle(struct writer *writer)
{
	writer->body.type = ACKBODY_CYCLE;
	writer->body.cycle = (struct ackbody_cycle){
		.cycle = 1,
		.sync = ACKBODY_SYNC_FLUSH_COUNT,
		.sync_value = writer->plan->range,
		.queue_depth = 32,
		.started_ns = clock_wall_ns(),
		.streams = 1,
		.first_sequence = {1},
	};
	add(writer);
}

static void add_limit(struct writer *writer, enum ackbody_type type,
		      uint64_t sequence)
{
	writer->body.type = type;
	writer->body.limit = (struct ackbody_limit){0, sequence};
	add(writer);
}

/* As the real writer packs what has gathered. */
static void add_flushes(struct writer *writer, uint16_t count, uint64_t at_ns)
{
	struct ackbody *body = &writer->body;
	struct ackbody_flush flush;

	body->type = count > 1 ? ACKBODY_FLUSHES : ACKBODY_DURABLE;
	body->flushes.stream = 0;
	body->flushes.count = count;
	for (uint16_t i = 0; i < count; i++, at_ns += FLUSH_NS) {
		flush = (struct ackbody_flush){
			++writer->flush,
			at_ns - prng_below(&writer->prng, FLUSH_NS),
			at_ns,
			{writer->last + 1, writer->last + writer->plan->range}};
		writer->last = flush.range.last;
		body->flushes.flushes[i] = flush;
	}
	if (count == 1)
		body->ranges = (struct ackbody_ranges){
			0, flush.number, flush.submitted_ns, flush.completed_ns,
			1, {flush.range}};
	add(writer);
}

/* The flushes of one payload, the newest of which has just completed. */
static void make_payload(struct writer *writer)
{
	const struct plan *plan = writer->plan;
	uint64_t writes = plan->statements * plan->range;
	uint64_t now_ns = clock_monotonic_ns();

	writer->length = 0;
	if (writer->last + writes + RESERVE / 2 > writer->reserved) {
		writer->reserved = writer->last + writes + RESERVE;
		add_limit(writer, ACKBODY_RESERVE, writer->reserved);
	}
	for (uint64_t left = plan->statements, count; left > 0; left -= count) {
		count = left < ACKBODY_FLUSHES_MAX ? left : ACKBODY_FLUSHES_MAX;
		add_flushes(writer, (uint16_t)count,
			    now_ns - (left - 1) * FLUSH_NS);
	}
	writer->marks[writer->made++ % WINDOW] = (struct mark){writes, now_ns};
}

/* 1: sent, 0: no room yet. */
static int send_payload(struct writer *writer)
{
	uint64_t number = 0;
	int sent =
		ackwire_send(writer->wire, writer->bytes,
			     (uint32_t)writer->length, &number, &writer->err);

	writer->sent += sent > 0;
	return sent;
}

static void take_confirmation(struct writer *writer, uint64_t number)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (; writer->confirmed < number; writer->confirmed++) {
		const struct mark *mark =
			&writer->marks[writer->confirmed % WINDOW];

		if (mark->made_ns != 0)
			histogram_add(&writer->latency, now_ns - mark->made_ns);
		atomic_fetch_add(&writer->confirmed_writes, mark->writes);
		atomic_fetch_add(&writer->payloads, 1);
	}
}

static int receive(struct writer *writer, uint64_t until_ns)
{
	uint64_t number = 0;
	int got = ackwire_receive(writer->wire, &number, -1, until_ns,
				  &writer->err);

	if (got > 0)
		take_confirmation(writer, number);
	return got < 0 ? -1 : 0;
}

/* Everything that was sent, until the end of time. */
static int settle(struct writer *writer)
{
	uint64_t until_ns = clock_monotonic_ns() + LIMIT_NS;

	while (writer->confirmed < writer->made) {
		if (writer->sent < writer->made && send_payload(writer) < 0)
			return -1;
		if (receive(writer, clock_monotonic_ns() + LOOK_NS) < 0)
			return -1;
		if (clock_monotonic_ns() > until_ns)
			return err_set(&writer->err, "nothing is confirmed");
	}
	return 0;
}

/* It has no time of its own: neither a promise nor measured. */
static int say_alone(struct writer *writer)
{
	writer->marks[writer->made++ % WINDOW] = (struct mark){0, 0};
	return settle(writer);
}

static int begin(struct writer *writer)
{
	const struct ackwire_place place = {writer->plan->address,
					    writer->plan->key};
	struct ackproto_hello hello = {.mode = ACKPROTO_NEW};
	struct ackwire_answer answer;

	memcpy(hello.run_id, writer->run.id, RUN_ID_BYTES);
	writer->wire =
		ackwire_open(&place, &hello, clock_monotonic_ns() + LIMIT_NS,
			     &answer, &writer->err);
	if (writer->wire == NULL)
		return -1;
	writer->length = 0;
	writer->body.type = ACKBODY_RUN;
	writer->body.run = writer->run;
	add(writer);
	add_cycle(writer);
	return say_alone(writer);
}

static int end(struct writer *writer)
{
	writer->length = 0;
	add_limit(writer, ACKBODY_ISSUED, writer->last);
	writer->body.type = ACKBODY_END;
	writer->body.note = (struct ackbody_note){.text = "stopped as told"};
	add(writer);
	return say_alone(writer);
}

/* At a rate, a writer that is late makes up for it. */
static bool is_due(struct writer *writer)
{
	if (writer->made - writer->confirmed == WINDOW)
		return false;
	if (writer->interval_ns > 0 && clock_monotonic_ns() < writer->due_ns)
		return false;
	writer->due_ns += writer->interval_ns;
	return true;
}

static int turn(struct writer *writer)
{
	uint64_t until_ns;
	int sent = 1;

	while (sent > 0) {
		if (writer->sent == writer->made) {
			if (!is_due(writer))
				break;
			make_payload(writer);
		}
		sent = send_payload(writer);
	}
	if (sent < 0)
		return -1;
	until_ns = clock_monotonic_ns() + LOOK_NS;
	if (writer->interval_ns > 0 && writer->due_ns < until_ns &&
	    writer->made - writer->confirmed < WINDOW)
		until_ns = writer->due_ns;
	return receive(writer, until_ns);
}

static void *writer_main(void *argument)
{
	struct writer *writer = argument;
	struct plan *plan = writer->plan;
	int status = begin(writer);

	atomic_fetch_add(&plan->ready, 1);
	while (status == 0 && atomic_load(&plan->phase) == CONNECTING)
		clock_sleep_ms(1);
	writer->due_ns = clock_monotonic_ns() +
			 prng_below(&writer->prng, writer->interval_ns + 1);
	while (status == 0 && atomic_load(&plan->phase) == RUNNING)
		status = turn(writer);
	writer->has_failed =
		status < 0 || settle(writer) < 0 || end(writer) < 0;
	return NULL;
}

static int start_writer(struct plan *plan, struct writer *writer,
			struct err *err)
{
	uint64_t writes = plan->statements * plan->range;
	int errnum;

	writer->plan = plan;
	if (getrandom(writer->run.id, RUN_ID_BYTES, 0) != RUN_ID_BYTES)
		return err_sys(err, errno, "cannot make a run id");
	writer->run.streams = 1;
	writer->run.block_bytes = writer->run.logical_block_bytes = 4096;
	writer->run.size_bytes = 2 * RUN_LABEL_AREA_BYTES + (1ULL << 40);
	prng_init(&writer->prng, writer->run.id[0]);
	if (plan->rate > 0)
		writer->interval_ns =
			writes * plan->writers * CLOCK_NS_PER_S / plan->rate;
	errnum = pthread_create(&writer->thread, NULL, writer_main, writer);
	return errnum ? err_sys(err, errnum, "cannot start a writer") : 0;
}

static uint64_t cpu_ns_of(clockid_t clock)
{
	struct timespec spent = {0};

	if (clock_gettime(clock, &spent) < 0)
		return 0; /* it has ended, as its clients will say */
	return (uint64_t)spent.tv_sec * CLOCK_NS_PER_S +
	       (uint64_t)spent.tv_nsec;
}

static struct reading take_reading(const struct plan *plan,
				   struct writer *writers)
{
	struct reading reading = {.at_ns = clock_monotonic_ns()};
	clockid_t clock;

	reading.own_ns = cpu_ns_of(CLOCK_PROCESS_CPUTIME_ID);
	if (plan->collector_pid > 0 &&
	    clock_getcpuclockid((pid_t)plan->collector_pid, &clock) == 0)
		reading.collector_ns = cpu_ns_of(clock);
	for (uint64_t i = 0; i < plan->writers; i++) {
		reading.writes += atomic_load(&writers[i].confirmed_writes);
		reading.payloads += atomic_load(&writers[i].payloads);
	}
	return reading;
}

static double log_bytes_per_write(const struct plan *plan,
				  struct writer *writers)
{
	char path[PATH_MAX], id[RUN_ID_TEXT_BYTES];
	double bytes = 0, writes = 0;
	struct stat status;

	for (uint64_t i = 0; plan->dir != NULL && i < plan->writers; i++) {
		run_id_text(writers[i].run.id, id);
		(void)snprintf(path, sizeof(path), "%s/%s.acklog", plan->dir,
			       id);
		writes += (double)atomic_load(&writers[i].confirmed_writes);
		if (stat(path, &status) == 0)
			bytes += (double)status.st_size;
	}
	return writes > 0 ? bytes / writes : 0;
}

/* What is not known is 0. */
static void print_result(const struct plan *plan, struct writer *writers,
			 const struct reading *from, const struct reading *to)
{
	double seconds = (double)(to->at_ns - from->at_ns) / 1e9;
	double cost_s = (double)(to->collector_ns - from->collector_ns) / 1e9;
	double writes = (double)(to->writes - from->writes);
	double payloads = (double)(to->payloads - from->payloads);
	static struct histogram all;
	char id[RUN_ID_TEXT_BYTES];

	histogram_init(&all);
	for (uint64_t i = 0; i < plan->writers; i++)
		histogram_merge(&all, &writers[i].latency);
	printf("{\n  \"writers\": %" PRIu64 ",\n  \"seconds\": %.3f,\n"
	       "  \"writes_per_second\": %.0f,\n"
	       "  \"frames_per_second\": %.0f,\n"
	       "  \"confirm_ms\": {\"median\": %.4f, \"p99\": %.4f, "
	       "\"max\": %.4f},\n  \"cpu_seconds\": %.4f,\n"
	       "  \"collector_cpu_seconds\": %.4f,\n"
	       "  \"writes_per_collector_cpu_second\": %.0f,\n"
	       "  \"log_bytes_per_write\": %.4f,\n  \"runs\": [",
	       plan->writers, seconds, writes / seconds, payloads / seconds,
	       (double)histogram_quantile_ns(&all, 500) / 1e6,
	       (double)histogram_quantile_ns(&all, 990) / 1e6,
	       (double)histogram_quantile_ns(&all, 1000) / 1e6,
	       (double)(to->own_ns - from->own_ns) / 1e9, cost_s,
	       cost_s > 0 ? writes / cost_s : 0,
	       log_bytes_per_write(plan, writers));
	for (uint64_t i = 0; i < plan->writers; i++) {
		run_id_text(writers[i].run.id, id);
		printf("%s\n    {\"run\": \"%s\", \"confirmed\": %" PRIuFAST64
		       "}",
		       i ? "," : "", id,
		       atomic_load(&writers[i].confirmed_writes));
	}
	printf("\n  ]\n}\n");
}

static int measure(struct plan *plan, struct writer *writers, struct err *err)
{
	struct reading from, to;

	for (uint64_t i = 0; i < plan->writers; i++)
		if (start_writer(plan, &writers[i], err) < 0)
			return -1; /* the process ends, and the threads, too */
	while (atomic_load(&plan->ready) < plan->writers)
		clock_sleep_ms(1);
	from = take_reading(plan, writers);
	atomic_store(&plan->phase, RUNNING);
	clock_sleep_ms(plan->runtime_ms);
	to = take_reading(plan, writers);
	atomic_store(&plan->phase, ENDING);
	for (uint64_t i = 0; i < plan->writers; i++) {
		pthread_join(writers[i].thread, NULL);
		ackwire_close(writers[i].wire);
		if (!writers[i].has_failed)
			continue;
		*err = writers[i].err;
		return -1;
	}
	print_result(plan, writers, &from, &to);
	return 0;
}

static enum option_outcome parse(struct plan *plan, int argc, char **argv,
				 struct err *err)
{
	const struct option_row rows[] = {
		{"connect", 'c', OPTION_TEXT, &plan->address, "<address>",
		 "the collector", 0, 0, NULL},
		{"key", 'k', OPTION_TEXT, &plan->key_path, "<file>",
		 "its key; without it plain", 0, 0, NULL},
		{"writers", 'w', OPTION_COUNT, &plan->writers, "<count>",
		 "at once (default 64)", 1, WRITERS_MAX, NULL},
		{"seconds", 's', OPTION_DURATION, &plan->runtime_ms,
		 "<duration>", "how long (default 5s)", 1, 3600000, NULL},
		{"rate", 'r', OPTION_COUNT, &plan->rate, "<count>",
		 "writes per second in all (default: no limit)", 0, 0, NULL},
		{"range", 'n', OPTION_COUNT, &plan->range, "<count>",
		 "writes of one flush (default 32)", 1, RANGE_MAX, NULL},
		{"statements", 'm', OPTION_COUNT, &plan->statements, "<count>",
		 "flushes of one payload (default 1)", 1, STATEMENTS_MAX, NULL},
		{"collector-pid", 'p', OPTION_COUNT, &plan->collector_pid,
		 "<pid>", "tell its CPU time, too", 1, INT_MAX, NULL},
		{"dir", 'd', OPTION_TEXT, &plan->dir, "<dir>",
		 "where it keeps its logs: tell their size, too", 0, 0, NULL},
		{0},
	};
	const struct option_page page = {
		.program = "ackload",
		.usage = "--connect <address> [--key <file>]",
		.description = "Acknowledge writes that nobody makes.",
		.rows = rows,
		.exit_status = "0 all that was said is confirmed; 2 not so.",
		.more = "docs/PERFORMANCE.md",
	};
	int operands = 0;
	enum option_outcome outcome =
		options_parse(&page, argc, argv, &operands, err);

	if (outcome == OPTIONS_HELP)
		options_print_help(&page, stdout);
	if (outcome == OPTIONS_GO && (operands > 0 || plan->address == NULL)) {
		err_set(err, "--connect is wanted, and nothing but options");
		return OPTIONS_BAD;
	}
	return outcome;
}

int main(int argc, char **argv)
{
	static struct plan plan = {.writers = 64,
				   .runtime_ms = 5000,
				   .range = 32,
				   .statements = 1};
	static struct writer writers[WRITERS_MAX];
	enum option_outcome outcome;
	struct err err = {""};

	outcome = parse(&plan, argc, argv, &err);
	if (outcome == OPTIONS_HELP || outcome == OPTIONS_VERSION)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	if (outcome == OPTIONS_GO && plan.key_path != NULL)
		plan.key = channel_key_load(plan.key_path, &err);
	if (outcome != OPTIONS_GO ||
	    (plan.key_path != NULL && plan.key == NULL) ||
	    measure(&plan, writers, &err) < 0) {
		fprintf(stderr, "ackload: %s\n", err.text);
		return 2;
	}
	channel_key_free(plan.key);
	return fflush(stdout) == 0 ? 0 : 2;
}
