#!/bin/bash
# SPDX-License-Identifier: MIT
# A verifier reaches the same judgement from the bounds of a log, through a
# pipe, as from the log: on the honest drive and on every faulty one, over
# several cycles, with a collector that has the log open and a writer at work.
. "${0%/*}/lib.sh"
requires jq

# judge_bounds LOG JSON: as on a host that has the drive but not the log.
judge_bounds() {
	status=0
	"$BIN/plugpull-collector" --bounds "$1" 2>"$TMP/bounds.err" |
		timeout 60 "$BIN/plugpull-verifier" --target "$SIM_URI" \
			--acklog - --read-timeout 2s --json "$2" \
			>"$TMP/out" 2>"$TMP/err"
	local both=("${PIPESTATUS[@]}")
	[[ ${both[0]} == 0 ]] || fail "no bounds: $(<"$TMP/bounds.err")"
	status=${both[1]}
}

# What may differ: the time it took, and how a log ends.
same() { # JSON JSON
	local one
	for one; do
		jq -S 'del(.seconds, .torn_log_bytes)' "$one" >"$one.same"
	done
	cmp -s "$1.same" "$2.same" ||
		fail "$(diff "$1.same" "$2.same" | head -n 20)"
}

# In place of lib.sh's: the bounds first, since some drives answer only once.
verify_sim() {
	local of_bounds
	judge_bounds "$ACKLOG" "$TMP/verdict.json"
	of_bounds=$status
	[[ $FAULT == stale-after-restore ]] && return
	run verifier --target "$SIM_URI" --acklog "$ACKLOG" \
		--read-timeout 2s --json "$TMP/log.json"
	expect_equal "status of the bounds" "$of_bounds" "$status"
	same "$TMP/verdict.json" "$TMP/log.json"
}

while read -r name _ flush fua _; do
	FAULT=$name sync=flush:16
	[[ $flush == INTACT && $fua != INTACT ]] && sync=fua
	convict "$name" "$sync" 32 7
done < <(faults)

# Three cycles of one run, test and control, kept by a collector that the cuts
# are asked at.
FAULT=none
start_simdrive cycles --size 18m --seed 3
start_collector
event() {
	run collector --send "$1" --run "$RUN" --connect "$COLLECTOR"
	expect_status 0
}
RUN=
begin_cycle() { # SYNC
	start_writer --collector "$COLLECTOR" --sync "$1" \
		${RUN:+--run "$RUN"}
	RUN=$(grep -oE '[0-9a-f]{32}' "$TMP/writer.out" | head -n 1)
	ACKLOG=$ACKDIR/$RUN.acklog
	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + 1000))
}
for sync in flush:16 none fua; do
	begin_cycle "$sync"
	# Live: a whole log comes out, which is not judged by (P9).
	run collector --bounds "$ACKLOG" --output "$TMP/live.bounds"
	expect_status 0
	run verifier --target "$SIM_URI" --acklog "$TMP/live.bounds"
	expect_status 2
	expect_err 'does not say that the writer of this run has ended'
	rm "$TMP/live.bounds"
	event cut-asked
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	end_of_writer
	event cut-seen
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
	event restored
	verify_sim
	[[ $status == [03] ]] || fail "$sync: $status of an honest drive"
	expect_equal "cut seen" "$(json "$TMP/verdict.json" .cut_seen)" true
done
expect_equal cycle "$(json "$TMP/verdict.json" .cycle)" 3

# What was cut short on its way is no log.
run collector --bounds "$ACKLOG" --output "$TMP/whole"
expect_status 0
size=$(stat -c %s "$TMP/whole")
for cut in 1 30 $((size / 2)); do
	head -c $((size - cut)) "$TMP/whole" >"$TMP/short"
	run verifier --target "$SIM_URI" --acklog "$TMP/short" \
		--json "$TMP/verdict.json"
	expect_status 2
	expect_err 'cut short on its way|not one whole record'
done
: | timeout 60 "$BIN/plugpull-verifier" --target "$SIM_URI" --acklog - \
	>"$TMP/out" 2>"$TMP/err"
status=$?
expect_status 2
expect_err 'standard input: not one whole record'

# The log is never written over, and a damaged one has no bounds (P9).
run collector --bounds "$ACKLOG" --output "$ACKLOG"
expect_status 2
expect_err 'cannot create .*: File exists'
cp "$ACKLOG" "$TMP/damaged"
printf 'X' | dd of="$TMP/damaged" bs=1 seek=700 conv=notrunc status=none
run collector --bounds "$TMP/damaged" --output "$TMP/none"
expect_status 2
expect_err 'no verdict'
[[ ! -e $TMP/none ]] || fail "bounds of a damaged log"
run collector --bounds "$ACKLOG" --key "$TMP/none"
expect_status 2

# A torn tail is left out, and said.
{ cat "$ACKLOG" && printf 'PPL1'; } >"$TMP/torn"
run collector --bounds "$TMP/torn" --output "$TMP/torn.bounds"
expect_status 0
expect_err '^plugpull-collector: 4 bytes of an unfinished record'
