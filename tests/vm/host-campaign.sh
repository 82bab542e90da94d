#!/bin/bash
# SPDX-License-Identifier: MIT
# A campaign on a machine that keeps its power, over one that loses it: the agent
# in the guest dials out at each boot, the relay's board cuts everything, the log
# never leaves the host. The honest drive passes, the liar fails, and what proves
# the cuts is that the guest came back as another boot.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
vm_needs

AGENT_PORT=$(vm_free_port)
run collector --new-key "$TMP/key"
expect_status 0
cat >"$TMP/boot.sh" <<SH
exec plugpull-agent serve --connect 10.0.2.2:$AGENT_PORT --key /host/key
SH

settings() { # NAME TEST-CYCLES CONTROL-CYCLES SYNC
	local port

	port=$(vm_free_port)
	cat >"$TMP/$1.ini" <<-INI
		[campaign]
		name = $1
		cycles = $2
		control_cycles = $3
		seed = 5eed
		[drive]
		target = $(vm_target "$1")
		erase = vm-$1
		size = 6m
		[workload]
		sync = $4
		queue_depth = 8
		[power]
		outlet = $VM_OUTLET:1
		off_min = 0ms
		off_max = 500ms
		[cut]
		after_min = 500ms
		after_max = 1500ms
		[collector]
		listen = 127.0.0.1:$port
		advertise = 10.0.2.2:$port
		key = $TMP/key
		[host]
		via = $BIN/plugpull-agent call --listen 127.0.0.1:$AGENT_PORT --key $TMP/key --
		key = /host/key
		boot_timeout = ${VM_BOOT_S}s
	INI
}

# campaign NAME STATUS WORD TEST-CYCLES CONTROL-CYCLES SYNC
campaign() {
	local dir=$TMP/$1.d cycles=$(($4 + $5))

	settings "$1" "${@:4}"
	RUN_TIMEOUT=400 run campaign run "$TMP/$1.ini" --dir "$dir"
	expect_status "$2"
	expect_out "^$3: "
	expect_equal "void cycles" "$(json "$dir/summary.json" .void_cycles)" 0
	expect_equal "cuts proven by the host" \
		"$(json "$dir/summary.json" .proven_by.host)" "$cycles"
	echo "table: $1, $6: $3, $cycles cuts"
}

vm_drive honest nvme --drain-ms 600000
vm_drive liar sata --drain-ms 600000 --fault ignores-flush
vm_drive fua scsi --drain-ms 600000
vm_start
campaign honest 0 PASS 3 2 flush:16
campaign fua 0 PASS 1 1 fua
campaign liar 1 FAIL 2 1 flush:16
exit 0
