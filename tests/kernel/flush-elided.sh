#!/bin/bash
# SPDX-License-Identifier: MIT
# An honest drive that the kernel sends no FLUSH to must never be convicted
# (P9): neither where nothing was to be flushed but the fill and the labels, nor
# where the queue is switched to "write through" in mid-run.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse

queue_says() { # TEXT
	echo "$1" >"/sys/block/${LOOP#/dev/}/queue/write_cache"
}

cut_and_judge() { # WHAT
	power cut
	drive_detach
	power restore
	drive_attach
	verify_on "$LOOP"
	echo "table: $1: exit $status $(broken_classes)"
	drive_detach
	drive_stop
}

# In mid-run: no flush stands behind what was acknowledged since.
start_simdrive drive --size 18m --drain-ms 600000 --seed 1
drive_attach
write_on "$LOOP" --sync flush:16 --block-size 16k
under_load 300
queue_says 'write through'
end_of_writer
expect_status 2
grep -q 'has stopped sending flushes' "$TMP/writer.err" ||
	fail "the writer does not say why it stopped: $(cat "$TMP/writer.err")"
power cut
cut_and_judge "FLUSH elided from mid-run on"
[[ $status != 1 ]] || fail "an honest drive that got no FLUSH is convicted"

# From the start, and nothing promised: either the writer refuses, or the fill
# that was never flushed is no promise.
rm -f "$TMP"/drive.* "$ACKLOG"
start_simdrive drive --size 18m --drain-ms 600000 --seed 1
drive_attach
queue_says 'write through'
run_apart 60 writer --target "$LOOP" --erase "$LOOP" --acklog "$ACKLOG" \
	--sync none --count 300 --block-size 16k
if [[ $status != 0 ]]; then
	expect_status 2
	expect_err "no flush would reach $LOOP"
	drive_detach
	exit 0
fi
cut_and_judge "FLUSH elided from the start, nothing promised"
[[ $status != 1 ]] || fail "a fill that was never flushed convicts"
exit 0
