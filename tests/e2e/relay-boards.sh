#!/bin/bash
# SPDX-License-Identifier: MIT
# plugpull-relay over tcp:// against boards in software: what it does, what it
# says, what its exit status is, and never a state that the contact has not. The
# boards' journals are the truth.
. "${0%/*}/lib.sh"
export PLUGPULL_STATE=$TMP/state
INI=$TMP/outlets.ini
JOURNALS=$TMP/journals
AT_ONCE=32
mkdir -p "$JOURNALS"

# A kind of board: what boards.py is told | the channel | the outlet's keys.
declare -A KINDS=(
	[lcus]="lcus|1|"
	[lcus-ext]="lcus-ext|3|"
	[kmtronic]="kmtronic|8|"
	[kmtronic-4]="kmtronic,relays=4|4|relays = 4"
	[kmtronic-2]="kmtronic,relays=2|2|relays = 2"
	[numato]="numato|10|"
	[numato-32]="numato,relays=32|31|relays = 32"
	[numato-32-decimal]="numato,relays=32,token=decimal|3|relays = 32;token = decimal"
	[numato-64]="numato,relays=64,token=decimal|63|relays = 64"
	[devantech]="devantech|2|"
	[devantech-eth]="devantech-eth|8|"
	[devantech-eth-20]="devantech-eth,relays=20|17|"
	[devantech-eth-key]="devantech-eth,password=apple|1|password = $TMP/key"
	[denkovi16]="denkovi16|9|"
	[custom]="words|1|on = 'pump on\n';off = 'pump off\n';query = 'pump?\n';reply_on = 'pump=1';reply_off = 'pump=0';match = contains"
)
# Those that are ill-mannered, too.
ASKED="lcus lcus-ext kmtronic numato devantech devantech-eth denkovi16 custom"
MANNERS="silent half echo loop stale split hangup garbage stuck"
(umask 077 && echo apple >"$TMP/key" && echo pear >"$TMP/wrong-key")

driver_of() { # KIND
	case $1 in
	devantech-eth*) echo devantech-eth ;;
	lcus-ext) echo lcus-ext ;;
	*) echo "${1%%-*}" ;;
	esac
}

# ---- the boards and their outlets: "KIND.MANNER", "KIND.MANNER.on" ----
words=() names=()
add() { # NAME WORD
	names+=("$1")
	words+=("$2")
}
for kind in "${!KINDS[@]}"; do
	IFS='|' read -r word _ <<<"${KINDS[$kind]}"
	add "$kind.good" "$word/good"
	[[ " $ASKED " == *" $kind "* ]] || continue
	for manner in $MANNERS; do
		add "$kind.$manner" "$word/$manner"
		add "$kind.$manner.on" "$word,start=on/$manner"
	done
done
add lcus-ext.badsum lcus-ext/badsum
add lcus-ext.badsum.on lcus-ext,start=on/badsum
add devantech-timed.good devantech,timed=yes/good
add devantech-eth-wrong.good devantech-eth,password=apple,start=on/good
add devantech-eth-none.good devantech-eth,password=apple,start=on/good
add devantech-eth-timed.good devantech-eth,start=on/good
add hw667.good hw667/good
add hw667-nc.good hw667/good
background "$PYTHON" "${0%/*}/../fake/boards.py" --journals "$JOURNALS" \
	"${words[@]}" >"$TMP/ports" 2>"$TMP/boards.err" </dev/null
are_all_up() {
	[[ $(wc -l <"$TMP/ports") == "${#words[@]}" ]]
}
wait_until 10 are_all_up

declare -A PORTS CHANNELS
outlet() { # NAME PORT DRIVER CHANNEL KEYS
	PORTS[$1]=$2 CHANNELS[$1]=$4
	printf '[outlet %s]\ndriver = %s\naddress = tcp://127.0.0.1:%s\nchannel = %s\n' \
		"$1" "$3" "$2" "$4"
	[[ -z $5 ]] || tr ';' '\n' <<<"$5"
}
i=0
while read -r port _; do
	name=${names[i++]}
	kind=${name%%.*}
	IFS='|' read -r _ channel keys <<<"${KINDS[$kind]-}"
	case $kind in
	devantech-timed) outlet "$name" "$port" devantech 2 "timed = yes;contact = nc" ;;
	devantech-eth-timed) outlet "$name" "$port" devantech-eth 1 "" ;;
	devantech-eth-wrong) outlet "$name" "$port" devantech-eth 1 "password = $TMP/wrong-key" ;;
	devantech-eth-none) outlet "$name" "$port" devantech-eth 1 "" ;;
	hw667) outlet "$name" "$port" hw667 1 "" ;;
	hw667-nc) outlet "$name" "$port" hw667 1 "contact = nc" ;;
	*) outlet "$name" "$port" "$(driver_of "$kind")" "$channel" "$keys" ;;
	esac
