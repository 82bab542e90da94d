# SPDX-License-Identifier: MIT
# rootlib - kernel block devices for the tests that need root, sourced after
# ../e2e/lib.sh: the simulated drive behind nbdfuse and a loop device, loop
# devices over plain files, and an end that takes only these away again.
#
# Every loop device and mount made here lies on a path under $TMP. That is how
# they are known at the end, so nothing of anybody else's is ever touched.
# shellcheck shell=bash

# An nbdfuse that loses its server may abort: that is its way to go away.
ulimit -c 0
ROOTLIB=${BASH_SOURCE[0]}
LOOP=
LOOP_WANTED=
FUSE_MNT=
FUSE_PID=
PLAIN=
PROMISED=0
SERVER_SOCKET=$TMP/server.sock
SERVER_URI="nbd+unix:///?socket=$SERVER_SOCKET"
SERVER_PID=

root_needs() { # COMMAND...: beside what every root test needs
	requires nbdkit jq losetup "$@"
	requires_root
	[[ -e /dev/loop-control ]] || skip "needs loop devices"
	# Of what has ended the number may belong to somebody else by now.
	at_end 'TMP=$TMP BIN=$BIN bash "$ROOTLIB" clean $(jobs -rp)'
}

root_needs_fuse() { # COMMAND...
	root_needs nbdfuse fusermount3 "$@"
	[[ -e /dev/fuse ]] || skip "needs FUSE"
}

# Loop devices over files of this test.
root_loops() {
	losetup -nO NAME,BACK-FILE |
		awk -v top="$TMP/" 'index($2, top) == 1 { print $1 }'
}

root_mounts() { # TYPE REGEX: mount points of this test, the newest first
	awk -v top="$TMP/" -v type="$1" 'index($2, top) == 1 && $3 ~ type {
		print $2 }' /proc/mounts | tac
}

