#!/bin/bash
# SPDX-License-Identifier: MIT
# A small sample of make torture: the oracle first shows that it can tell every
# class and every kind of dishonest writer; then every difference that was ever
# found, and random configurations through the real programs, judged atom by
# atom.
. "${0%/*}/../e2e/lib.sh"
requires python3 nbdkit

cd "${0%/*}/../.." || exit 2
runs() {
	"$PYTHON" tests/oracle/runs.py --bin "$BIN" --keep "${TMPDIR:-/tmp}" \
		"$@" >"$TMP/out" 2>&1
}

"$PYTHON" tests/oracle/selftest.py >"$TMP/out" 2>&1 || fail "the oracle's self-test"
runs --list tests/oracle/differences.list --count 2 ||
	fail "verifier and oracle differ again"
echo "table: differences: $(tail -n 1 "$TMP/out")"
runs --count "${COUNT:-60}" --seed "${SEED:-1}" ||
	fail "verifier and oracle differ"
echo "table: random: $(tail -n 1 "$TMP/out")"
