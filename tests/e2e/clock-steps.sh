#!/bin/bash
# SPDX-License-Identifier: MIT
# Rule 24: nothing depends on wall time. Writer, collector, verifier, campaign
# and drive have clocks that are a year early or late, in 1970, in 2200, stand
# still, differ from each other or are stepped all the time. The verdicts stay
# what they are, nobody takes a step for a silence, the log can be read and
# keeps what it was told in the order in which it came.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"
requires nbdkit jq python3

YEAR=31557600
rig_preload stepclock

# clock NAME TEXT: what programs see that are started with that clock.
clock() {
	echo "$2" >"$TMP/$1.new"
	# Never half a line; at the end of the test there is no folder.
	mv "$TMP/$1.new" "$TMP/$1.clock" 2>/dev/null
}

with_clock() { # NAME COMMAND...
	local name=$1
	shift
	STEPCLOCK=$TMP/$name.clock LD_PRELOAD=$TMP/stepclock "$@"
}

# The clock of NAME jumps by years, forth and back, until it is ended.
step_on() { # NAME
	while :; do
		for text in +$YEAR -$YEAR +0 "=0" "=7258118400" -$((3 * YEAR)); do
			clock "$1" "$text"
			read -rt 0.03 <> <(:)
		done
	done
}

nobody_lost_the_collector() {
	! grep -q 'lost the collector' "$TMP/writer.err" ||
		fail "a step was taken for a silence: $(cat "$TMP/writer.err")"
}

# one_run FAULT: a power cut under these clocks, and the verdict.
one_run() {
	rm -f "$TMP"/drive.*
	with_clock drive start_simdrive drive --size 18m --seed 5 --fault "$1"
	with_clock collector start_collector --listen 127.0.0.1:0 \
		--key "$TMP/key"
	with_clock writer start_writer --collector "$COLLECTOR" \
		--key "$TMP/key" --block-size 16k --sync flush:16 --streams 2 \
		--ack-timeout 5s
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	ACKLOG=$ACKDIR/$ID.acklog
	before=$(sim_counter writes)
	wait_until 30 lib_counter_reached writes $((before + 300))
	with_clock other run collector --send cut-asked --run "$ID" \
		--connect "$COLLECTOR" --key "$TMP/key" --text "here."
	expect_status 0
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	end_of_writer
	[[ $status == 2 ]] || fail "the writer ended with $status"
	nobody_lost_the_collector
	expect_equal confirmed "$(json "$TMP/writer.json" .confirmed)" \
		"$(json "$TMP/writer.json" .durable)"
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
	with_clock verifier verify_sim
	(($(json "$TMP/verdict.json" .seconds | cut -d. -f1) < 30)) ||
		fail "the verifier's time is not its own"
	kill "$SIM_PID" "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
	wait_until 20 lib_has_ended "$COLLECTOR_PID"
}

both() { # WHAT: honest and liar
	one_run none
	[[ $status == [03] ]] || fail "$1: the honest drive got $status"
	expect_equal "$1: classes" "$(broken_classes)" ""
	one_run ignores-flush
	[[ $status == 1 ]] || fail "$1: the liar got $status"
	expect_equal "$1: classes" "$(broken_classes)" lost
	echo "table: $1: honest kept, liar lost"
}

set_clocks() { # TEXT OF drive, collector, writer, other, verifier
	local name
	for name in drive collector writer other verifier; do
		clock $name "$1"
		shift
	done
}

run collector --new-key "$TMP/key"
expect_status 0

set_clocks +$YEAR -$YEAR +$YEAR -$YEAR -$((2 * YEAR))
[[ $(with_clock writer date +%s) -gt $(($(date +%s) + YEAR - 100)) ]] ||
	fail "the clock is as it was"
both "a year early, a year late"
set_clocks "=0" "=0" "=0" "=7258118400" "=0"
both "standing still in 1970"
set_clocks +0 +0 +0 +0 +0
for name in drive collector writer verifier; do
	background step_on $name
done
both "stepped all the time"

# Arrival is told as the clock said; the order is that of arrival.
with_clock collector start_collector
cp "${0%/*}/expected/c011ec70120102030405060708090a0b.acklog" "$ACKDIR"
for number in 1 2 3 4 5 6; do
	run collector --send note --run c011ec70120102030405060708090a0b \
		--connect "$COLLECTOR" --text "note $number."
	expect_status 0
done
expect_equal "order of the notes" "$(grep -ao 'note [0-9]\.' \
	"$ACKDIR/c011ec70120102030405060708090a0b.acklog" | xargs)" \
	"note 1. note 2. note 3. note 4. note 5. note 6."

# A whole campaign, and its report in another year.
start_simdrive sim --size 18m --seed 5
cat >"$TMP/steps.ini" <<INI
[campaign]
cycles = 2
control_cycles = 1
seed = 1
[drive]
target = $SIM_URI
erase = $SIM_URI
[cut]
after_min = 50ms
after_max = 100ms
[power]
outlet = sim:$SIM_CONTROL
off_time = 0ms
INI
with_clock writer run campaign run "$TMP/steps.ini" --dir "$TMP/steps.d"
[[ $status == [03] ]] || fail "the campaign ended with $status"
expect_equal "counted and broken cycles" "$(json "$TMP/steps.d/summary.json" \
	'"\(.done_cycles) \(.void_cycles) \(.test.broken)"')" "3 0 0"
clock other -$((40 * YEAR))
with_clock other run campaign report "$TMP/steps.d"
[[ $status == [03] ]] || fail "the report ended with $status"
