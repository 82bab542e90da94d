#!/bin/bash
# SPDX-License-Identifier: MIT
# P2, P9: every call of the collector fails, is short, or is its last (SIGKILL)
# in turn, while a writer runs against it. Whatever the writer has been told is
# in the log, the log is readable, an honest drive is never accused, a drive
# that lost what was confirmed is never let off, and the run goes on afterwards
# or it is said why not.
. "${0%/*}/lib.sh"
. "${0%/*}/../inject/walk.sh"

serves_or_ends() {
	[[ $(<"$TMP/collector.out") == 'listening on '* ]] || has_ended "$PID"
}

# serve PREFIX...: a collector; fails where it did not come to listen.
serve() {
	: >"$TMP/collector.out"
	"$@" "$BIN/plugpull-collector" --listen "$ADDRESS" --dir "$ACKDIR" \
		"${KEY[@]}" >"$TMP/collector.out" 2>"$TMP/collector.err" \
		</dev/null &
	PID=$!
	lib_pids=("$PID")
	soon serves_or_ends
	LISTENS=$(<"$TMP/collector.out")
	LISTENS=${LISTENS#listening on }
	[[ -n $LISTENS ]]
}

# Told to end, it ends: with 0, or with 2 and a sentence.
serve_no_more() {
	kill "$PID" 2>/dev/null
	soon has_ended "$PID"
	status=0
	{ wait "$PID" || status=$?; } 2>/dev/null
	cp "$TMP/collector.err" "$TMP/err"
	expect_no_crash
	[[ $status != 2 ]] || said collector
}

# write_cycle OPTIONS...: the writer, without faults of its own.
write_cycle() {
	rm -f "$TMP/writer.json"
	run writer --target "$DISK" --collector "${LISTENS:-$ADDRESS}" \
		"${KEY[@]}" --count 12 --sync flush:2 --queue-depth 4 \
		--json "$TMP/writer.json" --ack-timeout "$PATIENCE" \
		--erase "$DISK" "$@"
	value "$TMP/writer.json" confirmed
	CONFIRMED=${VALUE:-0}
	((status == 0)) && ((CONFIRMED != 12)) && bad "0 and $CONFIRMED of 12"
	((status == 0)) || said writer
}

judge() {
	run verifier --target "$DISK" --acklog "$LOG" \
		--json "$TMP/verdict.json"
}

# What the log promises of the cycle that was just written, in writes.
check_log() {
	local before=$1

	judge
	[[ $status == 3 ]] || bad "the honest drive got $status: $(
		cat "$TMP/out" "$TMP/err")"
	value "$TMP/verdict.json" durable_log
	((VALUE >= before + CONFIRMED)) ||
		bad "$CONFIRMED confirmed on $before, the log promises $VALUE"
}

# A new collector, a new cycle.
go_on() {
	PATIENCE=20s
	serve || bad "no collector afterwards: $(cat "$TMP/collector.err")"
	write_cycle --run "$ID"
	[[ $status == 0 ]] || bad "not gone on with: $(cat "$TMP/err")"
	serve_no_more
	check_log 0
}

# P4 where anything was confirmed: the drive loses all since cycle 1. Where
# nothing was, "kept" is right: nothing was promised that it has not, and what
# the log knows to have completed shows that it loses.
lose() {
	local confirmed=$1
	cp --no-target-directory "$TMP/disk.old" "$DISK"
	judge
	if ((confirmed > 0)); then
		[[ $status == 1 ]] ||
			bad "$confirmed confirmed and gone: $status"
	else
		[[ $status == [0123] ]] || bad "ended with $status"
	fi
}

# Cycle 2 of a run whose first cycle is good.
resumed() {
	local confirmed
	cp --no-target-directory "$TMP/disk.old" "$DISK"
	cp "$TMP/log.old" "$LOG"
	as collector
	PATIENCE=250ms
	serve "${INJECTED[@]}"
	write_cycle --run "$ID"
	confirmed=$CONFIRMED
	serve_no_more
	check_log 12
	cp "$DISK" "$TMP/disk.new"
	cp "$LOG" "$TMP/log.new"
	lose "$confirmed"
	cp --no-target-directory "$TMP/disk.new" "$DISK"
	go_on
}

