#!/bin/bash
# SPDX-License-Identifier: MIT
# What the simulated drive is told on its command line is what it does: several
# faults at once each earn their class, --fault-every spares the cuts between,
# a random drain order leaves holes, and blocks of 512 bytes are its unit.
. "${0%/*}/lib.sh"
requires nbdkit nbdcopy nbdinfo jq cmp

BYTES=$((4 * 1024 * 1024))

end_drive() {
	kill "$SIM_PID"
	wait_until 20 lib_has_ended "$SIM_PID"
	rm -f "$TMP"/drive.* "$ACKLOG"
}

# judge SYNC OPTIONS...: one cut of the drive that runs, with the real writer.
judge() {
	one_cut 300 --sync "$1" --queue-depth 32 --seed 5 "${@:2}"
}

expect_kept() {
	[[ $status == 0 || $status == 3 ]] || fail "exit $status: $*"
	expect_equal "what is broken: $*" "$(broken_classes)" ""
}

expect_broken() { # CLASSES
	expect_status 1
	expect_equal "what is broken" "$(broken_classes)" "$1"
}

# Lost blocks of 4 KiB with a kept one behind them.
holes() {
	cmp -l -n "$BYTES" "$TMP/data" "$SIM_MEDIA" |
		awk -v blocks=$((BYTES / 4096)) '
			{ lost[int(($1 - 1) / 4096)] = 1 }
			END {
				for (i = 0; i < blocks; i++)
					if (!(i in lost)) holes = seen
					else seen++
				print holes + 0
			}'
}

# cut_half_drained OPTIONS...: writes one block behind the other, without a
# FLUSH, through a cache for a quarter of them; the cut loses what is in it.
cut_half_drained() {
	start_simdrive drive --size 8m --cache 1m --drain-ms 600000 --seed 5 \
		"$@"
	nbdcopy --connections=1 --requests=1 --request-size=4096 "$TMP/data" \
		"$SIM_URI" || fail "cannot write"
	run simdrive cut --control "$SIM_CONTROL"
	expect_status 0
}

head -c "$BYTES" /dev/urandom >"$TMP/data"

# --help fits a screen.
run simdrive --help
expect_status 0
[[ $(wc -l <"$TMP/out") -le 40 ]] || fail "help of more than 40 lines"
[[ $(wc -L <"$TMP/out") -le 80 ]] || fail "help of more than 80 columns"

# Two faults at the cut: each takes writes of its own.
start_simdrive drive --size 18m --fault blanks --fault unreadable --seed 5
judge flush:16 --block-size 16k
expect_broken "blank unreadable"
end_drive

# One at FLUSH and one at the cut, in the other way to write it.
start_simdrive drive --size 18m --fault=corrupts --fault=flushes-partly=3 \
	--seed 5
judge flush:16 --block-size 16k
expect_broken "corrupt lost"
end_drive

# Of two that change a FLUSH one has its way: what ignores-flush leaves in the
# cache, flushes-late does not drain. The first MiB is spared.
is_clean() {
	[[ $(sim_counter dirty_bytes) == 0 ]]
}
start_simdrive drive --fault flushes-late=1 --drain-ms 600000
nbdcopy --flush --request-size=65536 "$TMP/data" "$SIM_URI" ||
	fail "cannot write"
wait_until 20 is_clean
end_drive
start_simdrive drive --fault flushes-late=1 --fault ignores-flush \
	--drain-ms 600000
nbdcopy --flush --request-size=65536 "$TMP/data" "$SIM_URI" ||
	fail "cannot write"
expect_equal "left in the cache" "$(sim_counter dirty_bytes)" \
	$((BYTES - 1024 * 1024))
end_drive

# The third cut only; the run goes on through all of them.
start_simdrive drive --size 18m --fault blanks --fault-every 3 --seed 5
for cycle in 1 2; do
	judge flush:16 --block-size 16k
	expect_kept "cut $cycle of --fault-every 3"
done
judge flush:16 --block-size 16k
expect_broken "blank"
end_drive

# In order of age the survivors are the oldest; in random order there are holes.
cut_half_drained
expect_equal "holes in order of age" "$(holes)" 0
end_drive
cut_half_drained --drain-order random
[[ $(holes) -ge 32 ]] || fail "$(holes) holes in random order"
end_drive

# Blocks of 512 bytes: they are told, may be written alone, and are torn apart.
start_simdrive drive --size 8m --logical-block 512 --seed 5
nbdinfo "$SIM_URI" >"$TMP/out" 2>"$TMP/err" || fail "cannot ask it"
expect_out 'block_size_minimum: 512$'
judge fua --block-size 512
expect_kept "writes of 512 bytes"
end_drive
start_simdrive drive --size 8m --logical-block 512 --fault tears --seed 5
judge flush:16 --block-size 1k
expect_broken "torn"
end_drive
start_simdrive drive --size 8m --seed 5
run writer --target "$SIM_URI" --erase "$SIM_URI" --acklog "$ACKLOG" \
	--count 9 --block-size 512
expect_status 2
expect_err '4096'
exit 0
