#!/bin/bash
# SPDX-License-Identifier: MIT
# With the right key, end to end through a proxy that sees only TLS: delayed
# acknowledgements arrive late and stop no write before the reservation is used
# up, a cut connection is made again, and bytes changed on the way are noticed.
# At last the network dies for good and then the drive: the writer tells both,
# and the verdict is sound.
. "${0%/*}/lib.sh"
requires nbdkit socat jq

for name in right wrong; do
	run collector --new-key "$TMP/$name.key"
	expect_status 0
done
PROXY=$TMP/proxy.sock
start_proxy() { # FILTER: what the bytes to the collector go through
	rm -f "$PROXY"
	background socat "UNIX-LISTEN:$PROXY,fork" "$1" 2>/dev/null
	PROXY_PID=$!
	wait_until 10 test -S "$PROXY"
}

signal_proxy() { # SIGNAL
	local pid
	for pid in "$PROXY_PID" $(pgrep -P "$PROXY_PID"); do
		kill "-$1" "$pid" 2>/dev/null
	done
	[[ $1 != KILL ]] || { wait "$PROXY_PID"; } 2>/dev/null
}

# A proxy that stands still would outlive the test.
at_end 'signal_proxy KILL'

said() { # TIMES WHAT
	[[ $(grep -Ec "$2" "$TMP/writer.err") -ge $1 ]]
}

log_grows_beyond() {
	[[ $(stat -c %s "$ACKLOG") -gt $1 ]]
}

writes_stand_still() {
	local before
	before=$(sim_counter writes)
	read -rt 0.2 <> <(:) || true
	[[ $(sim_counter writes) == "$before" ]]
}

start_simdrive drive --size 18m --seed 9
start_collector --listen 127.0.0.1:0 --key "$TMP/right.key"
start_proxy "TCP:$COLLECTOR"

before=$(sim_counter writes)
run writer --target "$SIM_URI" --erase "$SIM_URI" --count 1 \
	--collector "unix:$PROXY" --key "$TMP/wrong.key"
expect_status 2
expect_err 'the key does not match'
expect_err 'hint: '
expect_equal "writes" "$(sim_counter writes)" "$before"

start_writer --collector "unix:$PROXY" --key "$TMP/right.key" --sync flush:8 \
	--block-size 16k --ack-timeout 4s
ID=$(sed -n 's/^run //p' "$TMP/writer.out")
ACKLOG=$ACKDIR/$ID.acklog

# Stalled, then on again: the connection is still the same one. What was issued
# meanwhile is limited by what the collector had confirmed to be reserved.
for round in 1 2; do
	before=$(sim_counter writes)
	wait_until 20 lib_counter_reached writes $((before + 200))
	signal_proxy STOP
	wait_until 20 writes_stand_still
	length=$(stat -c %s "$ACKLOG")
	signal_proxy CONT
	wait_until 20 log_grows_beyond "$length"
done
! said 1 'lost the collector' || fail "a delay was taken for a loss"

# Cut off in the middle, and found again.
signal_proxy KILL
wait_until 20 said 1 'lost the collector: .*trying again'
start_proxy "TCP:$COLLECTOR"
wait_until 20 said 1 'the collector is back'
length=$(stat -c %s "$ACKLOG")
wait_until 20 log_grows_beyond "$length"

# Bytes are changed on the way: noticed, said, and never in the log.
signal_proxy KILL
wait_until 20 said 2 'lost the collector'
cat >"$TMP/garble" <<SH
#!/bin/bash
# The handshake passes; a byte is put in from a certain place on.
{ dd bs=1 count=4000 status=none; printf X; exec cat; } |
	socat - "TCP:$COLLECTOR"
SH
chmod +x "$TMP/garble"
start_proxy "EXEC:$TMP/garble"
wait_until 20 said 3 'lost the collector'
grep -Eq 'TLS: ' "$TMP/collector.err" "$TMP/writer.err" ||
	fail "not noticed: $(cat "$TMP/collector.err" "$TMP/writer.err")"
signal_proxy KILL
start_proxy "TCP:$COLLECTOR"
wait_until 20 said 3 'the collector is back'
length=$(stat -c %s "$ACKLOG")
wait_until 20 log_grows_beyond "$length"

# The network dies for good, then the drive.
signal_proxy KILL
wait_until 20 said 4 'lost the collector'
# What is made durable from now on nobody confirms.
wait_until 20 lib_counter_reached flushes $(($(sim_counter flushes) + 5))
"$BIN/plugpull-simdrive" cut --control "$SIM_CONTROL" >/dev/null
end_of_writer
expect_equal "exit status of the writer" "$status" 2
said 1 '^plugpull-writer: the drive went away after ' ||
	fail "the drive's end was not told: $(cat "$TMP/writer.err")"
expect_equal "the drive is gone" "$(json "$TMP/writer.json" .gone)" true
confirmed=$(json "$TMP/writer.json" .confirmed)
((confirmed > 0 && confirmed < $(json "$TMP/writer.json" .durable))) ||
	fail "not cut off: $(cat "$TMP/writer.json")"
"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >/dev/null
verify_sim
[[ $status == [03] ]] || fail "the honest drive got $status"
expect_equal classes "$(broken_classes)" ""
(($(json "$TMP/verdict.json" .durable_log) >= confirmed)) ||
	fail "something confirmed is not in the log"
