#!/bin/bash
# SPDX-License-Identifier: MIT
# Verifying while the writer is still at work is no verdict, whatever is found
# (P9): the drive is read at one time and the log at another.
. "${0%/*}/lib.sh"

# Read for long enough that a writer says something meanwhile.
start_simdrive drive --size 98m --seed 5
for load in "flush:1 1" "flush:16 32" "fua 4" "none 8"; do
	rm -f "$ACKLOG"
	read -r sync depth <<<"$load"
	start_writer --acklog "$ACKLOG" --sync "$sync" --queue-depth "$depth" \
		--block-size 16k
	for _ in 1 2 3; do
		verify_sim
		[[ $status == 2 ]] || fail "$load: exit status $status"
		expect_out 'no verdict: .*the writer of this run is still at work'
		expect_out '^hint: stop the writer'
	done
	kill "$WRITER_PID"
	end_of_writer
	expect_status 0
	verify_sim
	[[ $status == [03] ]] || fail "$load: $status after the writer's end"
done
