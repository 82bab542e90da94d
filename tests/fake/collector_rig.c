/* SPDX-License-Identifier: MIT */
#include "tests/fake/collector_rig.h"

#include "tests/unit/cmocka_all.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "collector/collector.h"
#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"

static char folder[32];
static char address[64];
static volatile sig_atomic_t stop;
static struct collector *collector;
static pthread_t thread;
static sigset_t wait_mask;
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static char said[16384];

static void wake(int number)
{
	(void)number;
}

static void say(const char *line)
{
	size_t used;

	pthread_mutex_lock(&said_lock);
	used = strlen(said);
	snprintf(said + used, sizeof(said) - used, "%s\n", line);
	pthread_mutex_unlock(&said_lock);
}

bool rig_was_said(const char *text)
{
	bool found;

	pthread_mutex_lock(&said_lock);
	found = strstr(said, text) != NULL;
	pthread_mutex_unlock(&said_lock);
	return found;
}

static void *collector_main(void *data)
{
	struct err err;

	(void)data;
	return collector_run(collector, &stop, &wait_mask, &err) == 0
		       ? collector
		       : NULL;
}

void rig_start(void)
{
	const struct collector_config config = {
		.address = address, .dir = folder, .say = say};
	struct err err;

	stop = 0;
	collector = collector_open(&config, &err);
	assert_non_null(collector);
	assert_int_equal(pthread_create(&thread, NULL, collector_main, NULL),
			 0);
}

void rig_end(void)
{
	void *result;

	stop = 1;
	pthread_kill(thread, SIGUSR1);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_non_null(result);
	collector_close(collector);
}

int rig_set_up(void **state)
{
	struct sigaction action = {.sa_handler = wake};
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	sigset_t blocked;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &wait_mask);
	sigdelset(&wait_mask, SIGUSR1);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGXFSZ, &ignored, NULL);
	strcpy(folder, "/tmp/plugpull-coll.XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(address, sizeof(address), "unix:%s/sock", folder);
	said[0] = '\0';
	rig_start();
	return 0;
}

int rig_tear_down(void **state)
{
	char command[64];

	(void)state;
	rig_end();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void rig_add(struct rig_payload *payload, const struct ackbody *body)
{
	assert_int_equal(ackbody_encode(body, payload->bytes,
					sizeof(payload->bytes),
					&payload->length),
			 0);
}

void rig_add_run(struct rig_payload *payload, uint8_t number)
{
	struct ackbody body = {.type = ACKBODY_RUN};

	body.run = (struct run){
		.id = {number},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 64 * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 1,
		.is_filled = true,
	};
	rig_add(payload, &body);
}

void rig_add_cycle(struct rig_payload *payload, uint32_t cycle, uint64_t first)
{
	struct ackbody body = {.type = ACKBODY_CYCLE};

	body.cycle = (struct ackbody_cycle){
		.cycle = cycle,
		.sync = ACKBODY_SYNC_FLUSH_COUNT,
		.sync_value = 1,
		.queue_depth = 1,
		.streams = 1,
		.first_sequence = {first},
	};
	rig_add(payload, &body);
}

void rig_add_reserve(struct rig_payload *payload, uint64_t sequence)
{
	struct ackbody body = {.type = ACKBODY_RESERVE};

	body.limit.sequence = sequence;
	rig_add(payload, &body);
}

void rig_add_durable(struct rig_payload *payload, uint64_t first, uint64_t last)
{
	struct ackbody body = {.type = ACKBODY_DURABLE};

	body.ranges.flush = 1;
	body.ranges.count = 1;
	body.ranges.ranges[0] = (struct ackbody_range){first, last};
	rig_add(payload, &body);
}

void rig_add_event(struct rig_payload *payload, enum ackbody_event event)
{
	struct ackbody body = {.type = ACKBODY_EVENT};

	body.note.event = event;
	rig_add(payload, &body);
}

struct ackwire *rig_open_wire(uint8_t number, enum ackproto_mode mode,
			      struct ackwire_answer *answer, struct err *err)
{
	const struct ackwire_place place = {address, NULL};
	const struct ackproto_hello hello = {.mode = mode, .run_id = {number}};

	return ackwire_open(&place, &hello, clock_monotonic_ns() + RIG_LIMIT_NS,
			    answer, err);
}

struct ackwire *rig_must_open(uint8_t number, enum ackproto_mode mode,
			      struct ackwire_answer *answer)
{
	struct err err = {""};
	struct ackwire *wire = rig_open_wire(number, mode, answer, &err);

	assert_string_equal(err.text, "");
	assert_non_null(wire);
	return wire;
}

/* Sends and waits: 1 confirmed, -1 refused or lost. */
int rig_tell(struct ackwire *wire, const struct rig_payload *payload,
	     struct err *err)
{
	uint64_t deadline_ns = clock_monotonic_ns() + RIG_LIMIT_NS;
	uint64_t number = 0, confirmed = 0;

	if (ackwire_send(wire, payload->bytes, (uint32_t)payload->length,
			 &number, err) < 0)
		return -1;
	while (confirmed < number)
		if (ackwire_receive(wire, &confirmed, -1, deadline_ns, err) !=
		    1)
			return -1;
	return 1;
}

void rig_must_tell(struct ackwire *wire, const struct rig_payload *payload)
{
	struct err err = {""};

	assert_int_equal(rig_tell(wire, payload, &err), 1);
}

/* A new run with cycle 1 and 100 numbers reserved. */
struct ackwire *rig_begin_run(uint8_t number)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_must_open(number, ACKPROTO_NEW, &answer);
	struct rig_payload payload = {0};

	assert_false(answer.welcome.has_run);
	rig_add_run(&payload, number);
	rig_add_cycle(&payload, 1, 1);
	rig_add_reserve(&payload, 100);
	rig_must_tell(wire, &payload);
	return wire;
}

void rig_acklog_path(uint8_t number, char path[128])
{
	const uint8_t id[RUN_ID_BYTES] = {number};
	char name[RUN_ID_TEXT_BYTES];

	run_id_text(id, name);
	snprintf(path, 128, "%s/%s.acklog", folder, name);
}

/* The types of the bodies in a log, a letter each. */
const char *rig_log_letters(uint8_t number)
{
	static const char letters[] = "?RCrDcEIe";
	static char found[4096];
	struct ackbody body;
	struct err err = {""};
	char path[128];
	size_t count = 0;
	struct ackreader *reader;

	rig_acklog_path(number, path);
	reader = ackreader_open(path, &err);
	assert_string_equal(err.text, "");
	while (ackreader_next(reader, &body, NULL, &err) == 1)
		found[count++] = letters[body.type];
	assert_string_equal(err.text, "");
	found[count] = '\0';
	ackreader_close(reader);
	return found;
}

void rig_set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
