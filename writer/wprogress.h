/* SPDX-License-Identifier: MIT */
/*
 * wprogress - what people see on stderr while the writer runs: one line that
 * is written over on a terminal, a plain line every ten seconds elsewhere.
 */
#ifndef WRITER_WPROGRESS_H
#define WRITER_WPROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct wprogress {
	bool is_terminal;
	uint64_t due_ns;
	uint64_t last_ns, last_writes; /* of the line before */
};

struct wprogress_now {
	uint64_t writes, durable, flying, confirmed; /* since the start */
	uint64_t confirmed_ns;                       /* monotonic, 0: never */
	uint32_t block_bytes;
};

void wprogress_init(struct wprogress *progress);
/* Prints where a line is due; cheap where none is. */
void wprogress_show(struct wprogress *progress,
		    const struct wprogress_now *now);
void wprogress_show_fill(struct wprogress *progress, uint64_t done_bytes,
			 uint64_t size_bytes);
/* Ends a line that is being written over. */
void wprogress_end(struct wprogress *progress);

/* "plugpull-writer: TEXT"; any thread. */
void wprogress_note(const char *text);

#endif
