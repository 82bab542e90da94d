#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: a run is gone on with by a log that is not the whole one: an old copy, or
# one that was cut off. The numbers behind its end are on the drive already; to
# give them out again would make an honest drive look guilty. The writer refuses
# where the drive tells, and the verifier never convicts.
. "${0%/*}/lib.sh"
requires jq

DRIVE=$TMP/drive.img
LOG=$TMP/run.acklog

write() {
	run writer --target "$DRIVE" --acklog "$LOG" --block-size 8k --seed 7 \
		--erase "$DRIVE" "$@"
}

truncate -s 6m "$DRIVE" # 512 slots
write --count 3000
expect_status 0
ID=$(sed -n 's/^run //p' "$TMP/out")
cp "$LOG" "$TMP/after-one" # the old copy
cp "$DRIVE" "$TMP/then-one"
write --count 4000 --sync flush:16
expect_status 0
cp "$LOG" "$TMP/whole"
cp "$DRIVE" "$TMP/then"

# go_on LOG MEDIA: a writer goes on by that log until it is killed, if it does
# at all; $is_refused tells.
go_on() {
	cp "$1" "$LOG"
	dd if="$2" of="$DRIVE" bs=1M conv=notrunc status=none
	rm -f "$TMP/out"
	"$BIN/plugpull-writer" --target "$DRIVE" --acklog "$LOG" \
		>"$TMP/out" 2>"$TMP/err" </dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	is_refused=no
	wait_until 20 writes_or_ended
	if lib_has_ended "$WRITER_PID" 2>/dev/null; then
		is_refused=yes
		status=0
		wait "$WRITER_PID" || status=$?
		expect_status 2
		expect_err '^plugpull-writer: cannot resume: .* holds write [0-9]+ of stream 0, the log ends at [0-9]+: it is not the whole log$'
		expect_err '^plugpull-writer: hint: take the whole log'
		cmp -s "$2" "$DRIVE" || fail "it was written to"
		return
	fi
	kill -9 "$WRITER_PID"
	{ wait "$WRITER_PID"; } 2>/dev/null
}

writes_or_ended() {
	grep -q writing "$TMP/out" || lib_has_ended "$WRITER_PID" 2>/dev/null
}

judge() {
	run verifier --target "$DRIVE" --acklog "$LOG" --json "$TMP/v.json"
	[[ $status == [023] ]] ||
		fail "the honest drive is convicted: $(json "$TMP/v.json" .reason)"
}

go_on "$TMP/after-one" "$TMP/then"
expect_equal "an old copy is refused" "$is_refused" yes
judge
expect_status 2

mapfile -t AT < <(LC_ALL=C grep -abo PPL1 "$TMP/whole" | cut -d: -f1)
BEGIN=$(stat -c %s "$TMP/after-one")
SIZE=$(stat -c %s "$TMP/whole")
tried=0 refused=0
for ((i = 0; i < ${#AT[@]}; i++)); do
	((AT[i] > BEGIN)) || continue
	((tried++ < 3 || tried % 12 == 0)) || continue
	head -c "${AT[i]}" "$TMP/whole" >"$TMP/short"
	go_on "$TMP/short" "$TMP/then"
	[[ $is_refused == no ]] || ((++refused))
	judge
done
((refused > 0)) || fail "none of $tried was refused"

# Where the drive did not tell when the writer asked, it tells the verifier: one
# half of it holds what the lost end of the log spoke of, under the same numbers.
for ((i = 0; AT[i] <= BEGIN; i++)); do :; done
head -c "${AT[i]}" "$TMP/whole" >"$TMP/short"
go_on "$TMP/short" "$TMP/then-one"
expect_equal "refused" "$is_refused" no
dd if="$TMP/then" of="$DRIVE" bs=1M skip=1 seek=1 count=2 conv=notrunc \
	status=none
judge
expect_status 2
expect_out 'cannot have been issued there'
expect_out '^hint: take the whole log'

# Cut off so little that no number is given out twice: that is a torn tail, and
# the run goes on.
head -c $((SIZE - 3)) "$TMP/whole" >"$TMP/short"
go_on "$TMP/short" "$TMP/then"
expect_equal "a torn tail is refused" "$is_refused" no
judge
expect_status 3

# A collector that was given an old copy back.
start_collector
cp "$TMP/after-one" "$ACKDIR/$ID.acklog"
dd if="$TMP/then" of="$DRIVE" bs=1M conv=notrunc status=none
run writer --target "$DRIVE" --collector "$COLLECTOR" --run "$ID" --count 1
expect_status 2
expect_err 'it is not the whole log'
cmp -s "$TMP/then" "$DRIVE" || fail "it was written to"
