#!/bin/bash
# SPDX-License-Identifier: MIT
# A drive that goes away under load ends the run at once: status 2, said to be
# gone, on record in the log, nothing hangs, and the next cycle goes on. It
# must be so with one stream and with several, whatever the sync mode.
. "${0%/*}/lib.sh"
requires nbdkit jq

URI="nbd+unix:///?socket=$TMP/nbd.sock"
ACKLOG=$TMP/run.acklog

start_nbd() {
	rm -f "$TMP/nbd.sock"
	background nbdkit -f -U "$TMP/nbd.sock" file "$TMP/disk.img" \
		>"$TMP/nbdkit.log" 2>&1 </dev/null
	NBD_PID=$!
	wait_until 20 test -S "$TMP/nbd.sock"
}

die_under_load() { # CYCLE OPTIONS...
	local cycle=$1
	shift
	start_nbd
	"$BIN/plugpull-writer" --target "$URI" --acklog "$ACKLOG" \
		--json "$TMP/writer.json" "$@" >"$TMP/out" 2>"$TMP/err" \
		</dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 60 grep -q "^cycle $cycle writing" "$TMP/out"
	kill -9 "$NBD_PID"
	{ wait "$NBD_PID"; } 2>/dev/null
	end_of_writer 30
	expect_status 2
	expect_err 'the drive went away after [0-9.]+ s of writing: '
	expect_equal gone "$(json "$TMP/writer.json" .gone)" true
	expect_equal 'it is told when, and by what' \
		"$(json "$TMP/writer.json" '.gone_at | .ms > 0 and .uevent ==
		null and (.by | test("^(an error|its device|reads)"))')" true
	expect_equal 'error is told' \
		"$(json "$TMP/writer.json" '.error | length > 10')" true
	expect_equal 'it wrote under load' \
		"$(json "$TMP/writer.json" '.in_flight > 0')" true
	grep -aq 'cannot\|short write' "$ACKLOG" || fail "not on record"
}

truncate -s 32M "$TMP/disk.img"
die_under_load 1 --erase "$URI" --streams 3 --sync flush:8 --queue-depth 8
die_under_load 2 --sync fua
die_under_load 3 --sync none --queue-depth 64
die_under_load 4 --sync flush:5ms
die_under_load 5 --sync flush:1 --queue-depth 1
start_nbd
run writer --target "$URI" --acklog "$ACKLOG" --count 100
expect_status 0
expect_out '^cycle 6 writing$'
