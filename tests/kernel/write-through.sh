#!/bin/bash
# SPDX-License-Identifier: MIT
# A queue that says "write through" makes the kernel complete every FLUSH
# itself. A drive that is never asked breaks no promise (P9), so the writer
# refuses to begin there; what the queue says stays with the loop device, and
# the next file on it meets the same refusal.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse

queue_says() { # TEXT
	echo "$1" >"/sys/block/${LOOP#/dev/}/queue/write_cache"
}

start_simdrive drive --size 18m --seed 1
drive_attach
queue_says 'write through'
for sync in flush:16 flush:5ms fua; do
	run_apart 60 writer --target "$LOOP" --erase "$LOOP" \
		--acklog "$ACKLOG" --sync "$sync" --count 100 --block-size 16k
	expect_status 2
	expect_err "no flush would reach $LOOP"
	expect_err "hint: .*>/sys/block/${LOOP#/dev/}/queue/write_cache"
done
[[ $(sim_counter writes) == 0 ]] || fail "it wrote all the same"


# The driver keeps it over a detach; so it must be read at each start.
losetup -d "$LOOP"
wait_until 20 root_is_free "$LOOP"
wait_until 20 losetup --direct-io=on --sector-size 4096 "$LOOP" \
	"$FUSE_MNT/nbd"
if [[ $(cat "/sys/block/${LOOP#/dev/}/queue/write_cache") == *through ]]; then
	run_apart 60 writer --target "$LOOP" --erase "$LOOP" \
		--acklog "$ACKLOG" --count 100
	expect_status 2
	expect_err "no flush would reach $LOOP"
fi
queue_says 'write back'
run_apart 60 writer --target "$LOOP" --erase "$LOOP" --acklog "$ACKLOG" \
	--count 100
expect_status 0
drive_detach
exit 0
