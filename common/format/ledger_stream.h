/* SPDX-License-Identifier: MIT */
/*
 * ledger_stream - what the ledger keeps of one stream; for ledger.c only.
 */
#ifndef COMMON_FORMAT_LEDGER_STREAM_H
#define COMMON_FORMAT_LEDGER_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/rangeset.h"

struct err;

struct ledger_stream {
	struct rangeset durable;
	struct rangeset shadow, completed; /* of this cycle only */
	struct rangeset unfirm; /* of earlier cycles that were cut unseen */
	uint64_t reserved;      /* highest ever */
	uint64_t limit;
	uint64_t limit_before; /* the limit when this cycle began */
	uint64_t issued;       /* what ISSUED said in this cycle */
	bool is_issued;        /* it has said so */
};

/* STREAM is all zero. */
int ledger_stream_init(struct ledger_stream *stream, struct err *err);
void ledger_stream_free(struct ledger_stream *stream);

/* Limits the ranges that are kept to a share of the limits in ledger.h: STREAM
 * is one of STREAMS, and has none yet. */
void ledger_stream_share(struct ledger_stream *stream, uint16_t streams);

#endif
