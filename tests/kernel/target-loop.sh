#!/bin/bash
# SPDX-License-Identifier: MIT
# Kernel block devices: a loop device is written to through libaio, FLUSH and
# FUA are seen by the kernel's counters, and whoever uses the device is told by
# name before anything is written.
. "${0%/*}/../e2e/lib.sh"
requires_root
requires jq losetup mkfs.ext4 mkswap addpart delpart

truncate -s 64M "$TMP/disk.img"
LOOP=$(losetup -f --show "$TMP/disk.img") || skip "no loop device to be had"
at_end "losetup -d $LOOP"
NAME=${LOOP##*/}
MOUNT=$TMP/mount
mkdir "$MOUNT"

flushes() { # requests of this kind that the kernel has sent to the device
	awk '{ print $16 }' "/sys/block/$NAME/stat"
}

write_some() { # OPTIONS...: a fresh run, confirmed by name
	rm -f "$TMP/loop.acklog"
	run writer --target "$LOOP" --erase "$LOOP" --acklog "$TMP/loop.acklog" \
		--json "$TMP/writer.json" "$@"
}

refused() { # TARGET REGEX: nothing is written, whatever was confirmed
	local before after

	before=$(sha256sum <"$TMP/disk.img")
	rm -f "$TMP/loop.acklog"
	run writer --target "$1" --erase "$1" --acklog "$TMP/loop.acklog" \
		--count 10
	expect_status 2
	expect_err "$2"
	after=$(sha256sum <"$TMP/disk.img")
	expect_equal "the drive's content" "$after" "$before"
}

# P10: a loop device that goes through the page cache proves nothing.
losetup --direct-io=off "$LOOP"
refused "$LOOP" 'through the page cache'
expect_err "hint: losetup --direct-io=on $LOOP"
run verifier --target "$LOOP"
expect_status 2
expect_err 'through the page cache'
losetup --direct-io=on "$LOOP" || skip "no direct I/O on the file's file system"

# P1: flushes arrive at the device (the kernel merges some that are under way
# together), and so do FUA writes (a loop device makes flushes of them).
before=$(flushes)
write_some --count 200 --sync flush:1 --queue-depth 1
expect_status 0
wanted=$(json "$TMP/writer.json" .flushes)
((wanted > 0 && $(flushes) > before)) ||
	fail "the kernel saw too few flushes"
run verifier --target "$LOOP" --acklog "$TMP/loop.acklog"
[[ $status == 0 || $status == 3 ]] || fail "verifier: exit status $status"
before=$(flushes)
write_some --count 200 --sync fua --queue-depth 1
expect_status 0
(($(flushes) - before >= 200)) || fail "the kernel saw too few FUA writes"
before=$(flushes)
write_some --count 200 --sync none --no-fill
expect_status 0
(($(flushes) - before < 20)) || fail "flushes although none were asked for"

# Who uses it is told by name.
run writer --target "$TMP/disk.img" --erase "$TMP/disk.img" \
	--acklog "$TMP/file.acklog" --count 10
expect_status 2
expect_err "hint: $LOOP is set up on it"

wipefs -qa "$LOOP"
mkfs.ext4 -q -F -L precious "$LOOP"
refused "$LOOP" 'holds an ext4 file system labelled "precious"'
mount "$LOOP" "$MOUNT"
at_end "umount $MOUNT"
run writer --target "$LOOP" --erase "$LOOP" --acklog "$TMP/l.acklog" --count 1
expect_status 2
expect_err "hint: $LOOP is mounted on $MOUNT"
umount "$MOUNT"

mkswap -q -f "$LOOP" >/dev/null
refused "$LOOP" 'holds a swap signature'
if swapon "$LOOP"; then
	at_end "swapoff $LOOP"
	refused "$LOOP" "hint: $LOOP is swap space"
	swapoff "$LOOP"
fi
wipefs -qa "$LOOP"

# A mounted partition protects its drive.
losetup -d "$LOOP"
wait_until 10 bash -c "! losetup $LOOP"
losetup -P --direct-io=on "$LOOP" "$TMP/disk.img"
addpart "$LOOP" 1 2048 65536
at_end "delpart $LOOP 1"
mkfs.ext4 -q -F "${LOOP}p1"
mount "${LOOP}p1" "$MOUNT"
run writer --target "$LOOP" --erase "$LOOP" --acklog "$TMP/p.acklog" --count 1
expect_status 2
expect_err "hint: ${LOOP}p1 is mounted on $MOUNT"
umount "$MOUNT"
