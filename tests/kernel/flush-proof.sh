#!/bin/bash
# SPDX-License-Identifier: MIT
# Flushes that do not reach the driver of the drive are found out by the counts
# of the driver itself: before anything is written, and in mid-run. Who accepts
# that gets a run, and no verdict about an honest drive (P9); and an honest way
# is shown to be one.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse mkfs.ext4 mount

MNT=$TMP/mnt
mkdir "$MNT"
UNSENT='the flushes did not reach the drive'

queue_says() { # TEXT
	echo "$1" >"/sys/block/${LOOP#/dev/}/queue/write_cache"
}

proof() { # JQ FILTER: of the last writer's flush_proof
	jq -r ".flush_proof | $1" "$TMP/writer.json"
}

write_some() { # TARGET OPTIONS...
	local target=$1
	shift
	rm -f "$TMP/writer.json"
	run_apart 60 writer --target "$target" --erase "$target" \
		--acklog "$ACKLOG" --json "$TMP/writer.json" "$@"
}

# No verdict, and not a word against the drive.
expect_unsent() { # TARGET REGEX
	verify_on "$1"
	expect_status 2
	jq -re .reason "$TMP/verdict.json" | grep -q "$UNSENT" ||
		fail "the verifier does not say why: $(
			jq -r .reason "$TMP/verdict.json")"
	jq -re .unsent "$TMP/verdict.json" | grep -Eq "$2" ||
		fail "the culprit is not named: $(
			jq -r .unsent "$TMP/verdict.json")"
}

# ---- an honest way: each flush is counted, by each of the layers
start_simdrive drive --size 64m --drain-ms 600000 --seed 1
drive_attach
write_some "$LOOP" --sync flush:1 --queue-depth 1 --count 500
expect_status 0
expect_equal 'the answer' "$(proof .would_reach)" unknown # below FUSE
expect_equal 'flushes elided' "$(proof .elided)" 0
[[ $(proof .asked) -ge 500 ]] || fail "only $(proof .asked) flushes"
[[ $(proof ".layers[] | select(.name == \"${LOOP#/dev/}\") | .completed") \
	-ge $(proof .asked) ]] || fail "fewer were counted than asked"
expect_out '^flush proof: asked [0-9]+; completed by the driver: .*; elided 0$'
verify_on "$LOOP"
jq -re .flush_proof "$TMP/verdict.json" | grep -q '^flush proof: asked 5' ||
	fail "the verifier does not tell what the log says of the flushes"

# ---- and so is it in the kernel's own record; nothing of that is left
write_some "$LOOP" --sync flush:4 --count 500 --trace
expect_status 0
[[ $(jq .trace.flushes_completed "$TMP/writer.json") -gt 10 ]] ||
	fail "the trace has no flushes: $(jq -c .trace "$TMP/writer.json")"
[[ $(jq .trace.flushes_issued "$TMP/writer.json") -ge \
	$(jq .trace.flushes_completed "$TMP/writer.json") ]] ||
	fail "more were completed than issued"
expect_equal 'flushes that failed' \
	"$(jq .trace.flushes_failed "$TMP/writer.json")" 0
expect_equal 'lost events' "$(jq .trace.lost_events "$TMP/writer.json")" 0

tracefs=$TMP/tracefs
mkdir "$tracefs"
mount -t tracefs none "$tracefs" || fail "cannot mount tracefs"
at_end 'umount "$tracefs"'
has_instance() {
	[[ -d $tracefs/instances/plugpull-$WRITER_PID ]]
}
has_none() {
	! has_instance
}
write_on "$LOOP" --sync flush:4 --trace
has_instance || fail "no instance of its own"
kill "$WRITER_PID"
end_of_writer
has_none || fail "an instance is left behind SIGTERM"
write_on "$LOOP" --sync flush:4 --trace
killed=$WRITER_PID
{
	kill -9 "$WRITER_PID"
	end_of_writer
} 2>/dev/null
has_instance || fail "the instance went away with a killed writer"
write_some "$LOOP" --sync flush:4 --count 100 --trace
expect_status 0
WRITER_PID=$killed
has_none || fail "the next writer left a dead one's instance"
umount "$tracefs"

# ---- a library that makes fsync() do nothing does not reach the writer
if command -v eatmydata >/dev/null; then
	rm -f "$ACKLOG"
	LD_PRELOAD=libeatmydata.so ASAN_OPTIONS=verify_asan_link_order=0 \
		write_on "$LOOP" --sync flush:1 --queue-depth 1 --size 8m
	grep -q libeatmydata "/proc/$WRITER_PID/maps" ||
		fail "the writer runs without eatmydata"
	under_acks 5000
	power cut
	writer_loses_drive
	expect_equal 'flushes elided' "$(proof .elided)" 0
	drive_detach
	power restore
	drive_attach
	verify_on "$LOOP"
	expect_kept
