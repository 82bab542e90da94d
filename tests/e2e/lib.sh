# SPDX-License-Identifier: MIT
# lib - what every end-to-end test needs: a folder of its own, the programs, and
# an end that leaves nothing behind. A test fails at the first thing that is not
# as expected, and says what it saw.
# shellcheck shell=bash
set -u
BIN=${BIN:-$PWD/build}
[[ $BIN == /* ]] || BIN=$PWD/$BIN
# The system's own, for which tests/deps.sh gets the modules.
PYTHON=$(command -v /usr/bin/python3 || command -v python3)

# Files are targets only where flushes get through to the drive below (P9); on a
# machine where they do not, the tests go to memory.
lib_folder() {
	local at=${TMPDIR:-/tmp} node queue

	node=/sys/dev/block/$(stat -c %Hd:%Ld "$at")
	for queue in "$node"/queue/write_cache "$node"/../queue/write_cache; do
		[[ -r $queue && $(<"$queue") == *through ]] && at=/dev/shm
	done
	echo "$at"
}
TMP=$(mktemp -d "$(lib_folder)/plugpull-test.XXXXXX")
export PLUGPULL_TEST=$TMP # in all that is started here, see lib_is_ours()
lib_pids=()
lib_undo=()
status=0
ACKLOG=$TMP/run.acklog

# The number of a process that has ended may be somebody else's by now. A part of
# this shell has the environment that the shell began with, but is its child.
lib_is_ours() { # PID
	grep -qzxF "PLUGPULL_TEST=$TMP" "/proc/$1/environ" 2>/dev/null ||
		grep -qxE "PPid:[[:space:]]*($$|$BASHPID)" \
			"/proc/$1/status" 2>/dev/null
}

lib_end() {
	local rc=$? i

	trap - EXIT
	for ((i = ${#lib_undo[@]} - 1; i >= 0; i--)); do
		eval "${lib_undo[i]}" >/dev/null 2>&1 || true
	done
	for ((i = ${#lib_pids[@]} - 1; i >= 0; i--)); do
		lib_is_ours "${lib_pids[i]}" || continue
		# A stopped one first: CONT behind TERM disturbs a leak check.
		kill -CONT "${lib_pids[i]}" 2>/dev/null
		kill "${lib_pids[i]}" 2>/dev/null
	done
	for ((i = ${#lib_pids[@]} - 1; i >= 0; i--)); do
		lib_is_ours "${lib_pids[i]}" || continue
		timeout 10 tail --pid="${lib_pids[i]}" -f /dev/null ||
			kill -9 "${lib_pids[i]}" 2>/dev/null
	done
	if [[ -n ${KEEP-} ]]; then
		echo "kept: $TMP" >&2
	else
		rm -rf --one-file-system "$TMP"
	fi
	exit "$rc"
}
trap lib_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# fail MESSAGE: says what went wrong, with the last output, and ends the test.
fail() {
	echo "${0##*/}: line ${BASH_LINENO[-2]}: $*" >&2
	for lib_file in "$TMP/out" "$TMP/err"; do
		[[ -s $lib_file ]] || continue
		echo "--- ${lib_file##*/}" >&2
		tail -n 25 "$lib_file" >&2
	done
	exit 1
}

skip() {
	echo "${0##*/}: skipped: $*" >&2
	exit 77
}

# requires COMMAND...: skips by name where one is missing.
requires() {
	local name
	for name; do
		command -v "$name" >/dev/null || skip "needs $name"
	done
}

requires_root() {
	[[ $EUID == 0 ]] || skip "needs root"
}

# run NAME ARGS...: output in $TMP/out and $TMP/err, exit status in $status.
run() {
	local name=$1
	shift
	status=0
	timeout "${RUN_TIMEOUT:-60}" "$BIN/plugpull-$name" "$@" \
		>"$TMP/out" 2>"$TMP/err" </dev/null || status=$?
}

expect_status() {
	[[ $status == "$1" ]] || fail "exit status $status, expected $1"
}

expect_out() {
	grep -Eq -- "$1" "$TMP/out" || fail "nothing on stdout matches: $1"
}

expect_err() {
	grep -Eq -- "$1" "$TMP/err" || fail "nothing on stderr matches: $1"
}

expect_equal() { # WHAT GOT EXPECTED
	[[ $2 == "$3" ]] || fail "$1 is $2, expected $3"
}

# wait_until SECONDS COMMAND...: until it succeeds, or the test fails.
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < deadline)) || fail "still not true: $*"
		sleep 0.05
	done
}

# background COMMAND...: ended by pid at the end of the test; $! is its pid.
background() {
	"$@" &
	lib_pids+=($!)
}

# at_end COMMAND: undone last thing first, before background programs end.
at_end() {
	lib_undo+=("$1")
}

# start_simdrive NAME [OPTIONS]: a drive of 64 MiB unless --size says otherwise.
start_simdrive() {
	local name=$1 size=(--size 64m) option
	shift
	for option; do
		[[ $option == --size ]] && size=()
	done
	SIM_MEDIA=$TMP/$name.media
	SIM_CONTROL=$TMP/$name.control
	SIM_SOCKET=$TMP/$name.sock
	SIM_URI="nbd+unix:///?socket=$SIM_SOCKET"
	rm -f "$TMP/$name.out"
	background "$BIN/plugpull-simdrive" serve --socket "$SIM_SOCKET" \
		--media "$SIM_MEDIA" --control "$SIM_CONTROL" "${size[@]}" \
		"$@" >"$TMP/$name.out" 2>"$TMP/$name.err" </dev/null
	SIM_PID=$!
	wait_until 20 grep -q '^serving ' "$TMP/$name.out"
}

