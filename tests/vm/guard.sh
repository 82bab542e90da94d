#!/bin/bash
# SPDX-License-Identifier: MIT
# What the kernel's own md, LVM and swap hold is refused by its name, while it is
# in use and when it rests; drives are told by transport and serial number, two
# of one serial number are marked, and a drive is found by what it is.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
vm_needs

vm_drive one sata --size 24m
vm_drive two scsi --size 24m
vm_drive vol nvme --size 24m
vm_drive swap virtio --size 24m
vm_drive free usb --size 24m
for twin in 1 2; do
	VM_EXTRA+=(-blockdev "null-co,node-name=twin$twin,size=16777216,$(
		)read-zeroes=on"
		-device "scsi-hd,bus=hba.0,drive=twin$twin,serial=TWIN77")
done
vm_start

# A guest upon a busy machine may be slow.
list() {
	local try
	for try in 1 2 3 4; do
		vm_expect "plugpull-writer --list --json -" 120
		cp "$TMP/out" "$TMP/list.json"
		grep -q '"does not answer"' "$TMP/list.json" || return 0
	done
	fail "drives do not answer"
}

row() { # SERIAL FIELD: of the whole drive
	jq -r --arg serial "$1" "[.[] | select(.serial == \$serial and
		(.partition | not))][0].$2" "$TMP/list.json"
}

# refused DRIVE REGEX: in the list, and by the writer.
refused() {
	expect_equal "what may be done with $1" \
		"$(row "vm-$1" may_be_tested)" false
	[[ $(row "vm-$1" reason) =~ $2 ]] ||
		fail "the list says of $1: $(row "vm-$1" reason)"
	vm_run "plugpull-writer --target id:vm-$1 --erase vm-$1 \
		--acklog /tmp/$1.acklog --count 10"
	expect_status 2
	expect_err "$2"
	vm_run "ls /tmp/$1.acklog"
	[[ $status != 0 ]] || fail "a log was begun"
}

# ---- what they are
list
for pair in one:SATA two:virtio vol:NVMe swap:virtio free:USB; do
	expect_equal "what ${pair%:*} hangs on" \
		"$(row "vm-${pair%:*}" transport)" "${pair#*:}"
	expect_equal "what may be done with ${pair%:*}" \
		"$(row "vm-${pair%:*}" may_be_tested)" true
	expect_equal "its --erase" "$(row "vm-${pair%:*}" erase)" \
		"vm-${pair%:*}"
	expect_equal "its size" "$(row "vm-${pair%:*}" size)" 25165824
done
[[ $(row vm-one by_id) == /dev/disk/by-id/*vm-one ]] ||
	fail "its name by id is $(row vm-one by_id)"

# ---- two of one serial number
expect_equal "drives with the serial TWIN77" "$(row TWIN77 same_serial)" 2
vm_expect "plugpull-writer --list"
expect_out 'TWIN77 .*; 2 drives have this serial'
vm_run "plugpull-verifier --target id:TWIN77"
expect_status 2
expect_err 'it names 2 drives, not one: sd[a-z], sd[a-z]'

# ---- found again, where its name leads nowhere or to another drive
vm_expect "plugpull-writer --target id:vm-free --erase vm-free --no-fill \
	--acklog /tmp/found.acklog --count 100"
for name in /dev/sdzz /dev/drive/one; do
	vm_run "plugpull-verifier --target $name --acklog /tmp/found.acklog"
	[[ $status == 0 || $status == 3 ]] || fail "it ends with $status"
	expect_err "$name is /dev/sd[a-z] now"
	expect_out 'kept'
	vm_expect "plugpull-writer --target $name --acklog /tmp/found.acklog \
		--count 100"
	expect_err "$name is /dev/sd[a-z] now"
done
vm_run "plugpull-writer --target id:vm-one --erase vm-free --count 10 \
	--acklog /tmp/found2.acklog"
expect_status 2
expect_err "'vm-free' is not its name"

# ---- md
vm_expect "modprobe raid1
	mdadm --create /dev/md0 --run --level=1 --raid-devices=2 \
		--metadata=1.2 /dev/drive/one /dev/drive/two </dev/null" 120
list
refused one 'is part of /dev/md[0-9]+|in use'
refused two 'is part of /dev/md[0-9]+|in use'
md=$(jq -r '.[] | select(.transport == "md") | .below' "$TMP/list.json")
[[ $md == 'md0 (raid1) -> ['*'serial vm-one)'* && $md == *'serial vm-two)'* ]] ||
	fail "below the array is: $md"
vm_expect "mdadm --stop /dev/md0" 60
list
refused one 'holds a linux_raid_member volume member'
refused two 'holds a linux_raid_member volume member'

# ---- LVM, which does not wait for udev: nobody would answer it in here
vm_expect "modprobe dm-mod
	pvcreate -y /dev/drive/vol && vgcreate pool /dev/drive/vol &&
	lvcreate -y --noudevsync -Wn -Zn -n data -l 2 pool" 120
list
refused vol 'is part of /dev/dm-[0-9]+|in use'
dm=$(jq -r '.[] | select(.transport == "dm") | .below' "$TMP/list.json")
[[ $dm == 'dm-0 (LVM) -> nvme'*'serial vm-vol)' ]] ||
	fail "below the volume is: $dm"
vm_expect "vgchange --noudevsync -an pool" 60
list
refused vol 'holds a LVM2_member volume member'

# ---- swap, and a mounted partition
vm_expect "mkswap /dev/drive/swap && swapon /dev/drive/swap"
list
refused swap 'is swap space'
vm_expect "swapoff /dev/drive/swap"
list
refused swap 'holds a swap signature'
vm_expect "echo size=16M | sfdisk -q -X gpt /dev/drive/free
	udevadm settle
	part=\$(readlink -f /dev/drive/free)1
	modprobe ext4
	mke2fs -q -F \$part && mount \$part /mnt" 60
list
refused free 'is mounted on /mnt'
vm_expect "umount /mnt"
list
refused free 'holds a gpt partition table'
vm_stop
exit 0
