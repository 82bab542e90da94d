#!/bin/bash
# SPDX-License-Identifier: MIT
# mutants - puts small soundness bugs into a copy of the tree, one at a time;
# each must make the test fail that is named beside it.
#
#   tests/mutants/mutants.sh [PATTERN...]     those whose name matches, or all
#
# The bugs are in tests/mutants/*.list, one entry each:
#
#   mutant NAME
#   why    the rule that it breaks
#   file   FILE
#   -TEXT  what to replace, found exactly once; several lines may follow
#   +TEXT  what stands there instead, or nothing; more such pairs may follow
#   caught TEST...   each of them must fail: tests/unit/TEST.c or tests/e2e/TEST.sh
#
# TEXT begins behind the sign, may be a part of a line, and keeps its tabs.
#
# Not caught is: a mutant that survives one of its tests, that does not compile,
# or whose text is no longer there. Every test named must pass without mutants.
# The last line is "mutants: N passed, N failed"; fails if one failed.
set -u
cd "${0%/*}/../.." || exit 2
limit=${TEST_TIMEOUT:-120} # seconds; a test that hangs has failed
workers=${WORKERS:-2}      # each has a copy of its own
names=() whys=() files=() tests=()
declare -A hunks # "MUTANT,HUNK,-" and "MUTANT,HUNK,+"
declare -A broken=() # tests that fail without a mutant
pids=() test_pid='' root='' me=main

die() {
	echo "mutants: $*" >&2
	exit 2
}

# ---- the list

