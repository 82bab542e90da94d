#!/bin/bash
# SPDX-License-Identifier: MIT
# P11 on a kernel block device: the interrupted FLUSH of the kernel is sent
# again by what lies below it (nbdkit's retry filter behind FUSE and a loop
# device), meets an empty cache and succeeds; the writer, libaio and the block
# layer notice nothing. With "cut asked" on record the honest drive is not
# convicted and its losses are told apart. In a cut that nobody put on record it
# is convicted: docs/VERDICTS.md says so, and what to do.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse nbdkit
nbdkit --dump-plugin nbd --filter=delay --filter=retry >/dev/null 2>&1 ||
	skip "needs nbdkit's nbd plugin, and its delay and retry filters"

start_zombie() {
	rm -f "$TMP"/drive.* "$TMP/zombie.sock" "$ACKLOG"
	start_simdrive drive --size 66m --seed 1 --drain-ms 600000
	background nbdkit -f -U "$TMP/zombie.sock" --filter=delay \
		--filter=retry nbd uri="$SIM_URI" wdelay=1ms retries=20 \
		retry-delay=1 retry-exponential=no 2>"$TMP/zombie.err"
	ZOMBIE_PID=$!
	wait_until 20 test -S "$TMP/zombie.sock"
	SIM_URI="nbd+unix:///?socket=$TMP/zombie.sock"
	drive_attach
}

end_zombie() {
	drive_detach
	kill "$ZOMBIE_PID" 2>/dev/null # it may have gone with its client
	wait_until 20 lib_has_ended "$ZOMBIE_PID"
	drive_stop
}

# No place is written twice, so that every loss can be seen afterwards.
brown_out() { # asked|unsaid
	start_zombie
	start_collector
	"$BIN/plugpull-writer" --target "$LOOP" --erase "$LOOP" --count 1200 \
		--collector "$COLLECTOR" --sync flush:64 --block-size 16k \
		--seed 3 --json "$TMP/writer.json" >"$TMP/writer.out" \
		2>"$TMP/writer.err" </dev/null &
	WRITER_PID=$!
	lib_pids+=("$WRITER_PID")
	wait_until 60 root_writes_or_ended
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	ACKLOG=$ACKDIR/$ID.acklog
	under_load 200
	if [[ $1 == asked ]]; then
		run collector --send cut-asked --run "$ID" \
			--connect "$COLLECTOR"
		expect_status 0
	fi
	power cut
	power restore
	end_of_writer 60
	expect_equal "exit status of the writer" "$status" 0
	expect_equal "it has lost its drive" \
		"$(json "$TMP/writer.json" .gone)" false
	verify_on "$LOOP"
	SHADOW=$(json "$TMP/verdict.json" .shadow_lost)
	echo "table: honest drive, cut $1: exit $status," \
		"'$(broken_classes)', shadow losses $SHADOW"
	kill "$COLLECTOR_PID"
	wait_until 20 lib_has_ended "$COLLECTOR_PID"
	end_zombie
}

# Once in a while the cut comes just behind a FLUSH and nothing is lost.
for try in 1 2 3 4; do
	brown_out asked
	[[ $status == [03] ]] || fail "a zombie convicts: exit $status (P11)"
	expect_equal classes "$(broken_classes)" ""
	((SHADOW == 0)) || break
done
((SHADOW > 0)) || fail "what the zombie lost is not told"

for try in 1 2 3 4; do
	brown_out unsaid
	[[ $status != 1 ]] || break
done
expect_equal "exit status where nobody knows of the cut" "$status" 1
exit 0
