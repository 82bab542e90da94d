#!/bin/bash
# SPDX-License-Identifier: MIT
# When the simulated drive answers, and when its power goes: a cut after so many
# writes is exact, a slow FLUSH takes its time and holds up no write, and a
# drive that has just got its power keeps silent for a while.
. "${0%/*}/lib.sh"
requires nbdkit nbdcopy nbdinfo jq

now_ms() {
	local now=${EPOCHREALTIME/[.,]/}
	echo $((now / 1000))
}

end_drive() {
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
}

# While it waits for its moment the switch obeys nothing else.
is_armed() {
	! timeout 0.2 "$BIN/plugpull-simdrive" status --control "$SIM_CONTROL"
}

head -c 4194304 /dev/urandom >"$TMP/data"

# Exactly so many writes of 64 KiB; the next ones are never answered.
start_simdrive counted --size 4m
before=$(sim_counter writes)
background "$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" \
	--after-writes 37 --within 20s >"$TMP/cut.out"
CUT_PID=$!
wait_until 10 is_armed
nbdcopy --request-size=65536 "$TMP/data" "$SIM_URI" 2>"$TMP/err" &&
	fail "the power did not go"
wait_until 10 lib_has_ended "$CUT_PID"
expect_equal "the number of writes" $(($(sim_counter writes) - before)) 37
run simdrive status --control "$SIM_CONTROL"
expect_out '^ok state=off '

# The time that --within says, where nothing is written.
run simdrive restore --control "$SIM_CONTROL"
expect_status 0
began=$(now_ms)
run simdrive cut --control "$SIM_CONTROL" --after-writes 1 --within 300ms
expect_status 0
(($(now_ms) - began >= 300)) || fail "the power went too early"
run simdrive restore --control "$SIM_CONTROL"
run simdrive cut --control "$SIM_CONTROL" --after-writes 1 --within 31s
expect_status 2
end_drive

# FLUSHes of 50 ms, one behind the other, and writes that are answered meanwhile.
start_simdrive slow --size 4m --flush-ms 50
run writer --target "$SIM_URI" --erase "$SIM_URI" \
	--acklog "$TMP/slow.acklog" --runtime 1s \
	--sync flush:1 --queue-depth 2 --json "$TMP/writer.json"
expect_status 0
flushes=$(json "$TMP/writer.json" .flushes)
writes=$(json "$TMP/writer.json" .writes)
((flushes > 0 && flushes <= 25)) || fail "$flushes flushes in a second"
((writes > 4 * flushes)) || fail "$writes writes beside $flushes flushes"
end_drive

# Behind each power-on.
start_simdrive late --size 4m --ready-ms 400
run simdrive cut --control "$SIM_CONTROL"
began=$(now_ms)
run simdrive restore --control "$SIM_CONTROL"
expect_status 0
nbdinfo "$SIM_URI" >"$TMP/out" || fail "it does not come back"
(($(now_ms) - began >= 400)) || fail "it was there too early"
end_drive

for wrong in "--fault-cuts 0" "--fault-cuts 3-2" "--cut-drain half"; do
	# shellcheck disable=SC2086
	run simdrive serve --socket "$TMP/w" --media "$TMP/w.media" \
		--control "$TMP/w.control" --size 4m $wrong
	expect_status 2
	expect_err "${wrong%% *}"
done
exit 0
