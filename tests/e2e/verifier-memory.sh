#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory is bounded (design 10: 64 MiB), whatever the size of the region, the
# length of the log, the block and the number of threads. The region of 2^40
# bytes is mostly holes, and is read only until all memory is in use.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"
requires jq "${CC:-cc}" truncate

LIMIT_KIB=65536
DRIVE=$TMP/drive.img
symbols=$(nm "$BIN/libcommon.a" 2>/dev/null)
# A sanitizer's own memory is not ours.
[[ $symbols == *__asan_* ]] && LIMIT_KIB=1048576

# write_region SIZE BLOCK STREAMS
write_region() {
	rm -f "$DRIVE" "$ACKLOG"
	truncate -s "$1" "$DRIVE" || skip "no file of $1 bytes fits here"
	run writer --target "$DRIVE" --acklog "$ACKLOG" --no-fill --seed 7 \
		--block-size "$2" --streams "$3" --queue-depth 4 --count 100
	expect_status 0
}

# long_log CYCLES COUNT HOLE: $LONG, of the same run.
long_log() {
	LONG=$TMP/long.acklog
	rm -f "$LONG"
	"$TMP/longlog" "$ACKLOG" "$LONG" "$@" >"$TMP/out" ||
		fail "cannot make a long log"
}

# peak: KiB, of the verifier that runs as $VERIFIER_PID; 0: it has ended.
peak() {
	local kib
	kib=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$VERIFIER_PID/status")
	echo "${kib:-0}"
}

# Hundredths of a second, of all its threads.
worked() {
	local fields
	read -ra fields <"/proc/$VERIFIER_PID/stat"
	echo $((fields[13] + fields[14]))
}

has_worked() { # HUNDREDTHS
	(($(worked) >= $1))
}

has_threads() { # COUNT
	(($(awk '$1 == "Threads:" { print $2 }' \
		"/proc/$VERIFIER_PID/status") > $1))
}

# read_a_part LOG THREADS: the peak in $kib, when it has read for a while.
read_a_part() {
	"$BIN/plugpull-verifier" --target "$DRIVE" --acklog "$1" \
		--threads "$2" >"$TMP/out" 2>"$TMP/err" </dev/null &
	VERIFIER_PID=$!
	lib_pids+=("$VERIFIER_PID")
	wait_until 60 has_threads $(($2 < 4 ? $2 : 4))
	wait_until 60 has_worked $(($(worked) + 40))
	kib=$(peak)
	((kib > 1000)) || fail "the verifier has ended: $(cat "$TMP/err")"
	kill "$VERIFIER_PID"
	wait "$VERIFIER_PID"
}

bounded() { # WHAT
	((kib <= LIMIT_KIB)) || fail "$1: $kib KiB, $LIMIT_KIB are the limit"
	echo "table: $1: $((kib / 1024)) MiB"
}

rig_compile longlog "$BIN/libcommon.a" -lcrypto

for block in 512 4m; do
	write_region 1t "$block" $([[ $block == 512 ]] && echo 64 || echo 1)
	long_log 10 400000 3
	for threads in 1 16; do
		read_a_part "$LONG" "$threads"
		bounded "2^40 bytes, block $block, $threads threads"
	done
done

# All of a small region, with a log that tells of more than it can hold.
write_region 18m 4k 2
long_log 20 100000 2
run verifier --target "$DRIVE" --acklog "$LONG" --json "$TMP/verdict.json"
expect_status 1
expect_equal durable "$(json "$TMP/verdict.json" .durable_log)" 131072
[[ $(json "$TMP/verdict.json" .forgotten) -gt 1000000 ]] ||
	fail "all ranges of the log were kept"