# Cycle 1 of a new run: the log and its name come into being. A new writer may
# begin another run where this one has no log.
begun() {
	rm -rf "$ACKDIR"
	rm -f "$DISK"
	as collector
	PATIENCE=250ms
	serve "${INJECTED[@]}"
	write_cycle --size 3m
	serve_no_more
	LOG=$(echo "$ACKDIR"/*.acklog)
	if [[ ! -s $LOG ]]; then
		((CONFIRMED == 0)) || bad "$CONFIRMED confirmed, and no log"
	elif ((CONFIRMED > 0)); then
		check_log 0
		blank_slots "$DISK"
		judge
		[[ $status == 1 ]] || bad "blank, and $status"
	else
		judge
		[[ $status == [23] ]] || bad "honest, and $status: $(
			cat "$TMP/out")"
	fi
	PATIENCE=20s
	serve || bad "no collector afterwards: $(cat "$TMP/collector.err")"
	write_cycle --size 3m
	serve_no_more
	[[ $status == 0 ]] || bad "no new run: $(cat "$TMP/err")"
}

# An event that the campaign was told is on record is on record.
noted() {
	cp "$TMP/log.old" "$LOG"
	as collector
	PATIENCE=250ms
	serve "${INJECTED[@]}"
	run collector --send cut-asked --run "$ID" --text "here I am" \
		--connect "${LISTENS:-$ADDRESS}" "${KEY[@]}" \
		--timeout "$PATIENCE"
	((status == 0)) || said collector
	[[ $status == 2 ]] || grep -aqF "here I am" "$LOG" ||
		bad "told, and not on record"
	serve_no_more
	cp --no-target-directory "$TMP/disk.old" "$DISK"
	CONFIRMED=0
	check_log 12
}

# A run with one good cycle, in a folder of its own; OPTIONS of both ends.
prepare() {
	SPEC=none PATIENCE=20s
	DISK=$TMP/disk ACKDIR=$TMP/acks
	ADDRESS=unix:$TMP/collector.sock KEY=("$@")
	((${#KEY[@]} == 0)) || ADDRESS=127.0.0.1:0
	serve || fail "no collector"
	write_cycle --size 3m --seed 1
	serve_no_more
	value "$TMP/writer.json" run
	ID=$VALUE
	LOG=$ACKDIR/$ID.acklog
	cp "$DISK" "$TMP/disk.old"
	cp "$LOG" "$TMP/log.old"
}

new_logs() {
	prepare
	INJECT_PATH=$ACKDIR
	walk begun open EMFILE
	walk begun change ENOSPC
	walk begun lock EINTR
	walk_all begun write ENOSPC+ short
	walk_all begun sync lose cut
}

old_logs() {
	prepare
	INJECT_PATH=$ACKDIR
	walk resumed open EMFILE
	walk resumed read EIO short zero
	walk resumed status EIO
	walk resumed close EIO
	walk_all resumed sync lose cut
}

log_writes() {
	prepare
	INJECT_PATH=$ACKDIR
	walk_all resumed write torn ENOSPC+ EIO short EINTR kill
}

receiving() {
	prepare
	walk resumed accept ECONNABORTED EMFILE
	walk resumed recv ECONNRESET EINTR EAGAIN short zero
	walk resumed poll EINTR ENOMEM
}

sending() {
	prepare
	walk resumed socket EMFILE
	walk resumed send ECONNRESET EPIPE EINTR EAGAIN short kill
	walk resumed stdio ENOSPC
}

events() {
	prepare
	walk noted send ECONNRESET short kill
	walk noted recv ECONNRESET short
	INJECT_PATH=$ACKDIR
	walk_all noted write ENOSPC kill
	walk_all noted sync lose cut
}

tls() {
	run collector --new-key "$TMP/key"
	prepare --key "$TMP/key"
	walk resumed recv ECONNRESET short zero
	walk resumed send ECONNRESET EAGAIN short
}

memory() {
	prepare
	! has_memory || walk resumed memory ENOMEM
}

sides ${SIDES:-new_logs old_logs log_writes receiving sending events tls memory}
told
