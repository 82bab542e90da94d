/* SPDX-License-Identifier: MIT */
/*
 * flush - how a model takes a FLUSH, at once or slowly. Pure, as the model is.
 *
 * Between flush_begin() and flush_end() the drive goes on: writes may come, and
 * other FLUSHes. The honest drive then brings to the media what was accepted
 * before the FLUSH arrived, and nothing else is promised (P1). A write that
 * comes meanwhile replaces nothing of that in the cache: what it is going to
 * cover goes to the media first, since a power cut may still take the new
 * content. A lie is told at the beginning.
 */
#ifndef SIMDRIVE_FLUSH_H
#define SIMDRIVE_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

struct damage_write;
struct model;

struct flush {
	uint64_t request; /* its number */
	bool is_honest;
};

/* A FLUSH arrives. 0, or what model_flush() would return. */
int flush_begin(struct model *model, struct flush *flush, uint64_t now_ns);

/* Some of the work: the newest write that is to be drained goes. */
int flush_step(struct model *model, const struct flush *flush);

/* The rest of it; the FLUSH is answered. */
int flush_end(struct model *model, const struct flush *flush);

/* WRITE has come and is not in the cache yet. */
int flush_make_way(struct model *model, const struct damage_write *write);

#endif
