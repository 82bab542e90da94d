#!/bin/bash
# SPDX-License-Identifier: MIT
# P11: a drive falls silent in a FLUSH for which the writer's thread itself
# waits. What had completed is told, nothing is promised, a lost collector ends
# the run in its time and with an account; but the process stays while its
# request is out. An answer that comes in time is a FLUSH like any other.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"
requires jq

DISK=/dev/shm/plugpull-silent.$$
JSON=$TMP/writer.json
at_end "rm -f $DISK"
# Where a FLUSH is quick; the writer waits for no other.
dd if=/dev/zero of="$DISK" bs=4k count=1 oflag=direct 2>/dev/null ||
	skip "needs direct I/O on tmpfs (Linux 6.6)"
rig_preload hangflush

# write_and_hang OPTIONS...: until nothing moves any more.
write_and_hang() {
	rm -f "$DISK" "$JSON" "$TMP/silent"
	HANGFLUSH=$TMP/silent LD_PRELOAD=$TMP/hangflush \
		ASAN_OPTIONS=verify_asan_link_order=0 \
		"$BIN/plugpull-writer" --target "$DISK" --size 8m \
		--sync flush:1 --queue-depth 1 --json "$JSON" \
		--collector "$COLLECTOR" --drain-timeout 500ms \
		--ack-timeout 1s "$@" >"$TMP/out" 2>"$TMP/err" </dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 30 grep -q '^cycle 1 writing' "$TMP/out"
	: >"$TMP/silent"
	wait_until 30 log_stands_still
}

log_stands_still() {
	local before
	before=$(cat "$ACKDIR"/*.acklog | wc -c)
	sleep 0.3
	[[ $(cat "$ACKDIR"/*.acklog | wc -c) == "$before" ]]
}

has_account() {
	[[ -s $JSON ]]
}

start_collector
write_and_hang
grep -q '^State:.[SR]' "/proc/$WRITER_PID/status" ||
	fail "the writer's first thread is gone"
kill "$WRITER_PID"
sleep 0.5
lib_has_ended "$WRITER_PID" && fail "ended with a request out"
rm "$TMP/silent"
end_of_writer
expect_status 0
expect_equal "all is promised" \
	"$(json "$JSON" '.durable == .writes and .in_flight == 0')" true

write_and_hang
kill "$COLLECTOR_PID"
wait_until 20 has_account
sleep 0.5
lib_has_ended "$WRITER_PID" && fail "ended with a request out"
grep -q '^State:.S' "/proc/$WRITER_PID/status" ||
	fail "the writer looks ended: $(grep State "/proc/$WRITER_PID/status")"
rm "$TMP/silent"
end_of_writer
expect_status 2
expect_equal "in flight" "$(json "$JSON" .in_flight)" 1
expect_equal "one is not promised" \
	"$(json "$JSON" '.writes - .durable')" 1
expect_err 'stopped after .* s of writing: .*collector'
