#!/bin/bash
# SPDX-License-Identifier: MIT
# The native engine on every transport: its flushes arrive although the kernel
# would keep them to itself, honest drives are acquitted and liars convicted
# after a cut, and a write cache that was switched off for a run is on again
# after the writer was killed.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"

vm_needs
SIZE=12m
REAL=(n:nvme a:sata s:scsi u:usb x:uas)
vm_drive fib sata --fault ignores-flush
for pair in "${REAL[@]}"; do
	vm_drive "${pair%:*}" "${pair#*:}"
done
vm_drive v virtio
vm_drive liar nvme --fault ignores-flush
vm_start

writer() { # NAME LOG OPTIONS...
	echo "plugpull-writer --target $(vm_target "$1") --erase vm-$1" \
		"--size $SIZE --engine ${ENGINE:-native}" \
		"--acklog /host/$2.acklog --json /host/$2.json ${*:3}"
}

counter() { # NAME COUNTER
	SIM_CONTROL=$(vm_control "$1") sim_counter "$2"
}

summary() { # LOG EXPRESSION
	json "$TMP/$1.json" "$2"
}

set_queue() { # NAME WORD...
	vm_expect "echo '${*:2}' >/sys/block/\$(basename \$(readlink -f \
		$(vm_target "$1")))/queue/write_cache"
}

# ---- what is no drive is refused by name
vm_run "$(writer v v)"
expect_status 2
expect_err 'engine native needs an NVMe or SCSI/ATA drive; .* is neither'

# ---- the drive's own flush, where the kernel would send none
declare -A speaks=([n]='NVMe pass-through, Flush'
	[a]='ATA pass-through, FLUSH CACHE EXT'
	[s]='SCSI pass-through, SYNCHRONIZE CACHE(10)'
	[u]='SCSI pass-through, SYNCHRONIZE CACHE(10)'
	[x]='SCSI pass-through, SYNCHRONIZE CACHE(10)')
for pair in "${REAL[@]}"; do
	name=${pair%:*}
	set_queue "$name" write through
	before=$(counter "$name" flushes)
	vm_expect "$(writer "$name" "f-$name" --sync flush:8 --count 400 \
		--queue-depth 8)"
	expect_equal "engine of $name" "$(summary "f-$name" .engine)" \
		"${speaks[$name]}"
	sent=$(($(counter "$name" flushes) - before))
	asked=$(summary "f-$name" .flushes)
	((asked >= 40 && sent >= asked)) ||
		fail "$name: $asked flushes asked for, $sent arrived"
	grep -aqF "engine: ${speaks[$name]}" "$TMP/f-$name.acklog" ||
		fail "$name: the log does not name the engine"
	# The kernel's own engine is refused. (A drive is looked at again when it
	# is closed, and its queue may be itself again by now.)
	set_queue "$name" write through
	vm_run "$(ENGINE=libaio writer "$name" "k-$name" --count 8)"
	expect_status 2
	set_queue "$name" write back
	vm_run "plugpull-verifier --target $(vm_target "$name") \
		--acklog /host/f-$name.acklog"
	expect_status 3
done

# ---- FUA: QEMU makes a flush of it for SCSI; its ATA and USB drives have none
before=$(counter s flushes)
vm_expect "$(writer s fua-s --sync fua --count 200 --queue-depth 4)"
((($(counter s flushes) - before) >= 200)) ||
	fail "FUA writes arrived as $(counter s flushes) flushes"
for name in a u; do
	vm_run "$(writer "$name" "fua-$name" --sync fua --count 8)"
	expect_status 2
	expect_err 'cannot be asked for FUA'
done

# ---- a partition: its start is added, its end is kept
vm_expect "printf '4MiB,6MiB\n' | sfdisk -q \$(readlink -f $(vm_target n))
	udevadm settle"
vm_expect "plugpull-writer --target \$(readlink -f $(vm_target n))p1 --size 6m \
	--erase vm-n:part1 --engine native --count 300 --acklog /host/p.acklog
	plugpull-verifier --target \$(readlink -f $(vm_target n))p1 \
		--acklog /host/p.acklog; [ \$? = 3 ]
	sfdisk -q -l \$(readlink -f $(vm_target n)) | grep -q p1"
vm_expect "dd if=/dev/zero of=\$(readlink -f $(vm_target n)) bs=1M count=1
	blockdev --rereadpt \$(readlink -f $(vm_target n)); udevadm settle"

# ---- the cache: off for a run, and back whatever happens
is_cache_on() { # NAME: asked by somebody else's program
	local type=scsi
	[[ $1 != a ]] || type=ata
	if [[ $1 == n ]]; then
		echo "nvme get-feature \$(readlink -f $(vm_target n)) -f 6 |
			grep -qiE 'value: *(0x)?0*1\$'"
	else
		echo "smartctl -d $type -g wcache $(vm_target "$1") |
			grep -qiE 'write(back)? cache is: *enabled'"
	fi
}

for pair in "${REAL[@]}"; do
	name=${pair%:*}
	vm_expect "$(is_cache_on "$name")"
	vm_expect "$(writer "$name" "c-$name" --write-cache off --count 100)"
	expect_equal "cache of $name" \
		"$(summary "c-$name" '.write_cache | .before + .now')" onoff
	grep -aq 'write cache: .* on, and .* off now' "$TMP/c-$name.acklog" ||
		fail "$name: the log does not tell of the cache"
	vm_expect "$(is_cache_on "$name")"

	vm_spawn "$name" "$(writer "$name" "d-$name" --write-cache off) &
		echo \$! >/tmp/$name.pid; wait"
	vm_wait 30 "grep -q writing /tmp/$name.out"
	vm_run "$(is_cache_on "$name")"
	[[ $status != 0 ]] || fail "$name: its cache is on in a run without"
	vm_expect "kill -KILL \$(cat /tmp/$name.pid)"
	vm_wait 30 "$(is_cache_on "$name")"
done

# ---- the power goes
declare -A sync=([n]=flush:8 [a]=flush:8 [s]=fua [u]=flush:8 [x]=flush:8
	[liar]=flush:8 [fib]=flush:8)
for name in "${!sync[@]}"; do
	vm_spawn "cut-$name" "exec $(writer "$name" "cut-$name" --sync \
		"${sync[$name]}" --queue-depth 8)"
done
for name in "${!sync[@]}"; do
	vm_wait 60 "grep -q writing /tmp/cut-$name.out"
done
sleep 2
vm_cut
vm_boot
for name in "${!sync[@]}"; do
	vm_run "plugpull-verifier --target $(vm_target "$name") \
		--acklog /host/cut-$name.acklog --json -"
	case $name in
	liar | fib)
		expect_status 1
		expect_out '"verdict": *"broken"'
		;;
	*)
		[[ $status == 0 || $status == 3 ]] ||
			fail "$name: exit $status on an honest drive"
		;;
	esac
done
