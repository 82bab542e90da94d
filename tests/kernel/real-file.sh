#!/bin/bash
# SPDX-License-Identifier: MIT
# Files on real file systems that nobody cuts: whatever is done to the writer,
# stopped, resumed or killed in mid-write, the drive below is never accused
# (P9, P3), with the log and by its own records alone (P5).
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs mkfs.ext4 mount

DIR=$(mktemp -d /var/tmp/plugpull-root.XXXXXX) || skip "cannot use /var/tmp"
at_end "rm -rf $DIR"

judge() { # FILE
	verify_on "$1"
	expect_kept
	run_apart 60 verifier --target "$1" --json "$TMP/verdict.json"
	expect_kept
}

stop_and_go_on() { # FILE OPTIONS...: as told
	local file=$1
	shift
	run_apart 60 writer --target "$file" --acklog "$ACKLOG" "$@"
	expect_status 0
	judge "$file"
}

kill_and_go_on() { # FILE OPTIONS...: in mid-run, no chance to say a word
	local file=$1
	shift
	write_on "$file" "$@"
	wait_until 20 test "$(stat -c %s "$ACKLOG")" -gt 0
	kill -9 "$WRITER_PID"
	end_of_writer
	expect_equal "the killed writer's end" "$status" 137
	judge "$file"
}

check_folder() { # DIR
	local file=$1/drive.img sync

	rm -f "$ACKLOG"
	stop_and_go_on "$file" --size 18m --streams 2 --count 3000
	for sync in flush:16 flush:2ms fua none; do
		stop_and_go_on "$file" --sync "$sync" --count 1000
		kill_and_go_on "$file" --sync "$sync"
	done
	stop_and_go_on "$file" --runtime 200ms --queue-depth 1 --sync flush:1
	expect_equal "cycles" "$(grep -c . <(
		jq -r '.run' "$TMP/verdict.json"))" 1
	rm "$file"
}

check_folder "$DIR"

root_plain_loop "$DIR/disk.img" 128M
mkfs.ext4 -q -F "$LOOP" || fail "cannot make a file system on $LOOP"
mkdir "$TMP/mnt"
mount "$LOOP" "$TMP/mnt" || fail "cannot mount $LOOP"
check_folder "$TMP/mnt"
umount "$TMP/mnt"
root_detach "$LOOP"
