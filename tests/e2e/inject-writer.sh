#!/bin/bash
# SPDX-License-Identifier: MIT
# P1, P2, P9: every call of the writer fails, is short, or is its last in turn:
# files, libaio, what the drive answers, its network, its memory. It ends with
# 0 and everything durable, or with 2 and a sentence. Nothing is acknowledged
# that P1 does not cover, what was confirmed is in the log, an honest drive is
# never accused, a drive that lost what was confirmed is never let off, and the
# run can be gone on with.
. "${0%/*}/lib.sh"
. "${0%/*}/../inject/walk.sh"

WRITES=12

# Where the acknowledgements go: a file, or a collector that has no faults.
acks() {
	if [[ -n ${COLLECTOR-} ]]; then
		ACKS=(--collector "$COLLECTOR" "${KEY[@]}" --ack-timeout 2s
			${ID:+--run "$ID"})
	else
		ACKS=(--acklog "$LOG")
	fi
}

# write_by PROGRAM OPTIONS...: one cycle, by run or by inject.
write_by() {
	local program=$1
	shift
	acks
	rm -f "$TMP/writer.json"
	"$program" writer --target "$TARGET" --erase "$TARGET" "${ACKS[@]}" \
		--sync flush:2 --queue-depth 4 --count $WRITES \
		--drain-timeout 250ms --json "$TMP/writer.json" "$@"
	value "$TMP/writer.json" confirmed
	CONFIRMED=${VALUE:-0}
	value "$TMP/writer.json" durable
	DURABLE=${VALUE:-0}
	((status != 0)) || ((CONFIRMED == WRITES)) ||
		bad "0, and $CONFIRMED confirmed"
	[[ $status != 2 ]] || said writer
	((CONFIRMED <= DURABLE)) ||
		bad "$CONFIRMED confirmed, $DURABLE durable"
}

judge() {
	run verifier --target "$TARGET" --acklog "$LOG" \
		--json "$TMP/verdict.json"
	value "$TMP/verdict.json" durable_log
	PROMISED=${VALUE:-0}
}

expect_honest() { # PROMISED AT LEAST
	judge
	[[ $status == [03] ]] || bad "the honest drive got $status: $(
		cat "$TMP/out" "$TMP/err")"
	((PROMISED >= $1)) || bad "$1 confirmed, the log promises $PROMISED"
}

# What P1 allows at most after this fault, where it is known exactly.
allowed() {
	PROMISED_MOST=$((2 * WRITES))
}

# Cycle 2 of a run whose first cycle is good, on a file through libaio.
resumed() {
	cp --no-target-directory "$TMP/disk.old" "$TARGET"
	cp "$TMP/log.old" "$LOG"
	write_by inject "$@"
	allowed
	expect_honest $((WRITES + CONFIRMED))
	((PROMISED <= PROMISED_MOST)) ||
		bad "$PROMISED promised, P1 covers $PROMISED_MOST"
	cp "$TARGET" "$TMP/disk.new"
	# A drive that loses all of cycle 2.
	cp --no-target-directory "$TMP/disk.old" "$TARGET"
	judge
	((PROMISED == WRITES)) || [[ $status == 1 ]] ||
		bad "$PROMISED promised, half of it gone: $status"
	cp --no-target-directory "$TMP/disk.new" "$TARGET"
	write_by run
	[[ $status == 0 ]] || bad "not gone on with: $(cat "$TMP/err")"
	expect_honest $((2 * WRITES))
}

# One write and its FLUSH at a time: the answers behind those to the reads at
# the start are write 1, FLUSH 1, write 2, FLUSH 2, ... The first bad one ends
# the run, and its write is not promised, nor is any behind it.
exact() {
	allowed() {
		local n=${SPEC#*:}
		n=$((${n%%:*} - READS))
		PROMISED_MOST=$((2 * WRITES))
		# A FLUSH has no halves: that point is none.
		[[ $SPEC != *:short ]] || ((n % 2 == 1)) || return 0
		if is_met && ((n > 0)); then
			PROMISED_MOST=$((WRITES + (n - 1) / 2))
		fi
	}
	resumed --sync flush:1 --queue-depth 1
}

# A new run: claim, fill, labels, log. Afterwards the same command works, or
# says why not; then a new log serves.
begun() {
	rm -f "$TARGET" "$LOG"
	write_by inject --size 3m
	if [[ -s $LOG && -s $TARGET ]]; then
		judge
		[[ $status == [023] ]] || bad "honest, and $status: $(
			cat "$TMP/out")"
		((CONFIRMED == 0)) || expect_honest "$CONFIRMED"
	else
		((CONFIRMED == 0)) || bad "$CONFIRMED confirmed and no log"
	fi
	write_by run --size 3m
	if ((status != 0)); then
		rm -f "$LOG"
		write_by run --size 3m
	fi
	[[ $status == 0 ]] || bad "no new run: $(cat "$TMP/err")"
	expect_honest $WRITES
}

