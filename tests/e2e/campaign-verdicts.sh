#!/bin/bash
# SPDX-License-Identifier: MIT
# A campaign on an honest drive passes with its bound, one on a drive that
# ignores FLUSH fails, one on a drive with power-loss protection says that flush
# was not put to the test; report says the same again from the folder alone.
. "${0%/*}/lib.sh"
requires nbdkit jq

settings() { # NAME
	cat >"$TMP/$1.ini" <<INI
[campaign]
name = $1
cycles = 3
control_cycles = 2
seed = 5eed
[drive]
target = $SIM_URI
erase = $SIM_URI
[workload]
sync = flush:16
[power]
outlet = sim:$SIM_CONTROL
off_min = 0ms
off_max = 30ms
[cut]
after_min = 100ms
after_max = 300ms
INI
}

check_drive() { # FAULT STATUS WORD
	local dir=$TMP/$1.d
	start_simdrive "$1" --size 18m --cache 8m --fault "$1" --seed 1
	settings "$1"
	RUN_TIMEOUT=120 run campaign run "$TMP/$1.ini" --dir "$dir"
	expect_status "$2"
	expect_out "^$3: "
	expect_out '^cycle 1/5 control cut after [0-9]+ ms: '
	expect_out '^blind spot  from durable to confirmed [0-9]+\.[0-9]+ ms'
	expect_equal "verdict in summary.json" \
		"$(json "$dir/summary.json" .verdict)" "$3"
	expect_equal "cycles done" "$(json "$dir/summary.json" .done_cycles)" 5
	expect_equal "void cycles" "$(json "$dir/summary.json" .void_cycles)" 0

	run campaign report "$dir"
	expect_status "$2"
	cmp -s "$TMP/out" "$dir/summary.txt" || fail "report differs"

	# Seen by the writer in each cycle that promised something.
	expect_equal "cycles with a time to the confirmation" "$(jq -s 'map(
		select(.step == "done") | .outcome | select(.durable > 0 and
		.confirm_median_us > 0 and
		.confirm_median_us <= .confirm_p99_us and
		.confirm_p99_us <= .confirm_max_us)) | length' \
		"$dir/journal")" 3

	# P11: in each cycle the cut is on record before the power goes.
	expect_equal "order of asked and off" "$(jq -r 'select(.step ==
		"cut-asked" or .step == "off") | .step' "$dir/journal" |
		uniq | sort | uniq -c | awk '{print $1 $2}' | xargs)" \
		"5cut-asked 5off"
}

check_drive none 0 PASS
expect_out 'at most 63.2 % \(95 %, 0 in 3\)'
expect_out '296 more cuts without a loss would show at most 1 %'
expect_out 'writes without a promise lost in 2$'
expect_equal "runs of the honest drive" \
	"$(json "$TMP/none.d/summary.json" '.runs | length')" 1

check_drive ignores-flush 1 FAIL
expect_out '^cycle [0-9]+ +test: BROKEN \(lost [0-9]+.*persists'
expect_equal "broken test cycles" \
	"$(json "$TMP/ignores-flush.d/summary.json" .test.broken)" 3
# A broken cycle ends its run, so that each cut is judged on its own.
[[ $(json "$TMP/ignores-flush.d/summary.json" '.runs | length') -ge 3 ]] ||
	fail "a broken run was gone on with"

check_drive protected 3 PROTECTED

# The seed is the plan: the same moments in both campaigns.
for name in none protected; do
	jq -c 'select(.step == "cycle") | [.cycle, .after_ms]' \
		"$TMP/$name.d/journal" >"$TMP/$name.plan"
done
cmp -s "$TMP/none.plan" "$TMP/protected.plan" || fail "one seed, two plans"

# A folder holds one campaign.
run campaign run "$TMP/protected.ini" --dir "$TMP/protected.d"
expect_status 2
expect_err 'holds a campaign already'
