#!/bin/bash
# SPDX-License-Identifier: MIT
# Every member of a layer is asked whether it lets a FLUSH pass (P9): the drive
# of a partition, the drives of a btrfs, the members of device mapper and md.
# Each in turn says "write through", and is refused by then; when all say "write
# back" again, the writer writes.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs mkfs.ext4 mount addpart

MNT=$TMP/mnt
mkdir "$MNT"
missing=()

says() { # LOOP TEXT
	echo "$2" >"/sys/block/${1#/dev/}/queue/write_cache"
}

writer() { # TARGET ERASE
	rm -f "$ACKLOG"
	run_apart 60 writer --target "$1" --erase "$2" --size 4m --count 100 \
		--acklog "$ACKLOG"
}

# is_asked TARGET ERASE LOOP...: each of these.
is_asked() {
	local target=$1 erase=$2 loop
	shift 2
	for loop; do
		says "$loop" 'write through'
		writer "$target" "$erase"
		expect_status 2
		expect_err "no flush would reach .*that ${loop#/dev/} has no"
		says "$loop" 'write back'
	done
	writer "$target" "$erase"
	expect_status 0
	echo "table: $target: refused for each of $*"
}

new_pair() { # $A and $B: two loop devices
	LOOP_WANTED=
	rm -f "$TMP/a.img" "$TMP/b.img"
	root_plain_loop "$TMP/a.img" 200m
	A=$LOOP
	root_plain_loop "$TMP/b.img" 200m
	B=$LOOP
}

free_pair() {
	root_detach "$A"
	root_detach "$B"
}

# ---- a partition, and a file system on it

new_pair
losetup -d "$A"
wait_until 20 root_is_free "$A"
LOOP_WANTED=$A
root_attach -P "$TMP/a.img"
addpart "$A" 1 2048 204800 || fail "cannot make a partition on $A"
at_end "delpart $A 1"
is_asked "${A}p1" "${A}p1" "$A"
mkfs.ext4 -q -F "${A}p1" || fail "cannot make a file system on ${A}p1"
mount "${A}p1" "$MNT" || fail "cannot mount ${A}p1"
is_asked "$MNT/drive.img" "$MNT/drive.img" "$A"
umount "$MNT"
delpart "$A" 1
free_pair

# ---- btrfs

if grep -qw btrfs /proc/filesystems && command -v mkfs.btrfs >/dev/null; then
	new_pair
	mkfs.btrfs -q -f -K -d raid1 -m raid1 "$A" "$B" >"$TMP/out" 2>&1 ||
		fail "cannot make a btrfs on $A and $B"
	mount -t btrfs -o "device=$A,device=$B" "$A" "$MNT" ||
		fail "cannot mount the btrfs on $A"
	mkdir "$MNT/dir"
	chattr +C "$MNT/dir"
	is_asked "$MNT/dir/drive.img" "$MNT/dir/drive.img" "$A" "$B"
	umount "$MNT"
	free_pair
else
	missing+=("btrfs")
fi

# ---- device mapper

DM=plugpull-test-$$
if command -v dmsetup >/dev/null &&
	{ modprobe -q dm-mod || true; } && dmsetup targets >/dev/null 2>&1; then
	new_pair
	at_end "dmsetup remove $DM"
	dmsetup create --noudevrules --noudevsync "$DM" <<-END || fail "no dm"
		0 204800 linear $A 0
		204800 204800 linear $B 0
	END
	is_asked "/dev/mapper/$DM" "$DM" "$A" "$B"
	dmsetup remove --noudevrules --noudevsync "$DM"
	free_pair
else
	missing+=("device mapper")
fi

# ---- md

if command -v mdadm >/dev/null &&
	{ modprobe -q raid1 || true; } && grep -qw raid1 /proc/mdstat; then
	new_pair
	MD=/dev/md/plugpull-test-$$
	at_end "mdadm --stop $MD"
	mdadm --create "$MD" --run --level 1 --raid-devices 2 --assume-clean \
		"$A" "$B" >"$TMP/out" 2>&1 || fail "cannot make a mirror"
	MD=$(readlink -f "$MD")
	is_asked "$MD" "$(cat "/sys/block/${MD#/dev/}/md/uuid")" "$A" "$B"
	mdadm --stop "$MD" 2>"$TMP/err" || fail "cannot stop $MD"
	free_pair
else
	missing+=("md")
fi

[[ ${#missing[@]} -eq 0 ]] || echo "table: not on this machine: ${missing[*]}"
exit 0
