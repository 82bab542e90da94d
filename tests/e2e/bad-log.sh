#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: whatever is wrong with the log (cut off anywhere, bits flipped, frames
# left out, repeated, exchanged, or taken from another copy or run), an honest
# drive is not convicted; damage is named with its place and the next step; and
# no program adds to a log that it cannot believe.
. "${0%/*}/lib.sh"
requires nbdkit jq

LOG=$TMP/bad.acklog
start_simdrive drive --size 18m --seed 3
one_cut 400 --sync flush:4 --block-size 16k --seed 3
[[ $status == [03] ]] || fail "the honest drive got $status"
GOOD=$TMP/good.acklog
cp "$ACKLOG" "$GOOD"
SIZE=$(stat -c %s "$GOOD")

# The same run goes on in two copies of its log.
cp "$GOOD" "$TMP/other-copy"
ACKLOG=$TMP/other-copy one_cut 200 --sync flush:4
[[ $status == [03] ]] || fail "the second cycle got $status"
cp "$TMP/other-copy" "$TMP/both-cycles"

borders() { # FILE: where each frame begins, and the end
	LC_ALL=C grep -abo PPL1 "$1" | cut -d: -f1
	stat -c %s "$1"
}

# frames FILE FROM TO: frames FROM ... TO - 1 of it.
frames() {
	local at
	mapfile -t at < <(borders "$1")
	tail -c +$((at[$2] + 1)) "$1" | head -c $((at[$3] - at[$2]))
}

judge() {
	run verifier --target "$SIM_URI" --acklog "$LOG" \
		--read-timeout 2s --json "$TMP/verdict.json"
}

no_verdict() { # REASON
	expect_status 2
	expect_err "$1"
	expect_err '^plugpull-verifier: hint: '
	expect_out '^verdict: no verdict: '
	expect_equal verdict "$(json "$TMP/verdict.json" .verdict)" none
	expect_equal findings "$(json "$TMP/verdict.json" .findings_total)" 0
}

# Neither the writer nor the collector changes what it cannot believe.
not_continued() {
	local before
	before=$(sha256sum <"$LOG")
	run writer --target "$SIM_URI" --acklog "$LOG" --count 1
	expect_status 2
	expect_err 'bad.acklog'
	expect_err 'hint: '
	expect_equal "the log" "$(sha256sum <"$LOG")" "$before"
}

mapfile -t AT < <(borders "$TMP/both-cycles")
FRAMES=$((${#AT[@]} - 1))
((FRAMES > 20)) || fail "only $FRAMES frames to play with"

# Cut off at a border and in the middle of a frame, in either cycle. What the
# drive itself proves may still acquit it; nothing convicts it.
for ((i = 0; i < FRAMES; i += 1 + FRAMES / 9)); do
	head -c "${AT[i]}" "$TMP/both-cycles" >"$LOG"
	judge
	[[ $status == [023] ]] || fail "cut off at frame $i gives $status"
	[[ $status != 2 ]] || grep -q 'hint: ' "$TMP/out" "$TMP/err" ||
		fail "no next step for a log cut off at frame $i"
	head -c $(((AT[i] + AT[i + 1]) / 2)) "$TMP/both-cycles" >"$LOG"
	judge
	[[ $status == [023] ]] || fail "cut off in frame $i gives $status"
	((i == 0)) ||
		expect_out '^note: the log ends in an unfinished record'
done
head -c 20 "$GOOD" >"$LOG"
judge
no_verdict 'not one whole record'
not_continued

# A flipped bit, in many places: headers, payloads, lengths. In the last frame
# it cannot be told from a torn tail; that is said.
frames "$TMP/both-cycles" 0 $((FRAMES - 1)) >"$TMP/front"
FRONT=$(stat -c %s "$TMP/front")
flip() { # AT BIT
	local byte
	cp "$TMP/both-cycles" "$LOG"
	byte=$(od -An -tu1 -j "$1" -N 1 "$LOG")
	# shellcheck disable=SC2059
	printf "\\x$(printf %x $((byte ^ 1 << $2)))" |
		dd of="$LOG" bs=1 seek="$1" conv=notrunc status=none
}
for ((i = 0; i < 28; i++)); do
	flip $((i * (FRONT - 1) / 27)) $((i % 8))
	judge
	no_verdict 'bad.acklog: frame [0-9]+ at byte [0-9]+: .*; no verdict'
done
not_continued
for ((i = 0; i < 4; i++)); do # magic, length, checksum of the fourth frame
	flip $((AT[3] + i * 9)) 0
	judge
	no_verdict "bad.acklog: frame 3 at byte ${AT[3]}: "
done
flip $((FRONT + 40)) 3
judge
[[ $status == [023] ]] || fail "a flip in the last frame gives $status"
expect_out '^note: the log ends in an unfinished record'

# Spliced: a frame left out, repeated, two exchanged, an end put on another
# beginning, two logs one behind the other.
splice() { # REASON FRAMES-OF...: "FILE FROM TO" each
	local reason=$1 part
	shift
	: >"$LOG"
	for part; do
		# shellcheck disable=SC2086
		frames $part >>"$LOG"
	done
	judge
	no_verdict "$reason"
	not_continued
}
A=$TMP/both-cycles
splice 'spliced' "$A 0 5" "$A 6 $FRAMES"
splice 'spliced' "$A 0 6" "$A 5 $FRAMES"
splice 'spliced' "$A 0 5" "$A 6 7" "$A 5 6" "$A 7 $FRAMES"
splice 'spliced' "$A 1 $FRAMES"
splice 'spliced' "$A 0 $FRAMES" "$A 0 $FRAMES"

# Two copies of one log that went on apart, put together again.
N=$(borders "$GOOD" | wc -l)
cp "$GOOD" "$TMP/third-copy"
run collector --new-key "$TMP/key" # the drive is not needed to go on apart
mkdir "$TMP/acks"
ID=$(sed -n 's/^run //p' "$TMP/writer.out")
cp "$GOOD" "$TMP/acks/$ID.acklog"
start_collector
for i in 1 2 3 4; do
	run collector --send note --run "$ID" --connect "$COLLECTOR" --text "$i"
	expect_status 0
done
C=$TMP/acks/$ID.acklog
splice 'spliced' "$A 0 $((N + 1))" "$C $((N + 1)) $((N + 3))"
splice 'spliced' "$C 0 $((N + 1))" "$A $((N + 1)) $FRAMES"

# Frames of another run: the chain gives them away.
run writer --target "$TMP/other.img" --size 8m --acklog "$TMP/other" \
	--count 2000 --sync flush:4 --seed 3
expect_status 0
splice 'spliced' "$A 0 7" "$TMP/other 1 3"
splice 'spliced' "$TMP/other 0 4" "$A 4 $FRAMES"

# The undamaged log is believed, and the drive acquitted, after all that.
cp "$A" "$LOG"
judge
[[ $status == [03] ]] || fail "the whole log got $status"
[[ $(stat -c %s "$GOOD") == "$SIZE" ]] || fail "the good log has changed"
