#!/bin/bash
# SPDX-License-Identifier: MIT
# The simulated drive as a kernel block device (nbdfuse and loop): the kernel's
# FLUSH reaches it, a cut makes I/O fail and not hang, and after the power is
# back the flushed data are there and the others are not.
. "${0%/*}/../e2e/lib.sh"
requires nbdkit nbdfuse losetup fusermount3 dd
requires_root
[[ -e /dev/fuse && -e /dev/loop-control ]] || skip "needs FUSE and loop devices"

MNT=$TMP/mnt
LOOP=
mkdir "$MNT"

detach() {
	[[ -n $LOOP ]] && losetup -d "$LOOP"
	LOOP=
	fusermount3 -u "$MNT" 2>/dev/null
	wait_until 20 lib_has_ended "$FUSE_PID"
}

attach() {
	# It may abort over the lost connection, and says so.
	background nbdfuse "$MNT" "$SIM_URI" 2>"$TMP/fuse.err"
	FUSE_PID=$!
	wait_until 20 test -s "$MNT/nbd"
	LOOP=$(losetup --find --show --direct-io=on "$MNT/nbd") ||
		skip "cannot make a loop device"
	# The driver may keep it from an earlier user, and then sends no FLUSH.
	echo 'write back' >"/sys/block/${LOOP#/dev/}/queue/write_cache"
}
at_end 'losetup -d "$LOOP"'
at_end 'fusermount3 -u "$MNT"'

power() {
	run simdrive "$1" --control "$SIM_CONTROL"
	expect_status 0
}

head -c 1048576 /dev/urandom >"$TMP/first"
head -c 1048576 /dev/urandom >"$TMP/second"
start_simdrive drive --drain-ms 600000 --seed 1
attach

before=$(sim_counter flushes)
dd if="$TMP/first" of="$LOOP" bs=64k oflag=direct conv=fsync status=none ||
	fail "cannot write"
[[ $(sim_counter flushes) -gt $before ]] || fail "no FLUSH reached the drive"
dd if="$TMP/second" of="$LOOP" bs=64k seek=32 oflag=direct status=none ||
	fail "cannot write"
[[ $(sim_counter dirty_bytes) -gt 0 ]] || fail "the cache is empty"

power cut
timeout 20 dd if="$TMP/second" of="$LOOP" bs=4k count=1 oflag=direct \
	2>"$TMP/err" && fail "a write succeeds without power"
expect_err 'Input/output error|Invalid argument|No such device'
timeout 20 dd if="$LOOP" of=/dev/null bs=4k count=1 iflag=direct \
	2>"$TMP/err" && fail "a read succeeds without power"
detach
power restore
attach

dd if="$LOOP" of="$TMP/back" bs=64k count=16 iflag=direct status=none ||
	fail "cannot read after the power is back"
cmp "$TMP/first" "$TMP/back" || fail "flushed data are gone"
dd if="$LOOP" of="$TMP/back" bs=64k skip=32 count=16 iflag=direct \
	status=none || fail "cannot read after the power is back"
cmp -s -n 524288 -i 524288 "$TMP/second" "$TMP/back" &&
	fail "unflushed data survived"
detach
exit 0
