#!/bin/bash
# SPDX-License-Identifier: MIT
# QEMU's block layer between the writer and the simulated drive: qemu-nbd and
# qemu-storage-daemon, on a raw drive or a qcow2 image, judged as a whole. The
# cut is that of a host: the drive loses its cache, QEMU is killed, and the page
# cache in between goes with the block device. SIGKILL alone would lose nothing,
# for the page cache outlives a process.
#
#   none, writeback  a FLUSH reaches the drive: kept over an honest one.
#   writethrough     every write is followed by one, so that nothing is lost
#                    even where nothing was promised: kept, nothing shown.
#   unsafe           QEMU answers FLUSH and keeps it to itself: lost over an
#                    honest drive. Not over NBD: there QEMU counts a FLUSH as
#                    what even unsafe has to do, and sends it.
#   reconnect-delay  QEMU waits for an NBD drive that comes back, and sends once
#                    more what had no answer. Nobody hears that the writes
#                    before are gone, and the next FLUSH is answered well: lost.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse qemu-nbd qemu-storage-daemon qemu-img


NBD=driver=nbd,server.type=unix,server.path=$TMP/drive.sock
DESCRIPTION="fixed:behind qemu"

serve_nbd() { # CACHE OPTIONS...
	start_server qemu-nbd --persistent --shared 4 \
		--socket "$SERVER_SOCKET" --description "$DESCRIPTION" \
		--cache "$@"
}

serve_daemon() { # CACHE
	local disk=driver=host_device,node-name=disk,filename=$LOOP
	local export=type=nbd,id=export,node-name=disk,writable=on,name=

	disk+=,cache.direct=on
	[[ $1 != unsafe ]] || disk+=,cache.no-flush=on
	start_server qemu-storage-daemon --blockdev "$disk" \
		--nbd-server "addr.type=unix,addr.path=$SERVER_SOCKET" \
		--export "$export,description=$DESCRIPTION"
}

# serve STACK CACHE: the drive, through its block device but for NBD.
serve() {
	case $1 in
	raw | qcow2) serve_nbd "$2" --format "$1" "$LOOP" ;;
	nbd) serve_nbd "$2" --image-opts "$NBD" ;;
	reconnecting) serve_nbd "$2" --image-opts "$NBD,reconnect-delay=60" ;;
	daemon) serve_daemon "$2" ;;
	*) fail "no stack $1" ;;
	esac
}

# What is read comes from the media, and through a QEMU that hides nothing.
judge() { # STACK CACHE SYNC
	serve "$1" none
	verify_on "$SERVER_URI"
	echo "table: $1 $2 on $FAULT, $3: exit $status $(broken_classes)"
	kill_server
	[[ $3 == none ]] || expect_more_promised
}

# cut STACK CACHE WRITER OPTIONS...: the host's power, under load.
cut() {
	local stack=$1 cache=$2
	shift 2
	serve "$stack" "$cache"
	write_on "$SERVER_URI" --size 8m "$@"
	under_acks 5000
	power cut
	kill_server
	writer_loses_drive
	drive_detach
	power restore
	drive_attach
	judge "$stack" "$cache" "${*: -1}"
}

fresh() { # [qcow2]
	rm -f "$ACKLOG"
	PROMISED=0
	[[ $# == 0 ]] || { qemu-img create -q -f qcow2 "$LOOP" 8m &&
		sync -d "$LOOP"; } || fail "cannot make an image on $LOOP"
}

# A run that has nothing to lose yet: it lies on the media, whatever comes next.
filled() { # STACK
	serve "$1" none
	run_apart 60 writer --target "$SERVER_URI" --erase "$SERVER_URI" \
		--size 8m --count 100 --acklog "$ACKLOG"
	expect_status 0
	kill_server
	PROMISED=100
}

# With nothing promised, something must be seen to be lost: the control arm.
expect_shows_loss() {
	expect_kept
	expect_status 0
}

expect_shows_nothing() {
	expect_kept
	expect_status 3
}

start_drive() { # FAULT
	FAULT=$1
	rm -f "$TMP"/drive.*
	start_simdrive drive --size 12m --drain-ms 600000 --fault "$FAULT" \
		--seed 1
	drive_attach
	fresh
}

stop_drive() {
	drive_detach
	drive_stop
}

check_raw() {
	local sync

	for sync in flush:16 fua; do
		cut raw none --sync "$sync"
		expect_kept
	done
	cut raw writeback --sync flush:16
	expect_kept
	cut raw writeback --sync none
	expect_shows_loss
	cut raw writethrough --sync none
	expect_shows_nothing
	cut raw unsafe --sync flush:16
	expect_verdict LOST TORN
}

check_daemon() {
	fresh
	filled daemon
	cut daemon none --sync flush:16
	expect_kept
	cut daemon unsafe --sync flush:16
	expect_verdict LOST TORN
}

# The image is new and grows under load: its tables are data, too.
check_image() {
	fresh qcow2
	cut qcow2 writeback --no-fill --sync flush:16
	expect_kept
	cut qcow2 none --sync fua
	expect_kept
	cut qcow2 writeback --sync none
	expect_shows_loss
	fresh qcow2
	filled qcow2
	cut qcow2 unsafe --sync flush:16
	expect_verdict LOST TORN
	# All tables are gone with the data: an image without content.
	fresh qcow2
	cut qcow2 unsafe --no-fill --sync flush:16
	expect_verdict BLANK LOST
}

check_nbd() {
	fresh
	cut nbd none --sync flush:16
	expect_kept
	cut nbd unsafe --sync flush:16
	expect_kept
	cut nbd none --sync none
	expect_shows_loss
}

# The drive alone loses its power, and has it back before anybody is told. The
# writer is stopped in between: what it still waits for is sent again, and then
# its first and last FLUSH.
check_reconnecting() {
	fresh
	serve reconnecting none
	write_on "$SERVER_URI" --size 8m --sync flush:32768
	under_acks 2000
	power cut
	kill "$WRITER_PID"
	power restore
	end_of_writer
	expect_status 0
	kill_server
	judge reconnecting none flush:32768
	expect_verdict LOST TORN
}

start_drive none
check_raw
check_daemon
check_image
check_nbd
check_reconnecting
stop_drive
start_drive ignores-flush
filled nbd
cut nbd none --sync flush:16
expect_verdict LOST TORN
stop_drive
exit 0
