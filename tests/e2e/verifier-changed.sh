#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: a drive that answers the first read after power-on with old content and
# the next one with new is never acquitted, whoever reads first: the probe, an
# earlier scan, or the scan that counts.
. "${0%/*}/lib.sh"
requires jq nbdkit

LOG=$TMP/run.acklog
ACKLOG=$LOG

# cut_power WRITES OPTIONS...: the drive has power again behind it.
cut_power() {
	local writes=$1 before
	shift
	start_writer --acklog "$LOG" "$@"
	before=$(sim_counter writes)
	wait_until 60 lib_counter_reached writes $((before + writes))
	run simdrive cut --control "$SIM_CONTROL"
	expect_status 0
	end_of_writer
	run simdrive restore --control "$SIM_CONTROL"
	expect_status 0
}

judge() { # OPTIONS...
	run verifier --target "$SIM_URI" --read-timeout 20s \
		--json "$TMP/verdict.json" "$@"
	verdicts+=" $status"
	[[ $status == 1 || $status == 2 ]] ||
		fail "$bound $sync $block seed $seed: exit $status"
	if [[ $status == 1 ]]; then
		[[ $(broken_classes) =~ ^(lost|torn|lost torn)$ ]] ||
			fail "$bound: '$(broken_classes)'"
		return
	fi
	expect_out 'answers changed between two reads|cannot have been issued'
	expect_out '^hint: '
}

# 4k: a write is one logical block, so that the probe's read heals all of it.
# The region is small: a probe meets many places that were durable before.
for bound in log none short; do
	for sync in flush:16 fua; do
		verdicts=
		for seed in 1 2 3; do
			block=4k
			[[ $seed == 3 ]] && block=16k
			rm -f "$TMP"/drive.* "$LOG"
			start_simdrive drive --size 4m --seed "$seed" \
				--fault stale-after-restore
			cut_power 1500 --sync "$sync" --queue-depth 32 \
				--block-size "$block" --seed "$seed"
			case $bound in
			log) judge --acklog "$LOG" ;;
			none) judge ;;
			short)
				size=$(stat -c %s "$LOG")
				head -c $((size * 9 / 10)) "$LOG" >"$TMP/short"
				judge --acklog "$TMP/short"
				;;
			esac
			kill "$SIM_PID"
			wait_until 20 lib_has_ended "$SIM_PID"
		done
		echo "stale-after-restore, $bound, $sync:$verdicts"
		# The whole log convicts.
		[[ $bound != log || $verdicts == " 1 1 1" ]] ||
			fail "with the log:$verdicts"
	done
done

# Without a log the region is read twice. What the first scan finds by the fill
# alone stands: here a place that is blank at the first read.
DRIVE=$TMP/drive.img
SOCKET=$TMP/nbd.sock
SIM_URI="nbd+unix:///?socket=$SOCKET"
export DRIVE_FILE=$DRIVE HEALED=$TMP/healed
cat >"$TMP/blank.sh" <<'EOS'
bad=2097152
copy() { # FROM BYTES
	dd if="$DRIVE_FILE" iflag=skip_bytes,count_bytes skip="$1" count="$2" \
		bs=65536 status=none
}
case "$1" in
get_size) stat -Lc %s "$DRIVE_FILE" ;;
pread)
	end=$(($4 + $3))
	if [ ! -f "$HEALED" ] && [ "$4" -le $bad ] && [ $end -gt $bad ]; then
		: >"$HEALED"
		copy "$4" $((bad - $4))
		head -c 4096 /dev/zero
		copy $((bad + 4096)) $((end - bad - 4096))
	else
		copy "$4" "$3"
	fi
	;;
block_size) echo 512 4096 1048576 ;;
*) exit 2 ;;
esac
EOS
chmod +x "$TMP/blank.sh"
truncate -s 6m "$DRIVE"
rm -f "$LOG"
run writer --target "$DRIVE" --acklog "$LOG" --count 2000 --block-size 8k \
	--seed 7 --erase "$DRIVE"
expect_status 0
run verifier --target "$DRIVE"
expect_status 3
background nbdkit -f -U "$SOCKET" sh "$TMP/blank.sh" >"$TMP/nbd.out" 2>&1
wait_until 10 test -S "$SOCKET"
run verifier --target "$SIM_URI" --json "$TMP/verdict.json"
expect_status 1
expect_equal classes "$(broken_classes)" blank
expect_out '^BLANK block 4096: .*, unstable: a second read answered otherwise'
expect_equal atoms "$(json "$TMP/verdict.json" .blank.atoms)" 8
expect_equal scans "$(json "$TMP/verdict.json" .scans)" 2
expect_equal changed "$(json "$TMP/verdict.json" .changed)" 1
