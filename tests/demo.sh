#!/bin/bash
# SPDX-License-Identifier: MIT
# demo - the whole experiment on three simulated drives, in about a minute: an
# honest one, one that ignores FLUSH, and one whose capacitors save everything.
# Each is written under load, loses power in mid-write again and again, is read
# back and judged, with its flushes (test arm) and without them (control arm).
set -u
BIN=${BIN:-$PWD/build}
[[ $BIN == /* ]] || BIN=$PWD/$BIN
dir=${DEMO_DIR:-$PWD/plugpull-demo}
drives=("none:an honest drive:0:PASS"
	"ignores-flush:a liar that ignores FLUSH:1:FAIL"
	"protected:a drive with power-loss protection:3:PROTECTED")
pid=

stop_drive() {
	[[ -n $pid ]] || return 0
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pid=
}
trap stop_drive EXIT
trap 'exit 130' INT TERM

# A Unix socket's path is short, so sockets live in a folder of their own.
sockets=$(mktemp -d /tmp/plugpull-demo.XXXXXX) || exit 2
trap 'stop_drive; rm -rf "$sockets"' EXIT

start_drive() { # FAULT
	rm -f "$dir/$1/media"
	"$BIN/plugpull-simdrive" serve --socket "$sockets/$1" \
		--media "$dir/$1/media" --size 34m --cache 16m --fault "$1" \
		--seed 1 --control "$sockets/$1.control" \
		>"$dir/$1/simdrive.out" 2>&1 </dev/null &
	pid=$!
	for _ in {1..200}; do
		grep -q '^serving ' "$dir/$1/simdrive.out" && return 0
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	echo "demo: the simulated drive did not start:" >&2
	cat "$dir/$1/simdrive.out" >&2
	exit 2
}

write_settings() { # FAULT
	cat >"$dir/$1/campaign.ini" <<INI
[campaign]
name = $1
cycles = 6
control_cycles = 3
seed = 5eed

[drive]
target = nbd+unix:///?socket=$sockets/$1
erase = nbd+unix:///?socket=$sockets/$1

[workload]
block_size = 4k
pattern = random
queue_depth = 32
sync = flush:16

[power]
outlet = sim:$sockets/$1.control
off_time = 50ms

[cut]
after_min = 150ms
after_max = 600ms
INI
}

rm -rf "$dir"
failed=0
summary=
for drive in "${drives[@]}"; do
	IFS=: read -r fault what expected word <<<"$drive"
	mkdir -p "$dir/$fault"
	echo
	echo "== $what (fault: $fault)"
	start_drive "$fault"
	write_settings "$fault"
	status=0
	"$BIN/plugpull-campaign" run "$dir/$fault/campaign.ini" \
		--dir "$dir/$fault/campaign" </dev/null || status=$?
	stop_drive
	result="as it should be"
	if [[ $status != "$expected" ]]; then
		result="WRONG: exit status $status, expected $expected"
		failed=1
	fi
	summary+=$(printf '%-38s %-12s %s' "$what" "$word" "$result")$'\n'
done
echo
echo "== What the three drives earned"
printf '%s' "$summary"
echo
echo "The reports lie in:"
for drive in "${drives[@]}"; do
	echo "  ${dir#"$PWD"/}/${drive%%:*}/campaign/summary.txt"
done
exit $failed
