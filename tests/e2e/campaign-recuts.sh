#!/bin/bash
# SPDX-License-Identifier: MIT
# A campaign cuts a drive again while it recovers, by an outlet with a name; a
# campaign that is killed in the dark leaves the power as the outlet says.
. "${0%/*}/lib.sh"
requires nbdkit jq
export PLUGPULL_STATE=$TMP/state

settings() { # NAME WHEN_LOST AFTER_OFF
	cat >"$TMP/outlets.ini" <<INI
[outlet bay1]
driver = sim
address = $SIM_CONTROL
when_lost = $2
INI
	cat >"$TMP/$1.ini" <<INI
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
recuts = 3
recut_after_min = 0ms
recut_after_max = 50ms
recut_off_min = 10ms
recut_off_max = 100ms
[power]
outlet = bay1
outlets = $TMP/outlets.ini
off_time = 0ms
[hooks]
after_off = $3
INI
}

start_simdrive sim --size 18m --cache 8m --fault ignores-flush --seed 1
settings liar keep true
RUN_TIMEOUT=120 run campaign run "$TMP/liar.ini" --dir "$TMP/liar.d"
expect_status 1
SUMMARY=$TMP/liar.d/summary.json
expect_equal 'recuts of each cycle' \
	"$(json "$SUMMARY" '[.cycles[].recuts] | unique | join(" ")')" 3
expect_equal 'noted recuts' "$(grep -c '"recut"' "$TMP/liar.d/journal")" 9
cuts=$(sim_counter cuts)
# And one in the second look at each cycle that was broken.
[[ $cuts -ge 12 && $cuts -le 15 ]] || fail "$cuts cuts"
[[ $(json "$SUMMARY" '.gone_ms | .min <= .median and .median <= .max') == true ]] ||
	fail "gone: $(json "$SUMMARY" .gone_ms)"
expect_out '^gone +[0-9]+ ms after the command \(min\)'
grep -q "operations 0*$((2 * cuts)) last on" "$PLUGPULL_STATE/bay1.outlet" ||
	fail "the book does not hold $((2 * cuts)): $(cat "$PLUGPULL_STATE/bay1.outlet")"
# The same seed cuts at the same moments.
moments() {
	jq -r 'select(.event == "recut") | .off_ms' "$1/journal"
}
RUN_TIMEOUT=120 run campaign run "$TMP/liar.ini" --dir "$TMP/again.d"
expect_equal 'the moments' "$(moments "$TMP/again.d")" "$(moments "$TMP/liar.d")"

# ---- lost in the dark
for lost in on keep; do
	settings "$lost" "$lost" "echo \$\$ >$TMP/hook; touch $TMP/dark; exec sleep 60"
	rm -f "$TMP/dark"
	"$BIN/plugpull-campaign" run "$TMP/$lost.ini" --dir "$TMP/$lost.d" \
		>"$TMP/out" 2>"$TMP/err" &
	CAMPAIGN_PID=$!
	lib_pids+=("$CAMPAIGN_PID")
	wait_until 60 test -e "$TMP/dark"
	"$BIN/plugpull-simdrive" status --control "$SIM_CONTROL" |
		grep -q state=off || fail "it is not dark"
	kill -KILL "$CAMPAIGN_PID"
	wait_until 20 lib_has_ended "$CAMPAIGN_PID"
	kill "$(cat "$TMP/hook")"
	wanted=on
	[[ $lost == keep ]] && wanted=off
	is_so() {
		"$BIN/plugpull-simdrive" status --control "$SIM_CONTROL" |
			grep -q "state=$wanted"
	}
	wait_until 20 is_so
done
"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
