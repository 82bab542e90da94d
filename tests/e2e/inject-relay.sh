#!/bin/bash
# SPDX-License-Identifier: MIT
# Every call of the relay on its port fails or is short in turn: "done" is said
# only where the drive is in that state, or the board has got the whole command;
# else it ends with 2 and a sentence.
. "${0%/*}/lib.sh"
. "${0%/*}/../inject/walk.sh"
requires nbdkit python3

# The simulated drive knows its own state.
switched() {
	local action state
	for action in off on cycle; do
		inject relay --outlet "sim:$SIM_CONTROL" --off-time 0ms \
			"$action"
		state=$(sim_counter state)
		case $status in
		0) [[ $state == "${action/cycle/on}" ]] ||
			bad "$action is done, and it is $state" ;;
		2) said relay ;;
		esac
		is_met && break
		"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" \
			>/dev/null 2>&1
	done
	inject_status_tells
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" \
		>/dev/null 2>&1
}

# "status" says the truth, "unknown", or nothing.
inject_status_tells() {
	local met=no
	! is_met || met=yes
	inject relay --outlet "sim:$SIM_CONTROL" status
	case $status in
	0) [[ $(<"$TMP/out") == "$(sim_counter state)" ||
		$(<"$TMP/out") == unknown ]] ||
		bad "it is $(sim_counter state), told: $(<"$TMP/out")" ;;
	2) said relay ;;
	esac
	[[ $met == no ]] || echo "0 met" >"$TMP/report"
}

# A board of two relays: a0 channel state sum, and ff asks for the states. What
# it has understood is in a file, a line each.
start_board() {
	background python3 -c '
import socket, sys
door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
words = ["OFF", "ON"]
while True:
    peer = door.accept()[0]
    held = b""
    try:
        while more := peer.recv(64):
            held += more
            while held[:1] == b"\xff" or len(held) >= 4:
                if held[0] == 0xff:
                    held = held[1:]
                    text = open(sys.argv[1]).read().split()
                    peer.sendall(b"CH1: OFF\r\nCH2: " +
                                 (text or ["ON"])[-1].encode() + b"\r\n")
                    continue
                head, held = held[:4], held[4:]
                with open(sys.argv[1], "a") as log:
                    good = (head[:2] == b"\xa0\x02" and
                            sum(head[:3]) & 255 == head[3])
                    log.write(words[head[2] & 1] if good else "garbage")
                    log.write("\n")
    except OSError:
        pass
    peer.close()
' "$TMP/board" >"$TMP/port"
	soon test -s "$TMP/port"
}

commanded() {
	: >"$TMP/board"
	inject relay --outlet "lcus:tcp://127.0.0.1:$(<"$TMP/port"):2" off
	[[ $status != 2 ]] || said relay
	! grep -q garbage "$TMP/board" || bad "the board got half a command"
	[[ $status == 0 ]] || return 0
	soon board_is_off
}

board_is_off() {
	[[ $(tail -n 1 "$TMP/board") == OFF ]]
}

simulated() {
	SPEC=none
	start_simdrive drive --size 3m
	walk switched socket EMFILE
	walk switched connect ECONNREFUSED EINTR
	walk switched send EPIPE ECONNRESET EINTR EAGAIN short kill
	walk switched recv ECONNRESET EINTR EAGAIN short zero
	walk switched poll EINTR ENOMEM
	walk switched stdio ENOSPC
	! has_memory || walk switched memory ENOMEM
}

board() {
	SPEC=none
	start_board
	walk commanded socket EMFILE
	walk commanded connect ECONNREFUSED EINTR
	walk commanded send EPIPE ECONNRESET EINTR EAGAIN short kill
	walk commanded recv ECONNRESET EINTR short zero
	walk commanded poll EINTR ENOMEM
	walk commanded stdio ENOSPC
	! has_memory || walk commanded memory ENOMEM
}

sides ${SIDES:-simulated board}
told
