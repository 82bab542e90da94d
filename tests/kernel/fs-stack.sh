#!/bin/bash
# SPDX-License-Identifier: MIT
# A file on ext4, xfs or btrfs on a loop device on the simulated drive: the
# whole stack is judged at once. Over an honest drive it keeps its promises
# across cuts, in a file that lies there already and in a new one, whose blocks
# have yet to be allocated or converted. Over a drive that ignores FLUSH it
# cannot, and is convicted: the promises, or the file system itself, are gone.
#
# A stack that is told to send no barriers (ext4 barrier=0, btrfs nobarrier) is
# refused: the drive is asked for nothing. Where that is accepted all the same,
# there is no verdict, whatever is lost, and the mount option is named. xfs had
# one too, until Linux 4.19.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse mount chattr

MNT=$TMP/mnt
mkdir "$MNT"

can_do() { # TYPE
	command -v "mkfs.$1" >/dev/null || return 1
	grep -qw "$1" /proc/filesystems || modprobe -q "$1" 2>/dev/null
}

mount_stack() {
	mount -t "$TYPE" -o "noatime${OPTIONS:+,$OPTIONS}" "$LOOP" "$MNT" \
		2>"$TMP/err"
}

# After a cut the file system is in trouble; all the same it must be let go.
unmount_stack() {
	if grep -q " $MNT " /proc/mounts; then
		umount "$MNT" || fail "cannot unmount $LOOP"
	fi
	drive_detach
}

is_drained() {
	[[ $(sim_counter dirty_bytes) == 0 ]]
}

start_stack() { # FAULT ORDER OPTIONS: the same media in another drive
	FAULT=$1
	OPTIONS=$3
	WHAT=$TYPE${OPTIONS:+ $OPTIONS}
	start_simdrive drive --size 320m --drain-ms 300 --drain-order "$2" \
		--fault "$FAULT" --seed 1
	drive_attach
}

stop_stack() {
	unmount_stack
	drive_stop
}

make_file_system() { # MKFS OPTIONS...
	"mkfs.$TYPE" -q "$@" "$LOOP" >"$TMP/out" 2>&1 ||
		fail "cannot make $TYPE on $LOOP"
	mount_stack || fail "cannot mount $LOOP"
	[[ $TYPE != btrfs ]] || {
		mkdir "$MNT/nodatacow" && chattr +C "$MNT/nodatacow"
	} || fail "cannot make a folder without copy-on-write"
}

# A file is made and filled, and in time it is on the media of any drive. So
# the cut is about the workload, and not about the file system's own making.
fresh_run() { # NAME
	FILE=$MNT/$1
	rm -f "$FILE" "$ACKLOG"
	run_apart 60 writer --target "$FILE" --size 18m --count 100 \
		--acklog "$ACKLOG"
	expect_status 0
	sync -f "$MNT"
	wait_until 20 is_drained
	PROMISED=100
}

# What reads FILE again comes from the media. Over an honest drive the file
# system must be there, over a liar it need not.
reboot_stack() {
	unmount_stack
	power restore
	# A file on xfs is known by its device number, too.
	[[ $TYPE != xfs ]] || LOOP_WANTED=$LOOP_BEFORE
	drive_attach
	LOOP_WANTED=
	mount_stack
}

# Until the writer had the answer to several flushes: a file system may need a
# while for each, where it has to send one.
under_flushes() { # SYNC
	local before

	before=$(sim_counter flushes)
	under_load 300
	[[ $1 == none || -n $OPTIONS ]] ||
		wait_until 60 lib_counter_reached flushes $((before + 12))
}

# cut_stack lives|dies WRITER OPTIONS...: a cycle, at whose end the host lives
# on and the writer has to notice, or dies in the same moment.
cut_stack() {
	local host=$1 what=$WHAT sync=${*: -1}
	shift
	write_on "$FILE" "$@"
	under_flushes "$sync"
	power cut
	if [[ $host == lives ]]; then
		writer_loses_drive
	else
		kill_writer
	fi
	LOOP_BEFORE=$LOOP
	what="table: $what on $FAULT, ${FILE#"$MNT/"}, $sync:"
	if reboot_stack; then
		verify_on "$FILE"
		echo "$what exit $status $(broken_classes)"
		[[ $sync == none ]] || expect_more_promised
	else
		status=gone
		echo "$what the file system is gone"
	fi
}

