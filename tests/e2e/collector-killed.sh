#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: a collector that is killed in the middle of its work has kept everything
# that it confirmed, and goes on with it when it is started again.
. "${0%/*}/lib.sh"

RUN_ID=c011ec70120102030405060708090a0b

note_until_killed() { # FIRST: notes FIRST, FIRST + 1 ... until one fails
	local number=$1
	while "$BIN/plugpull-collector" --send note --run "$RUN_ID" \
		--connect "$COLLECTOR" --text "note $number." --timeout 5s \
		2>>"$TMP/notes.err"; do
		echo "$number" >>"$TMP/confirmed"
		((++number))
	done
}

confirmed_reach() {
	[[ $(wc -l <"$TMP/confirmed") -ge $1 ]]
}

start_collector
cp "${0%/*}/expected/$RUN_ID.acklog" "$ACKDIR"
: >"$TMP/confirmed"

for round in 1 2 3 4; do
	background note_until_killed $((round * 10000))
	client=$!
	wait_until 20 confirmed_reach $((round * 15))
	kill -9 "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$client"
	start_collector
done
while read -r number; do
	grep -aqF "note $number." "$ACKDIR/$RUN_ID.acklog" ||
		fail "note $number was confirmed and is not in the log"
done <"$TMP/confirmed"

# A tail torn in mid-sentence is cut off and said, with nothing lost.
head -c 20 "$ACKDIR/$RUN_ID.acklog" >>"$ACKDIR/$RUN_ID.acklog"
run collector --send note --run "$RUN_ID" --connect "$COLLECTOR" --text last.
expect_status 0
grep -q "run $RUN_ID: cut a torn tail of 20 bytes" "$TMP/collector.err" ||
	fail "the repair was not said: $(cat "$TMP/collector.err")"
grep -aqF last. "$ACKDIR/$RUN_ID.acklog" || fail "the last note is missing"

# Told to stop, it ends in order and takes its socket with it.
kill -TERM "$COLLECTOR_PID"
wait_until 20 lib_has_ended "$COLLECTOR_PID"
wait "$COLLECTOR_PID"
expect_equal "exit status of the collector" $? 0
[[ ! -e $TMP/collector.sock ]] || fail "the socket was left behind"
