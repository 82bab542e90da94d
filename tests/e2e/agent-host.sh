#!/bin/bash
# SPDX-License-Identifier: MIT
# A whole-host cut by hand: writer and verifier run through the agent, the log
# stays with the collector and its bounds go through the call. An honest drive
# is acquitted, a liar convicted, and the counts are those of the log itself.
. "${0%/*}/lib.sh"
requires jq

run collector --new-key "$TMP/key"
PLACE=127.0.0.1:$((30000 + $$ % 10000))
start_collector --listen 127.0.0.1:0 --key "$TMP/key"
background "$BIN/plugpull-agent" serve --connect "$PLACE" --key "$TMP/key" \
	2>"$TMP/agent.err" </dev/null
via=("$BIN/plugpull-agent" call --listen "$PLACE" --key "$TMP/key" --)

event() {
	run collector --send "$1" --run "$RUN" --connect "$COLLECTOR" \
		--key "$TMP/key"
	expect_status 0
}

one_host_cut() {
	local before
	background "${via[@]}" plugpull-writer --target "$SIM_URI" \
		--erase "$SIM_URI" --collector "$COLLECTOR" \
		--key "$TMP/key" --sync flush:16 >"$TMP/writer.out" \
		2>"$TMP/writer.err" </dev/null
	WRITER_PID=$!
	wait_until 60 lib_writer_has_begun
	RUN=$(grep -oE '[0-9a-f]{32}' "$TMP/writer.out" | head -n 1)
	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + 1000))
	event cut-asked
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	end_of_writer
	expect_equal "status of the writer" "$status" 2
	event cut-seen
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
}

judge() {
	local both
	"$BIN/plugpull-collector" --bounds "$ACKDIR/$RUN.acklog" |
		timeout 60 "${via[@]}" plugpull-verifier --target "$SIM_URI" \
			--acklog - --json - >"$TMP/bounds.json" 2>"$TMP/err"
	both=("${PIPESTATUS[@]}")
	expect_equal "status of the bounds" "${both[0]}" 0
	run verifier --target "$SIM_URI" --acklog "$ACKDIR/$RUN.acklog" \
		--json "$TMP/verdict.json"
	expect_equal "status through the agent" "${both[1]}" "$status"
	jq -S 'del(.seconds)' "$TMP/bounds.json" >"$TMP/a"
	jq -S 'del(.seconds)' "$TMP/verdict.json" >"$TMP/b"
	cmp -s "$TMP/a" "$TMP/b" || fail "$(diff "$TMP/a" "$TMP/b")"
}

for fault in none ignores-flush; do
	start_simdrive "$fault" --size 18m --seed 4 --fault "$fault"
	one_host_cut
	judge
	earned=LOST
	[[ $fault == none ]] && earned=INTACT
	expect_verdict "$earned" NONE
done
