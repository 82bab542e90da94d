#!/bin/bash
# SPDX-License-Identifier: MIT
# Small experiments with larger bounds, and all of their distinct ends before
# the oracle.
cd "${0%/*}/../.." || exit 2
BIN=${BIN:-build}
make --no-print-directory O="$BIN" "$BIN/tests/unit/test_smallmodel" || exit 1
SMALLMODEL_DEEP=1 SHARE=1 exec tests/e2e/small-model.sh