is_wanted() { # NAME
	local pattern
	[[ ${#patterns[@]} -gt 0 ]] || return 0
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # a pattern is meant
		[[ $1 == *$pattern* ]] && return 0
	done
	return 1
}

# Lines of one hunk are joined by newlines; a - behind a + begins the next.
take_text() { # SIGN TEXT
	local key
	[[ $1 == - && $sign != - ]] && hunk=$((hunk + 1))
	key=${#names[@]},$hunk,$1
	if [[ $sign == "$1" ]]; then
		hunks[$key]+=$'\n'$2
	else
		hunks[$key]=$2
	fi
	sign=$1
}

take_entry() { # WHERE, at the end of an entry
	[[ -n $name ]] || return 0
	[[ -n $why && -n $file && -n $caught && $hunk -gt 0 ]] ||
		die "$1: $name lacks why, file, text or caught"
	is_wanted "$name" || return 0
	names+=("$name") whys+=("$why") files+=("$file") tests+=("$caught")
}

forget_entry() {
	local key
	name='' why='' file='' caught='' hunk=0 sign=''
	for key in "${!hunks[@]}"; do
		[[ $key == "${#names[@]}",* ]] && unset "hunks[$key]"
	done
}

load_list() { # FILE
	local line number=0
	forget_entry
	while IFS= read -r line; do
		number=$((number + 1))
		case $line in
		'mutant '*)
			take_entry "$1:$number"
			forget_entry
			name=${line#mutant }
			;;
		'why    '*) why=${line#why    } ;;
		'file   '*) file=${line#file   } ;;
		'caught '*) caught=${line#caught } ;;
		[-+]*) take_text "${line:0:1}" "${line:1}" ;;
		'#'* | '') ;;
		*) die "$1:$number: what is this: $line" ;;
		esac
	done <"$1"
	take_entry "$1:$number"
	forget_entry
}

# ---- the copies: origin is never built, tree is this worker's

# Everything but built things and the history.
copy_tree() {
	local entry
	root=$(mktemp -d "${TMPDIR:-/tmp}/plugpull-mutants.XXXXXX") || exit 2
	mkdir "$root/origin" "$root/tmp"
	for entry in *; do
		[[ $entry == build* || $entry == *.state ]] ||
			cp -a "$entry" "$root/origin/" ||
			die "cannot copy $entry"
	done
	use_copy 0
	cp -a "$root/origin" "$tree"
}

use_copy() { # NUMBER
	tree=$root/tree.$1
	log=$root/log.$1
}

# However it ends, nothing is left behind.
clean_up() {
	trap - EXIT
	[[ -n $test_pid ]] && kill "$test_pid" 2>/dev/null
	[[ ${#pids[@]} -gt 0 ]] && kill "${pids[@]}" 2>/dev/null
	wait
	[[ $me == main && -n $root ]] && rm -rf --one-file-system "$root"
}

build() { # TARGET..., output in $log
	make -C "$tree" -j 2 O=build CFLAGS=-O1 NBD="$nbd" \
		SERIAL="$serial" "$@" >"$log" 2>&1
}

# What must be built to run TEST; nothing where there is no such test.
targets_of() { # TEST
	if [[ -f $root/origin/tests/unit/$1.c ]]; then
		echo "build/tests/unit/$1"
	elif [[ -f $root/origin/tests/e2e/$1.sh ]]; then
		echo all
	fi
}

run_test() { # TEST, output in $log
	local command=build/tests/unit/$1
	[[ -f $root/origin/tests/unit/$1.c ]] || command=tests/e2e/$1.sh
	(cd "$tree" && BIN=build TMPDIR=$root/tmp exec \
		timeout -k 10 "$limit" "$command" >"$log" 2>&1 </dev/null) &
	test_pid=$!
	wait "$test_pid" 2>/dev/null
}

# The first test function, or line of a script, that failed.
first_failure() { # STATUS
	local what
	what=$(sed -n 's/^\[  FAILED  \] \([a-z0-9_]*\)$/\1/p
		s/^[a-z0-9-]*\.sh: \(line [0-9]*: .*\)/\1/p' \
		"$log" | head -n 1)
	[[ -n $what ]] || what=$(grep -ao 'Assertion `.*failed' "$log" |
		head -n 1)
	[[ $1 == 124 || $1 == 137 ]] && what="no end within $limit s"
	echo "${what:-exit status $1}"
}

# ---- one mutant

# Puts mutant number I into the copy; fails where a text is not there once.
mutate() { # I
	local path=$tree/${files[$1]} text find hunk
	[[ -f $path ]] || return 1
	text=$(cat "$path" && printf x)
	text=${text%x}
	for ((hunk = 1; ; hunk++)); do
		[[ -v hunks[$1,$hunk,-] ]] || break
		find=${hunks[$1,$hunk,-]}
		[[ $text == *"$find"* ]] || return 1
		[[ ${text#*"$find"} == *"$find"* ]] && return 1
		text=${text%%"$find"*}${hunks[$1,$hunk,+]-}${text#*"$find"}
	done
	printf %s "$text" >"$path"
}

restore() { # FILE; newer than what was built of the mutant
	[[ -f $root/origin/$1 ]] && cp "$root/origin/$1" "$tree/$1"
}

# Says in $verdict how mutant number I was caught, or why it was not.
try_mutant() { # I
	local test rc target_list=()
	verdict=
	mutate "$1" || {
		verdict="its text is not in ${files[$1]} exactly once"
		return 1
	}
	for test in ${tests[$1]}; do
		[[ -v broken[$test] ]] && {
			verdict="its test $test fails without it, too"
			return 1
		}
		target_list+=("$(targets_of "$test")")
	done
	build "${target_list[@]}" || {
		verdict="does not compile: $(grep -m 1 'error' "$log")"
		return 1
	}
	for test in ${tests[$1]}; do
		rc=0
		run_test "$test" || rc=$?
		if [[ $rc == 0 || $rc == 77 || $rc == 126 || $rc == 127 ]]; then
			verdict="survives $test (exit status $rc): ${whys[$1]}"
			return 1
		fi
		verdict+="${verdict:+, }$test ($(first_failure "$rc"))"
	done
}

# Every mutant that is this worker's turn.
work() { # NUMBER
	local i line
	me=$1
	pids=()
	trap clean_up EXIT
	trap 'exit 143' TERM
	use_copy "$me"
	for i in "${!names[@]}"; do
		((i % workers == me)) || continue
		line="FAILED  ${names[i]}: "
		try_mutant "$i" && line="ok      ${names[i]}: caught by "
		echo "$line$verdict" | tee -a "$root/results"
		restore "${files[i]}"
	done
}

run_mutants() {
	local i
	for ((i = 1; i < workers; i++)); do
		cp -a "$root/tree.0" "$root/tree.$i" || die "cannot copy"
	done
	for ((i = 0; i < workers; i++)); do
		work "$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	pids=()
}

# ---- controls: every test passes on the copy as it is

check_controls() {
	local test target rc target_list=()
	local -A used=()
	# shellcheck disable=SC2048 # an entry names several
	for test in ${tests[*]}; do
		used[$test]=1
	done
	for test in "${!used[@]}"; do
		target=$(targets_of "$test")
		[[ -n $target ]] || die "there is no test named $test"
		target_list+=("$target")
	done
	build "${target_list[@]}" || {
		tail -n 20 "$log" >&2
		die "the tree does not build"
	}
	for test in "${!used[@]}"; do
		rc=0
		run_test "$test" || rc=$?
		[[ $rc == 0 ]] && continue
		broken[$test]=1
		echo "FAILED  without a mutant: $test ($(first_failure "$rc"))"
	done
	echo "controls: $((${#used[@]} - ${#broken[@]})) tests pass without a" \
		"mutant, ${#broken[@]} fail"
}

patterns=("$@")
for list in tests/mutants/*.list; do
	load_list "$list"
done
[[ ${#names[@]} -gt 0 ]] || die "no mutant has such a name"
doubles=$(printf '%s\n' "${names[@]}" | sort | uniq -d | head -n 1)
[[ -z $doubles ]] || die "two mutants are named $doubles"
nbd=$(pkg-config --exists libnbd 2>/dev/null && echo yes)
serial=$(pkg-config --exists libserialport 2>/dev/null && echo yes)
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
copy_tree
check_controls
: >"$root/results"
run_mutants
passed=$(grep -c '^ok ' "$root/results")
failed=$((${#names[@]} - passed))
echo "mutants: $passed passed, $failed failed"
[[ $failed == 0 && ${#broken[@]} == 0 ]]
