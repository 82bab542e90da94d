#!/bin/bash
# SPDX-License-Identifier: MIT
# The host of the writer loses its power together with its drive: an honest
# drive passes and a liar fails, by a log that never leaves the collector; a host
# that does not wake is given power again; a connection that is lost while it
# verifies is no verdict (P9); and a host that was not cut, or is only not heard,
# stops the campaign (P11). The campaigns run side by side: most of it is waiting.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/hostlib.sh"
requires nbdkit jq

"$BIN/plugpull-collector" --new-key "$TMP/key" >"$TMP/out"

# begin NAME FAULT TEST-CYCLES CONTROL-CYCLES: a host of its own, in $HOST.
begin() {
	start_simdrive "$1" --size 18m --cache 8m --fault "$2" --seed 1
	make_host "$1"
	cat >"$TMP/$1.ini" <<-INI
		[campaign]
		cycles = $3
		control_cycles = $4
		seed = 5eed
		[drive]
		target = $SIM_URI
		erase = $SIM_URI
		[workload]
		sync = flush:16
		[power]
		outlet = x
		off_time = 0ms
		gone_timeout = 4s
		[cut]
		after_min = 200ms
		after_max = 400ms
		[collector]
		listen = 127.0.0.1:0
		key = $TMP/key
		[commands]
		writer = $BIN/plugpull-writer
		verifier = $BIN/plugpull-verifier
		relay = $HOST/relay
		[host]
		via = $HOST/via
		boot_timeout = 2s
		boot_tries = 2
	INI
}

go() { # NAME VERB WHAT...
	"$BIN/plugpull-campaign" "${@:2}" >"$TMP/$1.said" 2>&1 </dev/null &
	lib_pids+=($!)
	PID[$1]=$!
}
declare -A PID

start() { # NAME
	go "$1" run "$TMP/$1.ini" --dir "$TMP/$1.d"
}

# finish NAME: its end, what it said in $TMP/out, $HOST its host.
finish() {
	wait_until 100 lib_has_ended "${PID[$1]}"
	status=0
	wait "${PID[$1]}" || status=$?
	cp "$TMP/$1.said" "$TMP/out"
	HOST=$TMP/host.$1
}

summary() { # NAME FILTER
	json "$TMP/$1.d/summary.json" "$2"
}

switched() {
	xargs <"$HOST/switched"
}

nobody_accused() {
	[[ $status == [03] ]] || fail "exit status $status: is somebody accused?"
}

begin honest none 2 1
echo 1 >"$HOST/lose"
start honest
begin liar ignores-flush 1 0
start liar
begin sleepy none 1 0
echo 1 >"$HOST/asleep"
start sleepy
begin dead none 1 0
echo 9 >"$HOST/asleep"
start dead

finish honest
expect_status 0
expect_out '^PASS: '
expect_out '^proven by   disappearance 0, .*, host 3$'
expect_equal "void cycles" "$(summary honest .void_cycles)" 0
expect_equal "cuts proven by the host" "$(summary honest .proven_by.host)" 3
expect_equal runs "$(summary honest '.runs | length')" 1
expect_equal "order of things" "$(jq -r 'select(.cycle == 1) | .step' \
	"$TMP/honest.d/journal" | xargs)" \
	"cycle writer cut-asked off silent on booted"
# P11: on record behind the boot, and in front of "restored".
[[ $(json "$TMP/honest.d/cycle-0002.verdict.json" .cut_seen) == true ]] ||
	fail "the end of the host's writer is not on record"
[[ ! -s $HOST/lose ]] || fail "no connection was lost"
[[ ! -e $TMP/honest.d/cycle-0002.bounds ]] || fail "bounds pile up"

finish liar
expect_status 1
expect_out '^cycle [0-9]+/1 +test .*: BROKEN \(lost [0-9]+.*persists'

# Power must be given twice; and then it does not help any more.
finish sleepy
expect_out '^boots       the host needed power up to 2 times'
expect_equal "cycles that count" "$(summary sleepy .test.counted)" 1
finish dead
expect_status 2
expect_out '^stopped .*the host did not come back within 2000 ms, the power was given 2 times'
expect_equal "cycles done" "$(summary dead .done_cycles)" 1
expect_equal switched "$(switched)" "off on off on"

begin lost none 1 1
echo 4 >"$HOST/lose"
start lost
for name in welded frozen deaf; do
	begin "$name" none 1 0
	: >"$HOST/$name"
	start "$name"
done

# P9: an answer that never comes through is trouble, and the next cycle goes on.
finish lost
nobody_accused
expect_out '^cycle 1 .*does not count: the connection to the host was lost'
expect_equal "void cycles" "$(summary lost .void_cycles)" 1
expect_equal "cycles that count" "$(summary lost .test.counted)" 1

# P11: not cut at all; only mute, and still there; only mute, and not to be
# reached. In the first two the power is not switched on again.
finish welded
expect_status 2
expect_out '^stopped .*acknowledgements go on .* the host was not cut'
expect_equal switched "$(switched)" off
"$HOST/send" 0 | grep -q . || fail "the host's writer does not go on"

# Its writer is still at work: resume ends it by a power cycle first.
rm "$HOST/welded"
go welded resume "$TMP/welded.d"

finish frozen
expect_status 2
expect_out '^stopped .*the host answers .* the host was not cut'
expect_equal switched "$(switched)" off
finish deaf
expect_status 2
expect_out '^stopped .*the host never lost its power: its boot id is'
expect_equal "cycles that count" "$(summary deaf .test.counted)" 0
expect_equal switched "$(switched)" "off on"

finish welded
expect_equal "the power before the first cycle" \
	"$(head -n 3 "$HOST/switched" | xargs)" "off off on"
"$HOST/send" 0 | grep -q . && fail "the earlier writer is still at work"
[[ $(jq -s 'map(select(.step == "writer")) | length' \
	"$TMP/welded.d/journal") == 1 ]] || fail "who wrote once more?"
