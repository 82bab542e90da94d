/* SPDX-License-Identifier: MIT */
#include "tests/fake/condworld.h"

#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/format/ledger.h"

struct condworld condworld;

uint64_t condworld_below(uint64_t limit)
{
	return prng_below(&condworld.prng, limit);
}

static int memory(void)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Says condworld.body where a ledger believes it. */
void condworld_say(void)
{
	if (ledger_apply(condworld.ledger, &condworld.body, &condworld.err) ==
	    0)
		assert_int_equal(ackout_say(condworld.out, &condworld.body, 1,
					    &condworld.err),
				 0);
}

void condworld_begin(uint64_t seed, uint16_t streams)
{
	memset(&condworld, 0, sizeof(condworld));
	prng_init(&condworld.prng, seed);
	condworld.run =
		(struct run){.id = {1},
			     .size_bytes = 2 * RUN_LABEL_AREA_BYTES + 64 * 4096,
			     .block_bytes = 4096,
			     .logical_block_bytes = 512,
			     .streams = streams};
	condworld.fd = memory();
	condworld.bounds_fd = memory();
	condworld.ledger = ledger_new(&condworld.err);
	condworld.out = ackout_new(condworld.fd, "log", &condworld.err);
	assert_non_null(condworld.ledger);
	assert_non_null(condworld.out);
	condworld.body.type = ACKBODY_RUN;
	condworld.body.run = condworld.run;
	condworld_say();
}

void condworld_end(void)
{
	ledger_free(condworld.ledger);
	ackout_free(condworld.out);
	assert_int_equal(close(condworld.fd), 0);
	assert_int_equal(close(condworld.bounds_fd), 0);
}

void condworld_say_cycle(void)
{
	condworld.body.type = ACKBODY_CYCLE;
	condworld.body.cycle =
		(struct ackbody_cycle){.cycle = ++condworld.cycle,
				       .sync_value = 1,
				       .streams = condworld.run.streams};
	for (uint16_t i = 0; i < condworld.run.streams; i++) {
		condworld.first[i] = ledger_reserved(condworld.ledger, i) + 1 +
				     condworld_below(3);
		condworld.body.cycle.first_sequence[i] = condworld.first[i];
	}
	condworld.flush = 0;
	condworld_say();
}

void condworld_say_limit(enum ackbody_type type, uint16_t stream, uint64_t to)
{
	condworld.body.type = type;
	condworld.body.limit = (struct ackbody_limit){stream, to};
	condworld_say();
}

void condworld_say_event(enum ackbody_event event, const char *text)
{
	condworld.body.type = event == 0 ? ACKBODY_END : ACKBODY_EVENT;
	memset(&condworld.body.note, 0, sizeof(condworld.body.note));
	condworld.body.note.event = event;
	(void)snprintf(condworld.body.note.text,
		       sizeof(condworld.body.note.text), "%s", text);
	condworld_say();
}

void condworld_say_range(enum ackbody_type type, uint16_t stream,
			 uint64_t first, uint64_t last)
{
	condworld.body.type = type;
	condworld.body.ranges =
		(struct ackbody_ranges){.stream = stream, .count = 1};
	condworld.body.ranges.ranges[0] = (struct ackbody_range){first, last};
	if (type == ACKBODY_DURABLE) {
		condworld.body.ranges.flush = ++condworld.flush;
		condworld.body.ranges.submitted_ns = condworld.clock_ns;
		condworld.body.ranges.completed_ns = ++condworld.clock_ns;
	}
	condworld_say();
}

int condworld_condense(struct condense_facts *facts)
{
	const struct condense_order order = {condworld.fd, condworld.bounds_fd,
					     "log", "bounds"};

	assert_int_equal(ackout_finish(condworld.out, 1, &condworld.err), 0);
	return condense_log(&order, facts, &condworld.err);
}

struct ledger *condworld_read_log(int fd)
{
	struct ackreader *reader = ackreader_open_fd(fd, "log", &condworld.err);
	struct ledger *ledger = ledger_new(&condworld.err);
	uint64_t index = 0;
	int got;

	assert_non_null(reader);
	assert_non_null(ledger);
	while ((got = ackreader_next(reader, &condworld.body, NULL,
				     &condworld.err)) > 0) {
		if (ledger_apply(ledger, &condworld.body, &condworld.err) < 0)
			fail_msg("not believed: %s", condworld.err.text);
		assert_int_equal(condense_is_mark(&condworld.body, index),
				 fd == condworld.bounds_fd && index == 1);
		index++;
	}
	assert_int_equal(got, 0);
	ackreader_close(reader);
	return ledger;
}

struct ledger *condworld_read_bounds(void)
{
	struct ledger *ledger = condworld_read_log(condworld.bounds_fd);

	assert_true(condense_is_end(&condworld.body));
	return ledger;
}
