#!/bin/bash
# SPDX-License-Identifier: MIT
# P10: a file on xfs is the same file when its file system comes back upon
# another device, as after a power cycle; a copy of it elsewhere is not.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs mkfs.xfs mount
mkdir "$TMP/mnt"

truncate -s 400m "$TMP/xfs.img"
root_attach "$TMP/xfs.img"
FIRST=$LOOP
mkfs.xfs -q "$FIRST" || fail "cannot make a file system"
mount "$FIRST" "$TMP/mnt" || skip "needs xfs"
run writer --target "$TMP/mnt/disk" --size 16m --acklog "$ACKLOG" --count 200
expect_status 0
umount "$TMP/mnt"
root_detach "$FIRST"

# Another device has the number that it had.
truncate -s 16m "$TMP/other.img"
LOOP_WANTED=$FIRST
root_attach "$TMP/other.img"
LOOP_WANTED=
root_attach "$TMP/xfs.img"
[[ $LOOP != "$FIRST" ]] || fail "the file system has its old number again"
mount "$LOOP" "$TMP/mnt"
verify_on "$TMP/mnt/disk"
expect_kept
run writer --target "$TMP/mnt/disk" --acklog "$ACKLOG" --count 100
expect_status 0
expect_out '^cycle 2 writing'
cp "$TMP/mnt/disk" "$TMP/mnt/copy"
run verifier --target "$TMP/mnt/copy" --acklog "$ACKLOG"
expect_status 2
expect_err 'wrong drive: '
umount "$TMP/mnt"
root_detach "$LOOP"
root_detach "$FIRST"
exit 0
