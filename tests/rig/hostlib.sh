# SPDX-License-Identifier: MIT
# hostlib - a host that loses its power, for tests on one machine: its processes
# are those started through $HOST/via, which stands where ssh would. "off" kills
# them all and cuts its drive, "on" gives it another boot id. For lib.sh.
# shellcheck shell=bash

# make_host: $HOST/via and $HOST/relay, around the simulated drive that was
# started last. Files in $HOST change its manners: see both.
make_host() {
	HOST=$TMP/host.$1
	mkdir -p "$HOST/pids"
	cat >"$HOST/send" <<-SH
		#!/bin/bash
		# SIGNAL for all its processes; a number may be somebody else's by now.
		host=$HOST
		mark=PLUGPULL_TEST=$TMP
	SH
	cat >>"$HOST/send" <<-'SH'
		for pid in $(ls "$host/pids"); do
			grep -qzxF "$mark" "/proc/$pid/environ" 2>/dev/null &&
				kill "-$1" "$pid" && echo "$pid"
		done
		exit 0
	SH
	cat >"$HOST/via" <<-SH
		#!/bin/bash
		# Words run on the host; the connection knows nothing of its end.
		host=$HOST
	SH
	cat >>"$HOST/via" <<-'SH'
		boot=$(cat "$host/boot" 2>/dev/null) ||
			{ echo "no route to host" >&2; exit 255; }
		[[ -e $host/unreachable ]] && exit 255
		if [[ $* == "cat /proc/sys/kernel/random/boot_id" ]]; then
			echo "$boot"
			exit
		fi
		if [[ $* == *verifier* && -s $host/lose ]]; then
			# So many connections are lost while it verifies.
			left=$(<"$host/lose")
			((left > 1)) && echo $((left - 1)) >"$host/lose" ||
				: >"$host/lose"
			echo '{"verdict": "kept", "re'
			exit 255
		fi
		setsid "$@" <&0 &
		pid=$!
		: >"$host/pids/$pid"
		wait "$pid"
		status=$?
		rm -f "$host/pids/$pid"
		# A connection to a host that is dark hangs.
		[[ $(cat "$host/boot" 2>/dev/null) == "$boot" ]] && exit "$status"
		exec sleep 600
	SH
	cat >"$HOST/relay" <<-SH
		#!/bin/bash
		# Asked for as: --outlet X on|off|status
		host=$HOST
		drive() { "$BIN/plugpull-simdrive" "\$1" --control "$SIM_CONTROL"; }
	SH
	cat >>"$HOST/relay" <<-'SH'
		[[ $3 == status ]] && { echo on; exit; }
		echo "$3" >>"$host/switched"
		if [[ $3 == off ]]; then
			[[ -e $host/welded ]] && exit
			# Only its network: it goes on without being heard.
			[[ -e $host/deaf ]] && : >"$host/unreachable"
			if [[ -e $host/deaf || -e $host/frozen ]]; then
				"$host/send" STOP >/dev/null
				exit
			fi
			rm -f "$host/boot"
			"$host/send" KILL >/dev/null
			drive cut
		else
			rm -f "$host/unreachable"
			drive restore
			[[ -s $host/asleep ]] && {
				# So often power does not wake it.
				left=$(<"$host/asleep")
				((left > 1)) && echo $((left - 1)) >"$host/asleep" ||
					: >"$host/asleep"
				exit
			}
			[[ -e $host/boot ]] ||
				cat /proc/sys/kernel/random/uuid >"$host/boot"
		fi
	SH
	chmod +x "$HOST/via" "$HOST/relay" "$HOST/send"
	cat /proc/sys/kernel/random/uuid >"$HOST/boot"
	at_end "$HOST/send KILL"
}
