#!/bin/bash
# SPDX-License-Identifier: MIT
# Only who has the key is heard, over TCP as over a Unix socket; both ends say
# what is wrong, and the others go on.
. "${0%/*}/lib.sh"

RUN_ID=c011ec70120102030405060708090a0b

send() { # TEXT OPTIONS...
	local text=$1
	shift
	run collector --send note --run "$RUN_ID" --connect "$COLLECTOR" \
		--text "$text" "$@"
}

run collector --new-key "$TMP/right.key"
expect_status 0
run collector --new-key "$TMP/wrong.key"
expect_status 0
run collector --new-key "$TMP/right.key"
expect_status 2
expect_err 'cannot create key file .*: File exists'

start_collector --listen 127.0.0.1:0 --key "$TMP/right.key"
cp "${0%/*}/expected/$RUN_ID.acklog" "$ACKDIR"
[[ $COLLECTOR == 127.0.0.1:* && $COLLECTOR != *:0 ]] ||
	fail "it listens on $COLLECTOR"

send first. --key "$TMP/right.key"
expect_status 0
send second. --key "$TMP/wrong.key"
expect_status 2
expect_err 'the key does not match'
grep -Eq "^plugpull-collector: 127\.0\.0\.1:[0-9]+ turned away: .*key does \
not match$" "$TMP/collector.err" || fail "$(cat "$TMP/collector.err")"
send third.
expect_status 2
expect_err 'hint: .*--key'
send fourth. --key "$TMP/right.key"
expect_status 0

log=$ACKDIR/$RUN_ID.acklog
grep -aqF first. "$log" || fail "the first note is missing"
grep -aqF fourth. "$log" || fail "the fourth note is missing"
! grep -aqE 'second\.|third\.' "$log" || fail "a stranger was heard"

chmod 644 "$TMP/right.key"
send fifth. --key "$TMP/right.key"
expect_status 2
expect_err 'is open to others \(mode 0644\)'
expect_err 'hint: chmod 600'

# A client with a key does not talk to a collector without one.
kill "$COLLECTOR_PID"
wait_until 20 lib_has_ended "$COLLECTOR_PID"
start_collector
send sixth. --key "$TMP/wrong.key"
expect_status 2
expect_err 'does not speak TLS 1\.3'

# Without a key nothing leaves this host.
run collector --listen 0.0.0.0:0 --dir "$ACKDIR"
expect_status 2
expect_err 'not a loopback address'
expect_err 'hint: .*--new-key'
