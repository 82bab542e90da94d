#!/bin/bash
# SPDX-License-Identifier: MIT
# A read that never gets its answer holds up neither other commands nor the next
# cut, and a dead drive answers everything with an error.
. "${0%/*}/lib.sh"
requires nbdkit nbdcopy

power() {
	run simdrive "$1" --control "$SIM_CONTROL"
	expect_status 0
}

head -c 4194304 /dev/urandom >"$TMP/data"

start_simdrive hanging --fault hangs --seed 1
nbdcopy --flush --request-size=65536 "$TMP/data" "$SIM_URI" ||
	fail "cannot write"
power cut
power restore
before=$(sim_counter reads)
background nbdcopy "$SIM_URI" "$TMP/back" 2>"$TMP/copy.err"
COPY_PID=$!
wait_until 20 lib_counter_reached reads $((before + 16))
nbdinfo "$SIM_URI" >/dev/null || fail "a hanging read holds up others"
nbdcopy --flush "$TMP/data" "$SIM_URI" || fail "a hanging read holds up writes"
lib_has_ended "$COPY_PID" && fail "nothing hangs"
power cut
wait_until 20 lib_has_ended "$COPY_PID"
kill "$SIM_PID"
wait_until 20 lib_has_ended "$SIM_PID"

start_simdrive dying --fault dies --seed 1
nbdcopy --flush "$TMP/data" "$SIM_URI" || fail "cannot write"
power cut
power restore
nbdcopy "$SIM_URI" "$TMP/back" 2>"$TMP/err" && fail "a dead drive reads"
expect_err 'shutdown'
exit 0
