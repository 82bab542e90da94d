#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: the collector is killed again and again while a writer runs at full
# speed. The writer goes on and finds it again; after the power cut everything
# that was durable is in the log, once the writer says it is confirmed; and the
# log judges the drive soundly: the honest one is kept, the liar convicted.
. "${0%/*}/lib.sh"
requires nbdkit jq

said() { # TIMES WHAT
	[[ $(grep -c "$2" "$TMP/writer.err") -ge $1 ]]
}

log_grows_beyond() {
	[[ $(stat -c %s "$ACKDIR/$ID.acklog") -gt $1 ]]
}

kill_collector() {
	kill -9 "$COLLECTOR_PID"
	{ wait "$COLLECTOR_PID"; } 2>/dev/null
}

# one_drive FAULT STREAMS ROUNDS
one_drive() {
	local round before
	rm -f "$TMP"/drive.*
	start_simdrive drive --size 18m --fault "$1" --seed 6
	start_collector
	start_writer --collector "$COLLECTOR" --sync flush:16 --block-size 16k \
		--streams "$2"
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	ACKLOG=$ACKDIR/$ID.acklog
	for ((round = 1; round <= $3; round++)); do
		wait_until 20 log_grows_beyond "$(stat -c %s "$ACKLOG")"
		# It writes on meanwhile, as far as its numbers reach.
		before=$(sim_counter writes)
		kill_collector
		wait_until 20 lib_counter_reached writes $((before + 20))
		wait_until 20 said "$round" 'lost the collector: .*trying again'
		start_collector
		wait_until 20 said "$round" 'the collector is back'
	done
	# The last one is not there when the power goes, and comes back after.
	kill_collector
	wait_until 20 said "$round" 'lost the collector'
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	start_collector
	end_of_writer
	expect_equal "exit status of the writer" "$status" 2
	expect_equal "the drive is gone" \
		"$(json "$TMP/writer.json" .gone)" true
	expect_equal "what was confirmed" \
		"$(json "$TMP/writer.json" .confirmed)" \
		"$(json "$TMP/writer.json" .durable)"
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
	verify_sim
	expect_equal "promised by the log" \
		"$(json "$TMP/verdict.json" .durable_log)" \
		"$(json "$TMP/writer.json" .durable)"
}

end_drive() {
	kill "$SIM_PID" "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
	wait_until 20 lib_has_ended "$COLLECTOR_PID"
}

one_drive none 2 5
[[ $status == [03] ]] || fail "the honest drive got $status"
expect_equal classes "$(broken_classes)" ""

# The next cycle of the same run, with whole numbers above the last one's.
run writer --target "$SIM_URI" --erase "$SIM_URI" --collector "$COLLECTOR" \
	--run "$ID" --count 200 --json "$TMP/writer.json"
expect_status 0
expect_out '^cycle 2 writing$'
verify_sim
expect_status 3
end_drive

one_drive ignores-flush 1 2
expect_verdict LOST NONE
