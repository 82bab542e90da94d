#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: the relay is at the wrong drive. The cycle does not count and says why, the
# campaign stops, neither drive is accused or acquitted (also where one of them
# lies), and both have power in the end.
. "${0%/*}/lib.sh"
requires nbdkit jq

state() { # NAME
	"$BIN/plugpull-simdrive" status --control "$TMP/$1.control" |
		tr ' ' '\n' | sed -n "s/^$2=//p"
}

for fault in none ignores-flush; do
	rm -f "$TMP"/tested.* "$TMP"/other.*
	start_simdrive other --size 18m --fault ignores-flush
	OTHER_PID=$SIM_PID
	start_simdrive tested --size 18m --fault "$fault"
	cat >"$TMP/wrong.ini" <<INI
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
outlet = sim:$TMP/other.control
off_time = 0ms
gone_timeout = 1s
INI
	run campaign run "$TMP/wrong.ini" --dir "$TMP/$fault.d"
	expect_status 2
	expect_out '^NO VERDICT: '
	expect_out '^cycle 1.* does not count: .*the drive was not cut \(wrong outlet'
	expect_out '^stopped .*the drive was not cut \(wrong outlet'
	SUMMARY=$TMP/$fault.d/summary.json
	expect_equal "verdict" "$(json "$SUMMARY" .verdict)" "NO VERDICT"
	expect_equal "cycles done" "$(json "$SUMMARY" .done_cycles)" 1
	expect_equal "void cycles" "$(json "$SUMMARY" .void_cycles)" 1
	expect_equal "broken cycles" "$(json "$SUMMARY" .test.broken)" 0
	for name in tested other; do
		expect_equal "power of $name" "$(state $name state)" on
	done
	expect_equal "cuts of the tested drive" "$(state tested cuts)" 0
	[[ $(state other cuts) -ge 1 ]] || fail "the other was not cut"

	# What the writer left is sound: the drive was never without power.
	log=$(find "$TMP/$fault.d/acks" -name '*.acklog')
	run verifier --target "$SIM_URI" --acklog "$log"
	expect_status 3
	kill "$SIM_PID" "$OTHER_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
	wait_until 20 lib_has_ended "$OTHER_PID"
done
