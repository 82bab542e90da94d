#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: an NBD server that ends in the middle is the rig's trouble. A drive that
# answers some reads with errors or none at all is the drive's.
. "${0%/*}/lib.sh"
requires jq nbdkit

DRIVE=$TMP/drive.img
LOG=$TMP/run.acklog
SOCKET=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCKET"

# serve FILTER...: the drive over NBD, with its own serial number.
serve() {
	rm -f "$SOCKET"
	background nbdkit -f -U "$SOCKET" --filter=exportname "$@" \
		exportname= exportdesc=fixed:drive-1 >"$TMP/nbd.out" 2>&1
	NBD_PID=$!
	wait_until 10 test -S "$SOCKET"
}

end_server() {
	kill -9 "$NBD_PID" 2>/dev/null
	{ wait "$NBD_PID"; } 2>/dev/null || true
}

judge() {
	run verifier --target "$URI" --acklog "$LOG" --json "$TMP/verdict.json" \
		--read-timeout "${READ_TIMEOUT:-20s}" "$@"
}

truncate -s 10m "$DRIVE"
serve --filter=blocksize-policy file "$DRIVE" blocksize-minimum=4096
run writer --target "$URI" --acklog "$LOG" --count 3000 --block-size 8k \
	--seed 7 --erase "$URI"
expect_status 0
judge
expect_status 3
end_server

# Nobody serves.
rm -f "$SOCKET"
judge
expect_status 2
expect_err 'cannot (open|connect)'

# Reads of one place fail: the block is named, and only it.
cat >"$TMP/bad.sh" <<'EOF'
case "$1" in
get_size) stat -Lc %s "$DRIVE_FILE" ;;
pread)
	bad=$((1048576 + 81920 + 4096))
	if [ "$4" -le $bad ] && [ $(($4 + $3)) -gt $bad ]; then
		if [ "$ERROR_NAME" = hang ]; then
			echo $$ >>"$HANGING"
			exec sleep 300
		fi
		echo "$ERROR_NAME bad block" >&2
		exit 1
	fi
	dd if="$DRIVE_FILE" iflag=skip_bytes,count_bytes skip="$4" count="$3" \
		bs=65536 status=none
	;;
block_size) echo 4096 4096 1048576 ;;
thread_model) echo parallel ;;
*) exit 2 ;;
esac
EOF
chmod +x "$TMP/bad.sh"
export DRIVE_FILE=$DRIVE ERROR_NAME=EIO HANGING=$TMP/hanging
serve sh "$TMP/bad.sh"
judge
expect_status 1
expect_equal classes "$(broken_classes)" unreadable
expect_equal offset "$(json "$TMP/verdict.json" '.findings[0].offset')" \
	$((1048576 + 81920 + 4096))
atoms=$(json "$TMP/verdict.json" .unreadable.atoms)
[[ $atoms -ge 1 && $atoms -le 8 ]] || fail "$atoms atoms unreadable"
end_server

# The drive says that it is dead.
export ERROR_NAME=ESHUTDOWN
serve sh "$TMP/bad.sh"
judge
expect_status 1
expect_equal classes "$(broken_classes)" gone
end_server

# One place is never answered: hung, by its block, and the tool ends.
export ERROR_NAME=hang
wake_up() { # the reads that are never answered
	[[ -s $TMP/hanging ]] || return 0
	xargs kill <"$TMP/hanging" 2>/dev/null
	rm -f "$TMP/hanging"
}
at_end wake_up
serve sh "$TMP/bad.sh"
READ_TIMEOUT=2s judge --threads 1
expect_status 1
expect_equal classes "$(broken_classes)" hung
expect_equal offset "$(json "$TMP/verdict.json" '.findings[0].offset')" \
	$((1048576 + 81920 + 4096))
end_server

# The server is killed while the scan waits for that place.
wake_up
serve sh "$TMP/bad.sh"
"$BIN/plugpull-verifier" --target "$URI" --acklog "$LOG" --threads 1 \
	--read-timeout 50s --json "$TMP/verdict.json" >"$TMP/out" \
	2>"$TMP/err" &
pid=$!
lib_pids+=("$pid")
wait_until 10 test -s "$TMP/hanging"
end_server
wait_until 30 lib_has_ended "$pid"
status=0
wait "$pid" || status=$?
expect_status 2
expect_equal verdict "$(json "$TMP/verdict.json" .verdict)" none
expect_out '^verdict: no verdict: .* could not be read to its end, and not for the drive.s reasons'
