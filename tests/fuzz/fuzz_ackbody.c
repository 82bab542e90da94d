/* SPDX-License-Identifier: MIT */
/*
 * A payload of any bytes is decoded without harm, what is taken has exactly one
 * encoding, and the ledger bears every order of statements.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_encoding(const struct ackbody *body, const uint8_t *bytes,
			   size_t count)
{
	uint8_t again[ACKBODY_ENCODED_MAX];
	size_t used = 0;

	if (ackbody_encode(body, again, sizeof(again), &used) < 0)
		abort();
	/* A run's texts may have anything behind their end. */
	if (used != count ||
	    (body->type != ACKBODY_RUN && memcmp(again, bytes, count) != 0))
		abort();
}

static void check_ledger(const struct ledger *ledger)
{
	for (uint16_t i = 0; i < RUN_STREAMS_MAX; i++) {
		uint64_t last = ledger_durable_last(ledger, i);

		if (last > ledger_limit(ledger, i) ||
		    ledger_limit(ledger, i) > ledger_reserved(ledger, i))
			abort();
		if (last > 0 && ledger_state(ledger, i, last) != LEDGER_DURABLE)
			abort();
		if (ledger_durable_at_or_below(ledger, i, UINT64_MAX) != last)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ackbody body;
	struct err err;
	struct ledger *ledger = ledger_new(&err);
	size_t at = 0;

	if (ledger == NULL)
		return 0;
	for (;;) {
		size_t before = at;

		if (ackbody_decode(&body, data, size, &at, &err) <= 0)
			break;
		if (at <= before || at > size)
			abort();
		check_encoding(&body, data + before, at - before);
		(void)ledger_apply(ledger, &body, &err);
		check_ledger(ledger);
	}
	ledger_free(ledger);
	return 0;
}
