#!/bin/bash
# SPDX-License-Identifier: MIT
# A writer whose key is wrong, missing or open to others, or for which nobody is
# there, is told so and what to do, before anything is written; the run that
# another writer has with the collector goes on undisturbed.
. "${0%/*}/lib.sh"
requires nbdkit jq

start_simdrive drive --size 18m
for name in right wrong; do
	run collector --new-key "$TMP/$name.key"
	expect_status 0
done
start_collector --listen 127.0.0.1:0 --key "$TMP/right.key"

# A run that goes on meanwhile, on another drive.
background "$BIN/plugpull-writer" --target "$TMP/other.img" --size 8m \
	--collector "$COLLECTOR" --key "$TMP/right.key" \
	--json "$TMP/other.json" >"$TMP/other.out" 2>"$TMP/other.err"
OTHER=$!
wait_until 30 grep -q '^cycle 1 writing' "$TMP/other.out"
OTHER_ID=$(sed -n 's/^run //p' "$TMP/other.out")
refused() { # REASON HINT OPTIONS...
	local reason=$1 hint=$2 logs
	shift 2
	run writer --target "$SIM_URI" --erase "$SIM_URI" --count 10 \
		--ack-timeout "${TIMEOUT:-3s}" --json "$TMP/writer.json" "$@"
	expect_status 2
	expect_err "^plugpull-writer: .*$reason"
	expect_err "^plugpull-writer: hint: .*$hint"
	expect_equal "writes to the drive" "$(sim_counter writes)" 0
	expect_equal "the drive is not blamed" \
		"$(json "$TMP/writer.json" .gone)" false
	logs=$(find "$TMP/acks" -name '*.acklog' | wc -l)
	expect_equal "number of logs" "$logs" 1
}

refused 'the key does not match' 'copy of one key' \
	--collector "$COLLECTOR" --key "$TMP/wrong.key"
grep -q "turned away: .*key does not match" "$TMP/collector.err" ||
	fail "the collector said nothing: $(cat "$TMP/collector.err")"
refused "$COLLECTOR" 'wants --key' --collector "$COLLECTOR"
# To go on with the other's run needs the key, too.
refused 'the key does not match' 'copy of one key' \
	--collector "$COLLECTOR" --key "$TMP/wrong.key" --run "$OTHER_ID"

cp "$TMP/right.key" "$TMP/open.key"
chmod 640 "$TMP/open.key"
refused 'open to others \(mode 0640\)' 'chmod 600' \
	--collector "$COLLECTOR" --key "$TMP/open.key"
head -c 60 "$TMP/right.key" >"$TMP/short.key"
chmod 600 "$TMP/short.key"
refused 'short.key does not hold 64 hex digits' '--new-key' \
	--collector "$COLLECTOR" --key "$TMP/short.key"
refused 'cannot open key file .*: No such file' '--new-key' \
	--collector "$COLLECTOR" --key "$TMP/none.key"

# The run is somebody's already; the right key changes nothing about that.
TIMEOUT=20s refused "run $OTHER_ID already has a writer" 'stop the other writer' \
	--collector "$COLLECTOR" --key "$TMP/right.key" --run "$OTHER_ID"

# Nobody is there.
refused 'cannot connect to .*: No such file' 'plugpull-collector' \
	--collector "unix:$TMP/nobody.sock"
kill -TERM "$OTHER"
wait_until 20 lib_has_ended "$OTHER"
wait "$OTHER" || fail "the other writer ended with $?"
expect_equal 'what is durable is confirmed' \
	"$(json "$TMP/other.json" '.durable == .confirmed')" true
address=$COLLECTOR
kill "$COLLECTOR_PID"
wait_until 20 lib_has_ended "$COLLECTOR_PID"
refused 'cannot connect to .*: Connection refused' 'plugpull-collector' \
	--collector "$address" --key "$TMP/right.key"

# A collector without a key, and a writer with one.
start_collector
refused 'does not speak TLS 1.3' 'for both ends or for none' \
	--collector "$COLLECTOR" --key "$TMP/right.key"
refused 'run 0{31}1 is unknown here' '--run' --collector "$COLLECTOR" \
	--run 00000000000000000000000000000001

# With the right one it works.
kill "$COLLECTOR_PID"
wait_until 20 lib_has_ended "$COLLECTOR_PID"
start_collector --listen 127.0.0.1:0 --key "$TMP/right.key"
run writer --target "$SIM_URI" --erase "$SIM_URI" --count 500 \
	--collector "$COLLECTOR" --key "$TMP/right.key"
expect_status 0
