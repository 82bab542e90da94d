/* SPDX-License-Identifier: MIT */
#include "writer/wgone.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "writer/wstop.h"

#define SETTLE_MS  100
#define STEP_MS    10
#define EVENTS_MAX 256 /* in one wait: a storm must not hold the writer up */

void wgone_begin(struct wgone *gone, const struct target *target)
{
	memset(gone, 0, sizeof(*gone));
	gone->started_ns = clock_monotonic_ns();
	uevent_watch_target(&gone->watched, target);
	if (gone->watched.count > 0)
		gone->listener = uevent_listen();
}

void wgone_end(struct wgone *gone)
{
	uevent_listener_free(gone->listener);
	gone->listener = NULL;
}

static bool takes_away(enum uevent_action action)
{
	return action == UEVENT_REMOVE || action == UEVENT_OFFLINE;
}

void wgone_take(struct wgone *gone, const struct uevent *event, uint64_t at_ns)
{
	if (!uevent_concerns(event, &gone->watched) ||
	    takes_away(gone->event.action) ||
	    (!takes_away(event->action) && event->action != UEVENT_CHANGE))
		return;
	gone->event = *event;
	gone->event_ns = at_ns;
}

void wgone_wait(struct wgone *gone, unsigned int duration_ms)
{
	const uint64_t deadline_ns =
		clock_monotonic_ns() + duration_ms * CLOCK_NS_PER_MS;
	struct uevent event;

	for (unsigned int i = 0; i < EVENTS_MAX; i++) {
		const int left_ms = clock_until_ms(deadline_ns);

		if (uevent_next(gone->listener, left_ms, &event))
			wgone_take(gone, &event, clock_monotonic_ns());
		if (left_ms == 0)
			return;
	}
}

void wgone_settle(struct wgone *gone)
{
	for (unsigned int i = 0; i < SETTLE_MS && gone->listener != NULL &&
				 gone->event.action == UEVENT_OTHER;
	     i += STEP_MS)
		wgone_wait(gone, STEP_MS);
}

static double ms_after(uint64_t started_ns, uint64_t at_ns)
{
	return ((double)at_ns - (double)started_ns) / CLOCK_NS_PER_MS;
}

void wgone_words(const struct wgone *gone, struct wstop *stop,
		 struct wgone_words *words)
{
	uint64_t gone_ns = 0;

	memset(words, 0, sizeof(*words));
	words->by = wstop_gone_by(stop, &gone_ns);
	if (words->by != NULL)
		words->by_ms = ms_after(gone->started_ns, gone_ns);
	words->action = gone->event.action;
	(void)snprintf(words->device, sizeof(words->device), "%.63s",
		       uevent_device(&gone->event));
	if (words->action != UEVENT_OTHER)
		words->event_ms = ms_after(gone->started_ns, gone->event_ns);
}

void wgone_tell(const struct wgone_words *words, char *text, unsigned int room)
{
	char event[128] = "";

	if (words->action != UEVENT_OTHER)
		(void)snprintf(event, sizeof(event),
			       "the kernel said %s of %s after %.1f ms",
			       uevent_action_name(words->action), words->device,
			       words->event_ms);
	if (words->by == NULL)
		(void)snprintf(text, room, "%s", event);
	else
		(void)snprintf(text, room, "seen by %s after %.1f ms%s%s",
			       words->by, words->by_ms,
			       event[0] == '\0' ? "" : "; ", event);
}
