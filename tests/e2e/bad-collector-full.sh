#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: the collector's disk is full in mid-run. Nothing more is acknowledged,
# both ends say so, everything confirmed is in the log, and the log is good for
# a sound verdict; with room again the run goes on where it was.
. "${0%/*}/lib.sh"
requires nbdkit jq

start_simdrive drive --size 18m --seed 4

start_full_collector() { # KIB that a file may have
	ulimit -S -f "$1" || skip "file sizes cannot be limited here"
	start_collector
	ulimit -S -f unlimited
}

end_of_collector() {
	kill "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$COLLECTOR_PID"
}

said() { # FILE REGEX
	grep -Eq "$2" "$TMP/$1"
}

power_cycle() {
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
}

# It stays full: the writer ends by itself, not for the drive's reasons.
start_full_collector 6
start_writer --collector "$COLLECTOR" --sync flush:4 --block-size 16k \
	--ack-timeout 2s
ID=$(sed -n 's/^run //p' "$TMP/writer.out")
ACKLOG=$ACKDIR/$ID.acklog
end_of_writer 30
expect_equal "exit status of the writer" "$status" 2
cp "$TMP/writer.err" "$TMP/err"
expect_err 'lost the collector: .* cannot append to .*: File too large'
expect_err 'everything confirmed so far is safe'
expect_err 'stopped after [0-9.]+ s of writing: the collector was lost and not found again within 2 s'
expect_err "^plugpull-writer: hint: .*--run $ID"
expect_equal "the drive is not blamed" "$(json "$TMP/writer.json" .gone)" false
said collector.err "run $ID: cannot append to .*: File too large" ||
	fail "the collector did not say so: $(cat "$TMP/collector.err")"
confirmed=$(json "$TMP/writer.json" .confirmed)
durable=$(json "$TMP/writer.json" .durable)
((confirmed > 0 && confirmed < durable)) ||
	fail "$confirmed of $durable writes were confirmed"

# The verdict by that log: what was confirmed is promised by it.
power_cycle
verify_sim
[[ $status == [03] ]] || fail "the honest drive got $status"
expect_equal classes "$(broken_classes)" ""
promised=$(json "$TMP/verdict.json" .durable_log)
((promised >= confirmed)) || fail "$promised promised, $confirmed confirmed"

# While it is full the run is not gone on with, and nothing is written to the
# drive that could not be put on record.
end_of_collector
start_full_collector 1
before=$(sim_counter writes)
run writer --target "$SIM_URI" --erase "$SIM_URI" --collector "$COLLECTOR" \
	--run "$ID" --count 1000 --ack-timeout 1s
expect_status 2
expect_err 'cannot append to '
expect_equal "writes to it" "$(sim_counter writes)" "$before"
end_of_collector

# Full in the next cycle, too, but here somebody makes room in time.
start_full_collector $(($(stat -c %s "$ACKLOG") / 1024 + 5))
start_writer --collector "$COLLECTOR" --run "$ID" --sync flush:4
wait_until 30 said writer.err 'cannot append to .*trying again'
end_of_collector
start_collector
wait_until 30 said writer.err 'the collector is back'
before=$(sim_counter writes)
wait_until 30 lib_counter_reached writes $((before + 300))
"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
end_of_writer
expect_equal "the drive is gone" "$(json "$TMP/writer.json" .gone)" true
"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
expect_equal "what was confirmed" "$(json "$TMP/writer.json" .confirmed)" \
	"$(json "$TMP/writer.json" .durable)"
verify_sim
[[ $status == [03] ]] || fail "the honest drive got $status"
expect_equal cycle "$(json "$TMP/verdict.json" .cycle)" 2
expect_equal "by the log" "$(json "$TMP/verdict.json" .durable_log)" \
	$((promised + $(json "$TMP/writer.json" .durable)))
