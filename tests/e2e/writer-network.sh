#!/bin/bash
# SPDX-License-Identifier: MIT
# A lost collector stops no write at once and loses nothing that was confirmed:
# the writer says so, finds it again and repeats; when it stays away, it ends
# with a clear word.
. "${0%/*}/lib.sh"
requires socat jq

DISK=$TMP/disk.img
PROXY=$TMP/proxy.sock

start_proxy() {
	rm -f "$PROXY"
	background socat "UNIX-LISTEN:$PROXY,fork" "UNIX-CONNECT:${COLLECTOR#unix:}"
	PROXY_PID=$!
	wait_until 10 test -S "$PROXY"
}

# The listener and its children: every connection ends at once.
cut_network() {
	local child

	for child in $(pgrep -P "$PROXY_PID") "$PROXY_PID"; do
		kill "$child" 2>/dev/null
	done
	wait_until 10 lib_has_ended "$PROXY_PID"
}

start_one() { # OPTIONS...
	"$BIN/plugpull-writer" --target "$DISK" --size 16m \
		--collector "unix:$PROXY" --json "$TMP/writer.json" "$@" \
		>"$TMP/out" 2>"$TMP/err" </dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 30 grep -q '^cycle [0-9]* writing' "$TMP/out"
}

said() { # TIMES WHAT
	[[ $(grep -c "$2" "$TMP/err") == "$1" ]]
}

start_collector
start_proxy
start_one
for i in 1 2 3; do
	cut_network
	wait_until 20 said "$i" 'lost the collector'
	start_proxy
	wait_until 20 said "$i" 'collector is back'
done
kill "$WRITER_PID"
end_of_writer
expect_status 0
expect_equal 'all that is durable is confirmed' \
	"$(json "$TMP/writer.json" '.durable == .confirmed')" true
ID=$(json "$TMP/writer.json" .run)
[[ -s $ACKDIR/$ID.acklog ]] || fail "no log of run $ID"

# It stays away.
start_one --run "$ID" --ack-timeout 2s
cut_network
end_of_writer
expect_status 2
expect_err 'lost the collector'
expect_err 'not found again within 2 s'
expect_equal 'the drive is not blamed' "$(json "$TMP/writer.json" .gone)" false

# What was confirmed is there, and the run goes on.
start_proxy
run writer --target "$DISK" --collector "unix:$PROXY" --run "$ID" --count 100 \
	--json "$TMP/writer.json"
expect_status 0
expect_out '^cycle 3 writing$'
