#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: where the log cannot grow, nothing more is confirmed, the reason is said
# at both ends, and everything confirmed before is kept.
. "${0%/*}/lib.sh"

RUN_ID=c011ec70120102030405060708090a0b
LOG=$TMP/acks/$RUN_ID.acklog

send() {
	run collector --send note --run "$RUN_ID" --connect "$COLLECTOR" \
		--text "$1"
}

ulimit -S -f 2 || skip "file sizes cannot be limited here"
start_collector
ulimit -S -f unlimited
cp "${0%/*}/expected/$RUN_ID.acklog" "$ACKDIR"

number=1
send "note $number. $(printf '%0200d' 0)"
while [[ $status == 0 ]]; do
	((number < 50)) || fail "the limit was never met"
	((++number))
	send "note $number. $(printf '%0200d' 0)"
done
((number > 2)) || fail "nothing was confirmed before the limit"
expect_status 2
expect_err 'refused: cannot append to .*: File too large'
expect_err 'everything confirmed so far is safe'
grep -q "run $RUN_ID: cannot append to " "$TMP/collector.err" ||
	fail "the collector did not say so: $(cat "$TMP/collector.err")"

# The next claim repairs the log and tries afresh: a short note still fits.
send x
expect_status 0
grep -q 'cut a torn tail of ' "$TMP/collector.err" ||
	fail "the repair was not said: $(cat "$TMP/collector.err")"

# Room again: another collector goes on where this one stopped.
kill "$COLLECTOR_PID"
wait_until 20 lib_has_ended "$COLLECTOR_PID"
start_collector
send "note at last."
expect_status 0
for ((i = 1; i < number; i++)); do
	grep -aqF "note $i. " "$LOG" || fail "note $i was confirmed and is gone"
done
! grep -aqF "note $number. " "$LOG" || fail "half a note was kept"
grep -aqF "note at last." "$LOG" || fail "the last note is missing"
