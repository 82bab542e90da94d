#!/bin/bash
# SPDX-License-Identifier: MIT
# The trace of the simulated drive is its true history: under the real writer,
# through nbdkit, replaying it gives the media file byte by byte after every cut
# and after the switch-off, and it counts what the drive counts.
. "${0%/*}/lib.sh"
requires nbdkit nbdcopy cmp
REPLAY=$BIN/tests/unit/test_trace
[[ -x $REPLAY ]] || skip "needs $REPLAY (make units)"

# Compares the trace so far with the media; the counts are in $TMP/counts.
expect_replay() {
	PLUGPULL_TRACE=$TMP/trace PLUGPULL_MEDIA=$SIM_MEDIA \
		"$REPLAY" >"$TMP/counts" 2>"$TMP/err" ||
		fail "the trace does not give the media"
}

told() { # TYPE: how many events of it
	tr ' ' '\n' <"$TMP/counts" | sed -n "s/^$1=//p"
}

at_least() { # WHAT TYPE MINIMUM
	[[ $(told "$2") -ge $3 ]] ||
		fail "$(told "$2") $1 told, expected $3 at least"
}

switch() {
	run simdrive "$1" --control "$SIM_CONTROL"
	expect_status 0
}

# one_life SYNC: the writer under load, and a cut.
one_life() {
	local before

	rm -f "$ACKLOG"
	start_writer --acklog "$ACKLOG" --sync "$1" --block-size 16k \
		--queue-depth 32 --seed 3
	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + 300))
	switch cut
	end_of_writer
	expect_replay
}

stop() {
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
	expect_replay
}

# history FAULT SYNC OPTIONS...: three lives, the last ends in good order.
history() {
	rm -f "$TMP"/drive.* "$TMP/trace"
	start_simdrive drive --size 18m --fault "$1" --seed 9 \
		--trace "$TMP/trace" "${@:3}"
	for life in 1 2; do
		one_life "$2"
		expect_equal "cuts told" "$(told 8)" "$life"
		expect_equal "answered writes told" "$(told 3)" \
			"$(sim_counter writes)"
		expect_equal "answered flushes told" "$(told 5)" \
			"$(sim_counter flushes)"
		switch restore
	done
	nbdcopy "$SIM_URI" "$TMP/back" 2>/dev/null
	stop
	expect_equal "stops told" "$(told 12)" 1
	at_least writes 2 600
}

history none flush:16
at_least drains 6 500
expect_equal "damages told" "$(told 7)" 0
expect_equal "wrong reads told" "$(told 11)" 0
# Blocks of 512 bytes that leave a small cache in any order.
history none none --logical-block 512 --drain-order random --cache 1m
at_least drains 6 500
# Media that are served anew go on where the trace ended.
start_simdrive drive --size 18m --fault blanks --seed 9 --trace "$TMP/trace"
expect_equal "kept of the trace" "$(head -c 4 "$TMP/trace")" PPTR
one_life flush:16
expect_equal "cuts told" "$(told 8)" 3
at_least damages 7 1
kill "$SIM_PID"
wait_until 20 lib_has_ended "$SIM_PID"

history tears-in-flight fua
at_least damages 7 1
history stale-after-restore flush:16
at_least scars 10 2
at_least "wrong reads" 11 1

# What is no trace is left alone.
echo "a letter" >"$TMP/letter"
cp "$TMP/letter" "$TMP/copy"
for file in "$TMP/letter" /dev/null "$TMP"; do
	run simdrive serve --socket "$TMP/x.sock" --media "$TMP/x.media" \
		--control "$TMP/x.control" --size 8m --trace "$file"
	expect_status 2
	expect_err '^plugpull-simdrive: (cannot open )?trace '
done
cmp "$TMP/letter" "$TMP/copy" || fail "the letter was changed"

# A trace that can grow no more ends the drive, and all its events are whole.
rm -f "$TMP"/drive.* "$TMP/trace"
trap '' XFSZ
ulimit -S -f 16384 # KiB
start_simdrive drive --size 8m --drain-ms 600000 --trace "$TMP/trace"
head -c 8M /dev/urandom >"$TMP/data"
for _ in 1 2 3; do
	nbdcopy "$TMP/data" "$SIM_URI" 2>/dev/null
done
wait_until 20 lib_has_ended "$SIM_PID"
status=0
wait "$SIM_PID" || status=$?
expect_status 2
cp "$TMP/drive.err" "$TMP/err"
expect_err 'cannot append to trace .*: File too large'
expect_err '^plugpull-simdrive: the drive has ended by itself'
expect_replay
exit 0
