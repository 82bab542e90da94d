/* SPDX-License-Identifier: MIT */
/*
 * speaker - what one stream has to say: durable ranges, completed ranges, and
 * how many numbers it wants to have reserved.
 *
 * Fills the stream's ring and never waits: what finds no room stays where it
 * is and is said later.
 */
#ifndef WRITER_SPEAKER_H
#define WRITER_SPEAKER_H

#include <stdbool.h>
#include <stdint.h>

struct ackring;
struct durable;

#define SPEAKER_CHUNK_MIN 1024 /* numbers asked for at least */
#define SPEAKER_CHUNK_MAX 65536

struct speaker {
	struct ackring *ring;
	struct durable *durable;
	uint64_t last_sequence; /* the stream ends behind it */
	uint64_t requested;     /* reserved, or asked for */
	uint64_t chunk;
	uint64_t rate_due_ns, rate_issued;
	uint64_t completed_due_ns;
};

struct speaker_flush { /* the newest that has completed; 0: FUA */
	uint64_t number;
	uint64_t submitted_ns;
	uint64_t completed_ns; /* reaped */
};

void speaker_init(struct speaker *speaker, struct ackring *ring,
		  struct durable *durable, uint64_t now_ns);

void speaker_say_durable(struct speaker *speaker,
			 const struct speaker_flush *flush, uint64_t now_ns);
/* At most every few milliseconds, so that ranges merge and most of the writes
 * have become durable before; IS_LAST: now. */
void speaker_say_completed(struct speaker *speaker, uint64_t now_ns,
			   bool is_last);
void speaker_ask_numbers(struct speaker *speaker, uint64_t now_ns);

/* False: something may have been left unsaid. */
bool speaker_has_room(const struct speaker *speaker);

#endif
