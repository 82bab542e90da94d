#!/bin/bash
# SPDX-License-Identifier: MIT
# The conviction table on a kernel block device: every fault of the simulated
# drive, met through FUSE and a loop device by libaio and the kernel's FLUSH,
# earns its own class and no other, and the honest drive is acquitted (31).
#
# A loop device makes write and FLUSH of a FUA write. So a drive that lies about
# FUA only must be acquitted here, and one that ignores FLUSH is convicted with
# --sync fua too.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse

# Some other file, of this test or not, has taken the number of the drive.
attach_elsewhere() { # LOOP
	truncate -s 1M "$TMP/other"
	losetup "$1" "$TMP/other" 2>/dev/null || ! root_is_free "$1" ||
		fail "cannot take $1"
	drive_attach
	[[ $LOOP != "$1" ]] || fail "the drive came back under its old number"
	[[ $(losetup -nO BACK-FILE "$1") != "$TMP/other" ]] || losetup -d "$1"
}

# The verdict is on record while the hanging read still holds the process in
# the kernel; the loss of power lets it go.
verify_hanging() {
	rm -f "$TMP/verdict.json"
	"$BIN/plugpull-verifier" --target "$LOOP" --acklog "$ACKLOG" \
		--read-timeout 1s --json "$TMP/verdict.json" >"$TMP/out" \
		2>"$TMP/err" </dev/null &
	VERIFIER_PID=$!
	lib_pids+=("$VERIFIER_PID")
	wait_until 60 jq -e .verdict "$TMP/verdict.json"
	power cut
	wait_until 20 lib_has_ended "$VERIFIER_PID"
	status=0
	wait "$VERIFIER_PID" || status=$?
}

# The region is filled on an honest drive, once: the kernel splits and reorders
# what a fill writes, so that a fault could not tell it from the workload.
fill_once() {
	start_simdrive drive --size 18m
	drive_attach
	run_apart 60 writer --target "$LOOP" --erase "$LOOP" --count 64 \
		--acklog "$TMP/filled.acklog" --block-size 16k --seed 1
	expect_status 0
	drive_detach
	drive_stop
	mv "$SIM_MEDIA" "$TMP/filled.media"
}

convict_loop() { # FAULT SYNC EARNED ALSO
	local before

	cp "$TMP/filled.media" "$TMP/drive.media"
	cp "$TMP/filled.acklog" "$ACKLOG"
	start_simdrive drive --size 18m --fault "$1" --seed 1
	drive_attach
	before=$LOOP
	# A fault takes what the drive holds durable. At a small depth that is
	# little more than what the writer was told of.
	write_on "$LOOP" --sync "$2" --queue-depth 4
	under_load 300
	power cut
	writer_loses_drive
	drive_detach
	power restore
	attach_elsewhere "$before"
	if [[ $1 == hangs ]]; then
		verify_hanging
	else
		verify_on "$LOOP" --read-timeout 5s
	fi
	expect_verdict "$3" "$4"
	echo "table: $1 $2: exit $status $(broken_classes)"
	drive_detach
	drive_stop
}

fill_once
while read -r name _ flush _ also; do
	convict_loop "$name" flush:16 "$flush" "$also"
done < <(faults)
convict_loop ignores-flush fua LOST NONE
convict_loop ignores-fua fua INTACT NONE

# Without FLUSH the honest drive loses what it never promised to keep, and this
# rig shows it.
convict_loop none none INTACT NONE
expect_equal "exit status of the control run" "$status" 0
exit 0
