#!/bin/bash
# SPDX-License-Identifier: MIT
# 300 honest cycles in a row at queue depth 32, with flush:16 and again with
# fua, each with 60 control cycles among them: nobody is accused, every cycle
# counts, and the control arm loses writes in nearly all.
. "${0%/*}/../e2e/lib.sh"
RUN_TIMEOUT=7200
cycles=${CYCLES:-300}

for sync in flush:16 fua; do
	start_simdrive "${sync%:*}" --size 34m --cache 16m --seed 3
	cat >"$TMP/campaign.ini" <<INI
[campaign]
name = honest
cycles = $cycles
control_cycles = $((cycles / 5))
seed = 1234
[drive]
target = $SIM_URI
erase = $SIM_URI
[workload]
block_size = 4k
queue_depth = 32
sync = $sync
[power]
outlet = sim:$SIM_CONTROL
off_time = 20ms
[cut]
after_min = 50ms
after_max = 400ms
INI
	start=$SECONDS
	run campaign run "$TMP/campaign.ini" --dir "$TMP/${sync%:*}.campaign"
	expect_status 0
	expect_out '^PASS'
	expect_out "$cycles of $cycles cuts count .*; 0 broken"
	echo "table: $sync depth 32, $((SECONDS - start)) s:"
	grep -E '^(PASS|cycles|test|control|evidence| +a cut| +this rig)' \
		"$TMP/out" | sed 's/^/table:   /'
done
