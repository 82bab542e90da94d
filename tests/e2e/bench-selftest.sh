#!/bin/bash
# SPDX-License-Identifier: MIT
# The benchmarks must not rot between two of their runs: their arithmetic, and
# one short measurement of the writer beside the bare loop.
. "${0%/*}/lib.sh"

bench=${0%/*}/../bench
[[ -n $PYTHON ]] || skip "needs python3"
requires taskset
[[ -d /dev/shm ]] || skip "needs /dev/shm"
memory=$(mktemp -d /dev/shm/plugpull-test.XXXXXX)
at_end 'rm -rf "$memory"'

status=0
"$PYTHON" "$bench/bench.py" --selftest >"$TMP/out" 2>"$TMP/err" || status=$?
expect_status 0
expect_err '^Ran [1-9][0-9]* tests'

status=0
timeout 60 "$PYTHON" "$bench/bench.py" --bin "$BIN" --size 16m --rounds 2 \
	--duration 0.2 --peers writer,bare --json "$TMP/samples.json" \
	--memory "$memory" \
	target=tmpfs block=4k depth=32 sync=flush:32 streams=1 \
	>"$TMP/out" 2>"$TMP/err" || status=$?
expect_status 0
grep -q '^Not measured: tmpfs: .*no direct I/O' "$TMP/out" &&
	skip "this kernel has no direct I/O on tmpfs"
expect_out '^\| 4k \| 32 \| flush:32 \| 1 \| [1-9][0-9,]* \| - \| - \| [0-9.]+ \('
expect_equal "samples with writes, flushes and time" "$("$PYTHON" - \
	"$TMP/samples.json" <<-'END'
	import json, sys
	print(*sorted("%s %d" % (s["peer"], s["round"])
	              for s in json.load(open(sys.argv[1]))
	              if s["rate"] > 0 and s["writes"] > 0 and s["flushes"] > 0
	              and s["cpu_us"] is not None))
	END
)" 'bare 0 bare 1 writer 0 writer 1'
expect_equal "what is left in memory" "$(ls "$memory")" ''

# A cell that nobody knows is refused, not silently left out.
status=0
"$PYTHON" "$bench/bench.py" --bin "$BIN" depth=7 >"$TMP/out" 2>"$TMP/err" ||
	status=$?
expect_status 2
expect_err 'no cell fits'
