#!/bin/bash
# SPDX-License-Identifier: MIT
# run - runs test programs one after another and counts them.
#
#   tests/run.sh NAME TEST...
#
# A test that exits with 77 is skipped and has said why. The last line is
# "NAME: N passed, N failed, N skipped"; fails if a test failed. SKIP=fail makes
# a skip a failure (CI: nothing that the machine can do may be skipped).
set -u
name=$1
shift
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for test; do
	start=$SECONDS
	rc=0
	timeout "${TEST_TIMEOUT:-300}" "$test" >"$log" 2>&1 </dev/null || rc=$?
	label=${test##*/}
	case $rc in
	0)
		passed=$((passed + 1))
		echo "ok      $label ($((SECONDS - start)) s)"
		grep -a '^table: ' "$log" | sed 's/^table: //'
		;;
	77)
		skipped=$((skipped + 1))
		echo "skipped $label: $(tail -n 1 "$log")"
		[[ ${SKIP-} == fail ]] && failed=$((failed + 1))
		;;
	*)
		failed=$((failed + 1))
		echo "FAILED  $label (exit $rc after $((SECONDS - start)) s)"
		sed 's/^/        /' "$log" | tail -n 60
		;;
	esac
done
echo "$name: $passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
