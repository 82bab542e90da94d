#!/bin/bash
# SPDX-License-Identifier: MIT
# A queue that says "write through" far below the target keeps every FLUSH from
# an honest drive, and the drive must never be convicted for it (P9): below the
# file system of a file, and below the file of a loop device; from the start and
# from mid-run on. A loop device that reads through the page cache is refused
# there, too (P10).
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse mkfs.ext4 mount

MNT=$TMP/mnt
FILE=$MNT/drive.img
UPPER=
mkdir "$MNT"

lower_says() { # TEXT
	echo "$1" >"/sys/block/${LOOP#/dev/}/queue/write_cache"
}

free_upper() {
	[[ -z $UPPER ]] || root_detach "$UPPER"
	UPPER=
}

mount_stack() { # file|loop: $TARGET is that
	mount -o noatime "$LOOP" "$MNT" || fail "cannot mount $LOOP"
	TARGET=$FILE
	[[ $1 == loop ]] || return 0
	[[ -e $FILE ]] || truncate -s 20m "$FILE"
	UPPER=$(losetup --find --show --direct-io=on --sector-size 4096 \
		"$FILE") || skip "no second loop device to be had"
	at_end free_upper
	echo 'write back' >"/sys/block/${UPPER#/dev/}/queue/write_cache"
	TARGET=$UPPER
}

unmount_stack() {
	free_upper
	umount "$MNT" || fail "cannot unmount $LOOP"
}

begin() { # file|loop
	rm -f "$TMP"/drive.* "$ACKLOG"
	start_simdrive drive --size 64m --drain-ms 600000 --seed 1
	LOOP_WANTED=
	drive_attach
	LOOP_WANTED=$LOOP
	mkfs.ext4 -q -F "$LOOP" || fail "cannot make a file system on $LOOP"
	mount_stack "$1"
}

end() {
	unmount_stack
	drive_detach
	drive_stop
}

writer() { # OPTIONS...
	run_apart 60 writer --target "$TARGET" --erase "$TARGET" --size 18m \
		--acklog "$ACKLOG" --block-size 16k --count 300 "$@"
}

cut_and_judge() { # file|loop WHAT
	power cut
	unmount_stack
	drive_detach
	power restore
	drive_attach
	mount_stack "$1"
	verify_on "$TARGET"
	echo "table: $1, $2: exit $status $(broken_classes)"
	[[ $status != 1 ]] || fail "an honest drive that got no FLUSH is convicted"
}

refused_from_the_start() { # file|loop
	local sync

	begin "$1"
	lower_says 'write through'
	for sync in flush:16 flush:5ms fua none; do
		writer --sync "$sync"
		expect_status 2
		expect_err "no flush would reach $TARGET: the system believes"
		expect_err "believes that ${LOOP#/dev/} has no volatile cache"
		expect_err "hint: .*>/sys/block/${LOOP#/dev/}/queue/write_cache"
	done
	[[ ! -e $ACKLOG ]] || fail "it began a log all the same"
	lower_says 'write back'
	writer
	expect_status 0
	# Nothing is promised any more; so nothing is to be flushed.
	lower_says 'write through'
	writer --sync none
	expect_status 0
	cut_and_judge "$1" "nothing promised"
	end
}

stopped_in_mid_run() { # file|loop
	begin "$1"
	write_on "$TARGET" --size 18m --sync flush:16 --block-size 16k
	under_load 300
	lower_says 'write through'
	end_of_writer
	expect_status 2
	grep -q "has stopped sending flushes to .*that ${LOOP#/dev/} has" \
		"$TMP/writer.err" ||
		fail "the writer does not say why: $(cat "$TMP/writer.err")"
	cut_and_judge "$1" "FLUSH elided from mid-run on"
	end
}

refused_over_a_page_cache() {
	begin loop
	losetup --direct-io=off "$LOOP" || skip "direct I/O stays on"
	for TARGET in "$UPPER" "$FILE"; do
		run_apart 60 verifier --target "$TARGET"
		expect_status 2
		expect_err "${LOOP#/dev/} reads its file through the page cache"
	done
	end
}

for kind in file loop; do
	refused_from_the_start "$kind"
	stopped_in_mid_run "$kind"
done
refused_over_a_page_cache
exit 0
