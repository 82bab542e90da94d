/* SPDX-License-Identifier: MIT */
/*
 * condsay - the ranges of a set as statements; for condense.c only.
 *
 * A set may have forgotten its lowest ranges (rangeset.h), and whoever reads
 * the statements shall forget the same: then the last forgotten number is said
 * first, and single numbers of the set until it is forgotten again.
 */
#ifndef COMMON_ACKFILE_CONDSAY_H
#define COMMON_ACKFILE_CONDSAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ackfile/ackout.h"
#include "common/format/ackbody.h"
#include "common/format/rangeset.h"

struct err;

struct condsay {
	struct ackout *out;
	uint64_t arrival_ns;
	struct ackbody body; /* being put together */
};

struct condsay_order {
	enum ackbody_type type; /* DURABLE or COMPLETED */
	uint16_t stream;
	const struct rangeset *set;
	uint64_t low, high; /* of these numbers, both included */
	uint64_t floor;     /* what is not above it was forgotten; 0: nothing */
	uint64_t at_ns;     /* completion time to be said */
	struct rangeset *mirror; /* what the reader has of this kind */
};

int condsay_ranges(struct condsay *say, const struct condsay_order *order,
		   struct err *err);

int condsay_body(struct condsay *say, const struct ackbody *body,
		 struct err *err);

/* Promises of one STREAM one by one, in their order; then the rest of them. */
int condsay_flush(struct condsay *say, uint16_t stream,
		  const struct ackbody_flush *flush, struct err *err);
int condsay_flushes_end(struct condsay *say, struct err *err);

#endif