# The drive's server has been seen to abort where a client leaves a request
# behind. For what it had cached that is a power cut.
drive_is_back() {
	! has_ended "$SIM_PID" || start_simdrive drive --size 3m "${FAULT[@]}"
}

# One cycle more on the simulated drive, and its power is cut behind it.
powered() {
	[[ -n $HONEST ]] || cp "$TMP/log.old" "$LOG"
	judge
	BEFORE=$PROMISED
	write_by inject
	drive_is_back
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null &&
		"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" \
			>/dev/null || bad "the simulated drive is gone"
	if [[ -n $HONEST ]]; then
		expect_honest $((BEFORE + CONFIRMED))
		return
	fi
	judge
	((PROMISED >= BEFORE + CONFIRMED)) ||
		bad "$CONFIRMED confirmed, and not in the log"
	((PROMISED == BEFORE)) || [[ $status == 1 ]] ||
		bad "the liar got $status"
}

# Acknowledgements over the network, to a collector without faults.
networked() {
	judge
	BEFORE=$PROMISED
	write_by inject
	expect_honest $((BEFORE + CONFIRMED))
}

prepare() {
	SPEC=none LOG=$TMP/log
	TARGET=${1:-$TMP/disk}
	write_by run --size 3m --seed 1
	[[ $status == 0 ]] || fail "cannot prepare: $(cat "$TMP/err")"
	cp "$LOG" "$TMP/log.old"
	[[ -n ${1-} ]] || cp "$TARGET" "$TMP/disk.old"
}

files() {
	prepare
	walk resumed open EMFILE
	walk resumed read EIO short zero
	walk resumed status EIO
	walk resumed change EIO
	walk resumed close EIO
	walk resumed lock EINTR
	walk resumed stdio ENOSPC
	walk resumed random EIO EINTR
	walk resumed process EAGAIN
}

log_file() {
	prepare
	INJECT_PATH=$LOG
	walk_all resumed write torn ENOSPC+ EIO short EINTR kill
	walk_all resumed sync lose cut
}

queue() {
	prepare
	walk resumed setup EAGAIN ENOMEM
	walk resumed submit EAGAIN EINVAL EINTR short kill
	walk resumed reap EINTR EINVAL zero short kill
}

answers() {
	prepare
	walk resumed answer EIO short
	SPEC=answer:0:EIO
	cp --no-target-directory "$TMP/disk.old" "$TARGET"
	cp "$TMP/log.old" "$LOG"
	write_by inject --sync flush:1 --queue-depth 1
	read -r READS _ <"$TMP/report"
	READS=$((READS - 2 * WRITES))
	walk_all exact answer EIO short
}

new_run() {
	prepare
	walk begun open EMFILE
	walk begun change ENOSPC
	walk begun write torn kill
	walk_all begun sync lose cut
	walk begun submit EINVAL short
	walk begun reap EINVAL kill
	walk begun answer EIO short
}

simulated() { # FAULT
	HONEST=yes FAULT=()
	start_simdrive drive --size 3m
	prepare "$SIM_URI"
	if [[ ${1-} == ignores-flush ]]; then
		HONEST= FAULT=(--fault "$1")
		kill "$SIM_PID"
		soon has_ended "$SIM_PID"
		start_simdrive drive --size 3m "${FAULT[@]}"
	fi
	walk powered connect ECONNREFUSED
	walk powered send ECONNRESET EAGAIN EINTR short kill
	walk powered recv ECONNRESET EAGAIN EINTR short zero kill
	walk powered poll EINTR ENOMEM
}

honest_nbd() {
	simulated
}

lying_nbd() {
	simulated ignores-flush
}

network() {
	start_collector "$@"
	ID=
	write_by_collector "$TMP/disk"
	walk networked socket EMFILE
	walk networked connect ECONNREFUSED
	walk networked send ECONNRESET EINTR EAGAIN short
	walk networked recv ECONNRESET EINTR EAGAIN short zero
	walk networked poll EINTR ENOMEM
}

write_by_collector() {
	SPEC=none TARGET=$1
	write_by run --size 3m --seed 1
	[[ $status == 0 ]] || fail "cannot prepare: $(cat "$TMP/err")"
	value "$TMP/writer.json" run
	ID=$VALUE
	LOG=$ACKDIR/$ID.acklog
}

plain_network() {
	KEY=()
	network
}

tls_network() {
	run collector --new-key "$TMP/key"
	KEY=(--key "$TMP/key")
	network --listen 127.0.0.1:0 --key "$TMP/key"
}

memory() {
	prepare
	has_memory || return 0
	walk resumed memory ENOMEM
}

crypto() {
	prepare
	! has_memory || walk resumed crypto ENOMEM
}

sides ${SIDES:-files log_file queue answers new_run honest_nbd lying_nbd \
	plain_network tls_network memory crypto}
told
