#!/bin/bash
# SPDX-License-Identifier: MIT
# The load generator of the benchmarks is honest: what it counts as confirmed
# stands in the logs, read here by the tables of docs/FORMATS.md alone.
. "${0%/*}/lib.sh"
requires jq
[[ -x $BIN/bench/ackload ]] || skip "needs bench/ackload (make benches)"

run collector --new-key "$TMP/key"
expect_status 0
start_collector --listen 127.0.0.1:0 --key "$TMP/key"
"$BIN/bench/ackload" --connect "$COLLECTOR" --key "$TMP/key" --writers 8 \
	--seconds 500ms --rate 200000 --collector-pid "$COLLECTOR_PID" \
	--dir "$ACKDIR" >"$TMP/load.json" 2>"$TMP/err" ||
	fail "ackload has failed"

expect_equal 'what it tells' "$(json "$TMP/load.json" '(.runs | length) == 8 and
	.writes_per_second > 0 and .collector_cpu_seconds > 0 and
	.log_bytes_per_write > 0 and 0 < .confirm_ms.median and
	.confirm_ms.median <= .confirm_ms.p99 and
	.confirm_ms.p99 <= .confirm_ms.max')" true

"$PYTHON" - "$ACKDIR" "$TMP/load.json" "${0%/*}/../oracle" <<'PYTHON' >"$TMP/out" ||
import json, os, sys
sys.path.insert(0, sys.argv[3])
from formats import AckLog
total = 0
for run in json.load(open(sys.argv[2]))["runs"]:
    path = os.path.join(sys.argv[1], run["run"] + ".acklog")
    log = AckLog(open(path, "rb").read())
    durable = sum(len(cycle.durable) for cycle in log.cycles)
    assert log.torn_bytes == 0, (run, log.torn_bytes)
    assert durable == run["confirmed"] > 0, (run, durable)
    total += durable
print(total)
PYTHON
	fail "the logs do not say what was confirmed"
(($(<"$TMP/out") >= 10000)) || fail "$(<"$TMP/out") writes at a rate of 200000"

# Without the key nobody is served, and that is said.
"$BIN/bench/ackload" --connect "$COLLECTOR" --writers 2 --seconds 100ms \
	>"$TMP/out" 2>"$TMP/err" && fail "it was served without the key"
expect_err '^ackload: '
