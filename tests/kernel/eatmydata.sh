#!/bin/bash
# SPDX-License-Identifier: MIT
# eatmydata, whose fsync(), fdatasync() and O_SYNC do nothing, over an honest
# drive. Who is convicted depends on how each program flushes:
#
#   around plugpull-writer    kept: its FLUSH is IOCB_CMD_FDSYNC of io_submit(),
#                             or a system call of its own, and its FUA is
#                             RWF_DSYNC. No library sees any of them.
#   around nbdkit's file plugin, and qemu-nbd with aio=threads or native
#                             lost, FUA as well: their FLUSH is fdatasync().
#   around qemu-nbd with aio=io_uring
#                             kept: its FLUSH is a request in the ring.
#
# The cut is that of a host: the drive loses its cache, the server is killed and
# the page cache in between goes with the block device.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse eatmydata qemu-nbd qemu-img qemu-io mkfs.ext4 mount \
	wipefs

MNT=$TMP/mnt
mkdir "$MNT"

is_eaten() { # PID
	grep -q libeatmydata "/proc/$1/maps"
}

reboot() {
	power cut
	kill_server
	writer_loses_drive
	drive_detach
	power restore
	drive_attach
}

tell() { # WHAT
	echo "table: $1: exit $status $(broken_classes)"
	expect_more_promised
}

# A run of its own, and what it promised before the cut lies on the media.
filled() { # TARGET
	rm -f "$ACKLOG"
	run_apart 60 writer --target "$1" --erase "$1" --size 8m --count 100 \
		--acklog "$ACKLOG"
	expect_status 0
	PROMISED=100
}

write_eaten() { # TARGET OPTIONS...
	LD_PRELOAD=libeatmydata.so ASAN_OPTIONS=verify_asan_link_order=0 \
		write_on "$@"
	is_eaten "$WRITER_PID" || fail "the writer runs without eatmydata"
	under_acks 5000
}

check_writer() { # SYNC [OPTIONS...]
	write_eaten "$LOOP" --sync "$@"
	reboot
	verify_on "$LOOP"
	tell "eatmydata plugpull-writer, the drive, $*"
	expect_kept
}

# Of a new file even the fsync() of its making is eaten.
check_writer_on_file() { # SYNC
	rm "$ACKLOG"
	PROMISED=0
	mkfs.ext4 -q -F "$LOOP" || fail "cannot make a file system on $LOOP"
	mount "$LOOP" "$MNT" || fail "cannot mount $LOOP"
	write_eaten "$MNT/new" --size 6m --no-fill --sync "$1"
	power cut
	kill_writer
	umount "$MNT" || fail "cannot unmount $LOOP"
	drive_detach
	power restore
	drive_attach
	mount "$LOOP" "$MNT" || fail "cannot mount $LOOP"
	verify_on "$MNT/new"
	umount "$MNT" || fail "cannot unmount $LOOP"
	wipefs -q -a "$LOOP" || fail "cannot take the file system from $LOOP"
	tell "eatmydata plugpull-writer, a new file on ext4, $1"
	expect_kept
}

# The drive may have another number after each cut.
server_of() { # nbdkit|threads|native|io_uring: in $SERVER
	SERVER=(qemu-nbd --persistent --shared=4 --socket="$SERVER_SOCKET"
		--format=raw --cache=none --aio="$1"
		--description="fixed:behind qemu" "$LOOP")
	[[ $1 != nbdkit ]] || SERVER=(nbdkit -f -U "$SERVER_SOCKET"
		--filter=exportname file "$LOOP"
		"exportdesc=fixed:behind nbdkit")
}

name_of() {
	[[ $1 == nbdkit ]] && echo nbdkit || echo "qemu-nbd aio=$1"
}

serve() { # plain|eatmydata KIND: the same server, but for the wrapper
	server_of "$2"
	if [[ $1 == plain ]]; then
		start_server "${SERVER[@]}"
	else
		start_server eatmydata "${SERVER[@]}"
		is_eaten "$SERVER_PID" || fail "$2 runs without eatmydata"
	fi
}

cut_server() { # plain|eatmydata KIND SYNC
	serve "$1" "$2"
	write_on "$SERVER_URI" --size 8m --sync "$3"
	under_acks 5000
	reboot
	serve plain "$2"
	verify_on "$SERVER_URI"
	kill_server
	tell "$1 $(name_of "$2"), $3"
}

# check_server EARNED KIND SYNC: first as it is, where it must be honest.
check_server() {
	serve plain "$2"
	filled "$SERVER_URI"
	kill_server
	cut_server plain "$2" "$3"
	expect_kept
	cut_server eatmydata "$2" "$3"
	expect_verdict "$1" TORN
}

# io_uring may be forbidden, or left out of QEMU.
has_uring() {
	qemu-img create -q -f raw "$TMP/uring.img" 1m
	timeout 20 qemu-io -f raw --cache=none --aio=io_uring -c 'flush' \
		"$TMP/uring.img" >/dev/null 2>&1
}

start_simdrive drive --size 20m --drain-ms 600000 --seed 1
drive_attach
filled "$LOOP"
check_writer flush:16
check_writer fua
check_writer flush:1 --queue-depth 1 # waits for it itself
check_writer_on_file flush:16
check_server LOST nbdkit flush:16
check_server LOST nbdkit fua
check_server LOST threads flush:16
check_server LOST native flush:16
has_uring || skip "QEMU has no io_uring here"
check_server INTACT io_uring flush:16
exit 0