# A drive that hangs keeps its users in the kernel until it loses its power; so
# that goes first.
root_clean() { # PID...: of what the test has started, and still runs
	local control name

	for control in "$TMP"/*.control; do
		[[ -S $control ]] && timeout 10 "$BIN/plugpull-simdrive" cut \
			--control "$control"
	done
	for name; do
		[[ $(cat "/proc/$name/comm") == plugpull-w* ]] && kill "$name"
	done
	for name in $(root_mounts '^(ext|xfs|btrfs)'); do
		timeout 20 umount "$name" || umount -l "$name"
	done
	for name in $(root_loops); do
		root_free "$name"
	done
	for name in $(root_mounts '^fuse'); do
		fusermount3 -u "$name" || fusermount3 -uz "$name"
	done
	# Those that hooks have started, last: without them nobody knows a loop
	# device by its file.
	[[ -e $TMP/nbdfuse.pids ]] || return 0
	while read -r name; do
		[[ $(cat "/proc/$name/comm") != nbdfuse ]] || kill "$name"
	done <"$TMP/nbdfuse.pids"
}

# Others take and leave loop devices, too: is this one over a file of ours?
root_has() { # LOOP
	local file

	file=$(cat "/sys/block/${1#/dev/}/loop/backing_file" 2>/dev/null)
	[[ $file == "$TMP"/* || -n $PLAIN && $file == "$PLAIN"* ]]
}

root_has_not() { # LOOP
	! root_has "$1"
}

# A value written into write_cache outlives the file behind the device.
root_free() { # LOOP
	root_has "$1" || return 0
	echo 'write back' >"/sys/block/${1#/dev/}/queue/write_cache"
	losetup -d "$1"
}

root_detach() { # LOOP
	root_free "$1"
	wait_until 20 root_has_not "$1"
}

root_is_free() { # LOOP
	! root_has "$1"
}

# $LOOP is a new loop device over FILE, $LOOP_WANTED if that is set.
root_attach() { # FILE [OPTIONS]
	if [[ -n $LOOP_WANTED ]]; then
		wait_until 20 losetup --direct-io=on "$LOOP_WANTED" "$@"
		LOOP=$LOOP_WANTED
	else
		LOOP=$(losetup --find --show --direct-io=on "$@") ||
			skip "no loop device with direct I/O to be had"
	fi
	echo 'write back' >"/sys/block/${LOOP#/dev/}/queue/write_cache"
	expect_equal "write_cache of $LOOP" \
		"$(cat "/sys/block/${LOOP#/dev/}/queue/write_cache")" \
		'write back'
}

root_plain_loop() { # FILE SIZE: a loop device over a new plain file
	PLAIN=$1
	truncate -s "$2" "$1"
	root_attach "$1"
}

# The drive at $SIM_URI becomes a block device, $LOOP, of its own block size.
drive_attach() {
	FUSE_MNT=$TMP/fuse
	mkdir -p "$FUSE_MNT"
	background nbdfuse "$FUSE_MNT" "$SIM_URI" 2>>"$TMP/nbdfuse.err"
	FUSE_PID=$!
	wait_until 20 test -s "$FUSE_MNT/nbd"
	root_attach "$FUSE_MNT/nbd" --sector-size 4096
}

# A loop device that has let go of its file may hold it a moment longer.
root_unmounts_fuse() {
	fusermount3 -u "$FUSE_MNT" || ! grep -q " $FUSE_MNT " /proc/mounts
}

drive_detach() {
	[[ -z $LOOP ]] || root_detach "$LOOP"
	LOOP=
	[[ -z $FUSE_MNT ]] || wait_until 20 root_unmounts_fuse
	FUSE_MNT=
	wait_until 20 lib_has_ended "$FUSE_PID"
}

# start_server COMMAND...: somebody's NBD server at $SERVER_SOCKET.
start_server() {
	rm -f "$SERVER_SOCKET"
	background "$@" 2>>"$TMP/server.err"
	SERVER_PID=$!
	wait_until 20 server_listens
}

# The socket's file is there a moment before: only flag 00010000 says "listens".
server_listens() {
	grep -q " 00010000 .* $SERVER_SOCKET\$" /proc/net/unix
}

# A power cut, to all that it holds in memory of its own.
kill_server() {
	[[ -n $SERVER_PID ]] || return 0
	{
		kill -9 "$SERVER_PID"
		wait "$SERVER_PID"
	} 2>/dev/null
	SERVER_PID=
}

power() { # cut|restore
	timeout 100 "$BIN/plugpull-simdrive" "$1" --control "$SIM_CONTROL" \
		>/dev/null || fail "cannot $1 the simulated drive"
}

# What the kernel holds in mid-read cannot be killed, so that nothing that reads
# the drive runs in the foreground here: run_apart SECONDS NAME ARGS... takes
# the power from a drive that has not answered for so long. 1 if it had to.
run_apart() {
	local limit=$1 name=$2 pid deadline
	shift 2
	"$BIN/plugpull-$name" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null &
	pid=$!
	lib_pids+=("$pid")
	deadline=$((SECONDS + limit))
	until lib_has_ended "$pid" 2>/dev/null; do
		((SECONDS < deadline)) || break
		sleep 0.05
	done
	lib_has_ended "$pid" 2>/dev/null || power cut
	wait_until 20 lib_has_ended "$pid"
	status=0
	wait "$pid" || status=$?
	((SECONDS < deadline))
}

# write_on TARGET OPTIONS...: a writer in the background that has begun to
# write; its log is $ACKLOG.
write_on() {
	local target=$1
	shift
	rm -f "$TMP/writer.out" "$TMP/writer.json"
	"$BIN/plugpull-writer" --target "$target" --erase "$target" \
		--acklog "$ACKLOG" --json "$TMP/writer.json" "$@" \
		>"$TMP/writer.out" 2>"$TMP/writer.err" </dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 60 root_writes_or_ended
	grep -q '^cycle [0-9]* writing' "$TMP/writer.out" ||
		fail "the writer ended: $(cat "$TMP/writer.err")"
}

root_writes_or_ended() {
	lib_has_ended "$WRITER_PID" ||
		grep -q '^cycle [0-9]* writing' "$TMP/writer.out"
}

# under_load N: until the drive has had N more writes.
under_load() {
	local before

	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + $1))
}

# under_acks BYTES: until the log has grown by that. It shows that the writer
# goes on where nobody can see the drive's own counters move.
under_acks() {
	local before

	before=$(stat -c %s "$ACKLOG")
	wait_until 60 root_log_has $((before + $1))
}

root_log_has() {
	[[ $(stat -c %s "$ACKLOG") -ge $1 ]]
}

# The cut ends the writer, and it says so.
writer_loses_drive() {
	end_of_writer 30
	[[ $status == 2 ]] || fail "writer ended with $status after the cut: $(
		cat "$TMP/writer.err")"
}

# The host dies in the same moment as the drive: no last word from the writer,
# unless it was quicker.
kill_writer() {
	{
		kill -9 "$WRITER_PID"
		end_of_writer 30
	} 2>/dev/null
	[[ $status == 137 || $status == 2 ]] ||
		fail "the killed writer ended with $status"
}

verify_on() { # TARGET OPTIONS...
	local target=$1
	shift
	rm -f "$TMP/verdict.json"
	run_apart 60 verifier --target "$target" --acklog "$ACKLOG" \
		--json "$TMP/verdict.json" "$@" ||
		fail "the verifier waits for the drive without end"
}

# The honest verdict: nothing broken, by exit status and by count.
expect_kept() {
	expect_verdict INTACT NONE
}

# No verdict is about nothing: more was promised than $PROMISED.
expect_more_promised() {
	local promised

	promised=$(jq .durable_log "$TMP/verdict.json")
	[[ $promised -gt $PROMISED ]] || fail "the writer was promised nothing"
	PROMISED=$promised
}

drive_stop() {
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
}

# Cleaning is for a shell of its own: bash 5.2 may crash where a signal took it
# out of a wait.
if [[ $0 == "$ROOTLIB" && ${1-} == clean ]]; then
	shift
	root_clean "$@"
fi
