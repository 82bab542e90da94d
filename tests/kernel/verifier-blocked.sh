#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: a block device that keeps its readers in the kernel, where nothing ends
# them, holds no verdict back: hung where the drive was asked and kept silent,
# else no verdict that says in which call. What waits is left behind, and is gone
# when the drive answers.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse

read -r _ _ _ SESSION _ < <(sed 's/.*) //' /proc/$$/stat)
awaken() {
	kill -CONT "$FUSE_PID"
}
at_end 'kill -CONT $FUSE_PID'

# verify_blocked LIMIT OPTIONS...: ends within LIMIT seconds.
verify_blocked() {
	local limit=$1 begun=$SECONDS
	shift
	rm -f "$TMP/verdict.json"
	RUN_TIMEOUT=$limit run verifier --target "$LOOP" --acklog "$ACKLOG" \
		--read-timeout 200ms --json "$TMP/verdict.json" "$@"
	[[ $status != 124 ]] || fail "the verifier waits for the drive"
	echo "table: $*: exit $status after $((SECONDS - begun)) s:" \
		"$(json "$TMP/verdict.json" .reason)"
}
# Who has been left to the drive: its threads have nothing any more but their
# name and their session.
left_behind() {
	local stat rest

	for stat in /proc/[0-9]*/task/*/stat; do
		rest=$(<"$stat") || continue
		[[ $rest == *'(plugpull-verifi) D'* ]] || continue
		read -r _ _ _ session _ <<<"${rest##*) }"
		[[ $session != "$SESSION" ]] || return 0
	done 2>/dev/null
	return 1
}
none_left() {
	! left_behind
}

# A drive that keeps silent about one place.
start_simdrive drive --size 18m --fault hangs --seed 1
drive_attach
write_on "$LOOP" --sync flush:16 --block-size 16k --seed 1 --queue-depth 32
under_load 300
power cut
writer_loses_drive
drive_detach
power restore
drive_attach
verify_blocked 60 --threads 2
expect_status 1
expect_equal classes "$(broken_classes)" hung
left_behind || fail "nothing waits for the drive: is this the kernel?"
power cut
wait_until 20 none_left
drive_detach
drive_stop

# One that answers nothing more: from the beginning; in the middle; and then with
# few places in its queue, so that even handing over a read waits.
rm -f "$ACKLOG"
truncate -s 34m "$TMP/slow.img"
start_server nbdkit -f -U "$SERVER_SOCKET" --filter=delay file \
	"$TMP/slow.img" rdelay=20ms
SIM_URI=$SERVER_URI
drive_attach
run writer --target "$LOOP" --erase "$LOOP" --acklog "$ACKLOG" --count 300
expect_status 0
kill -STOP "$FUSE_PID"
verify_blocked 60
expect_status 2
expect_err 'the drive does not answer: opening it has taken [0-9]+ ms'
awaken
wait_until 20 none_left

has_reads() {
	[[ $(awk '{ print $9 }' "/sys/block/${LOOP#/dev/}/stat") -gt 1 ]]
}
stop_when_it_reads() {
	wait_until 20 has_reads
	kill -STOP "$FUSE_PID"
}
silent() { # OPTIONS...
	stop_when_it_reads &
	lib_pids+=("$!")
	verify_blocked 60 "$@"
	left_behind || fail "nothing waits for the drive: is this the kernel?"
	awaken
	wait_until 20 none_left
}
silent --threads 1
[[ $status == [12] ]] || fail "silent in the middle: exit status $status"
# What is written there outlives the file behind the device.
QUEUE=/sys/block/${LOOP#/dev/}/queue
WAS=$(<"$QUEUE/nr_requests")
at_end "echo $WAS >$QUEUE/nr_requests"
for places in 1 2 4; do
	echo $places >"$QUEUE/nr_requests" && break
done 2>"$TMP/err"
silent --threads 2
expect_status 2
expect_err 'the drive does not answer: (handing over a read|reading) at byte '
expect_err '^plugpull-verifier: hint: '
expect_equal verdict "$(json "$TMP/verdict.json" .verdict)" none
echo "$WAS" >"$QUEUE/nr_requests"

# And it was the rig: now the promises are seen to be kept.
verify_on "$LOOP"
expect_kept
drive_detach
exit 0
