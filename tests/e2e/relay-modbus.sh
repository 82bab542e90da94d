#!/bin/bash
# SPDX-License-Identifier: MIT
# Coils of a real Modbus server, libmodbus' own: by TCP, and by RTU over a
# serial server, with what both refuse, and with a server that dies.
. "${0%/*}/lib.sh"
[[ -x $BIN/rig/modbus_server ]] || skip "built without libmodbus"

outlets() { # KEYS
	printf '[outlet it]\n%s\n' "$1" >"$TMP/outlets.ini"
}

relay() { # WORDS
	run relay --outlets "$TMP/outlets.ini" --outlet it "$@"
}

expect_state() { # on|off
	relay status
	expect_status 0
	expect_out "^$1\$"
}

# All that a server of either kind is asked.
check_board() { # KEYS
	outlets "$1
channel = 3"
	expect_state off
	relay on
	expect_status 0
	expect_state on
	relay off
	expect_status 0
	expect_state off
	relay --off-time 100ms cycle
	expect_status 0
	expect_state on
	expect_equal 'what was switched' \
		"$(grep coil "$TMP/server" | tr '\n' ' ')" \
		'coil 3 on coil 3 off coil 3 on '
	grep -q '^coil [^3]' "$TMP/server" && fail "another coil was switched"
	true
}

export PLUGPULL_STATE=$TMP/state
background "$BIN/rig/modbus_server" tcp >"$TMP/server"
SERVER=$!
wait_until 20 grep -q '^port' "$TMP/server"
port=$(sed -n 's/^port //p' "$TMP/server")
check_board "driver = modbus-tcp
address = tcp://127.0.0.1:$port"
outlets "driver = modbus-tcp
address = tcp://127.0.0.1:$port
channel = 9"
relay off
expect_status 2
expect_err 'the board has no such relay \(exception 2\)'
relay status
expect_status 2
kill "$SERVER"
wait_until 20 lib_has_ended "$SERVER"
relay on
expect_status 2
expect_err 'cannot connect: Connection refused'

# ---- RTU, by the driver's own frames
rm "$TMP/server"
background "$PYTHON" "${0%/*}/../rig/tty_server.py" "$TMP/tty" >"$TMP/port"
wait_until 20 test -s "$TMP/port"
port=$(cat "$TMP/port")
background "$BIN/rig/modbus_server" rtu "$TMP/tty" 7 >"$TMP/server"
SERVER=$!
wait_until 20 grep -q '^ready' "$TMP/server"
check_board "driver = modbus-rtu
address = tcp://127.0.0.1:$port
unit = 7"
outlets "driver = modbus-rtu
address = tcp://127.0.0.1:$port
unit = 7
relays = 9
channel = 9"
relay off
expect_status 2
expect_err 'the board has no such relay \(exception 2 of unit 7\)'
outlets "driver = modbus-rtu
address = tcp://127.0.0.1:$port
unit = 8"
relay off
expect_status 2
expect_err 'unit 8 did not answer'
# Registers are none of this server's: it says so to the other family's driver.
outlets "driver = r421a08
address = tcp://127.0.0.1:$port
unit = 7"
relay off
expect_status 2
expect_err 'exception [12] of unit 7'
