#!/bin/bash
# SPDX-License-Identifier: MIT
# A run lives in its ack log: a writer that is killed goes on with the next
# cycle, above every number that could have been issued before, and says by
# name what cannot be changed on the way.
. "${0%/*}/lib.sh"

DISK=$TMP/disk.img
LOG=$TMP/run.acklog
JSON=$TMP/writer.json

resume() {
	run writer --target "$DISK" --acklog "$LOG" --json "$JSON" "$@"
}

refused() { # REGEX OPTIONS...
	resume --count 10 "${@:2}"
	expect_status 2
	expect_err "$1"
}

# A file that does not exist is created with --size; the region is filled.
run writer --target "$DISK" --size 8m --acklog "$LOG" --count 1000 \
	--json "$JSON" --seed 0xabc
expect_status 0
expect_out '^run [0-9a-f]{32}$'
expect_out '^cycle 1 writing$'
expect_out '^cycle 1 stopped: 1000 writes'
expect_err 'seed 0x0000000000000abc$'
expect_equal 'size of the file' "$(stat -c %s "$DISK")" $((8 << 20))
ID=$(json "$JSON" .run)
expect_equal run "run $ID" "$(grep '^run ' "$TMP/out")"
expect_equal cycle "$(json "$JSON" .cycle)" 1
expect_equal writes "$(json "$JSON" .writes)" 1000
expect_equal bytes "$(json "$JSON" .bytes)" 4096000
expect_equal issued "$(json "$JSON" .issued)" 1000
expect_equal durable "$(json "$JSON" .durable)" 1000
expect_equal confirmed "$(json "$JSON" .confirmed)" 1000
expect_equal in_flight "$(json "$JSON" .in_flight)" 0
expect_equal gone "$(json "$JSON" .gone)" false
expect_equal error "$(json "$JSON" .error)" null
expect_equal sync "$(json "$JSON" .sync)" flush:32
expect_equal queue_depth "$(json "$JSON" .queue_depth)" 32
expect_equal block_size "$(json "$JSON" .block_size)" 4096
expect_equal streams "$(json "$JSON" .streams)" 1
expect_equal seed "$(json "$JSON" .seed)" 0x0000000000000abc
expect_equal 'flushes are counted' "$(json "$JSON" '.flushes > 0')" true
expect_equal 'speed is told' "$(json "$JSON" '.writes_per_second > 0')" true

# Killed in mid-sentence, it goes on with the next cycle.
background "$BIN/plugpull-writer" --target "$DISK" --acklog "$LOG" \
	--sync fua >"$TMP/killed.out" 2>"$TMP/killed.err" </dev/null
PID=$!
wait_until 20 grep -q '^cycle 2 writing$' "$TMP/killed.out"
kill -9 "$PID"
{ wait "$PID"; } 2>/dev/null
resume --count 100 --sync none --run "$ID"
expect_status 0
expect_out "^run $ID\$"
expect_out '^cycle 3 writing$'
expect_equal 'nothing is durable without a flush' "$(json "$JSON" .durable)" 0
expect_equal 'and none was sent' "$(json "$JSON" .flushes)" 0

# SIGTERM is an order: final flush, report, status 0.
background "$BIN/plugpull-writer" --target "$DISK" --acklog "$LOG" \
	--json "$JSON" >"$TMP/term.out" 2>"$TMP/term.err" </dev/null
PID=$!
wait_until 20 grep -q '^cycle 4 writing$' "$TMP/term.out"
kill "$PID"
wait_until 20 lib_has_ended "$PID"
wait "$PID" || fail "SIGTERM ends with $?"
expect_equal 'all is durable at the end' \
	"$(json "$JSON" '.durable == .issued')" true

# FUA sends no flush, and with depth 1 and flush:1 they alternate.
resume --count 500 --sync fua
expect_status 0
expect_equal 'flushes beside FUA' "$(json "$JSON" .flushes)" 0
expect_equal 'durable by FUA' "$(json "$JSON" .durable)" 500
resume --count 500 --sync flush:1 --queue-depth 1
expect_status 0
expect_equal 'flushes, one a write' "$(json "$JSON" .flushes)" 500

refused '--block-size 8192 differs' --block-size 8k
refused '--streams 2 differs' --streams 2
refused '--seed .* differs' --seed 1
refused '--pattern sequential differs' --pattern sequential
refused '--offset 4096 differs' --offset 4k
refused '--size .* differs' --size 4m
refused '--no-fill .* differs' --no-fill
refused 'another run' --run 00112233445566778899aabbccddeeff

# Another drive is refused, also one that looks the same.
cp "$DISK" "$TMP/other.img"
run writer --target "$TMP/other.img" --acklog "$LOG" --count 1
expect_status 2
expect_err 'wrong drive'
# The same drive with another run's label, too.
run writer --target "$DISK" --acklog "$TMP/new.acklog" --count 1
expect_status 0
resume --count 1
expect_status 2
expect_err 'label of another run'