done <"$TMP/ports" >"$INI"

# ---- what is expected of each ----
relay() { # COMMAND...: of the outlet NAME
	run relay --outlets "$INI" --outlet "$NAME" "$@"
}

journal() { # what the contact did, on one line
	sed -n "s/^${CHANNELS[$NAME]} //p" "$JOURNALS/${PORTS[$NAME]}" \
		2>/dev/null | paste -sd, -
}

expect_journal() {
	expect_equal "what the contact of $NAME did" "$(journal)" "$1"
}

expect_lines() { # of stdout, each an extended regular expression, whole
	local line
	for line; do
		IFS= read -r got <&3 || fail "$NAME: no line for: $line"
		[[ $got =~ ^$line$ ]] || fail "$NAME: '$got' is not: $line"
	done 3<"$TMP/out"
	[[ $(wc -l <"$TMP/out") == "$#" ]] || fail "$NAME: more lines"
}

good_board() {
	local told='read-back took_us=[0-9]+ skew_us=0'

	relay status
	expect_status 0
	expect_lines off
	relay on
	expect_status 0
	[[ ! -s $TMP/err ]] || fail "$NAME: on: something on stderr"
	expect_journal on
	relay status
	expect_status 0
	expect_lines on
	relay off
	expect_status 0
	expect_journal on,off
	# 150 ms: no board has that on its own clock without being asked to.
	relay --off-time 150ms cycle
	expect_status 0
	expect_journal on,off,on
	status=0
	# shellcheck disable=SC2034 # lib.sh reads it
	printf 'status\noff\nstatus\nwhat\non\ncycle 150\nend\n' |
		"$BIN/plugpull-relay" --outlets "$INI" --outlet "$NAME" session \
			>"$TMP/out" 2>"$TMP/err" || status=$?
	expect_status 0
	expect_lines "ok on $told" "ok off $told" "ok off $told" \
		'error unknown command "what"' "ok on $told" "ok on $told"
	expect_journal on,off,on,off,on,off,on
	[[ $(wc -l <"$JOURNALS/${PORTS[$NAME]}") == 7 ]] ||
		fail "$NAME: another contact was switched, too"
}

# The state may be told, right, or not; never the other one.
bad_status() { # MANNER TRUTH
	local kind=${NAME%%.*} told=2 why='makes no sense|does not stop|does not tell|gave its prompt|neither on nor off'

	relay status
	case $kind.$1 in
	# A byte cut in half is none.
	*.silent | devantech.half) told=unknown why="did not answer; its state" ;;
	*.split | *.stuck) told=$2 why= ;;
	*.hangup) why='the other end is gone|Connection reset' ;;
	# Its lines name their relay, the last one counts; and what contains
	# the answer is enough.
	lcus.half | lcus.echo | lcus.stale | custom.echo) told=$2 why= ;;
	esac
	if [[ $told == 2 ]]; then
		expect_status 2
		[[ ! -s $TMP/out ]] || fail "$NAME: told $(<"$TMP/out")"
		expect_err "plugpull-relay: $NAME: "
	else
		expect_status 0
		expect_lines "$told"
	fi
	[[ -z $why ]] || expect_err "$why"
	[[ -n $why || ! -s $TMP/err ]] || fail "$NAME: something on stderr"
}

# What the contact did is one thing, what is known of it another.
bad_off() { # MANNER
	relay off
	case $1 in
	stuck)
		expect_status 2
		# One says so in its answer to the command itself.
		expect_err 'tried 3 times: (the board says that it is still on|the answer to "off" makes)'
		expect_journal ""
		;;
	*)
		expect_status 2
		expect_err "plugpull-relay: $NAME: cannot switch off, tried 3 times: "
		;;
	esac
}