# start_collector [OPTIONS]: $COLLECTOR is its address, $ACKDIR its folder.
start_collector() {
	ACKDIR=$TMP/acks
	mkdir -p "$ACKDIR"
	rm -f "$TMP/collector.out"
	background "$BIN/plugpull-collector" --listen "unix:$TMP/collector.sock" \
		--dir "$ACKDIR" "$@" >"$TMP/collector.out" \
		2>"$TMP/collector.err" </dev/null
	COLLECTOR_PID=$!
	wait_until 20 grep -q '^listening on ' "$TMP/collector.out"
	COLLECTOR=$(sed -n 's/^listening on //p' "$TMP/collector.out" | tail -n 1)
}

# json FILE FILTER: one value of a JSON file.
json() {
	jq -r "$2" "$1"
}

# sim_counter NAME: a counter of the simulated drive's status line.
sim_counter() {
	"$BIN/plugpull-simdrive" status --control "$SIM_CONTROL" |
		tr ' ' '\n' | sed -n "s/^$1=//p"
}

lib_counter_reached() { # NAME VALUE
	[[ $(sim_counter "$1") -ge $2 ]]
}

# start_writer OPTIONS...: in the background; its log is $ACKLOG.
start_writer() {
	ACKLOG=${ACKLOG:-$TMP/run.acklog}
	rm -f "$TMP/writer.out"
	"$BIN/plugpull-writer" --target "$SIM_URI" --erase "$SIM_URI" \
		--json "$TMP/writer.json" "$@" >"$TMP/writer.out" \
		2>"$TMP/writer.err" </dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 60 lib_writer_has_begun
	grep -q '^cycle [0-9]* writing' "$TMP/writer.out" ||
		fail "the writer ended at once: $(cat "$TMP/writer.err")"
}

lib_writer_has_begun() {
	grep -q '^cycle [0-9]* writing' "$TMP/writer.out" ||
		lib_has_ended "$WRITER_PID"
}

# end_of_writer: waits for it; its exit status in $status.
end_of_writer() {
	wait_until "${1:-60}" lib_has_ended "$WRITER_PID"
	status=0
	wait "$WRITER_PID" || status=$?
}

lib_has_ended() {
	! kill -0 "$1" || [[ $(ps -o stat= -p "$1") == Z* ]]
}

# one_cut WRITES OPTIONS...: writer under load, power cut after that many more
# writes, power back, verdict in $TMP/verdict.json and the verifier's $status.
one_cut() {
	local writes=$1 before
	shift
	start_writer --acklog "$ACKLOG" "$@"
	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + writes))
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null ||
		fail "cannot cut the simulated drive"
	end_of_writer
	[[ $status == 2 ]] || fail "writer ended with $status after the cut: $(
		cat "$TMP/writer.err")"
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null ||
		fail "cannot restore the simulated drive"
	verify_sim
}

verify_sim() {
	run verifier --target "$SIM_URI" --acklog "$ACKLOG" \
		--read-timeout 2s --json "$TMP/verdict.json" "$@"
}

# The broken classes that the last verdict counts, sorted, one space between.
broken_classes() {
	jq -r '[("lost","blank","foreign","torn","corrupt","misdirected",
		"unreadable","hung","gone") as $c | select(.[$c].atoms > 0) |
		$c] | sort | join(" ")' "$TMP/verdict.json"
}

# faults: one line a fault of faults.def: name, argument, what a run with
# flushes must earn, what a run with FUA must earn, what may appear beside it.
faults() {
	sed -n 's/^FAULT(\(.*\))$/\1/p' "${0%/*}/../../simdrive/faults.def" |
		tr -d ' "' | awk -F, '{ print $2, $(NF-3), $(NF-2), $(NF-1), $NF }'
}

# expect_verdict EARNED ALSO: the last verdict is that class, and no other but the
# words of ALSO.
expect_verdict() {
	local earned=${1,,} also=${2,,} class got

	got=$(broken_classes)
	if [[ $earned == intact ]]; then
		[[ $status == 0 || $status == 3 ]] && [[ -z $got ]] && return
		fail "exit $status and '$got', but all promises were kept"
	fi
	[[ $status == 1 ]] || fail "exit $status, expected 1 ($earned)"
	[[ " $got " == *" $earned "* ]] || fail "'$got', expected $earned"
	for class in $got; do
		[[ " $earned $also " == *" $class "* ]] ||
			fail "'$got', expected $earned and nothing else"
	done
}

# convict FAULT SYNC DEPTH SEED: one cut of a fresh simulated drive.
convict() {
	local name=$1 arg flush fua also earned

	read -r _ arg flush fua also < <(faults | grep "^$name ")
	rm -f "$TMP"/drive.* "$ACKLOG"
	start_simdrive drive --size 18m --fault "$name" --seed "$4"
	one_cut 300 --sync "$2" --queue-depth "$3" --block-size 16k --seed "$4"
	earned=$flush
	[[ $2 == fua ]] && earned=$fua
	# Where nothing is promised, its class may be seen, or nothing.
	[[ $2 == none && -z $(broken_classes) ]] && earned=INTACT
	expect_verdict "$earned" "$also"
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
}
