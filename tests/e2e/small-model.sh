#!/bin/bash
# SPDX-License-Identifier: MIT
# Every end of every small experiment (tests/unit/test_smallmodel.c), judged
# once more by the oracle, which shares no code with the verifier. One distinct
# end in SHARE goes to it; tests/soak/small-model.sh sends all of them, of
# larger experiments too.
. "${0%/*}/lib.sh"
requires python3 mkfifo
"$PYTHON" -c "import cryptography" 2>"$TMP/err" ||
	skip "needs python3-cryptography"

test=$BIN/tests/unit/test_smallmodel
[[ -x $test ]] || fail "$test is not built: make units"
cd "${0%/*}/../.." || exit 2
mkfifo "$TMP/ends"
"$PYTHON" tests/oracle/small.py "$TMP/ends" >"$TMP/out" 2>&1 &
lib_pids+=($!)
SMALLMODEL_EXPORT=$TMP/ends SMALLMODEL_SHARE=${SHARE:-7} \
	"$test" >"$TMP/err" 2>&1 || fail "verifier and naive model differ"
wait "${lib_pids[-1]}" || fail "verifier and oracle differ"
echo "table: $(grep ' ends judged' "$TMP/err")"
echo "table: the oracle: $(tail -n 1 "$TMP/out")"
