#!/bin/bash
# SPDX-License-Identifier: MIT
# What the system's own tools have made is refused by its name, by the writer and
# in the list of drives alike, and is left as it was: file systems, swap,
# partition tables, mounted drives and their members, loop devices upon it.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs mkfs.ext4 mkfs.xfs mkfs.btrfs mkswap swapon sfdisk mount partx
mkdir "$TMP/mnt"

# new NAME SIZE [OPTIONS]: $LOOP over $TMP/NAME.img
new() {
	truncate -s "$2" "$TMP/$1.img"
	LOOP_WANTED=
	root_attach "$TMP/$1.img" "${@:3}"
}

list() {
	run writer --list --json "$TMP/list.json"
	expect_status 0
	[[ ! -s $TMP/err ]] || fail "the list complains"
}

row() { # DEVICE FIELD
	jq -r --arg path "$1" ".[] | select(.path == \$path) | .$2" \
		"$TMP/list.json"
}

# refused DEVICE LIST-REGEX [WRITER-REGEX]
refused() {
	local before file

	file=$(cat "/sys/block/$(row "$1" drive)/loop/backing_file")
	before=$(sha256sum <"$file")
	expect_equal "what may be done with $1" "$(row "$1" may_be_tested)" \
		false
	[[ $(row "$1" reason) =~ $2 ]] ||
		fail "the list says of $1: $(row "$1" reason)"
	run writer --target "$1" --erase "$1" --acklog "$ACKLOG" --count 10
	expect_status 2
	expect_err "${3-$2}"
	expect_equal "the content of $1" "$(sha256sum <"$file")" "$before"
	[[ ! -e $ACKLOG ]] || fail "a log was begun"
}

new ext4 32m
EXT4=$LOOP
mkfs.ext4 -q -F -L photos "$EXT4" || fail "cannot make a file system"
new xfs 400m
XFS=$LOOP
mkfs.xfs -q -f "$XFS" || fail "cannot make a file system"
new swap 32m
SWAP=$LOOP
mkswap -q "$SWAP"
new gpt 32m
GPT=$LOOP
printf 'size=8M\nsize=8M\n' | sfdisk -q -X gpt --no-reread \
	--no-tell-kernel "$GPT" ||
	fail "cannot make a partition table"
new dos 32m
DOS=$LOOP
echo 'size=8M' | sfdisk -q -X dos --no-reread --no-tell-kernel "$DOS" ||
	fail "cannot make a partition table"
new free 32m
FREE=$LOOP
new small 2m
SMALL=$LOOP
truncate -s 32m "$TMP/locked.img"
LOCKED=$(losetup --find --show --direct-io=on --read-only "$TMP/locked.img") ||
	skip "no loop device left"

list
refused "$EXT4" 'holds an ext4 file system labelled "photos"'
refused "$XFS" 'holds a xfs file system'
refused "$SWAP" 'holds a swap signature'
refused "$GPT" 'holds a gpt partition table'
refused "$DOS" 'holds a dos partition table'
refused "$SMALL" 'too small: 2097152 bytes, the least are 2101248' \
	'are too few'
echo 'write back' >"/sys/block/${LOCKED#/dev/}/queue/write_cache"
refused "$LOCKED" 'read-only' 'read-only|has no volatile cache'
expect_equal "what may be done with $FREE" "$(row "$FREE" may_be_tested)" true
expect_equal "its size" "$(row "$FREE" size)" 33554432
expect_equal "what hangs on" "$(row "$FREE" transport)" loop
expect_equal "its --erase" "$(row "$FREE" erase)" "$FREE"
[[ $(row "$FREE" below) == "${FREE#/dev/} ($TMP/free.img)"* ]] ||
	fail "below it is: $(row "$FREE" below)"

# The table says the same.
run writer --list
expect_status 0
expect_out "^NAME +SIZE +TRANSPORT +MODEL +SERIAL +MAY BE TESTED\$"
expect_out "^${FREE#/dev/} +32.0M +loop +- +- +yes: --target '$FREE' --erase"
expect_out "^${EXT4#/dev/} +32.0M +loop .* no: holds an ext4 file system"

# In use: mounted read-only, swap in use, a loop device that goes round the page
# cache of its file, a loop device upon a partition.
mount -o ro "$EXT4" "$TMP/mnt" || fail "cannot mount $EXT4"
if swapon "$SWAP" 2>/dev/null; then
	at_end "swapoff $SWAP"
	HAS_SWAP=1
fi
truncate -s 32m "$TMP/cached.img"
CACHED=$(losetup --find --show "$TMP/cached.img") || skip "no loop device left"
ABOVE=$(losetup --find --show --direct-io=on "$FREE")
[[ -z $ABOVE ]] || at_end "losetup -d $ABOVE"
list
refused "$EXT4" "$EXT4 is mounted on $TMP/mnt"
[[ -z ${HAS_SWAP-} ]] || refused "$SWAP" "$SWAP is swap space"
refused "$CACHED" 'through the page cache'
[[ -z $ABOVE ]] || refused "$FREE" "$ABOVE is set up on it"
umount "$TMP/mnt"
[[ -z ${HAS_SWAP-} ]] || swapoff "$SWAP"
[[ -z $ABOVE ]] || losetup -d "$ABOVE"

# A btrfs of two drives is mounted under the name of one of them.
new one 120m
ONE=$LOOP
new two 120m
TWO=$LOOP
mkfs.btrfs -q -f "$ONE" "$TWO" >"$TMP/out" 2>&1 || fail "cannot make a btrfs"
list
refused "$ONE" 'holds a btrfs file system'
refused "$TWO" 'holds a btrfs file system'
if mount -t btrfs -o "device=$TWO" "$ONE" "$TMP/mnt" 2>/dev/null; then
	list
	refused "$ONE" "$ONE is (mounted on|part of a btrfs)"
	refused "$TWO" "$TWO is (mounted on|part of a btrfs)"
	umount "$TMP/mnt"
fi

# Partitions are devices of their own, and share their drive.
new parts 64m
PARTS=$LOOP
printf 'size=16M\nsize=16M\n' | sfdisk -q -X gpt --no-reread \
	--no-tell-kernel "$PARTS" || fail "cannot make a partition table"
partx -a "$PARTS" 2>/dev/null
at_end "partx -d $PARTS"
if [[ -b ${PARTS}p2 ]]; then
	mkfs.ext4 -q -F "${PARTS}p1"
	list
	refused "$PARTS" 'holds a gpt partition table'
	refused "${PARTS}p1" 'holds an ext4 file system'
	expect_equal "what may be done with a free partition" \
		"$(row "${PARTS}p2" may_be_tested)" true
	mount "${PARTS}p1" "$TMP/mnt" || fail "cannot mount ${PARTS}p1"
	list
	refused "$PARTS" "${PARTS}p1 is mounted on $TMP/mnt"
	expect_equal "what may be done with its neighbour" \
		"$(row "${PARTS}p2" may_be_tested)" true
	umount "$TMP/mnt"
	# A loop device upon a partition takes no hold of it, nor of the drive.
	ABOVE=$(losetup --find --show --direct-io=on "${PARTS}p2")
	at_end "losetup -d $ABOVE"
	list
	refused "${PARTS}p2" "$ABOVE is set up on it"
	refused "$PARTS" "$ABOVE is set up on it"
	losetup -d "$ABOVE"
	# The partitions go while nobody looks.
	partx -d "$PARTS" || fail "cannot take the partitions away"
	list
	expect_equal "what is said of a partition that has gone" \
		"$(row "${PARTS}p1" name)" ''
fi
exit 0
