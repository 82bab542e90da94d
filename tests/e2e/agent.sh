#!/bin/bash
# SPDX-License-Identifier: MIT
# A call through plugpull-agent is the program itself to whoever makes it:
# status, output, input. Nothing runs that is not on its list, nobody is heard
# without the key, and whoever goes away takes the program along.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/agentlib.sh"

# Nobody is there: 255, when the time is over and not before.
CALL_OPTIONS=(--timeout 1s)
begun=$SECONDS
call plugpull-writer status 0
expect_status 255
expect_err 'no agent has dialled in to unix:.* within 1 s'
expect_err 'hint: see that plugpull-agent serve runs'
((SECONDS - begun < 10)) || fail "it waited for $((SECONDS - begun)) s"
CALL_OPTIONS=(--timeout 20s)

start_agent
for code in 0 1 2 3 77 255; do
	call plugpull-writer status $code
	expect_status $code
done
call plugpull-verifier signal KILL
expect_status 137
expect_err 'plugpull-verifier was ended by signal 9'
call plugpull-writer words 'two words' '' '*' $'\x01'
expect_status 0
printf '%s\n' words 'two words' '' '*' $'\x01' | cmp - "$TMP/out" ||
	fail "words have changed"
expect_equal stderr "$(<"$TMP/err")" "to stderr"
call cat /proc/sys/kernel/random/boot_id
expect_status 0
cmp "$TMP/out" /proc/sys/kernel/random/boot_id || fail "another boot"

# Much of it, both ways.
call plugpull-writer big 30000000
expect_status 0
expect_equal bytes "$(tr -d x <"$TMP/out" | wc -c) $(wc -c <"$TMP/out")" \
	"0 30000000"
head -c 20000000 /dev/urandom >"$TMP/in"
"$BIN/plugpull-agent" call --listen "$PLACE" -- plugpull-verifier echo \
	<"$TMP/in" >"$TMP/out" 2>"$TMP/err" || fail "echo ended with $?"
cmp "$TMP/in" "$TMP/out" || fail "the input has changed on its way"

# What is not on the list is refused by name, and so is what could erase.
for words in "sh -c id" "/bin/sh" "cat /etc/shadow" \
	"cat /proc/sys/kernel/random/boot_id /etc/shadow" "plugpull-relay off" \
	"../plugpull-writer" "$PROGRAMS/plugpull-writer status 0" \
	"nvme format /dev/nvme0n1" "smartctl -s off /dev/sda" \
	"smartctl -a /dev/../etc/shadow" "smartctl -a file"; do
	read -ra list <<<"$words"
	call "${list[@]}"
	expect_status 126
	expect_err "refused: '?${list[0]}'?"
done
rm "$PROGRAMS/plugpull-verifier"
call plugpull-verifier status 0
expect_status 127
expect_err 'plugpull-verifier is not installed here'
mapfile -t many < <(seq 300)
call plugpull-writer "${many[@]}"
expect_status 255
expect_err 'at most 256 words'
call plugpull-writer "$(head -c 40000 /dev/zero | tr '\0' x)"
expect_status 255
expect_err 'at most 32768 bytes'

# The caller is told to stop: the program ends, in its own way.
start_call plugpull-writer wait
kill "$CALL_PID"
end_of "$CALL_PID" 5
expect_status 5
grep -q ended "$TMP/call.out" || fail "the last words are missing"
grep -q 'told to stop: the program is ended' "$TMP/call.err" ||
	fail "$(<"$TMP/call.err")"

# The caller vanishes: so does the program, before the agent dials again.
start_call plugpull-writer wait
kill -9 "$CALL_PID"
wait_until 5 lib_has_ended "$CHILD_PID"
said 'plugpull-writer \(pid [0-9]+\) is ended: its connection is over'
call plugpull-writer status 9
expect_status 9

# Nobody reads what it says: the program is ended, and the call is not good.
"$BIN/plugpull-agent" call --listen "$PLACE" -- plugpull-writer big 90000000 \
	2>"$TMP/err" </dev/null | head -c 10 >"$TMP/out"
expect_equal status "${PIPESTATUS[0]}" 255
expect_err 'nobody reads standard output'

# A second call on the same address: refused by name while the first waits for
# the agent, and patient while the agent is at work.
start_call plugpull-writer wait
background "$BIN/plugpull-agent" call --listen "$PLACE" --timeout 20s -- \
	plugpull-writer status 7 2>"$TMP/second.err" </dev/null
second=$!
wait_until 5 test -S "$TMP/agent.sock"
call plugpull-writer status 8
expect_status 255
expect_err 'cannot listen on .*: Address already in use'
! lib_has_ended "$second" || fail "it did not wait: $(<"$TMP/second.err")"
kill "$CALL_PID"
end_of "$second" 20
expect_status 7

# The agent dies: 255 at once, and its program does not go on.
start_call plugpull-writer wait
kill -9 "$AGENT_PID"
end_of "$CALL_PID" 3
expect_status 255
grep -q 'the agent is lost' "$TMP/call.err" || fail "$(<"$TMP/call.err")"
wait_until 5 lib_has_ended "$CHILD_PID"

# The agent is told to stop: its program ends first.
start_agent
start_call plugpull-writer wait
kill "$AGENT_PID"
end_of "$AGENT_PID" 10
expect_status 0
lib_has_ended "$CHILD_PID" || fail "the program outlives the agent"
end_of "$CALL_PID" 3
expect_status 5
rm "$TMP/agent.err" # and with nothing to do
start_agent
wait_until 5 grep -q 'cannot connect' "$TMP/agent.err"
kill "$AGENT_PID"
end_of "$AGENT_PID" 10
expect_status 0

# Only who has the key is heard; others are passed over, as is who says nothing.
for name in right wrong; do
	run collector --new-key "$TMP/$name.key"
done
PLACE=127.0.0.1:$((20000 + $$ % 10000))
CALL_OPTIONS=(--timeout 3s --key "$TMP/right.key")
start_agent --key "$TMP/wrong.key"
wrong=$AGENT_PID
call plugpull-writer status 0
expect_status 255
expect_err 'key does not match'
expect_equal "times that it was said" \
	"$(grep -c 'key does not match' "$TMP/err")" 1
said 'key does not match'
CALL_OPTIONS=(--timeout 20s --key "$TMP/right.key")
background bash -c "exec 3<>/dev/tcp/${PLACE/://} && sleep 20" 2>"$TMP/silent.err"
start_agent --key "$TMP/right.key"
for code in 4 5; do
	call plugpull-writer status $code
	expect_status $code
done
kill "$wrong" "$AGENT_PID"
CALL_OPTIONS=(--timeout 2s)
PLACE=0.0.0.0:0
call plugpull-writer status 0
expect_status 255
expect_err 'not a loopback address'
for options in "" "serve" "call" "serve --listen x" "call --connect x" \
	"serve --connect x more" "call --listen x" "run --listen x"; do
	read -ra list <<<"$options"
	run agent "${list[@]}"
	expect_status 255
	expect_err "Try 'plugpull-agent --help'"
done
