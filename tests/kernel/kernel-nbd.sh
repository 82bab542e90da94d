#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's own NBD client on the simulated drive: a block device to which
# FLUSH and FUA are two things, which they are not on a loop device. Each liar
# is convicted by the command that it ignores, and by no other.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs nbd-client
modprobe -q nbd 2>/dev/null
[[ -e /sys/block/nbd0 ]] || skip "this kernel has no NBD client"

NBD=
is_free() {
	[[ ! -e /sys/block/${1#/dev/}/pid ]]
}

attach() {
	local disk

	for disk in /sys/block/nbd*; do
		NBD=/dev/${disk##*/}
		is_free "$NBD" && nbd-client -unix "$SIM_SOCKET" "$NBD" \
			-b 4096 >"$TMP/nbd-client" 2>&1 && break
		NBD=
	done
	[[ -n $NBD ]] || fail "no NBD device: $(cat "$TMP/nbd-client")"
	at_end "nbd-client -d $NBD"
	expect_equal "write_cache of $NBD" \
		"$(cat "/sys/block/${NBD#/dev/}/queue/write_cache")" \
		'write back'
}

detach() {
	nbd-client -d "$NBD" >"$TMP/nbd-client" 2>&1
	wait_until 20 is_free "$NBD"
}

begin() { # FAULT
	FAULT=$1
	rm -f "$TMP"/drive.* "$ACKLOG"
	PROMISED=0
	start_simdrive drive --size 18m --drain-ms 600000 --fault "$FAULT" \
		--seed 1
	attach
}

cut() { # SYNC
	write_on "$NBD" --block-size 16k --seed 1 --sync "$1"
	under_load 300
	power cut
	# What was sent waits for an answer until the device is let go.
	detach
	writer_loses_drive
	power restore
	attach
	verify_on "$NBD"
	echo "table: /dev/nbd on $FAULT, $1: exit $status $(broken_classes)"
	[[ $1 == none ]] || expect_more_promised
}

end() {
	detach
	drive_stop
}

begin none
for sync in flush:16 fua; do
	cut "$sync"
	expect_kept
done
cut none
expect_kept
expect_status 0
end
for row in 'ignores-flush fua flush:16' 'ignores-fua flush:16 fua'; do
	read -r fault kept lost <<<"$row"
	begin "$fault"
	cut "$kept"
	expect_kept
	cut "$lost"
	expect_verdict LOST TORN
	end
done
exit 0
