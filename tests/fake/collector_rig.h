/* SPDX-License-Identifier: MIT */
/*
 * collector_rig - a whole collector in a thread of the test, and clients that
 * say what a test wants said. Runs are called by the first byte of their id.
 */
#ifndef TESTS_FAKE_COLLECTOR_RIG_H
#define TESTS_FAKE_COLLECTOR_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/base/clock.h"
#include "common/format/ackbody.h"
#include "common/format/ackproto.h"
#include "common/net/ackwire.h"

struct err;

#define RIG_LIMIT_NS   (20 * CLOCK_NS_PER_S)
#define RIG_PATH_BYTES 128

struct rig_payload {
	size_t length;
	uint8_t bytes[ACKPROTO_PAYLOAD_MAX];
};

/* For cmocka: a fresh folder and a running collector; both away again. */
int rig_set_up(void **state);
int rig_tear_down(void **state);
void rig_start(void);
void rig_end(void); /* as on SIGTERM */
/* TEXT is in what the collector has said on stderr. */
bool rig_was_said(const char *text);
void rig_set_file_limit(rlim_t bytes);

void rig_add_run(struct rig_payload *payload, uint8_t number);
void rig_add_cycle(struct rig_payload *payload, uint32_t cycle, uint64_t first);
void rig_add_reserve(struct rig_payload *payload, uint64_t sequence);
void rig_add_durable(struct rig_payload *payload, uint64_t first,
		     uint64_t last);
void rig_add_event(struct rig_payload *payload, enum ackbody_event event);

struct ackwire *rig_open_wire(uint8_t number, enum ackproto_mode mode,
			      struct ackwire_answer *answer, struct err *err);
struct ackwire *rig_must_open(uint8_t number, enum ackproto_mode mode,
			      struct ackwire_answer *answer);
/* Sends and waits: 1 confirmed, -1 refused or lost. */
int rig_tell(struct ackwire *wire, const struct rig_payload *payload,
	     struct err *err);
void rig_must_tell(struct ackwire *wire, const struct rig_payload *payload);
/* A new run with cycle 1 and 100 numbers reserved. */
struct ackwire *rig_begin_run(uint8_t number);

void rig_acklog_path(uint8_t number, char path[RIG_PATH_BYTES]);
/* The bodies of a log, a letter each: R run, C cycle, r reserve, D durable,
 * E event. */
const char *rig_log_letters(uint8_t number);

#endif
