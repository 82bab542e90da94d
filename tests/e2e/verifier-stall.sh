#!/bin/bash
# SPDX-License-Identifier: MIT
# A rig that stands still for longer than --read-timeout while an honest drive
# is read accuses nobody (P9), at the beginning, in the middle, for twice the
# time; a server that is stopped neither.
. "${0%/*}/lib.sh"
requires jq nbdkit

DRIVE=$TMP/drive.img
SOCKET=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCKET"
# Reads behind the first FREE ones wait while there is a file STILL.
export DRIVE_FILE=$DRIVE STILL=$TMP/still READS=$TMP/reads FREE=$TMP/free
cat >"$TMP/still.sh" <<'EOS'
case "$1" in
get_size) stat -Lc %s "$DRIVE_FILE" ;;
pread)
	echo "$4" >>"$READS"
	if [ "$(wc -l <"$READS")" -gt "$(cat "$FREE")" ]; then
		echo "$4" >>"$READS.held"
		while [ -f "$STILL" ]; do sleep 0.02; done
	fi
	dd if="$DRIVE_FILE" iflag=skip_bytes,count_bytes skip="$4" count="$3" \
		bs=65536 status=none
	;;
pwrite)
	dd of="$DRIVE_FILE" oflag=seek_bytes seek="$4" bs=65536 conv=notrunc \
		status=none
	;;
can_write | can_flush) exit 0 ;;
flush) exit 0 ;;
block_size) echo 4096 4096 1048576 ;;
thread_model) echo parallel ;;
*) exit 2 ;;
esac
EOS
chmod +x "$TMP/still.sh"
truncate -s 4m "$DRIVE"
echo 0 >"$FREE"
# A server for each reading: some abort when a client leaves an answer behind.
serve() {
	rm -f "$SOCKET"
	background nbdkit -f -U "$SOCKET" --filter=exportname sh \
		"$TMP/still.sh" exportname= exportdesc=fixed:drive-1 \
		>"$TMP/nbd.out" 2>&1
	NBD_PID=$!
	wait_until 10 test -S "$SOCKET"
}
serve
run writer --target "$URI" --acklog "$TMP/log" --count 100 --block-size 8k \
	--seed 7 --erase "$URI"
expect_status 0
kill "$NBD_PID"

has_passed() { # NANOSECONDS since 1970
	[[ $(date +%s%N) -ge $1 ]]
}
verify_meanwhile() { # COMMAND...: run while the verifier reads
	: >"$READS"
	rm -f "$READS.held"
	serve
	"$BIN/plugpull-verifier" --target "$URI" --acklog "$TMP/log" \
		--threads 2 --read-timeout 500ms --json "$TMP/verdict.json" \
		>"$TMP/out" 2>"$TMP/err" &
	VERIFIER_PID=$!
	lib_pids+=("$VERIFIER_PID")
	"$@"
	wait_until 60 lib_has_ended "$VERIFIER_PID"
	status=0
	wait "$VERIFIER_PID" || status=$?
	[[ $status == 2 || $status == 3 ]] || fail "$*: exit status $status"
	expect_equal classes "$(broken_classes)" ""
	kill "$NBD_PID" 2>/dev/null || true
}
stand_still() { # MILLISECONDS from the first read that is held on
	wait_until 20 test -s "$READS.held"
	wait_until 20 has_passed $(($(date +%s%N) + $1 * 1000000))
	rm -f "$STILL"
}
stop_server() {
	wait_until 20 test -s "$READS.held"
	kill -STOP "$NBD_PID"
	rm -f "$STILL"
	wait_until 20 has_passed $(($(date +%s%N) + 1000000000))
	kill -CONT "$NBD_PID"
}
for free in 0 2; do
	echo "$free" >"$FREE"
	for held_ms in 1000 1300; do
		: >"$STILL"
		verify_meanwhile stand_still "$held_ms"
	done
done
: >"$STILL"
verify_meanwhile stop_server
