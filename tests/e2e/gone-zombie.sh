#!/bin/bash
# SPDX-License-Identifier: MIT
# P11: the power goes and comes back behind a transport that connects again and
# sends again what was not answered (nbdkit's retry filter): the interrupted
# FLUSH meets an empty cache and succeeds, the writer goes on and acknowledges
# writes that are gone, and its later records vouch for them. With "cut asked"
# on record the honest drive is not convicted, and the losses are told apart;
# a liar is convicted all the same. (Without it nobody can tell the transport
# from a liar: tests/kernel/zombie-flush.sh.) A campaign never gets there: it
# waits for the writer's end.
. "${0%/*}/lib.sh"
requires nbdkit jq
nbdkit --dump-plugin nbd --filter=delay --filter=retry >/dev/null 2>&1 ||
	skip "needs nbdkit's nbd plugin, and its delay and retry filters"

# $ZOMBIE: the drive behind the transport that does not give up; slow enough to
# be cut under load.
start_zombie() { # FAULT RETRIES
	rm -f "$TMP"/drive.* "$TMP/zombie.sock"
	start_simdrive drive --size 66m --seed 1 --drain-ms 600000 --fault "$1"
	ZOMBIE="nbd+unix:///?socket=$TMP/zombie.sock"
	background nbdkit -f -U "$TMP/zombie.sock" --filter=delay \
		--filter=retry nbd uri="$SIM_URI" wdelay=1ms retries="$2" \
		retry-delay=1 retry-exponential=no 2>"$TMP/zombie.err"
	ZOMBIE_PID=$!
	wait_until 20 test -S "$TMP/zombie.sock"
}

end_zombie() {
	kill "$ZOMBIE_PID" "$SIM_PID"
	wait_until 20 lib_has_ended "$ZOMBIE_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
}

more_writes() { # COUNT
	local before
	before=$(sim_counter writes)
	wait_until 30 lib_counter_reached writes $((before + $1))
}

# A power cut of which the writer notices nothing. No place is written twice, so
# that every loss can be seen afterwards.
brown_out() { # FAULT
	start_zombie "$1" 20
	SIM_URI=$ZOMBIE start_writer --collector "$COLLECTOR" \
		--sync flush:64 --block-size 16k --seed 3 --count 1000
	ID=$(sed -n 's/^run //p' "$TMP/writer.out")
	ACKLOG=$ACKDIR/$ID.acklog
	more_writes 200
	run collector --send cut-asked --run "$ID" --connect "$COLLECTOR"
	expect_status 0
	"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
	end_of_writer
	expect_equal "exit status of the writer" "$status" 0
	expect_equal "it has lost its drive" \
		"$(json "$TMP/writer.json" .gone)" false
	run verifier --target "$SIM_URI" --acklog "$ACKLOG" \
		--json "$TMP/verdict.json"
	SHADOW=$(json "$TMP/verdict.json" .shadow_lost)
	echo "table: $1, cut asked: exit $status, '$(broken_classes)'," \
		"shadow losses $SHADOW"
}

# Once in a while the cut comes just behind a FLUSH and nothing is lost.
asked() {
	brown_out none
	[[ $status == [03] ]] || fail "a zombie convicts: exit $status (P11)"
	expect_equal classes "$(broken_classes)" ""
}

start_collector
for try in 1 2 3 4; do
	asked
	((SHADOW == 0 && try < 4)) || break
	end_zombie
done
((SHADOW > 0)) || fail "what the zombie lost is not told"
expect_out '^acknowledged after the cut was asked, gone: [1-9]'

# The next cycle of that run goes well, and clears nobody and accuses nobody.
run writer --target "$ZOMBIE" --erase "$ZOMBIE" --collector "$COLLECTOR" \
	--run "$ID" --count 200
expect_status 0
run verifier --target "$SIM_URI" --acklog "$ACKLOG" --json "$TMP/verdict.json"
[[ $status == [03] ]] || fail "a later cycle convicts: exit $status"
end_zombie

brown_out ignores-flush
[[ $status == 1 && " $(broken_classes) " == *" lost "* ]] ||
	fail "the liar got away: exit $status"
end_zombie

# The power stays off until the writer has ended, whatever lies between; and a
# cut that the writer did not see does not count.
start_zombie none 1
cat >"$TMP/zombie.ini" <<INI
[campaign]
cycles = 1
control_cycles = 0
seed = 1
[drive]
target = $ZOMBIE
erase = $ZOMBIE
[workload]
queue_depth = 1
[cut]
after_min = 50ms
after_max = 100ms
[power]
outlet = sim:$SIM_CONTROL
off_time = 0ms
gone_timeout = 500ms
INI
run campaign run "$TMP/zombie.ini" --dir "$TMP/zombie.d"
expect_status 2
expect_out '^NO VERDICT: '
expect_equal "broken cycles" \
	"$(json "$TMP/zombie.d/summary.json" .test.broken)" 0
expect_equal "void cycles" "$(json "$TMP/zombie.d/summary.json" .void_cycles)" 1
grep -E '^(stopped|cycle 1)' "$TMP/out" | sed 's/^/table: campaign: /'