# It has no answers; what there is to say is said.
deaf_off() {
	relay off
	expect_status 0
	expect_err 'did not answer; its state cannot be read back'
	expect_journal off
	relay on
	expect_status 0
	expect_journal off,on
}

bad_board() {
	local kind=${NAME%%.*} manner truth=off

	manner=${NAME#*.}
	[[ $manner == *.on ]] && truth=on
	manner=${manner%.on}
	bad_status "$manner" "$truth"
	expect_journal ""
	[[ $truth == on ]] || return 0
	case $kind.$manner in
	lcus.half | lcus.echo | lcus.stale | custom.echo | devantech.half | custom.silent) ;;
	lcus.silent | kmtronic.silent | devantech.silent) deaf_off ;;
	lcus-ext.silent | *.half | *.hangup | *.garbage | *.stuck | *.badsum)
		bad_off "$manner"
		;;
	esac
}

timed_boards() {
	NAME=devantech-timed.good
	relay --off-time 200ms cycle
	expect_status 0
	expect_journal "on for 0.2,on,off"
	relay --off-time 205ms cycle # not in its steps
	expect_status 0
	expect_journal "on for 0.2,on,off,on,off"
	NAME=devantech-eth-timed.good
	relay --off-time 300ms cycle
	expect_status 0
	expect_journal "off for 0.3,off,on"
}

hw667_boards() {
	NAME=hw667.good
	relay status
	expect_status 0
	expect_lines unknown
	relay on
	expect_status 0
	expect_err 'this board cannot be read back'
	relay --off-time 1s cycle # on is not off: not by its clock
	expect_status 0
	expect_journal on,off,on
	NAME=hw667-nc.good
	relay --off-time 1s cycle
	expect_status 0
	expect_err 'this board cannot be read back'
	expect_journal "on for 1,on,off"
}

guarded_boards() {
	NAME=devantech-eth-wrong.good
	relay off
	expect_status 2
	expect_err 'does not take the password'
	! grep -q pear "$TMP/err" || fail "the password is in the message"
	expect_journal ""
	NAME=devantech-eth-none.good
	relay off
	expect_status 2
	expect_err 'refuses "off" of relay 1: .*wants its password'
	expect_journal ""
}

# Without a file, and what is refused before anything is sent.
plain_outlets() {
	local at=tcp://127.0.0.1:${PORTS[denkovi16.split.on]}

	run relay --outlet "denkovi16:$at:16" status
	expect_status 0
	expect_lines on
	run relay --outlet "denkovi16:$at:17" status
	expect_status 2
	expect_err 'denkovi16 has channels 1 to 16, not 17'
	run relay --outlet "numato:$at:16" status
	expect_status 2
	expect_err 'relays: 16, counted from 0, and the channel is 16'
	run relay --outlet "custom:$at" status
	expect_status 2
	expect_err 'on: is missing'
	run relay --outlet "devantech-eth:/dev/null" status
	expect_status 2
	expect_err 'is not tcp://HOST'
}

# ---- all of them, some at once ----
declare -A jobs=()
start_case() { # NAME FUNCTION
	((${#jobs[@]} < AT_ONCE)) || end_case
	(
		NAME=$1 TMP=$TMP/case.$1
		mkdir -p "$TMP"
		"$2"
	) &
	jobs[$!]=$1
}
end_case() {
	local ended
	wait -n -p ended "${!jobs[@]}" || {
		echo "failed: ${jobs[$ended]}" >&2
		bad=1
	}
	unset "jobs[$ended]"
}
bad=0
start_case hw667 hw667_boards
start_case timed timed_boards
start_case guarded guarded_boards
start_case plain plain_outlets
for name in "${names[@]}"; do
	case $name in
	*-timed.* | *-wrong.* | *-none.* | hw667*) ;;
	*.good) start_case "$name" good_board ;;
	*) start_case "$name" bad_board ;;
	esac
done
while ((${#jobs[@]} > 0)); do end_case; done
[[ ! -s $TMP/boards.err ]] || fail "the boards: $(<"$TMP/boards.err")"
exit "$bad"
