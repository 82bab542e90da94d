# SPDX-License-Identifier: MIT
# matrix - one guest whose drives are named after their transports, and for each
# cut of its power a writer on every drive and a verdict over every drive. For
# the tests that source ../e2e/lib.sh and guest.sh before it.
# shellcheck shell=bash
TRANSPORTS=(nvme sata scsi virtio usb uas)
declare -A MATRIX_RUN=()
MATRIX_CUTS=0

# matrix_start SIMDRIVE OPTIONS: a drive a transport, and a collector that is
# met over TLS. Nothing leaves a cache by itself: what is lost was not flushed.
matrix_start() {
	local name

	run collector --new-key "$TMP/key"
	expect_status 0
	start_collector --listen 127.0.0.1:0 --key "$TMP/key"
	for name in "${TRANSPORTS[@]}"; do
		vm_drive "$name" "$name" --drain-ms 600000 "$@"
	done
	vm_start
}

# The emulated NVMe loses doorbells at a depth of 32.
matrix_write() { # NAME SYNC
	local more="--block-size 4k --queue-depth 8"

	more+=" --target $(vm_target "$1") --erase vm-$1 --sync $2"
	[[ -z ${MATRIX_RUN[$1]-} ]] || more+=" --run ${MATRIX_RUN[$1]}"
	vm_spawn "$1" "plugpull-writer --collector 10.0.2.2:${COLLECTOR##*:} \
		--key /host/key --size 6m $more"
}

# In one conversation, for each takes a moment: 0 when all write, the first
# writer that has ended otherwise.
matrix_all_write() { # NAME...
	vm_run "for name in $*; do
		grep -q '^cycle [0-9]* writing' /tmp/\$name.out && continue
		[ -e /tmp/\$name.status ] && { cat /tmp/\$name.err; exit 2; }
		exit 1
	done"
	[[ $status != 2 ]] || fail "a writer has ended"
	[[ $status == 0 ]]
}

matrix_under_load() { # WRITES NAME...
	local writes=$1 name
	local -A goal=()
	shift

	for name; do
		SIM_CONTROL=$(vm_control "$name")
		goal[$name]=$(($(sim_counter writes) + writes))
	done
	for name; do
		SIM_CONTROL=$(vm_control "$name")
		wait_until 60 lib_counter_reached writes "${goal[$name]}"
	done
}

# The cut stands in each log, as a campaign puts it there: a condensed log has to
# say that its writer cannot go on.
matrix_record() { # EVENT NAME...
	local event=$1 name
	shift

	for name; do
		run collector --send "$event" --run "${MATRIX_RUN[$name]}" \
			--connect "$COLLECTOR" --key "$TMP/key"
		expect_status 0
	done
}

# Each cycle ends with one word of the collector about its writer.
matrix_all_left() { # NAME...
	local name writers leavers

	for name; do
		writers=$(grep -c "${MATRIX_RUN[$name]}: .* writes" \
			"$TMP/collector.err")
		leavers=$(grep -c "${MATRIX_RUN[$name]}: .* has left" \
			"$TMP/collector.err")
		[[ $leavers -ge $writers ]] || return 1
	done
}

# matrix_cut SYNC NAME...: writers on those drives, the cut, and power again.
matrix_cut() {
	local sync=$1 name
	shift

	for name; do
		matrix_write "$name" "$sync"
	done
	wait_for_writers "$@"
	vm_run "for name in $*; do sed -n 's/^run //p' /tmp/\$name.out; done"
	for name; do
		read -r MATRIX_RUN[$name]
	done <"$TMP/out"
	matrix_under_load 300 "$@"
	matrix_record cut-asked "$@"
	vm_cut
	wait_until 30 matrix_all_left "$@"
	matrix_record cut-seen "$@"
	MATRIX_CUTS=$((MATRIX_CUTS + 1))
	vm_boot
}

wait_for_writers() { # NAME...
	local deadline=$((SECONDS + 90))

	until matrix_all_write "$@"; do
		((SECONDS < deadline)) || fail "not all of $* have begun"
		sleep 0.2
	done
}

# The log stays with the collector; what the verifier needs goes to it. Reads of
# all drives go on at the same time.
matrix_verify() { # NAME...
	local name

	for name; do
		rm -f "$TMP/$name.bounds" "$TMP/$name.json"
		run collector --bounds "$ACKDIR/${MATRIX_RUN[$name]}.acklog" \
			--output "$TMP/$name.bounds"
		expect_status 0
	done
	vm_expect "for name in $*; do
		(plugpull-verifier --target /dev/drive/\$name --acklog - \
			--json /host/\$name.json </host/\$name.bounds \
			>/tmp/\$name.v 2>&1
		echo \$? >/host/\$name.status) &
	done
	wait"
}

# matrix_expect EARNED NAME: as expect_verdict in lib.sh.
matrix_expect() {
	cp "$TMP/$2.json" "$TMP/verdict.json" && status=$(<"$TMP/$2.status") ||
		fail "no verdict of $2"
	echo "$2: $(json "$TMP/verdict.json" .reason)" >"$TMP/out"
	# A liar's fill and labels were in its cache as well: what was below is
	# blank, or another run's.
	expect_verdict "$1" "TORN BLANK FOREIGN"
}

# matrix_kept SYNC NAME...: a cut, after which all promises are kept.
matrix_kept() {
	local sync=$1 name
	shift

	matrix_cut "$sync" "$@"
	matrix_verify "$@"
	for name; do
		matrix_expect INTACT "$name"
		if [[ $sync == none ]]; then
			# The control arm shows that a loss would be seen.
			expect_status 0
		else
			expect_equal "a promise of $name" \
				"$(json "$TMP/verdict.json" .cycle_promised)" true
		fi
	done
	echo "table: $sync: kept: $*"
}

# matrix_lost SYNC NAME...: a cut, after which promises are broken. The drive is
# another run's from then on.
matrix_lost() {
	local sync=$1 name
	shift

	matrix_cut "$sync" "$@"
	matrix_verify "$@"
	for name; do
		matrix_expect LOST "$name"
		unset "MATRIX_RUN[$name]"
	done
	echo "table: $sync: lost: $*"
}
