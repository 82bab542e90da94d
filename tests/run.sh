#!/bin/bash
# SPDX-License-Identifier: MIT
# run - runs test programs, JOBS at a time, and counts them.
#
#   tests/run.sh NAME TEST...
#
# A test that exits with 77 is skipped and has said why. The last line is
# "NAME: N passed, N failed, N skipped"; fails if a test failed. SKIP=fail makes
# a skip a failure (CI: nothing that the machine can do may be skipped), but for
# what its kernel has not.
set -u
name=$1
shift
passed=0 failed=0 skipped=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

start_test() { # NUMBER TEST
	(
		start=$EPOCHREALTIME
		rc=0
		timeout "${TEST_TIMEOUT:-300}" "$2" >"$logs/$1.log" 2>&1 \
			</dev/null || rc=$?
		echo "$rc $(((${EPOCHREALTIME/./} - ${start/./}) / 100000))" \
			>"$logs/$1.end"
	) &
}

tell_test() { # NUMBER TEST
	local rc tenths label=${2##*/} log=$logs/$1.log time

	read -r rc tenths <"$logs/$1.end"
	time="$((tenths / 10)).$((tenths % 10)) s"
	case $rc in
	0)
		passed=$((passed + 1))
		echo "ok      $label ($time)"
		grep -a '^table: ' "$log" | sed 's/^table: /        /'
		;;
	77)
		skipped=$((skipped + 1))
		echo "skipped $label: $(tail -n 1 "$log")"
		[[ ${SKIP-} == fail && $(tail -n 1 "$log") != *"this kernel has no "* ]] &&
			failed=$((failed + 1))
		;;
	*)
		failed=$((failed + 1))
		echo "FAILED  $label (exit $rc after $time)"
		sed 's/^/        /' "$log" | tail -n 60
		;;
	esac
}

started=0 told=0 running=0
tests=("$@")
while ((told < $#)); do
	while ((started < $# && running < ${JOBS:-1})); do
		start_test $started "${tests[started]}"
		started=$((started + 1)) running=$((running + 1))
	done
	wait -n
	running=$((running - 1))
	while [[ -s $logs/$told.end ]]; do
		tell_test $told "${tests[told]}"
		told=$((told + 1))
	done
done
echo "$name: $passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
