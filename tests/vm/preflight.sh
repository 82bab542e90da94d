#!/bin/bash
# SPDX-License-Identifier: MIT
# What the pre-flight says of a drive on each transport, and what follows: a
# flush that is sent is counted, by the block layer and in the kernel's trace; a
# queue that says "write through" is refused as long as the drive says that it
# uses its cache, and allowed when the drive says that it is off; and layers that
# pass flushes on are not taken for ones that swallow them.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
vm_needs

ALL=(n:nvme a:sata s:scsi v:virtio u:usb x:uas)
for pair in "${ALL[@]}"; do
	vm_drive "${pair%:*}" "${pair#*:}"
done
vm_start

queue() { # NAME
	echo "/sys/block/\$(basename \$(readlink -f $(vm_target "$1")))/queue"
}

set_queue() { # NAME WORD...
	vm_expect "echo '${*:2}' >$(queue "$1")/write_cache"
}

probe() { # NAME OPTIONS...: into $TMP/probe.json
	vm_run "plugpull-writer --probe --target $(vm_target "$1") \
		--json /host/probe.json ${*:2}"
}

look() { # JQ FILTER
	jq -r "$1" "$TMP/probe.json"
}

writer() { # NAME OPTIONS...
	echo "plugpull-writer --target $(vm_target "$1") --erase vm-$1" \
		"--size 8m --acklog /host/$1.acklog --json /host/w.json" \
		"--count 200 ${*:2}"
}

# ---- what each says of itself: kind, cache in use, FUA; and the queue's word
declare -A says=([n]='NVMe yes yes' [a]='ATA yes no' [s]='SCSI yes yes'
	[v]='null null null' [u]='SCSI yes no' [x]='SCSI yes no')
for pair in "${ALL[@]}"; do
	name=${pair%:*}
	probe "$name"
	expect_status 0
	sed -n '/^[a-z0-9]*: /,$p' "$TMP/out" | sed "s/^/table: ${pair#*:}: /"
	expect_equal "what $name says" "$(look '.layers[0].drive |
		"\(.kind) \(.cache_in_use) \(.fua)"')" "${says[$name]}"
	expect_equal "queue of $name" "$(look '.layers[0].write_cache')" \
		'write back'
	expect_equal "the answer for $name" "$(look .flush_would_reach)" yes
	expect_equal "the flush sent to $name" "$(look .flush_counted)" true
	[[ $name == v ]] ||
		expect_equal "serial of $name" \
			"$(look '.layers[0].drive.serial')" "vm-$name"
done

# ---- the kernel's own record of the block layer and of the driver below it
for pair in n:nvme s:scsi v:virtio; do
	name=${pair%:*}
	vm_expect "$(writer "$name" --sync flush:4 --queue-depth 1 --trace)"
	[[ $(json "$TMP/w.json" '.trace.flushes_completed') -ge 20 ]] ||
		fail "$name: no flushes in the trace"
	[[ $name == v || $(json "$TMP/w.json" '.trace.flush_commands') -ge \
		$(json "$TMP/w.json" '.trace.flushes_completed') ]] ||
		fail "$name: the driver sent fewer than it completed"
	expect_equal "failed flushes of $name" \
		"$(json "$TMP/w.json" '.trace.flushes_failed')" 0
done
vm_expect "$(writer s --sync fua --trace)"
[[ $(json "$TMP/w.json" '.trace.fua_completed') -ge 200 ]] ||
	fail "FUA writes are not in the trace"

# ---- write through, over a cache in use, or over one that cannot be asked
declare -A why=([v]='cannot be asked')
for pair in "${ALL[@]}"; do
	name=${pair%:*}
	set_queue "$name" write through
	probe "$name"
	expect_status 2
	expect_equal "the answer for $name" "$(look .flush_would_reach)" no
	[[ $(look .flush_reason) == *"${why[$name]-says that it has one, in use}"* ]] ||
		fail "$name: $(look .flush_reason)"
	set_queue "$name" write through
	vm_run "$(writer "$name" --sync flush:8)"
	expect_status 2
	expect_err 'no flush would reach'
	expect_err "hint: if it has one: echo 'write back'"
	set_queue "$name" write back
done
set_queue a write through
rm -f "$TMP/a.acklog"
vm_expect "$(writer a --sync flush:8 --accept-elided-flush)"
vm_run "plugpull-verifier --target $(vm_target a) --acklog /host/a.acklog"
expect_status 2
expect_out 'the flushes did not reach the drive'
set_queue a write back

# ---- the drive's own word: the cache is off, and its queue follows
for name in a s x; do
	rm -f "$TMP/$name.acklog"
	vm_expect "$(writer "$name" --sync flush:8 --write-cache off)"
	expect_equal "the answer for $name" \
		"$(json "$TMP/w.json" '.flush_proof.would_reach')" 'not needed'
	grep -aq 'by its own word .* switched off' "$TMP/$name.acklog" ||
		fail "$name: the log does not say why no flush was sent"
	vm_run "plugpull-verifier --target $(vm_target "$name") \
		--acklog /host/$name.acklog"
	[[ $status == 0 || $status == 3 ]] || fail "$name: exit $status"
done

# ---- layers that pass flushes on
vm_expect "modprobe raid1
	mdadm --create /dev/md9 --run --level=1 --raid-devices=2 \
		--metadata=1.2 --assume-clean --bitmap=none \
		/dev/drive/s /dev/drive/v </dev/null" 120
vm_expect "modprobe dm-mod
	dmsetup --noudevsync create one --table \"0 20480 linear \
		\$(readlink -f $(vm_target n)) 0\"; dmsetup mknodes
	[ -b /dev/mapper/one ]" 60
for device in /dev/mapper/one /dev/md9; do
	vm_run "plugpull-writer --target $device --erase \
		\$(plugpull-writer --probe --json - --target $device |
			jq -r .erase) --acklog /host/layer.acklog --size 6m \
		--count 100 --sync flush:1 --queue-depth 1 --json /host/w.json"
	expect_status 0
	expect_equal "elided through $device" \
		"$(json "$TMP/w.json" '.flush_proof.elided')" 0
	[[ $(json "$TMP/w.json" '[.flush_proof.layers[].completed // 0] |
		max') -ge 100 ]] || fail "$device: $(jq .flush_proof "$TMP/w.json")"
	rm -f "$TMP/layer.acklog"
done
vm_stop
exit 0
