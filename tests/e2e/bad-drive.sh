#!/bin/bash
# SPDX-License-Identifier: MIT
# P9, P10: another drive under the same socket, the drive of another run, one
# that has shrunk or has other logical blocks, or holds nothing: no verdict and
# no write, each with its reason and the next step. Then the right drive is
# back, and is acquitted.
. "${0%/*}/lib.sh"
requires nbdkit jq

start_collector

power_on() { # OPTIONS...: the drive "slot", whatever is put into it
	start_simdrive slot "$@"
}

power_off() { # in good order
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
}

put() { # NAME: this media into the slot
	rm -f "$TMP/slot.media"
	cp --sparse=always "$TMP/$1" "$TMP/slot.media"
}

no_verdict() { # REASON
	verify_sim
	expect_status 2
	expect_err "^plugpull-verifier: .*$1"
	expect_err '^plugpull-verifier: hint: '
	expect_out "^verdict: no verdict: .*$1"
	expect_equal verdict "$(json "$TMP/verdict.json" .verdict)" none
	expect_equal findings "$(json "$TMP/verdict.json" .findings_total)" 0
}

# The run is not gone on with, by neither way, and nothing is written.
not_resumed() { # REASON
	local before log=$ACKDIR/$ID.acklog size
	before=$(sim_counter writes)
	size=$(stat -c %s "$log")
	run writer --target "$SIM_URI" --erase "$SIM_URI" --count 1 \
		--collector "$COLLECTOR" --run "$ID"
	expect_status 2
	expect_err "^plugpull-writer: .*$1"
	expect_err '^plugpull-writer: hint: '
	expect_equal "writes to it" "$(sim_counter writes)" "$before"
	expect_equal "size of the log" "$(stat -c %s "$log")" "$size"
}

# One run on the drive with serial number ONE; its log is the collector's.
power_on --size 18m --serial ONE --seed 5
start_writer --collector "$COLLECTOR" --sync flush:8 --block-size 16k
ID=$(sed -n 's/^run //p' "$TMP/writer.out")
wait_until 60 lib_counter_reached writes 900
"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
end_of_writer
expect_equal "exit status of the writer" "$status" 2
"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
ACKLOG=$ACKDIR/$ID.acklog
verify_sim
[[ $status == [03] ]] || fail "the honest drive got $status"
power_off
cp --sparse=always "$TMP/slot.media" "$TMP/one.media"

# Swapped: another serial number under the same socket, even with a copy of
# everything that the first one held.
power_on --size 18m --serial TWO
no_verdict 'wrong drive: run [0-9a-f]{32} was written to .* ONE, but .* is .* TWO'
not_resumed 'is the wrong drive: it is .* TWO.*, the run was begun on .* ONE'
power_off

# The same drive, used for another run since.
put one.media
power_on --size 18m --serial ONE
run writer --target "$SIM_URI" --erase "$SIM_URI" --acklog "$TMP/later" \
	--count 500
expect_status 0
LATER=$(sed -n 's/^run //p' "$TMP/out")
no_verdict "the log is of run $ID, but the label on .* is of run $LATER"
not_resumed 'it has the label of another run'
power_off

# Shrunk: its last label is gone with its end.
put one.media
truncate -s 17m "$TMP/slot.media"
power_on --size 17m --serial ONE
no_verdict 'has shrunk to 17825792 bytes'
not_resumed 'has 17825792 bytes, the run.s region ends at 18874368'
power_off

# The same, for a file that shrank to less than a label.
run writer --target "$TMP/file" --size 8m --acklog "$TMP/file.acklog" \
	--count 500
expect_status 0
truncate -s 1024 "$TMP/file"
run verifier --target "$TMP/file" --acklog "$TMP/file.acklog"
expect_status 2
expect_err 'has shrunk to 1024 bytes'
expect_err 'hint: '
run verifier --target "$TMP/file"
expect_status 2
expect_err 'no label can be read on '
expect_err 'hint: '

# Blocks of another size: what was atomic is not.
put one.media
power_on --size 18m --serial ONE --logical-block 512
not_resumed 'has logical blocks of 512 bytes now, and had 4096'
power_off

# Nothing but holes and the right serial number: that is the drive's doing, and
# not in doubt; without a log nothing is known.
truncate -s 18m "$TMP/empty.media"
put empty.media
power_on --size 18m --serial ONE
verify_sim
expect_status 1
expect_equal classes "$(broken_classes)" blank
run verifier --target "$SIM_URI" --json "$TMP/verdict.json"
expect_status 2
expect_err 'no label can be read on .*, and there is no log'
expect_err 'hint: .*--acklog'
power_off

# The right one again.
put one.media
power_on --size 18m --serial ONE
verify_sim
[[ $status == [03] ]] || fail "the right drive got $status"
run writer --target "$SIM_URI" --erase "$SIM_URI" --count 100 \
	--collector "$COLLECTOR" --run "$ID"
expect_status 0
verify_sim
expect_status 3
