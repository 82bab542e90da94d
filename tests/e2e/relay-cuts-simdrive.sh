#!/bin/bash
# SPDX-License-Identifier: MIT
# The relay cuts a simulated drive and gives it back, and reads its state.
. "${0%/*}/lib.sh"

run relay list
expect_status 0
expect_out '^lcus '
expect_out '^sim '

start_simdrive none
outlet=sim:$SIM_CONTROL

run relay --outlet "$outlet" status
expect_status 0
expect_out '^on$'

run relay --outlet "$outlet" off
expect_status 0
run relay --outlet "$outlet" status
expect_out '^off$'

run relay --outlet "$outlet" on
expect_status 0
run relay --outlet "$outlet" status
expect_out '^on$'

# One cycle is one cut, never two.
run simdrive status --control "$SIM_CONTROL"
expect_out 'cuts=1( |$)'
run relay --outlet "$outlet" --off-time 100ms cycle
expect_status 0
run simdrive status --control "$SIM_CONTROL"
expect_out 'cuts=2( |$)'
expect_out 'state=on'

run relay --outlet "sim:$TMP/nobody" status
expect_status 2
expect_err 'plugpull-relay: sim on .*: cannot connect to .*: No such file'
