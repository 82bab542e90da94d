#!/bin/bash
# SPDX-License-Identifier: MIT
# What takes its time: a peer that falls silent without a goodbye, a program
# that will not end, and a reader so slow that only the signs of life say that
# the connection is one. None of them costs memory, and never do two programs
# run.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/agentlib.sh"

start_agent

# Nobody reads for longer than a dead peer is waited for.
"$BIN/plugpull-agent" call --listen "$PLACE" -- plugpull-writer big 60000000 \
	2>"$TMP/slow.err" </dev/null | { sleep 12 && wc -c; } >"$TMP/slow" &
slow=$!
lib_pids+=("$slow")
wait_until 10 test -s "$TMP/child.pid"
end_of "$slow" 40
expect_equal bytes "$(<"$TMP/slow")" 60000000
kib=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$AGENT_PID/status")
[[ $(nm "$BIN/libcommon.a" 2>/dev/null) == *__asan_* ]] || ((kib < 16384)) ||
	fail "a slow reader costs $kib KiB"

# Falls silent, as if its power were gone; its program gives in only to SIGKILL.
start_call plugpull-writer stay
kill -STOP "$CALL_PID"
begun=$SECONDS
wait_until 20 grep -q 'no sign of life for 10 s' "$TMP/agent.err"
((SECONDS - begun >= 8)) || fail "after $((SECONDS - begun)) s"
said 'plugpull-writer \(pid [0-9]+\) is ended: its connection is over'
stayed=$CHILD_PID
kill -KILL "$CALL_PID"
background "$BIN/plugpull-agent" call --listen "$PLACE" -- \
	plugpull-writer wait >"$TMP/next.out" 2>"$TMP/next.err" </dev/null
next=$!
until grep -q begun "$TMP/next.out"; do
	# While the next one has not begun, the last may be there; not later.
	lib_has_ended "$stayed" && break
	((SECONDS - begun < 60)) || fail "$stayed does not end"
	sleep 0.05
done
lib_has_ended "$stayed" || fail "two programs run"
wait_until 20 grep -q begun "$TMP/next.out"

# The agent falls silent: the call ends by itself.
kill -STOP "$AGENT_PID"
end_of "$next" 20
expect_status 255
grep -q 'the agent is lost: .*no sign of life for 10 s' "$TMP/next.err" ||
	fail "$(<"$TMP/next.err")"
kill -CONT "$AGENT_PID"
wait_until 20 grep -q ended "$TMP/agent.err"
