#!/bin/bash
# SPDX-License-Identifier: MIT
# P9, P10: a damaged log, the log of another run, another or a shrunk drive, a
# lost rig: no verdict, and the reason is named. Trouble neither convicts nor
# acquits.
. "${0%/*}/lib.sh"
requires jq

DRIVE=$TMP/drive.img
LOG=$TMP/run.acklog

make_run() { # DRIVE LOG
	truncate -s 10m "$1"
	run writer --target "$1" --acklog "$2" --count 3000 --block-size 8k \
		--seed 7 --erase "$1"
	expect_status 0
}

judge() { # LOG
	run verifier --target "$DRIVE" --acklog "$1" --json "$TMP/v.json"
}

no_verdict() { # REASON
	expect_status 2
	expect_err "$1"
	expect_out '^verdict: no verdict: '
	expect_equal verdict "$(json "$TMP/v.json" .verdict)" none
}

make_run "$DRIVE" "$LOG"
size=$(stat -c %s "$LOG")

# Cut off at the end: told, and the media proof fills in what is missing.
head -c $((size - 5)) "$LOG" >"$TMP/torn"
judge "$TMP/torn"
expect_status 3
expect_out '^note: the log ends in an unfinished record of [0-9]+ bytes$'

# Much cut off: writes beyond what the log reserved cannot be explained, or the
# media proves them promised. It must never convict.
for part in 4 2; do
	head -c $((size / part)) "$LOG" >"$TMP/short"
	judge "$TMP/short"
	[[ $status == 2 || $status == 3 ]] || fail "a short log gave $status"
done

# A flipped bit before the tail.
for at in 40 $((size / 3)); do
	cp "$LOG" "$TMP/flipped"
	byte=$(od -An -tu1 -j "$at" -N 1 "$LOG")
	printf "\\x$(printf %x $((byte ^ 1)))" |
		dd of="$TMP/flipped" bs=1 seek="$at" conv=notrunc status=none
	judge "$TMP/flipped"
	no_verdict 'flipped'
done

# Bytes taken out of the middle.
{ head -c $((size / 3)) "$LOG"; tail -c $((size / 3)) "$LOG"; } >"$TMP/spliced"
judge "$TMP/spliced"
no_verdict 'spliced'

: >"$TMP/empty"
judge "$TMP/empty"
no_verdict 'empty'

# The log of another run on another file: both are named.
make_run "$TMP/other.img" "$TMP/other.acklog"
judge "$TMP/other.acklog"
no_verdict 'wrong drive: run [0-9a-f]{32} was written to file:.* is file:'

# The drive has been given a new run since; the old log is of no use.
cp "$LOG" "$TMP/first.acklog"
rm "$LOG"
make_run "$DRIVE" "$LOG"
judge "$TMP/first.acklog"
no_verdict 'the log is of run [0-9a-f]{32}, but the label on .* is of run [0-9a-f]{32}'

# A log that ends before a later cycle.
cp "$LOG" "$TMP/one-cycle"
run writer --target "$DRIVE" --acklog "$LOG" --count 3000 --block-size 8k \
	--seed 7 --erase "$DRIVE"
expect_status 0
judge "$TMP/one-cycle"
expect_status 2
expect_out '^verdict: no verdict: byte [0-9]+ holds write [0-9]+ of stream 0, which cannot have been issued there'

truncate -s 9m "$DRIVE"
judge "$LOG"
no_verdict 'has shrunk to 9437184 bytes'

rm "$DRIVE"
judge "$LOG"
no_verdict 'cannot open'
[[ $(json "$TMP/v.json" .run) =~ ^[0-9a-f]{32}$ ]] || fail "the run is not told"

# Nothing on the drive and no log.
truncate -s 10m "$DRIVE"
run verifier --target "$DRIVE" --json "$TMP/v.json"
no_verdict 'no label can be read'
