/* SPDX-License-Identifier: MIT */
#include "verifier/logbounds.h"

#include "common/ackfile/condense.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/ledger.h"

void logbounds_take(struct logbounds *bounds, const struct ackbody *body)
{
	if (condense_is_mark(body, bounds->bodies))
		bounds->is_condensed = true;
	bounds->is_whole = condense_is_end(body);
	if (body->type == ACKBODY_CYCLE)
		bounds->issued = 0;
	if (body->type == ACKBODY_ISSUED)
		bounds->issued |= UINT64_C(1) << body->limit.stream;
	bounds->bodies++;
}

/* Each stream has said that it stopped, or the writer was seen to go (P11). */
static bool has_writer_ended(const struct logbounds *bounds,
			     const struct ledger *ledger)
{
	uint64_t all = UINT64_MAX >> (64 - ledger_run(ledger)->streams);

	return ledger_cycle(ledger) == NULL || ledger_is_cut_seen(ledger) ||
	       bounds->issued == all;
}

int logbounds_check(const struct logbounds *bounds, const struct ledger *ledger,
		    struct err *err)
{
	if (!bounds->is_condensed)
		return 0;
	if (!bounds->is_whole) {
		(void)err_set(err, "the condensed log has no end: it was cut "
				   "short on its way");
		return err_hint(err, "take its bounds once more");
	}
	if (has_writer_ended(bounds, ledger))
		return 0;
	(void)err_set(err, "the condensed log does not say that the writer of "
			   "this run has ended");
	return err_hint(err, "end the writer, or put \"cut asked\" and \"cut "
			     "seen\" on record, and take the bounds then");
}
