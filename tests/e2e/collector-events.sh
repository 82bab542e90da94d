#!/bin/bash
# SPDX-License-Identifier: MIT
# P11: an event is on record before --send succeeds; one that belongs to no run
# that the collector has is refused by name.
. "${0%/*}/lib.sh"

RUN_ID=c011ec70120102030405060708090a0b
UNKNOWN=00000000000000000000000000000001

start_collector
cp "${0%/*}/expected/$RUN_ID.acklog" "$ACKDIR"

for event in cut-asked cut-seen restored error note; do
	before=$(stat -c %s "$ACKDIR/$RUN_ID.acklog")
	run collector --send "$event" --run "$RUN_ID" \
		--connect "$COLLECTOR" --text "this is $event."
	expect_status 0
	grep -aqF "this is $event." "$ACKDIR/$RUN_ID.acklog" ||
		fail "$event was confirmed and is not in the log"
	[[ $(stat -c %s "$ACKDIR/$RUN_ID.acklog") -gt $before ]] ||
		fail "the log has not grown"
done

run collector --send cut-asked --run "$UNKNOWN" --connect "$COLLECTOR"
expect_status 2
expect_err "refused: run $UNKNOWN is unknown here"
[[ ! -e $ACKDIR/$UNKNOWN.acklog ]] || fail "a log was made for it"

run collector --send cut-asked --run nonsense --connect "$COLLECTOR"
expect_status 2
run collector --send party --run "$RUN_ID" --connect "$COLLECTOR"
expect_status 2
expect_err 'cannot send party: '
run collector --send note --run "$RUN_ID" --connect "$COLLECTOR" \
	--text "$(printf '%0300d' 0)"
expect_status 2
expect_err 'the text has 300 bytes'
run collector --send note --run "$RUN_ID"
expect_status 2
expect_err "Try 'plugpull-collector --help'"
run collector --send note --run "$RUN_ID" --connect "unix:$TMP/nobody"
expect_status 2
expect_err 'cannot connect to unix:'

# P9: a log that is damaged before its tail is not added to.
log=$ACKDIR/$RUN_ID.acklog
printf 'X' | dd of="$log" bs=1 seek=100 conv=notrunc status=none
cp "$log" "$TMP/before"
run collector --send note --run "$RUN_ID" --connect "$COLLECTOR"
expect_status 2
expect_err 'refused: .*acklog'
cmp -s "$log" "$TMP/before" || fail "a damaged log was changed"
