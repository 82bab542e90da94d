#!/bin/bash
# SPDX-License-Identifier: MIT
# A second opinion on the calibration: drives that are not our own. nbdkit's
# cache filter loses what was not flushed when it is killed (writeback), or all
# of it (unsafe), and its fua filter can drop FUA, and FLUSH with it. The honest
# ones are acquitted, the others convicted, through the NBD target.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
requires nbdkit jq
for filter in cache fua exportname; do
	nbdkit --dump-plugin null --filter="$filter" >/dev/null 2>&1 ||
		skip "needs nbdkit's $filter filter"
done

SOCKET=$TMP/nbd.sock
URI="nbd+unix:///?socket=$SOCKET"

serve() { # [FILTER...] [PARAMETER=VALUE...]
	local word filters=()

	for word; do
		[[ $word == *=* ]] || filters+=("--filter=$word")
	done
	rm -f "$SOCKET"
	background nbdkit -f -U "$SOCKET" "${filters[@]}" --filter=exportname \
		file "$TMP/media" "exportdesc=fixed:second opinion" \
		${1+$(printf '%s\n' "$@" | grep '=')}
	NBDKIT_PID=$!
	wait_until 20 test -S "$SOCKET"
}

kill_drive() {
	{
		kill -9 "$NBDKIT_PID"
		wait "$NBDKIT_PID"
	} 2>/dev/null
}

writes_confirmed() { # BYTES: the log has grown to that
	[[ $(stat -c %s "$ACKLOG") -ge $1 ]]
}

# kill_under_load WHAT SYNC SERVE...: a cycle on a drive of the given kind, that
# ends by its death; then it is judged by what lies in the file.
kill_under_load() {
	local what=$1 sync=$2 start=0
	shift 2
	[[ ! -e $ACKLOG ]] || start=$(stat -c %s "$ACKLOG")
	serve "$@"
	write_on "$URI" --sync "$sync" "${REGION[@]}"
	wait_until 60 writes_confirmed $((start + 20000))
	kill_drive
	writer_loses_drive
	serve
	verify_on "$URI"
	echo "table: nbdkit $what, $sync: exit $status $(broken_classes)"
	kill_drive
	REGION=()
}

fresh() {
	rm -f "$TMP/media" "$ACKLOG"
	truncate -s 18M "$TMP/media"
	REGION=(--block-size 16k --seed 1)
}

fresh
for sync in flush:16 flush:1 fua none flush:5ms; do
	kill_under_load writeback $sync cache cache=writeback
	expect_kept
done
# The region lies there already, so only the workload can be lost.
kill_under_load unsafe flush:16 cache cache=unsafe
expect_verdict LOST TORN

# A drive that loses the fill and the labels too is known by its description.
fresh
kill_under_load unsafe flush:16 cache cache=unsafe
[[ $status == 1 ]] || fail "exit $status, expected 1"
[[ " $(broken_classes) " == *" blank "* ]] || fail "nothing is blank"

# FUA, first made a flush of and then dropped; on flush:16 both modes likewise.
for sync in fua flush:16; do
	fresh
	kill_under_load "writeback, FUA emulated" $sync fua cache \
		cache=writeback fuamode=emulate
	expect_kept
	kill_under_load "writeback, FUA discarded" $sync fua cache \
		cache=writeback fuamode=discard
	expect_verdict LOST TORN
done
exit 0
