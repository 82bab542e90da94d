/* SPDX-License-Identifier: MIT */
#include "common/format/ledger_stream.h"

#include "common/base/err.h"
#include "common/format/ledger.h"

int ledger_stream_init(struct ledger_stream *stream, struct err *err)
{
	if (rangeset_init(&stream->durable, err) < 0 ||
	    rangeset_init(&stream->shadow, err) < 0 ||
	    rangeset_init(&stream->unfirm, err) < 0)
		return -1;
	return rangeset_init(&stream->completed, err);
}

void ledger_stream_free(struct ledger_stream *stream)
{
	rangeset_free(&stream->durable);
	rangeset_free(&stream->shadow);
	rangeset_free(&stream->completed);
	rangeset_free(&stream->unfirm);
}

static size_t share_of(size_t all, uint16_t streams)
{
	return all / streams < LEDGER_RANGES_MAX ? all / streams
						 : LEDGER_RANGES_MAX;
}

void ledger_stream_share(struct ledger_stream *stream, uint16_t streams)
{
	size_t evidence = share_of(LEDGER_EVIDENCE_ALL_MAX, streams);

	rangeset_set_limit(&stream->durable,
			   share_of(LEDGER_DURABLE_ALL_MAX, streams));
	rangeset_set_limit(&stream->shadow, evidence);
	rangeset_set_limit(&stream->completed, evidence);
	rangeset_set_limit(&stream->unfirm, evidence);
}
