#!/bin/bash
# SPDX-License-Identifier: MIT
# The relay switches through a real PDUDaemon, whose PDU is a command that writes
# to a file: each order is carried out once, in its turn, and what the daemon does
# not know is refused. "OK" is also what it says of a job that has failed: so
# nothing is read back, and that is said.
. "${0%/*}/lib.sh"
requires pdudaemon python3
run relay --outlet pdudaemon:http://127.0.0.1:1 status
grep -q 'built without libcurl' "$TMP/err" && skip "built without libcurl"
export PLUGPULL_STATE=$TMP/state

PORT=$("$PYTHON" -c 'import socket
with socket.create_server(("127.0.0.1", 0)) as s: print(s.getsockname()[1])')
cat >"$TMP/daemon.json" <<JSON
{"daemon": {"hostname": "127.0.0.1", "port": $PORT, "logging_level": "DEBUG",
  "listener": "http"},
 "pdus": {
  "rack 1": {"driver": "localcmdline", "retries": 1,
   "cmd_on": "echo on %s >> $TMP/pdu", "cmd_off": "echo off %s >> $TMP/pdu"},
  "broken": {"driver": "localcmdline", "retries": 1,
   "cmd_on": "echo on %s %s", "cmd_off": "echo off %s %s"}},
 "aliases": {"slot3": {"hostname": "rack 1", "port": 3}}}
JSON
cat >"$TMP/outlets.ini" <<INI
[outlet drive]
driver = pdudaemon
address = http://127.0.0.1:$PORT
channel = 7
hostname = rack 1
drain_time = 0ms
[outlet zero]
driver = pdudaemon
address = http://127.0.0.1:$PORT
hostname = rack 1
port = 0
[outlet alias]
driver = pdudaemon
address = http://127.0.0.1:$PORT/
alias = slot3
[outlet stranger]
driver = pdudaemon
address = http://127.0.0.1:$PORT
hostname = rack 2
[outlet broken]
driver = pdudaemon
address = http://127.0.0.1:$PORT
hostname = broken
timeout = 20s
INI

relay() { # OUTLET ARGS...
	local outlet=$1
	shift
	run relay --outlets "$TMP/outlets.ini" --outlet "$outlet" "$@"
}

background pdudaemon --conf "$TMP/daemon.json" >"$TMP/daemon.log" 2>&1
DAEMON=$!
wait_until 20 grep -q 'Listening on' "$TMP/daemon.log"

relay drive off
expect_status 0
expect_err 'this board cannot be read back'
expect_equal "the PDU" "$(<"$TMP/pdu")" "off 7"
relay drive on
relay zero off
relay alias off
relay drive --off-time 100ms cycle
expect_status 0
expect_equal "the PDU" "$(tr '\n' ' ' <"$TMP/pdu")" \
	"off 7 on 7 off 0 off 3 off 7 on 7 "
relay drive status
expect_status 0
expect_out '^unknown$'

relay stranger off
expect_status 2
expect_err 'GET /power/control/off: HTTP status 500'

# The daemon waits 5 s after a failure, also after the last one.
relay broken off
expect_status 0
expect_err 'this board cannot be read back'
grep -q 'attempts left 0' "$TMP/daemon.log" || fail "the job has not failed"

kill "$DAEMON"
wait_until 10 lib_has_ended "$DAEMON"
relay drive off
expect_status 2
expect_err 'cannot switch off, tried 3 times'
exit 0
