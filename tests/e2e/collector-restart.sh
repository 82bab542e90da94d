#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: the writer goes on while its collector is killed and started again, over
# TLS, and in the end everything durable is confirmed; the events that a
# campaign sends meanwhile stand in the same log.
. "${0%/*}/lib.sh"

run collector --new-key "$TMP/key"
expect_status 0
start_collector --listen 127.0.0.1:0 --key "$TMP/key"
address=$COLLECTOR

background "$BIN/plugpull-writer" --target "$TMP/disk" --size 16m \
	--collector "$address" --key "$TMP/key" --sync flush:8 \
	--json "$TMP/writer.json" >"$TMP/writer.out" 2>"$TMP/writer.err"
writer=$!
wait_until 30 grep -q '^cycle 1 writing' "$TMP/writer.out"
id=$(sed -n 's/^run //p' "$TMP/writer.out")
log=$ACKDIR/$id.acklog

log_grows_beyond() {
	[[ $(stat -c %s "$log") -gt $1 ]]
}

for round in 1 2 3; do
	wait_until 20 log_grows_beyond "$(stat -c %s "$log")"
	kill -9 "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$COLLECTOR_PID"
	start_collector --listen "$address" --key "$TMP/key"
	run collector --send note --run "$id" --connect "$address" \
		--key "$TMP/key" --text "round $round."
	expect_status 0
	wait_until 20 grep -q "run $id: .* writes on" "$TMP/collector.err"
done
kill -TERM "$writer"
wait_until 30 lib_has_ended "$writer"
wait "$writer"
expect_equal "exit status of the writer" $? 0
durable=$(json "$TMP/writer.json" .durable)
((durable > 0)) || fail "nothing became durable"
expect_equal "what was confirmed" "$(json "$TMP/writer.json" .confirmed)" \
	"$durable"
for round in 1 2 3; do
	grep -aqF "round $round." "$log" || fail "note $round is missing"
done
