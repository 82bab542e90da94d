#!/bin/bash
# SPDX-License-Identifier: MIT
# A second opinion on the calibration: drives that are not our own, made of
# nbdkit's plugins and filters. The power cut is SIGKILL, and what is judged is
# what lies in the file.
#
#   cache=writeback   loses what was not flushed: honest. So it is below delay,
#                     readahead, blocksize (which cuts writes up, or makes them
#                     whole) and log, which bears witness to every FLUSH.
#   cache=unsafe      loses all of it: convicted.
#   fua               can drop FUA, and FLUSH with it: convicted.
#   cow, memory       a drive that forgets everything: convicted.
#   retry             connects again to a drive that has lost its power, and
#                     tells nobody: convicted with it.
#   error             a write or a FLUSH that fails ends the run, and nobody is
#                     convicted.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
requires nbdkit jq python3
for filter in cache fua exportname delay blocksize readahead log cow error \
	retry; do
	nbdkit --dump-plugin null --filter="$filter" >/dev/null 2>&1 ||
		skip "needs nbdkit's $filter filter"
done

# serve [FILTER...] [PARAMETER=VALUE...]: over $PLUGIN.
serve() {
	local word filters=() parameters=()

	for word; do
		case $word in
		*=*) parameters+=("$word") ;;
		*) filters+=("--filter=$word") ;;
		esac
	done
	start_server nbdkit -f -U "$SERVER_SOCKET" "${filters[@]}" \
		--filter=exportname "${PLUGIN[@]}" "${parameters[@]}" \
		"exportdesc=fixed:second opinion"
}

fresh() {
	rm -f "$TMP/media" "$ACKLOG"
	truncate -s 18M "$TMP/media"
	PLUGIN=(file "$TMP/media")
	REGION=(--block-size 16k --seed 1)
	PROMISED=0
}

begin() { # SYNC SERVE...
	serve "${@:2}"
	write_on "$SERVER_URI" --sync "$1" "${REGION[@]}"
	REGION=()
}

judge() { # WHAT SYNC
	serve
	verify_on "$SERVER_URI"
	echo "table: nbdkit $1, $2: exit $status $(broken_classes)"
	kill_server
	[[ $2 == none ]] || expect_more_promised
}

# kill_under_load WHAT SYNC SERVE...: a cycle on a drive of the given kind, that
# ends by its death; then it is judged by what lies in the file.
kill_under_load() {
	begin "${@:2}"
	under_acks 5000
	kill_server
	writer_loses_drive
	judge "$1" "$2"
}

check_cache() {
	local sync

	fresh
	for sync in flush:16 flush:1 fua flush:5ms; do
		kill_under_load writeback "$sync" cache cache=writeback
		expect_kept
	done
	kill_under_load writeback none cache cache=writeback
	expect_kept
	expect_status 0
	# The region lies there already, so only the workload can be lost.
	kill_under_load unsafe flush:16 cache cache=unsafe
	expect_verdict LOST TORN
	# A drive that loses fill and labels too is known by its description.
	fresh
	kill_under_load unsafe flush:16 cache cache=unsafe
	expect_verdict BLANK BLANK
}

# FUA, first made a flush of and then dropped; on flush:16 both modes likewise.
check_fua() {
	local sync

	for sync in fua flush:16; do
		fresh
		kill_under_load "writeback, FUA emulated" "$sync" fua cache \
			cache=writeback fuamode=emulate
		expect_kept
		kill_under_load "writeback, FUA discarded" "$sync" fua cache \
			cache=writeback fuamode=discard
		expect_verdict LOST TORN
	done
}

check_honest() {
	local sync filter

	fresh
	for filter in "delay wdelay=2ms" readahead "blocksize maxdata=4k" \
		"blocksize minblock=64k"; do
		# shellcheck disable=SC2086
		kill_under_load "$filter" flush:16 $filter cache cache=writeback
		expect_kept
	done
	for sync in flush:16 fua; do
		kill_under_load log "$sync" log cache cache=writeback \
			logfile="$TMP/witness"
		expect_kept
		python3 "${0%/*}/witness.py" "$TMP/witness" "$ACKLOG" \
			>"$TMP/out" || fail "the witness says otherwise"
		echo "table: nbdkit log, $sync: $(cat "$TMP/out")"
	done
}

check_forgetful() {
	fresh
	kill_under_load writeback flush:16 cache cache=writeback
	expect_kept
	kill_under_load cow flush:16 cow
	expect_verdict LOST TORN
	fresh
	PLUGIN=(memory 18M)
	kill_under_load memory flush:16
	expect_verdict BLANK BLANK
}

# break_under_load WHAT SERVE...: where $TMP/trigger is, every write to the file
# fails. The writer must end, for this reason.
break_under_load() {
	begin flush:16 "${@:2}" error error-pwrite-rate=100% \
		error-file="$TMP/trigger"
	under_acks 5000
	touch "$TMP/trigger"
	writer_loses_drive
	grep -q 'Input/output error' "$TMP/writer.err" ||
		fail "another reason: $(cat "$TMP/writer.err")"
	kill_server
	rm "$TMP/trigger"
	judge "$1" flush:16
	expect_kept
}

check_errors() {
	fresh
	break_under_load "error of a write"
	# The cache takes the writes; it is the FLUSH that meets the error.
	break_under_load "error of a flush" cache cache=writeback
	grep -qi flush "$TMP/writer.err" ||
		fail "the writer names no flush: $(cat "$TMP/writer.err")"
}

# The drive alone loses its power, and has it back before anybody is told. The
# writer is stopped in between: what it still waits for is sent again, and then
# its first and last FLUSH.
check_retry() {
	fresh
	start_simdrive drive --size 18m --drain-ms 600000 --seed 1
	PLUGIN=(nbd "socket=$SIM_SOCKET")
	begin flush:32768 retry retry-delay=1
	under_acks 5000
	power cut
	kill "$WRITER_PID"
	power restore
	end_of_writer
	expect_status 0
	kill_server
	judge retry flush:32768
	expect_verdict LOST TORN
	drive_stop
}

check_cache
check_fua
check_honest
check_forgetful
check_errors
check_retry
exit 0
