#!/bin/bash
# SPDX-License-Identifier: MIT
# Outlets with names: their keys, several as one, their books; and a session
# that does what it was told when whoever gave the commands is lost.
. "${0%/*}/lib.sh"
export PLUGPULL_STATE=$TMP/state

start_simdrive five
FIVE=$SIM_CONTROL
start_simdrive twelve
TWELVE=$SIM_CONTROL

cat >"$TMP/outlets.ini" <<INI
; a drive with two rails
[outlet rail5]
driver = sim
address = $FIVE
min_interval = 10ms
operations_max = 8

[outlet rail12]
driver = sim
address = $TWELVE
drain_time = 200ms
when_lost = on

[outlet drive1]
members = rail5, rail12
INI
outlet() { # NAME WORDS...
	run relay --outlets "$TMP/outlets.ini" --outlet "$@"
}

state() { # CONTROL
	"$BIN/plugpull-simdrive" status --control "$1" | tr ' ' '\n' |
		sed -n 's/^state=//p'
}

outlet drive1 status
expect_status 0
expect_out '^on$'
outlet drive1 off
expect_status 0
expect_err '2 outlets, [0-9.]+ ms between the first and the last'
expect_equal 'rail 5' "$(state "$FIVE")" off
expect_equal 'rail 12' "$(state "$TWELVE")" off

# The drain time holds in another process, too.
outlet drive1 on
expect_status 0
grep -Eq '^plugpull-outlet 1 operations 0*2 last on ' \
	"$PLUGPULL_STATE/rail12.outlet" || fail "the book is wrong"
outlet drive1 --off-time 100ms cycle
expect_status 2
expect_err 'rail12 is to stay without power for 200 ms at least'
outlet drive1 --off-time 200ms cycle
expect_status 0

# Half a cut is taken back.
kill "$SIM_PID"
wait_until 20 lib_has_ended "$SIM_PID"
outlet drive1 off
expect_status 2
expect_equal 'rail 5' "$(state "$FIVE")" on
start_simdrive twelve

# A contact that has been switched often enough cuts no more, but gives back.
outlet rail5 off
outlet rail5 on
expect_status 0
outlet rail5 off
expect_status 2
expect_err 'rail5 was switched [0-9]+ times, and operations_max is 8'
outlet rail5 on
expect_status 0

# What is misspelt is found whoever is asked for.
printf '[outlet x]\ndriver = sim\nadress = y\n' >"$TMP/bad.ini"
run relay --outlets "$TMP/bad.ini" --outlet rail5 status
expect_status 2
expect_err "bad.ini:3: adress: sim has no such key"
outlet rail6 status
expect_status 2
expect_err 'there is no \[outlet rail6\]'

# ---- sessions
session() { # NAME: commands through fd 7, answers in $TMP/answers
	mkfifo "$TMP/orders"
	"$BIN/plugpull-relay" --outlets "$TMP/outlets.ini" --outlet "$1" \
		session <"$TMP/orders" >"$TMP/answers" 2>"$TMP/session.err" &
	SESSION_PID=$!
	lib_pids+=("$SESSION_PID")
	exec 7>"$TMP/orders"
	rm "$TMP/orders"
}

session_said() { # LINES PATTERN
	[[ $(wc -l <"$TMP/answers") -ge $1 ]] &&
		sed -n "$1p" "$TMP/answers" | grep -Eq "$2"
}

session rail12
echo off >&7
wait_until 20 session_said 1 '^ok off read-back took_us=[0-9]+ skew_us=0$'
expect_equal 'rail 12' "$(state "$TWELVE")" off
# Nobody else switches it meanwhile.
outlet rail12 on
expect_status 2
expect_err 'cannot have outlet rail12 alone'
exec 7>&-
wait_until 20 lib_has_ended "$SESSION_PID"
grep -q 'switched on (when_lost)' "$TMP/session.err" ||
	fail "the loss was not told"
expect_equal 'rail 12' "$(state "$TWELVE")" on

session rail12
echo off >&7
wait_until 20 session_said 1 '^ok off'
echo end >&7
wait_until 20 lib_has_ended "$SESSION_PID"
expect_equal 'behind "end"' "$(state "$TWELVE")" off
exec 7>&-
outlet rail12 on
expect_status 0
