#!/bin/bash
# SPDX-License-Identifier: MIT
# A drive that does not answer holds nobody up: the list of drives says so of it,
# and tells of all others.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse

root_plain_loop "$TMP/good.img" 32m
GOOD=$LOOP
start_simdrive drive --size 32m
drive_attach
HUNG=$LOOP
# What stands between the drive and the kernel: its requests wait in there.
kill -STOP "$FUSE_PID"
at_end "kill -CONT $FUSE_PID"
RUN_TIMEOUT=40 run writer --list --json "$TMP/list.json"
expect_status 0
expect_out "^${HUNG#/dev/} +32.0M +loop .* unknown: does not answer\$"
expect_out "^${GOOD#/dev/} +32.0M +loop .* yes: "
kill -CONT "$FUSE_PID"
list_frees() {
	run writer --list
	grep -Eq "^${HUNG#/dev/} +32.0M +loop .* yes: " "$TMP/out"
}
wait_until 30 list_frees
drive_detach
root_detach "$GOOD"
exit 0
