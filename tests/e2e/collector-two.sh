#!/bin/bash
# SPDX-License-Identifier: MIT
# Two collectors on one folder: a log that one has in use is refused by the
# other, and a client that says nothing keeps nobody from being served.
. "${0%/*}/lib.sh"

RUN_ID=c011ec70120102030405060708090a0b
# The hello of an observer of that run, as docs/FORMATS.md has it.
HELLO='\x50\x50\x41\x31\x01\x00\x00\x00\x14\x00\x00\x00\x00\x00\x00'\
'\x00\x00\x00\x00\x00\x40\x2f\xc8\xb4\x02\x00\x03\x00\xc0\x11'\
'\xec\x70\x12\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b'

start_collector --listen 127.0.0.1:0
first=$COLLECTOR
first_err=$TMP/first.err
mv "$TMP/collector.err" "$first_err"
start_collector --listen 127.0.0.1:0
cp "${0%/*}/expected/$RUN_ID.acklog" "$ACKDIR"

# One client that never says anything, and one that stays with the run.
exec 3<>"/dev/tcp/127.0.0.1/${first##*:}"
exec 4<>"/dev/tcp/127.0.0.1/${first##*:}"
printf '%b' "$HELLO" >&4
IFS= read -r -t 20 -N 4 answer <&4
expect_equal "the answer's beginning" "$answer" PPA1

run collector --send note --run "$RUN_ID" --connect "$COLLECTOR"
expect_status 2
expect_err 'refused: cannot append to .*: another program is appending to it'
run collector --send note --run "$RUN_ID" --connect "$first" --text here.
expect_status 0

# The run is free as soon as its last client has left.
exec 4>&-
free_for_second() {
	run collector --send note --run "$RUN_ID" --connect "$COLLECTOR"
	[[ $status == 0 ]]
}
wait_until 20 free_for_second

wait_until 20 grep -Eq \
	'^plugpull-collector: 127\.0\.0\.1:[0-9]+ dropped: no hello in time' \
	"$first_err"
exec 3>&-
