#!/bin/bash
# SPDX-License-Identifier: MIT
# Drives that are pulled out of a living machine under load, without a word to it
# before, and come back: under another name, as a blank one, deleted in the
# system and found by a scan of the bus, or not at all. The writer ends by itself
# and tells by the kernel's word that the drive left; nobody is accused but the
# one that comes back empty.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
vm_needs

VM_PULL=1
for name in scsi usb uas; do
	vm_drive "$name" "$name" --drain-ms 600000
done
vm_start

# under_load NAME OPTIONS: a writer on it that is at work.
under_load() {
	local name=$1
	shift
	vm_spawn "$name" "exec plugpull-writer --target $(vm_target "$name") \
		--erase vm-$name --size 6m --queue-depth 8 \
		--acklog /host/$name.acklog --json /host/$name.json $*"
	vm_wait 60 "grep -q '^cycle [0-9]* writing' /tmp/$name.out"
	SIM_CONTROL=$(vm_control "$name")
	wait_until 60 lib_counter_reached writes $(($(sim_counter writes) + 200))
}

# Behind a bridge that stays the drive is set offline, and its name stays.
pull_out() { # NAME
	local gone="[ ! -e $(vm_target "$1") ]"

	[[ $1 != uas ]] || gone=true
	vm_drive_cut "$1"
	vm_wait 60 "[ -e /tmp/$1.status ] && $gone"
	expect_equal "the writer on $1" "$(json "$TMP/$1.json" .gone)" true
	[[ $(json "$TMP/$1.json" '.gone_at != null') == true ]] ||
		fail "$1: the moment is not told: $(json "$TMP/$1.json" .gone_at)"
	[[ $1 == uas ]] || grep -aqE 'remove|offline' "$TMP/$1.acklog" ||
		fail "$1: the kernel's word is not in the log"
}

scan() {
	vm_expect "for host in /sys/class/scsi_host/host*; do
		echo '- - -' >\$host/scan; done"
}

# verify NAME TARGET: with the log, which the guest reads.
verify() {
	vm_run "plugpull-verifier --target $2 --acklog /host/$1.acklog \
		--json /host/verdict.json"
}

kernel_name() { # NAME
	vm_run "basename \$(readlink -f $(vm_target "$1"))"
	cat "$TMP/out"
}

# ---- gone, and back under another name
declare -A before=()
for name in scsi usb uas; do
	before[$name]=$(kernel_name "$name")
	under_load "$name" --sync flush:8
done
for name in scsi usb uas; do
	pull_out "$name"
done
# Not there: no verdict, by its old name and by its serial number.
for name in scsi usb uas; do
	verify "$name" "/dev/${before[$name]}"
	expect_status 2
	verify "$name" "id:vm-$name"
	expect_status 2
done
# They come back in another order, so that names move; what hangs on the bridge
# is found when that is asked again.
vm_expect "echo 1 >/sys/block/${before[uas]}/device/delete"
for name in uas usb scsi; do
	vm_drive_restore "$name"
	[[ $name != uas ]] || scan
	vm_wait 60 "[ -b $(vm_target "$name") ]"
done
moved=0
for name in scsi usb uas; do
	now=$(kernel_name "$name")
	[[ $now == "${before[$name]}" ]] || moved=$((moved + 1))
	# By the old name, which may be another's now.
	verify "$name" "/dev/${before[$name]}"
	[[ $status == 0 || $status == 3 ]] ||
		fail "$name, ${before[$name]} and now $now: $(cat "$TMP/out" "$TMP/err")"
	expect_equal "verdict of $name" \
		"$(json "$TMP/verdict.json" .verdict)" kept
done
[[ $moved -ge 2 ]] || fail "$moved names have moved"

# ---- deleted in the system, and found by a scan of its bus
vm_expect "echo 1 >/sys/block/$(kernel_name scsi)/device/delete"
vm_wait 30 "[ ! -e $(vm_target scsi) ]"
verify scsi id:vm-scsi
expect_status 2
scan
vm_wait 30 "[ -b $(vm_target scsi) ]"
verify scsi id:vm-scsi
expect_equal "verdict behind the scan" \
	"$(json "$TMP/verdict.json" .verdict)" kept

# ---- back, and blank
under_load usb --sync flush:8 --run "$(json "$TMP/usb.json" .run)"
pull_out usb
: >"$TMP/usb.empty"
truncate -s "$(stat -c %s "$TMP/usb.media")" "$TMP/usb.empty"
cat "$TMP/usb.empty" >"$TMP/usb.media"
vm_drive_restore usb
vm_wait 60 "[ -b $(vm_target usb) ]"
verify usb id:vm-usb
expect_status 1
[[ $(json "$TMP/verdict.json" '.blank.writes > 0') == true ]] ||
	fail "it is not blank: $(cat "$TMP/out")"
echo "hot-removal: $moved of 3 drives had another name"
exit 0
