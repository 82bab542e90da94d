#!/bin/bash
# SPDX-License-Identifier: MIT
# A campaign that is told to stop leaves the drive with power and without a
# writer, and can be gone on with; so can one that was killed in the dark.
. "${0%/*}/lib.sh"
requires nbdkit jq

start_simdrive sim --size 18m --cache 8m --fault none --seed 1

settings() { # NAME AFTER OFF
	cat >"$TMP/$1.ini" <<INI
[campaign]
cycles = 2
control_cycles = 1
seed = 1
[drive]
target = $SIM_URI
erase = $SIM_URI
[power]
outlet = sim:$SIM_CONTROL
off_time = $3
[cut]
after_min = $2
after_max = $2
INI
}

start_campaign() { # NAME
	"$BIN/plugpull-campaign" run "$TMP/$1.ini" --dir "$TMP/$1.d" \
		>"$TMP/out" 2>"$TMP/err" </dev/null &
	CAMPAIGN_PID=$!
	lib_pids+=("$CAMPAIGN_PID")
}

end_of_campaign() {
	wait_until 30 lib_has_ended "$CAMPAIGN_PID"
	status=0
	# shellcheck disable=SC2034 # expect_status looks at it
	wait "$CAMPAIGN_PID" || status=$?
}

has_step() { # NAME STEP
	grep -q "\"step\":\"$2\"" "$TMP/$1.d/journal"
}

# Short moments from here on, whatever the campaign began with.
hurry() { # NAME
	sed -i 's/= 600s/= 50ms/' "$TMP/$1.d/campaign.ini"
}

resumes_to_pass() { # NAME
	hurry "$1"
	RUN_TIMEOUT=60 run campaign resume "$TMP/$1.d"
	expect_status 0
	expect_out '^PASS: '
	expect_equal "cycles done" \
		"$(json "$TMP/$1.d/summary.json" .done_cycles)" 3
	run campaign resume "$TMP/$1.d"
	expect_status 0
}

writer_pid() { # NAME
	jq -r 'select(.step == "writer") | .pid' "$TMP/$1.d/journal" | tail -n 1
}

# Under load: the writer is stopped, the power was never cut.
settings load 600s 0ms
start_campaign load
wait_until 30 has_step load writer
wait_until 30 lib_counter_reached writes 20000
kill -INT "$CAMPAIGN_PID"
end_of_campaign
expect_status 2
expect_out '^NO VERDICT: '
expect_out '^stopped +interrupted by a signal'
expect_equal "cuts" "$(sim_counter cuts)" 0
wait_until 5 lib_has_ended "$(writer_pid load)"
run campaign report "$TMP/load.d"
expect_status 2
resumes_to_pass load

# In the dark: the power comes back at once.
settings dark 50ms 600s
start_campaign dark
wait_until 30 has_step dark gone
expect_equal "state" "$(sim_counter state)" off
kill -TERM "$CAMPAIGN_PID"
end_of_campaign
expect_status 2
expect_equal "state" "$(sim_counter state)" on
resumes_to_pass dark

# Killed in the dark: the next one gives the power back.
settings killed 50ms 600s
start_campaign killed
wait_until 30 has_step killed gone
kill -KILL "$CAMPAIGN_PID"
end_of_campaign
expect_equal "state" "$(sim_counter state)" off
run campaign report "$TMP/killed.d"
expect_status 2
expect_out 'still running, or was broken off'
resumes_to_pass killed
