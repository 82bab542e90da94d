#!/bin/bash
# SPDX-License-Identifier: MIT
# What a drive counts of itself is a witness of the cut: counters that rise prove
# it, one that the drive keeps and that does not rise voids the cycle (P9), one
# that stays 0 says nothing, and damage that it counts is told. In the ack log,
# the journal and both summaries.
. "${0%/*}/lib.sh"
requires nbdkit jq

start_simdrive drive --size 18m --cache 8m --fault none --seed 1

# ask MANNER COMMAND: a campaign of one cut whose drive answers as smartctl, or
# nvme, prints it. CUTS in an answer is how often its power went so far.
ask() { # NAME COMMAND, the answer on stdin
	{
		cat <<-SH
			#!/bin/bash
			echo "\$*" >>"$TMP/asked"
			[[ \$* == *" ocp "* || \$1 == ocp ]] && exit 1
			cuts=\$("$BIN/plugpull-simdrive" status --control \\
				"$SIM_CONTROL" | grep -o 'cuts=[0-9]*')
			cuts=\${cuts#cuts=}
			((after = cuts - $(sim_counter cuts)))
		SH
		cat
	} >"$TMP/answer"
	chmod +x "$TMP/answer"
	rm -f "$TMP/asked"
	cat >"$TMP/$1.ini" <<-INI
		[campaign]
		cycles = 1
		control_cycles = 0
		seed = 1
		[drive]
		target = $SIM_URI
		erase = $SIM_URI
		counters = $2
		counters_device = /dev/witness
		[workload]
		sync = flush:16
		[power]
		outlet = sim:$SIM_CONTROL
		off_time = 0ms
		[cut]
		after_min = 100ms
		after_max = 200ms
		[commands]
		smartctl = $TMP/answer
		nvme = $TMP/answer
	INI
	RUN_TIMEOUT=60 run campaign run "$TMP/$1.ini" --dir "$TMP/$1.d"
	expect_equal "cycles done of $1" \
		"$(json "$TMP/$1.d/summary.json" .done_cycles)" 1
}

summary() { # NAME FILTER
	json "$TMP/$1.d/summary.json" "$2"
}

ask rises smartctl <<'SH'
cat <<J
{"power_cycle_count": $((40 + cuts)), "temperature": {"current": 31},
 "ata_smart_attributes": {"table": [
  {"id": 12, "name": "Power_Cycle_Count", "raw": {"value": 7}},
  {"id": 192, "name": "Unsafe_Shutdown_Count",
   "raw": {"value": $((4294967296 + 9 + cuts)), "string": "$((9 + cuts)) (1)"}}]}}
J
SH
expect_equal "what was asked" "$(uniq -c <"$TMP/asked" | xargs)" \
	"2 --json -a /dev/witness"
expect_out '^proven by   disappearance 1, power cycles 1, unsafe shutdowns 1$'
expect_equal "proof in JSON" "$(summary rises .proven_by.power_cycles)" 1
expect_equal "counters in the journal" "$(jq -c 'select(.step == "done") |
	.outcome | [.counters_after.power_cycles - .counters_before.power_cycles,
	.counters_after.unsafe_shutdowns - .counters_before.unsafe_shutdowns,
	.counters_before.temperature]' "$TMP/rises.d/journal")" "[1,1,31]"
grep -aq 'counters: power cycles 4[0-9] -> 4[0-9], unsafe shutdowns' \
	"$TMP"/rises.d/acks/*.acklog || fail "the counters are not on record"

# Its own counter denies the cut, though the writer saw the drive go.
ask stands smartctl <<'SH'
echo '{"power_cycle_count": 40}'
SH
expect_status 2
expect_out "its power was never gone \(power cycles 40 -> 40\)"
expect_equal "void cycles" "$(summary stands .void_cycles)" 1

ask orderly nvme <<'SH'
echo "{\"power_cycles\": \"$((40 + cuts))\", \"unsafe_shutdowns\": \"3\"}"
SH
expect_status 2
expect_equal "what was asked" "$(head -n 1 "$TMP/asked")" \
	"smart-log /dev/witness -o json"
expect_out 'does not count: the drive counted no unsafe shutdown'

# A drive that runs and has counted no power cycle counts none.
ask zero nvme <<'SH'
echo '{"power_cycles": "0", "unsafe_shutdowns": "0"}'
SH
expect_equal "cycles that count" "$(summary zero .test.counted)" 1
expect_out '^proven by   disappearance 1, power cycles 0, unsafe shutdowns 0$'

ask lost smartctl <<'SH'
((after == 0)) && echo '{"power_cycle_count": 40}' || echo 'smartctl: no such device'
SH
expect_equal "cycles that count" "$(summary lost .test.counted)" 1
expect_out '^counters    could not be read after the cut in 1 cycles'

ask damage smartctl <<'SH'
echo "{\"power_cycle_count\": $((40 + cuts)), \"ata_smart_attributes\": {\"table\": [
 {\"id\": 5, \"name\": \"Reallocated_Sector_Ct\", \"raw\": {\"value\": $after}}]}}"
SH
expect_out '^cycle 1/1 .*the drive counts damage: reallocated sectors 0 -> 1'
expect_out "^damage      the drive's own counters of damage rose in 1 cycles"
expect_equal "cycles that count" "$(summary damage .test.counted)" 1

# Nobody is asked about a target that is no block device, unless told to.
ask silent none </dev/null
[[ ! -e $TMP/asked ]] || fail "somebody was asked"
