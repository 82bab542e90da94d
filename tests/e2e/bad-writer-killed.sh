#!/bin/bash
# SPDX-License-Identifier: MIT
# The writer is killed in mid-run, with and without the power going too. What it
# had in flight stays in doubt; its run is judged, goes on with the next cycle
# above every number it may have issued, and is judged again.
. "${0%/*}/lib.sh"
requires nbdkit jq

start_collector
begin() { # FAULT
	rm -f "$TMP"/drive.*
	start_simdrive drive --size 18m --fault "$1" --seed 8
	start_writer --collector "$COLLECTOR" --sync flush:16 --block-size 16k
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	ACKLOG=$ACKDIR/$ID.acklog
}

kill_in_mid_run() {
	local before
	before=$(sim_counter writes)
	wait_until 20 lib_counter_reached writes $((before + 300))
	kill -9 "$WRITER_PID"
	{ wait "$WRITER_PID"; } 2>/dev/null
}

power_cycle() {
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
}

kept() { # CYCLE
	verify_sim
	[[ $status == [03] ]] || fail "the honest drive got $status"
	expect_equal classes "$(broken_classes)" ""
	expect_equal cycle "$(json "$TMP/verdict.json" .cycle)" "$1"
	[[ $(json "$TMP/verdict.json" .durable_log) -gt 0 ]] ||
		fail "nothing was promised"
}

resume() { # CYCLE
	start_writer --collector "$COLLECTOR" --run "$ID" --sync flush:16
	grep -q "^cycle $1 writing$" "$TMP/writer.out" ||
		fail "not cycle $1: $(cat "$TMP/writer.out")"
}

begin none
kill_in_mid_run
kept 1
resume 2
kill_in_mid_run
power_cycle
kept 2
resume 3
kill_in_mid_run
# Another cycle begins at once, on what the cut is still to come for.
resume 4
kill_in_mid_run
power_cycle
kept 4
resume 5
kill "$WRITER_PID"
end_of_writer
expect_equal "exit status of the writer" "$status" 0
kept 5
kill "$SIM_PID"
wait_until 20 lib_has_ended "$SIM_PID"

# The liar is convicted though its writer died with it and said no last word.
begin ignores-flush
kill_in_mid_run
power_cycle
verify_sim
expect_verdict LOST NONE