expect_stack_kept() {
	[[ $status != gone ]] || fail "the file system is gone"
	expect_kept
}

# With nothing promised, something must be seen to be lost: the control arm.
expect_stack_shows_loss() {
	expect_stack_kept
	expect_status 0
}

# btrfs does not return what its checksums do not fit: an error then.
expect_stack_convicted() {
	local class

	[[ $status != gone ]] || return 0
	expect_status 1
	for class in $(broken_classes); do
		[[ " lost torn unreadable " == *" $class "* ]] ||
			fail "$class, expected lost"
	done
}

check_honest() {
	local sync

	fresh_run old
	cut_stack lives --sync flush:16
	expect_stack_kept
	cut_stack dies --sync fua
	expect_stack_kept
	cut_stack dies --sync none
	expect_stack_shows_loss
	if [[ $TYPE == btrfs ]]; then
		fresh_run nodatacow/old
		for sync in flush:16 fua; do
			cut_stack lives --sync "$sync"
			expect_stack_kept
		done
	fi
	rm "$ACKLOG"
	FILE=$MNT/new
	PROMISED=0
	cut_stack dies --size 18m --no-fill --sync flush:4
	expect_stack_kept
}

# check_liar FAULT MOUNT OPTIONS: with a run that has lost nothing before.
check_liar() {
	start_stack "$1" fifo "$2"
	mount_stack || fail "cannot mount $LOOP"
	fresh_run old
	cut_stack dies --sync flush:16
	expect_stack_convicted
	stop_stack
}

# check_barrierless MOUNT OPTIONS: an honest drive that is never asked.
check_barrierless() {
	start_stack none fifo "$1"
	mount_stack || fail "cannot mount $LOOP"
	rm -f "$ACKLOG" "$MNT/asked"
	run_apart 60 writer --target "$MNT/asked" --size 18m --count 100 \
		--acklog "$ACKLOG"
	expect_status 2
	expect_err "$TYPE on $MNT is mounted without barriers, and sends no"
	mount -o "remount,barrier" "$MNT" || fail "cannot remount $LOOP"
	fresh_run old
	mount -o "remount,$1" "$MNT" || fail "cannot remount $LOOP"
	cut_stack dies --accept-elided-flush --sync flush:16
	if [[ $status != gone ]]; then
		expect_status 2
		jq -r .unsent "$TMP/verdict.json" |
			grep -q 'without barriers' ||
			fail "the mount option is not named"
	fi
	stop_stack
}

check_type() { # TYPE BARRIERS MKFS OPTIONS...
	TYPE=$1
	rm -f "$TMP"/drive.*
	start_stack none random ""
	make_file_system "${@:3}"
	check_honest
	stop_stack
	[[ -z $2 ]] || check_barrierless "$2"
	check_liar ignores-flush ""
}

# ext4 without a journal has barriers all the same; with all data in the
# journal it has no direct I/O, and is refused (P10).
check_ext4_more() {
	rm -f "$TMP"/drive.*
	TYPE=ext4
	start_stack none random ""
	make_file_system -F -O ^has_journal
	fresh_run old
	WHAT="ext4 without a journal"
	cut_stack dies --sync flush:16
	expect_stack_kept
	unmount_stack
	drive_attach
	OPTIONS=data=journal
	make_file_system -F
	run_apart 60 writer --target "$MNT/file" --size 18m --count 100 \
		--acklog "$TMP/refused.acklog"
	expect_status 2
	expect_err 'refuses direct I/O'
	echo "table: ext4 data=journal: refused, no direct I/O"
	stop_stack
}

# One line a file system: how to switch its barriers off, and how it is made.
left_out=
for row in 'ext4 barrier=0 -F' 'xfs - -f -K' 'btrfs nobarrier -f -K -m single'
do
	read -r type barriers options <<<"$row"
	[[ $barriers != - ]] || barriers=
	# shellcheck disable=SC2086
	if can_do "$type"; then
		check_type "$type" "$barriers" $options
	else
		left_out+=" $type"
	fi
done
! can_do ext4 || check_ext4_more
[[ -z $left_out ]] || skip "this machine cannot make or mount:$left_out"
exit 0
