#!/bin/bash
# SPDX-License-Identifier: MIT
# P5: the network between writer and collector stalls under load, then dies,
# then the host loses its power: the log lacks acknowledgements that the drive
# had earned. The drive's own records stand in for them. Each liar whose
# survivors prove it is convicted of writes that the log never heard of, the
# honest drive is acquitted by the wider bound; with that log, and with no log.
. "${0%/*}/lib.sh"
requires nbdkit socat jq

PROXY=$TMP/proxy.sock
start_proxy() {
	rm -f "$PROXY"
	background socat "UNIX-LISTEN:$PROXY,fork" \
		"UNIX-CONNECT:${COLLECTOR#unix:}" 2>/dev/null
	PROXY_PID=$!
	wait_until 10 test -S "$PROXY"
}

signal_proxy() { # SIGNAL: to it and to its connections
	local pid
	for pid in "$PROXY_PID" $(pgrep -P "$PROXY_PID"); do
		kill "-$1" "$pid" 2>/dev/null
	done
	[[ $1 != KILL ]] || { wait "$PROXY_PID"; } 2>/dev/null
}

# A proxy that stands still would outlive the test.
at_end 'signal_proxy KILL'

log_size() {
	stat -c %s "$ACKLOG"
}

writes_stand_still() {
	local before
	before=$(sim_counter writes)
	read -rt 0.2 <> <(:) || true
	[[ $(sim_counter writes) == "$before" ]]
}

# Stalls the network until all that is reserved has been written: more than the
# faults look back. Where the stall came just before the next reservation did,
# another one is waited for.
stall() {
	local before try
	for ((try = 0; try < 20; try++)); do
		before=$(sim_counter writes)
		wait_until 20 lib_counter_reached writes $((before + 200))
		signal_proxy STOP
		before=$(sim_counter writes)
		wait_until 20 writes_stand_still
		[[ $(sim_counter writes) -lt $((before + 300)) ]] || return 0
		signal_proxy CONT
	done
	fail "no stall was long enough"
}

# W of the last record reaches the write before it where each write has its own
# flush, and so everything that the faults damage; "reorders" needs more of them
# behind one flush.
stall_and_cut() { # FAULT
	local size load=(--sync flush:1 --queue-depth 1)
	[[ $1 == reorders ]] && load=(--sync flush:8 --queue-depth 32)
	rm -f "$TMP"/drive.*
	# What it did not flush stays in the cache, however long this takes.
	start_simdrive drive --size 18m --fault "$1" --seed 9 --drain-ms 600000
	start_proxy
	start_writer --collector "unix:$PROXY" --block-size 16k --seed 9 \
		"${load[@]}"
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	ACKLOG=$ACKDIR/$ID.acklog
	stall
	size=$(log_size)
	signal_proxy KILL
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	kill -9 "$WRITER_PID"
	{ wait "$WRITER_PID"; } 2>/dev/null
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
	expect_equal "size of the log" "$(log_size)" "$size"
	verify_sim
	LOG_STATUS=$status
	LOGGED=$(json "$TMP/verdict.json" .durable_log)
	PROVED=$(json "$TMP/verdict.json" .durable_media)
	((LOGGED > 0 && LOGGED < PROVED)) ||
		fail "$1: $LOGGED promised by the log, $PROVED by the drive"
	expect_equal bound "$(json "$TMP/verdict.json" .bound)" both
	expect_out "^promised: $LOGGED writes by the log, $PROVED by the drive's own records; bound by both\$"
}

verify_without_log() {
	run verifier --target "$SIM_URI" --read-timeout 2s \
		--json "$TMP/verdict.json"
	expect_equal bound "$(json "$TMP/verdict.json" .bound)" media
	expect_equal "by a log" "$(json "$TMP/verdict.json" .durable_log)" 0
	expect_out "^promised: 0 writes by the log, [1-9][0-9]* by the drive's own records; bound by media\$"
}

end_drive() {
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
}

start_collector
while read -r fault earned also; do
	stall_and_cut "$fault"
	expect_verdict "$earned" "$also"
	beyond=$(json "$TMP/verdict.json" "[.findings[] |
		select(.label | not) | select(.expected > $LOGGED)] | length")
	((beyond > 0)) || fail "$fault: nothing found beyond the log"
	expect_out '^[A-Z]+ block [0-9]+: write [0-9]+ of stream 0 was promised \(proved by the drive.s own records\)'
	verify_without_log
	expect_verdict "$earned" "$also"
	echo "table: $fault: log $LOGGED, media $PROVED, $beyond findings beyond the log"
	end_drive
done <<'LIARS'
rolls-back LOST NONE
reorders LOST NONE
corrupts CORRUPT NONE
blanks BLANK NONE
LIARS

stall_and_cut none
[[ $LOG_STATUS == [03] ]] || fail "the honest drive got $LOG_STATUS"
expect_equal classes "$(broken_classes)" ""
verify_without_log
[[ $status == [03] ]] || fail "the honest drive got $status without a log"
expect_equal classes "$(broken_classes)" ""

# The network is back: the run goes on above everything that may be there.
start_proxy
run writer --target "$SIM_URI" --erase "$SIM_URI" --run "$ID" --count 300 \
	--collector "unix:$PROXY"
expect_status 0
verify_sim
expect_status 3
