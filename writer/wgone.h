/* SPDX-License-Identifier: MIT */
/*
 * wgone - when the drive went away: what its requests said (wstop), and what
 * the kernel said of the device and of all below it (uevents).
 *
 * For the record only: neither ends a run nor keeps one going. Times are
 * milliseconds from the first numbered write on.
 */
#ifndef WRITER_WGONE_H
#define WRITER_WGONE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/target/uevent.h"

struct target;
struct wstop;

struct wgone_words {
	const char *by; /* NULL: it is not known to have gone */
	double by_ms;
	enum uevent_action action; /* UEVENT_OTHER: nothing was heard */
	char device[64];
	double event_ms;
};

struct wgone {
	struct uevent_listener *listener;
	struct uevent_watched watched;
	uint64_t started_ns;
	uint64_t event_ns;   /* when EVENT was heard */
	struct uevent event; /* UEVENT_OTHER: none */
	bool is_event_told;
};

/* Listens from now on; the time begins. Without events it only waits. */
void wgone_begin(struct wgone *gone, const struct target *target);
void wgone_end(struct wgone *gone);

/* Waits DURATION_MS, and hears what comes meanwhile. */
void wgone_wait(struct wgone *gone, unsigned int duration_ms);

/* A drive that has gone: the kernel says so a moment behind the first error.
 * Waits for that, but not for long. */
void wgone_settle(struct wgone *gone);

/* EVENT about the drive was heard AT_NS: a change is forgotten for a later one,
 * and for that the device was taken away, which is kept. */
void wgone_take(struct wgone *gone, const struct uevent *event, uint64_t at_ns);

void wgone_words(const struct wgone *gone, struct wstop *stop,
		 struct wgone_words *words);

/* "seen by an error after 1503.2 ms; the kernel said remove of sdb after
 * 1502.9 ms": what is known, "" where nothing is. */
void wgone_tell(const struct wgone_words *words, char *text, unsigned int room);

#endif
