#!/bin/bash
# SPDX-License-Identifier: MIT
# A program in uninterruptible sleep cannot be ended by anybody: the agent says
# so, is there for the next call, and starts nothing that uses a drive before it
# is gone. The sleep is that of a writer on a frozen file system.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
. "${0%/*}/../rig/agentlib.sh"
root_needs mkfs.ext4 mount fsfreeze

root_plain_loop "$TMP/disk.img" 64M
mkfs.ext4 -q "$LOOP" 2>"$TMP/err" || fail "cannot make a file system"
mkdir "$TMP/mnt"
mount "$LOOP" "$TMP/mnt" || skip "cannot mount"
at_end "fsfreeze -u $TMP/mnt; umount $TMP/mnt"
fsfreeze -f "$TMP/mnt" || skip "cannot freeze a file system"

start_agent
start_call plugpull-writer write "$TMP/mnt/file"
asleep() {
	grep -q '^State:.*D' "/proc/$CHILD_PID/status"
}
wait_until 10 asleep
kill -9 "$CALL_PID"
wait_until 40 grep -q 'cannot be ended: it waits for its drive' "$TMP/agent.err"
call cat /proc/sys/kernel/random/boot_id
expect_status 0
for name in writer verifier; do
	call "plugpull-$name" status 3
	expect_status 126
	expect_err 'refused: a program of an earlier call still waits'
done
fsfreeze -u "$TMP/mnt"
wait_until 10 lib_has_ended "$CHILD_PID"
call plugpull-writer status 3
expect_status 3
