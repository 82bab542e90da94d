#!/bin/bash
# SPDX-License-Identifier: MIT
# A whole campaign on a kernel block device: hooks take the device away while
# the power is off and bring it back, under whatever number, when it is on. The
# honest drive passes, the one that ignores FLUSH fails.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"

root_needs_fuse

# The hooks are a script as a user would write it; the drive is known by a link,
# like those in /dev/disk/by-id.
make_hooks() {
	cat >"$TMP/detach" <<HOOK
#!/bin/sh
set -e
losetup -d "\$(readlink "$TMP/drive")"
rm "$TMP/drive"
fusermount3 -u "$FUSE_MNT"
HOOK
	cat >"$TMP/attach" <<HOOK
#!/bin/sh
set -e
nbdfuse "$FUSE_MNT" "$SIM_URI" >>"$TMP/nbdfuse.err" 2>&1 </dev/null &
echo \$! >>"$TMP/nbdfuse.pids"
for i in \$(seq 200); do
	[ -s "$FUSE_MNT/nbd" ] && break
	sleep 0.05
done
loop=\$(losetup --find --show --direct-io=on --sector-size 4096 \\
	"$FUSE_MNT/nbd")
echo write back >/sys/block/\${loop#/dev/}/queue/write_cache
ln -s "\$loop" "$TMP/drive"
HOOK
	chmod +x "$TMP/detach" "$TMP/attach"
}

settings() { # NAME
	cat >"$TMP/$1.ini" <<INI
[campaign]
name = $1
cycles = 3
control_cycles = 2
seed = 5eed
[drive]
target = $TMP/drive
erase = $TMP/drive
[workload]
sync = flush:16
block_size = 16k
[power]
outlet = sim:$SIM_CONTROL
off_min = 0ms
off_max = 30ms
return_timeout = 20s
[cut]
after_min = 100ms
after_max = 200ms
[hooks]
after_off = $TMP/detach
after_on = $TMP/attach
INI
}

check_drive() { # FAULT STATUS WORD
	local dir=$TMP/$1.d

	rm -f "$TMP"/drive.*
	start_simdrive drive --size 18m --fault "$1" --seed 1
	make_hooks
	"$TMP/attach" || fail "cannot attach the drive"
	settings "$1"
	run_apart 120 campaign run "$TMP/$1.ini" --dir "$dir" ||
		fail "the campaign does not come to an end"
	expect_status "$2"
	expect_out "^$3: "
	expect_equal "void cycles" "$(json "$dir/summary.json" .void_cycles)" 0
	expect_equal "cuts that left another device" \
		"$(json "$dir/summary.json" .proven_by.new_device)" 5
	"$TMP/detach" || fail "cannot detach the drive"
	drive_stop
}

FUSE_MNT=$TMP/fuse
mkdir "$FUSE_MNT"
check_drive none 0 PASS
check_drive ignores-flush 1 FAIL
exit 0