fi

# ---- a queue that says "write through" over a drive nobody can ask
queue_says 'write through'
write_some "$LOOP" --sync flush:16 --count 100
expect_status 2
expect_err "no flush would reach $LOOP: .*${LOOP#/dev/} .*completes flushes"
run writer --probe --target "$LOOP" --json "$TMP/probe.json"
expect_status 2
expect_out '^a test would be refused$'
expect_equal 'the answer' "$(jq -r .flush_would_reach "$TMP/probe.json")" no
queue_says 'write back'
rm -f "$ACKLOG" # of a run whose labels were flushed
write_some "$LOOP" --size 8m --count 100
expect_status 0
queue_says 'write through'
write_on "$LOOP" --sync flush:16 --accept-elided-flush
under_load 300
power cut
writer_loses_drive
expect_equal 'of flushes' "$(proof '.unsent | startswith("accepted: ")')" true
drive_detach
power restore
drive_attach
expect_unsent "$LOOP" "^accepted: .*${LOOP#/dev/}"
[[ $(jq .lost.writes "$TMP/verdict.json") -gt 0 ]] ||
	fail "no counts are told beside it"
# P9: nor do the drive's own records convict it, whether the labels that were
# marked outlived the cut or not.
run verifier --target "$LOOP"
[[ $status != 1 ]] || fail "without the log the drive is accused"

# ---- the same in mid-run
rm -f "$ACKLOG"
write_on "$LOOP" --sync flush:16 --size 8m
under_load 300
queue_says 'write through'
end_of_writer
expect_status 2
grep -q "stopped sending flushes.*${LOOP#/dev/}" "$TMP/writer.err" ||
	fail "no culprit: $(cat "$TMP/writer.err")"
queue_says 'write back'
power cut
drive_detach
power restore
drive_attach
expect_unsent "$LOOP" "stopped sending flushes.*${LOOP#/dev/}"

# ---- a layer that says "write back" and sends nothing on: a loop device over a
# file whose file system was mounted without barriers
mkfs.ext4 -q -F "$LOOP" || fail "cannot make a file system on $LOOP"
mount -o noatime,barrier=0 "$LOOP" "$MNT" || fail "cannot mount $LOOP"
truncate -s 16m "$MNT/file"
below=$LOOP
LOOP=$(losetup --find --show --direct-io=on "$MNT/file") ||
	skip "no second loop device to be had"
above=$LOOP # a mount that it holds cannot be taken away at the end
at_end '! root_has "$above" || losetup -d "$above"'
rm -f "$ACKLOG"
write_some "$LOOP" --count 100
expect_status 2
expect_err "none of them has reached ${below#/dev/}"
[[ ! -e $ACKLOG ]] || fail "a log was begun"
run writer --probe --target "$LOOP"
expect_status 2
expect_out "none of them has reached ${below#/dev/}"
write_some "$LOOP" --count 100 --sync flush:1 --queue-depth 1 \
	--accept-elided-flush
expect_status 0
expect_unsent "$LOOP" "^accepted: .*none of them has reached ${below#/dev/}"
run verifier --target "$LOOP"
expect_status 2
expect_out '^flushes were not sent: its label says so'
losetup -d "$LOOP"
wait_until 20 root_has_not "$LOOP"
LOOP=$below

# ---- the mount option of the file's own file system
FILE=$MNT/other
rm -f "$ACKLOG"
write_some "$FILE" --size 8m --count 100
expect_status 2
expect_err "ext4 on $MNT is mounted without barriers"
expect_err "hint: mount -o remount,barrier $MNT"
mount -o remount,barrier=1 "$MNT" || fail "cannot remount $LOOP"
write_some "$FILE" --size 8m --count 100
expect_status 0

# ---- and in mid-run, where only the counts can tell
write_on "$FILE" --sync flush:1 --queue-depth 1
under_acks 5000
mount -o remount,barrier=0 "$MNT" || fail "cannot remount $LOOP"
end_of_writer 30
expect_status 2
grep -q "stopped sending flushes: .*none of them has reached ${LOOP#/dev/}" \
	"$TMP/writer.err" || fail "no culprit: $(cat "$TMP/writer.err")"
expect_unsent "$FILE" "none of them has reached ${LOOP#/dev/}"
umount "$MNT" || fail "cannot unmount $LOOP"
drive_detach
exit 0
