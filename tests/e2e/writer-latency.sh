#!/bin/bash
# SPDX-License-Identifier: MIT
# The time from "durable" to "confirmed" is measured and told, over a collector
# and over a log file; it holds the time for which a collector stood still, and
# is null where nothing was promised.
. "${0%/*}/lib.sh"
requires jq

DISK=$TMP/disk.img
JSON=$TMP/writer.json

expect_sane() {
	expect_equal "the order of confirm_ms" "$(json "$JSON" \
		'.confirm_ms | 0 < .median and .median <= .p99 and .p99 <= .max')" \
		true
	expect_out '^confirmed after [0-9.]+ ms \(median\), [0-9.]+ ms \(99 %\), [0-9.]+ ms \(max\)$'
}

for sync in flush:8 fua; do
	run writer --target "$DISK" --size 8m --acklog "$TMP/$sync.acklog" \
		--sync "$sync" --count 500 --json "$JSON"
	expect_status 0
	expect_sane
done

run writer --target "$DISK" --size 8m --acklog "$TMP/none.acklog" \
	--sync none --count 500 --json "$JSON"
expect_status 0
expect_equal 'without a promise it' "$(json "$JSON" .confirm_ms)" null
! grep -q '^confirmed after' "$TMP/out" || fail "nothing was to be confirmed"

# A collector that stands still is waited for, and the waiting is told.
start_collector
"$BIN/plugpull-writer" --target "$DISK" --size 8m --collector "$COLLECTOR" \
	--sync flush:8 --json "$JSON" >"$TMP/out" 2>"$TMP/err" </dev/null &
WRITER_PID=$!
lib_pids+=("$WRITER_PID")
wait_until 30 grep -q '^cycle 1 writing' "$TMP/out"
log_has_grown() {
	[[ $(cat "$ACKDIR"/*.acklog | wc -c) -gt 3000 ]]
}
wait_until 30 log_has_grown
kill -STOP "$COLLECTOR_PID"
sleep 0.35
kill -CONT "$COLLECTOR_PID"
kill "$WRITER_PID"
end_of_writer
expect_status 0
expect_sane
expect_equal 'a stall of 0.35 s: max >= 300 ms' \
	"$(json "$JSON" '.confirm_ms.max >= 300')" true
expect_equal 'all that is durable is confirmed' \
	"$(json "$JSON" '.durable == .confirmed')" true
