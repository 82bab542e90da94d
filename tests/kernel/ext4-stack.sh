#!/bin/bash
# SPDX-License-Identifier: MIT
# A file on ext4 on a loop device on the simulated drive: the whole stack is
# judged at once. Over an honest drive it keeps its promises across cuts; over
# one that ignores FLUSH, so does the stack, and it is convicted.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse mkfs.ext4 mount

MNT=$TMP/mnt
FILE=$MNT/drive.img
mkdir "$MNT"

mount_stack() {
	mount -o noatime "$LOOP" "$MNT" || fail "cannot mount $LOOP"
}

# After a cut the file system is in trouble; all the same it must be let go.
unmount_stack() {
	umount "$MNT" || fail "cannot unmount $LOOP"
	drive_detach
}

is_drained() {
	[[ $(sim_counter dirty_bytes) == 0 ]]
}

# The file is made and filled, and in time it is on the media of any drive. So
# the cut is about the workload, and not about the file system's own making.
make_stack() {
	drive_attach
	# A file is known by its file system's device number, too.
	LOOP_WANTED=$LOOP
	mkfs.ext4 -q -F "$LOOP" || fail "cannot make a file system on $LOOP"
	mount_stack
	run_apart 60 writer --target "$FILE" --size 18m --count 100 \
		--acklog "$ACKLOG"
	expect_status 0
	sync
	wait_until 20 is_drained
}

cut_stack() { # SYNC
	write_on "$FILE" --sync "$1"
	under_load 300
	power cut
	writer_loses_drive
	unmount_stack
	power restore
	drive_attach
	mount_stack
	verify_on "$FILE"
	echo "table: ext4 on $FAULT, $1: exit $status $(broken_classes)"
}

for FAULT in none ignores-flush; do
	rm -f "$TMP"/drive.* "$ACKLOG"
	LOOP_WANTED=
	start_simdrive drive --size 64m --drain-ms 300 --fault "$FAULT" --seed 1
	make_stack
	if [[ $FAULT == none ]]; then
		for sync in flush:16 fua none flush:1; do
			cut_stack "$sync"
			expect_kept
		done
	else
		cut_stack flush:16
		expect_verdict LOST TORN
	fi
	unmount_stack
	drive_stop
done
exit 0
