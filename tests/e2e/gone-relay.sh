#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: the relay's board falls silent, answers with half a line, with noise, too
# late, or lies, behind "off" or from the start: no such cycle counts, the
# campaign says why and stops, nobody is accused (also where the drive lies), and
# the drive has its power in the end. What a board does that is only late counts
# where the drive has really been cut.
. "${0%/*}/lib.sh"
requires nbdkit jq python3
BOARD="${0%/*}/../rig/board.py"
names=()

# begin FAULT MANNER start|off: a campaign of its own, in the background; they
# wait for most of the time.
begin() {
	local name=$1.$2.$3

	start_simdrive "$name" --size 18m --fault "$1" --seed 4
	cat >"$TMP/$name.switch" <<-SH
		#!/bin/bash
		case \$1 in on) verb=restore ;; off) verb=cut ;; esac
		exec "$BIN/plugpull-simdrive" \$verb --control "$SIM_CONTROL"
	SH
	chmod +x "$TMP/$name.switch"
	background python3 "$BOARD" "$TMP/$name.switch" "$2" "$3" \
		>"$TMP/$name.port" 2>"$TMP/$name.board" </dev/null
	wait_until 20 test -s "$TMP/$name.port"
	cat >"$TMP/$name.ini" <<-INI
		[campaign]
		cycles = 2
		control_cycles = 0
		seed = 1
		[drive]
		target = $SIM_URI
		erase = $SIM_URI
		[cut]
		after_min = 50ms
		after_max = 100ms
		[power]
		outlet = lcus:tcp://127.0.0.1:$(cat "$TMP/$name.port"):1
		off_time = 0ms
		gone_timeout = 500ms
	INI
	background "$BIN/plugpull-campaign" run "$TMP/$name.ini" --dir \
		"$TMP/$name.d" >"$TMP/$name.said" 2>&1 </dev/null
	names+=("$name $!")
}

drive_has_power() {
	[[ $(sim_counter state) == on ]]
}

# finish NAME PID: its end, what it said in $TMP/out, how many cycles count.
finish() {
	wait_until 100 lib_has_ended "$2"
	status=0
	wait "$2" || status=$?
	cp "$TMP/$1.said" "$TMP/out"
	SIM_CONTROL=$TMP/$1.control
	# The last word may come late.
	wait_until 20 drive_has_power
	SUMMARY=$TMP/$1.d/summary.json
	COUNT=$(json "$SUMMARY" '.done_cycles - .void_cycles')
}

nothing_counts() { # NAME
	expect_status 2
	expect_out '^NO VERDICT: '
	expect_out '^stopped +[a-z]'
	expect_equal "$1: broken cycles" "$(json "$SUMMARY" .test.broken)" 0
	expect_equal "$1: cycles that count" "$COUNT" 0
	echo "table: board $1: $(sed -n 's/^stopped *//p' "$TMP/out" | tail -n 1)"
}

begin none good off
begin ignores-flush silent off
begin none half off
begin ignores-flush garbage off
begin none late off
begin ignores-flush welded off
begin ignores-flush garbage start
for campaign in "${names[@]}"; do
	read -r name pid <<<"$campaign"
	finish "$name" "$pid"
	if [[ $name == *.good.* ]]; then
		# The others prove something.
		[[ $status == [03] ]] || fail "a good board: exit $status"
		expect_equal "cycles that count" "$COUNT" 2
	elif [[ $name == *.late.* ]]; then
		[[ $status == [023] ]] || fail "a late board: exit $status"
		((COUNT <= $(sim_counter cuts))) || fail "$COUNT cycles count"
	else
		nothing_counts "$name"
	fi
done
