# SPDX-License-Identifier: MIT
# walk - lets every call of a kind fail in turn, until a run meets none.
#
# Sourced behind tests/e2e/lib.sh. After the first 3 points of a kind the next
# one is twice as far. DENSE=1 takes the first 8, then every 7th, and behind 70 a
# tenth more each time (OpenSSL's allocations are thousands); the soak does so.
# Each point meets one fault of the list, in turn, where the kind is not decisive
# (walk_all). FULL=1 lets every point meet every fault; POINTS ends a walk after
# so many points; VERBOSE=1 tells how many there were.
# shellcheck shell=bash
requires jq
SHIM=$BIN/inject.so
[[ -e $SHIM ]] || skip "needs $SHIM: make run-check builds it"
# Sanitizers insist on being first, and an injected ENOMEM is no leak's fault.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
export LSAN_OPTIONS=detect_leaks=0
WALK_POINTS=0

# side FUNCTION...: each in a folder and a shell of its own, all at once, for
# most of their time goes by in waiting. Fails where one of them does.
sides() {
	local side pid failed=0 pids=()
	at_end 'kill $(jobs -pr); wait'
	for side; do
		(
			TMP=$TMP/$side
			export PLUGPULL_TEST=$TMP # see lib_is_ours()
			lib_pids=() lib_undo=()
			trap lib_end EXIT
			trap 'exit 143' TERM
			trap 'exit 130' INT
			mkdir "$TMP"
			"$side"
			echo "$WALK_POINTS" >"$TMP/../$side.points"
		) &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		{ wait "$pid"; } 2>/dev/null || failed=1
	done
	((failed == 0)) || exit 1
	for side; do
		WALK_POINTS=$((WALK_POINTS + $(<"$TMP/$side.points")))
	done
}

# value FILE NAME: a plain value on the top level of a JSON file.
value() {
	local text
	VALUE=
	[[ -s $1 ]] || return 0
	text=$(<"$1")
	[[ $text =~ \"$2\":\ ?([^,}]*) ]] || return 0
	VALUE=${BASH_REMATCH[1]//[\"$'\n']/}
}

# soon COMMAND...: wait_until, in finer steps.
soon() {
	local i
	for ((i = 0; i < 4000; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.005
	done
	bad "still not true: $*"
}

# has_ended PID: as lib_has_ended, without a process of its own.
has_ended() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	[[ ${stat##*) } == Z* ]]
}

# as NAME: what a command needs so that this program of it meets $SPEC.
as() {
	rm -f "$TMP/report"
	INJECTED=(env "INJECT=$SPEC" "INJECT_PROGRAM=plugpull-$1"
		"INJECT_REPORT=$TMP/report" "LD_PRELOAD=$SHIM"
		${INJECT_PATH:+"INJECT_PATH=$INJECT_PATH"})
}

# inject NAME ARGS...: as run, but this program meets $SPEC.
inject() {
	local name=$1
	shift
	status=0
	as "$name"
	# The shell has a word for each that is killed; we ask for that.
	{
		timeout "${RUN_TIMEOUT:-60}" "${INJECTED[@]}" \
			"$BIN/plugpull-$name" "$@" >"$TMP/out" 2>"$TMP/err" \
			</dev/null || status=$?
	} 2>/dev/null
	expect_no_crash
}

# A program that is killed by a signal, or by a sanitizer, is never right, but
# for the kill that was asked for.
# OpenSSL itself crashes where its first allocations fail: no verdict either.
expect_no_crash() {
	[[ $SPEC == crypto:* && $status == 139 ]] && return
	[[ $SPEC == *:@(kill|cut) && $status == 137 ]] && return
	((status < 4)) || bad "ended with $status: $(cat "$TMP/err")"
}

is_met() {
	local count met
	read -r count met 2>/dev/null <"$TMP/report" && [[ $met == met ]]
}

# bad MESSAGE: the test fails, and says at which point.
bad() {
	fail "$SPEC${INJECT_PATH:+ of $INJECT_PATH}: $*"
}

# said NAME: trouble that ends a program is said in a sentence of its own.
said() {
	grep -q "^plugpull-$1: ." "$TMP/err" ||
		bad "$1 ended with $status and said nothing: $(cat "$TMP/err")"
}

next_point() { # N
	if [[ -n ${FULL-} ]] || (($1 < ${DENSE:+5 +} 3)); then
		echo $(($1 + 1))
	elif [[ -z ${DENSE-} ]]; then
		echo $(($1 * 2))
	elif (($1 < 70)); then
		echo $(($1 + 7))
	else
		echo $(($1 + $1 / 10))
	fi
}

# walk_all FUNCTION KIND WHAT...: FUNCTION with every $SPEC until none is met.
# WHAT of EIO+ is "this call and all behind it fail".
walk_all() {
	local what
	for what in "${@:3}"; do
		walk_once "$1" "$2" "$what"
	done
}

# walk FUNCTION KIND WHAT...: the same; one WHAT a point, but for FULL=1.
walk() {
	if [[ -n ${FULL-} ]]; then
		walk_all "$@"
	else
		walk_once "$@"
	fi
}

walk_once() {
	local function=$1 kind=$2 n=1 points=0 last=0 what
	shift 2
	while :; do
		what=${@:points % $# + 1:1}
		SPEC=$kind:$n${what//[!+]/}:${what%+}
		"$function"
		is_met || break
		points=$((points + 1)) last=$n
		[[ -n ${POINTS-} ]] && ((points >= POINTS)) && break
		n=$(next_point "$n")
	done
	WALK_POINTS=$((WALK_POINTS + points))
	[[ -z ${VERBOSE-} ]] ||
		echo "$kind $*${INJECT_PATH:+ of ${INJECT_PATH##*/}}:" \
			"$points points up to call $last"
}

has_memory() {
	nm -D "$SHIM" | grep -q ' T malloc$' || {
		echo "table: memory: skipped, a sanitizer has its own allocator"
		return 1
	}
}

# The first label, the slots and the second label of a region are not equal: a
# liar that loses all of its slots keeps its labels.
blank_slots() { # FILE
	local size
	size=$(stat -c %s "$1")
	dd if=/dev/zero of="$1" bs=1M seek=1 conv=notrunc status=none \
		count=$(((size >> 20) - 2))
}

told() {
	echo "table: $WALK_POINTS points${1:+, $1}"
}
