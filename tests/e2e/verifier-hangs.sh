#!/bin/bash
# SPDX-License-Identifier: MIT
# A read that is never answered is the verdict "hung", whatever becomes of the
# server that owes the answer. SEEDS=10 plays more drives.
. "${0%/*}/lib.sh"
requires jq nbdkit

for seed in $(seq "${SEEDS:-2}"); do
	for sync in flush:16 fua; do
		rm -f "$TMP"/drive.* "$ACKLOG"
		start_simdrive drive --size 18m --fault hangs --seed "$seed"
		one_cut 300 --sync "$sync" --queue-depth 32 --block-size 16k \
			--seed "$seed"
		expect_verdict hung none
		expect_out '^HUNG block [0-9]+: '
		kill "$SIM_PID"
		wait_until 20 lib_has_ended "$SIM_PID"
	done
done

# Two places hang. Each is met with its chunk, then alone, and alone once more
# when all else has been read. A server that is killed before that second
# question leaves no verdict (P9); once the first place has kept silent again
# and the second one is waited for, "hung" stands.
DRIVE=$TMP/drive.img
SOCKET=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCKET"
export DRIVE_FILE=$DRIVE HANGING=$TMP/hanging
cat >"$TMP/deaf.sh" <<'EOS'
case "$1" in
get_size) stat -Lc %s "$DRIVE_FILE" ;;
pread)
	for bad in 1134592 6377472; do
		if [ -f "$HANGING" ] && [ "$4" -le $bad ] &&
			[ $(($4 + $3)) -gt $bad ]; then
			echo $$ >>"$HANGING"
			exec sleep 300
		fi
	done
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
chmod +x "$TMP/deaf.sh"
truncate -s 10m "$DRIVE"
rm -f "$ACKLOG"
wake_up() {
	[[ -s $HANGING ]] && xargs kill <"$HANGING" 2>/dev/null
	rm -f "$HANGING"
}
at_end wake_up
serve() {
	rm -f "$SOCKET"
	background nbdkit -f -U "$SOCKET" --filter=exportname sh \
		"$TMP/deaf.sh" exportname= exportdesc=fixed:drive-1 \
		>"$TMP/nbd.out" 2>&1
	NBD_PID=$!
	wait_until 10 test -S "$SOCKET"
}
serve
run writer --target "$URI" --acklog "$ACKLOG" --count 300 --block-size 8k \
	--seed 7 --erase "$URI"
expect_status 0
hangs_reached() {
	[[ $(wc -l <"$HANGING") -ge $1 ]]
}
verify_until() { # HANGS: how many there are when the server is killed
	local pid
	: >"$HANGING"
	"$BIN/plugpull-verifier" --target "$URI" --acklog "$ACKLOG" \
		--threads 1 --read-timeout 2s --json "$TMP/verdict.json" \
		>"$TMP/out" 2>"$TMP/err" &
	pid=$!
	lib_pids+=("$pid")
	wait_until 90 hangs_reached "$1"
	kill -9 "$NBD_PID"
	{ wait "$NBD_PID"; } 2>/dev/null || true
	wait_until 90 lib_has_ended "$pid"
	status=0
	wait "$pid" || status=$?
	wake_up
}
verify_until 4
expect_status 2
expect_equal classes "$(broken_classes)" ""
serve
verify_until 6
expect_status 1
expect_equal classes "$(broken_classes)" hung
