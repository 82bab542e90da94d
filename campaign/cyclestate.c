/* SPDX-License-Identifier: MIT */
#include "campaign/cyclestate.h"

#include <stdio.h>

#include "campaign/cprogress.h"
#include "campaign/journal.h"
#include "common/base/clock.h"
#include "common/base/err.h"

uint64_t cyclestate_ms_since(uint64_t then_ns)
{
	return (clock_monotonic_ns() - then_ns) / CLOCK_NS_PER_MS;
}

uint64_t cyclestate_from_now(uint64_t duration_ms)
{
	return clock_monotonic_ns() + duration_ms * CLOCK_NS_PER_MS;
}

void cyclestate_trouble(struct cycle *cycle, const char *what)
{
	if (cycle->outcome->trouble[0] == '\0')
		(void)snprintf(cycle->outcome->trouble,
			       sizeof(cycle->outcome->trouble), "%.300s", what);
}

void cyclestate_stop(struct cycle *cycle, const char *what)
{
	cyclestate_trouble(cycle, what);
	cycle->must_stop = true;
}

int cyclestate_note(struct cycle *cycle, const char *step, const char *name,
		    int64_t value)
{
	json_t *fields =
		json_pack("{s:I}", "cycle", (json_int_t)cycle->order->number);
	struct err err;

	if (name != NULL && fields != NULL)
		(void)json_object_set_new(fields, name,
					  json_integer((json_int_t)value));
	if (journal_write(cycle->order->journal, step, fields, &err) == 0)
		return 0;
	cyclestate_stop(cycle, err.text);
	return -1;
}

void cyclestate_phase(struct cycle *cycle, const char *what)
{
	cprogress_phase(cycle->order->progress, cycle->outcome, what);
}

bool cyclestate_is_stopped(const struct cycle *cycle)
{
	return rig_is_stopped(cycle->order->rig);
}

void cyclestate_waited(struct cycle *cycle, uint64_t then_ns)
{
	cycle->waited_ns += clock_monotonic_ns() - then_ns;
}
