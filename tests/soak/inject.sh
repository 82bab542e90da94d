#!/bin/bash
# SPDX-License-Identifier: MIT
# The faults of the rig (tests/e2e/inject-*.sh) at many more points. FULL=1: at
# every one of them.
cd "${0%/*}/../.." || exit 2
failed=0
for script in tests/e2e/inject-*.sh; do
	start=$SECONDS
	if DENSE=1 VERBOSE=1 "$script" >"${TMPDIR:-/tmp}/plugpull-inject.$$" 2>&1
	then
		echo "table: ${script##*/}: $((SECONDS - start)) s"
		grep '^table: ' "${TMPDIR:-/tmp}/plugpull-inject.$$"
	else
		failed=1
		echo "${script##*/} failed:"
		tail -n 40 "${TMPDIR:-/tmp}/plugpull-inject.$$"
	fi
done
rm -f "${TMPDIR:-/tmp}/plugpull-inject.$$"
exit "$failed"
