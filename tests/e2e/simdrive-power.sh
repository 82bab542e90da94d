#!/bin/bash
# SPDX-License-Identifier: MIT
# The simulated drive keeps what was flushed and loses what was not; a cut drops
# its connections in the middle of their requests; a switch-off in good order
# loses nothing.
. "${0%/*}/lib.sh"
requires nbdkit nbdcopy cmp

MiB=$((1024 * 1024))
BYTES=$((4 * MiB))

read_back() {
	nbdcopy "$SIM_URI" "$TMP/back" 2>"$TMP/err" || fail "cannot read it"
}

# 4 KiB blocks that differ between $TMP/back and FILE.
blocks_unlike() {
	cmp -l -n "$BYTES" "$TMP/back" "$1" |
		awk '{ b[int(($1 - 1) / 4096)] = 1 }
			END { for (i in b) n++; print n + 0 }'
}

switch() {
	run simdrive "$1" --control "$SIM_CONTROL"
	expect_status 0
	expect_out '^ok$'
}

nbdcopy_has_ended() {
	lib_has_ended "$COPY_PID"
}

head -c "$BYTES" /dev/urandom >"$TMP/first"
head -c "$BYTES" /dev/urandom >"$TMP/second"
start_simdrive drive --drain-ms 600000 --seed 5 --serial ABC

nbdinfo "$SIM_URI" >"$TMP/out" 2>"$TMP/err" || fail "cannot ask it"
expect_out 'description: plugpull-simdrive ABC$'
expect_out 'export-size: 67108864 '
expect_out 'block_size_minimum: 4096$'
expect_out 'can_fua: true$'

# What was flushed is kept.
nbdcopy --flush "$TMP/first" "$SIM_URI" || fail "cannot write"
expect_equal "dirty_bytes" "$(sim_counter dirty_bytes)" 0
switch cut
run simdrive status --control "$SIM_CONTROL"
expect_out '^ok state=off dirty_bytes=0 writes=[1-9].* cuts=1$'
[[ -e $SIM_SOCKET ]] && fail "the socket is still there without power"
nbdcopy "$SIM_URI" "$TMP/back" 2>/dev/null && fail "it reads without power"
switch cut
switch restore
switch restore
run simdrive status --control "$SIM_CONTROL"
expect_out '^ok state=on .* cuts=1$'
read_back
expect_equal "what a cut changed of flushed data" \
	"$(blocks_unlike "$TMP/first")" 0

# What was not flushed is lost, but for the one write that was being drained.
nbdcopy --request-size=65536 "$TMP/second" "$SIM_URI" || fail "cannot write"
expect_equal "dirty_bytes" "$(sim_counter dirty_bytes)" "$BYTES"
read_back
expect_equal "what a read does not see of the cache" \
	"$(blocks_unlike "$TMP/second")" 0
switch cut
switch restore
read_back
[[ $(blocks_unlike "$TMP/first") -le 16 ]] || fail "unflushed data survived"

# A cut drops connections in mid-request.
head -c $((64 * MiB)) /dev/urandom >"$TMP/large"
before=$(sim_counter writes)
(while nbdcopy --request-size=4096 "$TMP/large" "$SIM_URI"; do :; done) \
	>/dev/null 2>"$TMP/copy.err" &
COPY_PID=$!
lib_pids+=("$COPY_PID")
wait_until 20 lib_counter_reached writes $((before + 2000))
switch cut
wait_until 20 nbdcopy_has_ended
switch restore

# Switched off in good order it drains its cache and leaves nothing lying about.
nbdcopy "$TMP/second" "$SIM_URI" || fail "cannot write"
[[ $(sim_counter dirty_bytes) -gt 0 ]] || fail "the cache is empty"
kill "$SIM_PID"
wait_until 20 lib_has_ended "$SIM_PID"
cmp -n "$BYTES" "$TMP/second" "$SIM_MEDIA" || fail "the cache was not drained"
for left in "$SIM_SOCKET" "$SIM_CONTROL" "$SIM_MEDIA.state"; do
	[[ -e $left ]] && fail "$left was left behind"
done
exit 0
