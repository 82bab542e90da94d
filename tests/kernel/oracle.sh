#!/bin/bash
# SPDX-License-Identifier: MIT
# A small sample of make torture: random configurations through the real
# programs, judged atom by atom by the independent oracle, which first shows
# that it can tell every class and every kind of dishonest writer.
. "${0%/*}/../e2e/lib.sh"
requires python3

cd "${0%/*}/../.." || exit 2
python3 tests/oracle/selftest.py >"$TMP/out" 2>&1 || fail "the oracle's self-test"
python3 tests/oracle/runs.py --bin "$BIN" --count "${COUNT:-8}" \
	--seed "${SEED:-1}" --keep "$TMP" >"$TMP/out" 2>&1 ||
	fail "verifier and oracle differ"
echo "table: $(tail -n 1 "$TMP/out")"
