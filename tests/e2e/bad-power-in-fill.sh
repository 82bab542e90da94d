#!/bin/bash
# SPDX-License-Identifier: MIT
# The power goes in the middle of the fill, and once more: nothing was promised,
# so nobody is accused, also of a drive that lies; the writer says what has
# happened and what to do next, and a new run works.
. "${0%/*}/lib.sh"
requires nbdkit jq

cut_in_fill() { # OPTIONS...
	local before
	before=$(sim_counter writes)
	rm -f "$TMP/writer.json"
	"$BIN/plugpull-writer" --target "$SIM_URI" --erase "$SIM_URI" \
		--json "$TMP/writer.json" "$@" >"$TMP/out" 2>"$TMP/err" \
		</dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 20 lib_counter_reached writes $((before + 5))
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	end_of_writer
	expect_status 2
	! grep -q 'writing$' "$TMP/out" || fail "the fill was over already"
	expect_err '^plugpull-writer: cannot prepare the region on .*'
	expect_err '^plugpull-writer: hint: .*new run'
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
}

nobody_accused() {
	[[ $status == [23] ]] || fail "exit status $status after a broken fill"
	expect_equal findings "$(json "$TMP/verdict.json" .findings_total)" 0
	expect_out '^verdict: (no verdict|promises kept, nothing shown): '
}

for fault in none ignores-flush; do
	rm -f "$TMP"/drive.* "$ACKLOG"
	start_simdrive drive --size 512m --fault "$fault" --seed 2
	cut_in_fill --acklog "$ACKLOG"
	verify_sim
	nobody_accused
	run verifier --target "$SIM_URI" --json "$TMP/verdict.json"
	nobody_accused

	# The broken run cannot be gone on with: its region does not hold what its
	# label would say.
	run writer --target "$SIM_URI" --erase "$SIM_URI" --acklog "$ACKLOG" \
		--count 1
	expect_status 2
	expect_err 'cannot resume: the region was never filled to its end'
	expect_err '^plugpull-writer: hint: .*new run'

	# Once more, with a collector.
	start_collector
	cut_in_fill --collector "$COLLECTOR"
	ID=$(sed -n 's/^run //p' "$TMP/out")
	run verifier --target "$SIM_URI" --acklog "$ACKDIR/$ID.acklog" \
		--json "$TMP/verdict.json"
	nobody_accused

	# A new run fills it again and works.
	start_writer --collector "$COLLECTOR" --sync flush:16 --size 18m
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + 300))
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	end_of_writer
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
	ACKLOG=$ACKDIR/$ID.acklog verify_sim
	if [[ $fault == none ]]; then
		[[ $status == [03] ]] || fail "the honest drive got $status"
	else
		# Its second label may be lost as well, and then what the
		# broken fill left there is seen.
		expect_verdict LOST CORRUPT
	fi
	kill "$SIM_PID" "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
	wait_until 20 lib_has_ended "$COLLECTOR_PID"
done
